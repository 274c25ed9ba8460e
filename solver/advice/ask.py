"""Start of a job submitted by bsub, and other options that would start it earlier."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

from ...model.display import MINUTE, data_of, duration_text, with_stamps
from ...model.duration import expected_duration
from ...model.errors import InputError, Problem
from ...model.escaping import html_table
from ...model.formats.submit import (
    Submission,
    refusals,
    submission,
    with_rejections,
    with_unnamed_user,
    without_effect,
)
from ...model.formats.units import parse_duration
from ...model.instance import Instance
from ...model.job import Job
from ...model.job_table import OneLine
from ...model.omissions import Omission
from ...model.plan import PlannedArray
from ...model.progress import OnProgress
from ...model.resreq import effective_requirement
from ...model.resreq.syntax import Simple
from ...model.sources.slurm.sbatch import is_sbatch, limited, sbatch_submission
from ..availability.usage import FOREVER
from ..budget import Deadline, OutOfTime
from ..forecast.history import History
from ..outlook.outlook import JobOutlook
from .likely import TIMES, USUAL, Drawing, Forecaster, StartQuantiles, remarks_of, times_of
from .suggestions import (
    Suggestion,
    Trials,
    best_of,
    closed_hosts,
    cut_short,
    gpu_edits,
    is_compound,
    is_useful,
    limit_text,
    section,
    start_to_beat,
    tiles,
    with_limit,
    with_queue,
    with_section,
    with_slots,
)
from .what_if import Method, StartAnswer, WhatIfPlanner, earliest_demand, stated_by

#: Maximum number of combinations of listed alternatives.
MAX_ALTERNATIVES = 1000
_MORE = ("start", "waits for")
#: Word for "without this option".
NONE = "none"


@dataclass(frozen=True, slots=True)
class Choice:
    """One set of submission options: the changed ones, and the start they give."""

    #: Changed options: option ("slots", "ptile", "limit", "cu", "queue", "gpu") to its value as
    #: text.
    changed: Mapping[str, str]
    #: All options of the choice as text, for a table.
    shown: Mapping[str, str]
    #: Start with these options.
    answer: StartAnswer
    #: Reason why the queue would reject the job, "" if it accepts it.
    refused: str = ""
    #: Forecast start of the choice, None if not requested.
    likely: StartQuantiles | None = None

    @property
    def start(self) -> int | None:
        """Return the start in seconds from the origin, None if the job has none."""
        return self.answer.start

    @property
    def finish(self) -> int | None:
        """Return the end in seconds from the origin, None if unknown."""
        return self.answer.finish

    @property
    def allocation(self) -> Mapping[str, int]:
        """Return the slots by host, empty without a start."""
        return self.answer.allocation

    @property
    def proved(self) -> bool:
        """Return whether no earlier start is possible."""
        return self.answer.proved


@dataclass(frozen=True, slots=True, repr=False)
class Answer(OneLine):
    """The start of the requested line and of its alternatives, the earliest alternative first."""

    #: The requested line.
    line: Choice
    #: Alternatives with their starts.
    alternatives: tuple[Choice, ...]
    #: Method of the starts, such as "configured".
    method: str
    #: Number of alternatives planned. With `explore`, only those that start earlier are kept.
    tried: int
    #: Whether alternatives were chosen by the search (`explore`).
    explored: bool = False

    #: The instance's now in seconds from its origin.
    now: int = 0
    #: ISO date of second 0, None if the instance has none.
    origin: str | None = None
    #: Whether a history was given.
    forecast: bool = False
    #: Remarks on unexpected content of the history.
    remarks: tuple[str, ...] = ()
    #: Name of the simulation for the forecasts.
    run_by: str = ""
    #: Options of the bsub line without influence on its start.
    passed_over: tuple[str, ...] = ()
    #: Conditions of the job's requirement that hold on some hosts only.
    requirement: tuple[str, ...] = ()
    #: Suggestions to reopen closed or failed hosts that would start the job earlier.
    suggestions: tuple[Suggestion, ...] = ()
    #: Whether a limit or Ctrl-C stopped the search before everything was tried.
    refrained: bool = False
    #: Elements with a start if the line is a job array, else None; the line and its alternatives
    #: then describe the first element.
    array: PlannedArray | None = None
    #: Number of elements of the array, 1 for any other job.
    elements: int = 1
    #: Parts of the bsub line that have no effect, with the reason.
    notes: tuple[str, ...] = ()
    #: Assumed values, as none are given.
    assumed: tuple[str, ...] = ()
    #: The three starts of the line: as configured, LSF's estimate and possible; for an array, of
    #: the first element.
    outlook: JobOutlook | None = None

    def _about(self) -> str:
        tried = f"{len(self.alternatives)} alternatives of {self.tried}"
        return f"{self.method}: start {self.line.start}, {tried}"

    @property
    def start(self) -> int | None:
        """Return the start of the requested job in seconds from the origin, None without one."""
        return self.line.start

    @property
    def options(self) -> tuple[str, ...]:
        """Return the options of the table; GPUs only if the line requests some."""
        return OPTIONS if self.line.shown["gpu"] else OPTIONS[:-1]

    @property
    def omissions(self) -> tuple[Omission, ...]:
        """Return the rules that the start omits, and the options of the line without influence
        on it.
        """
        what = f"{', '.join(self.passed_over)} (no effect on the start)"
        quiet = (Omission(what, jobs=()),) if self.passed_over else ()
        assumed = (Omission(what, jobs=(), mark="assumed") for what in self.assumed)
        notes = (Omission(note, jobs=()) for note in self.notes)
        return (*self.line.answer.omissions, *assumed, *notes, *quiet)

    @property
    def cut(self) -> bool:
        """Return whether a limit or Ctrl-C stopped a plan of the answer before it examined every
        job.
        """
        return self.refrained or any(
            choice.answer.cut or (choice.likely is not None and choice.likely.cut)
            for choice in (self.line, *self.alternatives)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as a JSON object; times in seconds from the origin, also as ISO
        stamps.
        """
        return {
            **data_of(self, "now origin method"),
            "line": _record(self, self.line),
            **data_of(self, "outlook?", self.origin),
            **({} if self.elements == 1 else {"array": _array_record(self)}),
            "alternatives": [_record(self, item) for item in self.alternatives],
            **data_of(self, "tried requirement suggestions omissions", self.origin),
            **(data_of(self, "remarks") if self.forecast else {}),
            **({"cut": True} if self.refrained else {}),
        }

    def _repr_html_(self) -> str:
        """Return the answer as an HTML table for notebooks, the line first; starts from now."""
        rows = []
        for item in (self.line, *self.alternatives):
            start = item.answer.start
            shown = "none" if start is None else duration_text(start - self.now)
            values = [item.shown[name] for name in self.options]
            rows.append((*values, shown, item.refused or item.answer.waits_for))
        return html_table(
            f"as requested, and alternatives ({self.method})", (*self.options, *_MORE), rows
        )


def _record(whole: Answer, item: Choice) -> dict[str, Any]:
    """Return the options of a choice, and its start."""
    answer = item.answer
    found = {
        **item.shown,
        "user": answer.job.user,
        "changed": dict(item.changed),
        "start": answer.start,
        "wait": None if answer.start is None else answer.start - whole.now,
        "finish": answer.finish,
        **(times_of(item.likely) if whole.forecast else {}),
        **data_of(answer, "allocation proved waits_for"),
        **answer.unknown(),
    }
    return with_stamps(found, whole.origin, ("start", "finish", "at_the_earliest", *TIMES))


def _array_record(answer: Answer) -> dict[str, Any]:
    """Return the starts of the array's elements: the first, the middle, the last, and each."""
    whole = answer.array
    told = {"elements": answer.elements, "placed": 0 if whole is None else len(whole.elements)}
    if whole is None:
        return told
    starts = [item.start for item in whole.elements]
    return {**told, **whole.starts(answer.origin), "starts": starts}


@dataclass(frozen=True, slots=True)
class Choices:
    """Alternatives to try, in all combinations; an empty tuple keeps the option of the line."""

    #: Values of -n.
    slots: Sequence[int] = ()
    #: Slots per host, None: no span.
    ptile: Sequence[int | None] = ()
    #: Values of -W in seconds.
    limit: Sequence[int] = ()
    #: Contents of cu[], None: no section.
    cu: Sequence[str | None] = ()
    #: Values of -q.
    queue: Sequence[str] = ()
    #: Values of -gpu.
    gpu: Sequence[str] = ()

    @classmethod
    def read(cls, **texts: str | Sequence[str]) -> Choices:
        """Return the choices of comma lists as typed, such as ``slots="4,8"`` or
        ``limit="1:00,2:00"``.

        Contents of cu[] keep their colons; ``none`` means without the option. Raises InputError
        with every invalid value.
        """
        found: dict[str, list[Any]] = {}
        problems: list[Problem] = []
        for name, text in texts.items():
            listed = [text] if isinstance(text, str) else text
            for word in (word.strip() for item in listed for word in item.split(",")):
                try:
                    found.setdefault(name, []).append(_OPTIONS[name].read(word))
                except ValueError as error:
                    problems.append(Problem(str(error), path=f"--{name}"))
        if problems:
            raise InputError(problems)
        return cls(**{name: tuple(dict.fromkeys(values)) for name, values in found.items()})


def ask(
    instance: Instance,
    line: str | Job,
    *,
    choices: Choices | None = None,
    explore: bool = False,
    user: str = "",
    from_host: str = "",
    method: Method = "configured",
    time_limit: float | None = None,
    effort: float | None = None,
    margin: int = 0,
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
    history: History | str | Path | None = None,
    drawing: Drawing = USUAL,
    script: str | None = None,
    script_name: str = "",
) -> Answer:
    """Return when the job of a bsub or sbatch line, or a Job, would start if submitted now.

    Earlier jobs keep the starts that the method plans for them; jobs of queues with lower priority
    come after the new job. choices: alternatives to try, in all combinations. explore: search for
    alternatives. user, from_host: submitting user and host. method, time_limit, effort, margin,
    cancel, on_progress: as in :func:`slotwise.explain`. history: finished jobs, or a log of them,
    for forecast starts. drawing: their settings. script: text of the job script (``bsub <
    job.lsf``). script_name: its name in messages. Raises InputError for a bad line or history.
    """
    names = {"user": user, "from_host": from_host, "script_name": script_name}
    submitted = submission_of(instance, line, script, **names)
    whole = Deadline(time_limit, cancel)
    forecaster = Forecaster.of(instance, history, drawing, time_limit, whole)
    asker = WhatIfPlanner(
        instance, method, time_limit=time_limit, effort=effort, margin=margin, cancel=whole,
        on_progress=on_progress)  # fmt: skip
    jobs = submitted.jobs
    planned = None if submitted.array is None else asker.elements(submitted.job.id, jobs)
    asked = Choice({}, _shown(instance, jobs[0]), asker.answer_with_omissions(jobs[0]))
    bench = _tried(_OptionSearch(asker, jobs[0], asked, submitted.quiet), choices, explore)
    outlook = asker.outlook(jobs[0])
    tried = [replace(asked, answer=stated_by(outlook, asked.answer)), *bench.stated(choices)]
    if not user and isinstance(line, str):
        outlook, tried = _of_unnamed_user(outlook, tried)
    items = _with_forecasts(tried, forecaster)
    return Answer(
        *(items[0], tuple(items[1:]), method, len(bench.found), explore),
        now=instance.now,
        origin=instance.origin,
        passed_over=without_effect(instance, jobs[0], submitted.quiet),
        notes=submitted.notes,
        assumed=submitted.assumed,
        outlook=outlook,
        requirement=asker.fails(tried[0].answer),
        suggestions=_hosts_back(asker, tried[0].answer),
        refrained=asker.refrained,
        array=planned,
        elements=len(jobs),
        forecast=forecaster is not None,
        **remarks_of(forecaster),
    )


def _of_unnamed_user(
    outlook: JobOutlook, items: Iterable[Choice]
) -> tuple[JobOutlook, list[Choice]]:
    """Return both with texts about the submitting user that ask for the name of the user."""
    found = []
    for item in items:
        answer = replace(item.answer, waits_for=with_unnamed_user(item.answer.waits_for))
        found.append(replace(item, answer=answer, refused=with_unnamed_user(item.refused)))
    return replace(outlook, condition=with_unnamed_user(outlook.condition)), found


def submission_of(
    instance: Instance, line: str | Job, script: str | None, **names: str
) -> Submission:
    """Return the jobs that a bsub or sbatch line, a script or a job submits."""
    if not isinstance(line, (str, Job)):
        raise InputError(f"line: must be a string such as 'bsub -n 8', or a Job, not {line!r}")
    text = line if isinstance(line, str) else ""
    if isinstance(line, str) and not text.strip():  # a script alone may be of either scheduler
        text = script or ""
    if text and is_sbatch(text):
        user, script_name = names["user"], names["script_name"]
        return sbatch_submission(instance, text, user=user, script=script, script_name=script_name)
    found = submission(instance, line, script=script, **names)
    is_job = isinstance(line, Job)
    return replace(found, job=with_rejections(instance, found.job, ())) if is_job else found


def _hosts_back(asker: WhatIfPlanner, asked: StartAnswer) -> tuple[Suggestion, ...]:
    """Return suggestions to reopen closed or failed hosts that would start the job earlier."""
    if asked.start == asker.instance.now or asked.cut:
        return ()
    hosts = closed_hosts(asker, asked.job, start_to_beat(asker, asked))
    return best_of(hosts, asked, asker)


def _tried(bench: _OptionSearch, choices: Choices | None, explore: bool) -> _OptionSearch:
    """Return the search after all requested alternatives, or after those that the time allows."""
    if choices is not None:
        bench.try_all(choices)
    if explore and not bench.forecast.stopped():
        try:
            bench.explore()
        except OutOfTime:
            bench.forecast.refrained = True
    return bench


def _with_forecasts(items: list[Choice], forecaster: Forecaster | None) -> list[Choice]:
    """Return the choices with their likely starts; a refused choice has none."""
    if forecaster is None:
        return items
    taken = [item for item in items if not item.refused]
    likely = iter(forecaster.of_others([item.answer.job for item in taken]))
    return [
        replace(item, likely=StartQuantiles(None, None, None) if item.refused else next(likely))
        for item in items
    ]


@dataclass(slots=True)
class _OptionSearch:
    forecast: WhatIfPlanner
    job: Job
    asked: Choice
    #: Submitted options without effect on the start.
    quiet: tuple[str, ...] = ()
    found: dict[tuple[tuple[str, str], ...], Choice] = field(default_factory=dict)
    kept: set[tuple[tuple[str, str], ...]] = field(default_factory=set)

    def stated(self, choices: Choices | None) -> list[Choice]:
        """Return all requested choices, or those that start earlier; each with its state if it has
        no start.
        """
        stated = self.forecast.stated
        return [
            item if item.refused else replace(item, answer=stated(item.answer))
            for item in (self.without_repeats() if choices is None else self.ranked())
        ]

    def try_all(self, choices: Choices) -> None:
        """Try every combination of the listed values.

        Raises InputError for too many, and for -n, span and cu of a compound requirement.
        """
        lists = [[(name, value) for value in getattr(choices, name)] for name in OPTIONS]
        used = [values for values in lists if values]
        count = math.prod(map(len, used))
        if count > MAX_ALTERNATIVES:
            raise InputError(f"{count} combinations are too many: give at most {MAX_ALTERNATIVES}")
        if is_compound(self.job) and (choices.slots or choices.ptile or choices.cu):
            raise InputError(
                "a compound requirement fixes -n, span and cu: give only --limit and --queue"
            )
        for combination in product(*used):
            self._try(dict(combination), keep=True)

    def explore(self) -> None:
        """Try changes of one option, then pairs of changes; keep those that start earlier than
        the line.
        """
        to_beat = start_to_beat(self.forecast, self.asked.answer)
        singles = [
            {name: value} for name, values in self._candidate_values().items() for value in values
        ]
        tried = [(change, self._try(change)) for change in singles]
        usable = [(change, item) for change, item in tried if item is not None]
        for (one, first), (two, second) in combinations(usable, 2):
            if not one.keys() & two.keys():
                best = min(first.answer.when, second.answer.when)
                if best > self.forecast.instance.now:
                    pair = self._try({**one, **two}, keep=False)
                    if pair is not None and pair.answer.when < min(best, to_beat):
                        self.kept.add(_key(pair.changed))
        for _, item in usable:
            if item.answer.when < to_beat:
                self.kept.add(_key(item.changed))

    def ranked(self) -> list[Choice]:
        """Return the kept choices by start, then by the number of changed options."""
        kept = [item for key, item in self.found.items() if key in self.kept]
        return sorted(kept, key=lambda item: (item.answer.when, len(item.changed)))

    def without_repeats(self) -> Iterator[Choice]:
        """Yield one choice for each set of changed options and start: the nearest to the line."""
        seen = set()
        for item in self.ranked():
            sight = (tuple(item.changed), item.answer.start)
            if sight not in seen:
                seen.add(sight)
                yield item

    def _try(self, change: Mapping[str, Any], *, keep: bool = False) -> Choice | None:
        """Plan one alternative and return it; None if it equals the line."""
        instance = self.forecast.instance
        job = self.job
        for name, value in change.items():
            job = _OPTIONS[name].apply(job, value)
        before, after = self.asked.shown, _shown(instance, job)
        changed = {name: after[name] for name in OPTIONS if after[name] != before[name]}
        if not changed:
            return None
        key = _key(changed)
        if key not in self.found:
            job, beyond = limited(instance, self.job, with_rejections(instance, job, self.quiet))
            refused = "; ".join((*refusals(instance, job), *filter(None, [beyond])))
            if not refused and not keep:
                refused = cut_short(instance, job, self.job.queue)
            stopped = self.forecast.stopped()
            if refused:
                answer = StartAnswer(job, None, waits_for=refused)
            elif stopped:
                answer = StartAnswer.unexamined(job, "not tried: stopped")
            else:
                answer = self._answer(job, exactly=keep)
            self.found[key] = Choice(changed, after, answer, refused)
        if keep:
            self.kept.add(key)
        return self.found[key]

    def _answer(self, job: Job, *, exactly: bool) -> StartAnswer:
        start = self.asked.answer.start
        if exactly or start is None:
            return self.forecast.answer(job)
        return self.forecast.answer_if_earlier(job, start)

    def _candidate_values(self) -> dict[str, list[Any]]:
        """Return the values to try for each option."""
        instance, job = self.forecast.instance, self.job
        found: dict[str, list[Any]] = {"limit": self._limits()}
        if not is_compound(job):
            parts = dict.fromkeys((job.slots // 2, job.slots // 4, 1))
            found["slots"] = [n for n in parts if n and is_useful(n, job.slots)]
            own = int(self.asked.shown["ptile"]) if self.asked.shown["ptile"].isdigit() else 0
            near = sorted(tiles(instance, job), key=lambda tile: abs(tile - own))
            found["ptile"] = [*near, None] if job.slots > 1 else []
            if instance.cluster.has_units_of():
                found["cu"] = [None, "maxcus=1", "maxcus=2", "balance"]
            elif section(job, "cu") is not None:
                found["cu"] = [None]
        found["gpu"] = [text for _, text in gpu_edits(job)]
        found["queue"] = [queue.name for queue in instance.queues]
        return {name: found[name] for name in OPTIONS if name in found}

    def _limits(self) -> list[int]:
        """Return run limits to try: half, a quarter, and the longest limits with the earliest
        starts.
        """
        view = self.forecast.view(self.job)
        demand = earliest_demand(view, self.forecast.demands(view, self.job), self.job)
        own = expected_duration(self.forecast.instance, self.job)
        found: list[int] = []
        if not demand.impossible:
            start = self.asked.answer.start
            limit = FOREVER if start is None else start
            longest = Trials(self.forecast, view, demand, limit).limits()
            limits = [minutes * MINUTE for minutes, _ in longest]
            # A limit that changes the line strongly is used only if no milder one helps.
            found += [n for n in limits if own is None or is_useful(n, own)] or limits
        if own is not None:
            found += [own // part // MINUTE * MINUTE for part in (2, 4)]
        return sorted({seconds for seconds in found if seconds >= MINUTE}, reverse=True)


def _key(changed: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(changed.items())


def _with_tile(job: Job, tile: int | None) -> Job:
    """Return the job with span[ptile=tile]; None: with span[hosts=-1], which cancels any span.

    The queue's span is cancelled, too.
    """
    return with_section(job, "span", "hosts=-1" if tile is None else f"ptile={tile}")


def _shown(instance: Instance, job: Job) -> dict[str, str]:
    """Return the options of a job as text, with the effects of queue and application."""
    shown = {
        "slots": str(job.slots) if job.max_slots is None else f"{job.slots},{job.max_slots}",
        "ptile": "",
        "limit": "",
        "cu": section(job, "cu") or "",
        "queue": job.queue,
        "gpu": job.gpu,
    }
    try:
        duration = expected_duration(instance, job)
        requirement = effective_requirement(instance, job).requirement
    except (InputError, KeyError):  # a choice that LSF would reject, such as an unknown queue
        return shown
    shown["limit"] = "" if duration is None else limit_text(duration)
    if isinstance(requirement, Simple) and requirement.span is not None:
        span = requirement.span
        alone = "one host" if span.hosts == 1 else ""
        blocks = f"block={span.block}" if span.block else ""
        shown["ptile"] = alone or ("!" if span.ptile_max else str(span.ptile or blocks))
    return shown


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text)):
        raise ValueError(f"must be whole numbers of 1 or more such as 4,8, not {text!r}")
    return int(text)


def _limit(text: str) -> int:
    seconds = parse_duration(text, MINUTE)
    if seconds < 1:
        raise ValueError(f"must be more than 0, not {text!r}")
    return seconds


def _name(text: str) -> str:
    if not text:
        raise ValueError("must be names such as a,b, not an empty name")
    return text


def _or_none(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a reader that also accepts the word for "without this option"."""
    return lambda text: None if text == NONE else read(text)


class _Option(NamedTuple):
    """A submission option that may vary."""

    #: Reads a value as typed; raises ValueError for an invalid one.
    read: Callable[[str], Any]
    #: Returns the job with a value.
    apply: Callable[[Job, Any], Job]


#: In the order of the table columns.
_OPTIONS = {
    "slots": _Option(_number, with_slots),
    "ptile": _Option(_or_none(_number), _with_tile),
    "limit": _Option(_limit, with_limit),
    "cu": _Option(_or_none(_name), lambda job, content: with_section(job, "cu", content)),
    "queue": _Option(_name, with_queue),
    "gpu": _Option(_name, lambda job, text: replace(job, gpu=text)),
}
OPTIONS = tuple(_OPTIONS)
