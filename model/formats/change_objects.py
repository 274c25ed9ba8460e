"""Changes made in memory, held to the rules of files of changes.

Each by itself: its class and what its fields hold, asked of the types that read a file. Then the
names in it, and every job as it is submitted or changed, which must pass like a job of an instance
(:mod:`.objects`). Paths lead from the list to what is wrong: ``changes[3].job.slots``.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from itertools import count
from typing import Any

from .. import changes as c
from ..cluster import BUILTIN_AMOUNTS
from ..errors import InputError, Problem, nearest
from ..instance import Instance
from ..job import Job
from . import fields as f
from .field_rules import FieldRule
from .hints import fits, words
from .key_reader import reader
from .known import unknown_host
from .objects import examine_objects

_JOB_FIELDS = frozenset(item.name for item in fields(Job)) - {"id"}
_FUTURE = re.compile(r"future\[(\d+)\](.*)")


def require_sound_changes(changes: object, instance: Instance) -> None:
    """Raise InputError with everything that is wrong with changes made for a sound instance."""
    if isinstance(changes, (str, bytes)) or not isinstance(changes, Sequence):
        kind = type(changes).__name__
        message = f"must be a list or a tuple of changes, not {kind}: load_changes reads a file"
        raise InputError([Problem(message, path="changes")])
    review = _Review(instance)
    review.all(changes)
    if review.found:
        review.found.sort(key=lambda item: item[0])  # what is wrong with one stays in its order
        raise InputError(dict.fromkeys(problem for _, problem in review.found))


# --- what the fields may hold --------------------------------------------------------------------


def _one_of(known: Sequence[str]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, str) or value not in known:
            hint = nearest(value, known) if isinstance(value, str) else ""
            raise ValueError(f"must be one of {', '.join(known)}, not {value!r}{hint}")
        return value

    return read


def _load(values: Any) -> dict[str, float]:
    """Load indices as numbers, sizes (MB) of 0 or more."""
    if not isinstance(values, Mapping) or not values:
        raise ValueError('reports nothing: give values such as {"r1m": 2.5}')
    read = {_NAME(name): _NUMBER(value) for name, value in values.items()}
    for name, value in read.items():
        if name in BUILTIN_AMOUNTS and not 0 <= value < math.inf:
            raise ValueError(f"{name} must be 0 or more (MB), not {value:g}")
    return read


def _fields(given: Any) -> Any:
    """Fields of a job; their values are looked at in the job that they give."""
    if not isinstance(given, Mapping) or not given:
        raise ValueError('changes nothing: give fields of a job such as {"slots": 4}')
    for name in given:
        if name not in _JOB_FIELDS:
            hint = nearest(name, _JOB_FIELDS) if isinstance(name, str) else ""
            raise ValueError(f"a job has no field {reprlib.repr(name)} that changes{hint}")
    return given


def _rule(name: str, reads: Callable[[Any], Any], kind: Any) -> FieldRule:
    def plain(item: Any) -> Any:
        value = getattr(item, name)
        return dict(value) if isinstance(value, Mapping) else value

    return FieldRule((name,), (MISSING,), reads, (fits(kind),), words(kind), plain)


_NAME, _NUMBER = reader(f.Name), reader(f.Number)
_TIME = _rule("time", reader(f.Whole), int)
_HOST = _rule("host", _NAME, str)
_JOB = _rule("job", reader(f.JobId), str)
_SLOTS = reader(f.Allocation)
_RULES: dict[type, tuple[FieldRule, ...]] = {
    c.HostStatus: (_TIME, _HOST, _rule("status", _one_of(c.STATUSES), str)),
    c.LoadReport: (_TIME, _HOST, _rule("values", _load, Mapping[str, float])),
    c.Resize: (_TIME, _JOB, _rule("allocation", _SLOTS, Mapping[str, int])),
    c.Release: (_TIME, _JOB, _rule("slots", _SLOTS, Mapping[str, int])),
    c.EarlyEnd: (_TIME, _JOB),
    c.Kill: (_TIME, _JOB),
    c.Moved: (_TIME, _JOB, _rule("to", _one_of(("top", "bottom")), str)),
    c.QueueSwitch: (_TIME, _JOB, _rule("queue", _NAME, str)),
    c.Modification: (_TIME, _JOB),
    c.NewJob: (),
}


# --- the review ----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Review:
    """Looks at changes; found: number of the change and what is wrong with it.

    asked: jobs as they are submitted or changed, with the number of the change and the change.
    """

    instance: Instance
    found: list[tuple[int, Problem]] = field(default_factory=list)
    jobs: dict[str, Job] = field(default_factory=dict)
    asked: list[tuple[Any, int, c.Change]] = field(default_factory=list)

    def all(self, changes: Iterable[object]) -> None:
        """Each by itself, then new jobs, then the others in the order of time."""
        instance = self.instance
        running = (item.job for item in instance.running)
        self.jobs = {job.id: job for job in (*running, *instance.pending, *instance.future)}
        right: list[tuple[int, Any]] = [
            item for item in enumerate(changes) if self._fields_right(*item)
        ]
        for number, change in right:
            if isinstance(change, c.NewJob):
                self._submitted(number, change)
        others = [(n, change) for n, change in right if not isinstance(change, c.NewJob)]
        for number, change in sorted(others, key=lambda item: item[1].time):
            if isinstance(change, (c.HostStatus, c.LoadReport)):
                self._known_hosts(number, "host", [change.host])
            else:
                self._of_job(number, change)
        self._refusals()

    def _say(self, number: int, field_name: str, message: str) -> None:
        path = f"changes[{number}]" + (f".{field_name}" if field_name else "")
        self.found.append((number, Problem(message, path=path)))

    def _fields_right(self, number: int, change: Any) -> bool:
        """Whether a change is one, and its fields hold what they may."""
        rules = _RULES.get(type(change))
        if rules is None:
            known = ", ".join(kind.__name__ for kind in _RULES)
            self._say(number, "", f"must be one of {known}, not {reprlib.repr(change)}")
            return False
        told: dict[str, str] = {}
        for rule in rules:
            (name,) = rule.names
            told[name] = rule.complaint(change, getattr(change, name))
        if isinstance(change, c.Modification):
            try:
                _fields(change.fields)
            except (TypeError, ValueError) as error:
                told["fields"] = str(error)
        wrong = {name: message for name, message in told.items() if message}
        if "time" in told and "time" not in wrong:
            wrong |= self._too_early("time", change.time)
        for name, message in wrong.items():
            self._say(number, name, message)
        return not wrong

    def _too_early(self, name: str, at: int) -> dict[str, str]:
        now = self.instance.now
        early = f"second {at} lies before the instance's now, second {now}"
        return {name: early} if at < now else {}

    def _known_hosts(self, number: int, name: str, hosts: Iterable[str]) -> None:
        cluster = self.instance.cluster
        for host in hosts:
            if host not in cluster.host_index():
                self._say(number, name, unknown_host(cluster, host))

    def _submitted(self, number: int, change: c.NewJob) -> None:
        job: Any = change.job  # whatever a program puts there
        self.asked.append((job, number, change))
        if not isinstance(job, Job):
            return
        if type(job.submit) is int:
            for name, message in self._too_early("job.submit", job.submit).items():
                self._say(number, name, message)
        if isinstance(job.id, str):
            if job.id in self.jobs:
                self._say(number, "job.id", f"there is a job {job.id} already")
            else:
                self.jobs[job.id] = job

    def _of_job(self, number: int, change: Any) -> None:
        job = self.jobs.get(change.job)
        if job is None:
            hint = nearest(change.job, self.jobs)
            self._say(number, "job", f"unknown job {change.job!r}{hint}")
        elif type(job.submit) is int and job.submit > change.time:
            message = f"job {job.id} is submitted later, at second {job.submit}"
            self._say(number, "job", message)
        match change:
            case c.Resize():
                self._known_hosts(number, "allocation", change.allocation)
            case c.Release():
                self._known_hosts(number, "slots", change.slots)
            case c.QueueSwitch() if job is not None:
                self._now_is(replace(job, queue=change.queue), number, change)
            case c.Modification() if job is not None:
                self._now_is(replace(job, **change.fields), number, change)

    def _now_is(self, job: Job, number: int, change: c.Change) -> None:
        self.jobs[job.id] = job
        self.asked.append((job, number, change))

    def _refusals(self) -> None:
        """What is wrong with the jobs: they are all that an instance like the given one has."""
        # A job may be changed several times: each time it has a name of its own.
        taken = {job.id for job, _, _ in self.asked if isinstance(job, Job) and _is_text(job.id)}
        names = (name for n in count() if (name := f"job{n}") not in taken)
        jobs = [
            job if isinstance(change, c.NewJob) else replace(job, id=next(names))
            for job, _, change in self.asked
        ]
        alone = replace(self.instance, running=(), pending=(), future=tuple(jobs))
        told: set[tuple[str, str]] = set()
        for problem in examine_objects(alone)[0] if jobs else ():
            match = _FUTURE.fullmatch(problem.path)
            if match is None:
                continue
            job, number, change = self.asked[int(match[1])]
            message = problem.message
            if not isinstance(change, c.NewJob):
                message = message.replace(jobs[int(match[1])].id, f"job {job.id}")
                # What a later change of the same job leaves wrong is said once.
                if (job.id, message) in told:
                    continue
            told.add((str(getattr(job, "id", "")), message))
            self._say(number, _place(change, match[2]), message)


def _place(change: c.Change, place: str) -> str:
    """What of the change gives the job a field; place: the field's, such as ``.slots``."""
    match change:
        case c.NewJob():
            return f"job{place}"
        case c.Modification():
            name = re.match(r"\.(\w+)", place)
            return f"fields{place}" if name and name[1] in change.fields else "fields"
    return "queue"


def _is_text(value: object) -> bool:
    return isinstance(value, str)
