"""The long way of what the program does in a short one: each function switches a short way off.

Tests compare both, or count the work. What is patched is behind the doors; it is so here alone.
"""

from __future__ import annotations

import pytest
from slotwise import Job
from slotwise.model.formats.rules import LimitScale
from slotwise.model.resreq.scanner import SectionText
from slotwise.solver.availability import profile, running_profile
from slotwise.solver.availability.resources import SLOTS, Amounts, BoolArray, ResourceTable
from slotwise.solver.fairshare.waiting_jobs import WaitingJobs
from slotwise.solver.optimal.backends import ModelSizeLimit
from slotwise.solver.placement import single, supply
from slotwise.solver.scheduler import backfill, cycle, cycle_state, reserved_profile, reserving
from slotwise.solver.scheduler.cycle_reservations import JobReservation
from slotwise.solver.scheduler.job_state import JobState, ShapeTable


def every_turn(patch: pytest.MonkeyPatch) -> None:
    """A cycle goes on with the jobs of a queue for which no slot is left."""
    patch.setattr(cycle.Cycle, "_is_queue_exhausted", lambda _cycle: False)


def every_cycle(patch: pytest.MonkeyPatch) -> None:
    """Every cycle is due, and all who wait are looked at and tried in each of them."""
    whole = cycle.Cycle.skip_if_idle
    patch.setattr(cycle.Cycle, "is_skipped", property(lambda _cycle: False))
    patch.setattr(cycle.Cycle, "skip_if_idle", lambda it, _, only_submissions: whole(it, set()))


def looks(patch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of jobs at which each look from now on goes for one that may start."""
    found: list[int] = []
    look = cycle.can_any_start

    def counted(state, among, unstartable) -> bool:  # type: ignore[no-untyped-def]
        jobs = list(among)
        found.append(len(jobs))
        return look(state, jobs, unstartable)

    patch.setattr(cycle, "can_any_start", counted)
    return found


class _Forgetful(set[int]):
    """A set that nothing gets into."""

    def add(self, element: int) -> None:
        """Forget it."""


def every_attempt(patch: pytest.MonkeyPatch) -> None:
    """A job tries what an equal one has tried in vain."""
    begin = cycle_state.CycleState.begin

    def forgetting(state: cycle_state.CycleState) -> None:
        state.progress.unreservable_kinds = _Forgetful()
        begin(state)

    patch.setattr(cycle_state.CycleState, "begin", forgetting)
    patch.setattr(WaitingJobs, "any_but", lambda *_: True)
    patch.setattr(backfill._FailedBackfills, "record_failure", lambda *_: None)  # noqa: SLF001


def every_search(patch: pytest.MonkeyPatch) -> None:
    """A cycle that is run once more looks for each place again."""
    patch.setattr(cycle_state.RepeatedCycle, "previous_start", lambda *_: None)


def every_element(patch: pytest.MonkeyPatch) -> None:
    """The search for a place begins now, though an equal job before has found none."""
    patch.setattr(reserving, "_equal_right_before", lambda *_: None)


def new_tables(patch: pytest.MonkeyPatch) -> None:
    """The loop takes over no table of the plan."""
    patch.setattr(ShapeTable, "serves", lambda *_: False)


def tables_served(patch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each table that a loop may take over from now on serves it."""
    served: list[bool] = []
    serves = ShapeTable.serves

    def seen(self: ShapeTable, *of: object) -> bool:
        served.append(serves(self, *of))  # type: ignore[arg-type]
        return served[-1]

    patch.setattr(ShapeTable, "serves", seen)
    return served


def searches(patch: pytest.MonkeyPatch) -> list[str]:
    """The jobs for which time-based reservation searches a place from now on."""
    found: list[str] = []
    search = reserving.future_allocation

    def counted(state: cycle_state.CycleState, job: JobState, closed: BoolArray | None) -> object:
        found.append(job.job.id)
        return search(state, job, closed)

    patch.setattr(reserving, "future_allocation", counted)
    return found


def no_work_for_conditions(patch: pytest.MonkeyPatch) -> None:
    """What takes the plan long where jobs wait for others is not begun."""
    patch.setattr(cycle, "MAX_WORK", 0)


def no_models(patch: pytest.MonkeyPatch) -> None:
    """Each model of the exact methods is too large."""
    patch.setattr(ModelSizeLimit, "max_pairs", lambda _: 0)


def comparisons(patch: pytest.MonkeyPatch) -> list[None]:
    """One for each comparison of two sections of requirements from now on; none are equal."""
    compared: list[None] = []

    def counted(self: SectionText, other: object) -> bool:
        compared.append(None)
        return self is other

    patch.setattr(SectionText, "__eq__", counted)
    return compared


def hosts_asked(patch: pytest.MonkeyPatch) -> list[str]:
    """The jobs whose hosts are looked up for a limit on a host from now on."""
    asked: list[str] = []
    known = LimitScale.hosts_of

    def noted(scale: LimitScale, job: Job) -> set[str]:
        asked.append(job.id)
        return known(scale, job)

    patch.setattr(LimitScale, "hosts_of", noted)
    return asked


def nothing_remembered(patch: pytest.MonkeyPatch) -> None:
    """Nothing is kept up to date or remembered: profiles, repeated cycles, cycles left out."""
    future = reserved_profile.PlannedProfiles
    patch.setattr(future, "add", lambda self, *_: self.invalidate())
    patch.setattr(future, "add_reservation", lambda self, *_: self.invalidate())
    every_search(patch)
    patch.setattr(cycle, "can_any_start", lambda *_: True)
    patch.setattr(cycle, "is_last_cycle_valid", lambda *_: False)
    patch.setattr(cycle_state, "BackfillRows", _OneByOne)
    of_many_hosts(patch, 1 << 30)


def of_many_hosts(patch: pytest.MonkeyPatch, more_than: int = 0) -> None:
    """What pays with many hosts or pending jobs is done with more than so many."""
    for module in (profile, supply, running_profile, cycle_state):
        patch.setattr(module, "FEW_HOSTS", more_than)
    patch.setattr(single, "_FIRST_HOSTS", more_than)
    for module in (cycle, backfill):
        patch.setattr(module, "FEW_PENDING", more_than)


class _OneByOne:
    """What reservations keep from backfill jobs, added up anew for each job."""

    def __init__(
        self, reservations: list[JobReservation], table: ResourceTable, places: set[int]
    ) -> None:
        self.reservations, self.table, self.places = list(reservations), table, places

    def held(self, state: JobState | None, until: int) -> Amounts:
        found, table = Amounts(), self.table
        for item in self.reservations:
            if item.state is state:
                continue
            lent = item.estimate is not None and item.estimate >= until
            for index, amounts in () if lent else item.on_hosts(table):
                if index != SLOTS or item.state.number not in self.places:
                    found.add_hosts(index, amounts, table.hosts)
            for index, total in item.in_pools(table):
                found.add_pool(index, total)
        return found
