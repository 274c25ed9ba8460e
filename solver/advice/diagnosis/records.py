"""A diagnosis as plain data: who starves, the cause as configured, each remedy with its price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ....model.errors import UnknownNameError
from ....model.rich_display import html_table
from ....model.time_text import duration_text, with_stamps
from ..likely import Likely, times_of

HOUR = 3600


@dataclass(frozen=True, slots=True)
class WaitChange:
    """A pending job under a remedy. today, then: its start (seconds), None for never.

    change: seconds that it waits longer, below 0 sooner; None where one of the two is never.
    """

    job: str
    slots: int
    today: int | None
    then: int | None

    @property
    def change(self) -> int | None:
        """Seconds that it waits longer; None where one of the starts is never."""
        return None if self.today is None or self.then is None else self.then - self.today

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "job": self.job,
            "slots": self.slots,
            "simulated": self.today,
            "then": self.then,
            "change": self.change,
        }


@dataclass(frozen=True, slots=True)
class RemedyCost:
    """What a remedy costs the other pending jobs.

    jobs: how many others there are. mean_wait: seconds that they wait longer on average, of those
    that start in both cases. longer, sooner: who waits longer and who less, the most first.
    slot_hours: hours that they wait longer in all, each times its slots. lost: jobs that start
    today and would never start.
    """

    jobs: int = 0
    mean_wait: float = 0.0
    longer: tuple[WaitChange, ...] = ()
    sooner: tuple[WaitChange, ...] = ()
    slot_hours: float = 0.0
    lost: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "other_jobs": self.jobs,
            "mean_wait_change": self.mean_wait,
            "slot_hours": self.slot_hours,
            "wait_longer": [item.to_dict() for item in self.longer],
            "wait_less": [item.to_dict() for item in self.sooner],
            "never_start": list(self.lost),
        }


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change, alone, under which the simulated scheduler starts the job sooner.

    kind: the cause that it takes away, one of :data:`.probes.KINDS`; cause: the same as configured,
    in words. where: the file and the section, or who is to act. setting: what to write or do.
    whatif: the same for ``slotwise whatif --set``, "" where it is no setting. start: seconds.
    gain: seconds sooner, None where the job never started. slot_hours: the gain times its slots.
    reaches: whether the job then starts as early as its slots allow. likely: when it would likely
    start, by the history.
    """

    kind: str
    cause: str
    where: str
    setting: str
    start: int
    gain: int | None
    slot_hours: float | None
    reaches: bool
    cost: RemedyCost = RemedyCost()
    whatif: str = ""
    likely: Likely | None = None

    @property
    def key(self) -> str:
        """What tells its change from others."""
        return f"{self.where}: {self.setting}"

    def to_dict(self, origin: str | None) -> dict[str, Any]:
        """Plain data, an ISO stamp beside the start where there is an origin."""
        likely = {} if self.likely is None else dict(times_of(self.likely))
        record = {
            "kind": self.kind,
            "cause": self.cause,
            "where": self.where,
            "setting": self.setting,
            **({"whatif": self.whatif} if self.whatif else {}),
            "start": self.start,
            "gain": self.gain,
            "slot_hours": self.slot_hours,
            "reaches_earliest": self.reaches,
            **likely,
            "cost": self.cost.to_dict(),
        }
        return with_stamps(record, origin, ("start", *likely))


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """A job that waits longer than its slots make it wait.

    starves: whether it starves; else it waits for what one change would lift. simulated: the start
    that the scheduler as configured reaches (seconds), None for never. earliest: when its slots are
    free together in its turn. proved: whether that is proved. allocation: where. passed_by: jobs
    behind it in line that start before it; overtaken: those of them that hold its slots at the
    earliest time or later. remedies: what helps, the cause first. too_little: changes that are
    often tried and do not help enough. likely: by the history, as configured.
    """

    job: str
    slots: int
    user: str
    queue: str
    submit: int
    starves: bool
    simulated: int | None
    earliest: int
    proved: bool = False
    allocation: Mapping[str, int] = field(default_factory=dict)
    passed_by: tuple[str, ...] = ()
    overtaken: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    too_little: tuple[Remedy, ...] = ()
    likely: Likely | None = None

    @property
    def excess(self) -> int | None:
        """Seconds that it waits longer than its slots make it wait; None for never."""
        return None if self.simulated is None else self.simulated - self.earliest

    @property
    def cause(self) -> str:
        """The kind of the first cause, "" where no single change helps."""
        return self.remedies[0].kind if self.remedies else ""

    def to_dict(self, origin: str | None) -> dict[str, Any]:
        """Plain data, ISO stamps beside its times where there is an origin."""
        likely = {} if self.likely is None else dict(times_of(self.likely))
        record = {
            "job": self.job,
            "slots": self.slots,
            "user": self.user,
            "queue": self.queue,
            "submit": self.submit,
            "starves": self.starves,
            "simulated": self.simulated,
            "earliest": self.earliest,
            "proved": self.proved,
            "excess": self.excess,
            "allocation": dict(self.allocation),
            "passed_by": list(self.passed_by),
            "overtaken": list(self.overtaken),
            "cause": self.cause,
            **likely,
            "remedies": [item.to_dict(origin) for item in self.remedies],
            "too_little": [item.to_dict(origin) for item in self.too_little],
        }
        return with_stamps(record, origin, ("submit", "simulated", "earliest", *likely))


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Who starves and why, of all pending jobs.

    jobs: those that starve first, then those that wait for what one change would lift. never: jobs
    that can never start, and why. pending: how many wait. tried: changes that were simulated.
    forecast: whether a history was given; run_by: what ran the cluster forward for it; remarks:
    what was odd about it. cut: a limit or Ctrl-C came before everything had been tried. notes: what
    the reader has to know beside it.
    """

    jobs: tuple[WaitingJob, ...]
    never: tuple[tuple[str, str], ...] = ()
    pending: int = 0
    tried: int = 0
    now: int = 0
    origin: str | None = None
    forecast: bool = False
    run_by: str = ""
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    cut: bool = False

    @property
    def starving(self) -> tuple[WaitingJob, ...]:
        """The jobs that starve."""
        return tuple(item for item in self.jobs if item.starves)

    def __getitem__(self, job: str) -> WaitingJob:
        """What was found of a job; UnknownNameError (a KeyError) where nothing was."""
        found = next((item for item in self.jobs if item.job == job), None)
        if found is None:
            raise UnknownNameError.among("job", job, [item.job for item in self.jobs])
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain data, times in seconds from the instance's origin, ISO stamps beside them."""
        return {
            "now": self.now,
            "origin": self.origin,
            "pending": self.pending,
            "starving": [item.to_dict(self.origin) for item in self.jobs if item.starves],
            "waiting": [item.to_dict(self.origin) for item in self.jobs if not item.starves],
            "never": [{"job": job, "reason": reason} for job, reason in self.never],
            "tried": self.tried,
            "notes": list(self.notes),
            **({"remarks": list(self.remarks), "run_by": self.run_by} if self.forecast else {}),
            **({"cut": True} if self.cut else {}),
        }

    def _repr_html_(self) -> str:
        """The remedies as a notebook shows them; starts from now on."""
        rows = [
            (
                item.job,
                "starves" if item.starves else "waits",
                remedy.cause,
                f"{remedy.where}: {remedy.setting}",
                duration_text(remedy.start - self.now),
                None if remedy.gain is None else duration_text(remedy.gain),
            )
            for item in self.jobs
            for remedy in item.remedies
        ]
        caption = f"{len(self.starving)} of {self.pending} waiting jobs starve"
        head = ("job", "", "cause", "what helps", "starts in", "sooner by")
        return html_table(caption, head, rows)
