"""Each of LSF's pending reasons is explained by what was read, or takes the proof and says so."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import slotwise as sw
from printed_listings import snapshot
from slotwise.model.pending import LOAD_WORDS, Pending
from slotwise.solver.planning import plan
from slotwise.solver.plausibility.gate import of_lsf, unexplained

pytestmark = pytest.mark.behaviour("GAT-01")
P = Pending
WINDOW = "5:00-23:00"
PROFILE = {"job": {"application": "x"}, "rest": {"applications": [{"name": "x"}]}}

#: What explains each reason: changes of the waiting job, of its queue, of a host, of the rest.
EXPLAINED_BY: dict[Pending, dict[str, dict[str, Any]]] = {
    P.START_TIME: {"job": {"begin": "2h"}},
    P.DEPENDENCY: {"job": {"dependency": "ended(1)"}},
    P.DEPENDENCY_NEVER: {"job": {"dependency": "ended(1)"}},
    P.ARRAY_ELEMENTS: {"job": {"id": "2[1]", "array_limit": 1}},
    P.JOB_GROUP: {"job": {"job_group": "/g"}, "rest": {"job_groups": [{"name": "/g", "limit": 1}]}},
    P.GUARANTEE: {
        "rest": {
            "service_classes": [{"name": "sc"}],
            "guaranteed_pools": [
                {"NAME": "p", "TYPE": "slots", "HOSTS": "a", "DISTRIBUTION": "[sc,2]"}
            ],
        }
    },
    P.QUEUE_INACTIVE: {"queue": {"active": False}},
    P.QUEUE_WINDOW: {"queue": {"DISPATCH_WINDOW": WINDOW}},
    P.QUEUE_SLOTS: {"queue": {"QJOB_LIMIT": 8}},
    P.QUEUE_SLOTS_PARALLEL: {"queue": {"QJOB_LIMIT": 8}},
    P.QUEUE_USER_SLOTS: {"queue": {"UJOB_LIMIT": 8}},
    P.QUEUE_USER_SLOTS_PARALLEL: {"queue": {"UJOB_LIMIT": 8}},
    P.QUEUE_WINDOW_CLOSES: {"queue": {"RUN_WINDOW": WINDOW}},
    P.QUEUE_PROCLIMIT: {"queue": {"PROCLIMIT": "1 1 8"}},
    P.USER_SLOTS: {"rest": {"users": [{"name": "ann", "MAX_JOBS": 8}]}},
    P.USER_SLOTS_PARALLEL: {"rest": {"users": [{"name": "ann", "MAX_JOBS": 8}]}},
    P.GROUP_SLOTS: {
        "rest": {
            "user_groups": [{"name": "g", "members": "ann"}],
            "users": [{"name": "g", "MAX_JOBS": 8}],
        }
    },
    P.NO_SHARE: {"queue": {"FAIRSHARE": "USER_SHARES[[ann,1] [bob,1]]"}},
    P.RESERVATION_INACTIVE: {
        "job": {"reservation": "r"},
        "rest": {
            "advance_reservations": [{"name": "r", "start": "1h", "end": "9h", "allocation": "8*a"}]
        },
    },
    P.LIMIT_APP: {**PROFILE, "limit": {"APPS": "x"}},
    P.JOBS_APP: {**PROFILE, "limit": {"APPS": "x", "JOBS": 1}},
    P.LIMIT_LICENSE_PROJECT: {"job": {"license_project": "x"}, "limit": {"LIC_PROJECTS": "x"}},
    P.JOBS_LICENSE_PROJECT: {
        "job": {"license_project": "x"},
        "limit": {"LIC_PROJECTS": "x", "JOBS": 1},
    },
    P.REQUIREMENT: {"job": {"res_req": "select[mem>1]"}},
    P.NOT_ALONE: {"job": {"exclusive": True}, "queue": {"EXCLUSIVE": "Y"}},
    P.PARTITION_PRIORITY: {
        "rest": {
            "host_partitions": [{"name": "hp", "HOSTS": "all", "USER_SHARES": "[[ann,1] [bob,1]]"}]
        }
    },
    P.FIRST_HOST: {"job": {"hosts": "a!"}},
    P.CLOSED: {"host": {"status": "closed"}},
    P.LOCKED: {"host": {"status": "lockU"}},
    P.HOST_WINDOW: {"host": {"DISPATCH_WINDOW": WINDOW}},
    P.QUEUE_PER_CPU: {"queue": {"PJOB_LIMIT": 1}},
    P.QUEUE_PER_HOST: {"queue": {"HJOB_LIMIT": 8}},
    P.USER_PER_CPU: {"rest": {"users": [{"name": "ann", "JL/P": 1}]}},
    P.HOST_PER_USER: {"host": {"JL/U": 1}, "job": {"slots": 2}},
    P.NOT_OF_QUEUE: {"queue": {"HOSTS": "a"}},
    P.NOT_ASKED_FOR: {"job": {"hosts": "a"}},
    P.JUST_ACCEPTED: {"queue": {"JOB_ACCEPT_INTERVAL": 1}},
    P.NO_LOAD: {"host": {"status": "unavail"}},
    P.QUEUE_REQUIREMENT: {"queue": {"RES_REQ": "select[mem>1]"}},
    P.SPAN: {"job": {"slots": 2}},
    P.QUEUE_SPAN: {"queue": {"RES_REQ": "span[hosts=1]"}},
    P.EXCLUSIVE: {"running": {"exclusive": True}, "queue": {"EXCLUSIVE": "Y"}},
    P.RESERVED: {
        "rest": {
            "advance_reservations": [{"name": "r", "start": "1h", "end": "9h", "allocation": "8*a"}]
        }
    },
    P.NO_UNIT: {
        "rest": {
            "params": {"COMPUTE_UNIT_TYPES": "rack!"},
            "compute_units": [{"name": "u", "type": "rack", "members": "a"}],
        }
    },
    P.UNREACHABLE: {"host": {"status": "unreach"}},
    P.LOAD: {"queue": {"thresholds": {"r1m": "1/2"}}},
    P.QUEUE_RUSAGE: {"queue": {"RES_REQ": "rusage[mem=4096]"}},
    P.RUSAGE: {"job": {"res_req": "rusage[mem=4096]"}},
    P.LIMIT_USER: {"limit": {"USERS": "ann"}},
    P.LIMIT_QUEUE: {"limit": {"QUEUES": "q"}},
    P.LIMIT_PROJECT: {"limit": {"PROJECTS": "default"}},
    P.LIMIT_CLUSTER: {"limit": {}},
    P.LIMIT_HOST: {"limit": {"HOSTS": "a"}},
    P.JOBS_USER: {"limit": {"USERS": "ann", "JOBS": 1}},
    P.JOBS_QUEUE: {"limit": {"QUEUES": "q", "JOBS": 1}},
    P.JOBS_PROJECT: {"limit": {"PROJECTS": "default", "JOBS": 1}},
    P.JOBS_CLUSTER: {"limit": {"SLOTS": "-", "JOBS": 1}},
    P.JOBS_HOST: {"limit": {"HOSTS": "a", "JOBS": 1}},
}
EXPLAINED_BY[P.GROUP_SLOTS_PARALLEL] = EXPLAINED_BY[P.GROUP_SLOTS]
EXPLAINED_BY[P.GROUP_PER_CPU] = {
    "rest": {
        "user_groups": [{"name": "g", "members": "ann"}],
        "users": [{"name": "g", "JL/P": 1}],
    }
}
EXPLAINED_BY[P.PARTITION] = EXPLAINED_BY[P.PARTITION_PRIORITY]
for unit in (P.UNIT_EXCLUSIVE, P.UNIT_OCCUPIED, P.UNIT_USABLE, P.UNITS_MAXCUS, P.UNITS_BALANCE):
    EXPLAINED_BY[unit] = EXPLAINED_BY[P.NO_UNIT]
#: Reasons of a job that waits for slots in use, or for the scheduler: nothing more has to be read.
ALONE = (P.NEW, P.POSTPONED, P.REFUSED, P.FEW_SLOTS, P.HOST_FULL, P.OTHER_TYPE)
#: The resource that a reason names.
RESOURCE = {P.RUSAGE: "mem", P.QUEUE_RUSAGE: "mem", P.GUARANTEE: "p"}


def made(reason: str, changes: dict[str, dict[str, Any]], *, busy: bool = True) -> sw.Instance:
    """An instance of which LSF says this of its waiting job, with its contradictions."""
    alike = {
        name: value
        for name, value in changes.get("job", {}).items()
        if name in ("application", "license_project", "job_group", "res_req")
    }
    id = "2[2]" if "array_limit" in changes.get("job", {}) else "1"
    taken = {"id": id, "user": "ann", "queue": "q", "slots": 8 if busy else 1, "run_limit": "1h"}
    document: dict[str, Any] = {
        "format": "slotwise/1",
        "hosts": [{"name": "a", "slots": 8, "mem": 4096}],
        "queues": [{"name": "q", **changes.get("queue", {})}],
        "running": [
            {
                **taken,
                **alike,
                **changes.get("running", {}),
                "start": 0,
                "allocation": f"{taken['slots']}*a",
            }
        ],
        "pending": [
            {"id": "2", "user": "ann", "queue": "q", "run_limit": "1h", **changes.get("job", {})}
        ],
        **changes.get("rest", {}),
    }
    document["hosts"].append({"name": "b", "slots": 1, **changes.get("host", {"status": "closed"})})
    if "host" not in changes:
        document["hosts"].pop()
    if "limit" in changes:
        document["limits"] = [{"name": "l", "SLOTS": 8, **changes["limit"]}]
    found = sw.from_document(document)
    said = [sw.SaidByLsf(job.id, reason) for job in found.pending]
    return replace(found, omissions=tuple(unexplained(found, of_lsf(found, said), "bjobs")))


def text_of(kind: Pending) -> str:
    return f"{kind.words.format(RESOURCE.get(kind, 'slots'))}: 1 host;"


def test_the_table_has_each_reason() -> None:
    assert {*EXPLAINED_BY, *ALONE} == set(Pending)


@pytest.mark.parametrize("kind", EXPLAINED_BY, ids=lambda kind: kind.name)
def test_each_reason_is_explained_by_what_was_read(kind: Pending) -> None:
    assert made(text_of(kind), EXPLAINED_BY[kind]).omissions == ()
    without = made(text_of(kind), {})
    (only,) = without.omissions
    assert only.what.startswith(f"LSF says: {text_of(kind).strip(';')}; no input gives ")
    assert only.jobs == ("2",)
    assert not plan(without, "optimal", effort=5)["2"].proved


@pytest.mark.parametrize(
    ("text", "told"),
    [
        *((words + ": 1 host;", True) for words in LOAD_WORDS.values()),
        ("External load index (lic) is beyond threshold: 1 host;", True),
        ("Job requirements for reserving resource (lic) not satisfied: 2 hosts;", True),
        ("The job array has reached its running element limit;", True),
        (" Not enough job slot(s): a;\n User has reached the per-user job slot limit of the queue",
         True),
        ("The job has a specified start time: ;", True),
        ("Words of another version;", True),
        (" Candidate host pending reasons summary:\n Job slot limit reached: 1 host;", False),
    ],
)  # fmt: skip
def test_texts_of_other_versions(text: str, told: bool) -> None:
    assert bool(made(text, {}).omissions) == told
    assert made(text, {}, busy=False).omissions


def test_a_resource_that_is_listed_explains_no_other() -> None:
    asks = {"job": {"res_req": "rusage[mem=4096]"}}
    words = "Job's requirements for reserving resource ({}) not satisfied: 1 host;"
    assert made(words.format("mem"), asks).omissions == ()
    assert made(words.format("lic"), asks).omissions


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in EXPLAINED_BY
        if kind.name.startswith(("LIMIT", "JOBS", "USER", "GROUP", "QUEUE_USER", "QUEUE_PER"))
        or kind in (P.JOB_GROUP, P.ARRAY_ELEMENTS, P.QUEUE_SLOTS, P.RUSAGE, P.QUEUE_RUSAGE)
    ],
)
@pytest.mark.parametrize("reserves", [False, True])
def test_a_limit_with_room_for_the_job_explains_nothing(kind: Pending, reserves: bool) -> None:
    """Its start was proved, though nothing that was read holds it back as LSF said."""
    wider = ("array_limit", "JOBS", "SLOTS", "MAX_JOBS", "JL/P", "mem")
    changes = json.loads(
        json.dumps(EXPLAINED_BY[kind]),
        object_hook=lambda found: {
            name: 99 if name in wider or name.endswith("JOB_LIMIT") else value
            for name, value in found.items()
        },
    )
    changes = json.loads(json.dumps(changes).replace("mem=4096", "mem=9"))
    for group in changes.get("rest", {}).get("job_groups", ()):
        group["limit"] = 99
    if "limit" in changes:
        changes["limit"].setdefault("SLOTS", 99)
    if reserves:
        changes.setdefault("queue", {})["SLOT_RESERVE"] = "MAX_RESERVE_TIME[9]"
    found = made(text_of(kind), changes)
    assert [item.what for item in found.omissions if "leaves enough for it" in item.what]
    assert not plan(found, "optimal", effort=5)[found.pending[0].id].proved


@pytest.mark.parametrize(
    ("kind", "alike"),
    [
        (P.USER_SLOTS, {"2", "3"}), (P.QUEUE_USER_SLOTS, {"2"}), (P.LIMIT_USER, {"2", "3"}),
        (P.QUEUE_SLOTS, {"2", "4"}), (P.JOBS_QUEUE, {"2", "4"}), (P.JOBS_PROJECT, {"2", "5"}),
        (P.JOBS_CLUSTER, {*"23456"}), (P.JOB_GROUP, {"2", "6"}), (P.RUSAGE, {"2"}),
        (P.HOST_FULL, set()),
    ],
)  # fmt: skip
def test_a_limit_holds_back_all_that_share_it(kind: Pending, alike: set[str]) -> None:
    """The user's other jobs started now, proved."""
    jobs = {
        "2": {"user": "ann", "queue": "q", "project": "x", "job_group": "/g"},
        "3": {"user": "ann", "queue": "o", "project": "y"},
        "4": {"user": "bob", "queue": "q", "project": "z"},
        "5": {"user": "eve", "queue": "o", "project": "x"},
        "6": {"user": "joe", "queue": "p", "project": "v", "job_group": "/g"},
    }
    found = sw.from_document(
        {
            "format": "slotwise/1",
            "hosts": [{"name": "a", "slots": 8}],
            "queues": [{"name": name} for name in "qop"],
            "running": [{"id": "1", "user": "r", "queue": "q", "start": 0, "allocation": "8*a"}],
            "pending": [{"id": name, **fields} for name, fields in jobs.items()],
        }
    )
    said = of_lsf(found, [sw.SaidByLsf("2", text_of(kind))])
    told = {name for item in unexplained(found, said) for name in item.jobs or ()}
    assert told == alike


ACTIVE = {"name": "r", "start": 0, "end": "9h", "allocation": "1*a", "users": "ann"}
OVER = {"name": "r", "start": -7200, "end": -3600, "allocation": "8*a"}
#: What would explain a reason at another time, and does not now.
NOT_NOW: dict[Pending, dict[str, dict[str, Any]]] = {
    P.START_TIME: {"job": {"begin": 0}},
    P.DEPENDENCY: {"job": {"dependency": "started(1)"}},
    P.QUEUE_WINDOW: {"queue": {"RUN_WINDOW": "0:00-23:00"}},
    P.RESERVATION_INACTIVE: {
        "job": {"reservation": "r"},
        "rest": {"advance_reservations": [ACTIVE]},
    },
    P.HOST_WINDOW: {"host": {"DISPATCH_WINDOW": "0:00-23:00"}},
    P.RESERVED: {"rest": {"advance_reservations": [OVER]}},
}


@pytest.mark.parametrize("kind", NOT_NOW, ids=lambda kind: kind.name)
def test_what_is_not_in_force_now_explains_nothing(kind: Pending) -> None:
    """A window counted as closed, a condition as unmet, as soon as there was one."""
    busy = kind is not P.RESERVATION_INACTIVE
    found = made(text_of(kind), NOT_NOW[kind], busy=busy)
    (only,) = found.omissions
    assert "no input gives" in only.what
    assert not plan(found, "optimal", effort=5)["2"].proved


#: What makes a job ineligible (PENDSTATE IPEND), and an array or a group with room for it.
INELIGIBLE = {
    "nothing": ({}, False),
    "begin": (EXPLAINED_BY[P.START_TIME], True),
    "condition": (EXPLAINED_BY[P.DEPENDENCY], True),
    "inactive queue": (EXPLAINED_BY[P.QUEUE_INACTIVE], True),
    "window": (EXPLAINED_BY[P.QUEUE_WINDOW], True),
    "reservation": (EXPLAINED_BY[P.RESERVATION_INACTIVE], True),
    "full array": (EXPLAINED_BY[P.ARRAY_ELEMENTS], True),
    "array with room": ({"job": {"id": "2[1]", "array_limit": 9}}, False),
    "full group": (EXPLAINED_BY[P.JOB_GROUP], True),
    "open window": (NOT_NOW[P.QUEUE_WINDOW], False),
    "condition met": (NOT_NOW[P.DEPENDENCY], False),
    "full limit": (EXPLAINED_BY[P.LIMIT_USER], False),
}


HOST = "HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\nhostA ok - 8 0 0 0 0 0\n"


@pytest.mark.parametrize(
    "printed", ["", "-", "New job is waiting for scheduling;", "Job slot limit reached: 1 host"]
)
@pytest.mark.parametrize("what", INELIGIBLE)
def test_what_makes_a_job_ineligible_was_read(what: str, printed: str) -> None:
    """It counted as a job that waits for slots in use, and its start was proved."""
    changes, explained = INELIGIBLE[what]
    row = {"JOBID": "2", "STAT": "PEND", "QUEUE": "q", "PENDSTATE": "IPEND", "PEND_REASON": printed}
    text = json.dumps({"COMMAND": "bjobs", "JOBS": 1, "RECORDS": [row]})
    (said,) = snapshot(datetime(2026, 3, 16, tzinfo=UTC), bjobs=text, bhosts=HOST).lsf_says
    found = made(said.reason, changes)
    assert (not found.omissions) == explained
    if not explained:
        assert not plan(found, "optimal", effort=5)[found.pending[0].id].proved


@pytest.mark.parametrize("params", ["", "params: {LSB_TIME_RESERVE_NUMJOBS: 4}"])
@pytest.mark.parametrize("queue", ["", ", SLOT_RESERVE: 'MAX_RESERVE_TIME[500]'"])
@pytest.mark.parametrize(
    ("running", "starts", "told"),
    [
        (8, (3600, 7200), set()),
        (8, (3650, 7250), set()),
        (8, (3700, 7200), {"2"}),
        (8, (None, 9000), {"3"}),
        (8, (1800, 3600), set()),
        (8, (86400, 86400), {"2", "3"}),
        (1, (3600, 7200), {"2", "3"}),
        (1, (3600, 3600), {"2"}),
        (1, (30, None), set()),
    ],
)
def test_a_start_that_is_printed_later_than_the_plan_takes_the_proof(
    params: str, queue: str, running: int, starts: tuple[int | None, ...], told: set[str]
) -> None:
    """Only that of a job which the next cycle starts did; Slurm's did for each."""
    found = sw.loads(f"""
format: slotwise/1
hosts: [{{name: a, slots: 8}}]
queues: [{{name: q{queue}}}]
running: [{{id: 1, queue: q, slots: {running}, run_limit: 1h, start: 0, allocation: {running}*a}}]
pending:
  - {{id: 2, queue: q, slots: {8 if running == 8 else 1}, run_limit: 1h}}
  - {{id: 3, queue: q, slots: 8, run_limit: 1h}}
{params}
""")
    said = [sw.SaidByLsf(id, start=at) for id, at in zip("23", starts, strict=True)]
    omissions = tuple(unexplained(found, of_lsf(found, said), "bjobs"))
    assert {id for item in omissions for id in item.jobs or ()} == told
    assert all("LSF estimates a later start" in item.what for item in omissions)
    proved = {
        item.job for item in plan(replace(found, omissions=omissions), effort=5) if item.proved
    }
    assert not proved & told
