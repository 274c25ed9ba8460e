"""What hosts report of mem, swp and tmp, beside running jobs that reserve some (RSV-01)."""

from __future__ import annotations

import random

import pytest
from loop_starts import simulated_starts
from slotwise import loads
from slotwise.solver import planning
from slotwise.solver.planning import plan

#: All but the one that obeys rules of Slurm.
METHODS = tuple(name for name in planning.METHODS if name != "slurm")

pytestmark = pytest.mark.behaviour("RSV-01")

ONE_HOST = """
format: slotwise/1
hosts: [{name: A, slots: 10, AMOUNT: 1000, load: {AMOUNT: 300}}]
running:
  - {id: 1, start: 0, run_limit: 1h, allocation: 1*A, res_req: "rusage[AMOUNT=150]"}
pending:
  - {id: 3, bsub: '-W 300 -R "rusage[AMOUNT=300]" my_job'}
  - {id: 4, bsub: '-W 10 -R "rusage[AMOUNT=150]" my_job'}
"""


@pytest.mark.parametrize("amount", ["mem", "swp", "tmp"])
@pytest.mark.parametrize("method", METHODS)
def test_judge_and_plan_read_it_alike(amount: str, method: str) -> None:
    instance = loads(ONE_HOST.replace("AMOUNT", amount))
    found = plan(instance, method, effort=1)
    assert not found.refused
    if method in ("optimal", "milp"):
        # 300 are there once 1 has ended; 4 would need what is left of them before it ends.
        assert [(item.start, item.proved) for item in found] == [(3600, True), (0, True)]


def workload(seed: int) -> str:
    """One to three hosts that may report memory, jobs that reserve some, also in phases."""
    draw = random.Random(seed)

    def asks() -> str:
        amount, first, rest = draw.choice([100, 200, 300]), draw.randint(1, 9), draw.randint(1, 9)
        falls = f"mem=({amount} {amount // 2}):duration=({first} {rest})"
        return draw.choice(
            [f"mem={amount}", f"{falls}:decay=(1 0)", f"mem={amount}:duration={first}:decay=1"]
        )

    hosts = [(name, draw.randint(1, 5)) for name in "ABC"[: draw.randint(1, 3)]]
    text = "format: slotwise/1\nhosts:\n"
    for name, slots in hosts:
        load = f", load: {{mem: {draw.choice([200, 400, 900])}}}" if draw.random() < 0.7 else ""
        text += f"  - {{name: {name}, slots: {slots}, mem: {draw.choice([400, 800])}{load}}}\n"
    text += "queues:\n  - {name: q, BACKFILL: Y, RESOURCE_RESERVE: 'MAX_RESERVE_TIME[1000]'}\n"
    text += "running:\n"
    for name, slots in hosts:
        text += f"  - {{id: r{name}, queue: q, start: 0, run_limit: {draw.randint(1, 15)}m, "
        text += f"allocation: {draw.randint(1, slots)}*{name}, res_req: 'rusage[{asks()}]'}}\n"
    text += "pending:\n"
    most = sum(slots for _, slots in hosts)
    for number in range(draw.randint(1, 3)):
        asked = f"-n {draw.randint(1, most)} -W {draw.randint(1, 15)} -R 'rusage[{asks()}]'"
        text += f'  - {{id: {number}, bsub: "-q q {asked}"}}\n'
    return text


def check(seed: int) -> int:
    """Every plan passes the judge, and greedy's first estimate is never after the real start.

    Jobs behind the first that waits may find slots sooner, when the first has started and ended:
    the estimate takes what others hold for held. Returns whether there was an estimate.
    """
    instance = loads(workload(seed))
    for method in METHODS:
        found = plan(instance, method, effort=2)
        assert not found.refused, (seed, found.notes)
        if method == "greedy":
            waiting = next((item for item in found if item.start is None), None)
    real = simulated_starts(instance, "greedy")
    if waiting is None or waiting.estimate is None or waiting.job not in real:
        return 0
    assert waiting.estimate <= real[waiting.job], seed
    return 1


@pytest.mark.behaviour("GRD-04", "MEM-01")
def test_greedys_estimate_is_a_lower_bound_while_memory_falls() -> None:
    assert sum(map(check, range(5)))


@pytest.mark.slow
@pytest.mark.behaviour("GRD-04", "MEM-01")
def test_the_same_of_many_more() -> None:
    assert sum(map(check, range(5, 1500))) > 200


@pytest.mark.behaviour("GRD-04", "MEM-01")
@pytest.mark.parametrize(
    ("held", "estimate"),
    [
        # At 400 of 1000 less what decays: by a sixtieth each minute.
        ("mem=1000:duration=60:decay=1", 24),
        ("mem=(1000 500):duration=(10 50)", 10),
        ("mem=(1000 800):duration=(10 50):decay=(0 1)", 10 + 13),
        ("mem=1000", 60),
    ],
)
def test_it_counts_every_fall_of_what_runs(held: str, estimate: int) -> None:
    instance = loads(f"""
format: slotwise/1
hosts: [{{name: A, slots: 4, mem: 1000}}]
queues: [{{name: q, RESOURCE_RESERVE: "MAX_RESERVE_TIME[1000]"}}]
running:
  - {{id: r, queue: q, start: 0, run_limit: 1h, allocation: 1*A, res_req: "rusage[{held}]"}}
pending:
  - {{id: j, bsub: '-q q -n 1 -W 10 -R "rusage[mem=400]"'}}
""")
    found = plan(instance, "greedy")["j"]
    expected = estimate * 60
    assert found.estimate is not None
    assert found.estimate == simulated_starts(instance, "greedy")["j"] == expected
