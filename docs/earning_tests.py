"""Which test functions of a folder find what no other finds: `make earning TESTS=tests/lsf_state`.

Every test function runs once under coverage.py, which says which branches it takes, in children
that it forks too. A cover is chosen: functions that take all branches that all of them take, those
first that take most for their lines. Then faults are planted, drawn by a seed among the statements
that the folder reaches: an operator turned, a number off by one, a text changed, a condition
negated. A fault meets the functions of the cover that run its line; where these pass, all others
that run it, and the quickest that notices it joins the cover. What is left finds nothing alone.
With --check the faults are drawn by another seed, and both shares are printed: what all functions
find, and what the cover finds.

A behaviour keeps the marks of MARKS functions, or all that it has. Functions that run nothing here
(other processes, slow cases only) stay. Results: .cache/earning/NAME.json.
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
import select
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "earning"
MARKS = 2
#: Seconds that a fault has, beside ten times what its tests took.
PATIENCE = 30.0
#: Recorded seconds of tests that one fault may meet.
ENOUGH = 4.0
OPTIONS = ("-q", "-n", "0", "-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:benchmark",
           "--hypothesis-seed=0")  # fmt: skip
SWAPPED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.USub: ast.UAdd,
}  # fmt: skip


def function_of(item: str) -> str:
    """The test function of a test's name; of golden cases, the case."""
    return item if "test_golden" in item else item.partition("[")[0]


class Recorder:
    """A pytest plugin: seconds of each test, and the branches that each function takes."""

    def __init__(self) -> None:
        from coverage import Coverage

        rooms = [str(ROOT / name / "*") for name in ("model", "solver", "cli")]
        self.coverage = Coverage(
            data_file=None, branch=True, include=[*rooms, str(ROOT / "library.py")]
        )
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.arcs: dict[str, set[tuple[str, int, int]]] = defaultdict(set)
        self.spool = CACHE / f"children-{os.getpid()}"
        self.spool.mkdir(parents=True, exist_ok=True)
        self.leave, self.parent = os._exit, os.getpid()
        os._exit = self._child_leaves  # type: ignore[assignment]

    def _child_leaves(self, code: int) -> None:
        """A forked child leaves its branches behind."""
        if os.getpid() != self.parent:
            self.coverage.stop()
            self.spool.joinpath(str(os.getpid())).write_text(
                json.dumps(sorted(self._taken())), encoding="utf-8"
            )
        self.leave(code)

    def _taken(self) -> set[tuple[str, int, int]]:
        data = self.coverage.get_data()
        return {
            (name.removeprefix(f"{ROOT}/"), *arc)
            for name in data.measured_files()
            for arc in data.arcs(name) or ()
        }

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.erase()
        begun = time.process_time()
        self.coverage.start()
        result = yield
        self.coverage.stop()
        self.seconds[item.nodeid] = round(time.process_time() - begun, 4)
        found = self.arcs[function_of(item.nodeid)]
        found |= self._taken()
        for kept in self.spool.iterdir():
            found |= {tuple(arc) for arc in json.loads(kept.read_text(encoding="utf-8"))}
            kept.unlink()
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)


class Planter:
    """A pytest plugin: once tests are collected, hands each fault to a fork that runs tests."""

    def __init__(self, work: Any, modules: Sequence[str]) -> None:
        self.work, self.modules = work, modules

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.session = session
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

    def failed(self, fault: Fault, chosen: Sequence[str], limit: float, first: bool) -> set[str]:
        """The tests that fail with a fault; the first only, or all. One that hangs fails."""
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.setsid()
            os.close(read)
            self._run(fault, chosen, first, write)
        os.close(write)
        text, ends = b"", time.monotonic() + limit

        while (left := ends - time.monotonic()) > 0 and select.select([read], [], [], left)[0]:
            part = os.read(read, 65536)
            if not part:
                break
            text += part
        else:
            text += b"\nhung"
        os.close(read)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        lines = text.decode().split("\n")
        if any(line.startswith("broken") for line in lines):
            raise SystemExit(text.decode())
        began = [line[2:] for line in lines if line.startswith("> ")]
        found = {line[2:] for line in lines if line.startswith("! ")}
        if lines[-1] != "end" and began:
            found.add(began[-1])
        return found

    def _run(self, fault: Fault, chosen: Sequence[str], first: bool, write: int) -> None:
        def say(text: str) -> None:
            os.write(write, text.encode())

        try:
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            fault.plant(self.functions[_name(fault.module)])
            known = [self.items[name] for name in chosen]
            for item, after in zip(known, [*known[1:], None], strict=True):
                say(f"> {item.nodeid}\n")
                before = self.session.testsfailed
                self.session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                if self.session.testsfailed > before:
                    say(f"! {item.nodeid}\n")
                    if first:
                        break
            say("end")
        except BaseException:
            say(f"broken {traceback.format_exc()}")
        finally:
            os._exit(0)


def _name(module: str) -> str:
    return "slotwise." + module.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


class Fault:
    """One change of one node in the body of a function."""

    def __init__(self, module: str, number: int, line: int, kind: str, shown: str) -> None:
        self.module, self.number, self.line = module, number, line
        self.kind, self.shown = kind, shown

    def plant(self, functions: Sequence[FunctionType]) -> None:
        """Gives the functions of the module, in this process, the changed code."""
        path = ROOT / self.module
        tree = ast.parse(path.read_text(encoding="utf-8"))
        change(list(places(tree))[self.number][0])
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


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """The nodes of function bodies that a fault can change."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for statement in function.body:
                yield from _within(statement)


def _within(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assert | ast.Raise):
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield from _within(node.exc)
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.AnnAssign):
        if node.value is not None:
            yield from _within(node.value)
        return
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        yield node, "comparison"
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
        yield node, "operator"
    elif isinstance(node, ast.BoolOp):
        yield node, "and/or"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node, "unary"
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield node, "condition"
    elif isinstance(node, ast.Constant) and not isinstance(node.value, bytes | type(...) | None):
        yield node, "constant"
    elif isinstance(node, ast.Break | ast.Continue):
        yield node, "loop"
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "format_spec"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.keyword) and child.arg == "strict":
                continue
            if isinstance(child, ast.AST):
                yield from _within(child)


def change(node: ast.AST) -> None:
    """Plants the fault of a place."""
    if isinstance(node, ast.Compare):
        node.ops[0] = SWAPPED[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp | ast.BoolOp):
        node.op = SWAPPED[type(node.op)]()
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.USub):
            node.op = ast.UAdd()
        else:
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, bool):
            node.value = not value
        elif isinstance(value, int | float):
            node.value = value + 1
        elif isinstance(value, str):
            node.value = value + "~" if value else "~"
    elif isinstance(node, ast.Break | ast.Continue):
        node.__class__ = ast.Continue if isinstance(node, ast.Break) else ast.Break
    ast.fix_missing_locations(node)


def draw(lines: Mapping[str, set[int]], count: int, seed: int) -> list[Fault]:
    """Faults in lines that are reached, by the hash of their text: half by module, half at all."""
    found: list[tuple[str, Fault]] = []
    for module, reached in lines.items():
        tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
        for number, (node, kind) in enumerate(places(tree)):
            line = getattr(node, "lineno", 0)
            if line in reached:
                shown = ast.unparse(node)[:90].replace("\n", " ")
                key = hashlib.sha256(f"{seed} {module} {shown} {number}".encode()).hexdigest()
                found.append((key, Fault(module, number, line, kind, shown)))
    found.sort(key=lambda pair: pair[0])
    return [fault for _, fault in found[:count]]


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


def cover(
    arcs: Mapping[str, set[tuple[str, int, int]]],
    lines: Mapping[str, int],
    kept: set[str],
) -> set[str]:
    """Functions that take all branches that all of them take, beside those kept anyway."""
    chosen = set(kept)
    missing = set().union(*arcs.values()) - set().union(*(arcs.get(name, set()) for name in kept))
    while missing:
        best = max(
            sorted(arcs), key=lambda name: len(arcs[name] & missing) / (lines.get(name, 10) + 5)
        )
        chosen.add(best)
        missing -= arcs[best]
    return chosen


def kept_for_marks(
    marked: Mapping[str, set[str]], chosen: set[str], total: Counter[str]
) -> set[str]:
    """Functions to add so that each behaviour keeps its marks; total: of those elsewhere."""
    added: set[str] = set()
    of: dict[str, list[str]] = defaultdict(list)
    for name, marks in sorted(marked.items()):
        for mark in marks:
            of[mark].append(name)
    for names in of.values():
        wanted = min(MARKS, len(names)) - len([n for n in names if n in chosen | added])
        for name in [n for n in names if n not in chosen | added][: max(0, wanted)]:
            added.add(name)
    return added


def recorded(path: str, select: str) -> Any:
    """What Recorder found in the tests of a path, now or before."""
    kept = CACHE / f"{path.strip('/').replace('/', '-').removesuffix('.py')}.recorded.json"
    if not kept.exists():
        child = os.fork()
        if not child:
            recorder = Recorder()
            chosen = ["-k", select] if "golden" in path and select else []
            pytest.main([*OPTIONS, *chosen, path], plugins=[recorder])
            found = {
                "seconds": recorder.seconds,
                "failed": sorted(recorder.failed),
                "arcs": {n: sorted(taken) for n, taken in recorder.arcs.items()},
            }
            kept.write_text(json.dumps(found), encoding="utf-8")
            recorder.leave(0)
        os.waitpid(child, 0)
    return json.loads(kept.read_text(encoding="utf-8"))


def main() -> None:
    """Record, choose, plant, say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--name", default="")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", nargs="*", default=[""], help="faults only below these paths")
    parser.add_argument("--select", default="", help="golden cases that are run (-k)")
    parser.add_argument("--check", action="store_true", help="add none to the cover")
    parser.add_argument(
        "--keep", nargs="*", default=[], help="functions with one of these in their names stay"
    )
    asked = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    name = asked.name or asked.tests[0].strip("/").replace("/", "-").removesuffix(".py")
    output = CACHE / f"{name}.json"
    os.chdir(ROOT)
    arcs: dict[str, set[tuple[str, int, int]]] = {}
    seconds: dict[str, float] = {}
    failed: set[str] = set()
    for path in asked.tests:
        data = recorded(path, asked.select)
        arcs |= {n: {tuple(arc) for arc in found} for n, found in data["arcs"].items()}
        seconds |= data["seconds"]
        failed |= {function_of(n) for n in data["failed"]}
    files = sorted(p for p in {ROOT / n.partition("::")[0] for n in arcs} if p.exists())
    about = spans(files)
    lines = {n: found[0] for n, found in about.items()}
    silent = {n for n in about if not arcs.get(n)}
    kept = {n for n in about if any(each in n for each in asked.keep)}
    old = json.loads(output.read_text(encoding="utf-8")) if output.exists() else {}
    joined = set(old.get("joined", ()))
    kept |= silent | failed | joined | {n for n in arcs if "test_golden" in n}
    chosen = cover(arcs, lines, kept)
    chosen |= kept_for_marks({n: found[1] for n, found in about.items()}, chosen, Counter())
    reached: dict[str, set[int]] = defaultdict(set)
    runs: dict[tuple[str, int], set[str]] = defaultdict(set)
    for test, found in arcs.items():
        for module, a, b in found:
            for line in (abs(a), abs(b)):
                if module.startswith(tuple(asked.rooms)) and "test_golden" not in test:
                    reached[module].add(line)
                runs[module, line].add(test)
    items: dict[str, list[str]] = defaultdict(list)
    for item in seconds:
        items[function_of(item)].append(item)
    faults = draw(reached, asked.count, asked.seed)
    tally: Counter[str] = Counter()
    told: list[dict[str, Any]] = []

    progress = (CACHE / f"{name}.progress").open("w", encoding="utf-8")

    def work(planter: Planter) -> None:
        for fault in faults:
            tests = runs[fault.module, fault.line]
            found: dict[bool, set[str]] = {}
            for of_cover in (True, False):
                able = [n for n in tests if (n in chosen) == of_cover and n not in failed]
                names = sorted(
                    (i for n in able for i in items[n] if i in planter.items), key=seconds.get
                )
                taken, spent = [], 0.0
                for each in names:
                    spent += seconds[each]
                    if spent > ENOUGH and taken:
                        break
                    taken.append(each)
                limit = PATIENCE + 10 * sum(seconds[each] for each in taken)
                found[of_cover] = (
                    planter.failed(fault, taken, limit, first=True) if taken else set()
                )
                if found[True]:
                    break
            tally["faults"] += 1
            print(f"{tally} {fault.module}:{fault.line}", file=progress, flush=True)
            tally["cover"] += bool(found[True])
            tally["all"] += bool(found[True] or found.get(False))
            if not found[True]:
                by = sorted(function_of(each) for each in found.get(False, ()))
                told.append({"module": fault.module, "line": fault.line, "kind": fault.kind,
                             "node": fault.shown, "by": by})  # fmt: skip
                if by and not asked.check:
                    joined.update(by[:1])
                    chosen.update(by[:1])

    pytest.main(
        [*OPTIONS, *asked.tests],
        plugins=[Planter(work, sorted({fault.module for fault in faults}))],
    )
    leaves = sorted(set(about) - chosen)
    shares = [*old.get("shares", []), {"seed": asked.seed, "check": asked.check, **tally}]
    output.write_text(
        json.dumps({"kept": sorted(chosen), "leaves": leaves, "joined": sorted(joined),
                    "shares": shares, "told": told}, indent=1), encoding="utf-8",
    )  # fmt: skip
    print(
        f"{name}: {len(chosen & set(about))} of {len(about)} functions stay, "
        f"{sum(lines.get(n, 0) for n in chosen)} of {sum(lines.values())} lines; "
        f"silent {len(silent)}, failed {len(failed)}; faults {tally['faults']}: "
        f"all find {tally['all']}, the cover {tally['cover']}; joined {len(joined)}"
    )


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "docs"))
    main()
