"""What comments and docs refer to is there, and no rule of dashes divides a file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from .test_structure import ROOT, sources

ROLE = re.compile(r":(mod|class|func|meth|attr|data|const):`~?([^`]+)`")
PATH = re.compile(
    r"(?<![\w/.-])((?:model|solver|cli|tests|docs|benchmarks|instances|examples)/[\w./-]+\.(?:py|md))"
)
#: ``# ---``, ``# ===`` and the like: with a title or without.
RULE = re.compile(r"^\s*# ?[-=─*]{2,}(\s|$)|^\s*#.* [-=─]{4,}$")
#: A page of what was tried on files of its day, and a name that stands for any.
HISTORY, ANY = "docs/dev/mutants.md", "NAME"


def written() -> list[Path]:
    """Every Python file and page of the project."""
    folders = ("model", "solver", "cli", "instances", "tests", "benchmarks", "docs", "examples")
    found = [path for name in folders for path in (ROOT / name).rglob("*.py")]
    found += (ROOT / "docs").rglob("*.md")
    return sorted([*found, ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("*.py")])


@lru_cache
def names_of(path: Path) -> frozenset[str]:
    """Every name that the code of a file defines, imports or uses."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).split(".")[-1])
    return frozenset(found)


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


@lru_cache
def product_names() -> frozenset[str]:
    """Every name of the product, whichever module it belongs to."""
    return frozenset().union(*map(names_of, sources().values()))


def is_there(name: str, path: Path) -> bool:
    """Whether ``name`` is a module, a name of one, or a name that the product knows.

    A dot before a single name means any module, as in Sphinx.
    """
    modules = sources()
    module = module_at(name, path) or ""
    if module in modules or (path.parent / f"{name.replace('.', '/')}.py").exists():
        return True
    if name.startswith(".") and "." not in name[1:] and name[1:] in product_names():
        return True
    home, _, leaf = module.rpartition(".")
    for folder in (path.parent, ROOT / "tests" / "support"):
        if (beside := folder / f"{home or module}.py").exists():
            return not home or leaf in names_of(beside)
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


def comments_of_fields(path: Path) -> Iterator[tuple[int, str, str, set[str]]]:
    """Line, name and comment of each documented field, and the other fields and parameters there.

    "" for the comment of one that has none.
    """
    text = path.read_text()
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ClassDef):
            continue
        inner = list(ast.walk(node))
        fields = [each for each in inner if isinstance(each, ast.Assign | ast.AnnAssign)]
        named = [(each, name) for each in fields if (name := field_name(each))]
        others = {name for _, name in named} | {e.arg for e in inner if isinstance(e, ast.arg)}
        for each, name in sorted(named, key=lambda pair: pair[0].lineno):
            first = each.lineno - 1
            while lines[first - 1].lstrip().startswith("#:"):
                first -= 1
            words = " ".join(line.strip()[2:].strip() for line in lines[first : each.lineno - 1])
            yield each.lineno, name, words, others - {name}


def field_name(node: ast.Assign | ast.AnnAssign) -> str:
    """``name`` of ``name = …`` and of ``self.name = …``, "" for what is neither."""
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    if isinstance(target, ast.Name):
        return target.id
    own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
    return target.attr if own and target.value.id == "self" else ""


def misplaced_comments(path: Path) -> Iterator[tuple[int, str]]:
    """A comment that stands at the field before too, or explains another name: ``name: what``."""
    before = ""
    for number, name, words, others in comments_of_fields(path):
        if words and words == before:
            yield number, f"{name} has the comment of the field before it"
        for other in re.findall(r"(?:^|[.;] )`*(\w+)`*: ", words):
            if other in others:
                yield number, f"the comment of {name} explains {other}"
        before = words


def test_a_comment_belongs_to_its_field() -> None:
    """What a comment of a field says is of that field, and of no other."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {what}"
        for path in sources().values()
        for number, what in misplaced_comments(path)
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
    assert [number for number, _ in misplaced_comments(path)] == [5, 9]


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
