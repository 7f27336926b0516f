"""The walls of the house: imports go one way, and each danger lives in one room."""

import ast
from functools import cache
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


@cache
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
        # simulated laws, restarts on public points, synthetic and rehearsed rows
        allowed = room == "mechanism" or path.name in (
            "datasets.py",
            "k_means.py",
            "gaussian_planning.py",
            "linear.py",
            "overlap.py",
            "plan.py",
            "plan_rehearsal.py",
            "population.py",
            "public_mixture.py",
            "public_range.py",
            "public_tree.py",
            "safety_check.py",
            "synthetic.py",
        )
        assert allowed or not draws, f"{path} draws random numbers"


_DRAWN = {"integers", "laplace", "spherical", "coin"}
# where the methods of a noise are named; the first two are what noise is made of
_DRAWERS = {
    "mechanism/noise.py": _DRAWN,
    "mechanism/spherical.py": set[str](),
    "mechanism/gaussian.py": {"integers", "laplace", "spherical"},
    "mechanism/conditional.py": {"coin"},
}
_RELEASING = {"release_vector", "release_symmetric", "release_counts", "release_if_safe"}


def _parents(tree: ast.Module) -> dict[ast.AST, ast.AST]:
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def _called(node: ast.AST | None) -> str:
    """The name of the function that a call calls."""
    if not isinstance(node, ast.Call):
        return ""
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def _argument_of(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> str:
    """The function to which an expression is handed as an argument, and nothing else is done to it."""
    above = parents[node]
    if isinstance(above, ast.keyword):
        above = parents[above]
    return _called(above) if node is not getattr(above, "func", None) else ""


def test_noise_is_drawn_where_it_is_added_to_integers_and_nowhere_else() -> None:
    for room, path, tree in _modules():
        name = path.relative_to(_ROOT).as_posix()
        used = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)} & _DRAWN
        if room == "mechanism":
            assert used <= _DRAWERS.get(name, set()), name
        elif used:  # integers of numpy's generators, for public and synthetic rows
            assert used == {"integers"}, name
            assert not any(".mechanism.noise" in imported for imported in _imported(tree)), name


def test_a_noise_is_handed_on_and_never_asked() -> None:
    """From `make_noise` to a session, and from a session to the functions that release."""
    doors = 0
    for room, path, tree in _modules():
        name, parents = path.relative_to(_ROOT).as_posix(), _parents(tree)
        if name == "mechanism/noise.py":
            continue
        held = set()
        for node in ast.walk(tree):
            loaded = isinstance(getattr(node, "ctx", None), ast.Load)
            if isinstance(node, ast.Name | ast.Attribute):
                kind = getattr(node, "id", getattr(node, "attr", ""))
                assert kind not in ("SecureNoise", "SeededNoise"), name
                if kind == "_noise" and loaded:
                    above = parents[node]
                    seeded = isinstance(above, ast.Attribute) and above.attr == "seeded"
                    assert seeded or _argument_of(node, parents) in _RELEASING, name
            if _called(node) == "make_noise":
                assert not room, name
                above, doors = parents[node], doors + 1
                if isinstance(above, ast.Assign):
                    held |= {target.id for target in above.targets if isinstance(target, ast.Name)}
                else:
                    assert _argument_of(node, parents), name
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in held and isinstance(node.ctx, ast.Load):
                to = _argument_of(node, parents)
                above = parents[node]
                seeded = isinstance(above, ast.Attribute) and above.attr == "seeded"
                assert seeded or to, name
    assert doors == 11  # nine functions that read private rows, two that rehearse on public ones


def test_random_numbers_of_the_mechanism_have_two_sources() -> None:
    allowed = {"mechanism/noise.py", "mechanism/spherical.py"}
    for room, path, tree in _modules():
        if room != "mechanism" or path.relative_to(_ROOT).as_posix() in allowed:
            continue
        assert not {name.split(".")[0] for name in _imported(tree)} & _RANDOM, path
        named = {getattr(n, "attr", getattr(n, "id", "")) for n in ast.walk(tree)}
        assert not named & {"random", "default_rng", "Generator", "normal", "rvs"}, path


def test_values_become_floats_and_releases_in_one_module() -> None:
    """Noise is added, a float is made of the sum and a release of the float, all in one place."""
    for room, path, tree in _modules():
        name = path.relative_to(_ROOT).as_posix()
        called = {_called(node) for node in ast.walk(tree)}
        assert name == "mechanism/gaussian.py" or not called & {"Release", "_to_float"}, name
        # what a test withholds, and its cost, are put into a release that was made there
        changed = room == "mechanism" and "dataclasses.replace" in _imported(tree)
        assert not changed or name == "mechanism/conditional.py", name


def test_private_rows_are_touched_by_sessions_alone() -> None:
    for room, path, tree in _modules():
        if room != "mechanism":
            touched = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
            assert not touched & {"_rows", "_totals", "_solved", "_noise"}, path


def test_public_names_have_docstrings_with_examples() -> None:
    for name in dpstats.__all__:
        thing = getattr(dpstats, name)
        pages = [thing.__doc__, *(getattr(v, "__doc__", "") for v in vars(thing).values())]
        assert any(">>>" in (page or "") for page in pages), name
