"""Pages as they were last looked at: one file per page and form."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from dpstats.report.table import Page

FORMS = ("text", "markdown", "latex", "html", "csv")
_PAGES = Path(__file__).parent / "pages"
_REAL = re.compile(r"(?<![^,\n])(-?\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+))(?![^,\n])")
"""A cell of a CSV table with a number that is not a count: it has a point or an exponent."""


def written(page: Page, form: str) -> str:
    """A page in one of its forms."""
    return str(getattr(page, f"to_{form}")())


def same_page(made: str, kept: str, form: str) -> None:
    """Fail where two pages differ by more than processors do.

    People see the digits that are meant: the forms for them agree to the letter. CSV has all digits
    of a float, and the last ones of exp, log or a matrix product are the processor's: nine agree, and
    all else, counts among it, to the letter.
    """
    if form != "csv":
        assert made == kept
        return
    ours, theirs = _REAL.split(made), _REAL.split(kept)
    assert ours[::2] == theirs[::2]
    expected = [pytest.approx(float(cell), rel=1e-9, abs=0) for cell in theirs[1::2]]
    assert [float(cell) for cell in ours[1::2]] == expected


def as_last_looked_at(name: str, page: Page, form: str) -> None:
    """Fail unless a page is as somebody read it and found it right."""
    kept = (_PAGES / f"{name}.{form}").read_text(encoding="utf-8")
    same_page(written(page, form), kept, form)


def renew(name: str, page: Page, forms: Iterable[str] = FORMS) -> None:
    """Write a page anew; read the difference before it is kept."""
    for form in forms:
        (_PAGES / f"{name}.{form}").write_text(written(page, form), encoding="utf-8")
