"""The walls of the house: imports go one way, and each danger lives in one room."""

import ast
from pathlib import Path

import dpstats

_ROOT = Path(dpstats.__file__).parent
_ALLOWED = {
    "frame": {"frame"},
    "mechanism": {"mechanism"},
    "estimate": {"estimate"},
    "bounds": {"bounds"},
    "report": {"report", "bounds", "mechanism"},
}
_RANDOM = {"random", "secrets", "opendp"}


def _modules() -> list[tuple[str, Path, ast.Module]]:
    out = []
    for path in sorted(_ROOT.rglob("*.py")):
        inside = path.relative_to(_ROOT).parts
        out.append((inside[0] if len(inside) > 1 else "", path, ast.parse(path.read_text())))
    return out


def _imported(tree: ast.Module) -> list[str]:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names += [f"{node.module}.{a.name}" for a in node.names]
    return names


def test_imports_go_one_way() -> None:
    for room, path, tree in _modules():
        for name in _imported(tree):
            if not name.startswith("dpstats.") or not room:
                continue
            target = name.split(".")[1]
            assert target == "errors" or target in _ALLOWED[room], f"{path}: {name}"


def test_the_mechanism_knows_no_tables_and_no_formulas() -> None:
    for room, path, tree in _modules():
        if room in ("mechanism", "estimate", "bounds"):
            used = {name.split(".")[0] for name in _imported(tree)}
            assert not used & {"pandas", "formulaic", "statsmodels", "polars", "pyarrow"}, path


def test_formulaic_is_touched_in_one_module() -> None:
    users = [
        p for _, p, tree in _modules() if "formulaic" in {n.split(".")[0] for n in _imported(tree)}
    ]
    assert [p.relative_to(_ROOT).as_posix() for p in users] == ["frame/engine.py"]


def test_only_the_mechanism_draws_random_numbers_for_privacy() -> None:
    for room, path, tree in _modules():
        roots = {name.split(".")[0] for name in _imported(tree)}
        if room != "mechanism":
            assert not roots & _RANDOM, path
        draws = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == "random"]
        # simulated laws, restarts on public points, synthetic rows
        allowed = room == "mechanism" or path.name in (
            "datasets.py",
            "k_means.py",
            "gaussian_planning.py",
            "linear.py",
            "overlap.py",
            "public_mixture.py",
            "public_range.py",
            "public_tree.py",
            "safety_check.py",
            "synthetic.py",
        )
        assert allowed or not draws, f"{path} draws random numbers"


def test_public_names_have_docstrings_with_examples() -> None:
    for name in dpstats.__all__:
        thing = getattr(dpstats, name)
        pages = [thing.__doc__, *(getattr(v, "__doc__", "") for v in vars(thing).values())]
        assert any(">>>" in (page or "") for page in pages), name
