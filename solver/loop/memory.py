"""What a loop remembers of the cycle before: told to an instance, and taken over from one."""

from __future__ import annotations

from ...model.instance import BorrowedSlots, HeldHosts, Instance
from ..world.cycle_state import CycleState
from ..world.job_state import JobState
from ..world.world import World


def held_hosts(world: World) -> tuple[HeldHosts, ...]:
    """Of the pending jobs that hold something, have begun to, or must rest."""
    return tuple(
        HeldHosts(
            state.job.id,
            tuple(world.names[host] for host in state.held),
            state.held_since,
            state.rest_until,
        )
        for state in world.pending.values()
        if state.held or state.held_since is not None or state.rest_until is not None
    )


def borrowed_slots(world: World) -> tuple[BorrowedSlots, ...]:
    """Of the running jobs that have borrowed."""
    return tuple(
        BorrowedSlots(state.job.id, world.named(state.borrowed))
        for state in world.borrowing.values()
    )


def take_over(cycle: CycleState, instance: Instance) -> None:
    """Remember what the instance says, before the first cycle; of jobs that are gone, nothing."""
    world = cycle.world
    hosts = instance.cluster.host_index() if instance.held or instance.borrowed else {}
    waiting = {job.id for job in instance.pending} if instance.held else set()
    for item in instance.held:
        if item.job in waiting:
            state = world.states.of(item.job)
            state.held = tuple(hosts[host] for host in item.hosts)
            state.held_since, state.rest_until = item.since, item.rest_until
            if state.held or state.held_since is not None or state.rest_until is not None:
                cycle.timed[state.number] = state
    borrowers = {state.job.id: state for state in world.running.values()} if hosts else {}
    for loan in instance.borrowed:
        if loan.job in borrowers:
            _borrow(world, borrowers[loan.job], {hosts[h]: n for h, n in loan.slots.items()})


def _borrow(world: World, state: JobState, slots: dict[int, int]) -> None:
    state.borrowed = slots
    world.borrowing[state.number] = state
