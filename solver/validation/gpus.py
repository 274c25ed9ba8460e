"""GPUs, read from the texts of -gpu and GPU_REQ: there are enough, and of the kind asked for.

A GPU that a job has is nobody else's here: jobs that might share one are counted as if each had its
own, which is always right and sometimes late (GPU-03).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...model.cluster import Host
from ...model.job import Job
from .facts import Facts, Holding
from .usage import GPUS, amount_of
from .violation import Violation, shown

_MB = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3, "E": 1024**4}


def kinds(facts: Facts) -> Iterator[Violation]:
    """Every host of a job has GPUs of the model, maker and memory that it asks for."""
    for holding in facts.planned:
        asked = _options(facts, holding.job)
        for host in holding.allocation if asked is not None else ():
            for fault in _faults(facts, facts.hosts[host], asked or {}):
                text = f"job {holding.job.id}: host {host} {fault}"
                yield Violation("gpu", text, holding.job.id, host, holding.start)


def enough(facts: Facts) -> Iterator[Violation]:
    """At every start no more GPUs of a host are in use than it has."""
    if not any(_options(facts, holding.job) is not None for holding in facts.planned):
        return
    for time, starting in facts.starts().items():
        facts.poll()
        for host in dict.fromkeys(name for job in starting for name in job.allocation):
            blamed = [job for job in starting if _taken(facts, job, host) > 0]
            active = [item for item in facts.by_host[host] if item.active(time)]
            used = sum(_taken(facts, item, host) for item in active)
            have = amount_of(facts.hosts[host], GPUS[0]) or 0
            if blamed and used > have:
                names = ", ".join(job.job.id for job in blamed)
                text = f"job {names}: {shown(used)} GPUs in use on host {host} at {time} s"
                text = f"{text}, it has {shown(have)}"
                yield Violation("gpu", text, blamed[-1].job.id, host, time)


def _options(facts: Facts, job: Job) -> dict[str, str] | None:
    """The options that count for a job, None where neither it nor its queue asks for GPUs."""
    instance = facts.instance
    application = instance.application(job.application) if job.application else None
    texts = [facts.queues[job.queue].gpu_req, application.gpu_req if application else "", job.gpu]
    if not any(texts):
        return None
    texts = [text for text in (instance.params.gpu_req, *texts) if text and text != "-"]
    if not instance.params.gpu_req_merge:
        texts = texts[-1:]
    found: dict[str, str] = {}
    for text in texts:
        for item in text.split(":"):
            key, sign, value = item.partition("=")
            if sign:
                found[key.strip()] = value.strip(" '\"")
    return found


def _taken(facts: Facts, holding: Holding, host: str) -> float:
    """GPUs of a host that -gpu or GPU_REQ gives a job; 0 where its rusage counts them instead."""
    options = _options(facts, holding.job) if host in holding.allocation else None
    if options is None or _counted_by_rusage(facts, holding.job):
        return 0.0
    number, _, per = options.get("num", "1").partition("/")
    usage = [u.method for u in facts.instance.reservation_usage if u.resource == GPUS[0]]
    usual = "PER_SLOT" if facts.instance.params.reserve_per_slot else "PER_HOST"
    method = {"task": "PER_SLOT", "host": "PER_HOST"}.get(per, (*usage, usual)[0])
    if method == "PER_SLOT":
        return float(int(number) * holding.allocation[host])
    if method == "PER_JOB":
        return float(int(number) * (next(iter(holding.allocation)) == host))
    return float(number)


def _counted_by_rusage(facts: Facts, job: Job) -> bool:
    application = facts.instance.application(job.application) if job.application else None
    texts = (*job.res_req, facts.queues[job.queue].res_req, application and application.res_req)
    return any(re.search(r"rusage\[[^\]]*\bngpus", text or "") for text in texts)


def _faults(facts: Facts, host: Host, asked: dict[str, str]) -> Iterator[str]:
    """What is wrong with the GPUs of a host; what it does not say of them may be right."""
    if amount_of(host, GPUS[0]) is None:
        yield "has no GPUs"
    if host.gpus is None:
        return
    model, mem = host.gpus.model.lower(), host.gpus.mem
    name, _, card = asked.get("gmodel", "").replace("#", "-").lower().partition("-")
    if name and model and not _named(name, model):
        yield f"has GPUs {host.gpus.model}, not {name}"
    if card and mem is not None and not 0.9 <= mem / _megabytes(card, "M") <= 1.1:
        yield f"has GPUs of {shown(mem)} MB, not {card}"
    unit = facts.instance.params.unit_for_limits[0]
    if "gmem" in asked and mem is not None and mem < _megabytes(asked["gmem"], unit):
        yield f"has GPUs of {shown(mem)} MB, too few for gmem={asked['gmem']}"
    vendor = asked.get("gvendor", "").lower()
    if vendor and model:
        maker = (
            "amd" if any(w in model for w in ("radeon", "vega", "instinct", "amd")) else "nvidia"
        )
        if vendor != maker:
            yield f"has GPUs of {maker}, not of {vendor}"


def _named(name: str, model: str) -> bool:
    """Whether a model has this name, or a part of it, that ends where a number ends."""
    at = model.find(name)
    while at >= 0:
        rest = model[at + len(name) :]
        digits = re.match(r"\d*", rest)
        following = digits[0] if digits else ""
        memory = rest[len(following) :].startswith("gb") and not following.startswith("0")
        if not (name[-1].isdigit() and following) or memory:
            return True
        at = model.find(name, at + 1)
    return False


def _megabytes(text: str, unit: str) -> float:
    plain = text.strip().upper().removesuffix("B")
    letter = plain[-1] if plain[-1] in _MB else unit
    return float(plain.rstrip("KMGTPE")) * _MB[letter]
