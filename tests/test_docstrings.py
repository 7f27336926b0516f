"""Every argument of a function that fits stands in its docstring, shared ones written out."""

import inspect
import re

import pytest

import dpstats
from dpstats.call import documented

_FITS = [name for name in dpstats.__all__ if name.startswith(("dp_", "eptr"))]


@pytest.mark.parametrize("name", _FITS)
def test_every_argument_is_documented(name: str) -> None:
    function = getattr(dpstats, name)
    page = inspect.getdoc(function) or ""
    entries = page.split("Parameters\n")[1].split("\nReturns\n")[0]
    lines = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", entries, re.MULTILINE)
    named = {argument.strip() for line in lines for argument in line.split(",")}
    assert set(inspect.signature(function).parameters) <= named
    assert not re.search(r"^ *\{[\w, ]+\}$", page, re.MULTILINE)


def test_a_shared_argument_is_indented_as_its_name_is() -> None:
    def function(eta: float) -> None:
        """Fit.

        Parameters
        ----------
        {eta, seed}
            More of it.
        """

    page = inspect.getdoc(documented(function)) or ""
    assert page.split("\n")[4:6] == ["eta : float", "    Failure probability of the bounds."]
    assert page.endswith("for release.\n    More of it.")
