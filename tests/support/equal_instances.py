"""Instances in pairs that say the same in two ways, so that every answer must be the same.

What says nothing (a limit that is never reached, a window that is always open, an advance
reservation after everything has ended, a share of the only user) is added; or one rule stands for
another (a Limit section for UJOB_LIMIT).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from slotwise import (
    AdvanceReservation,
    Application,
    Cluster,
    ComputeUnit,
    Host,
    HostPartition,
    HostRequest,
    Instance,
    Job,
    Limit,
    Params,
    Queue,
    RunningJob,
    Scope,
    SharedResource,
    User,
    UserGroup,
    dump,
    dump_json,
    loads,
)

MINUTE = 60
LATER = 100_000
Change = Callable[[Instance], Instance]

ASKS = [(), (), (), (), (), ("rusage[mem=300]",), ("rusage[mem=200]", "span[ptile=2]")]
ASKS += [("span[hosts=1]",), ("span[ptile=1]",), ("same[type]",), ("select[type==X]",)]
ASKS += [("cu[maxcus=1]",), ("cu[balance]",), ("cu[maxcus=2:usablecuslots=2]",), ("rusage[lic=1]",)]
ASKS += [("rusage[mem=(400 100):duration=(2 2)]",), ("rusage[mem=300||mem=100]",), ("order[mem]",)]
ASKS += [("2*{span[ptile=1]} + 1*{rusage[mem=100]}",)]
EACH = Scope(("all",), each=True)


def drawn(seed: int, *, to_come: int) -> Instance:
    """Two queues that may reserve and backfill, units, memory, licences, limits, jobs to come."""
    draw = random.Random(seed)
    hosts = tuple(
        Host(
            f"h{number}",
            draw.choice([2, 4, 4, 8]),
            type=draw.choice("XXY"),
            amounts={"mem": float(draw.choice([500, 1000, 2000]))},
        )
        for number in range(draw.randint(2, 6))
    )
    names, size = [host.name for host in hosts], draw.randint(1, 3)
    starts = range(0, len(names), size)
    units = tuple(ComputeUnit(f"e{at}", "enc", tuple(names[at : at + size])) for at in starts)
    queues = (
        Queue(
            "normal",
            30,
            res_req="type==any",  # jobs do not say where they were submitted
            backfill=draw.random() < 0.6,
            slot_reserve=draw.choice([None, 2, 3, 5, 1000]),
            exclusive="CU[enc]",
            user_slots=draw.choice([None] * 3 + [6]),
        ),
        Queue(
            "urgent",
            40,
            res_req="type==any",
            backfill=draw.random() < 0.3,
            resource_reserve=draw.choice([None, 3, 1000]),
            exclusive="Y",
            queue_slots=draw.choice([None] * 3 + [8]),
        ),
    )
    pending = tuple(_job(draw, f"p{at}", -100 + at, hosts) for at in range(draw.randint(2, 6)))
    instants = sorted(draw.randint(1, 60 * MINUTE) for _ in range(to_come))
    return Instance(
        Cluster(
            hosts,
            unit_types=("enc",),
            default_unit_type="enc",
            units=units,
            shared=(SharedResource("lic", float(draw.randint(1, 4))),),
        ),
        queues=queues,
        running=_running(draw, hosts),
        pending=pending,
        future=tuple(_job(draw, f"f{at}", time, hosts) for at, time in enumerate(instants)),
        params=Params(mbd_sleep_time=draw.choice([30, 60]), default_queue="normal"),
    )


def _job(draw: random.Random, name: str, submit: int, hosts: tuple[Host, ...]) -> Job:
    limit = MINUTE * draw.randint(2, 40)
    asked = draw.choice(ASKS)
    compound = any("{" in text for text in asked)
    slots = 3 if compound else draw.choice([1, 1, 2, 3, 4, 6, 8, 12])
    slots = min(slots, sum(host.slots for host in hosts))
    return Job(
        name,
        slots,
        user=f"u{draw.randrange(3)}",
        queue=draw.choice(["normal", "normal", "urgent"]),
        res_req=asked,
        run_limit=limit,
        run_time=max(1, int(limit * draw.random())),
        submit=submit,
        max_slots=None if compound else draw.choice([None] * 7 + [slots + 2]),
        exclusive=draw.random() < 0.06,
    )


def _running(draw: random.Random, hosts: tuple[Host, ...]) -> tuple[RunningJob, ...]:
    found: list[RunningJob] = []
    for host in hosts:
        free = host.slots
        while free and draw.random() < 0.5:
            slots = draw.randint(1, free)
            free -= slots
            limit = MINUTE * draw.randint(1, 30)
            job = Job(
                f"r{len(found)}",
                slots,
                user=f"u{draw.randrange(3)}",
                queue="normal",
                res_req=draw.choice([(), (), ("rusage[mem=100]",)]),
                run_limit=limit,
                run_time=draw.randint(1, limit),
            )
            found.append(RunningJob(job, 0, {host.name: slots}))
    return tuple(found)


def jobs(change: Callable[[Job], Job]) -> Change:
    """Every job that waits or is to come, changed."""
    return lambda site: replace(
        site, pending=tuple(map(change, site.pending)), future=tuple(map(change, site.future))
    )


def queues(**fields: object) -> Change:
    """Every queue with other fields."""
    return lambda site: replace(
        site,
        queues=tuple(replace(queue, **fields) for queue in site.queues),  # type: ignore[arg-type]
    )


def queue(name: str, **fields: object) -> Change:
    """One queue with other fields."""
    return lambda site: replace(
        site,
        queues=tuple(
            replace(queue, **fields) if queue.name == name else queue  # type: ignore[arg-type]
            for queue in site.queues
        ),
    )


def limited(*limits: Limit) -> Change:
    """With more Limit sections."""
    return lambda site: replace(site, limits=(*site.limits, *limits))


def one_after_another(*changes: Change) -> Change:
    """All of them."""

    def changed(site: Instance) -> Instance:
        for change in changes:
            site = change(site)
        return site

    return changed


def one_user(site: Instance) -> Instance:
    """Everything belongs to u0."""
    running = tuple(replace(run, job=replace(run.job, user="u0")) for run in site.running)
    return jobs(lambda job: replace(job, user="u0"))(replace(site, running=running))


def partition(site: Instance) -> Instance:
    """One host partition of all hosts."""
    names = tuple(host.name for host in site.cluster.hosts)
    return replace(site, partitions=(HostPartition("P", names, (("default", 1),)),))


def licences(amount: float) -> Change:
    """So many licences."""
    shared = (SharedResource("lic", amount),)
    return lambda site: replace(site, cluster=replace(site.cluster, shared=shared))


def later(site: Instance) -> Instance:
    """The same, some time later."""
    moved = jobs(lambda job: replace(job, submit=job.submit + LATER))(site)
    running = tuple(
        replace(run, start=run.start + LATER, job=replace(run.job, submit=run.job.submit + LATER))
        for run in site.running
    )
    return replace(moved, now=site.now + LATER, running=running)


def reserved(begin: int, end: int) -> Change:
    """An advance reservation of the first host."""
    return lambda site: replace(
        site,
        advance_reservations=(
            AdvanceReservation("a#1", begin, end, {site.cluster.hosts[0].name: 1}),
        ),
    )


def with_queues(*more: Queue) -> Change:
    """Queues without a job."""
    return lambda site: replace(site, queues=(*site.queues, *more))


def hosts(**fields: object) -> Change:
    """Every host with other fields."""
    return lambda site: replace(
        site,
        cluster=replace(
            site.cluster,
            hosts=tuple(replace(host, **fields) for host in site.cluster.hosts),  # type: ignore[arg-type]
        ),
    )


def group(shares: tuple[tuple[str, int], ...]) -> Change:
    """All users in one group."""
    users = UserGroup("g", ("u0", "u1", "u2"), shares)
    return lambda site: replace(site, groups=(users,))


def applications(site: Instance) -> Instance:
    """What simple requirements ask for, asked for by applications."""
    texts = sorted({job.res_req for job in site.pending if job.res_req})
    simple = [asked for asked in texts if not any("{" in text or "||" in text for text in asked)]
    names = {asked: f"app{at}" for at, asked in enumerate(simple)}

    def moved(job: Job) -> Job:
        name = names.get(job.res_req)
        return replace(job, res_req=(), application=name) if name else job

    profiles = tuple(Application(name, " ".join(asked)) for asked, name in names.items())
    return replace(jobs(moved)(site), applications=profiles)


def half_an_hour(job: Job) -> Job:
    """A job of half an hour at most."""
    return replace(job, run_limit=1800, run_time=min(job.run_time or 1, 1800))


def same(site: Instance) -> Instance:
    """Nothing is changed."""
    return site


def _any_type(job: Job) -> Job:
    return job if job.res_req else replace(job, res_req=("select[type==any]",))


def _one_term(job: Job) -> Job:
    only = job.res_req == ("select[type==X]",) and job.max_slots is None
    return replace(job, res_req=(f"{job.slots}*{{{job.res_req[0]}}}",)) if only else job


def _in_one_text(job: Job) -> Job:
    return replace(job, res_req=(" ".join(job.res_req),)) if job.res_req else job


#: What is said in one way, and in another.
PAIRS: dict[str, tuple[Change, Change]] = {
    "written as YAML": (same, lambda site: loads(dump(site))),
    "written as JSON": (same, lambda site: loads(dump_json(site))),
    "running jobs in another order": (
        same,
        lambda site: replace(site, running=tuple(reversed(site.running))),
    ),
    "later": (same, later),
    "limits that are never reached": (
        same,
        one_after_another(
            limited(
                Limit("a", {"slots": 1e5, "jobs": 1e5, "mem": 1e9}, queues=Scope(("normal",))),
                Limit("b", {"slots": 1e5}, hosts=EACH),
                Limit("c", {"lic": 1e4}, users=EACH),
                Limit("d", {"slots": 0.0}, users=Scope(("nobody",))),
            ),
            queues(host_slots=999, processor_slots=999.0),
        ),
    ),
    "queues without a job": (
        same,
        with_queues(Queue("top", 50, preemptive=("normal",)), Queue("low", 1, preemptable=("*",))),
    ),
    "a window that is always open": (same, queues(dispatch_window="0:00-24:00")),
    "an advance reservation after everything": (same, reserved(10**8, 10**8 + 3600)),
    "an advance reservation that is over": (same, reserved(-7200, -3600)),
    "-m all": (same, jobs(lambda job: replace(job, hosts=(HostRequest("all"),)))),
    "HOSTS = all": (same, queues(hosts=(HostRequest("all"),))),
    "-n 2,2": (same, jobs(lambda job: replace(job, max_slots=job.max_slots or job.slots))),
    "a begin time that has come": (same, jobs(lambda job: replace(job, begin=job.submit))),
    "select[type==any]": (same, jobs(_any_type)),
    "one term in braces": (same, jobs(_one_term)),
    "one -R for several": (same, jobs(_in_one_text)),
    "groups of users": (same, lambda site: replace(site, groups=(UserGroup("g", ("u0",)),))),
    "fairshare of one user": (
        one_user,
        one_after_another(one_user, queues(user_shares=(("default", 1),))),
    ),
    "a partition of all hosts for one user": (one_user, one_after_another(one_user, partition)),
    "UJOB_LIMIT": (
        queue("normal", user_slots=6),
        one_after_another(
            queue("normal", user_slots=None),
            limited(Limit("u", {"slots": 6.0}, users=EACH, queues=Scope(("normal",)))),
        ),
    ),
    "QJOB_LIMIT": (
        queue("urgent", queue_slots=8),
        one_after_another(
            queue("urgent", queue_slots=None),
            limited(Limit("q", {"slots": 8.0}, queues=Scope(("urgent",)))),
        ),
    ),
    "HJOB_LIMIT": (
        queue("normal", host_slots=2),
        limited(Limit("h", {"slots": 2.0}, hosts=EACH, queues=Scope(("normal",)))),
    ),
    "licences": (
        licences(2.0),
        one_after_another(licences(50.0), limited(Limit("l", {"lic": 2.0}))),
    ),
    "shares times ten": (
        queues(user_shares=(("u0", 1), ("default", 2))),
        queues(user_shares=(("u0", 10), ("default", 20))),
    ),
    "the shares of a group of all": (
        queues(user_shares=(("default", 1),)),
        one_after_another(queues(user_shares=(("g", 1),)), group((("default", 1),))),
    ),
    "PREEMPTABLE for PREEMPTIVE": (
        one_after_another(queues(backfill=False), queue("urgent", preemptive=("normal",))),
        one_after_another(queues(backfill=False), queue("normal", preemptable=("urgent",))),
    ),
    "JOB_ACCEPT_INTERVAL of each queue": (
        lambda site: replace(site, params=replace(site.params, job_accept_interval=1)),
        queues(job_accept_interval=1),
    ),
    "hosts and queues that are always open": (
        same,
        one_after_another(hosts(windows="0:00-24:00"), queues(run_window="0:00-24:00")),
    ),
    "applications": (same, applications),
    "MAX_JOBS": (
        limited(Limit("m", {"slots": 5.0}, users=Scope(("u0",)))),
        lambda site: replace(site, users=(User("u0", max_slots=5),)),
    ),
    "JL/U": (limited(Limit("j", {"slots": 3.0}, users=EACH, hosts=EACH)), hosts(user_slots=3)),
    "run limits of queues": (
        jobs(half_an_hour),
        one_after_another(
            jobs(lambda job: replace(half_an_hour(job), run_limit=None)), queues(run_limit=1800)
        ),
    ),
    "a limit for each": (
        limited(*(Limit(user, {"jobs": 3.0}, users=Scope((user,))) for user in ("u0", "u1", "u2"))),
        limited(Limit("each", {"jobs": 3.0}, users=EACH)),
    ),
    "queues in another order": (same, lambda site: replace(site, queues=site.queues[::-1])),
}
