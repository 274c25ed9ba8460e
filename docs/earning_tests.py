"""Which test functions find what no other finds: `make earning TESTS=tests/lsf_state`.

Every test function runs once under coverage.py, which says which branches it takes, in children
that it forks too; of one with several cases the first CASES run, and no more after SPENT seconds.
A cover is chosen: functions that take all branches that all of them take, those first that take
most for their lines. Then faults are planted, drawn by a seed among the statements that the tests
reach: an operator turned, a number off by one, a text changed, a condition negated. A fault meets
the functions of the cover that run its line; where these pass, all others that run it, and the
quickest that notices it joins the cover. What is left finds nothing alone.

    --record          nothing but that
    --check           nothing joins, nothing is written: what all find, and what the cover finds
    --faults FILE     the faults of that file, or where there is none, draws them and writes it
    --seldom          faults first whose lines the fewest of the cover run: where it lacks most

Two trees are compared by the same FILE of faults, in the tree with more tests first. A behaviour
keeps a mark; functions that run nothing here (other processes, slow cases only) and those that a
document names stay. Folders are recorded one by one. Results: .cache/earning/NAME.json.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import hashlib
import importlib
import json
import os
import pickle
import re
import select
import signal
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "earning"
CASES, SPENT = 2, 0.3
#: Seconds that a fault has, beside ten times what its tests took.
PATIENCE = 30.0
#: Recorded seconds of tests that one fault may meet.
ENOUGH = 4.0
#: Exit code of a child in which a fault could not be planted.
BROKEN = 3
Arc = tuple[str, int, int]
OPTIONS = ("-q", "-n", "0", "-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:benchmark",
           "--hypothesis-seed=0")  # fmt: skip
PAIRS: list[tuple[type, type]] = [
    (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn), (ast.Add, ast.Sub), (ast.Mult, ast.FloorDiv), (ast.And, ast.Or),
    (ast.BitAnd, ast.BitOr),
]  # fmt: skip
SWAPPED = {ast.Div: ast.Mult, **dict(PAIRS), **{b: a for a, b in PAIRS}}


def function_of(item: str) -> str:
    """The test function of a test's name; of golden cases, the case."""
    return item if "test_golden" in item else item.partition("[")[0]


class Recorder:
    """A pytest plugin: seconds of each test, and the branches that each function takes."""

    def __init__(self) -> None:
        from coverage import Coverage

        rooms = [
            str(ROOT / n) for n in ("model/*", "solver/*", "cli/*", "instances/*", "library.py")
        ]
        self.coverage = Coverage(data_file=None, branch=True, include=rooms)
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.skipped: set[str] = set()
        self.arcs: dict[str, set[Arc]] = defaultdict(set)
        self.spent: Counter[str] = Counter()
        self.spool = Path(mkdtemp())
        self.leave, self.parent = os._exit, os.getpid()
        os._exit = self._child_leaves  # type: ignore[assignment]

    def _child_leaves(self, code: int) -> None:
        """A forked child leaves its branches behind."""
        if os.getpid() != self.parent:
            self.coverage.stop()
            kept = self.spool / str(os.getpid())
            kept.write_bytes(pickle.dumps(self._taken()))
            kept.rename(kept.with_suffix(".whole"))  # not while it is written
        self.leave(code)

    def _taken(self) -> set[Arc]:
        data = self.coverage.get_data()
        return {
            (name.removeprefix(f"{ROOT}/"), *arc)
            for name in data.measured_files()
            for arc in data.arcs(name) or ()
        }

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        cases: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            cases[function_of(item.nodeid)].append(item)
        items[:] = [item for each in cases.values() for item in each[:CASES]]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        name = function_of(item.nodeid)
        self.coverage.erase()
        begun = time.process_time()
        with self.coverage.collect():
            result = yield
        self.seconds[item.nodeid] = round(time.process_time() - begun, 4)
        self.spent[name] += self.seconds[item.nodeid]
        self.arcs[name] |= self._taken()
        for kept in self.spool.glob("*.whole"):
            self.arcs[name] |= pickle.loads(kept.read_bytes())
            kept.unlink()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[Any]:
        if self.spent[function_of(item.nodeid)] > SPENT:
            pytest.skip("enough was seen of this function")
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped:
            self.skipped.add(report.nodeid)
        elif report.failed:
            self.failed.add(function_of(report.nodeid))

    def kept(self) -> Any:
        """What was found, each branch by its number."""
        numbers: dict[Arc, int] = {}
        taken = {
            name: sorted(numbers.setdefault(arc, len(numbers)) for arc in sorted(found))
            for name, found in self.arcs.items()
        }
        ran = {item: took for item, took in self.seconds.items() if item not in self.skipped}
        return list(numbers), taken, ran, self.failed


def record(path: str) -> Path:
    """The file of what Recorder found in the tests of a path, now or before."""
    kept = CACHE / f"{path.strip('/').replace('/', '-').removesuffix('.py')}.recorded.pickle"
    if not kept.exists():
        if not (child := os.fork()):
            recorder = Recorder()
            pytest.main([*OPTIONS, path], plugins=[recorder])
            kept.write_bytes(pickle.dumps(recorder.kept()))
            recorder.leave(0)
        os.waitpid(child, 0)
    return kept


class Recorded:
    """What the recordings of several paths found."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.numbers: dict[Arc, int] = {}
        self.taken: dict[str, list[int]] = {}
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        for path in paths:
            known, taken, seconds, failed = pickle.loads(record(path).read_bytes())
            here = [self.numbers.setdefault(arc, len(self.numbers)) for arc in known]
            self.taken |= {name: [here[n] for n in found] for name, found in taken.items()}
            self.seconds |= seconds
            self.failed |= failed
        self.items: dict[str, list[str]] = defaultdict(list)
        for item in self.seconds:
            self.items[function_of(item)].append(item)
        #: The functions that run a line of a module.
        self.runs: dict[tuple[str, int], set[str]] = defaultdict(set)
        lines = [{(m, abs(a)), (m, abs(b))} for m, a, b in self.numbers]
        for name, found in self.taken.items():
            for place in set().union(*(lines[n] for n in found)):
                self.runs[place].add(name)

    def quickest(self, names: Iterator[str], able: Mapping[str, Any]) -> tuple[list[str], float]:
        """Tests of functions, the quickest first, while they take ENOUGH seconds together."""
        taken: list[str] = []
        spent = 0.0
        mine = (i for n in names if n not in self.failed for i in self.items[n] if i in able)
        for each in sorted(mine, key=self.seconds.__getitem__):
            spent += self.seconds[each]
            if spent > ENOUGH and taken:
                break
            taken.append(each)
        return taken, spent


class Planter:
    """A pytest plugin: once tests are collected, hands each fault to a fork that runs tests."""

    def __init__(self, work: Any, modules: Sequence[str]) -> None:
        self.work, self.modules = work, modules

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.session, self.items = session, {item.nodeid: item for item in session.items}
        for module in self.modules:
            importlib.import_module(_name(module))
        self.functions: dict[str, list[FunctionType]] = defaultdict(list)
        gc.unfreeze()  # what tests/conftest.py hides from it
        for item in gc.get_objects():
            if isinstance(item, FunctionType):
                self.functions[item.__module__].append(item)
        gc.freeze()
        gc.disable()
        self.work(self)
        return True

    def failed(self, fault: Fault, chosen: Sequence[str], limit: float) -> str | None:
        """The first test that fails with a fault, or None. One that hangs fails."""
        read, write = os.pipe()
        if not (child := os.fork()):
            self._run(fault, chosen, write)
        os.close(write)
        text, ends = b"", time.monotonic() + limit
        while (left := ends - time.monotonic()) > 0 and select.select([read], [], [], left)[0]:
            if not (part := os.read(read, 65536)):
                break
            text += part
        else:
            os.killpg(child, signal.SIGKILL)
        os.close(read)
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if os.waitstatus_to_exitcode(status) == BROKEN:
            raise SystemExit(text.decode())
        return text.decode().split("\n")[-2] if status else None

    def _run(self, fault: Fault, chosen: Sequence[str], write: int) -> None:
        """In a child: writes the name of each test, and ends with the first that fails."""
        os.setsid()
        try:
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            fault.plant(self.functions[_name(fault.module)])
            known = [self.items[name] for name in chosen]
            for item, after in zip(known, [*known[1:], None], strict=True):
                os.write(write, f"{item.nodeid}\n".encode())
                before = self.session.testsfailed
                self.session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                if self.session.testsfailed > before:
                    os._exit(1)
            os._exit(0)
        except BaseException:
            os.write(write, traceback.format_exc().encode())
            os._exit(BROKEN)


def _name(module: str) -> str:
    return "slotwise." + module.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


class Fault(NamedTuple):
    """One change of one node, counted by `places`, in the body of a function."""

    module: str
    number: int
    line: int
    shown: str

    def plant(self, functions: Sequence[FunctionType]) -> None:
        """Gives the functions of the module, in this process, the changed code."""
        path = ROOT / self.module
        tree = ast.parse(path.read_text(encoding="utf-8"))
        change(list(places(tree))[self.number])
        codes: dict[tuple[str, int], CodeType] = {}
        waiting = [compile(tree, str(path), "exec")]
        while waiting:
            code = waiting.pop()
            codes[code.co_qualname, code.co_firstlineno] = code
            waiting += [each for each in code.co_consts if isinstance(each, CodeType)]
        for item in functions:
            own = item.__code__
            new = codes.get((own.co_qualname, own.co_firstlineno), own)
            if new.co_freevars == own.co_freevars:
                item.__code__ = new


def places(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of function bodies that a fault can change."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for statement in function.body:
                yield from _within(statement)


def _within(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.FunctionDef() | ast.ClassDef() | ast.Assert() | ast.keyword(arg="strict"):
            return
        case ast.Raise(exc=inner) | ast.AnnAssign(value=inner):
            if inner is not None:
                yield from _within(inner)
            return
        case ast.Expr(value=ast.Constant()):
            return
    if _can_change(node):
        yield node
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name not in ("annotation", "format_spec"):
                yield from _within(child)


def _can_change(node: ast.AST) -> bool:
    match node:
        case ast.Compare():
            return type(node.ops[0]) in SWAPPED
        case ast.BinOp():
            return type(node.op) in SWAPPED
        case ast.UnaryOp():
            return isinstance(node.op, ast.Not | ast.USub)
        case ast.Constant():
            return not isinstance(node.value, bytes | type(...) | None)
    return isinstance(node, ast.BoolOp | ast.If | ast.IfExp | ast.While | ast.Break | ast.Continue)


def change(node: ast.AST) -> None:
    """Plants the fault of a place."""
    match node:
        case ast.Compare():
            node.ops[0] = SWAPPED[type(node.ops[0])]()
        case ast.BinOp() | ast.BoolOp():
            node.op = SWAPPED[type(node.op)]()
        case ast.UnaryOp(op=ast.USub()):
            node.op = ast.UAdd()
        case ast.UnaryOp():
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case ast.Constant(value=bool(value)):
            node.value = not value
        case ast.Constant(value=str(value)):
            node.value = value + "~"
        case ast.Constant(value=int(value) | float(value)):
            node.value = value + 1
        case ast.Break() | ast.Continue():
            node.__class__ = ast.Continue if isinstance(node, ast.Break) else ast.Break
        case _:
            node.test = ast.UnaryOp(ast.Not(), node.test)
    ast.fix_missing_locations(node)


def spans(files: Sequence[Path]) -> dict[str, tuple[int, set[str]]]:
    """Lines and behaviours of each test function."""
    found = {}
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        whole = {
            mark
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
            for mark in _marks(node.value)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
                marks = {mark for item in node.decorator_list for mark in _marks(item)}
                lines = (node.end_lineno or 0) - first + 3
                name = f"{file.relative_to(ROOT)}::{node.name}"
                found[name] = (lines, marks | whole)
    return found


def _marks(node: ast.AST) -> set[str]:
    return {
        item.value
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.behaviour"
        for item in call.args
        if isinstance(item, ast.Constant)
    }


def cover(found: Recorded, lines: Mapping[str, int], kept: set[str]) -> set[str]:
    """Functions that take all branches that all of them take, beside those kept anyway."""
    names = sorted(found.taken)
    takes = np.zeros((len(names), len(found.numbers)), dtype=bool)
    for row, name in enumerate(names):
        takes[row, found.taken[name]] = True
    cost = np.array([lines.get(name, 10) + 5 for name in names])
    chosen = set(kept)
    missing = ~takes[[row for row, name in enumerate(names) if name in chosen]].any(axis=0)
    missing &= takes.any(axis=0)
    while missing.any():
        best = int(((takes @ missing.astype(np.int32)) / cost).argmax())
        chosen.add(names[best])
        missing &= ~takes[best]
    return chosen


def for_marks(marked: Mapping[str, set[str]], chosen: set[str]) -> set[str]:
    """Functions to add so that each behaviour keeps a mark."""
    lacking = set().union(*marked.values()) - set().union(*(marked.get(n, ()) for n in chosen))
    return {min(name for name, marks in marked.items() if mark in marks) for mark in lacking}


def faults_of(asked: argparse.Namespace, found: Recorded, chosen: set[str]) -> list[Fault]:
    """The faults of a file, or by the hash of their text those in lines that tests run."""
    if asked.faults and asked.faults.exists():
        return [Fault(*each) for each in json.loads(asked.faults.read_text(encoding="utf-8"))]
    drawn: list[tuple[str, Fault]] = []
    for module in sorted({module for module, _ in found.runs if module.startswith(asked.rooms)}):
        tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
        for number, node in enumerate(places(tree)):
            fault = Fault(module, number, getattr(node, "lineno", 0), ast.unparse(node)[:90])
            if fault[::2] in found.runs:
                key = hashlib.sha256(f"{asked.seed} {fault}".encode()).hexdigest()
                drawn.append((key, fault))
    faults = [fault for _, fault in sorted(drawn)]
    if asked.seldom:
        others = [fault for fault in faults if found.runs[fault[::2]] - chosen]
        faults = sorted(others[: 4 * asked.count], key=lambda f: len(found.runs[f[::2]] & chosen))
    if asked.faults:
        asked.faults.write_text(json.dumps(faults[: asked.count], indent=0), encoding="utf-8")
    return faults[: asked.count]


def plant(
    found: Recorded, chosen: set[str], faults: Sequence[Fault], asked: argparse.Namespace
) -> list[dict[str, Any]]:
    """Each fault with the test of the cover that found it, or another."""
    told: list[dict[str, Any]] = []

    def work(planter: Planter) -> None:
        for fault in faults:
            each, names = {"fault": " ".join(map(str, fault))}, found.runs[fault[::2]]
            for whose, of in (("cover", names & chosen), ("others", names - chosen)):
                tests, spent = found.quickest(iter(of), planter.items)
                if hit := tests and planter.failed(fault, tests, PATIENCE + 10 * spent):
                    each[whose] = function_of(hit)
                    break
            if "others" in each and not asked.check:
                chosen.add(each["others"])
            told.append(each)

    modules = sorted({fault.module for fault in faults})
    pytest.main([*OPTIONS, *asked.tests], plugins=[Planter(work, modules)])
    return told


def main() -> None:
    """Record, choose, plant, say."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", default="", help="faults only in paths that begin so")
    parser.add_argument("--faults", type=Path)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--seldom", action="store_true")
    asked = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    if asked.record:
        print(*map(record, asked.tests))
        return
    found = Recorded(asked.tests)
    name = asked.tests[0].strip("/").replace("/", "-").removesuffix(".py")
    output = CACHE / f"{name}.json"
    about = spans(sorted({ROOT / n.partition("::")[0] for n in found.taken}))
    lines = {n: size for n, (size, _) in about.items()}
    pages = (page.read_text(encoding="utf-8") for page in ROOT.glob("docs/**/*.md"))
    named = set(re.findall(r"`(test_\w+)`", "".join(pages)))
    old = json.loads(output.read_text(encoding="utf-8")) if output.exists() else {}
    joined = set(old.get("joined", ())) & set(found.taken)
    kept = {n for n in about if not found.taken.get(n) or n.partition("::")[2] in named}
    golden = {n for n in found.taken if "test_golden" in n}
    chosen = cover(found, lines, kept | golden | joined | found.failed)
    chosen |= for_marks({n: marks for n, (_, marks) in about.items()}, chosen)
    faults = faults_of(asked, found, chosen)
    told = plant(found, chosen, faults, asked)
    by = Counter("cover" if "cover" in t else "others" if "others" in t else "none" for t in told)
    print(
        f"{name}: {len(chosen & set(about))} of {len(about)} functions stay, "
        f"{sum(lines.get(n, 0) for n in chosen)} of {sum(lines.values())} lines; faults "
        f"{len(told)}: all find {by['cover'] + by['others']}, the cover {by['cover']}"
    )
    if not asked.check:
        joined |= {each["others"] for each in told if "others" in each}
        result = {"leaves": sorted(set(about) - chosen), "joined": sorted(joined), "told": told}
        output.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
