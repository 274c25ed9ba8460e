"""Random valid instances for the tests of the formats."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from slotwise import (
    AdvanceReservation,
    Application,
    Cluster,
    ComputeUnit,
    Host,
    HostGroup,
    HostRequest,
    Instance,
    Job,
    Limit,
    Params,
    Queue,
    ReservationUsage,
    ResourceDefinition,
    RunningJob,
    Scope,
    SharedResource,
    Thresholds,
    User,
)

AMOUNT = st.floats(0, 1e9) | st.integers(0, 10**6).map(float)
SECONDS = st.integers(1, 10**6)
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cf")), max_size=12)
NAME = st.from_regex(r"[A-Za-z0-9._-]{1,8}", fullmatch=True)
#: Seconds from the origin; eight digits with or without a unit look like a date.
INSTANT = (
    st.integers(-(10**6), 10**6)
    | st.integers(-(10**11), 10**11)
    | st.sampled_from([12345678, 20260301, -20260301, 3600 * 20260301, 99991231])
)
ORIGINS = (
    None,
    "2026-01-05T08:00:00+01:00",
    "2026-01-05T07:00:00Z",
    "2026-01-05 07:00:00+00:00",
    "20260105T070000Z",
    "2026-01-05T07:00:00-11:59:30",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-12:00",
)
MAYBE_SECONDS = st.none() | SECONDS
WINDOW = st.sampled_from(["", "(19:00-7:00)", "5:19:00-1:8:30", "8-18 20-22"])
INDICES = st.dictionaries(st.sampled_from(["r1m", "ut", "mem"]), st.floats(0, 1e6), max_size=2)
THRESHOLDS = st.builds(Thresholds, INDICES, INDICES)


@st.composite
def hosts(draw: Any) -> tuple[Host, ...]:
    """Up to eight hosts, neighbours often alike; the first four have twelve slots or more."""
    names = draw(st.lists(NAME, min_size=4, max_size=8, unique=True))
    made: list[Host] = []
    for name in names:
        if made and draw(st.booleans()):
            template = made[-1]
        else:
            booleans = draw(st.frozensets(st.sampled_from(["fast", "big"])))
            template = Host(
                name,
                draw(st.integers(12, 64)),
                ncpus=draw(st.none() | st.integers(1, 64)),
                type=draw(st.sampled_from(["any", "X86_64", "007"])),
                cpu_factor=draw(st.floats(0.1, 100)),
                amounts=draw(st.dictionaries(st.sampled_from(["mem", "tmp", "gpu"]), AMOUNT)),
                strings=draw(
                    st.dictionaries(st.just("os"), st.sampled_from(["4.2", "yes", "1e5"]))
                ),
                booleans=booleans,
                exclusive=booleans & draw(st.frozensets(st.just("big"))),
                load=draw(INDICES),
                user_slots=draw(st.none() | st.integers(0, 9)),
                windows=draw(WINDOW),
                thresholds=draw(THRESHOLDS),
                mxj_defined=draw(st.booleans()),
            )
        values = {field: getattr(template, field) for field in Host.__slots__}
        made.append(Host(**(values | {"name": name})))
    return tuple(made)


@st.composite
def clusters(draw: Any) -> Cluster:
    """Hosts, groups, two levels of units, resources."""
    machines = draw(hosts())
    names = [host.name for host in machines]
    half = len(names) // 2
    units: tuple[ComputeUnit, ...] = ()
    if draw(st.booleans()):
        units = (
            ComputeUnit("unit:rack", "rack", tuple(names)),
            ComputeUnit("unit:1", "enclosure", tuple(names[:half]), "unit:rack"),
            ComputeUnit("unit:2", "enclosure", tuple(names[half:]), "unit:rack"),
        )
    members = tuple(draw(st.lists(st.sampled_from(names), unique=True)))
    places = draw(st.none() | st.frozensets(st.sampled_from(names)))
    static = draw(st.booleans())
    shared = [SharedResource("licence", draw(AMOUNT), places, static)]
    if places is not None and draw(st.booleans()):
        shared.append(SharedResource("licence", draw(AMOUNT), frozenset(names) - places, static))
    return Cluster(
        machines,
        groups=(HostGroup("group:a", members),) if draw(st.booleans()) else (),
        unit_types=("enclosure", "rack") if units else (),
        default_unit_type=draw(st.sampled_from(["enclosure", "rack"])) if units else None,
        units=units,
        resources=(ResourceDefinition("unit", release=draw(st.booleans())),),
        shared=(
            *shared,
            SharedResource("token", draw(AMOUNT), frozenset(names[:half])),
            SharedResource("token", draw(AMOUNT), frozenset(names[half:])),
        ),
    )


def _queues() -> st.SearchStrategy[Queue]:
    limit = st.none() | st.integers(0, 100)
    return st.builds(
        Queue,
        name=st.just("main"),
        priority=st.integers(-5, 100),
        run_limit=MAYBE_SECONDS,
        cpu_limit=st.none() | st.integers(10**6, 2 * 10**6),  # no job of these asks for more
        backfill=st.booleans(),
        slot_reserve=st.none() | st.integers(1, 99),
        exclusive=st.just("Y"),
        queue_slots=limit,
        user_slots=limit,
        processor_slots=st.none() | AMOUNT,
        host_slots=limit,
        thresholds=THRESHOLDS,
        dispatch_window=WINDOW,
        run_window=WINDOW,
        resrsv_limit=st.dictionaries(st.just("tmp"), st.just((0.0, 1e12))),
        user_shares=st.none() | st.just((("default", 3), ("ann", 1))),
        factors=st.dictionaries(st.sampled_from(["HIST_HOURS", "RUN_JOB_FACTOR"]), AMOUNT),
        preemptable=st.none() | st.just(("*",)),
        description=TEXT,
    )


@st.composite
def jobs(draw: Any, identity: str, names: list[str]) -> Job:
    """A job in queue main."""
    least = draw(st.integers(1, 9))
    host = st.builds(
        HostRequest, st.sampled_from([*names, "others"]), st.integers(0, 9), st.booleans()
    )
    return Job(
        identity,
        slots=least,
        max_slots=draw(st.none() | st.integers(least, 20)),
        user=draw(NAME),
        queue="main",
        res_req=draw(
            st.sampled_from([(), ("",), ("span[ptile=2]",), ("rusage[mem=1]", "order[-mem]")])
        ),
        run_limit=draw(MAYBE_SECONDS),
        cpu_limit=draw(MAYBE_SECONDS),
        run_time=draw(MAYBE_SECONDS),
        cpu_time=draw(st.none() | AMOUNT),
        submit=draw(INSTANT),
        begin=draw(st.none() | st.integers(-100, 100)),
        deadline=draw(st.none() | st.integers(101, 10**6)),
        priority=draw(st.integers(0, 100)),
        weight=draw(AMOUNT),
        project=draw(NAME),
        license_project=draw(st.sampled_from(["", "lp"])),
        application=draw(st.sampled_from(["", "tool"])),
        hosts=tuple(draw(st.lists(host, max_size=2))),
        exclusive=draw(st.booleans()),
        from_host=draw(st.sampled_from(["", *names])),
        gpu=draw(st.sampled_from(["", "num=1"])),
        extsched=draw(st.sampled_from(["", "RMS[RMS_MCONT]"])),
        queued_as=draw(st.none() | st.tuples(st.integers(-99, 99), st.integers(-9, 9))),
        requeued=draw(st.booleans()),
    )


@st.composite
def instances(draw: Any) -> Instance:
    """A valid instance with a little of everything."""
    cluster = draw(clusters())
    names = [host.name for host in cluster.hosts]
    now = draw(INSTANT)
    running = []
    for index, name in enumerate(names[:4]):
        job = draw(jobs(f"r{index}", names))
        start = now - draw(st.integers(0, 10**5))
        finish = draw(st.none() | st.integers(start, start + 10**6))
        running.append(
            RunningJob(job, start, {name: job.slots}, finish, suspended=draw(st.booleans()))
        )
    waiting = tuple(draw(jobs(f"p{index}", names)) for index in range(draw(st.integers(0, 3))))
    scope = Scope(("all",), draw(st.booleans()), tuple(draw(st.lists(NAME, max_size=1))))
    amounts = draw(
        st.dictionaries(st.sampled_from(["slots", "jobs", "mem", "licence"]), AMOUNT, min_size=1)
    )
    unit = draw(st.sampled_from(["MB", "GB"]))
    return Instance(
        cluster,
        queues=(draw(_queues()),),
        running=tuple(running),
        pending=waiting,
        applications=(Application("tool", run_limit=draw(MAYBE_SECONDS)),),
        users=(User("ann", max_slots=draw(st.none() | st.integers(0, 9))),) if waiting else (),
        limits=(
            Limit("a", amounts, users=scope, hosts=draw(st.none() | st.just(Scope(("all",))))),
        ),
        reservation_usage=(ReservationUsage("licence", "PER_HOST"),),
        advance_reservations=(AdvanceReservation("demo", now, now + 60, {names[0]: 1}),),
        params=Params(
            unit_for_limits=unit,
            default_queue="main",
            hist_hours=draw(AMOUNT),
            lenient=draw(st.booleans()),
            family=draw(st.sampled_from(("LSF", "OpenLava", "volclava"))),
            dialect=draw(st.sampled_from(["7", "10.1"])),
            modules=draw(st.none() | st.just(("schmod_default", "schmod_limit"))),
        ),
        now=now,
        origin=draw(st.sampled_from(ORIGINS)),
        name=draw(TEXT),
        description=draw(TEXT),
    )
