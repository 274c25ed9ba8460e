"""Tiny random cases of rules that seldom stand together (:mod:`combined_enumerator`)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from combined_enumerator import MINUTE, Amount, Case, Term, Window
from slotwise import (
    AdvanceReservation,
    Cluster,
    ComputeUnit,
    Host,
    HostGroup,
    HostRequest,
    Instance,
    Job,
    Limit,
    Queue,
    ResourceDefinition,
    RunningJob,
    Scope,
    SharedResource,
    User,
)

CU = ({}, {"maxcus": "1"}, {"maxcus": "2"}, {"balance": ""}, {"usablecuslots": "2"}, {"excl": ""})
CU += ({"pref": "maxavail"}, {"pref": "minavail", "maxcus": "2"}, {"balance": "", "excl": ""})
CU += ({"type": "rack"}, {"type": "rack", "maxcus": "1"}, {"type": "rack", "balance": ""})


def text_of(term: Term) -> str:
    """A term as -R has it."""
    parts = [f"select[type=={term.kind}]"] if term.kind else []
    usages = ["||".join(",".join(map(_usage, items)) for items in term.alternatives)]
    parts += [f"rusage[{text}]" for text in usages if text]
    parts += [f"span[ptile={term.tile}]"] if term.tile and not term.one_host else []
    parts += ["span[hosts=1]"] if term.one_host else []
    parts += [f"span[block={term.block}]"] if term.block > 1 else []
    parts += ["same[type]"] if term.same else []
    if term.cu is not None:
        parts.append(f"cu[{':'.join(k + ('=' if v else '') + v for k, v in term.cu)}]")
    return " ".join(parts)


def _usage(amount: Amount) -> str:
    many = len(amount.values) > 1
    shown = [str(amount.values[0])] if not many else [f"({' '.join(map(str, amount.values))})"]
    text = f"{amount.resource}={shown[0]}{'/' + amount.per if amount.per != 'host' else ''}"
    if amount.minutes:
        minutes = " ".join(map(str, amount.minutes))
        text += f":duration={f'({minutes})' if many else minutes}"
        decays = " ".join("1" for _ in amount.minutes)
        text += f":decay={f'({decays})' if many else 1}" if amount.decay else ""
    return text


def _maybe(random: Random, chance: float) -> bool:
    return random.random() < chance


def window(random: Random) -> Window:
    """A quarter of an hour or so after midnight."""
    first = random.randint(1, 10)
    return first, first + random.randint(3, 12)


def clock(item: Window) -> str:
    """A window as the files have it."""
    return f"0:{item[0]:02d}-0:{item[1]:02d}"


def case(random: Random) -> Case:
    """2 to 4 hosts, 0 to 3 running and 2 or 3 pending jobs, two queues."""
    names = [f"h{number}" for number in range(random.choice([2, 3, 3, 4]))]
    host_windows = {name: window(random) for name in names if _maybe(random, 0.08)}
    dispatch = {name: window(random) for name in "ab" if _maybe(random, 0.12)}
    run = {name: window(random) for name in "ab" if _maybe(random, 0.12)}
    cluster = _cluster(random, names, host_windows)
    asks: dict[str, tuple[Term, ...]] = {}
    running = _running(random, cluster, asks)
    pending = [pending_job(random, names, n, asks) for n in range(random.choice([2, 2, 3]))]
    instance = Instance(
        cluster,
        queues=tuple(_queue(random, names, name, dispatch, run) for name in "ab"),
        running=tuple(running),
        pending=tuple(pending),
        users=tuple(_users(random)),
        limits=tuple(_limits(random, names)),
        advance_reservations=tuple(_reservations(random, cluster)),
    )
    return Case(instance, asks, host_windows, dispatch, run)


def _cluster(random: Random, names: list[str], windows: dict[str, Window]) -> Cluster:
    hosts = tuple(
        Host(
            name,
            random.choice([1, 2, 3, 3, 4]),
            type=random.choice("XXY"),
            amounts={"mem": float(random.choice([100, 200]))}
            | ({"gpu": float(random.choice([1, 2]))} if _maybe(random, 0.7) else {}),
            user_slots=random.choice([None] * 6 + [1, 2]),
            windows=clock(windows[name]) if name in windows else "",
            status=random.choice(["ok"] * 24 + ["closed_Adm", "unavail"]),
        )
        for name in names
    )
    cut = random.randint(1, len(names))
    parts = [part for part in (names[:cut], names[cut:]) if part]
    if _maybe(random, 0.3) and len(parts[0]) > 1:
        parts[:1] = [parts[0][:1], parts[0][1:]]
    racks = [parts[:1], parts[1:]] if _maybe(random, 0.5) else [parts]
    units = [
        ComputeUnit(f"e{n}", "enc", tuple(part), f"r{int(len(racks) > 1 and n > 0)}")
        for n, part in enumerate(parts)
    ]
    units += [
        ComputeUnit(f"r{n}", "rack", tuple(h for part in rack for h in part))
        for n, rack in enumerate(racks)
        if rack
    ]
    among = random.choice([None, frozenset(random.sample(names, len(names) - 1))])
    shared = (
        SharedResource("lic", float(random.randint(1, 2)), among, static=_maybe(random, 0.5)),
        SharedResource("tok", float(random.randint(1, 3))),
    )
    groups = (HostGroup("g", tuple(sorted(random.sample(names, random.randint(1, len(names)))))),)
    gpu = (ResourceDefinition("gpu"),)
    return Cluster(hosts, groups, ("enc", "rack"), "enc", tuple(units), gpu, shared)


def _queue(
    random: Random,
    names: list[str],
    name: str,
    dispatch: dict[str, Window],
    run: dict[str, Window],
) -> Queue:
    return Queue(
        name,
        priority=random.choice([1, 1, 2]) if name == "a" else 1,
        exclusive="CU[enc]",
        res_req="type==any",  # jobs do not say where they were submitted
        backfill=_maybe(random, 0.5),
        resource_reserve=100,
        hosts=(HostRequest("g"),) if _maybe(random, 0.08) else (),
        queue_slots=random.choice([None] * 7 + [2, 4]),
        user_slots=random.choice([None] * 7 + [2, 3]),
        host_slots=random.choice([None] * 8 + [2]),
        processor_slots=random.choice([None] * 8 + [0.5]),
        dispatch_window=clock(dispatch[name]) if name in dispatch else "",
        run_window=clock(run[name]) if name in run else "",
    )


def _users(random: Random) -> list[User]:
    if not _maybe(random, 0.25):
        return []
    return [User("ann", random.choice([None, 2, 4]), random.choice([None, 0.5, 1.0]))]


def _apart(random: Random) -> Random:
    """Return a source of its own, so that other draws stay what they are."""
    return Random(repr(random.getstate()))


def _license_project(random: Random) -> str:
    return _apart(random).choice(["", "L", "M"])


def _license_scope(random: Random) -> Scope | None:
    """Some licence projects: all, or one of them."""
    return _apart(random).choice(
        [
            None,
            Scope(("all",)),
            Scope(("all",), each=True),
            Scope(("L",)),
            Scope(("all",), True, ("M",)),
        ]
    )


def _limits(random: Random, names: list[str]) -> list[Limit]:
    if not _maybe(random, 0.3):
        return []

    def scope(some: Sequence[str]) -> Scope | None:
        if _maybe(random, 0.5):
            return None
        chosen = random.choice([("all",), tuple(some[:1])])
        return Scope(chosen, each=_maybe(random, 0.5))

    amounts: list[dict[str, float]] = [{"slots": 2.0}, {"slots": 4.0}, {"jobs": 1.0}]
    amounts += [{"jobs": 2.0}, {"mem": 150.0}, {"jobs": 2.0, "slots": 5.0}]
    return [
        Limit(
            "some",
            random.choice(amounts),
            users=scope(["ann"]),
            queues=scope(["b"]),
            projects=scope(["P"]),
            hosts=scope(names),
            lic_projects=_license_scope(random),
        )
    ]


def _reservations(random: Random, cluster: Cluster) -> list[AdvanceReservation]:
    if not _maybe(random, 0.3):
        return []
    host, start = random.choice(cluster.hosts), random.randint(0, 8) * MINUTE
    slots = {host.name: random.randint(1, host.slots)}
    return [AdvanceReservation("ar", start, start + random.randint(1, 6) * MINUTE, slots)]


def _running(
    random: Random, cluster: Cluster, asks: dict[str, tuple[Term, ...]]
) -> list[RunningJob]:
    found: list[RunningJob] = []
    for host in random.sample(cluster.hosts, random.randint(0, min(3, len(cluster.hosts)))):
        taken = random.randint(1, host.slots)
        usage = random.choice(
            [
                (),
                (Amount("mem", (50,)),),
                (Amount("mem", (100, 40), (3,), True),),
                (Amount("mem", (90,), (4,), True),),
                (Amount("tok", (1,)),),
            ]
        )
        term = Term(alternatives=(usage,))
        name = f"r{len(found)}"
        asks[name] = (term,)
        text = text_of(term)
        job = Job(
            name,
            taken,
            user=random.choice(["ann", "bob"]),
            queue=random.choice("ab"),
            project=random.choice("PQ"),
            license_project=_license_project(random),
            res_req=(text,) if text else (),
            run_limit=random.choice([120, 180, 300, 360, 480, 720] * 4 + [None]),
            exclusive=_maybe(random, 0.2),
        )
        found.append(RunningJob(job, -random.randint(0, 3) * MINUTE, {host.name: taken}))
    return found


def pending_job(
    random: Random, names: list[str], number: int, asks: dict[str, tuple[Term, ...]]
) -> Job:
    slots = random.choice([1, 1, 2, 2, 2, 3, 4])
    terms = [_term(random)]
    if slots > 1 and _maybe(random, 0.3):
        first = random.randint(1, slots - 1)
        terms = [_term(random, first), _term(random, slots - first)]
    name = f"p{number}"
    asks[name] = tuple(terms)
    texts = [text_of(term) for term in terms]
    text = texts[0]
    if len(terms) > 1:
        text = " + ".join(
            f"{t.count}*{{{x or 'select[ncpus>0]'}}}" for t, x in zip(terms, texts, strict=True)
        )
    chosen = random.sample([*names], random.randint(1, len(names)))
    hosts: tuple[HostRequest, ...] = ()
    if _maybe(random, 0.2):
        first_too = _maybe(random, 0.4)
        hosts = tuple(
            HostRequest(h, random.randint(0, 2), first_too and not at)
            for at, h in enumerate(chosen)
        )
    elif _maybe(random, 0.1):
        hosts = (HostRequest("g"),)
    begin = random.choice([None] * 6 + [2 * MINUTE, 5 * MINUTE])
    return Job(
        name,
        slots,
        slots + random.randint(1, 2) if len(terms) == 1 and _maybe(random, 0.2) else None,
        user=random.choice(["ann", "bob"]),
        queue=random.choice("ab"),
        project=random.choice("PQ"),
        license_project=_license_project(random),
        res_req=(text,) if text else (),
        run_limit=random.choice([1, 2, 3, 4, 6]) * MINUTE if _maybe(random, 0.96) else None,
        submit=-100 + number,
        begin=begin,
        weight=random.choice([1.0, 2.0]),
        hosts=hosts,
        exclusive=len(terms) == 1 and _maybe(random, 0.15),
        queued_as=(-200, number) if _maybe(random, 0.15) else None,
        requeued=_maybe(random, 0.1),
    )


def _term(random: Random, count: int | None = None) -> Term:
    cu = random.choice(CU) if _maybe(random, 0.35) else None
    if cu is not None and count is not None:
        cu = {key: value for key, value in cu.items() if key not in ("excl", "balance")}
    span = random.choice(["", "", "", "one", "tile", "tile", "block"])
    amounts = [
        Amount("mem", (random.choice([50, 100]),), per=random.choice(["host", "task", "job"])),
        Amount("mem", (100, 50), (random.randint(1, 3),), _maybe(random, 0.5)),
        Amount("mem", (100,), (random.randint(1, 3),), _maybe(random, 0.6)),
        Amount("gpu", (1,)),
        Amount("lic", (1,), (random.randint(1, 2),) if _maybe(random, 0.4) else ()),
        Amount("tok", (random.randint(1, 2),)),
    ]
    alternatives: list[tuple[Amount, ...]] = [()]
    if _maybe(random, 0.55):
        alternatives = [(random.choice(amounts),)]
        if _maybe(random, 0.3):
            more = random.choice(amounts)
            if more.resource != alternatives[0][0].resource:
                alternatives[0] += (more,)
        if _maybe(random, 0.35) and count is None:
            alternatives.append((random.choice(amounts),))
    return Term(
        count,
        kind=random.choice(["", "", "", "X"]),
        tile=random.choice([1, 2, 2, 3]) if span == "tile" else 0,
        one_host=span == "one",
        block=2 if span == "block" else 1,
        same=_maybe(random, 0.2),
        cu=None if cu is None else tuple(cu.items()),
        alternatives=tuple(alternatives),
    )
