"""What each tactic and bound of the optimal method earns: cases solved with and without it.

    python benchmarks/ablation.py KIND [--half choose|confirm] [--cases 15]
                                  [--without NAME[+NAME] ...] [--records FILE]

KIND is lexicographic or racks (the same where jobs take whole hosts of identical racks), hosts or
long (total start, 100 jobs on 200 hosts), contested (total start, queues of classes b to d of
benchmarks/hosts.py, one after the other), or pool (one pool of processors).

Every case has a deterministic effort, so that the machine decides nothing but the CPU seconds. The
cases of "choose" and "confirm" have nothing in common. Without --without each tactic is left out by
itself and then all of them; names joined by + are left out at once. A tactic is left out by putting
a neutral answer in the place of the one function by which it is called.

Of values and bounds the table has the mean change against all tactics in % of the value (positive:
without the tactic it is worse), and of CPU seconds the total.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hard_pools import hard_pool
from hosts import host_queue
from queue_cuts import cut_queues
from queue_sources import pool_problem
from slotwise.model.formats import loads
from slotwise.model.generate import generate
from slotwise.model.instance import Instance
from slotwise.model.objective import ObjectiveName
from slotwise.solver.optimal.pool import PoolProblem, optimise
from slotwise.solver.planning import plan
from trivial_proofs import racks_of_hosts

OPTIMAL = "slotwise.solver.optimal"
TRACES = Path(__file__).resolve().parents[1] / "tests/data/traces"
#: Deterministic units of a plan, and rounds of the pool's search.
EFFORT = {
    "lexicographic": 6.0,
    "racks": 10.0,
    "hosts": 6.0,
    "long": 10.0,
    "contested": 3.0,
    "pool": 200,
}
#: Hosts and pending jobs of the clusters.
SIZES = {
    "lexicographic": ((64, 128, 200), (16, 24, 32)),
    "hosts": ((48, 96, 160), (6, 14, 32, 24, 100)),
    "long": ((200,), (100,)),
}
#: Objectives of plans over hosts, one case after another; the sum of starts half the time.
OBJECTIVES: tuple[ObjectiveName, ...] = ("total-start", "weighted", "total-start", "slowdown")
#: Cases of each half.
HALF = 100


@dataclass(frozen=True)
class Switch:
    """Where a tactic is called, and what is put there instead: (module, attribute) to neutral."""

    places: Mapping[tuple[str, str], Any]


@dataclass(frozen=True)
class Outcome:
    """What one case came to. starts: in order of priority, of a lexicographic plan."""

    case: str
    without: str
    value: float
    bound: float
    proved: int
    jobs: int
    cpu: float
    starts: tuple[int, ...] = ()


def constant(value: Any) -> Callable[..., Any]:
    """A function that always says the same."""

    def neutral(*_: object, **__: object) -> Any:
        return value

    return neutral


def nothing(*_: object, **__: object) -> Generator[None, None, None]:
    """A step of a search that does nothing."""
    yield from ()


def _unchanged(place: int) -> Callable[..., Any]:
    def neutral(*given: Any, **_: object) -> Any:
        return given[place]

    return neutral


def _known_plan(*given: Any, **_: Any) -> Any:
    """A search that gives back the plan it was given."""
    costs, first = given[1], given[4]
    return first, costs.total({job: start.time for job, start in first.items()})


def _no_pool(*_: object) -> Any:
    from slotwise.solver.optimal.pool_bounds import PooledPlan

    return PooledPlan({})


SWITCHES: dict[str, dict[str, Switch]] = {
    "lexicographic": {
        "two instants": Switch({("lexicographic", "is_overfull"): constant(False)}),
        "no-goods": Switch({("lexicographic", "NoGoods.refute"): constant(False)}),
        "class counts": Switch({("lexicographic", "JointProbe._by_counts"): constant(("", None))}),
    },
    "hosts": {
        "several pools": Switch({("weighted", "bound_of_pools"): constant(None)}),
        "rounded blocks": Switch({("pool_bounds", "_in_rounded_blocks"): constant([])}),
        "pieces": Switch({("pool_bounds", "_piece_sizes"): constant([])}),
        "able hosts": Switch({("pool_bounds", "_on_able_hosts"): constant([])}),
        "idle units": Switch({("pool_bounds", "_idle_units"): constant([])}),
        "idle hosts": Switch({("order_search", "sparing_idle_hosts"): _unchanged(1)}),
        "start model": Switch({("weighted", "_by_whole_jobs"): _unchanged(4)}),
        "pool": Switch({("weighted", "solve_as_pool"): _no_pool}),
        "likely starts": Switch({("weighted", "_by_likely_starts"): _unchanged(4)}),
        "guided plans": Switch({("weighted", "guided_plan"): constant(None)}),
        "neighbourhoods": Switch({("weighted", "improve"): _known_plan}),
        "interval model": Switch({("weighted", "_exact_model_fits"): constant(False)}),
    },
    "pool": {
        "layers": Switch({("pool.prover", "LayeredSearch.suits"): constant(False)}),
        "chronology": Switch(
            {
                ("pool.prover", "Root.branch"): nothing,
                ("pool.prover", "Chronology.explore"): constant(False),
            }
        ),
        "order search": Switch({("pool.search", "improve"): nothing}),
    },
}

SWITCHES |= {"racks": SWITCHES["lexicographic"], "long": SWITCHES["hosts"]}
SWITCHES |= {"contested": SWITCHES["hosts"]}


def clusters(
    first: int, count: int, sizes: Sequence[int], pending: Sequence[int]
) -> Iterator[tuple[str, Instance]]:
    """Generated clusters: with memory and without, of three sizes, fuller and less full."""
    for seed in range(first, first + count):
        hosts = sizes[seed % len(sizes)]
        instance = generate(
            hosts=hosts,
            running=5 * hosts,
            pending=pending[seed % len(pending)],
            load=(0.97, 0.95)[seed // 3 % 2],
            memory=bool(seed % 4),
            seed=seed,
        )
        yield f"seed {seed}", instance


def pools(first: int, count: int) -> Iterator[tuple[str, PoolProblem]]:
    """Two thirds queues cut out of the recorded logs, one third of few large among many small."""
    logs = sorted(TRACES.glob("*.swf.gz"))
    cuts = cut_queues(logs, 2 * count, seed=first + 1)
    for number in range(count):
        if number % 3 == 2:
            yield f"hard {first + number}", hard_pool(first + number, 338)
        else:
            instance = next(cuts)
            yield instance.name, pool_problem(instance)


def objective_of(kind: str, case: str) -> ObjectiveName:
    """Return the objective of a case over hosts."""
    if kind == "hosts":
        return OBJECTIVES[int(case.split()[-1]) // 2 % len(OBJECTIVES)]
    return "total-start" if kind in ("long", "contested") else "lexicographic"


def planned(kind: str, case: str, instance: Instance, without: str) -> Outcome:
    """A plan of a cluster."""
    objective = objective_of(kind, case)
    begun = time.process_time()
    found = plan(instance, objective=objective, effort=EFFORT[kind])
    cpu = time.process_time() - begun
    placed = [item for item in found if item.start is not None]
    starts = tuple((item.start or 0) - instance.now for item in placed)
    bounds = [(instance.now if item.bound is None else item.bound) for item in placed]
    whole = found.status == "optimal"
    if objective == "lexicographic":
        bound = float(sum(bounds) - instance.now * len(bounds))
        proved = sum(item.proved for item in placed)
        return Outcome(case, without, float(sum(starts)), bound, proved, len(placed), cpu, starts)
    low = found.bound or 0.0
    return Outcome(case, without, found.value or 0.0, low, whole, 1, cpu)


def pooled(case: str, problem: PoolProblem, without: str) -> Outcome:
    """A plan of one pool."""
    begun = time.process_time()
    found = optimise(problem, effort=int(EFFORT["pool"]))
    cpu = time.process_time() - begun
    proved = found.status == "proved"
    return Outcome(case, without, float(found.value), float(found.bound), proved, 1, cpu)


def left_out(kind: str, names: Sequence[str]) -> ExitStack:
    """The tactics of these names switched off while the stack is open."""
    stack = ExitStack()
    for name in names:
        for (module, attribute), neutral in SWITCHES[kind][name].places.items():
            owner: Any = import_module(f"{OPTIMAL}.{module}")
            *way, last = attribute.split(".")
            for part in way:
                owner = getattr(owner, part)
            own = vars(owner)[last] if way else getattr(owner, last)
            value = staticmethod(neutral) if isinstance(own, staticmethod) else neutral
            stack.enter_context(patch.object(owner, last, value))
    return stack


def cases_of(kind: str, first: int, count: int) -> Iterator[tuple[str, Any]]:
    """Yield so many cases of a kind, with their names."""
    if kind == "pool":
        yield from pools(first, count)
    elif kind == "racks":
        for seed in range(first, first + count):
            yield f"seed {seed}", racks_of_hosts(24, racks=8, seed=seed)
    elif kind == "lexicographic":
        yield from clusters(first, count, (96, 160, 240), (20, 30, 40))
    elif kind == "contested":
        for seed in range(first, first + count):
            name = f"{'bcd'[seed % 3]}{6000 + seed}"
            yield name, loads(json.dumps(host_queue(name[0], 6000 + seed, odd=True)))
    elif kind == "long":
        yield from clusters(first, count, (200,), (100,))
    else:
        yield from clusters(first, count, (48, 96, 160), (6, 14, 32, 24))


def measured(
    kind: str, first: int, count: int, variants: Sequence[Sequence[str]]
) -> Iterator[Outcome]:
    """Each case with all tactics, then with each of the variants left out."""
    for case, given in cases_of(kind, first, count):
        for names in ((), *variants):
            with left_out(kind, names):
                label = ", ".join(names)
                if kind == "pool":
                    yield pooled(case, given, label)
                else:
                    yield planned(kind, case, given, label)


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """One row for each variant, against the same cases with all tactics."""
    whole = {item.case: item for item in outcomes if not item.without}
    yield "| without | cases | better/worse | value % | bound % | proofs | CPU s with | without |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for name in dict.fromkeys(item.without for item in outcomes if item.without):
        pairs = [(whole[item.case], item) for item in outcomes if item.without == name]
        ranks = [(_rank(before), _rank(after)) for before, after in pairs]
        better = sum(after < before for before, after in ranks)
        worse = sum(after > before for before, after in ranks)
        value, bound = (
            sum(changes) / len(pairs)
            for changes in (
                [100 * (b.value - a.value) / max(1.0, a.value) for a, b in pairs],
                [100 * (a.bound - b.bound) / max(1.0, a.value) for a, b in pairs],
            )
        )
        proofs = "/".join(str(sum(pair[side].proved for pair in pairs)) for side in (0, 1))
        with_, without = (sum(pair[side].cpu for pair in pairs) for side in (0, 1))
        yield (
            f"| {name} | {len(pairs)} | {better}/{worse} | {value:+.2f} | {bound:+.2f} | {proofs} "
            f"| {with_:.1f} | {without:.1f} |"
        )


def _rank(outcome: Outcome) -> tuple[float, ...]:
    return tuple(map(float, outcome.starts)) or (outcome.value,)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=list(SWITCHES))
    parser.add_argument("--half", choices=["choose", "confirm"], default="choose")
    parser.add_argument("--cases", type=int, default=15)
    parser.add_argument("--first", type=int, default=0, help="leave out so many of the cases")
    parser.add_argument("--without", nargs="*", default=[])
    parser.add_argument("--records", type=Path, help="append one line of JSON for each run")
    options = parser.parse_args()
    every = list(SWITCHES[options.kind])
    variants = [given.split("+") for given in options.without or [*every, "+".join(every)]]
    if unknown := {name for names in variants for name in names} - set(every):
        parser.error(
            f"no such tactics: {', '.join(sorted(unknown))}; there are: {', '.join(every)}"
        )
    begin = options.first + (HALF if options.half == "confirm" else 0)
    outcomes = []
    for outcome in measured(options.kind, begin, options.cases, variants):
        outcomes.append(outcome)
        print(f"{outcome.case}: {outcome.without or 'all'}", file=sys.stderr, flush=True)
        if options.records:
            with options.records.open("a") as records:
                records.write(json.dumps(asdict(outcome)) + "\n")
    for line in table(outcomes):
        print(line)


if __name__ == "__main__":
    main()
