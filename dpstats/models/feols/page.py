"""The page of a fit with effects or instruments: fixest's summary."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpstats.models.feols.estimate import InstrumentTest
from dpstats.report.format import format_c, format_pval, format_scalar
from dpstats.report.model import ModelPage, Ranges, model_summary, ranges_line, row_lines
from dpstats.report.options import p_digits, shown_digits
from dpstats.report.table import Column, Page, Table
from dpstats.report.texts import Lines


@dataclass(frozen=True)
class PanelPage(ModelPage):
    """What the pages show beyond those of every model."""

    response: str
    effects: tuple[tuple[str, str], ...]
    endogenous: tuple[str, ...]
    instruments: tuple[str, ...]
    sigma: float
    within: float | None
    ranges: Ranges | None
    tests: tuple[tuple[str, InstrumentTest], ...]
    weak: str


def summary_page(page: PanelPage) -> Page:
    """fixest's summary, followed by the privacy and diagnostics blocks."""
    method = "two-stage least squares" if page.instruments else "least squares"
    head: list[tuple[str, str]] = [
        ("Estimation", f"{method} by score rounds; dependent variable: {page.response}")
    ]
    if page.effects:
        head.append(("Fixed effects", "; ".join(f"{name} ({how})" for name, how in page.effects)))
    if page.instruments:
        head += [
            ("Endogenous", ", ".join(page.endogenous)),
            ("Instruments", ", ".join(page.instruments)),
        ]
    lines = [*row_lines(page), *_fit_lines(page)]
    parts: list[Lines | Table] = [Lines("\n".join(lines))]
    if page.tests:
        parts.append(_tests(page))
    return model_summary(page, tuple(head), parts)


def _fit_lines(page: PanelPage) -> list[str]:
    name = "within R-squared" if page.effects else "R-squared"
    text = f"Residual standard error: {format_scalar(page.sigma, shown_digits(4))}"
    if page.within is not None:
        text += f"; {name[0].upper()}{name[1:]}: {format_c(page.within, shown_digits(4))}"
    return [text] if page.ranges is None else [text, ranges_line(page.ranges, name)]


def _tests(page: PanelPage) -> Table:
    names, tests = [name for name, _ in page.tests], [test for _, test in page.tests]
    p = [test.p_value for test in tests]
    return Table.from_columns(
        [
            Column("Test", names, align="l"),
            Column.of("statistic", [test.value for test in tests]),
            Column("df", [str(test.df) for test in tests]),
            Column("p", format_pval(p, p_digits()), [None if math.isnan(v) else v for v in p]),
        ],
        notes=(page.weak,) if page.weak else (),
    )
