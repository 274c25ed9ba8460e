"""One bsub line against an instance: the job that it would submit, checked like any other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from ..errors import InputError, Problem
from ..instance import Instance
from ..job import Job
from .bsub import parse_bsub
from .finding import Finding
from .jobrules import check_jobs
from .jobs import default_slots
from .requirements import check_requirements
from .units import Clock


def submitted_job(instance: Instance, line: str, *, user: str = "user") -> Job:
    """The job that a bsub line submits now, as the last one of its queue.

    line: options with or without the word bsub in front and a command behind. Its id is the next
    number, or ``asked`` where jobs have names. Raises InputError with everything that is wrong with
    the line: syntax, names that do not exist, what its queue would refuse.
    """
    origin = None if instance.origin is None else datetime.fromisoformat(instance.origin)
    try:
        fields = parse_bsub(line, Clock(origin, instance.now))
    except InputError as error:
        texts = [problem.message.removeprefix("bsub line: ") for problem in error.problems]
        raise InputError(Problem(text, path="bsub line") for text in texts) from None
    queue = fields.setdefault("queue", instance.params.default_queue)
    fields.setdefault("priority", instance.params.default_priority)
    slots = fields.pop("slots", None)
    if slots is None:
        known = next((item for item in instance.queues if item.name == queue), None)
        slots = default_slots(known, instance.application(fields.get("application", "")))
    job = Job(id=_next_id(instance), user=user, slots=slots, submit=instance.now, **fields)
    if wrong := list(refusals(instance, job)):
        raise InputError(Problem(text, path="bsub line") for text in wrong)
    return job


def refusals(instance: Instance, job: Job) -> Iterator[str]:
    """What is wrong with a job that would be submitted now; nothing if it would be accepted."""
    alone = replace(instance, pending=(job,), running=(), future=())
    for finding in (*check_jobs(alone), *check_requirements(alone)):
        if finding.place[:1] == ("pending",) and not finding.warning:
            yield _sentence(finding)


def _sentence(finding: Finding) -> str:
    option = _OPTIONS.get(str(finding.place[-1]), "")
    return f"{option}: {finding.message}" if option else finding.message


_OPTIONS = {"queue": "-q", "slots": "-n", "run_limit": "-W", "hosts": "-m", "res_req": "-R"}


def _next_id(instance: Instance) -> str:
    """The next number where ids are numbers, else a name that no job has."""
    taken = {job.id for job in (*instance.pending, *instance.future)}
    taken |= {running.job.id for running in instance.running}
    numbers = [int(id) for id in taken if id.isascii() and id.isdigit()]
    if numbers:
        return str(max(numbers) + 1)
    return next(name for n in range(len(taken) + 1) if (name := f"asked{n or ''}") not in taken)
