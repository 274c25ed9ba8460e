"""Hypothesis strategies: small random instances that use every kind of constraint."""

from __future__ import annotations

from hypothesis import strategies as st
from slotwise import Cluster, ComputeUnit, Host, Instance, Job, Limit, Queue, RunningJob, Scope

MINUTE = 60


@st.composite
def clusters(draw: st.DrawFn, most_hosts: int = 4) -> Cluster:
    """2 to `most_hosts` hosts of 1 to 3 slots, some memory, two types, units of about two hosts."""
    count = draw(st.integers(2, most_hosts))
    hosts = tuple(
        Host(
            f"h{number}",
            draw(st.integers(1, 3)),
            type=draw(st.sampled_from(["X", "Y"])),
            amounts={"mem": float(draw(st.sampled_from([100, 200])))},
        )
        for number in range(count)
    )
    half = (count + 1) // 2
    units = tuple(
        ComputeUnit(f"e{number}", "enclosure", tuple(h.name for h in part))
        for number, part in enumerate((hosts[:half], hosts[half:]))
        if part
    )
    return Cluster(hosts, unit_types=("enclosure",), default_unit_type="enclosure", units=units)


REQUIREMENTS = st.sampled_from(
    [
        (),
        (),
        ("span[ptile=1]",),
        ("span[ptile=2]",),
        ("span[ptile='!']",),
        ("span[hosts=1]",),
        ("same[type]",),
        ("select[type==X]",),
        ("rusage[mem=100]",),
        ("rusage[mem=(100 50):duration=(2 3)]",),
        ("rusage[mem=200||mem=50]",),
        ("cu[]",),
        ("cu[maxcus=1]",),
        ("cu[balance]",),
        ("cu[usablecuslots=2]",),
        ("cu[excl]",),
        ("span[ptile=2] cu[maxcus=1]",),
        ("span[ptile=1] same[type]",),
        ("span[ptile=2] rusage[mem=50]",),
    ]
)


@st.composite
def pending_jobs(draw: st.DrawFn, number: int) -> Job:
    """A job of 1 to 5 slots for 1 to 6 minutes."""
    return Job(
        f"p{number}",
        draw(st.integers(1, 5)),
        user=draw(st.sampled_from(["ann", "bob"])),
        res_req=draw(REQUIREMENTS),
        run_limit=MINUTE * draw(st.integers(1, 6)),
        submit=-10 + number,
        exclusive=draw(st.integers(0, 9)) == 0,
    )


@st.composite
def instances(draw: st.DrawFn, most_hosts: int = 4, most_jobs: int = 3) -> Instance:
    """A whole planning problem; running jobs never overcommit a host."""
    cluster = draw(clusters(most_hosts))
    running: list[RunningJob] = []
    for host in cluster.hosts:
        taken = draw(st.integers(0, host.slots))
        if taken:
            job = Job(f"r{len(running)}", taken, run_limit=MINUTE * draw(st.integers(1, 8)))
            running.append(RunningJob(job, 0, {host.name: taken}))
    count = draw(st.integers(1, most_jobs))
    limits: tuple[Limit, ...] = ()
    if draw(st.integers(0, 4)) == 0:
        scope = Scope(("all",), each=True)
        limits = (Limit("u", {"slots": float(draw(st.integers(2, 5)))}, users=scope),)
    return Instance(
        cluster=cluster,
        queues=(
            Queue(
                "default",
                exclusive="CU[enclosure]",
                res_req="type==any",  # jobs do not say where they were submitted
                host_slots=draw(st.sampled_from([None, None, None, 2])),
                queue_slots=draw(st.sampled_from([None, None, None, 4])),
            ),
        ),
        running=tuple(running),
        pending=tuple(draw(pending_jobs(number)) for number in range(count)),
        limits=limits,
    )
