"""Formulas and tables become blocks of numbers. Nothing here knows of noise, budgets or models.

No error, warning, repr, dtype or shape depends on the value of a private row: only names and types
of columns, public rows and declared limits may raise. A row that is missing, not finite or has an
unknown level becomes zero and changes no other row.
"""

from dpstats.frame.by_person import PersonsBlock, PersonsTable, open_persons, public_persons
from dpstats.frame.changes import Change, Changes
from dpstats.frame.design import Design
from dpstats.frame.executors import Reading
from dpstats.frame.far_scores import FarScores
from dpstats.frame.formula.aliases import far_powers_within_limits, refuse_aliases
from dpstats.frame.formula.engine import linear_constraints
from dpstats.frame.formula.extent import design_extent
from dpstats.frame.formula.layouts import (
    as_written,
    check_columns,
    class_design,
    classes_formula,
    curve_formula,
    features_design,
    listed_formula,
    points_formula,
)
from dpstats.frame.formula.learn import declare_design, learn_design
from dpstats.frame.formula.panel import PanelFormula, level_name, panel_formula, term_name
from dpstats.frame.formula.parse import dot_without, formula_notes
from dpstats.frame.formula.private import (
    boxed,
    private_design,
    require_known_limits,
    require_readable_limits,
)
from dpstats.frame.formula.reads import check_written, formula_columns
from dpstats.frame.formula.term_names import squeezed, term_named, term_spellings, terms_named
from dpstats.frame.formula.update import columns_of, require_formula, subset_design, with_response
from dpstats.frame.new_rows import new_rows, warn_of_left_out
from dpstats.frame.panel import PanelColumns, panel_design, panel_moments
from dpstats.frame.persons import FirstRows
from dpstats.frame.private_levels import LevelCells, undeclared_levels
from dpstats.frame.private_tables import remember_private
from dpstats.frame.products import DesignProducts, design_products
from dpstats.frame.public_moments import (
    PublicMoments,
    SpentOn,
    public_moments,
    require_public_response,
)
from dpstats.frame.rows import (
    Block,
    Encoding,
    Rows,
    design_matrix,
    joined,
    open_public_rows,
    open_rows,
    predicted_rows,
)
from dpstats.frame.source import opened, shows_types

__all__ = [
    "Block",
    "Change",
    "Changes",
    "Design",
    "DesignProducts",
    "Encoding",
    "FarScores",
    "FirstRows",
    "LevelCells",
    "PanelColumns",
    "PanelFormula",
    "PersonsBlock",
    "PersonsTable",
    "PublicMoments",
    "Reading",
    "Rows",
    "SpentOn",
    "as_written",
    "boxed",
    "check_columns",
    "check_written",
    "class_design",
    "classes_formula",
    "columns_of",
    "curve_formula",
    "declare_design",
    "design_extent",
    "design_matrix",
    "design_products",
    "dot_without",
    "far_powers_within_limits",
    "features_design",
    "formula_columns",
    "formula_notes",
    "joined",
    "learn_design",
    "level_name",
    "linear_constraints",
    "listed_formula",
    "new_rows",
    "open_persons",
    "open_public_rows",
    "open_rows",
    "opened",
    "panel_design",
    "panel_formula",
    "panel_moments",
    "points_formula",
    "predicted_rows",
    "private_design",
    "public_moments",
    "public_persons",
    "refuse_aliases",
    "remember_private",
    "require_formula",
    "require_known_limits",
    "require_public_response",
    "require_readable_limits",
    "shows_types",
    "squeezed",
    "subset_design",
    "term_name",
    "term_named",
    "term_spellings",
    "terms_named",
    "undeclared_levels",
    "warn_of_left_out",
    "with_response",
]
