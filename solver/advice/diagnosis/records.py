"""A diagnosis as plain data: starving jobs, the causes as configured, each remedy and its cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from ....model.display import AsData, data_of, duration_text, some, wall_clock, with_stamps
from ....model.escaping import html_table
from ....model.instance import Instance
from ....model.job_table import JobTable
from ....model.omissions import Omission, sentences
from ....model.plan import allocation_text
from ....model.slurm_words import family_text
from ...outlook.outlook import State
from ...pending_reasons import BEYOND_KNOWN, counted
from ..likely import StartQuantiles, times_of
from .probes import IN_LINE, OF_THE_JOB, ChangedLine, takes_effect


@dataclass(frozen=True, slots=True)
class WaitChange(AsData):
    """A pending job under a remedy.

    change: seconds that it waits longer, below 0 sooner; None if one of the two is never.
    """

    job: str
    slots: int
    #: Start of the job as configured (seconds), None if never.
    today: int | None
    #: Start of the job after the change (seconds), None if never.
    then: int | None

    @property
    def change(self) -> int | None:
        """Return the additional seconds of waiting, or None if one of the starts is never."""
        return None if self.today is None or self.then is None else self.then - self.today

    DATA = "job slots simulated=today then change"


@dataclass(frozen=True, slots=True)
class RemedyCost:
    """Cost of a remedy for the other pending jobs."""

    #: Number of other pending jobs.
    jobs: int = 0
    #: Mean additional wait in seconds of the jobs that start both before and after the change.
    mean_wait: float = 0.0
    #: Jobs that wait longer, the largest change first.
    longer: tuple[WaitChange, ...] = ()
    #: Jobs that wait less, the largest change first.
    sooner: tuple[WaitChange, ...] = ()
    #: Sum of the additional hours of waiting, each times the slots of the job.
    slot_hours: float = 0.0
    #: Jobs that start today and would never start.
    lost: tuple[str, ...] = ()
    #: Jobs that do not start today and would start.
    won: tuple[str, ...] = ()
    #: Number of jobs without a start both before and after the change; no mean includes them.
    neither: int = 0
    #: Running jobs that are requeued.
    begin_anew: tuple[str, ...] = ()
    #: Lost work of the requeued jobs, in slot-hours.
    work_lost: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        record = data_of(
            self,
            "other_jobs=jobs mean_wait_change=mean_wait slot_hours wait_longer=longer "
            "wait_less=sooner never_start=lost start_only_then=won start_neither_way=neither",
        )
        if self.lost:
            record["mean_wait_change"] = None
        return record | (data_of(self, "begin_anew work_lost") if self.begin_anew else {})


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change after which alone the simulated scheduler starts the job earlier."""

    #: The cause that it takes away, one of :data:`.probes.KINDS`.
    kind: str
    #: Cause in the configuration, in words.
    cause: str
    #: The file and the section, or the person who acts.
    where: str
    #: Setting to write, or action to take.
    setting: str
    #: Start after the change, in seconds from the origin.
    start: int
    #: Seconds by which the job starts earlier, None if it never started.
    gain: int | None
    #: The gain times the slots of the job, in slot-hours.
    slot_hours: float | None
    #: Whether the job then starts at the instant at which its slots are free.
    reaches: bool
    #: Effect of the change on other jobs.
    cost: RemedyCost = RemedyCost()
    #: Argument for ``slotwise whatif --set``, "" if there is none.
    whatif: str = ""
    #: When it would likely start, by the history.
    likely: StartQuantiles | None = None
    #: The lines to change, and commands.
    lines: tuple[ChangedLine, ...] = ()

    @property
    def now(self) -> str:
        """Return the current text of the first line, "" if unknown."""
        return self.lines[0].now if self.lines else ""

    @property
    def takes_effect(self) -> str:
        """Return the command that makes the changed lines effective, "" if there are no such
        lines.
        """
        return takes_effect(self.lines)

    @property
    def key(self) -> str:
        """Return the key of the change."""
        return f"{self.where}: {self.setting}"

    def to_dict(self, origin: str | None) -> dict[str, Any]:
        """Return the fields as a JSON object; with an origin also an ISO stamp of the start."""
        likely = {} if self.likely is None else dict(times_of(self.likely))
        record = {
            **data_of(self, "kind cause where setting now lines takes_effect whatif? start gain"),
            **data_of(self, "slot_hours reaches_earliest=reaches"),
            **likely,
            "cost": self.cost.to_dict(),
        }
        return with_stamps(record, origin, ("start", *likely))


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """A job that waits longer than its slots require."""

    job: str
    slots: int
    user: str
    queue: str
    #: Submission in seconds from the origin.
    submit: int
    #: Whether the job starves; else it waits for a resource that one change would provide.
    starves: bool
    #: The start that the scheduler as configured reaches (seconds), None if never.
    simulated: int | None
    #: Instant at which its slots are free together, with the jobs before it planned.
    earliest: int
    #: Whether that is proved.
    proved: bool = False
    #: Source of this instant: "time-based" reservation, or a "simulation" as configured without
    #: limits and windows.
    free_by: str = "time-based"
    #: Slots by host at that time.
    allocation: Mapping[str, int] = field(default_factory=dict)
    #: Jobs after it in the dispatch order that start before it.
    passed_by: tuple[str, ...] = ()
    #: Overtaking jobs that use the job's slots at the earliest time or later.
    overtaken: tuple[str, ...] = ()
    #: Changes that help, the cause first.
    remedies: tuple[Remedy, ...] = ()
    #: Changes that are often tried and do not help enough.
    too_little: tuple[Remedy, ...] = ()
    #: By the history, as configured.
    likely: StartQuantiles | None = None
    #: Why it does not start as configured, "starts" where it does.
    state: State = "starts"
    #: Event that the job waits for, or the reason why it cannot start here.
    condition: str = ""

    @property
    def excess(self) -> int | None:
        """Return the seconds that the job waits longer than for free slots; None if it never
        starts.
        """
        return None if self.simulated is None else self.simulated - self.earliest

    @property
    def cause(self) -> str:
        """Return the kind of the first cause, "" if no single change helps."""
        return self.remedies[0].kind if self.remedies else ""

    def to_dict(self, origin: str | None) -> dict[str, Any]:
        """Return the fields as a JSON object; with an origin also ISO stamps of the times."""
        likely = {} if self.likely is None else dict(times_of(self.likely))
        names = (
            "job slots user queue submit starves state condition simulated earliest proved free_by "
            "excess allocation"
        )
        record = data_of(self, names) | {"passed_by": list(self.passed_by)}
        record |= data_of(self, "overtaken cause") | likely
        record |= data_of(self, "remedies too_little", origin)
        return with_stamps(record, origin, ("submit", "simulated", "earliest", *likely))


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis(JobTable[WaitingJob]):
    """The starving jobs among all pending jobs, with causes and remedies."""

    #: Starving jobs first, then jobs that one change would bring forward.
    jobs: tuple[WaitingJob, ...]
    #: Jobs that can never start, and why.
    never: tuple[tuple[str, str], ...] = ()
    #: Jobs that fit here but start neither as configured nor under any tried change: each with its
    #: state and the event it waits for.
    undated: tuple[tuple[str, State, str], ...] = ()
    #: Number of pending jobs.
    pending: int = 0
    #: Changes that were simulated.
    tried: int = 0
    #: The instance's now in seconds from the origin.
    now: int = 0
    #: ISO date of second 0, None if the instance has none.
    origin: str | None = None
    #: Whether a history was given.
    forecast: bool = False
    #: Name of the simulation for the forecasts.
    run_by: str = ""
    #: Remarks on unexpected content of the history.
    remarks: tuple[str, ...] = ()
    #: Further notes for the reader.
    notes: tuple[str, ...] = ()
    #: Omitted rules, each with the pending jobs that it affects.
    omissions: tuple[Omission, ...] = ()
    #: A limit or Ctrl-C came before everything had been tried.
    cut: bool = False

    @property
    def impossible(self) -> tuple[str, ...]:
        """Return the jobs that cannot start on this cluster as requested."""
        return (
            *(item.job for item in self.jobs if item.state == "impossible"),
            *(job for job, _ in self.never),
        )

    @property
    def starving(self) -> tuple[WaitingJob, ...]:
        """Return the jobs that starve."""
        return tuple(item for item in self.jobs if item.starves)

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as a JSON object; times in seconds from the origin, also as ISO
        stamps.
        """
        records = [item.to_dict(self.origin) for item in self.jobs]
        return {
            **data_of(self, "now origin pending"),
            "starving": [record for record in records if record["starves"]],
            "waiting": [record for record in records if not record["starves"]],
            "impossible": list(self.impossible),
            "never": [{"job": job, "reason": reason} for job, reason in self.never],
            "undated": [
                {"job": job, "state": state, "reason": reason}
                for job, state, reason in self.undated
            ],
            **data_of(self, "tried notes omissions"),
            **(data_of(self, "remarks run_by") if self.forecast else {}),
            **data_of(self, "cut?"),
        }

    def _repr_html_(self) -> str:
        """Return the remedies as an HTML table for notebooks; starts from now."""
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
        head = ("job", "", "cause", "what helps", "starts in", "earlier by")
        return html_table(f"{len(self.starving)} of {self.pending} waiting jobs starve", head, rows)


#: Jobs that are named in one sentence.
MAX_NAMED = 3
#: Seconds that make no difference to a person.
SAME = 60
#: Words of a line that are shown.
MAX_WORDS = 40
#: Hosts of an allocation that are named.
MAX_HOSTS = 4


@dataclass(frozen=True, slots=True)
class Advised:
    """A remedy in words: the text to write, its gain and its cost."""

    #: Lines of LSF's files as they are and are to be, and commands, in the order of doing.
    lines: tuple[str, ...]
    #: The command by which they take effect, "" if they do by themselves.
    then: str
    #: Gain by the change, in words.
    gives: str
    #: Cost for the other jobs, in a sentence.
    costs: str
    #: Jobs that wait longer and jobs that wait less.
    whose: str = ""
    #: To try it.
    whatif: str = ""

    @property
    def write(self) -> str:
        """Return the text to write, in one line."""
        return "; ".join([*self.lines, *([f"then {self.then}"] if self.then else ())])


@dataclass(frozen=True, slots=True)
class Verdict:
    """The findings for one job, or for several alike, in words."""

    #: Heading of the verdict.
    title: str
    #: Findings, one sentence each.
    sentences: tuple[str, ...]
    #: Why, as configured.
    cause: str
    #: Jobs that overtake it, and further details.
    details: tuple[str, ...] = ()
    #: Changes that help.
    remedies: tuple[Advised, ...] = ()
    #: Changes that do not help enough.
    too_little: tuple[Advised, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A diagnosis in words: the answer first, then each job, then notes for the reader."""

    #: The answer in one sentence.
    answer: str
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...] = ()
    #: Jobs without a start or without a known start, with the reason; printed before the verdicts.
    facts: tuple[str, ...] = ()


def page_of(instance: Instance, found: Diagnosis) -> Page:
    """Return the whole diagnosis in words."""
    clock = SpokenTimes(instance)
    verdicts = tuple(_verdict(clock, group) for group in _alike(found.jobs))
    page = Page(
        _answer(found), verdicts, tuple(_notes(clock, found, verdicts)), tuple(_facts(found))
    )
    spoken: Page = _in_words(instance, page) if instance.params.scheduler.has_own_words else page
    return spoken


def _in_words(instance: Instance, value: Any) -> Any:
    """Return texts, and records of texts, in the words of the instance's scheduler."""
    if isinstance(value, str):
        return family_text(instance, value)
    if isinstance(value, tuple):
        return tuple(_in_words(instance, item) for item in value)
    names = [item.name for item in fields(value) if item.name != "whatif"]  # keys of a file
    return replace(value, **{name: _in_words(instance, getattr(value, name)) for name in names})


@dataclass(frozen=True, slots=True)
class SpokenTimes:
    """Times as people say them: the clock of the day, else how long from now."""

    instance: Instance

    def at(self, time: int | None) -> str:
        """Return an instant as text: ``at 13:30``, ``in 3h``, ``now`` or ``never``."""
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

    def waited(self, time: int) -> str:
        """Return text such as ``has waited since 07:30 (1h 30m)``."""
        if self.instance.now - time < SAME:
            return "was submitted just now"
        waited = lasting(self.instance.now - time)
        moment, today = self._moment(time), self._moment(self.instance.now)
        if moment is None or today is None:
            return f"has waited for {waited}"
        day = "" if moment.date() == today.date() else f"{moment:%Y-%m-%d} "
        return f"has waited since {day}{moment:%H:%M} ({waited})"

    def _moment(self, time: int) -> datetime | None:
        origin = self.instance.origin
        return None if origin is None else wall_clock(origin, time)


def _answer(found: Diagnosis) -> str:
    stuck, undated = found.impossible, [job for job, _, _ in found.undated]
    undated += [item.job for item in found.jobs if item.condition == BEYOND_KNOWN]
    if not stuck and not undated:
        return _of_starving(found)
    texts, who = [], f"of {counted(found.pending, 'waiting job')}"
    if stuck:
        texts.append(f"{len(stuck)} {who} cannot start on this cluster: {_jobs(stuck)}.")
    if undated:
        verb = "has" if len(undated) == 1 else "have"
        texts.append(f"{len(undated)} {who} {verb} no known start: {_jobs(undated)}.")
    rest = [item for item in found.jobs if item.job not in {*stuck, *undated}]
    others = len(stuck) + len(undated)
    if others < found.pending and (rest or not found.cut):
        texts.append(_of_starving(replace(found, jobs=tuple(rest)), others=others))
    return " ".join(texts)


def _jobs(jobs: Sequence[str]) -> str:
    """Return names such as ``job 110`` or ``jobs 1, 2 and 3 more``; names like ``job7`` stand
    alone.
    """
    names = some(jobs, MAX_NAMED)
    if names.lower().startswith("job"):
        return names
    return f"{'jobs' if len(jobs) > 1 else 'job'} {names}"


def _of_starving(found: Diagnosis, others: int = 0) -> str:
    """Return a sentence on the starving jobs among those that can start; others: number of the
    rest.
    """
    starving = found.starving
    total = found.pending - others
    found = replace(found, pending=total)
    if others and not starving and not found.cut:
        found = replace(found, never=())
    waiting = len(found.jobs) - len(starving)
    unexplained = sum(not item.remedies for item in found.jobs)
    if starving:
        verb = "starve" if len(starving) > 1 else "starves"
        names = _jobs([item.job for item in starving])
        return f"{len(starving)} of {counted(found.pending, 'waiting job')} {verb}: {names}."
    if found.cut:
        return "Stopped before everything was examined; no starving job was found so far."
    if not found.pending:
        left = len({job for item in found.omissions for job in item.unplanned})
        text = f"{counted(left, 'pending job')} {'is' if left == 1 else 'are'} not planned (below)"
        return f"No job was examined: {text}." if left else "Nothing starves: no job is pending."
    if unsure := [item for item in found.omissions if item.jobs != ()]:
        jobs = list(dict.fromkeys(job for item in unsure for job in item.jobs or ()))
        whom = _jobs(jobs) if all(item.jobs for item in unsure) else "the jobs"
        return f"No starving job was found, but not everything of {whom} is modelled (below)."
    who = f"each of the {found.pending} waiting jobs"
    who = "the one waiting job" if found.pending == 1 else who
    text = f"Nothing starves: {who} starts about when its slots are first free in dispatch order."
    if unexplained:
        who = f"{unexplained} of the {found.pending} waiting jobs wait{'s' * (unexplained == 1)}"
        who = "It waits" if found.pending == 1 else who
        return (
            f"Nothing starves because of the configuration. {who} longer than its slots "
            f"require, and no single change that was tried helps (below)."
        )
    if waiting:
        some = f"{waiting} of them wait{'s' * (waiting == 1)}"
        some = "It waits" if found.pending == 1 else some
        text += f" {some} long for a reason that one change would remove (below)."
    return text


def _facts(found: Diagnosis) -> Iterator[str]:
    for job, reason in found.never[:MAX_NAMED]:
        yield f"{called(job)} cannot start on this cluster: {reason}."
    if len(found.never) > MAX_NAMED:
        yield f"{counted(len(found.never) - MAX_NAMED, 'more job')} cannot start on this cluster."
    for job, state, reason in found.undated[:MAX_NAMED]:
        yield f"{called(job)} {_NO_START[state]}: {reason}."
    if len(found.undated) > MAX_NAMED:
        more = len(found.undated) - MAX_NAMED
        yield f"{counted(more, 'more job')} {'has' if more == 1 else 'have'} no known start."


def _notes(clock: SpokenTimes, found: Diagnosis, verdicts: Sequence[Verdict]) -> Iterator[str]:
    changes = f" and under {counted(found.tried, 'change')}, each alone" if found.tried else ""
    yield (
        f"How this was found: the scheduler was simulated from now on, as configured{changes}. "
        f"Jobs run to their run limits, and no new jobs arrive."
    )
    if verdicts:
        cycle = duration_text(clock.instance.params.mbd_sleep_time)
        yield (
            "Times are to the minute. A job starts in the next dispatch cycle after its "
            f"resources are released; cycles are at most {cycle} apart."
        )
    if found.forecast and found.run_by:
        yield f"Likely starts are medians by the history, simulated by {found.run_by}."
    yield from found.notes
    yield from sentences(found.omissions)
    if found.cut:
        yield "Truncated by the limit: more jobs may starve, and more changes may help."


def _alike(jobs: Sequence[WaitingJob]) -> Iterator[list[WaitingJob]]:
    """Yield groups of jobs that one change helps together, the first of each first."""
    groups: dict[tuple[bool, str], list[WaitingJob]] = {}
    for item in jobs:
        key = item.remedies[0].key if item.remedies else item.job
        groups.setdefault((item.starves, key), []).append(item)
    yield from groups.values()


def _verdict(clock: SpokenTimes, group: list[WaitingJob]) -> Verdict:
    first = group[0]
    title = _title(first, group[1:])
    sentences = [*_what_happens(clock, first), *_likely(clock, first)]
    sentences += _the_others(clock, group[1:])
    cause = "no single change that was tried makes it start earlier"
    if first.remedies:
        cause = first.remedies[0].cause
    if _asks_too_much(first):
        cause = first.condition
    remedies = tuple(advised(clock, first, item) for item in first.remedies)
    little = tuple(advised(clock, first, item) for item in first.too_little)
    details = tuple(_passed(first))
    why = f"{_cap(cause).removesuffix('.')}."
    return Verdict(title, tuple(sentences), why, details, remedies, little)


def _title(first: WaitingJob, others: Sequence[WaitingJob]) -> str:
    """Return the title: the fate of the first job, and whether the other jobs share it."""
    nowhere = first.state == "impossible"
    alike = [item.job for item in others if (item.state == "impossible") == nowhere]
    other = [item.job for item in others if item.job not in alike]
    word = "starves" if first.starves else "waits, but does not starve"
    if not first.starves and not first.remedies:
        word = "waits longer than its slots require"
    also = f", and so {'does' if len(alike) == 1 else 'do'}"
    if nowhere:
        word, also = "cannot start on this cluster", ", nor can"
    title = f"{called(first.job)} {word}"
    if alike:
        title += f"{also} {some(alike, MAX_NAMED)}"
    if other:
        title += f"; the same change helps {some(other, MAX_NAMED)}"
    return title


def _asks_too_much(item: WaitingJob) -> bool:
    """Return whether the request alone makes the job infeasible on this cluster."""
    return item.state == "impossible" and item.cause in OF_THE_JOB


def called(job: str) -> str:
    """Return a job as the beginning of a sentence: its name alone if the name says that it is a
    job.
    """
    return job if job.lower().startswith("job") else f"Job {job}"


def lasting(seconds: int) -> str:
    """Return a duration as text, rounded to minutes if it is at least one."""
    return duration_text(seconds if abs(seconds) < SAME else round(seconds / 60) * 60)


def _what_happens(clock: SpokenTimes, item: WaitingJob) -> Iterator[str]:
    who = called(item.job)
    asks = f"{counted(item.slots, 'slot')}, queue {item.queue}, user {item.user}"
    yield f"{who} ({asks}) {clock.waited(item.submit)}."
    starts = "cannot start" if _asks_too_much(item) else _starts(clock, item)
    if item.cause in IN_LINE | OF_THE_JOB:
        then = clock.at(item.remedies[0].start)
        yield f"As the cluster is configured it {starts}; with one change it would start {then}."
        return
    later = "" if item.excess is None else f", {lasting(item.excess)} later than necessary"
    sign = ";" if item.simulated is None else ":"
    yield f"As the cluster is configured it {starts}{later}{sign} {_together(clock, item)}."


_FREE_BY = {
    "time-based": "by time-based reservation",
    "simulation": "as simulated without limits and windows",
}


def _together(clock: SpokenTimes, item: WaitingJob) -> str:
    """Return when and where the slots are free together, regardless of rules."""
    shut = [host.name for host in clock.instance.cluster.hosts if not host.takes_jobs]
    needed = [host for host in shut if host in item.allocation]
    proof = "proved the earliest" if item.proved else _FREE_BY[item.free_by]
    if hosts := list(item.allocation):
        few = len(hosts) <= MAX_HOSTS
        proof += f", on {allocation_text(item.allocation) if few else f'{len(hosts)} hosts'}"
    if needed:
        free = "would be free together" if item.slots > 1 else "would be free"
        back = f"with {some(needed)} open "
    else:
        free = "are free together" if item.slots > 1 else "is free"
        back = ""
    slots = "its slots" if item.slots > 1 else "its slot"
    return f"{back}{slots} {free} {clock.at(item.earliest)} ({proof})"


def _starts(clock: SpokenTimes, item: WaitingJob) -> str:
    """Return the start as configured, or the reason why there is none."""
    if item.simulated is not None:
        return f"starts {clock.at(item.simulated)}"
    return f"{_NO_START[item.state]}: {item.condition}".rstrip(": ")


#: Messages for a job that does not start as configured, by state.
_NO_START: Mapping[State, str] = {
    "starts": "does not start",
    "starts if": "starts once another event occurs",
    "unknown end": "has no known start",
    "impossible": "cannot start",
    "not examined": "was not examined",
}


def _passed(item: WaitingJob) -> Iterator[str]:
    behind = [job for job in item.passed_by if job not in item.overtaken]
    if item.overtaken:
        who = some(item.overtaken, MAX_NAMED)
        many = len(item.overtaken) > 1
        start = "start" if many else "starts"
        yield (
            f"{counted(len(item.overtaken), 'job')} behind it in the dispatch order ({who}) "
            f"{start} before it, on its slots and beyond that time."
        )
    if behind:
        also = "also " if item.overtaken else ""
        verb = "start" if len(behind) > 1 else "starts"
        who = some(behind, MAX_NAMED)
        yield f"{counted(len(behind), 'job')} behind it ({who}) {also}{verb} before it."


def _likely(clock: SpokenTimes, item: WaitingJob) -> Iterator[str]:
    if item.likely is not None and item.likely.likely is not None:
        text = f"By the history, the median start is {clock.at(item.likely.likely)}"
        if item.likely.nine_in_ten_by is not None:
            text += f", and the 90th percentile is {clock.at(item.likely.nine_in_ten_by)}"
        yield f"{text}."


def _the_others(clock: SpokenTimes, others: Sequence[WaitingJob]) -> Iterator[str]:
    for item in others[:MAX_NAMED]:
        best = item.remedies[0]
        yield (
            f"{called(item.job)} ({counted(item.slots, 'slot')}) {_starts(clock, item)}, and with "
            f"the first remedy {clock.at(best.start)}."
        )
    if len(others) > MAX_NAMED:
        yield f"Likewise for {counted(len(others) - MAX_NAMED, 'more job')}."


def advised(clock: SpokenTimes, item: WaitingJob, remedy: Remedy) -> Advised:
    """Return a remedy of a job in words."""
    gives = f"{called(item.job)} starts {clock.at(remedy.start)}"
    if remedy.gain is not None and remedy.gain >= SAME:
        gives += f", {lasting(remedy.gain)} earlier"
    elif remedy.gain is not None:
        gives += f", {lasting(-remedy.gain)} later" if remedy.gain <= -SAME else ", as before"
    if remedy.slot_hours and remedy.gain is not None and remedy.gain >= SAME:
        gives += f" ({remedy.slot_hours:.1f} slot-hours)"
    if remedy.reaches and item.starves:
        gives += ": its earliest possible start" if item.proved else ": when its slots are free"
    if (
        remedy.likely is not None
        and remedy.likely.likely is not None
        and remedy.likely != item.likely
    ):
        gives += f"; by the history likely {clock.at(remedy.likely.likely)}"
    if remedy.cost.lost:
        lost = some(remedy.cost.lost, MAX_NAMED)
        gives = f"With it, {lost} would never start. {gives}"
    lines = tuple(map(_shortened, remedy.lines)) or (f"{remedy.where}: {remedy.setting}",)
    costs, whose = cost_text(remedy.cost), cost_details(remedy.cost)
    return Advised(lines, remedy.takes_effect, f"{gives}.", costs, whose, remedy.whatif)


def _shortened(line: ChangedLine) -> str:
    """Return a changed line as text; of very many hosts, only the first are named."""
    words = str(line).split(" ")
    if len(words) <= MAX_WORDS:
        return str(line)
    return f"{' '.join(words[:MAX_WORDS])} … ({len(words) - MAX_WORDS} more: --format json)"


def cost_text(cost: RemedyCost) -> str:
    """Return the cost for the other jobs, in one or two sentences."""
    again = _begun_anew(cost)
    if not cost.jobs:
        return f"No other job waits.{again}"
    many = cost.jobs > 1
    whose = f"the other {cost.jobs} waiting jobs" if many else "the other waiting job"
    if cost.lost or cost.won or cost.neither:
        return f"{' '.join(_with_and_without_start(cost, whose))}{again}"
    if not cost.longer and not cost.sooner:
        start = "all start" if many else "it starts"
        return f"It does not delay {whose}: {start} as before.{again}"
    return f"{_cap(whose)} {_mean(cost, many)}.{again}"


def _mean(cost: RemedyCost, many: bool) -> str:
    """Return the mean extra wait, or the single one if only one job waits longer."""
    wait, average = ("wait", " on average") if many else ("waits", "")
    if abs(cost.mean_wait) < SAME:
        return f"{wait} about as long as before{average}"
    more = "longer" if cost.mean_wait > 0 else "less"
    return f"{wait} {lasting(abs(round(cost.mean_wait)))} {more}{average}"


def _with_and_without_start(cost: RemedyCost, whose: str) -> Iterator[str]:
    """Yield the cost if some jobs never start, which no mean expresses."""
    if cost.jobs == cost.neither == 1:
        yield f"{_cap(whose)} does not start with or without it."
        return
    told = []
    if cost.lost:
        told.append(f"{some(cost.lost, MAX_NAMED)} would never start")
    if cost.won:
        told.append(f"{some(cost.won, MAX_NAMED)} would start only with it")
    if cost.neither:
        told.append(f"{cost.neither} start{'s' * (cost.neither == 1)} in neither case")
    yield f"Of {whose} {'; '.join(told)}."
    rest = cost.jobs - sum(map(len, (cost.lost, cost.won))) - cost.neither
    if rest > 0:
        what = "as before" if not cost.longer and not cost.sooner else ""
        verb = ("starts " if rest == 1 else "start ") + what if what else _mean(cost, rest > 1)
        yield f"The {'other one' if rest == 1 else f'other {rest}'} {verb}."


def _begun_anew(cost: RemedyCost) -> str:
    """Return the running jobs that are requeued and lose their work."""
    if not cost.begin_anew:
        return ""
    verb = "begins" if len(cost.begin_anew) == 1 else "begin"
    who = some(cost.begin_anew, MAX_NAMED)
    return f" {who} {verb} again, which loses {cost.work_lost:.1f} slot-hours of work."


def cost_details(cost: RemedyCost) -> str:
    """Return which jobs wait longer and which less, "" if there are none."""
    if not cost.longer and not cost.sooner:
        return ""
    more = "more" if cost.slot_hours >= 0 else "less"
    text = f"In total, {abs(cost.slot_hours):.1f} slot-hours {more}"
    if cost.longer:
        text += f"; longer: {_changes(cost.longer)}"
    if cost.sooner:
        text += f"; less: {_changes(cost.sooner)}"
    return f"{text}."


def _cap(text: str) -> str:
    return text[:1].upper() + text[1:]


def _changes(items: Sequence[WaitChange]) -> str:
    changes = ((item.job, abs(item.change or 0)) for item in items)
    texts = (
        f"{job} by {'less than a minute' if change < SAME else lasting(change)}"
        for job, change in changes
    )
    return some(texts, MAX_NAMED)
