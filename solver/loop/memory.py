"""What a loop remembers of the cycle before: told to an instance, and taken over from one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...model.instance import BorrowedSlots, HeldHosts, Instance
from ..world.cycle_state import CycleState
from ..world.job_state import JobState
from ..world.world import World


def held_hosts(states: Iterable[JobState], names: Sequence[str]) -> tuple[HeldHosts, ...]:
    """Of those that hold something, have begun to, or must rest. names: of hosts, by number."""
    return tuple(
        HeldHosts(
            state.job.id,
            tuple(names[host] for host in state.held),
            state.held_since,
            state.rest_until,
        )
        for state in states
        if _remembers(state)
    )


def may_remember(cycle: CycleState) -> Iterator[JobState]:
    """Pending jobs, all that :func:`held_hosts` is for among them, by number."""
    pending = cycle.world.pending
    return (pending[number] for number in sorted(cycle.timed) if number in pending)


def _remembers(state: JobState) -> bool:
    return bool(state.held) or state.held_since is not None or state.rest_until is not None


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
            if _remembers(state):
                cycle.timed[state.number] = state
    borrowers = {state.job.id: state for state in world.running.values()} if hosts else {}
    for loan in instance.borrowed:
        if loan.job in borrowers:
            _borrow(world, borrowers[loan.job], {hosts[h]: n for h, n in loan.slots.items()})


def _borrow(world: World, state: JobState, slots: dict[int, int]) -> None:
    state.borrowed = slots
    world.borrowing[state.number] = state
