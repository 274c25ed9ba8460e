"""A cell that cannot be read takes only itself, in every form of every listing."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
import slotwise as sw
from printed_listings import snapshot
from sampling import SAMPLING
from slotwise import InputError, Instance, to_document
from slotwise.solver.planning import plan

pytestmark = pytest.mark.behaviour("CFG-04")
NOW = datetime(2026, 3, 16, 10, tzinfo=UTC)
BAD = "z|z"
JOBS = """\
Job <1>, Job Name <a>, User <ann>, Project <p>, Status <RUN>, Queue <q>, Job Priority <50>
Mon Mar 16 09:00:00: Submitted from host <l>, CWD </x>, 8 Task(s), Requested Resources <rusage[mem=100]>;
Mon Mar 16 09:00:01: Started on <8*h1>;
Mon Mar 16 09:30:00: Resource usage collected. The CPU time used is 1200 seconds.

 RUNLIMIT                CPULIMIT
 120.0 min of h1         100.0 min
 ESTIMATED_RUNTIME
 60.0 min

------------------------------------------------------------------------------
Job <2>, User <bob>, Project <p>, Status <PEND>, Queue <q>, Job Priority <50>, Command <x>
Mon Mar 16 09:05:00: Submitted from host <l>, CWD </x>, 4 Task(s), Specified Start Time <Mon Mar 16 11:00:00>, Specified Termination Time <Mon Mar 16 19:00:00>, Specified Hosts <h1>, <h2+1>;
Mon Mar 16 15:00:00: Job will start no sooner than indicated time stamp;

 RUNLIMIT
 30.0 min
"""  # noqa: E501
HOSTS = """\
HOST  h1
STATUS           CPUF  JL/U    MAX    RUN  SSUSP  USUSP    RSV DISPATCH_WINDOW
ok              12.50     4     16      8      0      0      0      8:00-18:00

 CURRENT LOAD USED FOR SCHEDULING:
                 r1m    ut    it   tmp   swp   mem  lic
 Total           0.1   30%    10 1000M 2000M 3000M  3.0
 Reserved        0.0    0%     0    0M    0M  100M  1.0

 LOAD THRESHOLD USED FOR SCHEDULING:
            r1m    ut    mem
 loadSched  1.5    90%   10M
 loadStop   2.5    95%   5M

HOST  h2
STATUS           CPUF  JL/U    MAX    RUN  SSUSP  USUSP    RSV DISPATCH_WINDOW
ok              12.50     -     16      0      0      0      0      -
"""
QUEUES = """\
QUEUE: q
  -- text

PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV
 30  Open:Active     100 50    2    8    12     4     8     0     0    0
Interval for a host to accept two jobs is 60 seconds

DEFAULT LIMITS:
 RUNLIMIT
 60.0 min

MAXIMUM LIMITS:
 CPULIMIT   RUNLIMIT
 500.0 min   600.0 min
 TASKLIMIT
 1 2 32

           r1m    mem
 loadSched 1.5    10M
 loadStop  2.5    5M

SCHEDULING POLICIES:  FAIRSHARE  BACKFILL
USER_SHARES:  [ann, 10] [default, 1]

SHARE_INFO_FOR: q/
 USER/GROUP   SHARES  PRIORITY  STARTED  RESERVED  CPU_TIME  RUN_TIME   ADJUST
ann           10       0.144      8        0     1200.0     3600       0.000

USERS:  all
HOSTS:  h1+2 h2
Maximum slot reservation time: 600 seconds
DISPATCH_WINDOW:  8:00-18:00
RUN_WINDOW:  7:00-19:00
SLOT_SHARE:  50
SLOT_POOL:  poolA
"""
PLAIN_HOSTS = """\
HOST_NAME          STATUS          JL/U    MAX    RUN  SSUSP  USUSP    RSV
h1                 ok              4      16      8      0      0      0
h2                 ok              -      16      0      0      0      0
"""
PLAIN_QUEUES = """\
QUEUE_NAME      PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN  SUSP
q                30  Open:Active     100   50    2    8    12     4     8     0
"""
RECORDS = [
    {"JOBID": "1", "JOBINDEX": "0", "STAT": "RUN", "QUEUE": "q", "MIN_REQ_PROC": "8",
     "MAX_REQ_PROC": "8", "SUBMIT_TIME": "Mar 16 09:00", "START_TIME": "Mar 16 09:01",
     "FINISH_TIME": "Mar 16 12:00 L", "RUN_TIME": "3540 second(s)", "RUNTIMELIMIT": "120.0",
     "CPU_USED": "1200 second(s)", "ALLOC_SLOT": "8*h1", "NALLOC_SLOT": "8", "JOB_PRIORITY": "50",
     "COMBINED_RESREQ": "rusage[mem=100]", "GPU_ALLOC": "h1:0"},
    {"JOBID": "2", "STAT": "PEND", "QUEUE": "q", "NREQ_SLOT": "2", "SUBMIT_TIME": "Mar 16 09:05",
     "RUNTIMELIMIT": "30.0", "JOB_PRIORITY": "50", "ASK_HOSTS": "h1", "EXCLUSIVE": "N",
     "SPECIFIED_START_TIME": "Mar 16 11:00", "SPECIFIED_TERMINATE_TIME": "Mar 16 19:00",
     "ESTIMATED_START_TIME": "Mar 16 15:00", "GPU_NUM": "1", "ESTIMATED_RUN_TIME": "20.0"},
]  # fmt: skip
JSON_HOSTS = [
    {"HOST_NAME": "h1", "STATUS": "ok", "CPUF": "1.0", "JL_U": "4", "MAX": "16", "RUN": "8",
     "SSUSP": "0", "USUSP": "0", "RSV": "0", "DISPATCH_WINDOW": "8:00-18:00", "NGPUS": "2",
     "NGPUS_ALLOC": "1", "AVAILABLE_MEM": "3G", "RESERVED_MEM": "100M"},
    {"HOST_NAME": "h2", "STATUS": "ok", "MAX": "16"},
]  # fmt: skip
JSON_QUEUES = [
    {"QUEUE_NAME": "q", "PRIO": "30", "STATUS": "Open:Active", "MAX": "100", "JL_U": "50",
     "JL_P": "2", "JL_H": "8", "NJOBS": "12", "PEND": "4", "RUN": "8", "SUSP": "0"},
    {"QUEUE_NAME": "other", "STATUS": "Open:Active"},
]  # fmt: skip
PARAMS = """\
System default queues for automatic queue selection:
    DEFAULT_QUEUE = q

    MBD_SLEEP_TIME = 10 (seconds)
    JOB_ACCEPT_INTERVAL = 1 (unit: MBD_SLEEP_TIME)
    MAX_USER_PRIORITY = 100
    HIST_HOURS = 5
"""
PLAIN_PARAMS = """\
Default Queues:  q
MBD_SLEEP_TIME used for calculations:  20 seconds
Job Accepting Interval:  20 seconds
"""
USERS = """\
USER/GROUP          JL/P    MAX
ann                  2.0     10
bob                    -     12
"""
GROUPS = """\
GROUP_NAME:    g
USERS:         ann bob
SHARES:        [ann, 3] [bob, 1]
"""
HOST_GROUPS = "GROUP_NAME       HOSTS\nhg               h1 h2\nother            h2\n"
MACHINES = """\
HOST_NAME      type    model  cpuf ncpus maxmem maxswp server RESOURCES
h1           X86_64 Intel_E5  12.5    16     4G     2G    Yes (mg)
h2           X86_64 Intel_E5  12.5    16     4G     2G    Yes ()
"""
PARTITIONS = """\
HOST_PARTITION_NAME: P1
HOSTS: h1 h2
USER_SHARES: [ann, 10] [default, 1]

SHARE_INFO_FOR: P1/
 USER/GROUP   SHARES  PRIORITY  STARTED  RESERVED  CPU_TIME  RUN_TIME   ADJUST
ann           10       0.144      8        0     1200.0     3600       0.000
"""
SHARED = """\
RESOURCE                TOTAL       RESERVED       LOCATION
lic                       3.0            1.0       h1 h2
other                     3.0            1.0       h1 h2
"""


def as_json(command: str, records: list[dict[str, str]]) -> str:
    return json.dumps({"COMMAND": command, "RECORDS": records}, indent=0)


def made(**texts: str) -> Instance:
    queues = PLAIN_QUEUES if "bhpart" in texts else QUEUES
    usual = {"bjobs": JOBS, "bhosts": HOSTS, "bqueues": queues}
    given: dict[str, list[str]] = {name: [text] for name, text in (usual | texts).items()}
    given["bhosts"] += given.pop("shared", [])
    return snapshot(NOW, **given)


LIMITS = """\
INTERNAL RESOURCE LIMITS:

      NAME            USERS         QUEUES         HOSTS      PROJECTS      SLOTS    MEM     JOBS
 host_slots             -              -              h1          -         8/16      -        -
    root_mem           ann             -               -          -           -      0/62      -
"""
LIMIT_SECTIONS = """\
Begin Limit
NAME = a
PER_USER = all
SLOTS = 10
End Limit
Begin Limit
NAME = b
QUEUES = q
JOBS = 3
End Limit
"""
JOB_GROUPS = """\
GROUP_NAME   NJOBS  PEND  RUN  SSUSP  USUSP  FINISH  SLA  JLIMIT  OWNER
/a               1     1    0      0      0       0   ()    2/-  bob
/a/b             1     1    0      0      0       0   ()    1/10  bob
"""
TREES = """\
Host[188.1G] h1
    Socket0
        NUMA[0: 0M / 94G]
            core0(*0 24)
            core1(1 25)
        NUMA[1: 0M / 94G]
            core0(2 26)
Host[62G] h2
    NUMA[0: 62G]
        Socket0
            core0(0)
"""
NUMBER = r"(?<![\w.])\d[\w.:%+-]*"
#: A time that nobody needs.
INERT = "Resource usage"
IN_JSON = r'(?<=: ")(?!bjobs|bhosts|bqueues)[^"]+(?="[,\n])'
LISTINGS: dict[str, tuple[str, str, str]] = {
    "jobs -l": ("bjobs", JOBS, rf"{NUMBER}|\b(?:PEND|RUN)(?=>)|\bq(?=>)"),
    "jobs -json": ("bjobs", as_json("bjobs", RECORDS), IN_JSON),
    "hosts -l": ("bhosts", HOSTS, rf"{NUMBER}|\bok\b"),
    "hosts -w": ("bhosts", PLAIN_HOSTS, rf"{NUMBER}|\bok\b|^h\d"),
    "hosts -json": ("bhosts", as_json("bhosts", JSON_HOSTS), IN_JSON),
    "queues -l": ("bqueues", QUEUES, rf"{NUMBER}|Open:Active"),
    "queues -w": ("bqueues", PLAIN_QUEUES + "other 1 Open:Active - - - - 0 0 0 0\n", NUMBER),
    "queues -json": ("bqueues", as_json("bqueues", JSON_QUEUES), IN_JSON),
    "bparams -l": ("bparams", PARAMS, NUMBER),
    "bparams": ("bparams", PLAIN_PARAMS, NUMBER),
    "busers": ("busers", USERS, NUMBER),
    "bugroup": ("bugroup", GROUPS, rf"{NUMBER}|\b(?:ann|bob)\b(?!,)"),
    "bmgroup": ("bmgroup", HOST_GROUPS, r"\bh\w+(?= |\n)"),
    "lshosts": ("lshosts", MACHINES, r"(?<= )\d[\w.]*"),
    "bhpart": ("bhpart", PARTITIONS, NUMBER),
    "blimits": ("blimits", LIMITS, r"\d+/\d+"),
    "blimits -c": ("blimits", LIMIT_SECTIONS, r"(?<== )\d+"),
    "bjgroup": ("bjgroup", JOB_GROUPS, r"\d+/\S+"),
    "bhosts -aff": ("topology", TREES, r"\b(?:Socket0|NUMA|core\d)|(?<=[*( ])\d+(?=[ )])"),
    "bhosts -s": ("shared", SHARED, NUMBER),
}


@pytest.mark.parametrize("listing", LISTINGS)
def test_one_unreadable_cell_takes_only_itself(listing: str) -> None:
    """Whichever cell it is, by default every second one: the rest is read, and one omission names
    the file and the value.
    """
    option, text, cells = LISTINGS[listing]
    whole = made(**{option: text})
    places = list(re.finditer(cells, text, re.MULTILINE))
    assert len(places) >= 2
    for place in places[:: 1 if SAMPLING.all_cases else 2]:
        it = made(**{option: text[: place.start()] + BAD + text[place.end() :]})
        where = (listing, place[0], text.count("\n", 0, place.start()) + 1)
        line = text.splitlines()[where[2] - 1]
        if INERT in line and place.start() < text.index(INERT):
            continue
        told = [item for item in it.omissions if BAD in item.what]
        assert told, where
        if "-json" not in listing and told[0].where:
            assert told[0].where.endswith(f":{where[2]}"), where
        hosts = {host.name for host in whole.cluster.hosts}
        assert len(hosts - {host.name for host in it.cluster.hosts}) <= 1, where
        assert len(it.running) + len(it.pending) >= 1, where
        assert len(it.queues) <= len(whole.queues) + 1, where


#: Another value of a cell that is no number.
OTHER = {
    "PEND": "RUN",
    "RUN": "PEND",
    "ok": "closed_Adm",
    "Open:Active": "Open:Inact",
    "q": "other",
}
#: Cells without a say, by listing: each with the beginning of its line and why.
SILENT_CELLS: dict[str, dict[tuple[str, str], str]] = {
    "jobs -l": {
        ("8", "Mon Mar 16 09:00:00: Submitted"): "a started job has what it was given",
        ("16", "Mon Mar 16 09:30:00: Resource usage"): "when the use was measured",
        ("09:30:00:", "Mon Mar 16 09:30:00: Resource usage"): "when the use was measured",
    },
    "jobs -json": {
        ("8", '"MIN_REQ_PROC"'): "a started job has what it was given",
        ("3540 second(s)", '"RUN_TIME"'): "its start is known",
        ("h1:0", '"GPU_ALLOC"'): "the number of a device",
    },
    "hosts -l": {
        ("0", "ok  "): "a queue reserves slots: the plan does so again",
        ("0.0", "Reserved"): "loads that jobs reserve follow from the jobs",
        ("0%", "Reserved"): "the same",
        ("0", "Reserved"): "the same",
    },
    "hosts -w": {("0", "h"): "a queue reserves slots: the plan does so again"},
    "hosts -json": {("0", '"RSV"'): "the same"},
    "queues -l": {
        ("12", "30  Open"): "NJOBS is a sum",
        ("0.000", "ann  "): "FAIRSHARE_ADJUSTMENT_FACTOR is 0",
    },
    "lshosts": {
        ("4G", "h1"): "bhosts has the memory of this host",
        ("2G", "h1"): "the same",
    },
    "bhpart": {("0.000", "ann  "): "FAIRSHARE_ADJUSTMENT_FACTOR is 0"},
    "bjgroup": {("2/-", "/a "): "a count without a limit"},
}


def others_of(cell: str) -> list[str]:
    """Other values of the kind of a cell."""
    if cell in OTHER:
        return [OTHER[cell]]
    digits = list(re.finditer(r"\d+", cell))
    return [
        cell[: found.start()] + str(int(found[0]) + more) + cell[found.end() :]
        for found in digits
        for more in (1, 7, 600)
    ] or ["h1", "zz"]


#: All but bhosts -aff: numbers of sockets, cores and threads are names.
@pytest.mark.behaviour("GAT-03")
@pytest.mark.parametrize("listing", [name for name in LISTINGS if name != "bhosts -aff"])
def test_a_changed_cell_changes_an_answer_or_a_note(
    listing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    option, text, cells = LISTINGS[listing]

    def outcome(content: str) -> object:
        try:
            it = made(**{option: content})
        except InputError as error:
            return str(error)
        return to_document(it), capsys.readouterr().err

    whole = outcome(text)
    silent = []
    places = list(re.finditer(cells, text, re.MULTILINE))
    for place in places if SAMPLING.all_cases else places[1::2]:  # the others are made unreadable
        line = text[: place.start()].rpartition("\n")[2] + text[place.start() :].partition("\n")[0]
        known = SILENT_CELLS.get(listing, {})
        if any(place[0] == cell and line.strip().startswith(of) for cell, of in known):
            continue
        changed = (
            text[: place.start()] + other + text[place.end() :] for other in others_of(place[0])
        )
        if all(outcome(content) == whole for content in changed):
            silent.append((place[0], line.strip()))
    assert not silent, "\n" + "\n".join(map(str, silent))


@pytest.mark.parametrize(
    ("option", "cell", "scope"),
    [
        ("bjobs", ("30.0 min", "z|z min"), (("2",), (), (), ())),
        ("bjobs", ("120.0 min", "z|z min"), (None, (), ("h1",), ())),
        ("bjobs", ("<8*h1>", "<z|z*h1>"), (None, (), (), ())),
        ("bhosts", ("3000M", "z|z"), (None, (), ("h1",), ("mem",))),
        ("bhosts", ("12.50     4 ", "12.50   z|z "), (None, (), ("h1",), ())),
        ("bqueues", ("100 50 ", "z|z 50 "), (None, ("q",), (), ())),
        ("bqueues", (" 12     4 ", " z|z     4 "), ((), (), (), ())),
    ],
)
def test_what_cannot_be_read_touches_those_whom_it_is_of(
    option: str, cell: tuple[str, str], scope: tuple[object, ...]
) -> None:
    """The job that waits, those that may use a host, those of a queue; of counts nobody."""
    text = {"bjobs": JOBS, "bhosts": HOSTS, "bqueues": QUEUES}[option]
    assert text.count(cell[0]) == 1
    it = made(**{option: text.replace(*cell)})
    (told,) = [item for item in it.omissions if BAD in item.what]
    assert (told.jobs, told.queues, told.hosts, told.resources) == scope
    if scope[0] != ():
        assert not plan(it, "greedy")["2"].proved


def test_nothing_that_is_true_is_called_a_contradiction(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What was not read of a job cannot be missed on hosts, in queues or of memory."""
    cells = (("Status <RUN>", "Status <z|z>"), ("<8*h1>", "<z|z>"), ("mem=100", "mem=z|z"))
    for cell in (*cells, ("Status <RUN>", "Status <ZOMBI>")):
        made(bjobs=JOBS.replace(*cell))
        assert "contradicts itself" not in capsys.readouterr().err, cell


def test_a_job_of_a_state_that_is_left_out_may_have_its_slots() -> None:
    it = made(bjobs=JOBS.replace("Status <RUN>", "Status <ZOMBI>"))
    (told,) = [item for item in it.omissions if "ZOMBI" in item.what]
    assert (told.jobs, told.hosts) == (None, ("h1",))
    done = made(bjobs=JOBS.replace("Status <RUN>", "Status <DONE>"))
    assert not [item for item in done.omissions if "DONE" in item.what]


TABLE = """\
HOST_NAME          STATUS          JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV
h1                 ok              -         8      0      0      0      0      0
h2                 ok              -         {}      0      0      0      0      0
"""
LOAD_HOSTS = """\
HOST_NAME      type    model  cpuf ncpus maxmem maxswp server RESOURCES
h1           X86_64 Intel_E5  12.5    16     4G     2G    Yes ()
h2           X86_64 Intel_E5  12.5    {ncpus} {maxmem} 2G    Yes ()
"""
ASKS = """\
Job <2>, User <bob>, Project <p>, Status <PEND>, Queue <q>, Job Priority <50>, Command <x>
Mon Mar 16 09:05:00: Submitted from host <l>, CWD </x>, {} Task(s), Requested Resources <{}>;

 RUNLIMIT
 30.0 min

"""
FREE_QUEUE = """\
QUEUE: q
  -- text

PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV
 30  Open:Active       -    -    -    -    {0}    {0}     0     0     0    0

SCHEDULING POLICIES:  BACKFILL
USERS:  all
HOSTS:  {1}
"""


@pytest.mark.parametrize(
    ("requirement", "slots", "texts"),
    [
        ("select[type==any]", 12, {"most": "-"}),
        ("select[type==any]", 12, {"most": "xx"}),
        ("select[hname==h2] rusage[mem=100]", 2, {"maxmem": "-"}),
        ("select[hname==h2 && maxmem>1000]", 2, {"maxmem": "-"}),
        ("select[hname==h2 && ncpus>=16]", 2, {"ncpus": "-"}),
        ("select[type==any]", 12, {"hosts": "h1 h2", "only": True}),
    ],
)
def test_an_amount_that_no_listing_gives_is_no_reason_against_a_host(
    requirement: str, slots: int, texts: dict[str, Any]
) -> None:
    """The job fits on the described hosts with what is missing: it was called impossible."""

    def row_of(texts: dict[str, Any]) -> Any:
        of_bhosts = TABLE.format(texts.get("most", 8))
        of_bhosts = of_bhosts[: of_bhosts.index("h2")] if texts.get("only") else of_bhosts
        facts = LOAD_HOSTS.format(ncpus=texts.get("ncpus", 16), maxmem=texts.get("maxmem", "4G"))
        facts = facts[: facts.index("h2")] if texts.get("only") else facts
        queue = FREE_QUEUE.format(slots, texts.get("hosts", "all"))
        jobs = ASKS.format(slots, requirement)
        return sw.outlook(made(bjobs=jobs, bhosts=of_bhosts, bqueues=queue, lshosts=facts))["2"]

    whole, lacking = row_of({}), row_of(texts)
    assert (whole.state, whole.proved) == ("starts", True)
    assert (lacking.state == "impossible", lacking.proved) == (False, False)
