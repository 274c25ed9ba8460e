"""Which of the rules that a plan leaves out change a start: the loop is run on, with and without.

A plan by greedy or time-based reservation is what the next cycle says; the cycles after it heed
every rule. Where the loop starts all jobs as planned, the rules that were left out change nothing,
and none is named. Else each is taken away in turn: what then starts otherwise is its doing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...model.instance import Instance
from ...model.plan import Plan, PlannedJob
from ...model.time_text import clock_text
from ..budget import Budget
from ..methods.registry import looking_ahead
from ..methods.time_based import TimeBased
from ..pending_reasons import BEYOND_REPORTED
from ..resolve import Resolver
from ..rules.eligibility import Eligibility
from ..rules.left_out import FEW_LOOK_AHEAD, HEEDED_NOWHERE, LOADS, RESERVED_LOADS, WITHOUT, note_of
from ..rules.situation import StandingCluster
from .run_on import run_on_within

#: Turns of jobs, over all cycles of one loop, that may be run to see what a rule changes.
TURNS = 600
_Starts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class MovedStart:
    """A job that the loop starts at another second than planned, and the rules that may be why.

    start, planned: seconds, None for never.
    """

    rules: tuple[str, ...]
    job: str
    start: int | None
    planned: int | None

    def text(self, instance: Instance) -> str:
        """The rules, and in brackets what becomes of the job."""
        if self.start is None:
            what = f"job {self.job} does not start"
        else:
            what = f"job {self.job} starts {clock_text(instance, self.start)}"
        planned = "never" if self.planned is None else clock_text(instance, self.planned)
        return f"{'; '.join(self.rules)} ({what}, not {planned})"


def naming_what_moves(instance: Instance, found: Plan, *, jobs: int | None, budget: Budget) -> Plan:
    """The plan of a cycle with those of the left-out rules named that change a start.

    jobs: as of the plan. As it is where the loop would take long, or longer than the budget.
    """
    names = found.left_out
    if not names or found.cut or budget.late():
        return found
    method, top = (found.method, jobs) if jobs != 0 else ("greedy", None)
    few = looking_ahead(instance) if FEW_LOOK_AHEAD in names else top
    loops = _Loops(instance, method, top, few, budget)
    moved = _moved(found, names, loops)
    if moved is None:
        return found
    unseen = [name for name in names if name in HEEDED_NOWHERE]
    closing = [name for name in (LOADS, RESERVED_LOADS) if name in names]
    if closing and _load_closes(instance, found):
        unseen += closing
    elif LOADS in names and any(item.reason.startswith(BEYOND_REPORTED) for item in found.unplaced):
        unseen.append(LOADS)
    told = [*(item.text(instance) for item in moved), *unseen]
    notes = [note for note in found.notes if note not in note_of(names)]
    rules = tuple(dict.fromkeys([*(name for item in moved for name in item.rules), *unseen]))
    return replace(found, notes=(*note_of(told), *notes), left_out=rules)


def needing_backfill(instance: Instance, found: Plan, budget: Budget) -> Plan:
    """The plan with BACKFILL said to be needed only where the loop does not start the job without.

    The loop may find other slots than the planned ones. As it is where the loop would take long.
    """
    if not any(item.needs_backfill for item in found) or budget.late():
        return found
    starts = run_on_within(instance, TimeBased.name, jobs=None, budget=budget, turns=TURNS)
    if starts is None:
        return found
    return replace(found, reservations=tuple(_needing(item, starts) for item in found))


def _needing(item: PlannedJob, starts: _Starts) -> PlannedJob:
    start = starts.get(item.job)
    as_soon = start is not None and item.start is not None and start <= item.start
    return replace(item, needs_backfill="") if item.needs_backfill and as_soon else item


@dataclass(frozen=True, slots=True)
class _Loops:
    """planned_top: the jobs with a future allocation in the plan; top: those in the loop."""

    instance: Instance
    method: str
    planned_top: int | None
    top: int | None
    budget: Budget

    def starts(self, instance: Instance, top: int | None) -> _Starts | None:
        """Starts of the pending jobs in the loop; None where it takes too long.

        top: how many of them get a future allocation, all where None.
        """
        budget = self.budget
        return run_on_within(instance, self.method, jobs=top, budget=budget, turns=TURNS)

    def with_all(self) -> _Starts | None:
        """Starts with every rule of the instance."""
        return self.starts(self.instance, self.top)

    def without(self, name: str) -> _Starts | None:
        """Starts with every rule but one, of those that can be taken away."""
        if name == FEW_LOOK_AHEAD:
            return self.starts(self.instance, self.planned_top)
        return self.starts(WITHOUT[name](self.instance), self.top)


def _moved(found: Plan, names: Sequence[str], loops: _Loops) -> list[MovedStart] | None:
    """The rules, each with the first job that it moves; None where that took too long."""
    starts = loops.with_all()
    if starts is None:
        return None
    planned = dict(_planned(found))
    others = [job for job, start in planned.items() if starts.get(job) != start]
    moved: list[MovedStart] = []
    explained: set[str] = set()
    for name in names if others else ():
        if name not in WITHOUT and name != FEW_LOOK_AHEAD:
            continue
        without = loops.without(name)
        if without is None:
            return None
        own = [job for job in others if without.get(job) != starts.get(job)]
        explained.update(own)
        if own:
            moved.append(MovedStart((name,), own[0], starts.get(own[0]), planned[own[0]]))
    rest = [job for job in others if job not in explained]
    heeded = tuple(name for name in names if name not in (*HEEDED_NOWHERE, LOADS))
    rules = tuple(n for n in heeded if n not in WITHOUT and n != FEW_LOOK_AHEAD) or heeded
    if rest and rules:
        moved.append(MovedStart(rules, rest[0], starts.get(rest[0]), planned[rest[0]]))
    return moved


def _load_closes(instance: Instance, found: Plan) -> bool:
    """Whether load keeps a job from hosts that has no start, which no loop sees change."""
    jobs = {job.id: job for job in instance.pending}
    waiting = [jobs[item.job].queue for item in found if item.start is None]
    waiting += [jobs[item.job].queue for item in found.unplaced]
    situation = StandingCluster(instance, Resolver.of(instance))
    eligibility = Eligibility(situation, [host.status for host in instance.cluster.hosts])
    return any(eligibility.why_load(queue) for queue in dict.fromkeys(waiting))


def _planned(found: Plan) -> Iterator[tuple[str, int | None]]:
    """What a plan says of each job: a second, or never. It may say nothing of some."""
    yield from ((item.job, item.start) for item in found if item.start is not None)
    yield from ((item.job, None) for item in found.unplaced)
