"""Turns and cycles that are left out change nothing: the loop against itself with all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from equal_instances import Change, drawn, one_after_another, queue, queues, reserved, same
from long_ways import every_turn
from slotwise import Instance
from slotwise.solver.scheduler.simulation import simulate

HOUR = 3600


def _resizable(site: Instance) -> Instance:
    """What has a range of slots and asks for nothing else grows."""
    grown = (
        replace(job, resizable=bool(job.max_slots and not job.exclusive and not job.res_req))
        for job in site.future
    )
    return replace(site, future=tuple(grown))


SHARES = queues(user_shares=(("u0", 1), ("default", 2)))
#: Every queue reserves and lends, as long as it takes.
LENDING = queues(slot_reserve=None, resource_reserve=None, backfill=True)
SITES: dict[str, Change] = {
    "first come": same,
    "lending": LENDING,
    "lending under fairshare": one_after_another(LENDING, SHARES),
    "fairshare": SHARES,
    "slot pool": queues(slot_pool="P", slot_share=50.0),
    "advance reservation": reserved(1200, 3000),
    "one under fairshare": one_after_another(LENDING, SHARES, reserved(2000, 2600)),
    "a short one": reserved(600, 900),
    "preemption": lambda site: queue("urgent", preemptive=("normal",))(
        queues(backfill=False)(site)
    ),
    "intervals": queues(job_accept_interval=1),
    "windows": queues(dispatch_window="0:00-0:20 0:30-23:50"),
    "resizable": _resizable,
}


def _agrees(name: str, method: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    site = SITES[name](drawn(seed, to_come=15))
    lean = simulate(site, reservation=method)
    until = min(lean.time, 6 * HOUR)
    with monkeypatch.context() as patched:
        every_turn(patched)
        whole = simulate(site, reservation=method, skip_idle=False, until=until)
    assert {job: at for job, at in lean.starts.items() if at < until} == {
        job: at for job, at in whole.starts.items() if at < until
    }


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 240))
@pytest.mark.parametrize("name", SITES)
def test_nobody_ever(name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for method in ("none", "greedy", "time-based"):
        _agrees(name, method, seed, monkeypatch)
