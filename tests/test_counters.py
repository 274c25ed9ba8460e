"""Every counter, in one table: a full one is named, lifted by its key, judged, and is as others."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import slotwise as sw
from slotwise.model.formats.settings import changed, read_setting

HALF_AN_HOUR = 1800


@dataclass(frozen=True)
class Full:
    """A counter that the running job r fills until +30m, so that job 100 waits for it alone."""

    name: str
    #: What explain says before the start.
    words: str
    #: The key that binds, as diagnose writes cause and remedy.
    key: str
    #: Sections of the document, added to those of :func:`document`.
    sections: dict[str, Any] = field(default_factory=dict)
    queue: dict[str, Any] = field(default_factory=dict)
    host: dict[str, Any] = field(default_factory=dict)
    #: Options of r and 100 (bsub).
    options: str = ""
    #: More of r and of 100.
    ids: tuple[str, str] = ("r", "100")
    more: dict[str, Any] = field(default_factory=dict)
    #: Whether it is an amount that jobs take, without which nothing is reserved (MEM-08).
    is_amount: bool = False


def section(**keys: Any) -> dict[str, Any]:
    return {"limits": [{"name": "L", **keys}]}


def guarantee(slots: int) -> dict[str, Any]:
    pool = {"name": "P", "TYPE": "slots", "HOSTS": "all", "DISTRIBUTION": f"([own, {slots}])"}
    return {
        "service_classes": [{"name": "own", "ACCESS_CONTROL": "USERS[v]"}],
        "guaranteed_pools": [pool],
    }


COUNTERS = [
    Full("JOBS of a user", "limit L", "JOBS = 1", section(USERS="u", JOBS=1)),
    Full("JOBS of each user", "limit L", "JOBS = 1", section(PER_USER="all", JOBS=1)),
    Full("SLOTS of a user", "limit L", "SLOTS = 2", section(USERS="u", SLOTS=2)),
    Full("SLOTS of a queue", "limit L", "SLOTS = 2", section(PER_QUEUE="all", SLOTS=2)),
    Full("JOBS of a host", "limit L", "JOBS = 1", section(PER_HOST="h", JOBS=1)),
    Full("SLOTS of a host", "limit L", "SLOTS = 2", section(PER_HOST="h", SLOTS=2)),
    Full("JOBS of a project", "limit L", "JOBS = 1", section(PROJECTS="p", JOBS=1), options="-P p"),
    Full(
        *("JOBS of a licence project", "limit L", "JOBS = 1"),
        section(LIC_PROJECTS="lp", JOBS=1),
        options="-Lp lp",
    ),
    Full(
        *("JOBS of an application", "limit L", "JOBS = 1"),
        {"applications": [{"name": "a"}], **section(APPS="a", JOBS=1)},
        options="-app a",
    ),
    Full("MEM of a user", "limit L", "MEM = 100", section(USERS="u", MEM=100),
         host={"mem": 4000}, options="-R 'rusage[mem=100]'"),
    Full("MEM of a host in percent", "limit L", "MEM = 10%", section(PER_HOST="h", MEM="10%"),
         host={"mem": 1000}, options="-R 'rusage[mem=100]'"),
    Full("a licence of a user", "limit L", "RESOURCE = [lic,1]",
         {"shared_resources": [{"name": "lic", "amount": 5}],
          **section(USERS="u", RESOURCE="[lic,1]")},
         options="-R 'rusage[lic=1]'"),
    Full("SLOTS_PER_PROCESSOR", "limit L", "SLOTS_PER_PROCESSOR = 0.5",
         section(USERS="u", PER_HOST="all", SLOTS_PER_PROCESSOR=0.5)),
    Full("MAX_JOBS", "MAX_JOBS of u", "MAX_JOBS = 2", {"users": [{"name": "u", "MAX_JOBS": 2}]}),
    Full("JL/P", "JL/P of u", "JL/P = 0.5", {"users": [{"name": "u", "JL/P": 0.5}]}),
    Full("JL/U", "JL/U slots of user u", "JL/U = 2", host={"JL/U": 2}),
    Full("QJOB_LIMIT", "QJOB_LIMIT of q", "QJOB_LIMIT = 2", queue={"QJOB_LIMIT": 2}),
    Full("UJOB_LIMIT", "UJOB_LIMIT of q", "UJOB_LIMIT = 2", queue={"UJOB_LIMIT": 2}),
    Full("HJOB_LIMIT", "HJOB_LIMIT of queue q", "HJOB_LIMIT = 2", queue={"HJOB_LIMIT": 2}),
    Full("PJOB_LIMIT", "PJOB_LIMIT of queue q", "PJOB_LIMIT = 0.5", queue={"PJOB_LIMIT": 0.5}),
    Full("job group", "job group /g", "bgadd -L 1", {"job_groups": [{"name": "/g", "limit": 1}]},
         options="-g /g"),
    Full("job group above", "job group /g", "bgadd -L 1",
         {"job_groups": [{"name": "/g", "limit": 1}, {"name": "/g/x", "limit": 1}]},
         options="-g /g/x"),
    Full("array", "array 100 (at most 1 at once)", "%1 of its -J", ids=("100[1]", "100[2]"),
         more={"array_limit": 1}),
    Full("guaranteed pool", "guaranteed pool P", "LOAN_POLICIES", guarantee(2)),
    Full("QOS of Slurm", "limit qos_normal_user", "MaxJobsPerUser=2",
         {"params": {"family": "Slurm"},
          "limits": [{"name": "qos_normal_user", "PER_USER": "all", "JOBS": 1}]}),
    Full("licence", "lic", "rusage[lic=1]", {"shared_resources": [{"name": "lic", "amount": 1}]},
         options="-R 'rusage[lic=1]'", is_amount=True),
    Full("GPU", "GPU", "-gpu num=1", host={"gpus": 1}, options="-gpu num=1", is_amount=True),
]  # fmt: skip


def document(counter: Full, *, beside: bool = False) -> dict[str, Any]:
    """Return r, which runs until +30m, and 100, the first in line.

    beside: 100 needs slots of r too, and 999, behind it, would take a free one for 5 h.
    """
    first, waiting = counter.ids
    options = f"-q q {counter.options}"
    queues = [
        {"name": "q", "PRIORITY": 9, "SLOT_RESERVE": "MAX_RESERVE_TIME[5000]", **counter.queue},
        {"name": "other", "PRIORITY": 1, "SLOT_RESERVE": "MAX_RESERVE_TIME[5000]"},
    ]
    run = {"id": first, "user": "u", "bsub": f"{options} -n {1 if beside else 2} -W 30"}
    run |= {"start": 0, "allocation": f"{1 if beside else 2}*h", **counter.more}
    waits = {"id": waiting, "user": "u", "bsub": f"{options} -n 2 -W 20", **counter.more}
    last = {"id": "999", "user": "w", "bsub": "-q other -n 1 -W 300"}
    found = {
        "format": "slotwise/1",
        "hosts": [{"name": "h", "slots": 2 if beside else 4, "ncpus": 4, **counter.host}],
        "queues": queues,
        "running": [run],
        "pending": [waits, last] if beside else [waits],
        **counter.sections,
    }
    if beside and counter.name == "guaranteed pool":
        found |= {"hosts": [{"name": "h", "slots": 3}], **guarantee(1)}
    numjobs = {} if counter.name == "QOS of Slurm" else {"LSB_TIME_RESERVE_NUMJOBS": 4}
    found["params"] = {**numjobs, **counter.sections.get("params", {})}
    return found


def read(counter: Full, *, beside: bool = False) -> sw.Instance:
    return sw.loads(json.dumps(document(counter, beside=beside)))


def named(counter: Full) -> str:
    return counter.name


each_counter = pytest.mark.parametrize("counter", COUNTERS, ids=named)


@each_counter
def test_explain_names_the_counter_that_is_full(counter: Full) -> None:
    problem, waiting = read(counter), counter.ids[1]
    found = sw.explain(problem, waiting)
    assert found.answer.start == HALF_AN_HOUR
    assert [counter.words in item.reason for item in found.obstacles] == [True]
    assert counter.words in sw.plan(problem)[waiting].waits_for


@each_counter
def test_diagnose_names_the_key_that_binds_and_its_remedy_works(counter: Full) -> None:
    """A cause by kind of feature, or none, where one of two limits that bind is not lifted."""
    problem, waiting = read(counter), counter.ids[1]
    (found,) = sw.diagnose(problem).jobs
    remedy = found.remedies[0]
    assert (found.job, remedy.start) == (waiting, 0)
    assert counter.key in f"{remedy.cause} {remedy.setting}"
    if remedy.whatif and counter.name != "QOS of Slurm":
        settings = [read_setting(text) for text in remedy.whatif.split("; ")]
        lifted, wrong = changed(problem, settings)
        assert not wrong
        assert lifted is not None
        assert sw.plan(lifted)[waiting].start == 0


@pytest.mark.parametrize("counter", [c for c in COUNTERS if "params" not in c.sections], ids=named)
def test_a_reservation_is_kept_while_the_counter_is_full(counter: Full) -> None:
    """Job groups, arrays and guarantees lost it: 100 started when 999 ended, after 5 h."""
    problem, waiting = read(counter, beside=True), counter.ids[1]
    planned = sw.plan(problem, method="time-based")[waiting].start
    simulated = sw.outlook(problem)[waiting].as_configured
    kept = [start == HALF_AN_HOUR for start in (planned, simulated)]
    assert kept == [not counter.is_amount] * 2


@each_counter
def test_the_judge_refuses_one_job_more(counter: Full) -> None:
    problem = read(counter)
    alone = replace(problem, running=())
    found = sw.plan(alone, method="time-based")
    assert found[counter.ids[1]].start == 0
    assert not sw.validate(alone, found)
    assert sw.validate(problem, found)


POOL = """
format: slotwise/1
hosts: [{name: "h[1-2]", slots: 5}]
queues:
  - {name: q1, PRIORITY: 50, SLOT_POOL: A, SLOT_SHARE: 50, MOST}
  - {name: q2, PRIORITY: 40, SLOT_POOL: A, SLOT_SHARE: 20}
running:
  - {id: r1, queue: q1, slots: 4, run_limit: 4h, start: 0, allocation: 4*h1}
  - {id: r2, queue: q2, slots: 2, run_limit: 4h, start: 0, allocation: 2*h2}
  - {id: r3, queue: q1, slots: 3, run_limit: 2h, start: 0, allocation: 3*h2}
pending:
  - {id: a, queue: q1, slots: 1, run_limit: 3h}
OTHER
"""


@pytest.mark.parametrize(
    ("most", "other", "key", "remedy"),
    [
        ("MAX_SLOTS_IN_POOL: 9", "", "MAX_SLOTS_IN_POOL = 9", "MAX_SLOTS_IN_POOL = 10"),
        (
            *("MAX_SLOTS_IN_POOL: 10", "  - {id: p, queue: q2, slots: 1, run_limit: 1h}"),
            *("SLOT_SHARE = 50 percent", "SLOT_SHARE = 60"),
        ),
    ],
)
def test_a_slot_pool_is_named_by_the_key_that_binds(
    most: str, other: str, key: str, remedy: str
) -> None:
    """Always SLOT_SHARE of the job's queue, with no SLOT_POOL as the only remedy."""
    problem = sw.loads(POOL.replace("MOST", most).replace("OTHER", other))
    found = next(item for item in sw.diagnose(problem).jobs if item.job == "a")
    assert key in found.remedies[0].cause
    assert (found.remedies[0].setting, found.remedies[0].start) == (remedy, 0)


@pytest.mark.parametrize("form", ["users", "limits"])
def test_a_group_of_all_but_some_counts_all_but_these(form: str) -> None:
    """A limit of a group with the member all counted nobody; one that `~` excepts was counted."""
    limit = {"users": [{"name": "g", "MAX_JOBS": 2}]}
    if form == "limits":
        limit = {"limits": [{"name": "l", "USERS": "g", "SLOTS": 2}]}
    running = [
        {"id": "r", "user": "eve", "slots": 2, "start": 0, "run_limit": 3600, "allocation": "2*A"}
    ]
    pending = [{"id": user, "user": user, "run_limit": 60} for user in ("ann", "bob", "cat")]
    groups = [
        {"name": "inner", "members": "cat bob"},
        {"name": "g", "members": "all ~inner"},
        {"name": "h", "members": "inner ~cat"},
    ]
    document = {
        "format": "slotwise/1",
        "hosts": [{"name": "A", "slots": 8}],
        "queues": [{"name": "q"}],
        **{"user_groups": groups, "running": running, "pending": pending, **limit},
    }
    plan = sw.plan(sw.from_document(document), "optimal")
    assert [plan[job].start for job in ("ann", "bob", "cat")] == [3600, 0, 0]
    document["users" if form == "users" else "limits"][0] |= (  # type: ignore[index]
        {"name": "h", "MAX_JOBS": 0} if form == "users" else {"USERS": "h", "SLOTS": 0}
    )
    plan = sw.plan(sw.from_document(document), "optimal")
    assert [plan[job].start for job in ("ann", "cat")] == [0, 0]
    with pytest.raises(KeyError, match="does not fit"):
        plan["bob"]
