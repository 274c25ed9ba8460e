"""A diagnosis as plain data: who starves, the cause as configured, each remedy with its price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from ....model.display import duration_text, html_table, wall_clock, with_stamps
from ....model.errors import UnknownNameError
from ....model.instance import Instance
from ....model.omissions import Omission, sentences
from ....model.plan import allocation_text
from ...outlook.records import State
from ...pending_reasons import counted
from ..likely import Likely, times_of
from .probes import IN_LINE, OF_THE_JOB, named, takes_effect

HOUR = 3600


@dataclass(frozen=True, slots=True)
class WaitChange:
    """A pending job under a remedy.

    change: seconds that it waits longer, below 0 sooner; None where one of the two is never.
    """

    job: str
    slots: int
    #: Its start (seconds), None for never.
    today: int | None
    #: Its start (seconds), None for never.
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
    """What a remedy costs the other pending jobs."""

    #: How many others there are.
    jobs: int = 0
    #: Seconds that they wait longer on average; where one never starts, of the others.
    mean_wait: float = 0.0
    #: Who waits longer and who less, the most first.
    longer: tuple[WaitChange, ...] = ()
    #: Who waits longer and who less, the most first.
    sooner: tuple[WaitChange, ...] = ()
    #: Hours that they wait longer in all, each times its slots.
    slot_hours: float = 0.0
    #: Jobs that start today and would never start.
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
    """One change, alone, under which the simulated scheduler starts the job sooner."""

    #: The cause that it takes away, one of :data:`.probes.KINDS`.
    kind: str
    #: The same as configured, in words.
    cause: str
    #: The file and the section, or who is to act.
    where: str
    #: What to write or do.
    setting: str
    #: Seconds.
    start: int
    #: Seconds sooner, None where the job never started.
    gain: int | None
    #: The gain times its slots.
    slot_hours: float | None
    #: Whether the job then starts as early as its slots allow.
    reaches: bool
    cost: RemedyCost = RemedyCost()
    #: The same for ``slotwise whatif --set``, "" where it is no setting.
    whatif: str = ""
    #: When it would likely start, by the history.
    likely: Likely | None = None
    #: What the setting is now, as it would be written, "" where that is not known.
    now: str = ""

    @property
    def takes_effect(self) -> str:
        """The command by which the changed lines take effect, "" where there are none."""
        return takes_effect(self.where, self.setting)

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
            "now": self.now,
            "takes_effect": self.takes_effect,
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
    """A job that waits longer than its slots make it wait."""

    job: str
    slots: int
    user: str
    queue: str
    submit: int
    #: Whether it starves; else it waits for what one change would lift.
    starves: bool
    #: The start that the scheduler as configured reaches (seconds), None for never.
    simulated: int | None
    #: When its slots are free together in its turn.
    earliest: int
    #: Whether that is proved.
    proved: bool = False
    #: Where.
    allocation: Mapping[str, int] = field(default_factory=dict)
    #: Jobs behind it in line that start before it.
    passed_by: tuple[str, ...] = ()
    #: Those of them that hold its slots at the earliest time or later.
    overtaken: tuple[str, ...] = ()
    #: What helps, the cause first.
    remedies: tuple[Remedy, ...] = ()
    #: Changes that are often tried and do not help enough.
    too_little: tuple[Remedy, ...] = ()
    #: By the history, as configured.
    likely: Likely | None = None
    #: Why it does not start as configured, "starts" where it does.
    state: State = "starts"
    #: What must happen before it starts, or why it cannot start here.
    condition: str = ""

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
            "state": self.state,
            "condition": self.condition,
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
    """Who starves and why, of all pending jobs."""

    #: Those that starve first, then those that wait for what one change would lift.
    jobs: tuple[WaitingJob, ...]
    #: Jobs that can never start, and why.
    never: tuple[tuple[str, str], ...] = ()
    #: Jobs without a start today and under any rule that was changed, though they fit here: each
    #: with its state and what it waits for.
    undated: tuple[tuple[str, State, str], ...] = ()
    #: How many wait.
    pending: int = 0
    #: Changes that were simulated.
    tried: int = 0
    now: int = 0
    origin: str | None = None
    #: Whether a history was given.
    forecast: bool = False
    #: What ran the cluster forward for it.
    run_by: str = ""
    #: What was odd about it.
    remarks: tuple[str, ...] = ()
    #: What the reader has to know beside it.
    notes: tuple[str, ...] = ()
    #: What is not considered, each with the pending jobs that it touches.
    omissions: tuple[Omission, ...] = ()
    #: A limit or Ctrl-C came before everything had been tried.
    cut: bool = False

    @property
    def impossible(self) -> tuple[str, ...]:
        """Jobs that cannot start on this cluster as they are asked for."""
        return (
            *(item.job for item in self.jobs if item.state == "impossible"),
            *(job for job, _ in self.never),
        )

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
            "impossible": list(self.impossible),
            "never": [{"job": job, "reason": reason} for job, reason in self.never],
            "undated": [
                {"job": job, "state": state, "reason": reason}
                for job, state, reason in self.undated
            ],
            "tried": self.tried,
            "notes": list(self.notes),
            "omissions": [item.to_dict() for item in self.omissions],
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


# --- A diagnosis in sentences that an administrator can forward in a ticket -----------------------

#: Jobs that are named in one sentence.
MOST_NAMED = 3
#: Seconds that make no difference to a person.
SAME = 60
#: Hosts of an allocation that are named.
MOST_HOSTS = 4


@dataclass(frozen=True, slots=True)
class Advised:
    """A remedy in words: what to write, what it gives, what it costs."""

    write: str
    gives: str
    costs: str
    #: To try it.
    whatif: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One job, or several alike, in words."""

    title: str
    #: What happens.
    sentences: tuple[str, ...]
    #: Why, as configured.
    cause: str
    #: What helps.
    remedies: tuple[Advised, ...] = ()
    #: What does not help enough.
    too_little: tuple[Advised, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A diagnosis in words: the answer first, then each job, then what the reader has to know."""

    answer: str
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()


def page_of(instance: Instance, found: Diagnosis) -> Page:
    """The whole diagnosis in words."""
    clock = SpokenTimes(instance)
    groups = list(_alike(found.jobs))
    verdicts = tuple(_verdict(clock, group) for group in groups)
    return Page(_answer(found), verdicts, tuple(_notes(clock, found)))


@dataclass(frozen=True, slots=True)
class SpokenTimes:
    """Times as people say them: the clock of the day, else how long from now."""

    instance: Instance

    def at(self, time: int | None) -> str:
        """``at 13:30``, ``in 3h``, ``now``, ``never``."""
        if time is None:
            return "never"
        if time <= self.instance.now:
            return "now"
        moment = self._moment(time)
        if moment is None:
            return f"in {lasting(time - self.instance.now)}"
        today = self._moment(self.instance.now)
        same = today is not None and moment.date() == today.date()
        return f"at {moment:%H:%M}" if same else f"on {moment:%Y-%m-%d} at {moment:%H:%M}"

    def since(self, time: int) -> str:
        """``since 07:30 (1h 30m)``."""
        waited = lasting(self.instance.now - time)
        moment, today = self._moment(time), self._moment(self.instance.now)
        if moment is None or today is None:
            return f"for {waited}"
        day = "" if moment.date() == today.date() else f"{moment:%Y-%m-%d} "
        return f"since {day}{moment:%H:%M} ({waited})"

    def _moment(self, time: int) -> datetime | None:
        origin = self.instance.origin
        return None if origin is None else wall_clock(origin, time)


# --- the answer -----------------------------------------------------------------------------------


def _answer(found: Diagnosis) -> str:
    stuck, undated = found.impossible, [job for job, _, _ in found.undated]
    if not stuck and not undated:
        return _of_starving(found)
    texts, who = [], f"of {counted(found.pending, 'waiting job')}"
    if stuck:
        names = named(stuck, MOST_NAMED)
        texts.append(f"{len(stuck)} {who} cannot start on this cluster: {names}.")
    if undated:
        verb = "has" if len(undated) == 1 else "have"
        names = named(undated, MOST_NAMED)
        texts.append(f"{len(undated)} {who} {verb} no known start: {names}.")
    rest = [item for item in found.jobs if item.state != "impossible"]
    others = len(stuck) + len(undated)
    if others < found.pending and (rest or not found.cut):
        texts.append(_of_starving(replace(found, jobs=tuple(rest)), others=others))
    return " ".join(texts)


def _of_starving(found: Diagnosis, others: int = 0) -> str:
    """Who starves, of the jobs that can start; others: how many cannot."""
    starving = found.starving
    total = found.pending - others
    found = replace(found, pending=total)
    if others and not starving and not found.cut:
        found = replace(found, never=())
    waiting = len(found.jobs) - len(starving)
    unexplained = sum(not item.remedies for item in found.jobs)
    if starving:
        verb = "starve" if len(starving) > 1 else "starves"
        names = named([item.job for item in starving], MOST_NAMED)
        if not names.lower().startswith("job"):
            names = f"{'jobs' if len(starving) > 1 else 'job'} {names}"
        return f"{len(starving)} of {counted(found.pending, 'waiting job')} {verb}: {names}."
    if found.cut:
        return (
            "Stopped before everything had been looked at; nothing that starves was found so far."
        )
    if not found.pending:
        return "Nothing starves: no job waits."
    who = f"each of the {found.pending} waiting jobs"
    who = "the one waiting job" if found.pending == 1 else who
    text = f"Nothing starves: {who} starts about when its slots are first free in its turn."
    if unexplained:
        some = _some_of(found, unexplained)
        return (
            f"Nothing starves by the configuration. {some} longer than its slots make it wait, and "
            "no single change that was tried helps (below)."
        )
    if waiting:
        some = f"{waiting} of them wait{'s' * (waiting == 1)}"
        some = "It waits" if found.pending == 1 else some
        text += f" {some} long for something that one change would lift (below)."
    return text


def _some_of(found: Diagnosis, count: int) -> str:
    if found.pending == 1:
        return "It waits"
    return f"{count} of the {found.pending} waiting jobs wait{'s' * (count == 1)}"


def _notes(clock: SpokenTimes, found: Diagnosis) -> Iterator[str]:
    for job, reason in found.never[:MOST_NAMED]:
        yield f"{called(job)} cannot start on this cluster: {reason}."
    if len(found.never) > MOST_NAMED:
        yield f"{counted(len(found.never) - MOST_NAMED, 'more job')} cannot start on this cluster."
    for job, state, reason in found.undated[:MOST_NAMED]:
        yield f"{called(job)} {_NO_START[state]}: {reason}."
    if len(found.undated) > MOST_NAMED:
        more = len(found.undated) - MOST_NAMED
        yield f"{counted(more, 'more job')} {'has' if more == 1 else 'have'} no known start."
    yield (
        f"How this was found: the scheduler was simulated from now on, as configured and under "
        f"{counted(found.tried, 'change')}, each alone. Jobs run to their run limits and no new "
        "jobs come."
    )
    if found.forecast and found.run_by:
        yield f"Likely starts are by the history, run by {found.run_by}."
    yield from found.notes
    yield from sentences(found.omissions)
    if found.cut:
        yield "Cut short by the limit: more may starve, and more may help."


# --- one job --------------------------------------------------------------------------------------


def _alike(jobs: Sequence[WaitingJob]) -> Iterator[list[WaitingJob]]:
    """Jobs that the same change helps together, the first of each first."""
    groups: dict[tuple[bool, str], list[WaitingJob]] = {}
    for item in jobs:
        key = item.remedies[0].key if item.remedies else item.job
        groups.setdefault((item.starves, key), []).append(item)
    yield from groups.values()


def _verdict(clock: SpokenTimes, group: list[WaitingJob]) -> Verdict:
    first = group[0]
    word = "starves" if first.starves else "waits, but does not starve"
    if first.state == "impossible":
        word = "cannot start on this cluster"
    if not first.starves and not first.remedies:
        word = "waits longer than its slots make it wait"
    title = f"{called(first.job)} {word}"
    if len(group) > 1:
        verb = "does" if len(group) == 2 else "do"
        title += f", and so {verb} {named([item.job for item in group[1:]], MOST_NAMED)}"
    sentences = [*_what_happens(clock, first), *_likely(clock, first)]
    sentences += _the_others(clock, group[1:])
    cause = "no single change that was tried brings it forward"
    if first.remedies:
        cause = first.remedies[0].cause
    remedies = tuple(_advised(clock, first, item) for item in first.remedies)
    little = tuple(_advised(clock, first, item) for item in first.too_little)
    return Verdict(title, tuple(sentences), _sentence(cause), remedies, little)


def called(job: str) -> str:
    """A job at the beginning of a sentence: its own name where that says that it is a job."""
    return job if job.lower().startswith("job") else f"Job {job}"


def lasting(seconds: int) -> str:
    """A duration without the seconds where it is of ten minutes or more."""
    return duration_text(seconds if abs(seconds) < 600 else round(seconds / 60) * 60)


def _sentence(text: str) -> str:
    """A text that begins with a word of ours: a name keeps its first letter."""
    return f"{_cap(text).removesuffix('.')}."


def _what_happens(clock: SpokenTimes, item: WaitingJob) -> Iterator[str]:
    who = called(item.job)
    asks = f"{counted(item.slots, 'slot')}, queue {item.queue}, user {item.user}"
    yield f"{who} ({asks}) has waited {clock.since(item.submit)}."
    starts = _starts(clock, item)
    together = "its slots are free together" if item.slots > 1 else "its slot is free"
    proof = "proved the earliest" if item.proved else "by time-based reservation"
    if item.cause in IN_LINE | OF_THE_JOB:
        then = clock.at(item.remedies[0].start)
        yield f"As the cluster is configured it {starts}; with one change it would start {then}."
    else:
        later = "" if item.excess is None else f", {lasting(item.excess)} later than need be"
        sign = ";" if item.simulated is None else ":"
        yield (
            f"As the cluster is configured it {starts}{later}{sign} {together} "
            f"{clock.at(item.earliest)} ({proved_text(item, proof)})."
        )
    yield from _passed(item)


def _starts(clock: SpokenTimes, item: WaitingJob) -> str:
    """When it starts as configured, or why it has no start."""
    if item.simulated is not None:
        return f"starts {clock.at(item.simulated)}"
    return f"{_NO_START[item.state]}: {item.condition}".rstrip(": ")


#: What is said of a job that does not start as configured.
_NO_START: Mapping[State, str] = {
    "starts": "does not start",
    "starts if": "starts once something else happens",
    "unknown end": "has no known start",
    "impossible": "cannot start",
    "not examined": "was not examined",
}


def proved_text(item: WaitingJob, proof: str) -> str:
    """How its earliest start is known, and where that would be."""
    hosts = list(item.allocation)
    if not hosts:
        return proof
    if len(hosts) <= MOST_HOSTS:
        return f"{proof}, on {allocation_text(item.allocation)}"
    return f"{proof}, on {len(hosts)} hosts"


def _passed(item: WaitingJob) -> Iterator[str]:
    behind = [job for job in item.passed_by if job not in item.overtaken]
    if item.overtaken:
        who = named(item.overtaken, MOST_NAMED)
        many = len(item.overtaken) > 1
        start = "start" if many else "starts"
        yield (
            f"{counted(len(item.overtaken), 'job')} behind it in line ({who}) {start} before it, "
            "on its slots and past that time."
        )
    if behind:
        also = "also " if item.overtaken else ""
        verb = "start" if len(behind) > 1 else "starts"
        who = named(behind, MOST_NAMED)
        yield f"{counted(len(behind), 'job')} behind it ({who}) {also}{verb} before it."


def _likely(clock: SpokenTimes, item: WaitingJob) -> Iterator[str]:
    if item.likely is not None and item.likely.likely is not None:
        text = f"By the history it starts {clock.at(item.likely.likely)} as often before as after"
        if item.likely.nine_in_ten_by is not None:
            text += f", and nine times in ten by then: {clock.at(item.likely.nine_in_ten_by)}"
        yield f"{text}."


def _the_others(clock: SpokenTimes, others: Sequence[WaitingJob]) -> Iterator[str]:
    for item in others[:MOST_NAMED]:
        best = item.remedies[0]
        yield (
            f"{called(item.job)} ({counted(item.slots, 'slot')}) {_starts(clock, item)}, and with "
            f"the first remedy {clock.at(best.start)}."
        )
    if len(others) > MOST_NAMED:
        yield f"The same holds for {counted(len(others) - MOST_NAMED, 'more job')}."


# --- one remedy -----------------------------------------------------------------------------------


def _advised(clock: SpokenTimes, item: WaitingJob, remedy: Remedy) -> Advised:
    gives = f"{called(item.job)} starts {clock.at(remedy.start)}"
    if remedy.gain is not None and remedy.gain >= SAME:
        gives += f", {lasting(remedy.gain)} sooner"
    elif remedy.gain is not None:
        gives += f", {lasting(-remedy.gain)} later" if remedy.gain <= -SAME else ", as before"
    if remedy.slot_hours and remedy.gain is not None and remedy.gain >= SAME:
        gives += f" ({remedy.slot_hours:.1f} slot-hours)"
    if remedy.reaches and item.starves:
        gives += ": the earliest that it can" if item.proved else ": when its slots are free"
    if (
        remedy.likely is not None
        and remedy.likely.likely is not None
        and remedy.likely != item.likely
    ):
        gives += f"; by the history likely {clock.at(remedy.likely.likely)}"
    if remedy.cost.lost:
        lost = named(remedy.cost.lost, MOST_NAMED)
        gives = f"By it {lost} would never start. {gives}"
    told = [f"now {remedy.now}" if remedy.now else "", remedy.takes_effect]
    behind = "; then ".join(filter(None, told))
    write = f"{remedy.where}: {remedy.setting}" + (f" ({behind})" if behind else "")
    return Advised(write, f"{gives}.", cost_text(remedy.cost), remedy.whatif)


def cost_text(cost: RemedyCost) -> str:
    """What the other jobs pay, in one or two sentences."""
    if not cost.jobs:
        return "No other job waits."
    whose = f"the other {counted(cost.jobs, 'waiting job')}"
    if not cost.longer and not cost.sooner and not cost.lost:
        return f"It costs {whose} nothing: all start as before."
    if cost.lost:
        return _cost_of_lost(cost, whose)
    mean = lasting(abs(round(cost.mean_wait)))
    hours = f"{abs(cost.slot_hours):.1f} slot-hours"
    if round(cost.mean_wait) > 0:
        more = "more" if cost.slot_hours >= 0 else "less"
        text = f"{_cap(whose)} wait {mean} longer on average ({hours} {more} in all)"
    elif round(cost.mean_wait) < 0:
        less = "less" if cost.slot_hours <= 0 else "more"
        text = f"{_cap(whose)} wait {mean} less on average ({hours} {less} in all)"
    else:
        text = f"{_cap(whose)} wait as long as before on average"
    if cost.longer:
        text += f"; longer: {_changes(cost.longer)}"
    if cost.sooner:
        text += f"; less: {_changes(cost.sooner)}"
    return f"{text}."


def _cost_of_lost(cost: RemedyCost, whose: str) -> str:
    """A price without a mean: jobs that never start wait longer than any number says."""
    text = f"Of {whose} {counted(len(cost.lost), 'job')} would never start"
    if cost.longer:
        text += f"; longer wait {_changes(cost.longer)}"
    if cost.sooner:
        text += f"; less wait {_changes(cost.sooner)}"
    return f"{text}."


def _cap(text: str) -> str:
    return text[:1].upper() + text[1:]


def _changes(items: Sequence[WaitChange]) -> str:
    shown = [f"{item.job} by {lasting(abs(item.change or 0))}" for item in items[:MOST_NAMED]]
    more = f" and {len(items) - MOST_NAMED} more" if len(items) > MOST_NAMED else ""
    return ", ".join(shown) + more
