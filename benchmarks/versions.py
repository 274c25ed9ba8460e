"""This version of the optimal method beside that of another checkout, on the same cases.

    python benchmarks/versions.py CHECKOUT pools LOG ... --cut 60 [--half choose] [--seconds 15]
    python benchmarks/versions.py CHECKOUT pools FOLDER
    python benchmarks/versions.py CHECKOUT hard [--seeds 1 2 3] [--seconds 15]
    python benchmarks/versions.py CHECKOUT KIND [--half choose|report] [--cases 15] [--effort 6]

CHECKOUT is a folder with another version, such as `git worktree add CHECKOUT COMMIT` makes. KIND is
hosts, long, lexicographic or racks, as in ablation.py. For a pool, each version has so many seconds
of the processor for a plan, from that of the best rule, and so many for a bound, both from the plan
of this version: two processes at work do that. A queue of at most 30 jobs has 2 seconds for the
plan. With --side bounds the other makes no plan. For a cluster each has a deterministic effort.
Bounds and differences are in % of this version's value.

The last line has the means: "best of both" is what a perfect choice between the versions, each with
all the seconds, would gain: no tactic that one of them lacks can gain more.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ablation import EFFORT, HALF, cases_of, objective_of
from hard_pools import hard_pool
from queue_cuts import LENGTHS
from queue_sources import add_options, pool_problem, queues_of
from slotwise.model.formats.encode import dump_json
from slotwise.solver.optimal.pool import PoolProblem

ROOT = Path(__file__).resolve().parents[1]
WORKER = Path(__file__).with_name("one_version.py")
#: Queues of at most so many jobs, and the seconds of their plans.
SHORT, SHORT_PLAN = LENGTHS[0][1], 2.0
KINDS = ("pools", "hard", "lexicographic", "racks", "hosts", "long")

Answer = Mapping[str, Any]


def answer(checkout: Path, **task: Any) -> Answer:
    """Return what one version answers to a task, in a process of its own."""
    command = [sys.executable, str(WORKER), str(checkout)]
    done = subprocess.run(command, input=json.dumps(task), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{checkout}: {done.stderr.strip().splitlines()[-1]}")
    found: Answer = json.loads(done.stdout)
    return found


def pool_answers(
    pool: PoolProblem, checkouts: tuple[Path, Path], options: argparse.Namespace
) -> list[Answer]:
    """Return plan and bound of each version. Bounds are for the plan of this version."""
    rows = (pool.times, pool.free, pool.sizes, pool.durations)
    given = dict(zip(("times", "free", "sizes", "lengths"), map(_numbers, rows), strict=True))
    for_plan = SHORT_PLAN if len(pool) <= SHORT else options.plan_seconds
    plans = [
        answer(checkout, task="improve", seconds=for_plan, starts=[], **given)
        for checkout in checkouts[: 1 if options.side == "bounds" else 2]
    ]
    if options.side == "plans":
        return [{**plan, "proved": 0} for plan in plans]
    known = {**given, "starts": plans[0]["starts"]}
    found = []
    for checkout, plan in zip(checkouts, [plans[0], plans[-1]], strict=True):
        bound = answer(checkout, task="prove", seconds=options.seconds, **known)
        # A proof may find a better plan as well.
        value = min(plan["value"], bound["value"])
        found.append({**bound, "value": value, "proved": int(bound["bound"] >= bound["value"])})
    return found


def _numbers(values: Any) -> list[int]:
    return [int(value) for value in values]


def pools(options: argparse.Namespace) -> Iterator[tuple[str, PoolProblem]]:
    """Yield the pools to measure."""
    if options.kind == "hard":
        for seed in options.seeds:
            yield f"hard {seed}", hard_pool(seed, 338)
    else:
        for name, instance in queues_of(options):
            yield name, pool_problem(instance)


def answers(options: argparse.Namespace) -> Iterator[tuple[str, Answer, Answer]]:
    """Yield each case with what both versions answer."""
    checkouts = (ROOT, options.checkout.resolve())
    if options.kind in {"pools", "hard"}:
        for name, pool in pools(options):
            if len(pool) > options.longer_than:
                one, two = pool_answers(pool, checkouts, options)
                yield f"{name} ({len(pool)})", one, two
        return
    first = HALF if options.half == "report" else 0
    effort = options.effort or EFFORT[options.kind]
    for name, instance in cases_of(options.kind, first, options.cases):
        task = {"task": "plan", "instance": dump_json(instance), "effort": effort}
        task["objective"] = objective_of(options.kind, name)
        one, two = (answer(checkout, **task) for checkout in checkouts)
        yield name, one, two


def summary(found: list[tuple[Answer, Answer]]) -> Iterator[str]:
    """Yield the means: the other version, and the best of both, against this one."""
    count = len(found)
    for name, best in (("the other", False), ("best of both", True)):
        value = bound = 0.0
        for one, two in found:
            size = max(1.0, one["value"])
            worth = (one["value"] - two["value"]) / size, (two["bound"] - one["bound"]) / size
            gains = [max(0.0, gain) for gain in worth] if best else worth
            value, bound = value + gains[0], bound + gains[1]
        yield f"{name}: value {100 * value / count:+.2f} %, bound {100 * bound / count:+.2f} %"
    one, two = ([pair[side] for pair in found] for side in (0, 1))
    proofs = "/".join(str(sum(item["proved"] for item in items)) for items in (one, two))
    cpu = "/".join(f"{sum(item['cpu'] for item in items):.1f}" for items in (one, two))
    better = sum(two["value"] < one["value"] for one, two in found)
    worse = sum(two["value"] > one["value"] for one, two in found)
    tighter = sum(two["bound"] > one["bound"] for one, two in found)
    looser = sum(two["bound"] < one["bound"] for one, two in found)
    yield f"plans of the other: {better} better, {worse} worse; bounds: {tighter} tighter, "
    yield f"{looser} looser; proofs {proofs}; CPU s {cpu}; {count} cases"


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument(
        "kind", choices=["pools", "hard", "lexicographic", "racks", "hosts", "long"]
    )
    parser.add_argument("sources", type=Path, nargs="*", metavar="FOLDER | LOG ...")
    add_options(parser)
    parser.add_argument("--seconds", type=float, default=15, help="of a bound")
    parser.add_argument("--plan-seconds", type=float, default=15, help="of a plan")
    parser.add_argument("--side", choices=["both", "plans", "bounds"], default="both")
    parser.add_argument("--longer-than", type=int, default=0, metavar="JOBS")
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--cases", type=int, default=15)
    parser.add_argument("--effort", type=float)
    options = parser.parse_args()
    print("| case | value | other % | bound % | other % | proved | CPU s | other |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    found = []
    for name, one, two in answers(options):
        found.append((one, two))
        size = max(1.0, one["value"]) / 100
        print(
            f"| {name} | {one['value']:.0f} | {(two['value'] - one['value']) / size:+.2f} | "
            f"{one['bound'] / size:.2f} | {two['bound'] / size:.2f} | "
            f"{one['proved']}/{two['proved']} | {one['cpu']:.1f} | {two['cpu']:.1f} |",
            flush=True,
        )
    for line in summary(found) if found else ():
        print(line)


if __name__ == "__main__":
    main()
