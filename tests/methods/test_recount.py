"""What reservations hold of a pool, reckoned for all at once: at each instant what is free."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from slotwise import Cluster, Host, Instance
from slotwise.model.generate import generate
from slotwise.solver.availability.demand import parts_of
from slotwise.solver.availability.profile import Profile
from slotwise.solver.availability.resources import SLOTS, Alternative, Per, ResourceTable, Use, flat
from slotwise.solver.scheduler import reserved_profile
from slotwise.solver.scheduler.next_cycle import plan_next_cycle
from slotwise.solver.scheduler.reserved_profile import pool_reservation_rows

HOSTS, ENDS = 5, (10, 20, 30, 45, 60)


def random_profile(rng: Random) -> Profile:
    hosts = tuple(Host(f"h{number}", slots=8) for number in range(HOSTS))
    profile = Profile(ResourceTable(Instance(cluster=Cluster(hosts))), 0)
    slots = Alternative((Use(SLOTS, Per.SLOT, flat("slots", 1.0)),))
    for end in ENDS:  # where it is reckoned anew: what starts does so when something ends
        profile.allocate(parts_of(profile.table, slots, {rng.randrange(HOSTS): 1}), 0, end)
    for _ in range(rng.randint(1, 12)):
        start, end = rng.choice([(0, e) for e in ENDS] + [(10, 30), (20, 60)])
        place = {rng.randrange(HOSTS): rng.randint(1, 4)}
        profile.allocate(parts_of(profile.table, slots, place), start, end)
    return profile


@pytest.mark.parametrize("seed", range(40))
def test_each_holds_what_of_its_place_is_free(seed: int) -> None:
    rng = Random(seed)
    profile = random_profile(rng)
    mask = np.array([rng.random() < 0.7 for _ in range(HOSTS)])
    places = [
        ({host: rng.randint(1, 8) for host in rng.sample(range(HOSTS), rng.randint(1, 3))}, until)
        for until in (rng.choice(ENDS) for _ in range(rng.randint(1, 4)))
    ]
    since, before = rng.choice([(0, 100), (10, 45), (20, 21)])
    block = pool_reservation_rows(places, mask, profile, 0, since=since, before=before).block()
    for time in range(since, min(before, 61)):
        free = np.maximum(profile.free(SLOTS, time), 0)
        told = block.at(time, 1)[0]
        assert told == sum(
            sum(min(count, free[host]) - count for host, count in place.items() if mask[host])
            for place, until in places
            if time < until
        )


def test_it_is_asked_for_in_a_crowded_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [0]

    def counted(*args: object, **more: object) -> object:
        asked[0] += 1
        return pool_reservation_rows(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(reserved_profile, "pool_reservation_rows", counted)
    for seed in range(1):
        instance = generate(hosts=32, per_enclosure=4, running=90, pending=60, load=0.97, seed=seed)
        plan_next_cycle(instance, "time-based")
    assert asked[0] > 0
