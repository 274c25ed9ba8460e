"""Total start of real queue snapshots: ours beside a plain CP-SAT model and, if present, PyJobShop.

    python benchmarks/snapshots.py FOLDER [--seconds 15] [--only NAME ...] [--no-peers]
    python benchmarks/snapshots.py LOG ... --cut 60 [--seed 1] [--half report] [--lengths 46 54]
    python benchmarks/snapshots.py ... --processor [--seconds 15]

FOLDER holds snapshots as `slotwise import pool` reads them; with --cut, queues are cut out of SWF
logs at random moments: one half is for choosing, the other for reporting. At the end, gaps by the
length of the queue, and how busy the machine was. Each method has the same wall time on the same
machine, one after the other; the values are sums of starts in seconds after now. The plain model is
one cumulative over seconds with the best of three priority orders as a hint. PyJobShop is left out
where it is not installed (benchmarks/requirements.txt). With --processor the seconds are of the
processor, for the process that proves, and only ours is measured: a busy machine makes little
difference then; what both processes had is printed at the end.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import numpy as np
from processor_limit import processor_limit
from queue_cuts import LENGTHS
from queue_sources import parser_of_queues, pool_problem, queues_of
from slotwise.model.instance import Instance
from slotwise.model.plan import Plan
from slotwise.solver.optimal.pool import PoolProblem
from slotwise.solver.optimal.pool.problem import Decoder, rule_order
from slotwise.solver.planning import plan

Answer = tuple[int, float]
#: Seconds of the clock that no limit in seconds of the processor comes to.
AGES = 1e6


def main() -> None:
    """Measure and print the tables."""
    parser = parser_of_queues(__doc__)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--processor", action="store_true", help="seconds of the processor")
    options = parser.parse_args()
    peers_head = "plain CP-SAT | its bound | PyJobShop | its bound"
    print(f"| snapshot | time-based | ours | bound | gap % | {peers_head} |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    gaps: list[tuple[int, float]] = []
    loads = []
    used = []
    for name, instance in queues_of(options):
        loads.append(os.getloadavg()[0])
        timed = plan(instance, "time-based").value
        before = _processor()
        ours = _ours(instance, options.seconds, processor=options.processor)
        pairs = zip(_processor(), before, strict=True)
        used.append([after - then for after, then in pairs])
        assert ours.value is not None
        assert ours.bound is not None
        gap = 100 * (ours.value - ours.bound) / max(1.0, ours.value)
        gaps.append((len(instance.pending), gap))
        peers: list[Answer | None] = [None, None]
        if not (options.no_peers or options.processor):
            pool = pool_problem(instance)
            peers = [plain_cp_sat(pool, options.seconds), pyjobshop_model(pool, options.seconds)]
        cells = [f"{a[0]} | {a[1]:.0f}" if a is not None else "- | -" for a in peers]
        print(
            f"| {name} | {timed:.0f} | {ours.value:.0f} | {ours.bound:.0f} | {gap:.2f} | "
            + " | ".join(cells)
            + " |",
            flush=True,
        )
    _summary(gaps, loads)
    if gaps and options.processor:
        own, beside = (sum(times) / len(used) for times in zip(*used, strict=True))
        print(f"Seconds of the processor a queue: {own:.1f} of this process, {beside:.1f} beside.")


def _processor() -> tuple[float, float]:
    """Seconds of the processor so far: of this process, and of those that it has ended."""
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system


def _ours(instance: Instance, seconds: float, *, processor: bool) -> Plan:
    """The plan after so many seconds, of the clock or of the processor."""
    if not processor:
        return plan(instance, objective="total-start", time_limit=seconds)
    with processor_limit(seconds) as over:
        return plan(instance, objective="total-start", time_limit=AGES, cancel=over)


def _summary(gaps: list[tuple[int, float]], loads: list[float]) -> None:
    """Gaps by the length of the queue, and the load averages (1 min) met before each queue."""
    print("\n| jobs waiting | queues | proved | mean gap % | worst % |\n|---|---:|---:|---:|---:|")
    for shortest, longest in (*LENGTHS, (0, 10**9)):
        found = [gap for count, gap in gaps if shortest <= count <= longest]
        if found:
            name = f"{shortest} to {longest}" if shortest else "all"
            proved = sum(gap <= 0 for gap in found)
            mean = sum(found) / len(found)
            print(f"| {name} | {len(found)} | {proved} | {mean:.2f} | {max(found):.2f} |")
    if loads:
        mean = sum(loads) / len(loads)
        print(f"\nLoad of the machine: {mean:.1f} on average, on {os.cpu_count()} processors.")


def _blocks(pool: PoolProblem, end: int) -> list[tuple[int, int, int]]:
    """Fixed (begin, length, size) blocks that shape the free capacity."""
    most = int(pool.free.max())
    limits = [*pool.times.tolist(), end]
    return [
        (begin, until - begin, most - int(free))
        for begin, until, free in zip(limits, limits[1:], pool.free.tolist(), strict=False)
        if most > free and until > begin
    ]


def _best_rule(pool: PoolProblem) -> np.ndarray:
    plans = [
        Decoder(pool).plan(rule_order(pool, rule))
        for rule in ("first-come", "shortest", "smallest-area")
    ]
    return min(plans, key=pool.value)


def plain_cp_sat(pool: PoolProblem, seconds: float) -> Answer:
    """One cumulative over seconds, hint from the best of three orders."""
    from ortools.sat.python import cp_model

    hint = _best_rule(pool)
    horizon = int(pool.times[-1] + pool.durations.sum())
    model = cp_model.CpModel()
    starts = [model.new_int_var(0, horizon, "") for _ in range(len(pool))]
    intervals = [
        model.new_fixed_size_interval_var(start, int(length), "")
        for start, length in zip(starts, pool.durations, strict=True)
    ]
    sizes = [int(size) for size in pool.sizes]
    for begin, length, size in _blocks(pool, horizon):
        intervals.append(model.new_fixed_size_interval_var(begin, length, ""))
        sizes.append(size)
    model.add_cumulative(intervals, sizes, int(pool.free.max()))
    model.minimize(sum(starts))
    for start, time in zip(starts, hint.tolist(), strict=True):
        model.add_hint(start, time)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 2
    status = solver.solve(model)
    known = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    value = int(solver.objective_value) if known else pool.value(hint)
    return value, solver.best_objective_bound


def pyjobshop_model(pool: PoolProblem, seconds: float) -> Answer | None:
    """The same problem as a PyJobShop model, warm-started by nothing, as its users would."""
    if importlib.util.find_spec("pyjobshop") is None:
        return None
    import pyjobshop

    model: Any = pyjobshop.Model()
    renewable = model.add_renewable(capacity=int(pool.free.max()))
    horizon = int(pool.times[-1] + pool.durations.sum())
    for size, length in zip(pool.sizes.tolist(), pool.durations.tolist(), strict=True):
        job = model.add_job(weight=1, due_date=length)
        task = model.add_task(job=job)
        model.add_mode(task, [renewable], length, [size])
    for begin, length, size in _blocks(pool, horizon):
        job = model.add_job(weight=0, due_date=horizon)
        task = model.add_task(job=job, earliest_start=begin, latest_start=begin)
        model.add_mode(task, [renewable], length, [size])
    model.set_objective(weight_total_tardiness=1)
    result = model.solve(time_limit=seconds, num_workers=2, display=False)
    return int(result.objective), float(result.lower_bound)


if __name__ == "__main__":
    main()
