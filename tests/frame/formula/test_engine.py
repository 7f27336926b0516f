"""formulaic: in one module only, and its columns are ours."""

import ast
import re
from pathlib import Path

import formulaic
import numpy as np
import pandas as pd
import pytest

import dpstats.frame.formula.engine
from dpstats.errors import FormulaError, PublicDataError
from dpstats.frame import design_matrix, learn_design
from dpstats.frame.formula import engine
from dpstats.frame.formula.engine import apply_basis, learn_state
from dpstats.frame.formula.parse import parse

FRAME = Path(dpstats.frame.formula.engine.__file__).parent


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_formulaic_is_touched_in_one_module():
    users = {
        path.name
        for path in FRAME.glob("*.py")
        if any(name.split(".")[0] == "formulaic" for name in imports(path))
    }
    assert users == {"engine.py"}


def test_frame_imports_no_other_part_of_the_package():
    for path in FRAME.glob("*.py"):
        for name in imports(path):
            assert not name.startswith("dpstats") or name.startswith(
                ("dpstats.frame", "dpstats.errors", "dpstats.arguments")
            )


FORMULAS = [
    "x",
    "x * g",
    "0 + g + x",
    "(x + z + b)^2",
    "g * b",
    "g / x",
    "2:x",
    "poly(x, 2) + bs(z, df=5)",
    "poly(x, 3, raw=True)",
    "cr(z, df=4) + cc(x, df=4)",
    "cr(z, df=4, constraints='center') * b",
    "C(k) + log(z)",
    "C(k, contr.helmert):g",
    "C(g, contr.sum) * x",
    "C(g, contr.poly):x + I(x > 0)",
    "C(g, Diff) + C(k, contr.SAS)",
    "C(g, contr.treatment(base='b'))",
    "C(g, [[1, 0], [0, 1], [-1, -1]])",
    "C(g, spans_intercept=False)",
    "center(x) + scale(z)",
    "bs(z, df=5, include_intercept=True) * g",
    "0 + bs(z, df=5, include_intercept=True) + g",
    "`my col` * log(`my col` + 10)",
    "{x + z} + exp(x) + log2(z) + log10(z)",
]


@pytest.mark.parametrize("right", FORMULAS)
def test_columns_agree_with_plain_formulaic(right, clean):
    frame = clean.assign(
        g=clean.g.astype("category"), b=pd.Categorical(clean.b, categories=[False, True])
    )
    expected = formulaic.model_matrix(f"y ~ {right}", frame, context={}).rhs
    design = learn_design(f"y ~ {right}", clean)
    names = list(expected.columns)
    if "raw=True" in right:  # counted from 1, as other powers and as R's
        names = ["Intercept"] + [f"{right}[{k}]" for k in range(1, len(names))]
    if "include_intercept" in right:  # likewise, where formulaic begins with 0
        names = [re.sub(r"(?<=\)\[)\d", lambda k: str(int(k[0]) + 1), name) for name in names]
    assert list(design.terms) == names
    x = design_matrix(design, clean)[0]
    np.testing.assert_allclose(x, expected.to_numpy(float), rtol=1e-13, atol=1e-14)


def test_a_column_called_intercept_does_not_replace_the_constant(clean):
    frame = clean.assign(Intercept=7.0)
    with pytest.raises(FormulaError, match="rename"):
        learn_design("y ~ x + Intercept", frame)
    design = learn_design("y ~ x", frame)
    assert (design_matrix(design, frame)[0][:, 0] == 1).all()
    assert learn_design("y ~ 0 + Intercept", frame).terms == ("Intercept",)


def test_columns_called_like_functions(clean):
    frame = clean.rename(columns={"x": "log", "z": "scale", "k": "C"})
    design = learn_design("y ~ log + log(scale) + scale(scale) + C(C)", frame)
    assert design.terms[:4] == ("Intercept", "log", "log(scale)", "scale(scale)")


def test_errors_of_contrasts_and_bases_are_ours(clean):
    with pytest.raises(FormulaError, match="`g` has no level 'q'"):
        learn_design("y ~ C(g, contr.treatment(base='q'))", clean)
    with pytest.raises(PublicDataError, match="two or more levels"):
        learn_design("y ~ C(g, levels=['a', 'q'])", clean)
    for right in ("bs(x, df=1)", "cr(x)", "poly(b, 2)", "cr(x, df=4, constraints='no')"):
        with pytest.raises(PublicDataError, match="cannot be learnt"):
            learn_design(f"y ~ {right}", clean)
    for right in ("poly(x, 'a', raw=True)", "poly(x, 0, raw=True)", "C(g, 3)", "C(g, [[1], [2]])"):
        with pytest.raises(FormulaError):
            learn_design(f"y ~ {right}", clean)
    for right in ("poly(x, 2.5)", "scale(x, 'a')", "bs(x, degree='a')", "bs(x, extrapolation='q')"):
        with pytest.raises(PublicDataError, match="cannot be learnt"):
            learn_design(f"y ~ {right}", clean)
    with pytest.raises(PublicDataError, match="does not vary"):
        learn_design("y ~ scale(x)", clean.assign(x=1.0))
    with pytest.raises(PublicDataError, match="two or more levels"):
        learn_design("y ~ g", clean.assign(g="a"))


def test_bs_takes_the_nearest_end_outside_its_range():
    x = np.linspace(0, 1, 50)
    state = learn_state("bs", x, {"df": 5})
    far = apply_basis("bs", np.array([-1e300, 0.0, 1.0, 9.0]), {"df": 5}, state)
    for values in far:
        assert values[0] == values[1]
        assert values[2] == values[3]


@pytest.mark.parametrize(
    "formula", ["y ~ x", "y ~ a + b - 1", "y ~ b + log(a) + I(a ** 2)", "y ~ 1", "y ~ z + a:b"]
)
def test_columns_of_plain_sums_are_those_of_formulaic(formula: str) -> None:
    terms = parse(formula).terms
    fields = {
        factor.text: engine.Fields((factor.text,), (factor.text,))
        for term in terms
        for factor in term
    }
    assert engine.structure(terms, fields) == engine._structure(terms, fields)
    assert (engine._plain(terms, fields) is None) == (":" in formula)


def test_a_column_called_intercept_is_refused_beside_the_constant() -> None:
    terms = parse("y ~ Intercept").terms
    with pytest.raises(FormulaError, match="Intercept"):
        engine.structure(terms, {"Intercept": engine.Fields(("Intercept",), ("Intercept",))})
