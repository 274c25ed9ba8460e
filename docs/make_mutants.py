"""Write docs/dev/mutants.md: which small faults in the code the tests notice (`make mutants`).

Cosmic Ray's operators make the mutants; its own runner does not fit, as here the repository root is
the package, so copies under .cache are mutated and tested. First every test file of the default
suite runs once under coverage.py, which says which tests run which lines. A mutant then meets the
tests that run its statement, the quickest first, until one fails: killed. It survives when they
pass, when no test runs it, or after tests that took ENOUGH seconds when they were recorded. Of code
that runs on import (constants, defaults) the tests that run its function, or its module, are taken.
What a test runs in another process is not seen and does not count. Tests of what is outside the
rooms (formats, configuration, the command line) are LEFT_OUT: they may notice more.

The sample is drawn by seed: in each room the positions whose hash comes first, and at each one
operator, so a change elsewhere leaves most of it as it was. Results are kept as they come
(.cache/mutants/SEED.jsonl), and the same command goes on where it was stopped: a kill counts as
long as the module and the file of the test that failed are unchanged, a survivor as long as no code
and no test has changed. Where time is over (--minutes) before a survivor could meet the tests of
today, it still counts as one.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import hashlib
import json
import random
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import date
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from mutant_tests import Collected, outcome, recorded

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "mutants"
REPORT = ROOT / "docs" / "dev" / "mutants.md"
COPIED = ("cli", "docs", "instances", "model", "solver", "tests", "benchmarks", "__init__.py",
          "__main__.py", "pyproject.toml", "README.md", "Makefile", "CHANGELOG.md", "py.typed",
          "CONTRIBUTING.md")  # fmt: skip
LEFT_OUT = (
    "tests/cli/",
    "tests/formats/",
    "tests/fuzz/",
    "tests/lsf/",
    "tests/model/",
    "tests/loop/test_checkpoint_safety.py",
    "tests/test_compatibility.py",
    "tests/test_contributing.py",
    "tests/test_packaging.py",
    "tests/test_readme.py",
    "tests/test_structure.py",
)
WORKERS = 2
#: Recorded seconds (of the processor) of tests after which a mutant not noticed has survived.
ENOUGH = 10.0


def _swap(kind: str, *pairs: str) -> tuple[str, ...]:
    """Both directions of each pair: ``Lt_LtE``."""
    found = []
    for pair in pairs:
        one, other = pair.split("_")
        found += [f"core/Replace{kind}_{one}_{other}", f"core/Replace{kind}_{other}_{one}"]
    return tuple(found)


#: One or two faults a construct: off by one, turned round, left out.
OPERATORS = (
    *_swap("ComparisonOperator", "Lt_LtE", "Gt_GtE", "Lt_GtE", "Gt_LtE", "Eq_NotEq"),
    *_swap("ComparisonOperator", "Is_IsNot"),
    *_swap("BinaryOperator", "Add_Sub", "Mul_FloorDiv", "Div_Mul", "BitAnd_BitOr"),
    "core/ReplaceUnaryOperator_USub_UAdd",
    "core/ReplaceUnaryOperator_Delete_Not",
    "core/ReplaceUnaryOperator_Delete_Invert",
    "core/AddNot",
    "core/NumberReplacer",
    "core/ReplaceAndWithOr",
    "core/ReplaceOrWithAnd",
    "core/ReplaceTrueWithFalse",
    "core/ReplaceFalseWithTrue",
    "core/ReplaceBreakWithContinue",
    "core/ReplaceContinueWithBreak",
    "core/ZeroIterationForLoop",
)


#: Modules that are reported together.
ROOMS = {
    "optimal": ("solver/optimal/*.py", "solver/optimal/pool/*.py"),
    "placement": ("solver/placement/*.py",),
    "validation": ("solver/validation/*.py", "solver/validate.py"),
    "resolve": ("solver/resolve.py", "solver/problem.py", "solver/precedence.py"),
    "availability": ("solver/availability/*.py",),
    "fairshare": ("solver/fairshare/*.py",),
    "rules": ("solver/rules/*.py",),
    "scheduler": ("solver/scheduler/*.py",),
    "planner": ("solver/planner/*.py",),
    "advice": ("solver/advice/*.py", "solver/pending_reasons.py"),
    "forecast": ("solver/forecast/*.py",),
    "replay": ("solver/replay/*.py",),
    "language": ("model/resreq/*.py",),
    "state": ("model/sources/lsf_state/*.py",),
}


@dataclass(frozen=True)
class Mutant:
    """One fault: the `occurrence`-th place in `module` that `operator` can change."""

    room: str
    module: str
    operator: str
    occurrence: int
    line: int


def modules(room: str) -> list[str]:
    """The files of a room."""
    found = {path for pattern in ROOMS[room] for path in ROOT.glob(pattern)}
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def mutants(room: str) -> dict[str, list[Mutant]]:
    """All mutants of a room by position, which is named by its text and not by its line number."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator

    found: dict[str, list[Mutant]] = {}
    for module in modules(room):
        path = ROOT / module
        texts = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        silent = set(_without_effect(path))
        nodes = list(ast_nodes(get_ast_from_path(path)))
        for name in OPERATORS:
            operator = get_operator(name)()
            places = [at for node in nodes for at in operator.mutation_positions(node)]
            for occurrence, ((line, column), _) in enumerate(places):
                if line not in silent and (line, column) not in silent:
                    text = texts[line - 1]
                    position = f"{module} {text} {texts[:line].count(text)} {column}"
                    mutant = Mutant(room, module, name, occurrence, line)
                    found.setdefault(position, []).append(mutant)
    return found


def _without_effect(path: Path) -> Iterator[int | tuple[int, int]]:
    """Where no test can tell a fault: lines that only say types or what is imported for them, and
    places (line, column) that say what holds anyway (strict=True of a zip)."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.keyword) and node.arg == "strict":
            yield node.value.lineno, node.value.col_offset
        if isinstance(node, ast.FunctionDef):
            spans = [arg.annotation for arg in (*node.args.args, *node.args.kwonlyargs)]
            named: list[ast.AST | None] = [*spans, node.returns]
        elif isinstance(node, ast.AnnAssign):
            named = [node.annotation] if node.value is None else []
            note = node.annotation
            if note.lineno == note.end_lineno:  # The value may stand on the same line.
                columns = range(note.col_offset, note.end_col_offset or 0)
                yield from ((note.lineno, column) for column in columns)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            named = [node]
        elif isinstance(node, ast.ClassDef):
            named = list(node.decorator_list)
        else:
            named = []
        for item in named:
            if isinstance(item, ast.expr | ast.stmt):
                yield from range(item.lineno, (item.end_lineno or item.lineno) + 1)


def sample(rooms: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """`count` mutants shared by the rooms in proportion to the root of their size, by seed."""
    places = {room: mutants(room) for room in rooms}
    weight = {room: len(found) ** 0.5 for room, found in places.items()}
    whole = sum(weight.values())
    chosen = []
    for room, found in places.items():
        part = min(len(found), max(1, round(count * weight[room] / whole)))
        drawn = sorted(found, key=lambda position: _digest(f"{seed} {position}"))[:part]
        chosen += [random.Random(f"{seed} {each}").choice(found[each]) for each in drawn]
    # By hash again: whoever stops early has tried a fair part of each room.
    return sorted(chosen, key=lambda m: _digest(f"{seed} {m.module} {m.operator} {m.occurrence}"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _of_file(name: str) -> str:
    path = ROOT / name
    return _digest(path.read_text(encoding="utf-8")) if path.is_file() else ""


def _of_all(*folders: str) -> str:
    """A digest of all that stands in these folders."""
    files = (path for folder in folders for path in sorted((ROOT / folder).rglob("*")))
    return _digest(" ".join(hashlib.sha256(p.read_bytes()).hexdigest() for p in files
                            if p.is_file() and "__pycache__" not in p.parts))  # fmt: skip


def fresh_copy(number: int) -> Path:
    """A copy of what the tests need, named as the package is; bytecode of tests is left there."""
    copy = CACHE / str(number) / "slotwise"
    for name in COPIED:
        source, target = ROOT / name, copy / name
        if source.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    return copy


class Tests:
    """The tests of the default suite: which lines of the rooms each runs, and how long.

    In a copy that is taken from `copies` and put back, nobody else runs tests meanwhile.
    """

    def __init__(self, copies: SimpleQueue[Path]) -> None:
        self.copies = copies
        self.modules = [module for room in ROOMS for module in modules(room)]
        self.code = _of_all("cli", "instances", "model", "solver")
        shared = [p.name for p in (ROOT / "tests" / "support").glob("*.py")]
        helpers = ["conftest.py", *(f"support/{name}" for name in sorted(shared))]
        self.helpers = _digest(" ".join(_of_file(f"tests/{name}") for name in helpers))
        self.seconds: dict[str, float] = {}
        self.lines: dict[str, dict[str, int]] = {module: {} for module in self.modules}
        files = sorted(
            path
            for path in (ROOT / "tests").rglob("test_*.py")
            if not path.relative_to(ROOT).as_posix().startswith(LEFT_OUT)
        )
        names = [path.relative_to(ROOT).as_posix() for path in files]
        keys = [_digest(f"{self.code} {self.helpers} {_of_file(name)}")[:16] for name in names]
        with ThreadPoolExecutor(WORKERS) as pool:
            for found in pool.map(self._recorded, names, keys):
                for name, test in found.items():
                    self.seconds[name] = test["seconds"]
                    for module, mask in test["lines"].items():
                        self.lines[module][name] = int(mask, 16)
        files = sorted({name.partition("::")[0] for name in self.seconds})
        free = [copies.get() for _ in range(WORKERS)]
        self.collected = {copy: Collected(copy, files, self.modules) for copy in free}
        for copy in free:
            self.collected[copy].wait()
            copies.put(copy)

    def _recorded(self, name: str, key: str) -> Any:
        kept = CACHE / "lines" / f"{name.replace('/', '-')}-{key}.json"
        if kept.exists():
            return json.loads(kept.read_text(encoding="utf-8"))
        kept.parent.mkdir(parents=True, exist_ok=True)
        for old in kept.parent.glob(f"{name.replace('/', '-')}-*.json"):
            old.unlink()
        print(f"recording {name}", flush=True)
        copy = self.copies.get()
        try:
            return recorded(copy, name, self.modules, kept)
        finally:
            self.copies.put(copy)

    def outcome(
        self, copy: Path, mutant: Mutant, changed: str, running: dict[str, float]
    ) -> tuple[str, str]:
        """What the tests say of a mutant, whose text is in the copy, and the last one run."""
        if not running:
            return "passed", "no test"
        if _holding(ROOT / mutant.module, mutant.line)[2]:
            return outcome(copy, running)
        said = self.collected[copy].outcome(mutant.module, changed, running)
        return said or outcome(copy, running)

    def running(self, mutant: Mutant) -> dict[str, float]:
        """The tests that run a mutant's statement and their seconds, the quickest first."""
        mask = _statement(ROOT / mutant.module, mutant.line)
        found = [name for name, lines in self.lines[mutant.module].items() if lines & mask]
        found.sort(key=lambda name: (self.seconds[name], name))
        taken, spent = {}, 0.0
        for name in found:
            spent += self.seconds[name]
            if spent > ENOUGH and taken:
                break
            taken[name] = self.seconds[name]
        return taken


def _holding(path: Path, line: int) -> tuple[ast.Module, list[ast.stmt], bool]:
    """The tree, the statements around a line from the outside in, and whether it runs on import."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    holding = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)
               and node.lineno <= line <= (node.end_lineno or 0)]  # fmt: skip
    functions = [node for node in holding if isinstance(node, ast.FunctionDef)]
    return tree, holding, not functions or line < functions[0].body[0].lineno


def _statement(path: Path, line: int) -> int:
    """The lines, as bits, that run where the statement of a line does."""
    tree, holding, on_import = _holding(path, line)
    if on_import:  # It serves whoever calls the function of a default, or anything here.
        users = [node for node in holding if isinstance(node, ast.FunctionDef)]
        users = users or [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        return _bits((node.body[0].lineno, node.end_lineno or 0) for node in users)
    body = getattr(holding[-1], "body", None)
    head = body is not None and line < body[0].lineno
    return _bits([(holding[-1].lineno, (body[0].lineno - 1) if head and body
                   else holding[-1].end_lineno or 0)])  # fmt: skip


def _bits(spans: Iterable[tuple[int, int]]) -> int:
    return sum(1 << line for line in {n for a, b in spans for n in range(a, b + 1)})


def try_one(mutant: Mutant, tests: Tests) -> dict[str, object]:
    """Put the fault into a copy, run the tests, take it out again."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = (ROOT / mutant.module).read_text(encoding="utf-8")
    changed = mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence)
    assert changed is not None, "the position comes from the same text"
    running = tests.running(mutant)
    copy = tests.copies.get()
    target = copy / mutant.module
    target.write_text(changed, encoding="utf-8")
    try:
        said, by = tests.outcome(copy, mutant, changed, running)
        while said != "passed" and by in running:
            target.write_text(source, encoding="utf-8")
            if tests.outcome(copy, mutant, source, {by: running[by]})[0] == "passed":
                break
            del running[by]  # It fails without the mutant, too.
            target.write_text(changed, encoding="utf-8")
            said, by = tests.outcome(copy, mutant, changed, running)
    finally:
        shutil.copy2(ROOT / mutant.module, target)
        shutil.rmtree(copy / ".hypothesis", ignore_errors=True)
        tests.copies.put(copy)
    diff = difflib.unified_diff(source.splitlines(), changed.splitlines(), n=0, lineterm="")
    lines = [line for line in diff if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return {**asdict(mutant), "outcome": said, "by": by, "tests": len(running), "diff": lines}


def _stands(result: dict[str, Any], everything: str) -> bool:
    """Whether a result that was kept still says something about the code and tests of today."""
    if result["outcome"] == "passed":
        return bool(result["everything"] == everything)
    killer = result["by"].partition("::")[0]
    return bool(result["key"] == _of_file(result["module"]) + _of_file(killer))


def _survived(result: dict[str, Any], mutant: Mutant) -> bool:
    """Whether it is this mutant, of the same text, that survived the tests of some earlier day."""
    same = {name: result[name] for name in asdict(mutant)} == asdict(mutant)
    return same and result["outcome"] == "passed" and result["key"].startswith(
        _of_file(mutant.module)
    )  # fmt: skip


def write_report(results: Sequence[dict[str, Any]], command: str, asked: int) -> None:
    """docs/dev/mutants.md: killed of each room, and every survivor with its line."""
    tried = "" if len(results) == asked else f" {len(results)} of {asked} mutants were tested."
    lines = [
        "# Mutants",
        "",
        "A mutant is a copy of the code with one small fault. The table shows how many mutants",
        "the default test suite detects. `docs/make_mutants.py` (`make mutants`) creates the",
        "mutants with the operators of Cosmic Ray. Each mutant is tested with the tests that",
        "execute the changed statement, fastest test first. A mutant is *killed* if a test",
        "fails or does not end. The column *timeout* counts the mutants whose test did not end.",
        "A mutant *survives* if all these tests pass, or if no test has failed after",
        f"{ENOUGH:.0f} s. A survivor means that a test is missing or that the change has no",
        "effect.",
        "",
        f"Command: `{command}`, {date.today().isoformat()}.{tried}",
        "",
        "| package | mutants | killed | timeout | survived | killed, % |",
        "|---|---|---|---|---|---|",
    ]
    rooms = [room for room in ROOMS if any(item["room"] == room for item in results)]
    for name in (*rooms, "all"):
        own = [item["outcome"] for item in results if name in ("all", item["room"])]
        killed = len(own) - own.count("passed")
        share = 100 * killed / len(own) if own else 0.0
        lines.append(
            f"| {name} | {len(own)} | {killed} | {own.count('timeout')} | {own.count('passed')} "
            f"| {share:.0f} |"
        )
    survivors = [item for item in results if item["outcome"] == "passed"]
    lines += ["", "## Survivors", ""] if survivors else []
    if survivors:
        lines += ["Each line shows the original and the changed statement.", ""]
    for item in survivors:
        met = "1 test" if item["tests"] == 1 else f"{item['tests'] or 'no'} tests"
        name = str(item["operator"])[5:]
        diff = item["diff"]
        assert isinstance(diff, list)
        old, new = (
            "; ".join(line[1:].strip() for line in diff if line[0] == sign) for sign in "-+"
        )
        place = f"`{item['module']}:{item['line']}`"
        lines.append(f"- {place}, {name}, executed by {met}: `{old}` → `{new}`")
    REPORT.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def main() -> None:
    """Draw the sample, try what has not been tried, write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="mutants in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e9, help="try no more after so many")
    parser.add_argument("--rooms", nargs="+", choices=list(ROOMS), default=list(ROOMS))
    asked = parser.parse_args()
    copies: SimpleQueue[Path] = SimpleQueue()
    for number in range(WORKERS):
        copies.put(fresh_copy(number))
    tests = Tests(copies)
    kept = CACHE / f"{asked.seed}.jsonl"
    known = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    chosen = sample(asked.rooms, asked.count, asked.seed)
    everything = _of_all("cli", "instances", "model", "solver", "tests")

    deadline = time.monotonic() + 60 * asked.minutes

    def result(mutant: Mutant) -> dict[str, Any] | None:
        for item in known:
            if {k: item[k] for k in asdict(mutant)} == asdict(mutant) and _stands(item, everything):
                return item
        if time.monotonic() > deadline:
            return next((item for item in known if _survived(item, mutant)), None)
        item = {**try_one(mutant, tests), "everything": everything}
        item["key"] = _of_file(mutant.module) + _of_file(item["by"].partition("::")[0])
        with kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(item) + "\n")
        return item

    results = []
    with ThreadPoolExecutor(WORKERS) as pool:
        for number, item in enumerate(pool.map(result, chosen), 1):
            if item is None:
                continue
            results.append(item)
            place = f"{item['module']}:{item['line']}"
            print(f"{number}/{len(chosen)} {item['outcome']:8} {place} {item['by']}", flush=True)
    rooms = "" if asked.rooms == list(ROOMS) else f" --rooms {' '.join(asked.rooms)}"
    command = f"docs/make_mutants.py --count {asked.count} --seed {asked.seed}{rooms}"
    write_report(results, command, len(chosen))


if __name__ == "__main__":
    main()
