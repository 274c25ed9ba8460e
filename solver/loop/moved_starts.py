"""Which of the rules that a plan leaves out change a start: the loop is run on, with and without.

A plan by greedy or time-based reservation is what the next cycle says; the cycles after it heed
every rule. Where the loop starts all jobs as planned, the rules that were left out change nothing,
and none is named. Else each is taken away in turn: what then starts otherwise is its doing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...model.instance import Instance
from ...model.omissions import Omission
from ...model.plan import Plan, PlannedJob
from ...model.time_text import WrittenTimes
from ..budget import Budget
from ..methods.greedy import Greedy
from ..methods.registry import looking_ahead
from ..methods.time_based import TimeBased
from ..pending_reasons import BEYOND_REPORTED
from ..resolve import Resolver
from ..rules.eligibility import Eligibility
from ..rules.left_out import (
    FEW_LOOK_AHEAD,
    LOADS,
    OF_THE_INSTANCE,
    RESERVED_LOADS,
    RUN_OUT,
    WITHOUT,
    note_of,
)
from ..rules.settings_at_work import setting_of
from ..rules.situation import StandingCluster
from .run_on import run_on_within

#: Said where the limit came while the loop tried whether rules that are left out change a start.
NOT_TRIED = "the limit came before it was tried which of the rules named change a start"
#: Turns of jobs, over all cycles of one loop, that may be run to see what a rule changes.
TURNS = 600
_Starts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class MovedStart:
    """A job that the loop starts at another second than planned, and the rules that may be why.

    start, planned: seconds, None for never. jobs: it, and others that the rules move.
    """

    rules: tuple[str, ...]
    job: str
    start: int | None
    planned: int | None
    jobs: tuple[str, ...]

    def text(self, instance: Instance) -> str:
        """The rules, and in brackets what becomes of the job and by which settings."""
        return f"{'; '.join(self.rules)} ({self._effect(instance, self.rules)})"

    def omissions(self, instance: Instance) -> tuple[Omission, ...]:
        """The same as records."""
        return tuple(
            Omission(rule, jobs=self.jobs, effect=self._effect(instance, (rule,)))
            for rule in self.rules
        )

    def _effect(self, instance: Instance, rules: Sequence[str]) -> str:
        """What becomes of the job, and the settings of these rules that make it so."""
        clock = WrittenTimes.of(instance, (self.start, self.planned))
        if self.start is None:
            what = f"job {self.job} does not start"
        else:
            what = f"job {self.job} starts {clock.text(self.start)}"
        planned = "never" if self.planned is None else clock.text(self.planned)
        settings = [setting_of(rule, instance, (self.job,)) for rule in rules]
        because = ", ".join(filter(None, settings))
        return f"{what}, not {planned}" + (f": {because}" if because else "")


def naming_what_moves(instance: Instance, found: Plan, *, jobs: int | None, budget: Budget) -> Plan:
    """The plan of a cycle with those of the left-out rules named that change a start.

    jobs: as of the plan. As it is where the loop would take long, or longer than the budget.
    """
    names, nowhere = _apart(instance, found.omissions)
    if not names or found.cut or budget.late():
        return found
    loops = _Loops.of(instance, found.method, jobs, names, budget)
    moved = _moved(found, names, loops)
    if moved is None:
        late = budget.with_grace().stopped()
        return replace(found, notes=(*found.notes, NOT_TRIED)) if late else found
    unseen = _unseen(instance, found, names)
    told = [*(item.text(instance) for item in moved), *unseen, *(item.name for item in nowhere)]
    old = note_of([item.name for item in found.omissions])
    notes = [note for note in found.notes if note not in old]
    omissions = [*(o for item in moved for o in item.omissions(instance)), *map(Omission, unseen)]
    return replace(found, notes=(*note_of(told), *notes), omissions=(*omissions, *nowhere))


def omissions_of_job(
    instance: Instance,
    job: str,
    start: int | None,
    found: Sequence[Omission],
    *,
    method: str,
    budget: Budget,
) -> tuple[Omission, ...]:
    """Of what a cycle leaves out, that which changes the start of one of its pending jobs.

    start: as the cycle has it, None for none. All of it where the loop takes long.
    """
    names, nowhere = _apart(instance, found)
    touching = tuple(item for item in nowhere if item.touches(job))
    if not names or budget.stopped():
        return (*map(Omission, names), *touching)
    loops = _Loops.of(instance, method, None, names, budget)
    moved = _moving({job: start}, names, loops)
    if moved is None:
        return (*map(Omission, names), *touching)
    return (*(o for item in moved for o in item.omissions(instance)), *touching)


def rules_that_move(
    instance: Instance, planned: Mapping[str, int | None], method: str, budget: Budget
) -> tuple[Omission, ...]:
    """Rules without which the loop by a method starts jobs as planned, or nearer to it.

    planned: the start of each pending job, None for never. () where the loop takes long.
    """
    names = [rule.name for rule in OF_THE_INSTANCE if rule.name in WITHOUT and rule.holds(instance)]
    if any(queue.reserve_cycles is not None for queue in instance.queues):
        names.append(RUN_OUT)
    if not names or budget.stopped():
        return ()
    moved = _moving(planned, names, _Loops(instance, method, None, None, budget), blame=False)
    return tuple(o for item in moved or () for o in item.omissions(instance))


def _apart(
    instance: Instance, found: Sequence[Omission]
) -> tuple[tuple[str, ...], tuple[Omission, ...]]:
    """The names of rules that the loop obeys, and what it does not obey either."""
    nowhere = tuple(item for item in found if item.jobs is not None or item in instance.omissions)
    return tuple(item.name for item in found if item not in nowhere), nowhere


def _unseen(instance: Instance, found: Plan, names: Sequence[str]) -> list[str]:
    """Rules about loads, where a job waits for what hosts report: no loop sees that change."""
    closing = [name for name in (LOADS, RESERVED_LOADS) if name in names]
    if closing and _load_closes(instance, found):
        return closing
    short = any(item.reason.startswith(BEYOND_REPORTED) for item in found.unplaced)
    return [LOADS] if LOADS in names and short else []


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

    @classmethod
    def of(
        cls,
        instance: Instance,
        method: str,
        jobs: int | None,
        names: Sequence[str],
        budget: Budget,
    ) -> _Loops:
        """jobs: as of the plan. names: of the rules that it leaves out."""
        method, top = (method, jobs) if jobs != 0 else (Greedy.name, None)
        few = looking_ahead(instance) if FEW_LOOK_AHEAD in names else top
        return cls(instance, method, top, few, budget)

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
    return _moving(dict(_planned(found)), names, loops)


def _moving(
    planned: Mapping[str, int | None], names: Sequence[str], loops: _Loops, *, blame: bool = True
) -> list[MovedStart] | None:
    """As :func:`_moved`, for jobs with their planned starts.

    blame: of what no single rule explains all those are said to be the cause that may be.
    """
    starts = loops.with_all()
    if starts is None:
        return None
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
            moved.append(_start_moved((name,), own, starts, planned))
    rest = [job for job in others if job not in explained]
    heeded = tuple(name for name in names if name != LOADS)
    rules = tuple(n for n in heeded if n not in WITHOUT and n != FEW_LOOK_AHEAD) or heeded
    if blame and rest and rules:
        moved.append(_start_moved(rules, rest, starts, planned))
    return moved


def _start_moved(
    rules: tuple[str, ...], jobs: Sequence[str], starts: _Starts, planned: Mapping[str, int | None]
) -> MovedStart:
    first = jobs[0]
    return MovedStart(rules, first, starts.get(first), planned[first], tuple(jobs))


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
