"""One bsub line against an instance: the job that it would submit, checked like any other."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from ..cluster import NamedHosts
from ..configuration import Params, User
from ..errors import InputError, Problem
from ..instance import Instance
from ..job import OTHERS, ArraySpec, Job, elements, too_large
from ..omissions import BATCH, OPTIONS, SUBMITTED, Omission
from ..reserved_periods import rejection
from ..resreq import slots_without_n
from ..share_rules import share_problems
from ..shares import Groups, entries_of
from ..slurm_words import foreign_command, lowest_priority
from .bsub import bsub_line
from .document import Finding
from .field_rules import class_rules
from .guarantee_rules import refused_by_class
from .objects import in_default_queue
from .requirements import check_requirements
from .rules import LimitScale, check_jobs, condition_problems
from .units import Clock
from .unknown_amounts import as_known

#: Name of the submitting user if it is unknown; jobs of an instance without a user have it too.
UNNAMED = "user"


@dataclass(frozen=True, slots=True)
class Submission:
    """A job that a bsub line would submit, and its options without effect on the start."""

    #: Submitted job.
    job: Job
    #: Options that do not affect the start.
    quiet: tuple[str, ...] = ()
    #: Elements if an array is submitted; `job` then has the id and fields of the array.
    array: ArraySpec | None = None
    #: Ignored options, with the reason.
    notes: tuple[str, ...] = ()
    #: Assumed values, as none are given.
    assumed: tuple[str, ...] = ()

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Return the submitted job, or the elements of the array."""
        return (self.job,) if self.array is None else elements(self.job, self.array)


def submitted_job(instance: Instance, line: str, *, user: str = "") -> Job:
    """Return the job of :func:`submission`."""
    return submission(instance, line, user=user).job


def submission(
    instance: Instance,
    line: str | Job,
    *,
    user: str = "",
    from_host: str = "",
    script: str | None = None,
    script_name: str = "",
) -> Submission:
    """Return the submission of a bsub line, or of a job in memory, as the last job of its queue.

    line: options with or without the word bsub in front and a command behind, or a job script with
    ``#BSUB`` lines. script: text of a script that the line reads (``bsub < job.lsf``) or has as its
    command. The job's id is the next number, or ``asked`` if jobs have names. script_name: name of
    the script in messages. user: who submits, "" if unknown. from_host: submission host, "" if
    unknown. Raises InputError with
    everything that is wrong with the line: syntax, unknown names, refusals of its queue.
    """
    if isinstance(line, Job):
        return Submission(as_known(instance, _submitted_now(instance, line)))
    origin = None if instance.origin is None else datetime.fromisoformat(instance.origin)
    clock, parses = Clock(origin, instance.now), instance.params.parse_script
    read = bsub_line(line, clock, script, dateless=True, parse_script=parses)
    fields = read.fields
    wrong = {problem.message.removeprefix("bsub line: "): problem.line for problem in read.problems}
    assumed = foreign_command(instance, "bsub")
    assumed += lowest_priority(instance, "-sp") if "priority" not in fields else ()
    fields.setdefault("queue", instance.params.default_queue)
    fields.setdefault("priority", instance.params.default_priority)
    array: ArraySpec | None = fields.pop("array", None)
    if array is not None and array.last > instance.params.max_job_array_size:
        wrong[f"-J: {too_large(array.last, instance.params.max_job_array_size)}"] = None
    fields |= {"user": user or UNNAMED, "from_host": from_host}
    job = Job(id=_next_id(instance), submit=instance.now, **fields)
    job = _without_undescribed(instance, job)
    scale = LimitScale(instance.cluster, instance.queues)
    job, unscaled = scale.settled(job, partial(scale.hosts_of, job))
    refused = [f"{_OPTIONS[field]}: {message}" for field, message in unscaled]
    job, wrong_with, notes = _in_a_queue(instance, job, read.queues, counted="slots" in fields)
    refused += wrong_with
    for text in refused if user else map(with_unnamed_user, refused):
        wrong.setdefault(text, read.lines.get(text.split(":")[0]))
    if wrong:
        name = script_name or "job script"
        raise InputError(
            Problem(text, name, line) if line else Problem(text, path="bsub line")
            for text, line in wrong.items()
        )
    quiet = tuple(dict.fromkeys(read.quiet))
    job = with_rejections(instance, job, quiet, 1 if array is None else len(array))
    ignored = (*read.notes, *notes)
    return Submission(as_known(instance, job), quiet, array, ignored, assumed)


def with_rejections(instance: Instance, job: Job, quiet: Iterable[str], count: int = 1) -> Job:
    """Return a job that is submitted with what LSF may reject it for, as it is now alone.

    quiet: its options without effect on the start. count: its elements.
    """
    known = {item.what for item in instance.omissions if not OPTIONS.isdisjoint(item.resources)}
    return replace_omitted(job, known, rejections(instance, job, quiet, count))


def rejections(
    instance: Instance, job: Job, quiet: Iterable[str] = (), count: int = 1
) -> list[str]:
    """Return what LSF may reject a job for; the arguments are those of :func:`with_rejections`."""
    found = [item.what for item in _rejecting(instance, job, quiet)]
    return [*found, *_beyond_pending(instance, job, count)]


def without_effect(instance: Instance, job: Job, quiet: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of the quiet options of a job for which LSF does not reject it."""
    named = {name for item in _rejecting(instance, job, quiet) for name in item.resources}
    return tuple(option for option in quiet if _limited(option) not in named)


def _rejecting(instance: Instance, job: Job, quiet: Iterable[str]) -> Iterator[Omission]:
    """Yield the limits by which a job may be rejected as it is submitted."""
    options = {SUBMITTED, *map(_limited, quiet)}
    options |= set() if "-I" in options else {BATCH}
    for item in instance.omissions:
        scopes = ((item.queues, job.queue), (item.applications, job.application))
        if all(not names or name in names for names, name in scopes):
            yield from () if options.isdisjoint(item.resources) else (item,)


def _limited(option: str) -> str:
    """Return an option as limits name it: -I for -Ip."""
    return "-I" if option.startswith("-I") else option


def _beyond_pending(instance: Instance, job: Job, count: int) -> Iterator[str]:
    """Yield the numbers of pending jobs and slots beyond which LSF rejects these jobs."""
    groups = Groups(instance.groups)
    limited: list[tuple[Params | User, str, str]] = [(instance.params, "", "")]
    for entry, alone in entries_of(instance.users, job.user, groups):
        limited.append((entry, f" of {entry.name}", job.user if alone else entry.name))
    for item, of, name in limited:
        if item.max_pend_jobs is None and item.max_pend_slots is None:
            continue
        jobs = instance.pending
        waiting = [one.slots for one in jobs if not name or groups.includes(name, one.user)]
        for key, most, pending, more in (
            ("MAX_PEND_JOBS", item.max_pend_jobs, len(waiting), count),
            ("MAX_PEND_SLOTS", item.max_pend_slots, sum(waiting), count * job.slots),
        ):
            if most is not None and pending + more > most:
                what = f"{most} pending {key.rpartition('_')[2].lower()}, and {pending} are pending"
                yield f"{key}{of}: LSF rejects more than {what}"


def with_unnamed_user(text: str) -> str:
    """Return a message about the user of a job with the advice to name the user."""
    return re.sub(rf"\buser {UNNAMED}\b", "an unnamed user (give --user NAME)", text)


def replace_omitted(job: Job, gone: Collection[str], new: Iterable[str]) -> Job:
    """Return a job without some of its omitted options, and with new ones."""
    kept = [text for text in job.unheeded if text not in gone]
    return replace(job, unheeded=tuple(dict.fromkeys((*kept, *new))))


def _submitted_now(instance: Instance, job: Job) -> Job:
    """Return a job in memory as submitted now; raises InputError with all errors."""
    if wrong := class_rules(Job).wrong(job, set()):
        raise InputError(Problem(text, path=f"job.{name}") for name, text in wrong.values())
    job = in_default_queue(job, instance.params, instance.queues)
    if job.id in _taken(instance):
        job = replace(job, id=_next_id(instance))
    job = _without_undescribed(instance, replace(job, submit=instance.now))
    if refused := list(refusals(instance, job)):
        raise InputError(Problem(text, path="job") for text in refused)
    return job


def _without_undescribed(instance: Instance, job: Job) -> Job:
    """Return the job without the names of -app, -G and -m if no input describes any such names.

    The options are named as ignored. If a name of -m is unknown, the job may use any host.
    """
    known = NamedHosts(instance.cluster)
    hosts = [item.name for item in job.hosts if item.name != OTHERS and item.name not in known]
    names = {
        "application": "" if instance.applications else job.application,
        "group": "" if instance.groups else job.group,
        "hosts": "" if instance.cluster.groups else " ".join(hosts),
    }
    undescribed = {field: name for field, name in names.items() if name}
    texts = [
        f"{_OPTIONS[field]} {name}, which no input describes" for field, name in undescribed.items()
    ]
    empty = {field: type(getattr(job, field))() for field in undescribed}
    return replace(job, **empty, unheeded=(*job.unheeded, *texts))


def _in_a_queue(
    instance: Instance, job: Job, queues: Sequence[str], *, counted: bool
) -> tuple[Job, list[str], list[str]]:
    """Return the job in the first queue that accepts it, else in the first; errors; notes.

    counted: whether the job states its number of slots.
    """
    tried: list[tuple[Job, list[str]]] = []
    for queue in queues or (job.queue,):
        there = replace(job, queue=queue)
        if not counted:
            with suppress(InputError, KeyError):  # refusals() reports errors
                there = replace(there, slots=slots_without_n(instance, there))
        tried.append((there, list(refusals(instance, there))))
        if not tried[-1][1]:
            notes = [
                f"-q {other.queue} ({'; '.join(text.removeprefix('-q: ') for text in wrong)})"
                for other, wrong in tried[:-1]
            ]
            rest = [f"-q {name} ({queue} takes the job)" for name in queues[len(tried) :]]
            return there, [], notes + rest
    return (*tried[0], [])


def refusals(instance: Instance, job: Job) -> Iterator[str]:
    """Yield the errors of a job that would be submitted now; none if it would be accepted."""
    closed = any(queue.name == job.queue and not queue.open for queue in instance.queues)
    waits = closed and any((one.id, one.queue) == (job.id, job.queue) for one in instance.pending)
    if closed and not waits:
        yield f"-q: queue {job.queue} is closed and accepts no new jobs (badmin qclose)"
    alone = replace(instance, pending=(job,), running=(), future=())
    yield from (f"-w: {text}" for text in condition_problems(instance, job))
    item = instance.advance_reservation(job.reservation) if job.reservation else None
    if item is not None and (text := rejection(item, job.user, instance.groups)):
        yield f"-U: {text}"
    of_job = (check_jobs, check_requirements, _shares, refused_by_class)
    for finding in (finding for look in of_job for finding in look(alone)):
        if finding.place[:1] == ("pending",) and not finding.warning:
            yield _sentence(finding)


def _shares(alone: Instance) -> Iterator[Finding]:
    """Yield errors from fairshare and user groups for the job, the only one of the instance."""
    for problem in share_problems(alone):
        if problem.path.startswith("pending"):
            field = "group" if alone.pending[0].group else "user"
            yield Finding(("pending", 0, field), problem.message)


def _sentence(finding: Finding) -> str:
    option = _OPTIONS.get(str(finding.place[-1]), "")
    named = finding.message.startswith(f"{option} ")
    return f"{option}: {finding.message}" if option and not named else finding.message


_OPTIONS = {
    "queue": "-q",
    "slots": "-n",
    "run_limit": "-W",
    "cpu_limit": "-c",
    "estimated_run_time": "-We",
    "hosts": "-m",
    "res_req": "-R",
}
_OPTIONS |= {
    "extsched": "-ext",
    "dependency": "-w",
    "group": "-G",
    "application": "-app",
    "license_project": "-Lp",
    "exclusive": "-x",
    "from_host": "--from-host",
    "service_class": "-sla",
}


def _next_id(instance: Instance) -> str:
    """Return the next number if ids are numbers, else an unused name."""
    taken = _taken(instance)
    numbers = [int(id) for id in taken if id.isascii() and id.isdigit()]
    if numbers:
        return str(max(numbers) + 1)
    return next(name for n in range(len(taken) + 1) if (name := f"asked{n or ''}") not in taken)


def _taken(instance: Instance) -> set[str]:
    """Return the ids of all jobs and arrays."""
    return {job.array_id or job.id for job in instance.jobs}
