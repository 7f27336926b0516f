"""Every argument of a function that fits stands in its docstring, shared ones written out."""

import importlib.util
import inspect
import re
import sys
import typing
from pathlib import Path
from types import ModuleType

import pytest

import dpstats
from dpstats.report.shared_entries import documented

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
    assert page.endswith("go together.\n    More of it.")


def _reference() -> ModuleType:
    """vignettes/website/reference.py, which says what the reference has."""
    path = Path(__file__).parents[1] / "vignettes" / "website" / "reference.py"
    spec = importlib.util.spec_from_file_location("site_reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


REFERENCE = _reference()
ENTRIES = {name: REFERENCE.resolve(name) for group in REFERENCE.GROUPS for name in group.names}


def _sections(thing: object) -> set[str]:
    page = inspect.getdoc(thing) or ""
    return set(re.findall(r"^(\w[\w ]+)\n-{3,}$", page, re.MULTILINE))


def test_the_reference_has_every_public_object() -> None:
    public = {getattr(dpstats, name) for name in dpstats.__all__} - {dpstats.datasets}
    public -= {dpstats.audit}  # a module that is called as its function
    public |= {getattr(dpstats.audit, name) for name in dpstats.audit.__all__}
    public |= {getattr(dpstats.datasets, name) for name in dpstats.datasets.__all__}
    errors = vars(dpstats.errors).values()
    public |= {e for e in errors if isinstance(e, type) and issubclass(e, Exception)}
    assert public <= set(ENTRIES.values())


def test_the_reference_has_every_class_that_a_call_returns() -> None:
    """Of functions and of methods of what they return, as far as they are annotated."""
    left, seen = list(ENTRIES.values()), set(ENTRIES.values())
    missing = set()
    while left:
        thing = left.pop()
        members = [m for n, m in inspect.getmembers(thing) if not n.startswith("_")]
        for member in members if isinstance(thing, type) else [thing]:
            function = member.fget if isinstance(member, property) else member
            try:
                hint = typing.get_type_hints(function).get("return")
            except (NameError, TypeError):  # a name for type checkers only
                continue
            for one in (hint, *typing.get_args(hint)):
                if isinstance(one, type) and one.__module__.startswith("dpstats"):
                    missing |= {one} - seen
    assert missing == set()


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_of_the_reference_is_complete(name: str) -> None:
    thing, sections = ENTRIES[name], _sections(ENTRIES[name])
    if inspect.isroutine(thing):
        wanted = {"Parameters", "Returns", "Raises", "See Also", "References", "Examples"}
        assert wanted <= sections
    elif isinstance(thing, type) and issubclass(thing, Exception | Warning):
        assert inspect.getdoc(thing)
    else:
        assert {"Attributes", "Parameters"} & sections or name.endswith("ApproximatePrivacy")
        assert sections & {"Examples", "See Also"}


@pytest.mark.parametrize("name", [n for n in ENTRIES if ".models." in n and "Check" not in n])
def test_results_say_what_they_hold(name: str) -> None:
    page = inspect.getdoc(ENTRIES[name]) or ""
    entries = page.split("Attributes\n")[1].split("\n\n")[0]
    named = {
        one.strip()
        for line in re.findall(r"^(\w[\w, ]*) :", entries, re.M)
        for one in line.split(",")
    }
    assert {"call", "method", "n", "m", "notes", "privacy"} <= named
