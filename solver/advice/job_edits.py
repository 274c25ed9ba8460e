"""A job asked for in another way: other options of its bsub line, one change at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from ...model.duration import expected_duration
from ...model.errors import InputError
from ...model.gpu_request import gpu_options
from ...model.instance import Instance
from ...model.job import Job
from ...model.time_text import duration_text

#: Sections that a change may put in place of what the job says.
SECTIONS = ("span", "cu", "same", "select", "rusage")


def section(job: Job, name: str) -> str | None:
    """What stands in a section of the job's own -R, None where it has none."""
    for text in job.res_req:
        if match := re.search(rf"\b{name}\[([^\]]*)\]", text):
            return match[1].strip()
    return None


def is_compound(job: Job) -> bool:
    """Whether the job has a compound requirement, whose counts are tied to -n."""
    return any("{" in text for text in job.res_req)


def with_section(job: Job, name: str, content: str | None) -> Job:
    """The job with a section replaced, None for left out; the rest of the text stays as it is."""
    cut = [re.sub(rf"\b{name}\[[^\]]*\]", " ", text) for text in job.res_req]
    kept = [" ".join(text.split()) for text in cut]
    if content is not None:
        kept = [*kept[:-1], f"{kept[-1] if kept else ''} {name}[{content}]".strip()]
    return replace(job, res_req=tuple(text for text in kept if text))


def with_slots(job: Job, slots: int) -> Job:
    """The job with -n."""
    return replace(job, slots=slots, max_slots=None)


def with_limit(job: Job, seconds: int) -> Job:
    """The job with -W."""
    return replace(job, run_limit=seconds)


def with_queue(job: Job, queue: str) -> Job:
    """The job with -q."""
    return replace(job, queue=queue)


def memory_edit(job: Job, unit: float) -> tuple[int, Callable[[int], Job]] | None:
    """Its memory in MB (rounded up) and the job with another amount; None without one amount.

    unit: what a number in its rusage means, in MB.
    """
    rusage = section(job, "rusage")
    found = re.search(r"\bmem\s*=\s*(\d+(?:\.\d+)?)(?![\w.])", rusage or "")
    if rusage is None or found is None:
        return None
    before, after = rusage[: found.start()], rusage[found.end() :]

    def edited(megabytes: int) -> Job:
        return with_section(job, "rusage", f"{before}mem={megabytes / unit:.12g}{after}")

    return math.ceil(float(found[1]) * unit), edited


def limit_text(seconds: int) -> str:
    """A run limit as -W takes it: ``h:mm``."""
    minutes = -(-seconds // 60)
    return f"{minutes // 60}:{minutes % 60:02d}"


def cut_short(instance: Instance, job: Job, queue: str) -> str:
    """What ends the job in its queue that would let it run on in another, "" for nothing.

    queue: where it was meant to go. RUNLIMIT counts where the job has no -W, CPULIMIT against all
    its slots at work where it has no -c.
    """
    if job.queue == queue:
        return ""
    other = replace(job, queue=queue)
    here, there = expected_duration(instance, job), expected_duration(instance, other)
    if here is not None and (there is None or here < there):
        return f"queue {job.queue} ends it after {duration_text(here)}"
    limit, wanted = instance.queue(job.queue).cpu_limit, instance.queue(queue).cpu_limit
    own = job.cpu_limit if job.cpu_limit is not None else _times(there, job.slots)
    bounds = [bound for bound in (own, wanted) if bound is not None]
    if limit is not None and bounds and limit < min(bounds):
        return f"queue {job.queue} ends it after {duration_text(limit)} of CPU time (CPULIMIT)"
    return ""


def _times(seconds: int | None, slots: int) -> int | None:
    return None if seconds is None else seconds * slots


def gpu_edits(job: Job) -> Iterator[tuple[str, str]]:
    """Less of its -gpu, with what that is: fewer GPUs, or without what it says of their kind."""
    if not job.gpu:
        return
    try:
        options = gpu_options(job.gpu)
    except InputError:
        return
    count, sign, per = options.get("num", "1").partition("/")
    for number in range(int(count) - 1, 0, -1):
        fewer = options | {"num": f"{number}{sign}{per}"}
        yield f"with -gpu num={fewer['num']}", _gpu_text(fewer)
    for name in ("gmodel", "gmem", "gvendor", "gtile"):
        if name in options:
            yield f"without {name}", _gpu_text({k: v for k, v in options.items() if k != name})


def _gpu_text(options: Mapping[str, str]) -> str:
    return ":".join(f"{name}={value}" for name, value in options.items()) or "num=1"
