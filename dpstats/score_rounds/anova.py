"""R's anova: tests of the terms of one model, and of two nested ones."""

from __future__ import annotations

import re

import pandas as pd

from dpstats.arguments import listed, shown, spelled
from dpstats.errors import ArgumentError
from dpstats.report.result import Coefficients
from dpstats.report.wald import UNKNOWN, WaldTest, nested_page, terms_page
from dpstats.score_rounds.estimate import without_errors
from dpstats.score_rounds.hypotheses import columns_by_term, kept_beside
from dpstats.score_rounds.nested import restrictions
from dpstats.score_rounds.result import Model
from dpstats.score_rounds.submodel import restrict
from dpstats.score_rounds.wald_tests import Anova, TermTests

_MISSED = (
    "NA: what this test leaves out matters so much that one Newton step from the whole model may miss "
    "the sub-model by more than its errors. type=3 tests each term beside all others; else fit the "
    "sub-model anew."
)
_FUNCTION = re.compile(r"^(update\()+")


def _terms_tested(fit: Model, type: int) -> TermTests:
    """Every term of a fit, in the sub-model that the type of test asks for."""
    names, tests, missed = [], [], False
    for k, (_, name, at) in enumerate(columns_by_term(fit.design)):
        kept = kept_beside(fit.design, k, type)
        # with the variance of the whole model, as R's table has it
        every = len(kept) == len(fit.coefficients.coef)  # some of which may have no errors
        part = fit.estimate if every else restrict(fit.estimate, kept, fixed_dispersion=True)
        if not every and fit._misses(part, kept):
            part, missed = without_errors(part), True
        freedom = fit.coefficients.freedom
        those = Coefficients((), part.coef, part.sampling, part.privacy, freedom)
        names.append(fit._term_name(name))
        tests.append(
            WaldTest.that_are_zero(those, [kept.index(j) for j in fit.coefficients.others(at)])
        )
    how = {1: "in the order of the formula", 2: "each adjusted for those that do not contain it"}
    title = f"Wald tests of the terms, {how.get(type, 'each adjusted for all others')}"
    lines = [(n, t.df, t.chi2, t.p_value, t.below) for n, t in zip(names, tests, strict=True)]
    frame = pd.DataFrame(lines, columns=["term", "df", "chi2", "p_value", "df_denominator"])
    why = _MISSED if missed else UNKNOWN
    return TermTests(frame, terms_page(names, tests, title, fit.privacy.derived, why))


def _require_alike(fit1: Model, fit2: Model) -> None:
    """Raise where two fits are no models of one response, of as many rows, by one function."""
    functions = [_FUNCTION.sub("", fit.call).partition("(")[0] for fit in (fit1, fit2)]
    responses = [str(fit.design.response) for fit in (fit1, fit2)]
    families = [str(fit.table_facts().get("Family", "")) for fit in (fit1, fit2)]
    rows = [str(fit.n) for fit in (fit1, fit2)]
    weights = [str(fit.design.weights) for fit in (fit1, fit2)]
    for what, (one, other) in (
        ("function", functions),
        ("response", responses),
        ("family and link", families),
        ("number of private rows", rows),
        ("column of weights", weights),
    ):
        if one != other:
            raise ArgumentError(
                f"anova compares nested models that differ in their terms alone; the {what} of the "
                f"first is {one}, and of the second {other}. etable(fit1, fit2) has them side by side."
            )


@spelled
def anova(fit1: Model, fit2: Model | None = None, *, type: int | str = 1) -> Anova | TermTests:
    """Wald test of nested models, or of the terms of one; costs nothing, the fit has all it needs.

    Parameters
    ----------
    fit1, fit2 : models
        Two nested ones, as with fewer terms, or a line where the other has a spline; or one, whose terms
        are tested one by one.
    type : {1, 2, 3}, or {"I", "II", "III"}
        Of one model: each term after those before it, as R's ``anova``; adjusted for all terms that
        do not contain it, as ``car::Anova`` and (for the last terms) ``drop1``; or adjusted for all
        others. Of a generalised linear model the first two are NA where terms that matter come later.

    Returns
    -------
    Anova or TermTests
        ``.df``, ``.chi2``, ``.p_value`` of two models; ``.frame`` of the terms of one. Both print.

    Raises
    ------
    ArgumentError
        If the two are the same, or neither is nested in the other; or if ``type`` is invalid.

    See Also
    --------
    LinearModel.wald_test : Hypotheses about coefficients.
    etable : Models side by side.

    References
    ----------
    Wald (1943), "Tests of Statistical Hypotheses Concerning Several Parameters When the Number of
    Observations is Large", Transactions of the AMS 54.

    Examples
    --------
    >>> from dpstats import dp_lm
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
    >>> anova(fit, fit.update("~ . - age")).df
    1
    >>> list(anova(fit).frame.term)
    ['age', 'religious']
    """
    if fit2 is None and isinstance(fit1, Model):
        which = {"I": 1, "II": 2, "III": 3}.get(type, type) if isinstance(type, str) else type
        if which not in (1, 2, 3):
            raise ArgumentError(f"type must be 1, 2 or 3, not {shown(type)}.")
        return _terms_tested(fit1, int(which))
    if not (isinstance(fit1, Model) and isinstance(fit2, Model)):
        raise ArgumentError("anova compares two fitted models: anova(fit, fit.update('~ . - x')).")
    _require_alike(fit1, fit2)
    if fit1.coefficients.terms == fit2.coefficients.terms:
        raise ArgumentError("the two models are the same; anova compares nested models.")
    if len(fit1.coefficients.terms) < len(fit2.coefficients.terms):
        small, large = fit1, fit2
    else:
        small, large = fit2, fit1
    extra = [t for t in large.coefficients.terms if t not in small.coefficients.terms]
    c = large.coefficients
    if extra and set(small.coefficients.terms) < set(c.terms):
        test = WaldTest.that_are_zero(c, c.others([c.terms.index(t) for t in extra]))
    else:
        matrix = restrictions(small.design, large.design)
        if matrix is None:
            lacking = [t for t in small.coefficients.terms if t not in c.terms]
            raise ArgumentError(
                "anova compares nested models: every column of one fit must be in the other, or a sum "
                f"of its columns. The smaller model alone has {listed(lacking)}; the larger one "
                f"{listed(extra)}."
            )
        test = WaldTest.that_hold(c, matrix)
    derived = large.privacy.derived if small.privacy is large.privacy else None
    return Anova.of(test, nested_page([small.formula, large.formula], test, derived))
