"""What the house answers, written down: to be compared before and after a change that changes none.

    python benchmarks/same_answers.py FOLDER [--against FOLDER]

Plans of the bundled examples and of small random instances by every method, the loop over them
(every cycle, the reasons of pending jobs, a run that goes on from a checkpoint) and explanations:
one file of JSON an instance, the same bytes for the same answers. --against: names the files that
differ, and fails if any does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import slotwise as sw
from slotwise.model.errors import SlotwiseError
from slotwise.solver.scheduler import checkpoints
from slotwise.solver.scheduler.history import Historian
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "support"))
from combined_loop import changes_of, workload
from paired_features import case, features_of

#: Examples of so many jobs are planned only by the methods of LSF.
MANY_JOBS = 60
#: Units of the solver for a plan.
EFFORT = 0.2
#: The second up to which the loop runs.
UNTIL = 3600
#: Cycles over which the reasons of pending jobs are followed.
CYCLES = 40
LOOPS = ("configured", "none", "greedy", "time-based")


def plain(item: Any) -> Any:
    """What JSON has no word for, as what it has."""
    if isinstance(item, sw.Job):  # a field more is no other answer
        return item.id
    if is_dataclass(item) and not isinstance(item, type):
        return {field.name: getattr(item, field.name) for field in fields(item)}
    if isinstance(item, np.generic | np.ndarray):
        return item.tolist()
    if isinstance(item, Enum):
        return item.name
    if isinstance(item, set | frozenset):
        return sorted(item)
    return repr(item)


def answered(ask: Callable[[], Any]) -> Any:
    """An answer, or the words with which it is refused."""
    try:
        return ask()
    except SlotwiseError as error:
        return str(error)


def plans(instance: sw.Instance) -> Iterator[tuple[str, Any]]:
    yield "greedy", answered(lambda: sw.plan(instance, "greedy").to_dict())
    yield "time-based", answered(lambda: sw.plan(instance, "time-based").to_dict())
    if len(instance.pending) <= MANY_JOBS:
        yield (
            "optimal",
            answered(lambda: sw.plan(instance, "optimal", effort=EFFORT, workers=1).to_dict()),
        )


def explanations(instance: sw.Instance) -> Iterator[tuple[str, Any]]:
    for job in instance.pending[:2]:
        yield f"explain {job.id}", answered(lambda job=job: sw.explain(instance, job.id).to_dict())


def loops(
    instance: sw.Instance, changes: tuple[Any, ...], *, deep: bool
) -> Iterator[tuple[str, Any]]:
    for method in LOOPS if deep else LOOPS[:1]:

        def ask(method: str = method) -> Any:
            found = sw.simulate(
                instance, reservation=method, changes=changes, until=UNTIL, keep_log=True
            )
            return [list(found.jobs), found.log, found.notes]

        yield f"loop {method}", answered(ask)
    if deep:
        yield "resumed", answered(lambda: resumed(instance, changes))
        yield "reasons", answered(lambda: reasons(instance))


def resumed(instance: sw.Instance, changes: tuple[Any, ...]) -> Any:
    """What is found by a run that is written down after each of its first cycles, and goes on."""
    session = Session(instance, settings_for(instance, reservation="greedy"), changes=changes)
    session.begin()
    for _ in range(6):
        if not session.advance():
            break
        session = checkpoints.load(checkpoints.save(session), instance, changes=changes)
    saved = json.loads(checkpoints.save(session))
    del saved["checksum"], saved["instance"]
    return [saved, list(session.result().jobs)]


def reasons(instance: sw.Instance) -> Any:
    """What has become of each job in the first cycles, and why it waited."""
    session = Session(instance, settings_for(instance, reservation="configured"))
    historian = Historian(session, reasons=True)
    session.begin()
    for _ in range(CYCLES):
        if not session.advance():
            break
        historian.watch()
    return historian.histories()


def cases(pairs: int, sites: int) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """The name of each file, and what makes its content."""
    for name in sorted(sw.examples()):
        yield f"example-{name}", lambda name=name: _of_example(name)
    for seed in range(pairs):
        yield f"pair-{seed:03}", lambda seed=seed: _of_pair(seed)
    for seed in range(sites):
        yield f"site-{seed:03}", lambda seed=seed: _of_site(seed)


def _of_example(name: str) -> dict[str, Any]:
    instance = sw.load(sw.example(name))
    small = len(instance.pending) <= MANY_JOBS // 3 and len(instance.cluster.hosts) < 200
    found = dict(plans(instance))
    found.update(loops(instance, (), deep=small))
    return found | (dict(explanations(instance)) if small else {})


def _of_pair(seed: int) -> dict[str, Any]:
    instance = case(features_of(seed), seed).instance
    found = {**dict(plans(instance)), **dict(loops(instance, (), deep=seed % 2 == 0))}
    return found | (dict(explanations(instance)) if seed % 4 == 0 else {})


def _of_site(seed: int) -> dict[str, Any]:
    instance = workload(seed)
    found = dict(loops(instance, changes_of(instance, seed), deep=True))
    with suppress(SlotwiseError):
        found["greedy"] = sw.plan(instance, "greedy").to_dict()
        found["time-based"] = sw.plan(instance, "time-based").to_dict()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--pairs", type=int, default=90)
    parser.add_argument("--sites", type=int, default=50)
    parser.add_argument("--without", nargs="*", default=[], help="names of files to leave out")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    begun = time.process_time()
    odd = []
    slow = []
    for name, make in cases(given.pairs, given.sites):
        if name in given.without:
            continue
        first = time.process_time()
        text = json.dumps(make(), default=plain, indent=0, sort_keys=True, ensure_ascii=False)
        slow.append((time.process_time() - first, name))
        (given.folder / f"{name}.json").write_text(text, encoding="utf-8")
        if given.against and (given.against / f"{name}.json").read_text("utf-8") != text:
            odd.append(name)
    sums = hashlib.sha256()
    for path in sorted(given.folder.glob("*.json")):
        sums.update(path.read_bytes())
    print(f"{len(slow)} files, {time.process_time() - begun:.1f} CPU s, {sums.hexdigest()[:16]}")
    print("dearest:", ", ".join(f"{name} {cost:.1f} s" for cost, name in sorted(slow)[-6:]))
    if odd:
        print(f"{len(odd)} differ:", *odd)
    return bool(odd)


if __name__ == "__main__":
    sys.exit(main())
