"""Sums over contested hosts beside a plain CP-SAT model of the same queue, which shares no code."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
import slotwise as sw
from sampling import some

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.behaviour("REF-04")
@pytest.mark.parametrize(("odd", "seed"), some(product([False, True], range(10)), 2))
def test_no_worse_in_plan_bound_or_proof(
    seed: int, odd: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both prove the optimum of six jobs: ours would have a later plan, lower bound or no proof.

    `python benchmarks/hosts.py` compares both in equal seconds where neither may end.
    """
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import hosts

    document = hosts.host_queue("a", seed, odd=odd)
    document["pending"] = document["pending"][:6]
    instance = sw.loads(json.dumps(document))
    plain, made = hosts.plain_cp_sat(
        hosts.Queue(document), instance, sw.plan(instance, "time-based"), 60.0
    )
    assert made is not None
    assert sw.validate(instance, made) == []
    assert plain.value == plain.bound
    ours = sw.plan(instance, objective="total-start", effort=20)
    assert (ours.value, ours.bound, ours.status) == (plain.value, plain.value, "optimal")
