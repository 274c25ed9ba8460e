"""What comments and docs refer to is there, and no rule of dashes divides a file."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .test_structure import ROOT, sources

ROLE = re.compile(r":(mod|class|func|meth|attr|data|const):`~?([^`]+)`")
PATH = re.compile(
    r"(?<![\w/.-])((?:model|solver|cli|tests|docs|benchmarks|instances|examples)/[\w./-]+\.(?:py|md))"
)
#: ``# ---``, ``# ===`` and the like: with a title or without.
RULE = re.compile(r"^\s*# ?[-=─*]{2,}(\s|$)|^\s*#.* [-=─]{4,}$")
#: Where tests have what they share: its modules go by their own names.
SUPPORT = ROOT / "tests" / "support"
#: A page of what was tried on files of its day, and a name that stands for any.
HISTORY, ANY = "docs/dev/mutants.md", "NAME"


def written() -> list[Path]:
    """Every Python file and page of the project."""
    folders = ("model", "solver", "cli", "instances", "tests", "benchmarks", "docs", "examples")
    found = [path for name in folders for path in (ROOT / name).rglob("*.py")]
    found += (ROOT / "docs").rglob("*.md")
    return sorted([*found, ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("*.py")])


@dataclass(frozen=True)
class Looked:
    """What one pass over the code of a file finds."""

    #: Every name that it defines, imports or uses.
    names: frozenset[str]
    #: How often it says each name: as a name, an attribute, a keyword or a word in quotes.
    said: Counter[str]
    #: The names that the module and its classes define, and how often a definition says them.
    defined: tuple[tuple[str, int], ...]
    #: Fields with a comment that belongs elsewhere: line, and what is wrong.
    misplaced: tuple[tuple[int, str], ...]


#: Decorators that leave the use of a function to its name; others register it.
PLAIN = {"property", "classmethod", "staticmethod", "cache", "lru_cache", "dataclass", "wraps"}


@cache
def look(path: Path) -> Looked:
    """The file, read once."""
    text = path.read_text()
    tree, lines = ast.parse(text), text.splitlines()
    names: set[str] = set()
    said: Counter[str] = Counter()
    defined = list(definitions(tree.body))
    misplaced: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            said[node.id] += 1
        elif isinstance(node, ast.Attribute):
            said[node.attr] += 1
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str) and node.value.isidentifier():
                said[node.value] += 1
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.keyword):
            said[node.arg or ""] += 1
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[-1])
        elif isinstance(node, ast.ClassDef):
            names.add(node.name)
            defined += definitions(node.body)
            misplaced += misplaced_comments(node, lines)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
    return Looked(frozenset({*names, *said}), said, tuple(defined), tuple(misplaced))


def names_of(path: Path) -> frozenset[str]:
    """Every name that the code of a file defines, imports or uses."""
    return look(path).names


def definitions(body: Iterable[ast.stmt]) -> Iterator[tuple[str, int]]:
    """The names that a module or a class defines, and how often a definition says them."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            words = {word for each in node.decorator_list for word in decorating(each)}
            if words <= PLAIN:
                yield node.name, 0
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(each, ast.Name):
                    yield each.id, 1


def decorating(node: ast.expr) -> Iterator[str]:
    """The name of a decorator, with or without arguments; "" for one that is none."""
    called = node.func if isinstance(node, ast.Call) else node
    yield called.id if isinstance(called, ast.Name) else ""


def misplaced_comments(node: ast.ClassDef, lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """A comment that stands at the field before too, or explains another name: ``name: what``."""
    fields, others = fields_of(node)
    before = ""
    for number, name in fields:
        first = number - 1
        while lines[first - 1].lstrip().startswith("#:"):
            first -= 1
        words = " ".join(line.strip()[2:].strip() for line in lines[first : number - 1])
        if words and words == before:
            yield number, f"{name} has the comment of the field before it"
        for other in re.findall(r"(?:^|[.;] )`*(\w+)`*: ", words):
            if other in others and other != name:
                yield number, f"the comment of {name} explains {other}"
        before = words


def fields_of(node: ast.ClassDef) -> tuple[list[tuple[int, str]], set[str]]:
    """Line and name of each field that a class declares or ``__init__`` sets; these and the
    parameters of ``__init__``."""
    made = [each for each in node.body if getattr(each, "name", "") == "__init__"]
    inner = [deep for each in made for deep in ast.walk(each)]
    found = []
    for each in (*node.body, *inner):
        if isinstance(each, ast.Assign | ast.AnnAssign):
            target = each.target if isinstance(each, ast.AnnAssign) else each.targets[0]
            own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
            if isinstance(target, ast.Name):
                found.append((each.lineno, target.id))
            elif own and target.value.id == "self":
                found.append((each.lineno, target.attr))
    others = {name for _, name in found} | {e.arg for e in inner if isinstance(e, ast.arg)}
    return sorted(found), others


def module_at(name: str, path: Path) -> str | None:
    """The dotted name below the package of what ``name`` means in the file at ``path``."""
    if not name.startswith("."):
        return name.removeprefix("slotwise.")
    package = path.relative_to(ROOT).parent.parts
    up = len(name) - len(name.lstrip(".")) - 1
    if up > len(package):
        return None
    rest = [part for part in name.lstrip(".").split(".") if part]
    return ".".join([*package[: len(package) - up], *rest])


@cache
def product_names() -> frozenset[str]:
    """Every name of the product, whichever module it belongs to."""
    return frozenset().union(*map(names_of, sources().values()))


def is_there(name: str, path: Path) -> bool:
    """Whether ``name`` is a module, a name of one, or a name that the product knows.

    A dot before a single name means any module, as in Sphinx.
    """
    modules = sources()
    module = module_at(name, path) or ""
    beside = f"{name.replace('.', '/')}.py"
    if module in modules or any((folder / beside).exists() for folder in (path.parent, SUPPORT)):
        return True
    if name.startswith(".") and "." not in name[1:] and name[1:] in product_names():
        return True
    home, _, leaf = module.rpartition(".")
    for folder in (path.parent, SUPPORT):
        if (module_file := folder / f"{home}.py").exists():
            return leaf in names_of(module_file)
    if home and home in modules:
        return leaf in names_of(modules[home])
    parts = name.removeprefix(".").removeprefix("slotwise.").split(".")
    if parts[0] in {top.split(".")[0] for top in modules} or not parts[0]:
        return False
    known = product_names() | (names_of(path) if path.suffix == ".py" else frozenset())
    return all(part in known for part in parts)


def test_what_comments_name_is_there() -> None:
    """A class, a function or a module that was renamed leaves no reference behind."""
    missing = []
    for path in written():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for role, name in ROLE.findall(line):
                if not is_there(name, path):
                    missing.append(f"{path.relative_to(ROOT)}:{number}: :{role}:`{name}`")
    assert not missing, "\n".join(missing)


def test_the_finder_of_references_finds() -> None:
    """A module, a name of a module and a relative one; and what is none of them."""
    here = ROOT / "model" / "job.py"
    assert is_there("slotwise.model.job", here)
    assert is_there(".job", here)
    assert is_there("slotwise.model.job.Job", here)
    assert is_there("Job.queue", here)
    assert not is_there("slotwise.model.no_such", here)
    assert not is_there(".no_such", here)
    assert not is_there("slotwise.model.job.NoSuch", here)
    assert not is_there("no_such_name", here)


def test_paths_in_comments_and_pages_are_there() -> None:
    """A file that moved is named by where it is now."""
    missing = []
    for path in written():
        name = str(path.relative_to(ROOT))
        if name == HISTORY:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for other in PATH.findall(line):
                if ANY not in other and not (ROOT / other).exists():
                    missing.append(f"{name}:{number}: {other}")
    assert not missing, "\n".join(missing)


def test_a_comment_belongs_to_its_field() -> None:
    """What a comment of a field says is of that field, and of no other."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {what}"
        for path in sources().values()
        for number, what in look(path).misplaced
    ]
    assert not found, "\n".join(found)


def test_the_finder_of_misplaced_comments_finds(tmp_path: Path) -> None:
    """A copied comment and one about a parameter; one that repeats itself elsewhere is none."""
    path = tmp_path / "fields.py"
    path.write_text(
        "class A:\n    #: Seconds.\n    a: int\n    #: Seconds.\n    b: int\n    c: int\n"
        "    def __init__(self, d):\n        #: Slots. d: hosts.\n        self.e = d\n"
        "        #: Slots.\n        self.f = d\n"
    )
    assert [number for number, _ in look(path).misplaced] == [5, 9]


#: Names that no code of the product says: of frameworks, of keys by a pattern, and what stands
#: for programs and benchmarks beside the public names.
SAID_ELSEWHERE = {
    *(
        "redirect_request",
        "yaml_implicit_resolvers",
        "ignore_aliases",
        "reducer_override",
        "_repr_html_",
        "to_frame",
        "to_csv",
        "load_dialect_impl",
        "process_bind_param",
        "CSS",
        "ENABLE_COMMAND_PALETTE",
    ),
    *("per_user", "per_queue", "per_project", "per_app", "per_lic_project", "memory_adjustment"),
    *("NoArrivals", "ExactRunTimes", "from_swf", "forget"),
}
#: Beginnings of the names by which Textual calls the methods of a page.
BY_TEXTUAL = ("on_", "action_")


def test_the_product_uses_what_it_defines() -> None:
    """What only tests use, or nobody, is not part of the product."""
    used: Counter[str] = Counter()
    for path in sources().values():
        used.update(look(path).said)
    for table in sorted((ROOT / "model").rglob("*.tsv")):
        used.update(re.findall(r"\w+", table.read_text("utf-8")))
    known = names_of(ROOT / "__init__.py") | SAID_ELSEWHERE
    dead = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources().values()
        for name, own in look(path).defined
        if used[name] <= own and name not in known and not name.startswith(("__", *BY_TEXTUAL))
    ]
    assert not dead, "\n".join(dead)


#: Units of time in seconds have one home; no two modules mean different things by "never".
ONCE = ("MINUTE", "HOUR", "DAY", "WEEK", "NEVER")


def test_units_of_time_have_one_home() -> None:
    """HOUR is the same number everywhere, and NEVER is not a constant at all."""
    homes = [
        (name, str(path.relative_to(ROOT)))
        for path in sources().values()
        for name, own in look(path).defined
        if own and name.lstrip("_") in ONCE
    ]
    of_conditions = ("NEVER", "solver/scheduler/dependents.py")
    assert sorted(homes) == sorted(
        [*((name, "model/display.py") for name in ONCE[:-1]), of_conditions]
    )


def test_no_rules_divide_files() -> None:
    """A file has one subject, or an order that explains itself."""
    found = []
    for path in written():
        if path.suffix == ".py":
            lines = path.read_text().splitlines()
            found += [
                f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
                for number, line in enumerate(lines, 1)
                if RULE.match(line)
            ]
    assert not found, "\n".join(found)
