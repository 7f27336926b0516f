"""Tables of several fits: their estimates, facts and notes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dpstats.accounting.privacy import Privacy
from dpstats.accounting.unit import PrivacyUnit
from dpstats.arguments import check_switch, items, number, numbers, shown, spelled
from dpstats.budget.page import together
from dpstats.compare.page import MARK, Entry, Style, check_level, fits_page
from dpstats.compare.terms import Terms
from dpstats.errors import ArgumentError, suppress_private_errors
from dpstats.models.glm.family import Family, resolve_family
from dpstats.report.estimates import Plotted
from dpstats.report.format import format_scalar
from dpstats.report.model import ERROR_NAMES, errors_name
from dpstats.report.options import check_digits, check_stars, options
from dpstats.report.privacy import SEEDED, PrivacyStatement
from dpstats.report.released import Released
from dpstats.report.result import Coefficients, Result
from dpstats.report.table import Page
from dpstats.score_rounds.result import Model, coefficients_of

_PUBLIC = "public alone"
_RELEASED = "released moments"
_OPEN = "not private"
_MOST_NOTES = 100


@spelled
def etable(
    fits: Any,
    *more: Any,
    names: Sequence[str] | None = None,
    digits: int | None = None,
    stars: bool | Sequence[float] | None = None,
    interval: bool = False,
    level: float = 0.95,
    exponentiate: bool = False,
    public: bool = False,
    nonprivate: Any = None,
    labels: Mapping[str, str] | None = None,
    keep: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
    order: str | Sequence[str] | None = None,
    notes: str | Sequence[str] = (),
) -> Page:
    """Several fits side by side, as in the tables of reports.

    Parameters
    ----------
    fits : fit, list of fits, or mapping from names to fits
        Or fits one after another, ``etable(first, second)``.
        Of `dp_lm`, `dp_glm`, `dp_feols`, `eptr_lm`, or what ``update`` makes of them; means of `dp_mean`
        and `dp_mvnorm`; averages over private rows, ``fit.comparisons(data=private, mu=0.5)``. A fit of
        statsmodels may be among them; its column is marked as not private.
    names : sequence of str, optional
        Headings of the columns; default (1), (2), ...
    digits : int, optional
        Significant digits of an estimate and its standard error, of the smaller one; default 3, or
        ``dpstats.options.digits``.
    stars : bool or sequence of float, optional
        Whether significance is marked, or the levels of one, two, ... stars; default
        ``(0.05, 0.01, 0.001)``, or ``dpstats.options.stars``.
    interval : bool
        Intervals of this ``level`` below the estimates, rather than standard errors.
    level : float
        Of the intervals.
    exponentiate : bool
        Exponentials of the coefficients and of their intervals, which stand below them: odds ratios of
        logit fits, rate or mean ratios of a log link or of a response that is a logarithm, hazard ratios
        of a complementary log-log link.
    public : bool
        Also the fits of the public rows alone (one column where several fits share it).
    nonprivate : statsmodels result, list of them, or mapping from names, optional
        For teaching: columns without privacy, and the note that such a table is not for release.
    labels : mapping, optional
        Names to print for terms, or for their parts: with ``{"educ": "Education"}`` the term
        ``educ:age`` is "Education x age", and ``educ[T.high]`` "Education: high". Responses as well.
    keep, drop : str or sequence of str, optional
        Regular expressions, searched in the terms as the fits name them: only terms that match one
        of ``keep`` are shown, and none that match one of ``drop``. (Fits stay as they are.)
    order : str or sequence of str, optional
        Regular expressions: terms that match the first come first, and so on; others keep their order.
    notes : str or sequence of str, optional
        Your own notes, below the others.

    Returns
    -------
    Page
        Prints as text and shows as a table in notebooks; ``.to_markdown()``, ``.to_latex()``,
        ``.to_html()``, ``.to_csv()``; ``.to_latex(caption=, label=)`` is a table that floats. The line
        "Errors" says which standard errors a column has; "!" marks fits whose notes bear on their
        coefficients, and the notes stand below.

    Raises
    ------
    ArgumentError
        If one of them is not a fit, or an argument does not suit them.

    See Also
    --------
    dp_lm, dp_glm, dp_feols : The fits.
    anova : Test of nested models.
    options : Digits and stars of all tables.

    References
    ----------
    The layout follows R's ``fixest::etable`` and ``modelsummary``.

    Examples
    --------
    >>> from dpstats import dp_lm
    >>> from dpstats.datasets import fair
    >>> public, private = fair()
    >>> fit = dp_lm("rate_marriage ~ age + religious", private, public=public, mu=1, seed=1)
    >>> print(etable([fit, fit.update("~ . - age")], digits=2))
    Response: rate_marriage
    <BLANKLINE>
                                 (1)          (2)
    Intercept               4.332***     3.892***
                             (0.073)      (0.045)
    age                   -0.0165***
                            (0.0029)
    religious               0.106***     0.089***
                             (0.017)      (0.016)
    <BLANKLINE>
    Rows                        6048         6048
    Public rows                  318          318
    Residual std. error       0.9287       0.9353
    R-squared                0.02098     0.006883
    Errors                  sandwich     sandwich
    mu (GDP)                       1            1
    epsilon (delta)     4.38 (1e-05) 4.38 (1e-05)
    Unit of privacy          one row      one row
    Method                  anchored     anchored
    ---
    *** p < 0.001, ** p < 0.01, * p < 0.05
    Standard errors in parentheses; they cover sampling and privacy noise.
    (1), (2) are computed from one release, which was paid for once.
    (1), (2): seeded: not for release.
    """
    check_switch("interval", interval)
    check_switch("exponentiate", exponentiate)
    check_switch("public", public)
    interval = interval or exponentiate
    if number(level) != 0.95 and not interval:
        raise ArgumentError("level= goes with interval=True.")
    given = _named([fits, *more] if more else fits, names)
    shown_terms = Terms.of(labels, keep, drop, order)
    style = Style.of(
        check_digits(digits if digits is not None else options.digits),
        check_stars(options.stars if stars is None else stars),
        check_level(level) if interval else None,
        exponentiate,
    )
    entries = [_entry(name, fit) for name, fit in given]
    models = [(name, fit) for name, fit in given if isinstance(fit, Model)]
    private = [(name, fit) for name, fit in given if isinstance(fit, Released)]
    remarks = _spent(private) + _remarks(private)
    if public:
        alone, missing = _public_columns(models)
        entries += alone
        remarks += missing
    others = [] if nonprivate is None else _open_fits(nonprivate)
    entries += [_open_entry(name, fit) for name, fit in others]
    if exponentiate:
        remarks = _ratios([*given, *others]) + remarks
    if len(private) < len(given) or others:
        remarks.append("A column that is not private is for teaching: do not release this table.")
    return fits_page(entries, style, [*remarks, *_own_notes(notes)], shown_terms)


_RATIOS = {"logit": "odds ratios", "log": "rate or mean ratios", "cloglog": "hazard ratios"}
"""What exponentials of coefficients are, by link."""
_LINKS = {"Logit": "logit", "Poisson": "log", "NegativeBinomial": "log"}
"""Of models of statsmodels that have no family."""


def _ratios(fits: Sequence[tuple[str, Any]]) -> list[str]:
    """What the exponentials in each column are; raises for coefficients that are no logarithms."""
    columns: dict[str, list[str]] = {}
    for name, fit in fits:
        link = _link(fit)
        if link not in _RATIOS:
            raise ArgumentError(
                f"exponentiate=True is for coefficients that are logarithms of ratios; those of {name} "
                f"have the {link} link. Leave it out of the table, or exponentiate= out."
            )
        columns.setdefault(_RATIOS[link], []).append(name)
    return [
        "Exponentials of coefficients: "
        + "; ".join(f"{', '.join(names)} {what}" for what, names in columns.items())
        + "."
    ]


def _link(fit: Any) -> str:
    """The link of a fit; that of a logarithm where the response is one."""
    if isinstance(fit, Model):
        known, response = getattr(fit, "family", None), fit.design.response or ""
    else:
        known, response = _family(fit), _endogenous(fit)
    if known is not None:
        return str(known.link)
    other = _LINKS.get(type(getattr(fit, "model", None)).__name__, "identity")
    return "log" if response.startswith(("log(", "np.log(")) else other


def _endogenous(fit: Any) -> str:
    """The response of a fit of statsmodels."""
    return str(getattr(getattr(fit, "model", None), "endog_names", ""))


def _own_notes(notes: Any) -> list[str]:
    """The notes that the caller gives."""
    given = [notes] if isinstance(notes, str) else items(notes, _MOST_NOTES)
    if given is None or not all(isinstance(note, str) for note in given):
        raise ArgumentError(f"notes must be a text or a list of texts, not {shown(notes)}.")
    return given


def _open_fits(fits: Any) -> list[tuple[str, Any]]:
    """Fits without privacy with their names, however they are given."""
    if isinstance(fits, Mapping):
        return [(f"{name} ({_OPEN})", fit) for name, fit in fits.items()]
    several = _list(fits)
    if len(several) == 1:
        return [(_OPEN, several[0])]
    return [(f"{_OPEN} {k}", fit) for k, fit in enumerate(several, 1)]


def _list(fits: Any) -> list[Any]:
    return list(fits) if isinstance(fits, list | tuple) else [fits]


def _named(fits: Any, names: Sequence[str] | None) -> list[tuple[str, Any]]:
    if isinstance(fits, Mapping):
        if names is not None:
            raise ArgumentError("the mapping of fits has the names already; leave names= out.")
        names = [k if isinstance(k, str) else shown(k) for k in fits]
        fits = list(fits.values())
    several = _list(fits)
    if not several:
        raise ArgumentError("etable needs at least one fit: etable([fit1, fit2]).")
    if names is None:
        names = [f"({k})" for k in range(1, len(several) + 1)]
    headings = items(names, len(several))
    if headings is None or len(headings) != len(several):
        raise ArgumentError(f"names must be a list of {len(several)} headings, one for each fit.")
    if not all(isinstance(n, str) for n in headings):
        raise ArgumentError("names must be texts.")
    return list(zip(headings, several, strict=True))


def _entry(name: str, fit: Any) -> Entry:
    if not isinstance(fit, Model):
        of_estimates = isinstance(fit, Released) and isinstance(fit, Result | Plotted)
        return (_estimates if of_estimates else _open_entry)(name, fit)
    p = fit.privacy
    rows = fit.nobs if fit.nobs == fit.n else f"about {fit.nobs}"  # which is a release
    facts: dict[str, Any] = {"Rows": rows}
    if p.protected.jointly:
        facts["Persons"] = fit.n
    if fit.m is not None and fit.public_spent is None and not fit.left_out:
        facts["Public rows"] = fit.m
    facts |= fit.table_facts() | {"Errors": errors_name(fit.estimate.errors, p)}
    facts |= _privacy(p)
    response = fit.design.response or ""
    facts["Method"] = fit.method
    return Entry(name, response, fit.coefficients, facts, marked=bool(fit.doubts))


def _privacy(p: PrivacyStatement) -> dict[str, Any]:
    """What a column has cost, and whom it protects."""
    facts: dict[str, Any] = {}
    if not math.isnan(p.mu):
        upto = f" up to {format_scalar(p.slack, 3)}" if p.slack else ""
        facts["mu (GDP)"] = f"{format_scalar(p.mu, 4)}{upto}" if upto else p.mu
    epsilon = format_scalar(p.epsilon(p.shown_delta), 3)
    facts["epsilon (delta)"] = f"{epsilon} ({format_scalar(p.shown_delta, 3)})"
    facts["Unit of privacy"] = _unit(p.protected)
    return facts


def _estimates(name: str, fit: Any) -> Entry:
    """Means, or averages over private rows: estimates that no model's coefficients are."""
    facts = {"Rows": fit.nobs} | ({} if fit.m is None else {"Public rows": fit.m})
    facts |= _privacy(fit.privacy)
    if isinstance(fit, Result):
        facts["Method"] = fit.call.partition("(")[0]
        return Entry(name, "", fit.coefficients, facts, tested=False)
    frame: pd.DataFrame = fit.tidy()
    named = frame.iloc[:, : frame.columns.get_loc("estimate")].astype(str)
    terms = tuple(": ".join(line) for line in named.to_numpy()) if named.size else ("average",)
    variance = np.diag(frame.std_error.to_numpy() ** 2)  # in which the noise is
    facts["Method"] = fit.title.partition(" over ")[0].lower()
    own = Coefficients(terms, frame.estimate.to_numpy(), np.zeros_like(variance), variance)
    return Entry(name, "", own, facts, tested="p_value" in frame)


def _unit(unit: PrivacyUnit) -> str:
    """Who is protected, in a word or two."""
    if unit.person is None:
        rows = "one row" if unit.most == 1 else f"{unit.rows} rows"
        return rows if unit.together == 1 else f"{unit.together} rows"
    return "one person" if unit.together == 1 else f"{unit.together} persons"


def _open_entry(name: str, fit: Any) -> Entry:
    """A fit of statsmodels, or of a package that names things alike."""
    entry = suppress_private_errors(lambda: _read(name, fit))
    if entry is None:
        raise ArgumentError(
            "etable takes fits of dp_lm, dp_glm, dp_feols and eptr_lm, means of dp_mean and dp_mvnorm, "
            "averages over private rows, and results of statsmodels; not "
            f"{shown(fit)}. "
            + (
                "Other results have tidy(), a table that is put beside others by pandas."
                if isinstance(fit, Released)
                else "Write etable([fit1, fit2])."
            )
        )
    return entry


def _read(name: str, fit: Any) -> Entry:
    """Estimates, standard errors and facts; raises for what has none."""
    coef, errors = numbers(fit.params), numbers(fit.bse)
    names = fit.params.index if isinstance(fit.params, pd.Series) else fit.model.exog_names
    terms = tuple("Intercept" if term == "const" else str(term) for term in names)
    if coef is None or errors is None or not coef.shape == errors.shape == (len(set(terms)),):
        raise ValueError("names, estimates and standard errors differ in number")
    with np.errstate(over="ignore"):
        variance = np.diag(errors**2)
    facts: dict[str, Any] = {}
    rows, sigma2 = number(getattr(fit, "nobs", None)), number(getattr(fit, "scale", None))
    if rows is not None and math.isfinite(rows):
        facts["Rows"] = round(rows)
    r_squared = number(getattr(fit, "rsquared", None))
    if r_squared is not None and not math.isnan(r_squared):
        if sigma2 is not None and 0 < sigma2 < math.inf:
            facts["Residual std. error"] = math.sqrt(sigma2)
        facts["R-squared"] = r_squared
    family = _family(fit)
    if family is not None and r_squared is None:
        facts["Family"] = f"{family}, {family.link}"  # as `GlmModel.table_facts` writes it
        if sigma2 is not None and sigma2 != 1:
            facts["Dispersion"] = sigma2
    response = _endogenous(fit)
    covariance = getattr(fit, "cov_type", None)
    if isinstance(covariance, str):
        facts["Errors"] = "iid" if covariance in ("nonrobust", "H1") else covariance
    facts["Method"] = _kind(fit, r_squared is not None or family is not None)
    own = Coefficients(terms, coef, variance, np.zeros_like(variance), _freedom(fit))
    return Entry(name, response, own, facts)


def _kind(fit: Any, named: bool) -> str:
    """A cell which says that a fit is not private, and names its model where no other line does."""
    model = getattr(fit, "model", None)
    return _OPEN if model is None or named else f"{_OPEN}, {type(model).__name__}"


def _freedom(fit: Any) -> float:
    """Degrees of freedom of the t distribution that a fit uses; infinite where it uses none."""
    freedom = number(getattr(fit, "df_resid", None))
    uses = getattr(fit, "use_t", False) is True
    return freedom if uses and freedom is not None and freedom > 0 else math.inf


def _family(fit: Any) -> Family | None:
    """That of a fit of statsmodels' GLM; None of others."""
    return suppress_private_errors(lambda: resolve_family(fit.family))


def _public_columns(models: Sequence[tuple[str, Model]]) -> tuple[list[Entry], list[str]]:
    """The fits of public rows alone, those that are the same once."""
    entries: list[Entry] = []
    before: list[tuple[tuple[str, ...], Any]] = []
    missing = []
    for name, fit in models:
        alone = fit.public_fit
        if alone is None:
            missing.append(name)
            continue
        terms = fit.coefficients.terms
        if any(terms == t and np.array_equal(alone.coef, c) for t, c in before):
            continue
        before.append((terms, alone.coef))
        kind = _PUBLIC if fit.public_spent is None else _RELEASED
        whose = kind if len(models) == 1 else f"{kind} {name}"
        facts: dict[str, Any] = {"Method": kind}
        if fit.public_spent is None:
            facts["Public rows"] = fit.m or 0
        else:
            facts["mu (GDP)"] = fit.public_spent.mu
        facts |= replace(fit, estimate=alone).table_facts()
        facts["Errors"] = ERROR_NAMES[alone.errors]
        entries.append(
            Entry(whose, fit.design.response or "", coefficients_of(terms, alone), facts)
        )
    if len(entries) == 1:
        entries = [replace(entries[0], name=str(entries[0].facts["Method"]))]
    if not missing:
        return entries, []
    why = "public rows are too few for one, or the fit has effects or instruments"
    return entries, [f"No fit of public rows alone stands beside {', '.join(missing)}: {why}."]


def _spent(models: Sequence[tuple[str, Any]]) -> list[str]:
    """Which columns come from one release, and what all releases cost together."""
    columns: dict[int, list[str]] = {}
    for name, fit in models:
        columns.setdefault(id(fit.privacy), []).append(name)
    notes = [
        f"{', '.join(names)} are computed from one release, which was paid for once."
        for names in columns.values()
        if len(names) > 1
    ]
    releases = list({id(fit.privacy): fit.privacy for _, fit in models}.values())
    moments = [fit.public_spent for _, fit in models if getattr(fit, "public_spent", None)]
    before = list({id(spent): spent for spent in moments}.values())
    if before:
        notes.append(
            "Public moments that are themselves private releases are counted with the others."
        )
    units = {(u.rows, u.person, u.together, u.jointly) for u in (p.protected for p in releases)}
    units |= {(s.rows, s.person, 1, False) for s in before}
    totals = [*(p.total for p in releases), *(Privacy(s.mu) for s in before)]
    if len(totals) < 2:
        return notes
    if len(units) > 1:
        return [*notes, "Columns protect different units; what they cost together is not stated."]
    return [*notes, f"If they describe the same rows, {together(totals)}."]


def _remarks(models: Sequence[tuple[str, Any]]) -> list[str]:
    """Notes on single columns."""
    columns: dict[str, list[str]] = {}
    for name, fit in models:
        p = fit.privacy
        remarks = [SEEDED] if p.seeded else []
        if not getattr(fit, "released", True):
            remarks.append("no reply; what is shown is the public fit")
        if (p.protected.rows, p.protected.person) != (1, None):
            remarks.append(f"the unit of privacy is {p.unit}")
        if math.isnan(p.mu):
            remarks.append("epsilon holds for this release by itself")
        of_model = isinstance(fit, Model)
        for remark in (*remarks, *(fit.qualified if of_model else fit.notes)):
            columns.setdefault(remark.rstrip("."), []).append(name)
        for note in fit.doubts if of_model else ():
            columns.setdefault(note.rstrip("."), []).append(f"{name} {MARK}")
    return [f"{', '.join(names)}: {remark}." for remark, names in columns.items()]
