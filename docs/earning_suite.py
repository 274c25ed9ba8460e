"""Which test functions the whole suite needs, in three steps.

    python docs/earning_suite.py record FILES...   # several at a time, each its share of the files
    python docs/earning_suite.py choose            # .cache/earning/choice.json
    python docs/earning_suite.py check SEED COUNT  # faults against all functions and those chosen

As `docs/earning_tests.py` does it for a folder, with these differences. Of a function that has
several cases the first CASES run, and no more once they took SPENT seconds. A function costs its
lines, and as the first of its file the lines there that belong to no test, and MORE if the file
imports what is behind a door; it is chosen while it takes a branch for each ten lines. In the rooms
of WORTH_TWO a branch is to be taken by two. Functions that a document names, whose behaviour has no
other mark, and files of KEPT stay anyway, and what was not recorded.
`check` takes for chosen what .cache/earning/choice.json says, or, with --now, what is in the tree:
run it in a tree of the tests as they were.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import pickle
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from earning_tests import CACHE, MARKS, OPTIONS, ROOT, Planter, draw, function_of, spans

CASES, SPENT = 2, 0.6
MORE = 70
WORTH_TWO = tuple(
    f"solver/{room}" for room in ("optimal", "scheduler", "placement", "validation", "rules")
)
#: Branches for each line of cost below which nothing more is chosen.
LEAST = 0.1
#: Seconds of recorded tests that a fault meets: of those chosen, and of the others.
ENOUGH = {True: 8.0, False: 4.0}
WORKERS = 3
KEPT = re.compile(
    r"tests/(test_(structure|house|terms|doors|contributing|compatibility|packaging|readme|documents"
    r"|golden|semantics|site|tutorial|pictures|sampling|counters|lookalikes|validate_\w+)|live/|fuzz/"
    r"|\w+/test_(one_home|docs|registry|hostile|browser|typed|examples|ground|\w+_ground"
    r"|live_\w+|against_brute_force|mixed|loans_enumerated|replay_reference)).*"
)


class Recorder:
    """A pytest plugin: the branches that each function takes, children that it forks included."""

    def __init__(self) -> None:
        from coverage import Coverage

        rooms = [str(ROOT / name / "*") for name in ("model", "solver", "cli", "instances")]
        self.coverage = Coverage(
            data_file=None, branch=True, include=[*rooms, str(ROOT / "library.py")]
        )
        self.numbers: dict[tuple[str, int, int], int] = {}
        self.arcs: dict[str, set[int]] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.cases: dict[str, int] = defaultdict(int)
        self.spent: dict[str, float] = defaultdict(float)
        self.spool = CACHE / f"children-{os.getpid()}"
        self.spool.mkdir(parents=True, exist_ok=True)
        self.leave, self.parent = os._exit, os.getpid()
        os._exit = self._child_leaves  # type: ignore[assignment]

    def _child_leaves(self, code: int) -> None:
        if os.getpid() != self.parent:
            self.coverage.stop()
            self.spool.joinpath(str(os.getpid())).write_bytes(pickle.dumps(self._taken()))
        self.leave(code)

    def _taken(self) -> set[tuple[str, int, int]]:
        data = self.coverage.get_data()
        return {
            (name.removeprefix(f"{ROOT}/"), *arc)
            for name in data.measured_files()
            for arc in data.arcs(name) or ()
        }

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        seen: dict[str, int] = defaultdict(int)
        kept = []
        for item in items:
            name = function_of(item.nodeid)
            seen[name] += 1
            if seen[name] <= CASES:
                kept.append(item)
        items[:] = kept

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[Any]:
        name = function_of(item.nodeid)
        if self.spent[name] > SPENT:
            pytest.skip("enough was seen of this function")
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        name = function_of(item.nodeid)
        self.coverage.erase()
        begun = time.process_time()
        self.coverage.start()
        result = yield
        self.coverage.stop()
        took = time.process_time() - begun
        self.spent[name] += took
        self.seconds[item.nodeid] = round(took, 3)
        found = self._taken()
        for kept in self.spool.iterdir():
            found |= pickle.loads(kept.read_bytes())
            kept.unlink()
        self.arcs[name] |= {self.numbers.setdefault(arc, len(self.numbers)) for arc in found}
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(function_of(report.nodeid))

    def pytest_sessionfinish(self) -> None:
        kept = list(self.numbers), dict(self.arcs), self.seconds, self.failed
        (CACHE / f"recorded-{self.parent}.pickle").write_bytes(pickle.dumps(kept))


class Recorded:
    """What all recorders of this tree found: branches as bits of one number a function."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[str, int, int], int] = {}
        self.masks: dict[str, int] = defaultdict(int)
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        for path in CACHE.glob("recorded-*.pickle"):
            known, arcs, seconds, failed = pickle.loads(path.read_bytes())
            here = [self.numbers.setdefault(arc, len(self.numbers)) for arc in known]
            for name, found in arcs.items():
                for number in found:
                    self.masks[name] |= 1 << here[number]
            self.seconds |= seconds
            self.failed |= failed
        self.items: dict[str, list[str]] = defaultdict(list)
        for item in self.seconds:
            self.items[function_of(item)].append(item)


def choose() -> None:
    """The functions to keep, those first that take most branches for their cost."""
    found = Recorded()
    names = sorted(found.masks)
    size = (len(found.numbers) + 7) // 8
    bits = np.array(
        [np.frombuffer(found.masks[n].to_bytes(size, "little"), np.uint8) for n in names]
    )
    takes = np.unpackbits(bits, axis=1, bitorder="little", count=len(found.numbers))
    two = np.array([arc[0].startswith(WORTH_TWO) for arc in found.numbers])
    need = np.minimum(takes.sum(axis=0, dtype=np.int16), 1 + two)
    first = need.copy()
    about = spans(sorted((ROOT / "tests").rglob("test_*.py")))
    named = set(
        re.findall(r"`(test_\w+)`", "".join(p.read_text() for p in ROOT.glob("docs/**/*.md")))
    )
    chosen: set[str] = set()
    head = {file: _head(ROOT / file) for file in {name.partition("::")[0] for name in about}}
    opened: set[str] = set()

    def keep(name: str) -> None:
        nonlocal need
        chosen.add(name)
        opened.add(name.partition("::")[0])
        if name in found.masks:
            need = np.maximum(need - takes[names.index(name)], 0)

    def cost(name: str) -> float:
        file = name.partition("::")[0]
        return about[name][0] + (0 if file in opened else head[file])

    for name in {*about, *names}:
        if (
            name not in found.masks
            or name not in about
            or KEPT.match(name)
            or name.partition("::")[2] in named
        ):
            keep(name)
    while True:
        worth = np.where(need < first, 0.35, 1.0) * (need > 0)
        rest = [n for n in names if n not in chosen]
        if not rest:
            break
        gains = takes[[names.index(n) for n in rest]] @ worth
        ratios = gains / np.array([cost(n) for n in rest])
        best = int(ratios.argmax())
        if ratios[best] < LEAST:
            break
        keep(rest[best])
    marked: dict[str, list[str]] = defaultdict(list)
    for name, (_, marks) in sorted(about.items()):
        for mark in marks:
            marked[mark].append(name)
    for of in marked.values():
        lacking = [n for n in of if n not in chosen]
        for name in lacking[: max(0, min(MARKS, len(of)) - (len(of) - len(lacking)))]:
            keep(name)
    (CACHE / "choice.json").write_text(json.dumps(sorted(chosen), indent=1), encoding="utf-8")
    print(f"{len(chosen & set(about))} of {len(about)} functions are chosen")


def _head(path: Path) -> float:
    """Lines of a file that belong to no test function, and what it costs to look behind a door."""
    sys.path.insert(0, str(ROOT / "tests"))
    from test_doors import DOORS, modules

    text = path.read_text(encoding="utf-8")
    tests = [
        n
        for n in ast.parse(text).body
        if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")
    ]
    own = sum((n.end_lineno or 0) - n.lineno + 3 for n in tests)
    return len(text.splitlines()) - own + (MORE if modules(path) - DOORS else 0)


def check(seed: int, count: int, now: Path | None) -> None:
    """Faults by a seed: how many all functions find, and how many those chosen."""
    found = Recorded()
    if now is None:
        chosen = set(json.loads((CACHE / "choice.json").read_text(encoding="utf-8")))
    else:
        chosen = {
            f"{path.relative_to(now)}::{node.name}"
            for path in (now / "tests").rglob("test_*.py")
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef)
        } | {name for name in found.masks if "test_golden" in name}
    by_line: dict[tuple[str, int], int] = defaultdict(int)
    for (module, *two), number in found.numbers.items():
        for line in two:
            by_line[module, abs(line)] |= 1 << number
    reached: dict[str, set[int]] = defaultdict(set)
    for module, line in by_line:
        reached[module].add(line)
    faults = draw(reached, count, seed)
    output = CACHE / f"check-{seed}.jsonl"

    def part(planter: Planter, worker: int) -> None:
        for fault in faults[worker::WORKERS]:
            mask = by_line[fault.module, fault.line]
            able = [n for n, own in found.masks.items() if own & mask and n not in found.failed]
            told = {"fault": f"{fault.module}:{fault.line} {fault.shown}"}
            for of_chosen in (True, False):
                items = sorted(
                    (i for n in able if (n in chosen) == of_chosen for i in found.items[n]
                     if i in planter.items),
                    key=found.seconds.__getitem__,
                )  # fmt: skip
                taken, spent = [], 0.0
                for item in items:
                    spent += found.seconds[item]
                    if spent > ENOUGH[of_chosen] and taken:
                        break
                    taken.append(item)
                hit = planter.failed(fault, taken, 60 + 20 * spent, first=True) if taken else ()
                if hit:
                    told["chosen" if of_chosen else "others"] = sorted(hit)[0]
                    break
            with output.open("a", encoding="utf-8") as file:
                file.write(json.dumps(told) + "\n")

    def work(planter: Planter) -> None:
        children = []
        for worker in range(WORKERS):
            child = os.fork()
            if not child:
                try:
                    part(planter, worker)
                finally:
                    os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)

    output.unlink(missing_ok=True)
    files = sorted({name.partition("::")[0] for name in found.masks})
    pytest.main([*OPTIONS, *files], plugins=[Planter(work, sorted({f.module for f in faults}))])
    lines = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    by_chosen = sum("chosen" in line for line in lines)
    by_others = sum("others" in line for line in lines)
    print(f"{len(lines)} faults: all find {by_chosen + by_others}, those chosen {by_chosen}")


def main() -> None:
    """One of the steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    steps.add_parser("record").add_argument("files", nargs="+")
    steps.add_parser("choose")
    checking = steps.add_parser("check")
    checking.add_argument("seed", type=int)
    checking.add_argument("count", type=int)
    checking.add_argument("--now", type=Path, help="a tree whose functions are those chosen")
    asked = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    if asked.step == "record":
        pytest.main([*OPTIONS, *asked.files], plugins=[Recorder()])
    elif asked.step == "choose":
        choose()
    else:
        check(asked.seed, asked.count, asked.now)


if __name__ == "__main__":
    main()
