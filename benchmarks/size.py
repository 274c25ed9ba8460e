"""How loading, checking, generating and time-based planning grow with the size of a cluster.

    python benchmarks/size.py [--hosts 2500 5000 10000] [--format json]
    python benchmarks/size.py --growth [--hosts 1000] [--steps read]
    python benchmarks/size.py --limit 20 50000 200000 5000 [--method optimal] [--processor]

For each number of hosts: four running jobs and a tenth of a pending one a host, seconds of CPU
and the peak memory (MB) of a process of its own for each step, and the exponent of the growth in
hosts times pending jobs from one size to the next. --format: of the file that is read.
With --growth: reading from JSON, and the cycle of the time-based method alone on hosts without a
free slot, with the exponents of their growth in hosts, running and pending jobs, the others as
they are. --steps: one of the two.
With --limit SECONDS HOSTS RUNNING PENDING: one plan under a time limit, and how long it really
took; --method: the planning method. --processor: by seconds of the processor instead of the wall,
for a machine that has other work too.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slotwise.model.plan import Method

STEPS = ("generate", "load", "check", "time-based")


def measure(step: str, path: Path, hosts: int, running: int, pending: int) -> tuple[float, float]:
    """CPU seconds of a step and peak MB, in a process of its own."""
    command = [sys.executable, __file__, "--step", step, str(path)]
    sizes = [str(hosts), str(running), str(pending)]
    done = subprocess.run([*command, *sizes], check=True, capture_output=True, text=True)
    seconds, megabytes = done.stdout.split()
    return float(seconds), float(megabytes)


def one_step(step: str, path: Path, hosts: int, running: int, pending: int) -> None:
    """Do a step and print its CPU seconds and the peak MB of this process."""
    import slotwise as sw
    from slotwise.cli.check import check
    from slotwise.model.formats import to_document
    from slotwise.model.generate import generate

    instance = None if step in ("generate", "load", "check") else sw.load(path)
    begun = time.process_time()
    if step == "generate":
        made = generate(hosts=hosts, running=running, pending=pending)
        taken = time.process_time() - begun
        text = sw.dump(made) if path.suffix == ".yaml" else json.dumps(to_document(made))
        path.write_text(text, encoding="utf-8")
    else:
        if step == "load":
            sw.load(path)
        elif step == "check":
            with contextlib.redirect_stdout(io.StringIO()):
                check([path])
        else:
            assert instance is not None
            sw.plan(instance, "time-based")
        taken = time.process_time() - begun
    print(taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def table(
    folder: Path, sizes: Sequence[tuple[int, int, int]], steps: Sequence[str], kind: str
) -> None:
    """One line a size; behind the seconds the exponent of the growth in hosts times pending."""
    print("   hosts   running  pending  " + "  ".join(f"{step:>22}" for step in steps))
    before: dict[str, tuple[float, int]] = {}
    for hosts, running, pending in sizes:
        path = folder / f"{hosts}-{pending}.{kind}"
        cells = []
        for step in STEPS:
            if step not in steps and (step != "generate" or path.exists()):
                continue
            seconds, megabytes = measure(step, path, hosts, running, pending)
            grown = ""
            if step in before:
                last, size = before[step]
                by = math.log(hosts * pending / size)
                grown = f"^{math.log(max(seconds, 1e-3) / max(last, 1e-3)) / by:.2f}"
            before[step] = seconds, hosts * pending
            if step in steps:
                cells.append(f"{seconds:7.2f} s{megabytes:5.0f} MB{grown:>6}")
        print(f"{hosts:8,} {running:9,} {pending:8,}  " + "  ".join(f"{c:>22}" for c in cells))
        sys.stdout.flush()


def growth(hosts: int, steps: Sequence[str]) -> None:
    """Exponents of the growth in each number alone; hosts: at first, with four jobs each."""
    running, pending = 4 * hosts, hosts // 4
    for name, sizes in (
        ("pending jobs", [(hosts, running, n * pending) for n in (1, 2, 4)]),
        ("running jobs", [(hosts, n * running // 2, pending) for n in (1, 2, 4)]),
        ("hosts", [(n * hosts, 4 * running, pending) for n in (1, 2, 4)]),
    ):
        print(f"{name} alone\n   hosts   running  pending")
        before: dict[str, float] = {}
        for size in sizes:
            cells = []
            for step in steps:
                seconds, says = one_cycle(*size) if step == "cycle" else one_reading(*size)
                grown = math.log2(seconds / before[step]) if step in before else None
                exponent = "" if grown is None else f"^{grown:.2f}"
                before[step] = seconds
                cells.append(f"{step} {seconds:6.2f} s{says} {exponent:6}")
            print(f"{size[0]:8,} {size[1]:9,} {size[2]:8,}  " + "  ".join(cells))
            sys.stdout.flush()


def one_reading(hosts: int, running: int, pending: int) -> tuple[float, str]:
    """CPU seconds of reading an instance from JSON, the least of three."""
    from slotwise.model.formats import dump_json, loads
    from slotwise.model.generate import generate

    text = dump_json(generate(hosts=hosts, running=running, pending=pending, load=1.0))
    taken = []
    for _ in range(3):
        begun = time.process_time()
        loads(text, format="json")
        taken.append(time.process_time() - begun)
    return min(taken), ""


def one_cycle(hosts: int, running: int, pending: int) -> tuple[float, str]:
    """CPU seconds of the cycle that plans all pending jobs, and how many start later than now."""
    from slotwise.model.generate import generate
    from slotwise.solver.scheduler.next_cycle import plan_next_cycle

    instance = generate(hosts=hosts, running=running, pending=pending, load=1.0)
    begun = time.process_time()
    plan = plan_next_cycle(instance, "time-based")
    taken = time.process_time() - begun
    ahead = sum(item.start is not None and item.start > plan.now for item in plan)
    return taken, f" ({ahead:,} jobs planned ahead)"


def under_a_limit(
    method: Method, clock: Callable[[], float], limit: float, hosts: int, running: int, pending: int
) -> None:
    """One plan of a large cluster under a time limit that is counted by the clock."""
    from slotwise.model.generate import generate
    from slotwise.solver import planning

    planning.Budget = partial(planning.Budget, clock=clock)  # type: ignore[misc, assignment]
    instance = generate(hosts=hosts, running=running, pending=pending)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    begun = clock()
    found = planning.plan(instance, method, time_limit=limit)
    taken = clock() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    ahead = sum(item.start is not None for item in found)
    size = f"{hosts:,} hosts x {running:,} running x {pending:,} pending"
    print(f"{size}, {method}, --time-limit {limit:g}:")
    print(f"  {taken:.1f} s, {peak:.0f} MB ({held:.0f} MB of them the instance)")
    print(f"  {ahead} jobs with a start, {len(found.reservations) - ahead} not; cut: {found.cut}")
    for note in found.notes:
        print(f"  {note}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, nargs="+", default=[2500, 5000, 10000])
    parser.add_argument("--format", choices=["yaml", "json"], default="yaml")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--steps", nargs="+", choices=["read", "cycle"], default=["read", "cycle"])
    parser.add_argument("--limit", type=float, nargs=4)
    parser.add_argument("--method", default="time-based")
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--step", nargs=5)
    given = parser.parse_args()
    if given.step:
        step, path, *sizes = given.step
        one_step(step, Path(path), *map(int, sizes))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.limit:
            limit, *sizes = given.limit
            clock = time.process_time if given.processor else time.monotonic
            under_a_limit(given.method, clock, limit, *map(int, sizes))
            return
        if given.growth:
            growth(given.hosts[0], given.steps)
            return
        print("hosts, running and pending jobs together")
        table(folder, [(n, 4 * n, n // 10) for n in given.hosts], STEPS, given.format)


if __name__ == "__main__":
    main()
