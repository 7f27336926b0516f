"""Where features lie when there are no public rows.

Nothing is known of them, or ranges that may be far too wide, with which noise would grow: so each
feature's location and scale are searched for first, by noisy counts (`dpstats.column_search`), and rows
are cut in these units. Classes are declared, or released for a part of delta.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpstats.arguments import naming
from dpstats.arrays import Floats
from dpstats.call import Charged, ReleasedLevels
from dpstats.column_search.releases import ColumnSession
from dpstats.column_search.scales import find_scales
from dpstats.errors import ErrorsWithoutTrace, SchemaError
from dpstats.frame import Design, as_written, classes_formula, design_products, features_design
from dpstats.frame.source import column_types
from dpstats.models.eptr_bayes.estimate import ClassGeometry
from dpstats.models.eptr_bayes.planning import blind_cut


@dataclass(frozen=True)
class UnknownFeatures:
    """What is known of features before any row is read.

    Attributes
    ----------
    classes : int
    size : (p,) array
        That the formula tells of columns of levels and of comparisons; 1 of the others.
    searched : tuple of int
        The others.
    boxes : dict
        Their declared ranges, by place among them.
    """

    classes: int
    size: Floats
    searched: tuple[int, ...]
    boxes: dict[int, tuple[float, float]]

    @classmethod
    def of(cls, design: Design, classes: int, limits: Mapping[str, Any] | None) -> UnknownFeatures:
        """From a design whose first columns are the classes."""
        features = features_design(design, classes)
        size, known = np.ones(len(features.terms)), design_products(features).known
        for j, one in known.items():
            size[j] = one
        searched = tuple(j for j in range(len(size)) if j not in known)
        boxes = {
            searched.index(j): limits[name]
            for name, j in features.bare.items()
            if limits and isinstance(limits.get(name), tuple) and j in searched
        }
        return cls(classes, size, searched, boxes)

    @property
    def columns(self) -> tuple[int, ...]:
        """Columns of the design to be searched, or any one so that rows are counted."""
        return tuple(self.classes + j for j in self.searched) or (0,)


def design_of_classes(
    charged: Charged,
    formula: str,
    limits: Mapping[str, Any] | None,
    unknown: tuple[str, ...] = (),
    levels: ReleasedLevels | None = None,
) -> tuple[Design, str]:
    """The design, and the column of the classes, from names and kinds of columns and from limits.

    ``unknown``: columns whose levels are to be released; ``levels``: once they are.
    """
    with ErrorsWithoutTrace():  # the frame holds the first rows of a function
        with naming("the private data"):
            table = column_types(charged.table)
            text, name = classes_formula(formula, table.names)
            kind = table.type_of(name).kind
            if kind == "number" and not isinstance((limits or {}).get(name), list):
                raise SchemaError(
                    f"`{name}` holds numbers, of which any may be a class: name the classes, limits={{"
                    f"'{name}': [0, 1]}}; or make them text, {name}.astype(str), whose values that many "
                    "rows have are released where epsilon and delta are given."
                )
        with as_written(formula, text, name):
            if levels is None:
                design = charged.design(text, None, None, limits, unknown)
            else:
                design = charged.released_design(text, None, None, limits, levels)
    # rows beyond a declared range are cut about their class, as all others are
    return replace(design, formula=formula, boxes={}), name


def find_features(
    session: ColumnSession, known: UnknownFeatures, n: int, mu: float
) -> ClassGeometry:
    """Released locations and scales; those that the formula tells are zero and half its size.

    ``mu``: of what is left for the release of moments.
    """
    location, scale = np.zeros(len(known.size)), known.size / 2
    found = find_scales(session, len(known.searched), known.boxes)[1] if known.searched else []
    for k, (j, one) in enumerate(zip(known.searched, found, strict=True)):
        low, high = known.boxes.get(k, (-math.inf, math.inf))
        location[j] = min(max(one.location, low), high)
        scale[j] = min(1.0 if one.scale is None else one.scale, (high - low) / 4)
    mu = mu * math.sqrt(session.left)
    p = len(scale)
    cut = blind_cut(p, known.classes, n, mu)
    centres = np.tile(location / scale, (known.classes, 1))
    return ClassGeometry(
        np.diag(1 / scale), centres, cut.radius, 1.0, None, None, None, cut, None, np.ones(p)
    )
