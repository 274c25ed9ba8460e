"""A reservation keeps of its place what does not come free by its start, and no more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from sampling import some
from slotwise import Cluster, Host, Instance, Job, Queue, RunningJob
from slotwise.model.sources.trace import load_pool
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate

POOLS = sorted((Path(__file__).parents[1] / "data" / "snapshots").glob("*.json"))
HOUR, MINUTE = 3600, 60


def loop(instance: Instance) -> dict[str, int]:
    """Starts of the pending jobs in the loop, all of which have a place reserved."""
    top = max(1, len(instance.pending))
    starts = simulate(instance, reservation="time-based", cycle=0, top=top).starts
    return {job.id: starts[job.id] for job in instance.pending}


def planned(instance: Instance, method: str = "time-based") -> dict[str, int | None]:
    return {item.job: item.start for item in plan(instance, method)}


def shared(*hosts: int) -> Instance:
    """Half of the slots run until 1 h; three jobs wait: one for three slots, thin ones."""
    names = [Host(f"h{number}", slots) for number, slots in enumerate(hosts)]
    busy = {"h0": 2} if len(hosts) == 1 else {"h0": 1, "h1": 1}
    return Instance(
        Cluster(tuple(names)),
        running=(RunningJob(Job("r", 2, run_limit=HOUR), 0, busy),),
        pending=(
            Job("wide", 3, run_limit=HOUR),
            Job("thin", 1, run_limit=10 * HOUR),
            Job("other", 1, run_limit=10 * HOUR),
        ),
    )


@pytest.mark.behaviour("TBR-07", "TBR-18")
@pytest.mark.parametrize("hosts", [(4,), (1, 1, 1, 1)])
@pytest.mark.parametrize("method", ["time-based", "optimal"])
def test_one_host_of_four_slots_is_four_hosts_of_one(method: str, hosts: tuple[int, ...]) -> None:
    """The wide job needs one of the two free slots; who takes the other may keep it."""
    instance = shared(*hosts)
    assert planned(instance, method) == {"wide": HOUR, "thin": 0, "other": 2 * HOUR}
    assert loop(instance) == {"wide": HOUR, "thin": 0, "other": 2 * HOUR}


@pytest.mark.behaviour("TBR-04", "TBR-05")
@pytest.mark.parametrize("path", some(POOLS[::-1], 1), ids=lambda path: path.stem)
def test_the_loop_starts_real_queues_as_planned(path: Path) -> None:
    """Excerpts of the Parallel Workloads Archive as pools, where jobs run to their limits."""
    instance = at_limits(load_pool(path))
    assert loop(instance) == planned(instance)


def at_limits(instance: Instance) -> Instance:
    running = tuple(replace(r, job=replace(r.job, run_time=None)) for r in instance.running)
    pending = tuple(replace(job, run_time=None) for job in instance.pending)
    return replace(instance, running=running, pending=pending)


def random_pool(seed: int, *, backfill: bool) -> Instance:
    """A few shared hosts, and jobs that ask for slots alone."""
    draw = Random(seed)
    hosts = tuple(Host(f"h{n}", draw.randint(2, 6)) for n in range(draw.randint(1, 4)))
    running = []
    for host in hosts:
        left = host.slots
        while left and draw.random() < 0.8:
            count = draw.randint(1, left)
            left -= count
            job = Job(f"r{len(running)}", count, run_limit=MINUTE * draw.randint(1, 20))
            running.append(RunningJob(job, 0, {host.name: count}))
    most = sum(host.slots for host in hosts)
    pending = tuple(
        Job(f"p{n}", draw.randint(1, most), run_limit=MINUTE * draw.randint(1, 15))
        for n in range(draw.randint(2, 8))
    )
    queues = (Queue("default", backfill=backfill),)
    return Instance(Cluster(hosts), queues=queues, running=tuple(running), pending=pending)


@pytest.mark.behaviour("TBR-18")
@pytest.mark.parametrize("seed", some(range(600), 7))
@pytest.mark.parametrize("backfill", [True, False])
def test_the_loop_does_as_planned_where_slots_alone_count(seed: int, backfill: bool) -> None:
    """With BACKFILL always; without it, a plan that the loop does not keep names the rule."""
    instance = random_pool(seed, backfill=backfill)
    found = plan(instance, "time-based")
    if {item.job: item.start for item in found} != loop(instance):
        assert not backfill
        assert any("without BACKFILL" in rule for rule in found.left_out), found.notes


@pytest.mark.behaviour("TBR-18")
@pytest.mark.parametrize("seed", some(range(300), 10))
def test_no_start_moves_when_jobs_behind_are_left_out(seed: int) -> None:
    """Where all may backfill, reservations are as good as first come, earliest place."""
    instance = random_pool(seed, backfill=True)
    whole = planned(instance)
    for count in range(1, len(instance.pending)):
        few = replace(instance, pending=instance.pending[:count])
        first = {job.id: whole[job.id] for job in few.pending}
        assert planned(few) == first
