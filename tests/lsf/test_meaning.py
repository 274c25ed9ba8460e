"""What parameters become, and what the report says of the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsf.lab import CLUSTER, MORNING, NIGHT, complaints, instance, params, queue, read
from slotwise import Cluster, Host, InputError, Instance, Job, dump, loads, plan
from slotwise.model.omissions import Omission
from submitted import submitted_job

pytestmark = pytest.mark.behaviour("CFG-01")

SHARED = """
Begin HostModel
MODELNAME CPUFACTOR
slow 10
fast 20
End HostModel
Begin Resource
RESOURCENAME TYPE INTERVAL INCREASING CONSUMABLE RELEASE DESCRIPTION
lic  Numeric () () () () (licences)
node Numeric () () () () ()
load2 Numeric 30 Y N N ()
os   String  () () () () ()
gpu  Boolean () () () () (has a card)
End Resource
"""


def machines(*models: str) -> str:
    """lsf.cluster with a host of each model."""
    rows = "\n".join(f"h{n} {model} ! 1 ()" for n, model in enumerate(models, start=1))
    return f"Begin Host\nHOSTNAME model type server RESOURCES\n{rows}\nEnd Host\n"


def _map(*rows: str) -> dict[str, str]:
    text = "\n".join(rows)
    section = f"Begin ResourceMap\nRESOURCENAME LOCATION\n{text}\nEnd ResourceMap\n"
    return {"lsf.shared": SHARED, "lsf.cluster.c": CLUSTER + section}


def test_what_each_host_has_of_its_own(tmp_path: Path) -> None:
    files = _map("node (2@[default])", "os ('4.2'@[hostA] '5'@[others])", "gpu ([hostB])")
    hosts = {host.name: host for host in instance(tmp_path, files).cluster.hosts}
    assert [host.amounts for host in hosts.values()] == [{"node": 2}] * 3
    assert [host.strings["os"] for host in hosts.values()] == ["4.2", "5", "5"]
    assert [sorted(host.booleans) for host in hosts.values()] == [[], ["gpu"], []]


def test_hosts_without_a_row_take_no_jobs(tmp_path: Path) -> None:
    rows = "Begin Host\nHOST_NAME MXJ\nhostB 2\nEnd Host\n"
    site = read(tmp_path, {"lsb.hosts": rows})
    assert [host["name"] for host in site.document["hosts"]] == ["hostB"]
    assert (
        "lsb.hosts has no row for hostA, hostC: omitted, since LSF starts no jobs there"
        in site.notes
    )


def test_lshosts_and_ncpus_say_what_the_files_do_not(tmp_path: Path) -> None:
    files = {
        "lsb.hosts": "Begin Host\nHOST_NAME MXJ\nhostB 2\ndefault !\nEnd Host\n",
        "lshosts": "HOST_NAME type model cpuf ncpus maxmem maxswp server RESOURCES\n"
        "hostA X86_64 Fast 60.0 16 62.5G 4G Yes (mg)\n"
        "hostB X86_64 Fast 60.0 8 30G - Yes ()\n"
        "hostC UNKNOWN UNKNOWN 1.0 - - - Yes ()\n"
        "hostD X86_64 Fast 60.0 32 1T 4G Dyn ()\n"
        "login X86_64 Fast 60.0 4 8G 4G No ()\n",
    }
    assert complaints(tmp_path, files) == [
        "lsb.hosts:4: Host.MXJ: no file gives the number of processors (and thus slots) of "
        "hostC has: "
        "give numbers as MXJ, --lshosts FILE, or --ncpus N"
    ]
    hosts = instance(tmp_path, files, ncpus={"hostC": 6}).cluster.hosts
    assert [(h.name, h.slots, h.ncpus) for h in hosts] == [
        ("hostA", 16, 16),
        ("hostB", 2, 8),
        ("hostC", 6, 6),
        ("hostD", 32, 32),
    ]
    assert hosts[0].amounts == {"mem": 62.5 * 1024, "swp": 4096}
    assert (hosts[0].type, hosts[0].cpu_factor, hosts[2].type) == ("X86_64", 60, "any")


def test_conditions_choose_and_are_reported(tmp_path: Path) -> None:
    text = queue(RUNLIMIT="60\n#if time(20:00-6:00)\nUJOB_LIMIT = 9\n#else\nUJOB_LIMIT = 2\n#endif")
    for at, limit, answer in ((MORNING, 2, "false"), (NIGHT, 9, "true")):
        site = read(tmp_path, {"lsb.queues": text}, at=at)
        built, _ = site.instance()
        assert built.queues[0].user_slots == limit
        assert f"lsb.queues:4: #if time(20:00-6:00) is {answer}" in site.notes
        assert built.origin == at.isoformat()
    assert complaints(tmp_path, {"lsb.queues": text}) == [
        "lsb.queues:4: time(20:00-6:00) needs the current time: give --at, or an "
        "instance whose now is a time stamp"
    ]


@pytest.mark.parametrize(
    ("models", "limit", "more", "default", "most", "differs"),
    [
        (("slow", "slow"), "60", {}, None, 3600, False),
        (("slow", "slow"), "60/fast", {}, None, 7200, False),
        (("fast", "fast"), "30/slow 60/slow", {}, 900, 1800, False),
        (("fast", "fast"), "30 60/h1", {}, 1800, 3600, False),
        (("slow", "fast"), "60/fast", {}, None, 3600, True),
        (("slow", "fast"), "60", {}, None, 3600, True),
        (("!", "!"), "60/fast", {}, None, 3600, True),
        (("slow", "!"), "60", {}, None, 3600, True),
        (("!", "!"), "60", {}, None, 3600, False),
        (("slow", "fast"), "60/fast", {"ABS_RUNLIMIT": "Y"}, None, 3600, False),
        (("slow", "slow"), "60", {"DEFAULT_HOST_SPEC": "fast"}, None, 7200, False),
    ],
)
def test_run_limits_and_cpu_factors(
    tmp_path: Path,
    models: tuple[str, ...],
    limit: str,
    more: dict[str, str],
    default: int | None,
    most: int,
    differs: bool,
) -> None:
    files = {
        "lsf.shared": SHARED,
        "lsf.cluster.c": machines(*models),
        "lsb.params": params(**more),
        "lsb.queues": queue(RUNLIMIT=limit),
    }
    site = read(tmp_path, files)
    (found,) = site.instance()[0].queues
    assert (found.run_limit, found.run_limit_max) == (default, most)
    assert any("because of CPU factors (queue q)" in note for note in site.notes) is differs


@pytest.mark.behaviour("DEP-04")
def test_parameters_of_dependency_conditions(tmp_path: Path) -> None:
    given = {"JOB_DEP_LAST_SUB": 0, "ORPHAN_JOB_TERM_GRACE_PERIOD": 90}
    files = {"lsb.params": params(**given), "lsb.queues": queue(PRIORITY=30)}
    built, _ = read(tmp_path, files).instance()
    assert (built.params.job_dep_last_sub, built.params.orphan_grace) == (False, 90)
    assert loads(dump(built)) == built


def test_the_default_priority_is_half_of_the_highest(tmp_path: Path) -> None:
    files = {"lsb.params": params(MAX_USER_PRIORITY=101), "lsb.queues": queue(PRIORITY=30)}
    site = read(tmp_path, files)
    jobs = [{"id": 1}, {"id": 2, "bsub": "-sp 7"}, {"id": 3, "priority": 0}]
    built, _ = site.instance({"pending": jobs})
    assert [job.priority for job in built.pending] == [50, 7, 0]
    assert submitted_job(built, "-n 2").priority == 50
    assert loads(dump(built)) == built
    with pytest.raises(Exception, match="must be 101 or less, not 102"):
        site.instance({"pending": [{"id": 1, "priority": 102}]})
    built, _ = read(tmp_path, {"lsb.params": params(MBD_SLEEP_TIME=10)}).instance(
        {"pending": [{"id": 1}]}
    )
    assert built.pending[0].priority == 0


SHARES = "USER_SHARES[[default,1]]"


@pytest.mark.parametrize(
    ("common", "queues", "wanted", "differs"),
    [
        ("N", [{"FAIRSHARE": SHARES, "ENABLE_HIST_RUN_TIME": "Y"}], True, []),
        ("Y", [{"FAIRSHARE": SHARES, "ENABLE_HIST_RUN_TIME": "N"}], False, []),
        ("Y", [{"FAIRSHARE": SHARES, "ENABLE_HIST_RUN_TIME": "Y"}], True, []),
        ("N", [{"ENABLE_HIST_RUN_TIME": "Y"}], False, []),
        ("N", [{"FAIRSHARE": SHARES, "ENABLE_HIST_RUN_TIME": "Y"}, {}], True, []),
        (
            "N",
            [{"FAIRSHARE": SHARES, "ENABLE_HIST_RUN_TIME": "Y"}, {"FAIRSHARE": SHARES}],
            False,
            ["queue q0"],
        ),
    ],
)
def test_historical_run_time_of_queues(
    tmp_path: Path, common: str, queues: list[dict[str, Any]], wanted: bool, differs: list[str]
) -> None:
    text = "".join(queue(**{"QUEUE_NAME": f"q{n}", **q}) for n, q in enumerate(queues))
    site = read(tmp_path, {"lsb.params": params(ENABLE_HIST_RUN_TIME=common), "lsb.queues": text})
    assert site.instance()[0].params.enable_hist_run_time is wanted
    said = [note for note in site.notes if "ENABLE_HIST_RUN_TIME" in note]
    assert [note.split("(")[1].split(")")[0] for note in said] == differs


def test_names_of_10_1_for_older_parameters(tmp_path: Path) -> None:
    files = {
        "lsb.params": params(RESOURCE_RESERVE_PER_TASK="Y"),
        "lsb.queues": queue(TASKLIMIT="2 4 8", EXCLUSIVE="yes"),
        "lsb.applications": "Begin Application\nNAME = a\nESTIMATED_RUNTIME = 30\n"
        "TASKLIMIT = 9\nEnd Application\n",
        "lsf.conf": "LSB_NCPU_ENFORCE=1\nLSF_UNIT_FOR_LIMITS=gb\n",
        **_map("lic [5@all]"),
        "lsb.resources": "Begin ReservationUsage\nRESOURCE METHOD\nlic PER_TASK\n"
        "End ReservationUsage\n",
    }
    built = instance(tmp_path, files)
    assert built.params.reserve_per_slot
    assert built.params.run_time_in_slots
    assert built.params.unit_for_limits == "GB"
    assert (built.queues[0].slots, built.queues[0].exclusive) == ((2, 4, 8), "Y")
    application = built.applications[0]
    assert (application.estimated_run_time, application.slots) == (1800, (1, None, 9))
    assert built.reservation_usage[0].method == "PER_SLOT"


def test_a_limit_of_nothing_but_what_is_not_modelled_is_left_out(tmp_path: Path) -> None:
    text = "Begin Limit\nNAME = x\nRESOURCE = [ngpus_physical,4] [lic,5%]\nEnd Limit\n"
    found, _ = read(tmp_path, {"lsb.resources": text, "lsf.shared": SHARED}).instance()
    assert found.limits == ()
    assert len([item for item in found.omissions if "the limit is omitted" in item.what]) == 2


def test_span_ptile_is_in_the_scope_of_what_packs_it() -> None:
    item = Omission("x", resources=("ptile",))
    asked_for = [("span[ptile=1]",), (), ("span[hosts=1]",), ("span[ptile='!']",)]
    jobs = tuple(
        Job(str(n), slots=2, run_limit=60, res_req=asked) for n, asked in enumerate(asked_for)
    )
    made = Instance(Cluster((Host("a", 4), Host("b", 4))), pending=jobs, omissions=(item,))
    (named,) = [found for found in plan(made, "greedy").omissions if found.what == "x"]
    assert named.jobs == ("0", "3")


def test_limits_that_cannot_be_said_are_left_out_whole(tmp_path: Path) -> None:
    text = """Begin Limit
NAME USERS SLOTS CLUSTERS MEM
a    ann   3     -       -
b    -     5     all     -
c    all   -     -       50%
-    bert  7     -       -
End Limit
"""
    site = read(tmp_path, {"lsb.resources": text})
    assert [limit.name for limit in site.instance()[0].limits] == ["a", "NONAME000"]
    said = [note for note in site.notes if "limit is omitted" in note]
    assert [note.split("(")[1].split(")")[0] for note in said] == ["limit b", "limit c"]


def test_the_report_counts_what_is_not_modelled(tmp_path: Path) -> None:
    text = "".join(
        queue(QUEUE_NAME=f"q{n}", NICE=n, **({"MIG": 5, "MEMLIMIT": 9} if n > 9 else {}))
        for n in range(12)
    )
    text += queue(QUEUE_NAME="x", RUNLIMT=5, RERUNNABLE="no", PLAN="Y", SOME_PLUGIN="a b")
    parameters = params(MAX_JOB_NUM=9, RELAX_JOB_DISPATCH_ORDER="Y")
    site = read(tmp_path, {"lsb.queues": text, "lsb.params": parameters, "lsf.conf": "LSF_X=1"})
    notes = dict.fromkeys(site.notes)
    assert (
        "not modelled: LSF_X in lsf.conf; MAX_JOB_NUM in lsb.params; "
        "NICE in 12 queues, MIG in 2, RUNLIMT in 1, SOME_PLUGIN in 1"
    ) in notes
    assert "lsb.queues:55: unknown parameter RUNLIMT (did you mean 'RUNLIMIT'?): left out" in notes
    topics = [n.split(": ")[0] for n in notes if n.startswith("answers may differ")]
    assert topics == [
        "answers may differ because of RELAX_JOB_DISPATCH_ORDER (lsb.params)",
        "answers may differ because of memory and swap of hosts (all hosts)",
        "answers may differ because of MEMLIMIT (queue q10, queue q11)",
        "answers may differ because of PLAN (queue x)",
    ]
    site.instance()


def test_missing_modules_are_said(tmp_path: Path) -> None:
    text = "Begin PluginModule\nSCH_PLUGIN RB_PLUGIN\nschmod_default ()\nschmod_reserve ()\n"
    files = {
        "lsb.queues": queue(FAIRSHARE=SHARES, SLOT_RESERVE="MAX_RESERVE_TIME[5]"),
        "lsb.modules": f"{text}schmod_parallel ()\nEnd PluginModule\n",
    }
    said = [n.split(": ")[0] for n in read(tmp_path, files).notes if "module" in n]
    assert said == [
        "answers may differ because of module schmod_fairshare (fairshare)",
        "answers may differ because of module schmod_parallel (lsb.modules)",
    ]
    bare = read(tmp_path, files | {"lsb.modules": "# nothing\n"})
    assert bare.document["params"]["modules"] == ["schmod_default", "schmod_fcfs"]


@pytest.mark.behaviour("FSH-08", "FSH-10", "FSH-14")
def test_fragments_of_the_documents_work_as_they_stand(tmp_path: Path) -> None:
    """001: a share tree, chargeback, partitions, priority users."""
    files = {
        "lsb.users": """Begin UserGroup
GROUP_NAME GROUP_MEMBER        USER_SHARES
GroupB     (User1 User2)       ()
GroupC     (User3 User4)       ([User3, 3] [User4, 4])
GroupA     (GroupB GroupC User5) ([User5, 1] [default, 10])
End UserGroup
Begin UserGroup
Group_Name Group_Member
eng_users  (user6 user4)
acct_users (user2 user5)
End UserGroup
""",
        "lsb.hosts": """Begin Host
HOST_NAME MXJ
default 4
End Host
Begin HostPartition
HPART_NAME =GlobalPartition
HOSTS = hostA hostB ~hostC
USER_SHARES = [eng_users@, 3] [acct_users, 7] [default, 1]
End HostPartition
""",
        "lsb.queues": """Begin Queue
QUEUE_NAME = reservation
DESCRIPTION = For resource reservation
PRIORITY=40
RESOURCE_RESERVE = MAX_RESERVE_TIME[20]
...
End Queue
""",
    }
    built = instance(tmp_path, files)
    assert [group.user_shares for group in built.groups[:3]] == [
        (),
        (("User3", 3), ("User4", 4)),
        (("User5", 1), ("default", 10)),
    ]
    assert built.partitions[0].hosts == ("hostA", "hostB")
    assert built.partitions[0].user_shares == (("eng_users@", 3), ("acct_users", 7), ("default", 1))
    assert built.queue("reservation").resource_reserve == 20


def test_shares_without_brackets_around_them(tmp_path: Path) -> None:
    """As found in public files."""
    text = """Begin UserGroup
GROUP_NAME      GROUP_MEMBER                  USER_SHARES
prod_users      (alice bob carol)             [alice, 10][bob, 20] [carol, 30]
dev_users       (dave eve)                    [default, 5]
....
system          (all)                         ()
End UserGroup
"""
    groups = instance(tmp_path, {"lsb.users": text}).groups
    assert [group.user_shares for group in groups] == [
        (("alice", 10), ("bob", 20), ("carol", 30)),
        (("default", 5),),
        (),
    ]


@pytest.mark.behaviour("REQ-21")
@pytest.mark.parametrize(
    ("conf", "dialect"),
    [
        ("LSF_VERSION=10.1", "10.1"),
        ("LSF_VERSION=9.1.3", "10.1"),
        ("LSF_VERSION=7.0", "7"),
        ("LSF_VERSION=8.0", "7"),
        ("", "10.1"),
    ],
)
def test_the_version_of_lsf_says_its_language(tmp_path: Path, conf: str, dialect: str) -> None:
    found = instance(tmp_path, {"lsf.conf": conf})
    assert found.params.dialect == dialect
    assert loads(dump(found)) == found


def test_what_lshosts_did_not_print_is_one_problem(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        instance(tmp_path, {"lshosts": "HOST  type\nhostA X\n"})
    said = [str(problem) for problem in caught.value.problems]
    assert [line.partition("lshosts:")[2] for line in said] == [
        "1: is not the output of lshosts -w: its first line would begin with HOST_NAME"
    ]
