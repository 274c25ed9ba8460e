"""Probes of guaranteed resource pools: service classes, loans, and unused guarantees (GUA-01)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ....model.display import MINUTE, duration_text, some
from ....model.duration import expected_duration, granted_run_limit
from ....model.formats.guarantee_text import distribution_text, loans_text
from ....model.instance import Instance
from ....model.job import NO_RUN_LIMIT, Job
from ....model.service_class import Guarantee, GuaranteedAmount, GuaranteedPool, LoanPolicy
from ...availability.guarantees import GuaranteeRows, MeasuredPool, takes
from .probes import Probe, SettingChange, line, of_job

KIND = "guaranteed pool"


def guarantee_probes(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield changes of guaranteed pools that reserve resources for other jobs."""
    if not instance.guaranteed_pools:
        return
    rows = GuaranteeRows(instance)
    own = rows.members.of(job)
    for number, pool in enumerate(rows.pools):
        if rows.may_reach(number, job):
            yield from _classes(rows, pool, job, own)
            yield from _loans(instance, rows, number, job)
            yield from _distribution(instance, rows, pool, job, own)


def _classes(rows: GuaranteeRows, pool: MeasuredPool, job: Job, own: str) -> Iterator[Probe]:
    """Yield service classes with a guarantee that the job could name."""
    for name, amount in pool.guaranteed.items():
        item = rows.members.by_name.get(name)
        if item is None or name == own or not amount or not rows.members.admits(item, job):
            continue
        now = f"-sla {job.service_class}" if job.service_class else "no -sla"
        words, then = f"submit it with -sla {name}", replace(job, service_class=name)
        change = of_job(job, then, words, now, ("-sla", name))
        cause = (
            f"guaranteed pool {pool.pool.name} keeps {amount:g} {_unit(pool.pool)} for service "
            f"class {name}, which takes job {job.id}, and the job does not name it"
        )
        yield Probe("service class", cause, (change,))


def _unit(pool: GuaranteedPool) -> str:
    return {"package": "packages", "resource": pool.arguments.get("name", "")}.get(
        pool.kind, pool.kind
    )


def _loans(instance: Instance, rows: GuaranteeRows, number: int, job: Job) -> Iterator[Probe]:
    """Yield changes of LOAN_POLICIES that deny the job idle guaranteed resources."""
    pool = rows.pools[number].pool
    policy = pool.loans
    keeps = f"guaranteed pool {pool.name} keeps what its owners leave idle"
    if policy is None or not policy.takes(job.queue):
        wider = LoanPolicy((job.queue,))
        if policy is not None:
            wider = replace(policy, queues=(*policy.queues, job.queue))
        steps = [_policy(pool, wider)]
        if not takes(instance, replace(pool, loans=wider), job):
            steps.append(_policy(pool, replace(wider, duration=_span(instance, job))))
        cause = f"{keeps}: it has no loans for jobs of queue {job.queue} (LOAN_POLICIES)"
        yield Probe(KIND, cause, tuple(steps))
        return
    if not rows.loan_of(number, job) and policy.duration is not None:
        yield from _duration(instance, pool, policy, job)
        return
    if policy.close_on_demand:
        owners = [other.id for other in _owners(instance, rows, number) if other.id != job.id]
        cause = (
            f"{keeps} while jobs of its classes wait ({some(owners) or 'none now'}): "
            "CLOSE_ON_DEMAND of LOAN_POLICIES"
        )
        yield Probe(KIND, cause, (_policy(pool, replace(policy, close_on_demand=False)),))
    if policy.retain is not None or policy.idle_buffer is not None:
        cause = f"{keeps} in part: RETAIN or IDLE_BUFFER of LOAN_POLICIES"
        bare = replace(policy, retain=None, idle_buffer=None)
        yield Probe(KIND, cause, (_policy(pool, bare),))


def _owners(instance: Instance, rows: GuaranteeRows, number: int) -> list[Job]:
    guaranteed = rows.pools[number].guaranteed
    return [job for job in instance.pending if guaranteed.get(rows.members.of(job), 0) > 0]


def _span(instance: Instance, job: Job) -> int | None:
    """Return the seconds that DURATION is compared with, in whole minutes; None if unknown."""
    spans = expected_duration(instance, job), granted_run_limit(instance, job)
    known = [span for span in spans if span is not None]
    return -(-min(known) // MINUTE) * MINUTE if known else None


def _duration(
    instance: Instance, pool: GuaranteedPool, policy: LoanPolicy, job: Job
) -> Iterator[Probe]:
    """Yield a shorter run limit, or longer loans, if the job is longer than loans allow."""
    assert policy.duration is not None
    span = _span(instance, job)
    runs = "has no run limit" if span is None else f"may run for {duration_text(span)}"
    cause = (
        f"guaranteed pool {pool.name} has loans for jobs of at most "
        f"{duration_text(policy.duration)}, and job {job.id} {runs}: DURATION of LOAN_POLICIES"
    )
    minutes = policy.duration // MINUTE
    limit = f"-W {minutes // 60}:{minutes % 60:02d}"
    now = (
        f"-W {duration_text(job.run_limit)}"
        if job.run_limit not in (None, NO_RUN_LIMIT)
        else "no -W"
    )
    then = replace(job, run_limit=policy.duration)
    shorter = of_job(job, then, f"submit it with {limit}", now, limit.split())
    yield Probe(KIND, cause, (shorter,))
    yield Probe(KIND, cause, (_policy(pool, replace(policy, duration=span)),))


def _policy(pool: GuaranteedPool, policy: LoanPolicy) -> SettingChange:
    now = loans_text(pool.loans) if pool.loans else ""
    change = line(pool, "LOAN_POLICIES", loans_text(policy), now, loans=policy)
    return change if pool.loans else replace(change, now="no LOAN_POLICIES")


def _distribution(
    instance: Instance, rows: GuaranteeRows, pool: MeasuredPool, job: Job, own: str
) -> Iterator[Probe]:
    """Yield smaller guarantees of other classes whose jobs neither use nor request all of them."""
    for name, amount in pool.guaranteed.items():
        needed = _needed(instance, rows, pool, name)
        if name == own or needed >= amount:
            continue
        wanted = {max(needed, amount - job.slots), needed}
        steps = tuple(
            _distributed(pool.pool, name, number) for number in sorted(wanted, reverse=True)
        )
        cause = (
            f"guaranteed pool {pool.pool.name} keeps {amount:g} {_unit(pool.pool)} for service "
            f"class {name}, whose jobs use and want {needed:g}: DISTRIBUTION = "
            f"{distribution_text(pool.pool.distribution)}"
        )
        yield Probe(KIND, cause, steps)


def _needed(instance: Instance, rows: GuaranteeRows, pool: MeasuredPool, name: str) -> float:
    """Return the slots of a pool's hosts that jobs of a class use, plus the slots that they wait
    for.
    """
    hosts = {h.name for h, inside in zip(instance.cluster.hosts, pool.mask, strict=True) if inside}
    found = sum(
        sum(slots for host, slots in item.allocation.items() if host in hosts)
        for item in instance.running
        if rows.members.of(item.job) == name
    )
    return float(found + sum(j.slots for j in instance.pending if rows.members.of(j) == name))


def _distributed(pool: GuaranteedPool, name: str, amount: float) -> SettingChange:
    shares = tuple(
        Guarantee(name, GuaranteedAmount(amount)) if item.service_class == name else item
        for item in pool.distribution
    )
    now = distribution_text(pool.distribution)
    return line(pool, "DISTRIBUTION", distribution_text(shares), now, distribution=shares)
