"""The house rules as tests: imports without circles and only downward, one name one class."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("model", "solver", "cli", "instances")
#: A class with so many methods is a state object, and has no more fields than MAX_FIELDS; one with
#: fewer is a record. WIDER: those that are left.
BEHAVIOUR, MAX_FIELDS = 8, 15
WIDER = {"JobState", "Plan", "LayeredSearch", "Chronology", "Relaxation"}


@lru_cache
def sources() -> dict[str, Path]:
    """Every module of the product by its dotted name below the package."""
    tops = ("__main__", "library")
    found = {"": ROOT / "__init__.py", **{name: ROOT / f"{name}.py" for name in tops}}
    for folder in PRODUCT:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@dataclass(frozen=True)
class Facts:
    """What the rules need of a module.

    imports: (module, name) of everything it imports from the product, anywhere in its text: at its
    top, for types only, or inside a function. A module imported whole has no name.
    """

    imports: tuple[tuple[str, str], ...]
    classes: tuple[str, ...]
    fields: dict[str, int]  # of classes with behaviour
    functions: dict[str, int]  # name and lines
    lines: int


@lru_cache
def facts() -> dict[str, Facts]:
    """Every module read once."""
    known = sources()
    return {module: _facts(module, path, known) for module, path in known.items()}


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """The fields that a class declares, and those that its __init__ sets."""
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            yield each.target.id
        elif isinstance(each, ast.FunctionDef) and each.name == "__init__":
            for inner in ast.walk(each):
                if not (isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store)):
                    continue
                if isinstance(inner.value, ast.Name) and inner.value.id == "self":
                    yield inner.attr


def _facts(module: str, path: Path, known: dict[str, Path]) -> Facts:
    text = path.read_text(encoding="utf-8")
    imports: list[tuple[str, str]] = []
    classes: list[str] = []
    fields: dict[str, int] = {}
    functions: dict[str, int] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports += _imported(node, module, path, known)
        elif isinstance(node, ast.ClassDef):
            classes.append(node.name)
            if sum(isinstance(each, ast.FunctionDef) for each in node.body) >= BEHAVIOUR:
                fields[node.name] = len(set(_fields(node)))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions[node.name] = max(
                functions.get(node.name, 0), (node.end_lineno or node.lineno) - node.lineno + 1
            )
    return Facts(tuple(imports), tuple(classes), fields, functions, len(text.splitlines()))


def _imported(
    node: ast.Import | ast.ImportFrom, module: str, path: Path, known: dict[str, Path]
) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        names = [(alias.name, "") for alias in node.names]
    else:
        base = node.module or ""
        if node.level:
            package = module if path.name == "__init__.py" else module.rpartition(".")[0]
            parts = ["slotwise", *package.split(".")] if package else ["slotwise"]
            up = parts[: len(parts) - node.level + 1]
            base = ".".join((*up, *([base] if base else [])))
        names = [(base, alias.name) for alias in node.names]
    for target, name in names:
        if target != "slotwise" and not target.startswith("slotwise."):
            continue
        inside = target.removeprefix("slotwise").removeprefix(".")
        whole = f"{inside}.{name}".strip(".")
        if name and whole in known:
            yield whole, ""
        elif inside in known:
            yield inside, name


def imports(module: str) -> tuple[tuple[str, str], ...]:
    return facts()[module].imports


#: Rooms of the solver from the bottom up; an import goes to the same room or to one further left.
ROOMS = (
    "solver.reference",
    "solver.supervisor",
    "solver.environment",
    "solver.processes",
    "solver.budget",
    "solver.precedence",
    "solver.alike",
    "solver.availability",
    "solver.placement",
    "solver.resolve",
    "solver.fairshare",
    "solver.rules",
    "solver.problem",
    "solver.beyond_capacity",
    "solver.pending_reasons",
    "solver.optimal",
    "solver.milp",
    "solver.slurm",
    "solver.scheduler",
    "solver.replay",
    "solver.plausibility",
    "solver.planning",
    "solver.accuracy",
    "solver.forecast",
    "solver.outlook",
    "solver.advice",
    "solver.planner",
    "solver.studies",
)
#: Rooms of the model, likewise. What is in none of them is the model itself, at the bottom.
MODEL_ROOMS = ("model", "model.resreq", "model.formats", "model.sources")
#: The judge: it knows the model and nothing of the solvers.
JUDGE = ("solver.validation", "solver.validate")
#: Where plans come before the judge: of the product it knows the model and the judge alone.
COURT = "solver.certify"

#: A file and a function should be read at one sitting.
LONGEST_FILE = 900
LONGEST_FUNCTION = 60


@lru_cache
def graph() -> dict[str, set[str]]:
    return {module: {target for target, _ in imports(module)} - {module} for module in sources()}


def circles(edges: dict[str, set[str]]) -> set[frozenset[str]]:
    """Sets of modules that reach each other (strongly connected, more than one)."""
    reached: dict[str, set[str]] = {}
    for module in edges:
        found: set[str] = set()
        waiting = [module]
        while waiting:
            more = edges.get(waiting.pop(), set()) - found
            found |= more
            waiting += more
        reached[module] = found
    return {
        frozenset(other for other in reached[module] if module in reached.get(other, ()))
        for module in edges
        if module in reached[module]
    }


def capacity(module: str, rooms: tuple[str, ...]) -> str:
    """The room of a module, "" if it is in none."""
    inside = [name for name in rooms if module == name or module.startswith(f"{name}.")]
    return max(inside, key=len, default="")


def test_the_finder_of_circles_finds_circles() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a", "e"}, "e": {"d"}, "f": {"a"}}
    assert circles(edges) == {frozenset("bc"), frozenset("de")}
    assert circles({"a": {"b"}, "b": set()}) == set()


def test_imports_for_types_and_inside_functions_are_seen() -> None:
    """The two kinds that a look at the top of a file misses."""
    assert ("library", "plan") in imports("")
    assert ("instances", "example") in imports("cli.options")


def test_no_import_circles() -> None:
    assert circles(graph()) == set()


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def test_no_private_names_are_imported() -> None:
    found = [
        f"{module}: {target}.{name}".rstrip(".")
        for module in sources()
        for target, name in imports(module)
        if any(_is_private(part) for part in (*target.split("."), name))
    ]
    assert found == []


def test_imports_between_rooms_go_down() -> None:
    found = set()
    for module, targets in graph().items():
        here = capacity(module, ROOMS)
        for target in targets:
            there = capacity(target, ROOMS)
            if here and there and ROOMS.index(there) > ROOMS.index(here):
                found.add((module, target))
    assert found == set()


def test_rooms_of_the_model_look_down() -> None:
    found = {
        (module, target)
        for module, targets in graph().items()
        if module.startswith("model")
        for target in targets
        if MODEL_ROOMS.index(capacity(target, MODEL_ROOMS))
        > MODEL_ROOMS.index(capacity(module, MODEL_ROOMS))
    }
    assert found == set()


def test_every_module_of_the_solver_is_in_a_room() -> None:
    rooms = (*ROOMS, *JUDGE, COURT)
    homeless = {m for m in sources() if m.startswith("solver.") and not capacity(m, rooms)}
    assert homeless == set()


def test_the_judge_and_the_solvers_share_nothing() -> None:
    for module, targets in graph().items():
        for target in targets:
            if capacity(module, JUDGE):
                assert not capacity(target, ROOMS), (module, target)
            elif capacity(module, ROOMS):
                assert not capacity(target, JUDGE), (module, target)


def test_the_court_knows_the_judge_alone() -> None:
    assert {target for target in graph()[COURT] if not target.startswith("model.")} == {JUDGE[1]}


def test_one_name_one_class() -> None:
    homes: dict[str, list[str]] = {}
    for module in sources():
        for name in facts()[module].classes:
            homes.setdefault(name, []).append(module)
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_state_objects_have_few_fields() -> None:
    found = {
        name: count
        for module in facts().values()
        for name, count in module.fields.items()
        if count > MAX_FIELDS
    }
    assert found.keys() == set(WIDER)


def test_files_and_functions_are_short() -> None:
    for module, found in facts().items():
        assert found.lines <= LONGEST_FILE, (module, found.lines)
        for name, lines in found.functions.items():
            assert lines <= LONGEST_FUNCTION, (module, name, lines)


def test_benchmarks_and_examples_import_what_there_is() -> None:
    """They run seldom: each name that they import of the package has to be there."""
    for path in (*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "examples").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(
                "slotwise"
            ):
                continue
            module = import_module(node.module or "")
            for alias in node.names:
                there = hasattr(module, alias.name) or find_spec(f"{node.module}.{alias.name}")
                assert there, (path.name, node.module, alias.name)
