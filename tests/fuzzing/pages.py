"""What pages and tables of fits may be asked for, and texts of saved moments."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import dpstats
from tests.fuzzing.tables import PUBLIC_ROWS, Table
from tests.fuzzing.values import ODD_NUMBERS, codes, made

_FITS = ("fitted()", "fitted('dp_glm')", "fitted('eptr_lm')", "fitted('moments')", "fitted('open')")
_ALIKE = (
    "fitted().update('~ . - x')",
    "alike(1.0, 2.0)",
    "alike(pd.Series([1.0]), pd.Series([2.0]))",
    "alike(pd.Series([1.0], ['x']), pd.Series([nan], ['x']))",
    "alike(pd.Series([nan, inf], ['x', 'z']), pd.Series([1.0, 2.0]))",
    "alike(pd.Series([1e308, -1e308], ['x', 'z']), pd.Series([1e308, 1e-308]), nobs=1e308)",
    "alike(pd.Series([0.0, 1.0], ['x', 'z']), pd.Series([0.0, inf]), nobs=inf, scale=nan)",
    "alike(pd.Series([0.0, 5e-324], ['x', 'z']), pd.Series([5e-324, 5e-324]), rsquared=nan)",
    "alike(pd.Series([1.0], ['x']), pd.Series([-1.0], ['x']), nobs=-3, rsquared=inf, scale=inf)",
    "alike(pd.Series([1.0, 2.0], ['x', 'x']), pd.Series([1.0, 2.0]))",
    "alike(pd.Series([1.0, 2.0], ['x', 'z']), pd.Series([1.0]))",
    "alike(pd.Series([], dtype=float), pd.Series([], dtype=float))",
    "alike(pd.Series(['a'], ['x']), pd.Series([1.0]))",
    "alike(pd.Series([1j], ['x']), pd.Series([1.0]))",
    "alike(pd.DataFrame({'a': [1.0]}), pd.DataFrame({'a': [1.0]}))",
    "alike(pd.Series([1.0], [Rude()]), pd.Series([1.0]))",
    "alike(pd.Series([1.0], pd.Index(['\\ud800\\n|&'], dtype=object)), pd.Series([1.0]), nobs=nan)",
    "alike(pd.Series([1.0], ['x']), pd.Series([1.0]), model=types.SimpleNamespace(endog_names=Rude()))",
    "alike(pd.Series([1.0], ['x']), pd.Series([1.0]), model=3, nobs='a', rsquared=[], scale={})",
    "alike(pd.Series(np.ones(3000), range(3000)), pd.Series(np.ones(3000)))",
    "fitted().summary()",
    "dpstats.dp_lm",
)
_FIT_LISTS = tuple(f"[{fit}, {other}]" for fit in _FITS for other in (*_FITS[::-1], *_ALIKE))
FIT_LISTS = codes(
    *_FITS,
    *_ALIKE,
    *_FIT_LISTS,
    "{'a': fitted(), 'b': fitted('open')}",
    "{1: fitted(), '1': fitted()}",
    "{Rude: fitted()}",
    "{'\\ud800': fitted()}",
    "{'': fitted(), 'x' * 5000: fitted()}",
    "{}",
    "[]",
    "[fitted()] * 60",
    "[[fitted()]]",
    "(fitted(), None)",
    "(v for v in [fitted()])",
    "pd.Series([fitted()])",
    "np.array([fitted(), fitted()])",
    "{'a': None}",
    "None",
    "3",
    "'fit'",
    "Rude()",
    "Thing()",
    "pd.DataFrame({'a': [1.0]})",
)
HEADINGS = codes(
    "['A']",
    "['A', 'B']",
    "('A', 'A')",
    "np.array(['A', 'B'])",
    "pd.Index(['A'])",
    "['x' * 5000, '\\ud800\\n|&<b>']",
    "['']",
    "['A', 3]",
    "[None]",
    "[]",
    "'A'",
    "'AB'",
    "b'A'",
    "3",
    "True",
    "{'A': 1}",
    "{'A'}",
    "(v for v in ['A'])",
    "[Rude()]",
    "Rude()",
    "Thing()",
    "str",
)
STARS = (
    codes(
        "(0.1, 0.05)",
        "[0.05, 0.05]",
        "[]",
        "()",
        "(0.1, 0.05, 0.01, 1e-3, 1e-4, 1e-5)",
        "(0, 1)",
        "[nan]",
        "[0.05, 'a']",
        "'*'",
        "b'*'",
        "range(3)",
        "[1e-300]",
        "np.array([0.1, 0.05])",
        "pd.Series([0.1])",
        "{0.05}",
        "(v for v in [0.1])",
        "range(10**12)",
    )
    | ODD_NUMBERS
)
FEW_DIGITS = codes("1", "3", "15", "16", "0", "-1", "2.5", "'3'", "True", "nan", "[3]", "10**400")
SWITCHES = codes(
    "True", "False", "None", "1", "'a'", "np.bool_(True)", "np.array([1, 2])", "Rude()"
)
SOME_TERMS = codes(
    "'x'",
    "['x']",
    "['x', 'x']",
    "('Intercept', 'x')",
    "'nowhere'",
    "['x', 3]",
    "[]",
    "3",
    "b'x'",
    "nan",
    "{'x'}",
    "{'x': 1}",
    "pd.Index(['x'])",
    "(v for v in ['x'])",
    "[None]",
    "[['x']]",
    "[Rude()]",
    "Rude()",
    "Thing()",
    "shout",
    "np.array('x')",
    "str",
)
AXES = codes(
    "dpstats.report.plot.axes(None)",
    "dpstats.report.plot.axes(None, 1.5)",
    "dpstats.report.plot.axes(None).figure",
    "dpstats.report.plot.axes(None).figure.subplots(2)",
    "dpstats.report.plot.axes(None).figure.add_subplot(projection='polar')",
    "dpstats.report.plot.axes(None).figure.add_subplot(projection='3d')",
    "dpstats.report.plot.axes(None).inset_axes([0, 0, 1e-3, 1e-3])",
    "3",
    "'ax'",
    "[]",
    "True",
    "Thing()",
    "Rude()",
    "types.SimpleNamespace(set_xlabel=1)",
    "__import__('matplotlib.pyplot').pyplot",
)
DELTAS = (
    codes(
        "[1e-3, 1e-6]",
        "1e-9",
        "[1e-300]",
        "[0.999999]",
        "[]",
        "[0]",
        "[1]",
        "'a'",
        "b'ab'",
        "np.array([0.1, 0.01])",
        "np.array(0.1)",
        "{0.1: 1}",
        "(v for v in [0.1])",
        "[[0.1]]",
        "np.full(1000, 0.1)",
        "list(np.geomspace(1e-9, 0.1, 300))",
        "[Rude()]",
        "Rude()",
    )
    | ODD_NUMBERS
)
ATTRIBUTES = st.sampled_from(
    ["resid", "fitted", "aic", "params", "nowhere", "data", "rsquared", "augment", "terms", "scale"]
)


def json_texts() -> st.SearchStrategy[Any]:
    """What `to_json` has written, with one entry replaced or taken out; and other texts."""
    paths = st.sampled_from(
        [
            "version",
            "design",
            "m",
            "gram",
            "cross",
            "yy",
            "dropped",
            "spent",
            "design.formula",
            "design.response",
            "design.columns",
            "design.rhs",
            "design.factors",
            "design.program",
            "design.states",
            "design.offsets",
            "design.weights",
            "design.weight_bound",
            "design.response_kind",
            "design.response_levels",
            "design.columns.x",
            "design.columns.x.kind",
            "design.columns.x.levels",
            "design.factors.0",
            "design.factors.0.text",
            "design.factors.0.kind",
            "design.factors.0.full",
            "design.factors.0.coding",
            "design.factors.0.spans",
            "design.program.0",
            "design.program.1",
            "design.program.1.0",
            "design.program.1.1",
            "design.program.1.2",
            "design.program.1.2.0",
            "design.program.1.2.0.0",
            "design.rhs.0",
            "design.rhs.1",
            "design.rhs.1.0",
            "design.version",
            "gram.0",
            "gram.0.0",
            "cross.0",
            "design.response.0",
            "design.response.1",
            "design.columns.g.levels",
            "design.factors.1.coding",
            "design.factors.1.coding.0.1",
            "design.states.poly(z, 2)",
        ]
    )
    values = codes(
        "None",
        "0",
        "-1",
        "1e308",
        "nan",
        "inf",
        "True",
        "''",
        "'x'",
        "'nowhere'",
        "'x.mean()'",
        "\"__import__('os')\"",
        "'\\ud800'",
        "[]",
        "[1]",
        "[[]]",
        "{}",
        "{'a': 1}",
        "['a', 'b']",
        "10**400",
        "'9' * 10000",
        "[[1, 2], [3]]",
        "'category'",
        "'number'",
        "'bool'",
        "'y ~ ('",
        "'DROP'",
    )
    return st.tuples(st.just("edit"), paths, values) | codes(
        "''",
        "'{}'",
        "'[]'",
        "'null'",
        "'3'",
        "'\"a\"'",
        "'{'",
        "'{\"design\": 3}'",
        "'{\"design\": {}}'",
        "'[' * 100000",
        "'{\"a\":' * 100000",
        "'1' * 10000",
        "'NaN'",
        "'\\x00'",
        "'\\ud800'",
        "None",
        "3",
        "b'{}'",
        "b'\\xff'",
        "Thing()",
        "[]",
        "'no/such/file.json'",
    )


def edited(edit: Any) -> Any:
    import json

    if not isinstance(edit, tuple):
        return made(edit)
    _, path, value = edit
    public = Table(n=PUBLIC_ROWS).build("public")
    saved = json.loads(dpstats.public_moments("y ~ x + g + poly(z, 2)", public).to_json())
    at: Any = saved
    *way, last = path.split(".")
    try:
        for step in way:
            at = at[int(step) if step.isdigit() else step]
        key: Any = int(last) if last.isdigit() else last
        if made(value) == "DROP":
            del at[key]
        else:
            at[key] = made(value)
    except (KeyError, IndexError, TypeError):
        pass
    return json.dumps(saved)
