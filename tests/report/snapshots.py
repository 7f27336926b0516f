"""Pages as they were last looked at: one file per page and form."""

from collections.abc import Iterable
from pathlib import Path

from dpstats.report.table import Page

FORMS = ("text", "markdown", "latex", "html", "csv")
_PAGES = Path(__file__).parent / "pages"


def written(page: Page, form: str) -> str:
    """A page in one of its forms."""
    return str(getattr(page, f"to_{form}")())


def last_looked_at(name: str, form: str) -> str:
    """The page as somebody read it and found it right."""
    return (_PAGES / f"{name}.{form}").read_text(encoding="utf-8")


def renew(name: str, page: Page, forms: Iterable[str] = FORMS) -> None:
    """Write a page anew; read the difference before it is kept."""
    for form in forms:
        (_PAGES / f"{name}.{form}").write_text(written(page, form), encoding="utf-8")
