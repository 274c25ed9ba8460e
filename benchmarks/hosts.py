"""Total start on contested host queues: ours beside a plain CP-SAT model and PyJobShop.

    python benchmarks/hosts.py [--classes a b c d] [--times coarse odd] [--seeds 1000 1001]
                               [--seconds 5 15 15 15] [--no-peers]

Class a has 4 to 6 hosts and 8 to 12 jobs, b 16 hosts and 20 to 30 jobs, c 50 hosts and 50 jobs, d
200 hosts and 50 jobs; --seconds are of the clock, one for each class. Times are whole ten minutes;
where they are odd, running jobs end at any second. Each method has the same seconds and two
workers, one after the other; the peers' time step is the greatest common divisor of all times.
Every plan of ours and of the plain model passes the judge. PyJobShop is left out where it is not
installed and in classes c and d, whose jobs have too many modes.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import math
import os
import random
import re
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import slotwise as sw

SLOTS, MEMORY, LICENCES, MEGABYTES = 8, 1000, 2, ((0, 600, 600), (600, 6000, 200))
#: Hosts, jobs and hosts of a compute unit, by class.
CLASSES = {
    "a": ((4, 6), (8, 12), 2),
    "b": ((16,), (20, 30), 4),
    "c": ((50,), (50, 50), 10),
    "d": ((200,), (50, 50), 16),
}
KINDS = ("one", "one", "ptile4", "ptile8", "block", "plain", "maxcus", "excl", "x", "mem", "lic")
#: Modes of a job beyond which PyJobShop gets one task for each block instead.
MAX_MODES = 200


class Answer(NamedTuple):
    """Total start and lower bound of one method, in seconds; None where there is none."""

    value: float | None
    bound: float

    @property
    def gap(self) -> float:
        if self.value is None:
            return 100.0
        return 100 * (self.value - self.bound) / max(1.0, self.value)


@dataclass(frozen=True)
class Ask:
    """Request of one job: blocks of slots, times in seconds."""

    job: str
    user: str
    slots: int
    length: int
    #: Slots of one block; each host has at most one block, or several if `many`.
    block: int
    many: bool
    one_unit: bool
    excl: bool
    whole: bool
    memory: bool
    licence: bool

    @property
    def count(self) -> int:
        return self.slots // self.block

    @property
    def phases(self) -> list[tuple[int, int, int]]:
        cut = [(begin, min(end, self.length), mb) for begin, end, mb in MEGABYTES if self.memory]
        return [phase for phase in cut if phase[0] < phase[1]]


def host_queue(kind: str, seed: int, *, odd: bool) -> dict[str, Any]:
    """One instance document of a class, the same for the same arguments."""
    rng = random.Random(f"{kind}{seed}")
    hosts = rng.choice(CLASSES[kind][0])
    jobs, per = rng.randint(*CLASSES[kind][1]), CLASSES[kind][2]
    names = [f"h{number}" for number in range(hosts)]
    running, pending = [], []
    for number, name in enumerate(names):
        if rng.random() < 0.9:
            length, slots = 600 * rng.randint(1, 12), rng.randint(2, SLOTS)
            job = {"id": f"r{number}", "user": "zed", "start": 0, "run_limit": length}
            running.append({**job, "allocation": f"{slots}*{name}"})
    for number in range(jobs):
        form, length = rng.choice(KINDS), rng.choice([20, 30, 60, 90, 120, 240])
        few = min(hosts, rng.randint(max(1, hosts // 8), hosts // 2 + (2 if hosts < 10 else 0)))
        slots, text = {
            "one": (rng.choice([5, 7, 8]), "-R 'span[hosts=1]'"),
            "ptile4": (4 * few, "-R 'span[ptile=4]'"),
            "ptile8": (8 * few, "-R 'span[ptile=8]'"),
            "block": (4 * few, "-R 'span[block=4]'"),
            "plain": (5 * few, ""),
            "maxcus": (4 * min(per, few + 1), "-R 'span[ptile=4] cu[maxcus=1]'"),
            "excl": (4 * min(per, few), "-R 'span[ptile=4] cu[maxcus=1:excl]'"),
            "x": (8 * few, "-x -R 'span[ptile=8]'"),
            "mem": (
                rng.choice([2, 4]),
                "-R 'span[hosts=1] rusage[mem=(600 200):duration=(10m 90m)]'",
            ),
            "lic": (rng.choice([1, 4]), "-R 'span[hosts=1] rusage[lic=1]'"),
        }[form]
        user = rng.choice(["bob", "cy"] + ["ann"] * (slots <= 4 * hosts))
        bsub = f"-n {slots} -W {length} {text}".strip()
        pending.append({"id": str(number), "user": user, "bsub": bsub})
    if odd:
        shift = random.Random(seed)
        for job in running:
            job["run_limit"] += shift.randint(1, 599)
    units = range(0, hosts, per)
    return {
        "format": "slotwise/1",
        "params": {"COMPUTE_UNIT_TYPES": "enclosure!"},
        "queues": [{"name": "normal", "EXCLUSIVE": "CU[enclosure]"}],
        "hosts": [{"name": name, "slots": SLOTS, "mem": MEMORY} for name in names],
        "shared_resources": [{"name": "lic", "amount": LICENCES}],
        "limits": [{"name": "ann", "USERS": "ann", "SLOTS": 4 * hosts}],
        "compute_units": [
            {"name": f"c{at // per}", "type": "enclosure", "members": names[at : at + per]}
            for at in units
        ],
        "running": running,
        "pending": pending,
    }


class Queue:
    """A document of :func:`host_queue` as plain numbers, in steps of the time grid."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.names = [host["name"] for host in document["hosts"]]
        self.limit = document["limits"][0]["SLOTS"]
        at = {name: number for number, name in enumerate(self.names)}
        self.units = [[at[name] for name in u["members"]] for u in document["compute_units"]]
        self.asks = [self._ask(job) for job in document["pending"]]
        self.running = []
        for job in document["running"]:
            slots, name = job["allocation"].split("*")
            self.running.append((at[name], int(slots), job["run_limit"]))
        ends = [end for _, _, end in self.running]
        phases = [time for ask in self.asks for phase in ask.phases for time in phase[:2]]
        self.step = math.gcd(*ends, *(ask.length for ask in self.asks), *phases)
        self.horizon = (max(ends, default=0) + sum(ask.length for ask in self.asks)) // self.step

    @staticmethod
    def _ask(job: dict[str, Any]) -> Ask:
        text = job["bsub"]
        slots, minutes = (int(re.search(rf"-{name} (\d+)", text)[1]) for name in "nW")  # type: ignore[index]
        sizes = [int(size) for size in re.findall(r"(?:ptile|block)=(\d+)", text)]
        block = slots if "hosts=1" in text else sizes[0] if sizes else 1
        one_unit, excl = "maxcus=1" in text, "excl" in text
        many, whole = "block=" in text or (block == 1 and "hosts=1" not in text), "-x " in text
        memory, licence = "mem=" in text, "lic=" in text
        return Ask(
            job["id"], job["user"], slots, 60 * minutes, block, many, one_unit, excl, whole, memory,
            licence,
        )  # fmt: skip


def plain_cp_sat(
    queue: Queue, instance: sw.Instance, warm: sw.Plan, seconds: float
) -> tuple[Answer, sw.Plan | None]:
    """One optional interval for each job and host, with the time-based plan as a hint."""
    from ortools.sat.python import cp_model

    begun, step, model = time.monotonic(), queue.step, cp_model.CpModel()
    blocks: dict[Any, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))

    def put(key: Any, interval: Any, amount: Any) -> None:
        blocks[key][0].append(interval)
        blocks[key][1].append(amount)

    for host, slots, end in queue.running:
        interval = model.new_fixed_size_interval_var(0, end // step, "")
        put(host, interval, slots)
        put("all", interval, slots)
    starts, places = [], []
    known = {item.job: item for item in warm}
    for ask in queue.asks:
        start, length = model.new_int_var(0, queue.horizon, ""), ask.length // step
        used, counts = {}, {}
        for host, name in enumerate(queue.names):
            used[host] = model.new_bool_var("")
            counts[host] = model.new_int_var(0, SLOTS // ask.block if ask.many else 1, "")
            model.add(counts[host] >= 1).only_enforce_if(used[host])
            model.add(counts[host] == 0).only_enforce_if(~used[host])
            there = model.new_optional_fixed_size_interval_var(start, length, used[host], "")
            if not ask.excl:
                put(host, there, SLOTS if ask.whole else ask.block * counts[host])
            for begin, end, amount in ask.phases:
                piece = (start + begin // step, (end - begin) // step, used[host], "")
                put(("mem", host), model.new_optional_fixed_size_interval_var(*piece), amount)
            model.add_hint(used[host], name in (known[ask.job].allocation or ()))
        if ask.one_unit:
            units = [model.new_bool_var("") for _ in queue.units]
            model.add_exactly_one(units)
            for unit, hosts in zip(units, queue.units, strict=True):
                there = model.new_optional_fixed_size_interval_var(start, length, unit, "")
                for host in hosts:
                    model.add_implication(used[host], unit)
                    if ask.excl:
                        put(host, there, SLOTS)
        model.add(sum(counts.values()) == ask.count)
        interval = model.new_fixed_size_interval_var(start, length, "")
        put("all", interval, SLOTS * ask.count if ask.whole else ask.slots)
        if ask.licence:
            put("lic", interval, 1)
        if ask.user == "ann":
            put("ann", interval, ask.slots)
        model.add_hint(start, -(-(known[ask.job].start or 0) // step))
        starts.append(start)
        places.append((ask, counts))
    capacity = {"all": SLOTS * len(queue.names), "lic": LICENCES, "ann": queue.limit}
    for key, (intervals, amounts) in blocks.items():
        most = capacity.get(key, SLOTS) if not isinstance(key, tuple) else MEMORY
        model.add_cumulative(intervals, amounts, most)
    model.minimize(sum(starts))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 2
    solver.parameters.max_time_in_seconds = max(0.1, seconds - (time.monotonic() - begun))
    status = solver.solve(model)
    bound = step * solver.best_objective_bound
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Answer(None, bound), None
    found = []
    for start, (ask, counts) in zip(starts, places, strict=True):
        hosts = {
            name: ask.block * solver.value(counts[host])
            for host, name in enumerate(queue.names)
            if solver.value(counts[host])
        }
        item, begin = known[ask.job], step * solver.value(start)
        found.append(
            replace(
                item, start=begin, finish=begin + ask.length, allocation=hosts, terms=(),
                proved=False, bound=None, exact_fit="", waits_for="",
            )
        )  # fmt: skip
    made = replace(warm, reservations=tuple(found), status="heuristic", value=None, bound=None)
    return Answer(step * solver.objective_value, bound), made


def pyjobshop_model(queue: Queue, seconds: float) -> Answer | None:
    """The same queue as a PyJobShop model: modes of whole jobs, or a task for each block."""
    if importlib.util.find_spec("pyjobshop") is None or len(queue.names) > 16:
        return None
    import pyjobshop

    begun, step, model = time.monotonic(), queue.step, pyjobshop.Model()
    slots = [model.add_renewable(SLOTS) for _ in queue.names]
    memory = [model.add_renewable(MEMORY) for _ in queue.names]
    licences, ann = model.add_renewable(LICENCES), model.add_renewable(queue.limit)
    for host, amount, end in queue.running:
        job = model.add_job(weight=0, due_date=queue.horizon)
        task = model.add_task(job=job, earliest_start=0, latest_start=0)
        model.add_mode(task, [slots[host]], end // step, [amount])
    for ask in queue.asks:
        length = ask.length // step
        job = model.add_job(weight=1, due_date=length)
        held = SLOTS if ask.whole or ask.excl else ask.block
        tasks = []
        for choices in _choices(ask, queue):
            task = model.add_task(job=job)
            for hosts in choices:
                resources, amounts = [slots[host] for host in hosts], [held] * len(hosts)
                if ask.memory:
                    resources, amounts = [*resources, memory[hosts[0]]], [*amounts, 0]
                model.add_mode(task, resources, length, amounts)
            tasks.append(task)
        if not ask.many:
            for one, other in itertools.combinations(tasks, 2):
                model.add_different_resources(one, other)
        shared = [(licences, 1)] * ask.licence + [(ann, ask.slots)] * (ask.user == "ann")
        if shared:
            tasks.append(model.add_task(job=job))
            resources, amounts = zip(*shared, strict=True)
            model.add_mode(tasks[-1], list(resources), length, list(amounts))
        for begin, end, amount in ask.phases:
            piece = model.add_task(job=job)
            for host in range(len(queue.names)):
                both = [slots[host], memory[host]]
                model.add_mode(piece, both, (end - begin) // step, [0, amount])
            model.add_identical_resources(tasks[0], piece)
            model.add_start_before_start(tasks[0], piece, begin // step)
            model.add_start_before_start(piece, tasks[0], -(begin // step))
        for one, other in itertools.pairwise(tasks):
            model.add_start_before_start(one, other)
            model.add_start_before_start(other, one)
    model.set_objective(weight_total_tardiness=1)
    left = seconds - (time.monotonic() - begun)
    if left <= 0:
        return Answer(None, 0.0)
    result = model.solve(time_limit=left, num_workers=2, display=False)
    value = step * result.objective if math.isfinite(result.objective) else None
    return Answer(value, step * result.lower_bound)


def _choices(ask: Ask, queue: Queue) -> list[list[tuple[int, ...]]]:
    """The host sets of one task, or of a task for each block."""
    everywhere = range(len(queue.names))
    if ask.excl:
        return [[tuple(hosts) for hosts in queue.units]]
    if ask.one_unit:
        return [[part for unit in queue.units for part in itertools.combinations(unit, ask.count)]]
    if not ask.many and math.comb(len(queue.names), ask.count) <= MAX_MODES:
        return [list(itertools.combinations(everywhere, ask.count))]
    return [[(host,) for host in everywhere]] * ask.count


def ours(instance: sw.Instance, seconds: float) -> tuple[Answer, sw.Plan]:
    """The plan of the optimal method with two workers."""
    found = sw.plan(instance, "optimal", objective="total-start", time_limit=seconds, workers=2)
    return Answer(found.value, found.bound or 0.0), found


def compare(kind: str, seed: int, seconds: float, *, odd: bool, peers: bool) -> list[Answer | None]:
    """Ours, the plain model and PyJobShop on one queue."""
    document = host_queue(kind, seed, odd=odd)
    instance, queue = sw.loads(json.dumps(document)), Queue(document)
    warm = sw.plan(instance, "time-based")
    plain: Answer | None = None
    other: Answer | None = None
    if peers:
        plain, made = plain_cp_sat(queue, instance, warm, seconds)
        assert made is None or sw.validate(instance, made) == []
        other = pyjobshop_model(queue, seconds)
    own, found = ours(instance, seconds)
    assert sw.validate(instance, found) == []
    return [own, plain, other]


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", nargs="*", default=list(CLASSES), choices=CLASSES)
    parser.add_argument("--times", nargs="*", default=["coarse", "odd"], choices=["coarse", "odd"])
    parser.add_argument("--seeds", type=int, nargs="*", default=list(range(1000, 1010)))
    parser.add_argument("--seconds", type=float, nargs="*", default=[5, 15, 15, 15])
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    print("| queue | ours | bound | gap % | plain CP-SAT | its bound | PyJobShop | its bound |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    summary = []
    loads = []
    for number, kind in enumerate(options.classes):
        seconds = options.seconds[min(number, len(options.seconds) - 1)]
        for times in options.times:
            rows = []
            for seed in options.seeds:
                loads.append(os.getloadavg()[0])
                row = compare(kind, seed, seconds, odd=times == "odd", peers=not options.no_peers)
                rows.append(row)
                cells = [
                    f"{'-' if answer is None or answer.value is None else f'{answer.value:.0f}'} | "
                    f"{'-' if answer is None else f'{answer.bound:.0f}'}"
                    for answer in row
                ]
                cells[0] += f" | {row[0].gap:.1f}"  # type: ignore[union-attr]
                print(f"| {kind}{seed} {times} | " + " | ".join(cells) + " |", flush=True)
            summary.append(_summary(kind, times, seconds, rows))
    print("\n| class | times | seconds | queues | proved: ours / plain / PyJobShop |", end="")
    print(" mean gap % of each | worse than a peer: plan / bound / proof |")
    print("|---|---|---:|---:|---:|---:|---:|")
    print("\n".join(summary))
    print(f"\nLoad: {sum(loads) / len(loads):.1f} on average, on {os.cpu_count()} processors.")


def _summary(kind: str, times: str, seconds: float, rows: list[list[Answer | None]]) -> str:
    """One line of the closing table; a bound above another's plan would be a false one."""
    proved, gaps = [], []
    for column in zip(*rows, strict=True):
        found = [answer for answer in column if answer is not None]
        proved.append(str(sum(answer.gap <= 0 for answer in found)) if found else "-")
        mean = sum(answer.gap for answer in found) / max(1, len(found))
        gaps.append(f"{mean:.1f}" if found else "-")
    worse = [0, 0, 0]
    for own, *others in rows:
        known = [answer for answer in others if answer is not None]
        assert own is not None
        assert own.value is not None
        values = [answer.value for answer in known if answer.value is not None]
        assert all(own.bound <= value + 1e-6 for value in values)
        worse[0] += any(value < own.value - 1e-6 for value in values)
        worse[1] += any(answer.bound > own.bound + 1e-6 for answer in known)
        worse[2] += own.gap > 0 and any(answer.gap <= 0 for answer in known)
    return (
        f"| {kind} | {times} | {seconds:.0f} | {len(rows)} | {' / '.join(proved)} | "
        f"{' / '.join(gaps)} | {' / '.join(map(str, worse))} |"
    )


if __name__ == "__main__":
    main()
