"""Each key that can delay a job is planted once: diagnose names it, and its change helps.

Counters (limits, pools, groups, arrays) are planted in `test_counters.py`. The last test walks the
table of causes on the page: a key of it that neither file plants fails.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
from test_counters import COUNTERS

HOUR = 3600
PAGE = (Path(__file__).parents[1] / "docs" / "diagnose.md").read_text("utf-8")


def job(id: str, slots: int, minutes: int, queue: str = "q", more: str = "") -> dict[str, Any]:
    return {"id": id, "user": "u" if id == "100" else "w",
            "bsub": f"-q {queue} -n {slots} -W {minutes} {more}"}  # fmt: skip


def runs(id: str, slots: int, minutes: int, host: str = "h", more: str = "") -> dict[str, Any]:
    return {**job(id, slots, minutes, more=more), "start": 0, "allocation": f"{slots}*{host}"}


def site(
    *,
    queue: dict[str, Any] | None = None,
    host: dict[str, Any] | None = None,
    asks: str = "",
    slots: int = 2,
    others: list[dict[str, Any]] | None = None,
    **sections: Any,
) -> dict[str, Any]:
    """Return a cluster of one host on which job 100 waits for the planted key alone.

    asks: more options of 100. others: pending jobs behind it, or before it in other queues.
    """
    return {
        "format": "slotwise/1",
        "origin": "2026-03-02T09:00:00+01:00",
        "hosts": [{"name": "h", "slots": 4, "ncpus": 4, "mem": 8000, **(host or {})}],
        "queues": [{"name": "q", "PRIORITY": 9, **(queue or {})}],
        "pending": [job("100", slots, 20, more=asks), *(others or [])],
        **sections,
    }


FIRST = [{"name": "q", "PRIORITY": 9}, {"name": "p", "PRIORITY": 20}]
PAIR = [{"name": "h", "slots": 4, "mem": 8000}, {"name": "g", "slots": 4, "mem": 16000}]
SMALL = [job(str(200 + n), 2, 120) for n in range(6)]
WIDE = [job(str(200 + n), 4, 120) for n in range(4)]
#: Two jobs that end one after the other: a wide job needs the slots of both.
TWO = [runs("r", 2, 60), runs("s", 2, 90)]
LONG = [runs("r", 4, 300)]
MEM = "-R 'rusage[mem={}]'"

#: Key of the page, how it is planted, its words in cause or remedy, the start with the remedy.
PLANTED: dict[str, tuple[dict[str, Any], str, int]] = {
    "DISPATCH_WINDOW": (site(queue={"DISPATCH_WINDOW": "20:00-23:00"}), "DISPATCH_WINDOW", 0),
    "RUN_WINDOW": (site(queue={"RUN_WINDOW": "20:00-23:00"}), "RUN_WINDOW", 0),
    "DISPATCH_WINDOW of a host": (
        site(host={"DISPATCH_WINDOW": "20:00-23:00"}), "DISPATCH_WINDOW", 0),
    "loadSched": (
        site(host={"load": {"r1m": 3.0}}, queue={"thresholds": {"r1m": "0.5/"}}), "r1m", 0),
    "loadSched of a host": (
        site(host={"load": {"r1m": 3.0}, "thresholds": {"r1m": "0.5/"}}), "r1m", 0),
    "badmin hopen": (site(host={"status": "closed_Adm"}), "badmin hopen h", 0),
    "unavail": (site(host={"status": "unavail"}), "bring back h", 0),
    "badmin qact": (site(queue={"active": False}), "badmin qact q", 0),
    "brsvdel": (site(advance_reservations=[{
        "name": "ar", "allocation": "4*h", "start": "-1h", "end": "6h", "users": "w"}]),
        "brsvdel ar", 0),
    "HOSTS": (site(queue={"HOSTS": "g"}, hosts=PAIR, running=[runs("r", 4, 300, "g")]),
              "HOSTS = all", 0),
    "RES_REQ": (site(queue={"RES_REQ": "select[maxmem>9000]"}, hosts=PAIR,
                     running=[runs("r", 4, 300, "g")]), "RES_REQ", 0),
    "JOB_ACCEPT_INTERVAL": (
        site(queue={"JOB_ACCEPT_INTERVAL": 60}, running=[runs("r", 1, 300)]),
        "JOB_ACCEPT_INTERVAL", 120),
    "JOB_ACCEPT_INTERVAL of params": (
        site(params={"JOB_ACCEPT_INTERVAL": 60}, running=[runs("r", 1, 300)]),
        "JOB_ACCEPT_INTERVAL", 120),
    "PRIORITY": (site(queues=FIRST, running=[runs("r", 4, 60)],
                      others=[{**each, "bsub": each["bsub"].replace("-q q", "-q p")}
                              for each in WIDE]), "PRIORITY = 20", HOUR),
    "FAIRSHARE": (site(queue={"FAIRSHARE": "USER_SHARES[[u,1] [w,1000]]"},
                       running=[{**runs("r", 4, 60), "user": "u"}], others=WIDE),
                  "FAIRSHARE", HOUR),
    "RUNLIMIT": (site(running=[{"id": "r", "user": "w", "bsub": "-q q -n 4", "start": 0,
                                "allocation": "4*h"}]), "RUNLIMIT", HOUR),
    "BACKFILL": (site(queues=[FIRST[0], {**FIRST[1], "SLOT_RESERVE": "MAX_RESERVE_TIME[5000]"}],
                      params={"LSB_TIME_RESERVE_NUMJOBS": 4}, running=[runs("r", 2, 300)],
                      others=[job("90", 4, 120, "p")]), "BACKFILL = Y", 0),
    "SLOT_RESERVE": (site(slots=4, running=TWO, others=SMALL), "SLOT_RESERVE", 90 * 60),
    "MAX_RESERVE_TIME": (site(slots=4, queue={"SLOT_RESERVE": "MAX_RESERVE_TIME[2]"},
                              running=TWO, others=SMALL), "MAX_RESERVE_TIME[2]", 90 * 60),
    "lsb.modules": (site(slots=4, params={"modules": ["schmod_default"]},
                         queue={"SLOT_RESERVE": "MAX_RESERVE_TIME[5000]"},
                         running=TWO, others=SMALL), "schmod_parallel", 90 * 60),
    "rusage": (site(host={"mem": 1000}, asks=MEM.format(500),
                    running=[runs("r", 1, 300, more=MEM.format(900))]), "rusage[mem=", 0),
    "RESOURCE_RESERVE_PER_SLOT": (
        site(host={"mem": 1000}, asks=MEM.format(500), params={"RESOURCE_RESERVE_PER_SLOT": "Y"},
             running=[runs("r", 1, 300, more=MEM.format(300))]),
        "RESOURCE_RESERVE_PER_SLOT", 0),
    "span": (site(slots=4, hosts=PAIR, asks="-R 'span[hosts=1]'",
                  running=[runs("r", 2, 300), runs("s", 2, 300, "g")]), "span[hosts=1]", 0),
    "select": (site(hosts=PAIR, asks="-R 'select[maxmem<9000]'", running=LONG),
               "select[maxmem<9000]", 0),
    "-m": (site(hosts=PAIR, asks="-m h", running=LONG), "-m h", 0),
    "-x": (site(queue={"EXCLUSIVE": "Y"}, asks="-x", running=[runs("r", 1, 300)]), "-x", 0),
    "PROCLIMIT": (site(queue={"PROCLIMIT": "1"}, pending=[{**job("100", 2, 20), "requeued": True}]),
                  "LIMIT = 1", 0),
}  # fmt: skip
#: Causes in the request of the job itself.
OF_THE_JOB = {"memory per slot", "memory", "requirement", "compute units", "queue hosts"}
#: Words of the page that name no key of their own, or whose keys other tests plant.
ELSEWHERE = {
    "RESOURCE_RESERVE",  # tests/test_diagnose.py, with LSB_TIME_RESERVE_NUMJOBS, pools, cu and same
    *("LSB_TIME_RESERVE_NUMJOBS", "SLOT_POOL", "cu", "same", "brequeue"),
    *("lsb.resources", "bgadd -L", "%N", "-J", "badmin hhist", "MAX_SLOTS_IN_POOL"),
}


@pytest.mark.parametrize("key", PLANTED)
def test_a_planted_key_is_named_and_its_remedy_helps(key: str) -> None:
    """A cause by kind of feature that leaves out the setting, or a remedy that changes nothing."""
    sections, words, start = PLANTED[key]
    problem = sw.loads(json.dumps(sections))
    (found,) = (item for item in sw.diagnose(problem).jobs if item.job == "100")
    before = sw.outlook(problem)["100"].as_configured
    remedy = found.remedies[0]
    assert words in f"{remedy.cause} {remedy.setting}"
    assert remedy.start == start
    assert before is None or start < before
    explained = sw.explain(problem, "100", configuration=True).diagnosis
    assert explained is not None
    settings = [item.setting for item in found.remedies]
    shown = [item.setting for each in explained.jobs for item in each.remedies]
    # Changes of the job's own request are the suggestions of explain.
    assert shown == settings or (found.cause in OF_THE_JOB and not shown)


def test_every_key_of_the_page_is_planted() -> None:
    table = PAGE.partition("| cause | what is changed |")[2].partition("\n\n")[0]
    named = {word for cell in re.findall(r"`([^`]+)`", table) for word in [cell]}
    planted = " ".join([*PLANTED, *(counter.key for counter in COUNTERS)])
    assert {word for word in named - ELSEWHERE if word not in planted} == set()
