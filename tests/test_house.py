"""The walls of the house: who may import whom, and each danger lives in one room."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import dpstats
from dpstats import mechanism

_ROOT = Path(dpstats.__file__).parent
_FLAT = {
    "__init__",
    "__main__",
    "datasets",
    "errors",
    "arrays",
    "arguments",
    "call",
    "public_input",
}
_BASE = {"errors", "arrays", "arguments"}
_MODEL = {
    "call",
    "public_input",
    "margins",
    "budget",
    "propose_test",
    "score_rounds",
    "report",
    "mechanism",
    "frame",
    "numerics",
    "accounting",
}
_MAY: dict[str, set[str]] = {
    "errors": set(),
    "arrays": set(),
    "arguments": {"errors"},
    "mechanism": {"accounting", "errors", "arrays"},
    "accounting": set(),
    "numerics": set(),
    "report": {"accounting"},
    "frame": set(),
    "budget": {"accounting", "report"},
    "propose_test": {"accounting", "report"},
    "column_search": {"accounting", "mechanism"},
    "score_rounds": {
        "accounting",
        "mechanism",
        "numerics",
        "report",
        "frame",
        "column_search",
    },
    "margins": {
        "call",
        "public_input",
        "budget",
        "accounting",
        "mechanism",
        "numerics",
        "report",
        "frame",
        "column_search",
        "score_rounds",
    },
    "call": {
        "public_input",
        "accounting",
        "budget",
        "column_search",
        "frame",
        "mechanism",
        "numerics",
        "propose_test",
        "report",
    },
    "public_input": {"accounting", "frame", "numerics"},
    "audit": {"accounting", "budget", "report"},
    "compare": {"accounting", "budget", "report", "score_rounds", "models.linear", "models.glm"},
    "plans": {*_MODEL, "models.linear", "models.glm", "models.feols"},
    "models": set(),
    "models.linear": _MODEL,
    "models.glm": {*_MODEL, "models.linear"},
    "models.feols": {*_MODEL, "models.linear"},
    "models.gaussian": {*_MODEL, "column_search"},
    "models.mixture": {*_MODEL, "models.gaussian"},
    "models.eptr_linear": {*_MODEL, "models.linear"},
    "models.eptr_bayes": {*_MODEL, "column_search"},
    "models.eptr_nw": {*_MODEL, "column_search"},
    "models.eptr_own": _MODEL,
}
"""What a folder, or a file at the top, may import beside itself and `_BASE`."""
_ALL_NAMED = {*_BASE, "mechanism"}
"""Of these, `_MAY` names all."""
_TOP = {"__init__", "__main__", "datasets"}
"""What may import everything."""
_TRUSTED = {"rows", "person_rows", "releases"}
"""Files of a model that see private numbers; of models they import no others."""
_ROLES: dict[str, set[str]] = {
    "rows": {"mechanism", "accounting"},
    "releases": {
        "mechanism",
        "accounting",
        "propose_test",
        "numerics/histogram.py",
        "score_rounds/releases.py",
        "score_rounds/rows.py",
    },
    "estimate": {"numerics", "accounting", "report", "score_rounds"},
    "planning": {"numerics", "accounting", "report", "score_rounds"},
    "bounds": {"numerics", "accounting", "report", "score_rounds"},
    "page": {"report"},
}
"""What a file of a model may import of what is no model, by its name: folders, or a file of one.

A page sees report alone: the table of a tested release stands there too (`report.answers`), and reads a
plan by a Protocol, because the plans of propose_test come with their proofs.
"""
_REGISTRY = "audit/registry.py"
_RANDOM = {"random", "secrets", "opendp"}


@cache
def _modules() -> list[tuple[str, Path, ast.Module]]:
    """The folder of every module, as `_MAY` calls it ("" at the top), its path and its code."""
    out = []
    for path in sorted(_ROOT.rglob("*.py")):
        inside = path.relative_to(_ROOT).parts
        out.append((_room(list(inside[:-1])), path, ast.parse(path.read_text())))
    return out


def _room(parts: list[str]) -> str:
    return ".".join(parts[:2] if parts[:1] == ["models"] else parts[:1])


@cache
def _nodes(tree: ast.Module) -> list[ast.AST]:
    """All that `ast.walk` meets; it is slow."""
    return list(ast.walk(tree))


@cache
def _imported(tree: ast.Module) -> list[str]:
    names: list[str] = []
    for node in _nodes(tree):
        if isinstance(node, ast.Import):
            names += [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names += [f"{node.module}.{a.name}" for a in node.names]
    return names


def _name(path: Path) -> str:
    return path.relative_to(_ROOT).as_posix()


@cache
def _file(name: str) -> str:
    """The file that an imported name stands in, such as "frame/design.py"."""
    parts = name.split(".")[1:]
    for k in range(len(parts), 0, -1):
        for path in ("/".join(parts[:k]) + ".py", "/".join(parts[:k]) + "/__init__.py"):
            if (_ROOT / path).exists():
                return path
    return "__init__.py"


def _room_of(file: str) -> str:
    """The folder of a file; a file at the top is one by itself."""
    return _room(file.split("/")[:-1]) or file.removesuffix(".py")


def _steps() -> Iterator[tuple[str, str]]:
    """Every import inside the package: from which file, and which."""
    for _, path, tree in _modules():
        for name in _imported(tree):
            if name.startswith("dpstats"):
                yield _name(path), _file(name)


def _may(file: str, to: str) -> bool:
    """Whether one file may import another."""
    room, target, role = _room_of(file), _room_of(to), Path(file).stem
    if file == _REGISTRY:  # which lists what all releases claim
        return Path(to).stem in ("releases", "session", "claims")
    if room in _TOP:
        return True
    if target in _BASE and room not in _ALL_NAMED:
        return True
    if room.startswith("models.") and target.startswith("models."):
        seen = target == room or target in _MAY[room]
        return seen and (role not in _TRUSTED or Path(to).stem in _TRUSTED)
    if room.startswith("models.") and role in _ROLES:
        return bool({target, to} & _ROLES[role])
    return target == room or target in _MAY[room]


def test_imports_go_one_way() -> None:
    assert [step for step in _steps() if not _may(*step)] == []


def test_no_circle_of_files() -> None:
    to: dict[str, set[str]] = {}
    for file, other in _steps():
        to.setdefault(file, set()).add(other)
    done: set[str] = set()

    def follow(file: str, way: tuple[str, ...]) -> None:
        assert file not in way, f"a circle: {' -> '.join((*way[way.index(file) :], file))}"
        if file in done:
            return
        for other in sorted(to.get(file, set()) - {file}):
            follow(other, (*way, file))
        done.add(file)

    for file in sorted(to):
        follow(file, ())


def test_nothing_else_is_flat_at_the_top() -> None:
    assert {path.stem for path in _ROOT.glob("*.py")} <= _FLAT


def test_the_trusted_core_can_be_read_in_an_evening() -> None:
    lines = sum(
        len(path.read_text().splitlines()) for room, path, _ in _modules() if room == "mechanism"
    )
    assert lines < 2000


def test_the_trusted_files_know_no_tables_and_no_formulas() -> None:
    untouched = {"mechanism", "accounting", "numerics"}
    for room, path, tree in _modules():
        if room in untouched or (room.startswith("models.") and path.stem in _ROLES):
            used = {name.split(".")[0] for name in _imported(tree)}
            pages = {"pandas"} if path.stem == "page" else set()
            outside = {"pandas", "formulaic", "statsmodels", "polars", "pyarrow"}
            assert not used & (outside - pages), path


def test_formulaic_is_touched_in_one_module() -> None:
    users = [
        p for _, p, tree in _modules() if "formulaic" in {n.split(".")[0] for n in _imported(tree)}
    ]
    assert [p.relative_to(_ROOT).as_posix() for p in users] == ["frame/formula/engine.py"]


_SIMULATING = {
    "datasets.py",
    "margins/simulate.py",
    "models/eptr_own/safety_check.py",
    "models/gaussian/planning.py",
    "models/gaussian/public_range.py",
    "models/gaussian/synthetic.py",
    "models/mixture/overlap.py",
    "models/mixture/public_mixture.py",
    "models/mixture/public_tree.py",
    "models/mixture/soft.py",
    "numerics/k_means.py",
    "plans/expected.py",
    "plans/ordinary.py",
    "plans/panel.py",
    "plans/population.py",
    "plans/rehearsal.py",
    "score_rounds/bounds.py",
}


def _trusted(room: str, path: Path) -> bool:
    """Whether a file sees private numbers, and is part of what an audit of privacy has to read."""
    of_models = room in ("score_rounds", "column_search", "margins") or room.startswith("models.")
    return room == "mechanism" or (of_models and path.stem in _TRUSTED)


_IN_A_PASS = {
    "frame/formula/evaluate.py",
    "frame/formula/engine.py",
    "frame/persons.py",
    "frame/by_person.py",
    "frame/changes.py",
    "models/glm/family.py",
    "models/eptr_nw/estimate.py",
    "models/mixture/clustering.py",
}
"""What runs while private rows are read, row by row, beside files that their names say are trusted."""


def test_what_runs_in_a_pass_is_named_and_holds_no_door() -> None:
    for room, path, tree in _modules():
        if _name(path) in _IN_A_PASS:
            assert f"`{_name(path).removesuffix('.py').replace('/', '.')}`" in str(
                mechanism.__doc__
            )
            seen = {_room_of(_file(n)) for n in _imported(tree) if n.startswith("dpstats")}
            assert seen <= {room, *_BASE, "numerics"}, path
            assert _name(path) not in _SIMULATING
    assert {_name(path) for _, path, _ in _modules()} >= _IN_A_PASS


def test_only_the_mechanism_draws_random_numbers_for_privacy() -> None:
    for room, path, tree in _modules():
        roots = {name.split(".")[0] for name in _imported(tree)}
        if room != "mechanism":
            assert not roots & _RANDOM, path
        draws = [n for n in _nodes(tree) if isinstance(n, ast.Attribute) and n.attr == "random"]
        # simulated laws, restarts on public points, synthetic and rehearsed rows
        allowed = room == "mechanism" or _name(path) in _SIMULATING
        assert allowed or not draws, f"{path} draws random numbers"


_DRAWN = {"integers", "laplace", "spherical", "coin"}
# where the methods of a noise are named; the first two are what noise is made of
_DRAWERS = {
    "mechanism/noise.py": _DRAWN,
    "mechanism/ball.py": set[str](),
    "mechanism/release.py": {"integers", "laplace", "spherical"},
    "mechanism/conditional.py": {"coin"},
}
_DOORS = {"call.py", "plans/plan.py", "plans/panel.py"}
"""Where a noise is made: in the one protocol of calls, and for rehearsals on public rows."""
_COUNTED = {"release_vector", "release_symmetric", "release_counts"}
_RELEASING = {*_COUNTED, "release_if_safe", "release_frequent"}


def _parents(tree: ast.Module) -> dict[ast.AST, ast.AST]:
    return {child: node for node in _nodes(tree) for child in ast.iter_child_nodes(node)}


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
        name = _name(path)
        used = {n.attr for n in _nodes(tree) if isinstance(n, ast.Attribute)} & _DRAWN
        if _trusted(room, path):
            assert used <= _DRAWERS.get(name, set()), name
        elif used:  # integers of numpy's generators, for public and synthetic rows
            assert used == {"integers"}, name
            assert not any(".mechanism.noise" in imported for imported in _imported(tree)), name


def test_a_noise_is_handed_on_and_never_asked() -> None:
    """From a call to a session, and from a session to the functions that release."""
    for _, path, tree in _modules():
        name, parents = _name(path), _parents(tree)
        if name == "mechanism/noise.py":
            continue
        held = set()
        for node in _nodes(tree):
            loaded = isinstance(getattr(node, "ctx", None), ast.Load)
            if isinstance(node, ast.Name | ast.Attribute):
                kind = getattr(node, "id", getattr(node, "attr", ""))
                assert kind not in ("SecureNoise", "SeededNoise"), name
                if kind == "_noise" and loaded:
                    above = parents[node]
                    seeded = isinstance(above, ast.Attribute) and above.attr == "seeded"
                    assert seeded or _argument_of(node, parents) in _RELEASING, name
            if _called(node) == "make_noise":
                assert name in _DOORS, name
                above = parents[node]
                if isinstance(above, ast.Assign):
                    held |= {target.id for target in above.targets if isinstance(target, ast.Name)}
                else:
                    assert isinstance(above, ast.Return) or _argument_of(node, parents), name
        for node in _nodes(tree):
            if isinstance(node, ast.Name) and node.id in held and isinstance(node.ctx, ast.Load):
                to = _argument_of(node, parents)
                above = parents[node]
                seeded = isinstance(above, ast.Attribute) and above.attr == "seeded"
                assert seeded or to, name


def test_random_numbers_of_the_mechanism_have_three_sources() -> None:
    allowed = {"mechanism/noise.py", "mechanism/ball.py", "mechanism/integers.py"}
    for room, path, tree in _modules():
        if not _trusted(room, path) or _name(path) in allowed:
            continue
        assert not {name.split(".")[0] for name in _imported(tree)} & _RANDOM, path
        named = {getattr(n, "attr", getattr(n, "id", "")) for n in _nodes(tree)}
        assert not named & {"random", "default_rng", "Generator", "normal", "rvs"}, path


def test_values_become_floats_and_releases_in_one_module() -> None:
    """Noise is added, a float is made of the sum and a release of the float, all in one place."""
    for room, path, tree in _modules():
        name = _name(path)
        called = {_called(node) for node in _nodes(tree)}
        assert name == "mechanism/release.py" or not called & {"Release", "_to_float"}, name
        # what a test withholds, and its cost, are put into a release that was made there
        changed = _trusted(room, path) and "dataclasses.replace" in _imported(tree)
        assert not changed or name == "mechanism/conditional.py", name


def test_private_rows_are_touched_by_sessions_alone() -> None:
    for room, path, tree in _modules():
        if not _trusted(room, path):
            touched = {n.attr for n in _nodes(tree) if isinstance(n, ast.Attribute)}
            assert not touched & {"_rows", "_totals", "_solved", "_noise"}, path


def test_what_a_session_releases_it_remembers() -> None:
    """Sessions of models add noise by the methods of the session, which record what they release."""
    for room, path, tree in _modules():
        called = {_called(node) for node in _nodes(tree)}
        assert room == "mechanism" or not called & _COUNTED, path


def test_arrays_of_floats_have_one_name() -> None:
    for _, path, tree in _modules():
        given = {
            n.id for n in _nodes(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        assert "Floats" not in given or _name(path) == "arrays.py", path


_PAGES = ("*.md", "vignettes/*.py", "dpstats/**/*.py", "tests/**/*.py")


def test_files_that_are_named_are_there() -> None:
    project = Path(__file__).parents[1]
    for path in (path for pages in _PAGES for path in project.glob(pages)):
        if path.name == "CHANGELOG.md":  # of its time
            continue
        for name in re.findall(r"`((?:dpstats|tests|vignettes)/[\w/*.-]*\w)", path.read_text()):
            assert any(project.glob(name)), f"{path}: {name}"


def test_public_names_have_docstrings_with_examples() -> None:
    for name in dpstats.__all__:
        thing = getattr(dpstats, name)
        pages = [thing.__doc__, *(getattr(v, "__doc__", "") for v in vars(thing).values())]
        assert any(">>>" in (page or "") for page in pages), name
