"""Which model answers which question: calls of CP-SAT, GLOP and the placement search, counted.

    python benchmarks/which_model.py [--effort 20] [--hosts 64] [--pending 20] [--seeds 0 1]

Counted on the shipped examples and on contested queues (generated clusters at 98 % load), for each
of the methods and objectives: calls by the module that asked, models answered and left UNKNOWN, the
largest model in variables and seconds of the processor. Placement: how many of the questions about
one term the search of solver/placement/choose.py decided, and how many went to CP-SAT.
"""

from __future__ import annotations

import argparse
import inspect
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import slotwise as sw
from ortools.linear_solver import pywraplp
from ortools.sat.python import cp_model
from slotwise.model.generate import generate
from slotwise.model.instance import Instance
from slotwise.solver.optimal import backends
from slotwise.solver.placement import single
from slotwise.solver.planning import plan

#: Objectives of `optimal`, and the other exact method.
QUESTIONS = (
    ("optimal", "lexicographic"),
    ("optimal", "weighted"),
    ("milp", "lexicographic"),
)


class Calls:
    """Counts calls of the solvers by the module that asked."""

    def __init__(self) -> None:
        self.calls, self.unknown = Counter[str](), Counter[str]()
        self.largest, self.seconds = dict[str, int](), Counter[str]()
        self.placements = Counter[str]()
        self._wrap(cp_model.CpSolver, "solve", self._cp_sat)
        self._wrap(pywraplp.Solver, "Solve", self._glop)
        self._wrap(single, "_place_bounded", self._bounded)
        for name in ("combine", "feasible", "place_plain", "fits_plain"):
            self._wrap(single, name, self._chosen)

    def _wrap(self, owner: Any, name: str, count: Callable[..., None]) -> None:
        inner = getattr(owner, name)

        def counted(*arguments: Any, **named: Any) -> Any:
            begun = time.thread_time()
            found = inner(*arguments, **named)
            count(found, time.thread_time() - begun, *arguments)
            return found

        setattr(owner, name, counted)

    def _asked(self, kind: str, seconds: float, size: int) -> str:
        name = f"{kind}, {asking()}"
        self.calls[name] += 1
        self.seconds[name] += seconds
        self.largest[name] = max(size, self.largest.get(name, 0))
        return name

    def _cp_sat(self, status: Any, seconds: float, solver: Any, model: Any, *_: Any) -> None:
        name = self._asked("CP-SAT", seconds, len(model.proto.variables))
        self.unknown[name] += status == cp_model.UNKNOWN

    def _glop(self, status: Any, seconds: float, program: Any, *_: Any) -> None:
        name = self._asked("GLOP", seconds, program.NumVariables())
        self.unknown[name] += status != program.OPTIMAL

    def _chosen(self, *_: Any) -> None:
        self.placements["choose.py"] += 1

    def _bounded(self, *_: Any) -> None:
        self.placements["caps or uneven blocks: choose.py, else CP-SAT"] += 1


def asking() -> str:
    """Return the module of the solver that asked, whichever thread it asked in."""
    frames = [inspect.currentframe(), *CALLERS]
    for frame in frames:
        while frame is not None:
            name = frame.f_globals.get("__name__", "")
            inside = name.removeprefix("slotwise.solver.")
            if name.startswith("slotwise.solver.") and inside != "optimal.backends":
                return inside
            frame = frame.f_back
    return "?"


#: Frames that wait for a model in a thread of its own.
CALLERS: list[Any] = []


def remember_callers(name: str = "_in_thread") -> None:
    """Let :func:`asking` see who called `backends.run`, which solves in a thread of its own."""
    inner = getattr(backends, name)

    def waiting(*arguments: Any) -> Any:
        CALLERS.append(inspect.currentframe())
        try:
            return inner(*arguments)
        finally:
            CALLERS.pop()

    setattr(backends, name, waiting)


def instances(options: argparse.Namespace) -> Iterator[tuple[str, list[Instance]]]:
    """Yield the examples of at most 50 hosts and 20 jobs, and the contested queues."""
    found = [sw.load(sw.example(name)) for name in sw.examples()]
    small = [i for i in found if len(i.cluster.hosts) <= 50 and len(i.pending) <= 20]
    yield f"{len(small)} examples", [i for i in small if i.params.family != "Slurm"]
    size = {"hosts": options.hosts, "running": 5 * options.hosts, "pending": options.pending}
    yield (
        f"{len(options.seeds)} contested queues",
        [generate(**size, load=0.98, seed=seed) for seed in options.seeds],
    )


def main() -> None:
    """Count and print a table for each draw and question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--effort", type=float, default=20)
    parser.add_argument("--hosts", type=int, default=64)
    parser.add_argument("--pending", type=int, default=20)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    options = parser.parse_args()
    calls = Calls()
    remember_callers()
    for name, drawn in instances(options):
        for method, objective in QUESTIONS:
            for each in (calls.calls, calls.unknown, calls.seconds, calls.placements):
                each.clear()
            calls.largest.clear()
            begun, jobs, proved = time.process_time(), 0, 0
            for instance in drawn:
                found = plan(instance, method, objective=objective, effort=options.effort)
                jobs += len(found.reservations)
                proved += sum(item.proved for item in found)
            spent = time.process_time() - begun
            print(f"{name}, {method} {objective}: {jobs} jobs, {proved} proved, {spent:.1f} s")
            for asked, number in calls.calls.most_common():
                print(
                    f"  {number:6} {asked}: {calls.unknown[asked]} UNKNOWN, at most "
                    f"{calls.largest[asked]} variables, {calls.seconds[asked]:.2f} s"
                )
            for who, number in calls.placements.most_common():
                print(f"  {number:6} placements of a term, {who}")


if __name__ == "__main__":
    main()
