"""The simulated scheduler, run on from now under one change after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ....model.errors import InputError
from ....model.instance import Instance
from ....model.plan import PlannedJob
from ...budget import Budget, OutOfTime
from ...loop.run_on import placed_by_loop
from ...methods.registry import looking_ahead
from .probes import RANK, Probe, SettingChange
from .records import HOUR, Remedy, RemedyCost, WaitChange

Starts = Mapping[str, int]
#: Jobs that are listed as waiting longer, and less, under a remedy.
MOST_LISTED = 8
#: A start that is so much later than another one is as good (seconds, and a share of the gain).
ALIKE, ALIKE_SHARE = 120, 0.03


@dataclass(frozen=True, slots=True)
class Wanted:
    """A job that is to start sooner: today's start (None for never), the latest that helps."""

    job: str
    slots: int
    today: int | None
    latest: int
    earliest: int


@dataclass(slots=True)
class Simulations:
    """Starts by change, each change run once.

    today: starts as configured; placed: where, too. cut: whether a limit kept a run from its end.
    changes: those that were run, by key. before: called before each run.
    """

    instance: Instance
    budget: Budget
    today: Starts = field(default_factory=dict)
    placed: Mapping[str, PlannedJob] = field(default_factory=dict)
    cut: bool = False
    changes: dict[str, SettingChange] = field(default_factory=dict)
    before: Callable[[], None] = lambda: None
    _known: dict[str, Starts] = field(default_factory=dict)
    _given_up: dict[tuple[str, str], int] = field(default_factory=dict)

    def begin(self) -> None:
        """Run the scheduler as configured."""
        found = self._run(self.instance)
        self.placed = {item.job: item for item in found or ()}
        self.today = _starts(found or ())

    @property
    def tried(self) -> int:
        """How many changes were run."""
        return len(self.changes)

    def starts(self, key: str) -> Starts:
        """Starts of the pending jobs under a change that was run to its end; else none."""
        return self._known.get(key, {})

    def start(self, change: SettingChange, wanted: Wanted, latest: int) -> int | None:
        """The start of a job under a change, None where it is later than `latest`."""
        key = change.key
        if key not in self._known and self._given_up.get((key, wanted.job), -1) < latest:
            if self.budget.stopped():
                self.cut = True
                return None
            self.changes[key] = change
            found = self._run(change.apply(self.instance), (wanted.job, latest))
            if found is None:
                if not self.cut:
                    self._known[key] = {}
                return None
            starts = _starts(found)
            if wanted.job not in starts:
                self._given_up[key, wanted.job] = latest
                return None
            self._known[key] = starts
        start = self.starts(key).get(wanted.job)
        return start if start is not None and start <= latest else None

    def _run(
        self, instance: Instance, unless_later: tuple[str, int] | None = None
    ) -> tuple[PlannedJob, ...] | None:
        """What the scheduler gives each job, None where it cannot be run or a limit came."""
        self.before()
        try:
            found = placed_by_loop(
                instance,
                "configured",
                jobs=looking_ahead(instance),
                budget=self.budget,
                unless_later=unless_later,
            )
        except (InputError, OutOfTime):
            self.cut = self.cut or self.budget.stopped()
            return None
        if self.budget.stopped():
            self.cut = True
            return None
        return found

    # --- what helps ---------------------------------------------------------------------------

    def remedies(self, probe: Probe, wanted: Wanted) -> list[Remedy]:
        """The smallest changes of a probe under which the job starts early enough."""
        full = self.start(probe.steps[-1], wanted, wanted.latest)
        if full is None:
            return []
        if probe.parts:
            found = [item for part in probe.parts for item in self.remedies(part, wanted)]
            near = [item for item in found if item.start <= full + self._alike(full, wanted)]
            if near:
                return near
        step = probe.steps[self.smallest(probe.steps, wanted)]
        return [self.remedy(probe, step, wanted)]

    def smallest(self, steps: Sequence[SettingChange], wanted: Wanted) -> int:
        """The place of the smallest change that is as good as the last, which helps; bisected."""
        full = self.starts(steps[-1].key)[wanted.job]
        enough = full + self._alike(full, wanted)
        low, high = 0, len(steps) - 1
        while low < high:
            middle = (low + high) // 2
            if self.start(steps[middle], wanted, enough) is not None:
                high = middle
            else:
                low = middle + 1
        return high

    def _alike(self, full: int, wanted: Wanted) -> int:
        if wanted.today is None:
            return ALIKE
        return max(ALIKE, round(ALIKE_SHARE * (wanted.today - full)))

    def remedy(self, probe: Probe, change: SettingChange, wanted: Wanted) -> Remedy:
        """A change that was run, with what it gives the job and takes from the others."""
        starts = self.starts(change.key)
        start = starts[wanted.job]
        gain = None if wanted.today is None else wanted.today - start
        reaches = start <= wanted.earliest + self._alike(start, wanted)
        return Remedy(
            kind=probe.kind,
            cause=probe.cause,
            where=change.where,
            setting=change.setting,
            start=start,
            gain=gain,
            slot_hours=None if gain is None else gain * wanted.slots / HOUR,
            reaches=reaches,
            cost=self.cost(starts, wanted.job),
            whatif=change.whatif,
        )

    def cost(self, starts: Starts, job: str) -> RemedyCost:
        """What other starts mean for the other pending jobs."""
        others = [
            WaitChange(other.id, other.slots, self.today.get(other.id), starts.get(other.id))
            for other in self.instance.pending
            if other.id != job
        ]
        known = [(item, item.change) for item in others if item.change is not None]
        changes = [change for _, change in known]
        longer = sorted((pair for pair in known if pair[1] > 0), key=lambda pair: -pair[1])
        sooner = sorted((pair for pair in known if pair[1] < 0), key=lambda pair: pair[1])
        return RemedyCost(
            jobs=len(others),
            mean_wait=sum(changes) / len(changes) if changes else 0.0,
            longer=tuple(item for item, _ in longer),
            sooner=tuple(item for item, _ in sooner),
            slot_hours=sum(item.slots * change for item, change in known) / HOUR,
            lost=tuple(i.job for i in others if i.today is not None and i.then is None),
        )


def ranked(remedies: Sequence[Remedy], today: int | None, most: int) -> tuple[Remedy, ...]:
    """The best of each kind: the earliest start first, of like ones the cause that says most."""
    if not remedies:
        return ()
    best = min(item.start for item in remedies)
    alike = ALIKE if today is None else max(ALIKE, round(0.1 * (today - best)))

    def order(item: Remedy) -> tuple[int, int, float]:
        level = 0 if item.start <= best + alike else item.start
        return level, RANK[item.kind], item.cost.slot_hours

    kept: dict[str, Remedy] = {}
    for item in sorted(remedies, key=order):
        kept.setdefault(item.kind, item)
    return tuple(kept.values())[:most]


def _starts(placed: Sequence[PlannedJob]) -> Starts:
    return {item.job: item.start for item in placed if item.start is not None}
