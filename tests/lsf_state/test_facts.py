"""What a cluster tells of its configuration stands in for the files of a site."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from slotwise import HostGroup, InputError, Instance, Job, Scope, User, UserGroup, load
from slotwise.cli.import_snapshot import Printed, make_instance
from slotwise.cli.main import app
from slotwise.model.sources.lsf_state.facts import read_facts
from slotwise.model.sources.lsf_state.values import Text
from slotwise.solver.planning import plan
from typer.testing import CliRunner

NOW = datetime(2026, 11, 27, 0, 34, tzinfo=UTC)
#: After a live cluster (volclava 2.2), shortened; names of groups are added.
PRINTED = {
    "bparams": """
System default queues for automatic queue selection:
    DEFAULT_QUEUE = normal

The interval for dispatching jobs by master batch daemon:
    MBD_SLEEP_TIME = 4 (seconds)

The interval for a host to accept two batch jobs:
    JOB_ACCEPT_INTERVAL = 1 (* MBD_SLEEP_TIME)

Mbatchd reserves resources based on job tasks:
    RESOURCE_RESERVE_PER_TASK = N

Run time weighting factor for fairshare scheduling policy:
    RUN_TIME_FACTOR = 0.500000
""",
    "bugroup": """GROUP_NAME    USERS
grp          cat dan
             eve
all_of_us    grp/ bob
""",
    "bmgroup": "GROUP_NAME    HOSTS\nbig          hostA hostB \n",
    "busers": """USER/GROUP          JL/P    MAX  NJOBS   PEND    RUN  SSUSP  USUSP    RSV
ann                    -      4     11      9      2      0      0      0
cat                    -      -      3      1      2      0      0      0
default                1      -      -      -      -      -      -      -
""",
    "lshosts": """HOST_NAME              type       model  cpuf ncpus maxmem maxswp server RESOURCES
hostA                 linux     IntelI5 100.0     2 24105M      -    Yes (cs fs)
hostB                 linux     IntelI5 100.0     2   2.5G      -    Yes (cs)
""",
    "bhosts": """HOST_NAME          STATUS       JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV
hostA              ok              -      4      0      0      0      0      0
hostB              ok              -      4      0      0      0      0      0
""",
    "bqueues": """QUEUE_NAME      PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN  SUSP
normal           30  Open:Active       -    -    -    -     1     1     0     0
""",
    "bjobs": """
Job <7>, User <ann>, Project <default>, Status <PEND>, Queue <normal>, Command <x>
Fri Nov 27 00:33:00: Submitted from host <hostA>, CWD </>, 2 Processors Requested;
""",
}
LONG = """GROUP_NAME: tree
USERS: ann bob
SHARES: [ann, 10] [default, 1]

GROUP_NAME: other
USERS: cat
"""


def run(*words: str) -> tuple[int, str]:
    """Exit code and standard error."""
    try:
        done = CliRunner().invoke(app, words, catch_exceptions=False)
    except InputError as error:
        return 2, str(error)
    return done.exit_code, done.stderr


def test_what_each_command_tells() -> None:
    found = read_facts(Text(PRINTED[name], name) for name in ("bparams", "bugroup", "bmgroup"))
    assert found.params is not None
    assert (found.params.mbd_sleep_time, found.params.job_accept_interval) == (4, 1)
    assert (found.params.default_queue, found.params.run_time_factor) == ("normal", 0.5)
    assert found.groups == (
        UserGroup("grp", ("cat", "dan", "eve")),
        UserGroup("all_of_us", ("grp", "bob")),
    )
    assert found.host_groups == (HostGroup("big", ("hostA", "hostB")),)
    users = read_facts([Text(PRINTED["busers"], "busers")]).users
    assert users == (User("ann", 4, None), User("default", None, 1))


def test_the_long_form_of_groups_has_their_shares() -> None:
    (tree, other) = read_facts([Text(LONG, "bugroup")]).groups
    assert tree == UserGroup("tree", ("ann", "bob"), (("ann", 10), ("default", 1)))
    assert other == UserGroup("other", ("cat",))


def test_plain_bparams_tells_seconds() -> None:
    text = (
        "Default Queues:  normal idle\nMBD_SLEEP_TIME used for calculations:  20 seconds\n"
        "Job Checking Interval:  15 seconds\nJob Accepting Interval:  40 seconds\n"
    )
    params = read_facts([Text(text, "bparams")]).params
    assert params is not None
    assert (params.mbd_sleep_time, params.job_accept_interval) == (20, 2)
    assert params.default_queue == "normal"


def test_what_is_no_output_of_theirs_is_refused() -> None:
    with pytest.raises(InputError, match="is no output of bparams"):
        read_facts([Text("hello\n", "a.txt")])


@pytest.mark.parametrize("by", ["folder", "names"])
def test_a_cluster_without_configuration(by: str, tmp_path: Path) -> None:
    folder, out = tmp_path / "printed", tmp_path / "out.yaml"
    folder.mkdir()
    for number, (name, text) in enumerate(PRINTED.items()):
        (folder / (f"file{number}" if by == "folder" else name)).write_text(text)
    (folder / "notes.md").write_text("nothing that a command prints\n")
    options = ["--from", str(folder)]
    if by == "names":
        options = [word for name in PRINTED for word in (f"--{name}", str(folder / name))]
    assert run("import", "snapshot", *options, "-o", str(out))[0] == 0
    made = load(out)
    assert made.params.mbd_sleep_time == 4
    assert [host.amounts["mem"] for host in made.cluster.hosts] == [24105, 2560]
    assert [sorted(host.booleans) for host in made.cluster.hosts] == [["cs", "fs"], ["cs"]]
    assert made.cluster.groups == (HostGroup("big", ("hostA", "hostB")),)
    assert [group.name for group in made.groups] == ["grp", "all_of_us"]
    assert [user.max_slots for user in made.users] == [4, None]


def test_of_several_forms_of_a_folder_the_one_that_says_most_counts(tmp_path: Path) -> None:
    long = PRINTED["bjobs"].replace("2 Processors", "6 Processors").replace("<x>", f"<{'x' * 99}>")
    for name in ("bhosts", "bqueues", "bjobs"):
        (tmp_path / name).write_text(PRINTED[name])
    (tmp_path / "a_uf").write_text(long)
    out = tmp_path / "out.yaml"
    assert run("import", "snapshot", "--from", str(tmp_path), "-o", str(out))[0] == 0
    assert [job.slots for job in load(out).pending] == [6]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("notes.txt", b"hello there\n", "not the output of a command that this import reads"),
        ("empty", b"", "empty"),
        ("core", b"\x7fELF\0\1\xff", "not a text"),
        ("all.gz", b"\x1f\x8b\x08\0\0", "an archive or a compressed file"),
        ("again", PRINTED["bqueues"].encode(), "another file has the same listing"),
        ("squeue.json", b'{"jobs": [{"job_id": 1, "job_state": "PENDING"}]}', "not the output"),
        ("lsload", b"HOST_NAME       status  r15s   r1m  r15m   ut    pg  ls    it   tmp   swp\n",
         "output of lsload: load: give bhosts -l"),
        ("table", b"JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME\n",
         "a shorter form of a listing that another file has"),
    ],
)  # fmt: skip
def test_a_file_of_a_folder_that_is_not_read_is_named(
    name: str, content: bytes, reason: str, tmp_path: Path
) -> None:
    folder = tmp_path / "printed"
    folder.mkdir()
    for kind, text in PRINTED.items():
        (folder / f"a_{kind.replace(' ', '_')}").write_text(text)
    words = ["import", "snapshot", "--from", str(folder), "-o"]
    code, said = run(*words, str(tmp_path / "out.yaml"))
    assert code == 0
    assert "ignored" not in said
    (folder / name).write_bytes(content)
    code, said = run(*words, str(tmp_path / "again.yaml"))
    assert code == 0, said
    (note,) = [line for line in said.splitlines() if "ignored" in line]
    assert note.startswith(f"slotwise: ignored {name}: {reason}")
    assert load(tmp_path / "again.yaml") == load(tmp_path / "out.yaml")


def test_a_folder_without_any_of_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello\n")
    for folder, says in (
        (tmp_path, "has no file with the output of bjobs"),
        (tmp_path / "b", "cannot be read"),
    ):
        code, said = run("import", "snapshot", "--from", str(folder))
        assert code == 2
        assert says in said


def test_groups_of_all() -> None:
    hosts = "GROUP_NAME    HOSTS\nwhole   all hosts used by the batch system\n"
    users = "GROUP_NAME    USERS\neverybody   all users\n"
    found = read_facts([Text(hosts, "bmgroup"), Text(users, "bugroup")])
    assert (found.host_groups[0].members, found.groups[0].members) == (("all",), ("all",))


LIMITS = """\
INTERNAL RESOURCE LIMITS:

      NAME            USERS            QUEUES           HOSTS           PROJECTS      SLOTS    MEM
 host_cap               -                -               hostA             -           2/6      -
                                                             hostB
    each               ann               -                -                -           2/4      -
    each               bob               -                -                -           0/4      -
    mem                grp/           @normal             -                -            -      0/1G
EXTERNAL RESOURCE LIMITS:

      NAME            USERS            QUEUES           HOSTS           PROJECTS      lic
    lics                -                -                -                -          -/3
"""


def made(*facts: str, **texts: str) -> Instance:
    """The instance of the listings above and these facts."""
    given: dict[str, Any] = {
        name: [Text(texts.get(name, PRINTED[name]), name)]
        for name in ("bjobs", "bhosts", "bqueues")
    }
    printed = Printed(**given, facts=[Text(text, "facts") for text in facts])
    return make_instance(printed, NOW, NOW, None)


@pytest.mark.behaviour("CFG-04")
def test_limits_are_read_with_what_they_bind() -> None:
    found = made(LIMITS).limits
    assert [(item.name, item.amounts) for item in found] == [
        ("host_cap", {"slots": 6}),
        ("each", {"slots": 4}),
        ("mem", {"mem": 1024}),
    ]  # nobody knows a resource lic
    assert found[0].hosts == Scope(("hostA", "hostB"))
    assert found[1].users == Scope(("ann", "bob"), each=True)
    assert (found[2].users, found[2].queues) == (Scope(("grp",)), Scope(("normal",)))


@pytest.mark.behaviour("CFG-04")
def test_whom_rows_do_not_name_may_be_bound_too_but_for_sections() -> None:
    """A row is of those that use some; the sections say who is bound."""
    other = LIMITS.replace("ann", "dan")
    assert not [item for item in made(LIMITS).omissions if "limit each binds" in item.what]
    (item,) = [item for item in made(other).omissions if "limit each binds" in item.what]
    assert (item.jobs, item.where) == (("7",), "blimits")
    sections = "Begin Limit\nNAME = each\nPER_USER = all\nSLOTS = 4\nEnd Limit\n"
    both = made(sections, other)
    assert [item.users for item in both.limits] == [Scope(("all",), each=True)]
    assert not [item for item in both.omissions if "limit each binds" in item.what]


RUNS = (
    PRINTED["bjobs"]
    + """
Job <8>, User <ann>, Project <default>, Status <RUN>, Queue <normal>, Command <x>
Fri Nov 27 00:31:00: Submitted from host <hostA>, CWD </>, 2 Processors Requested;
Fri Nov 27 00:32:00: Started on <2*hostA>;
"""
)


@pytest.mark.behaviour("CFG-04")
def test_what_limits_have_in_use_is_what_jobs_hold() -> None:
    hosts = PRINTED["bhosts"].replace("4      0      0", "4      2      2", 1)
    agree = made(LIMITS, bjobs=RUNS, bhosts=hosts)
    assert not [item for item in agree.omissions if "slots in use, the jobs" in item.what]
    differ = made(LIMITS.replace("2/4", "4/4"), bjobs=RUNS, bhosts=hosts)
    (item,) = [item for item in differ.omissions if "each has 4 slots" in item.what]
    assert (item.users, item.where) == (("ann",), "blimits")


@pytest.mark.behaviour("CFG-04", "GRP-01")
@pytest.mark.parametrize(
    ("groups", "limits"),
    [
        (
            "/a 1 1 0 0 0 0 () 0/- ann\n/a/b 1 1 0 0 0 0 () 0/- ann\n",
            [("/a", None), ("/a/b", None)],
        ),
        ("/a 1 1 0 0 0 0 () 3/5 ann\n/a/b 1 1 0 0 0 0 () 0/-\n", [("/a", 5), ("/a/b", None)]),
        ("/a 1 1 0 0 0 0 () 0/-\n/a/b 1 1 0 0 0 0 () x/y\n", [("/a", None)]),
    ],
)
def test_job_groups_are_those_of_bjgroup(groups: str, limits: list[tuple[str, int | None]]) -> None:
    head = "GROUP_NAME NJOBS PEND RUN SSUSP USUSP FINISH SLA JLIMIT OWNER\n"
    asks = PRINTED["bjobs"].replace("Command", "Job Group </a/b>, Command")
    found = made(head + groups, bjobs=asks)
    assert [(group.name, group.limit) for group in found.job_groups] == limits
    assert [job.job_group for job in found.pending] == ["/a/b"]
    assert any(
        "must be a whole number such as 4, not 'y'" in item.what for item in found.omissions
    ) == ("y" in groups)


#: A host of two sockets, after what one of open-mpi's issue 12794 prints; hostB has threads.
TREES = """Host[377G] hostA
    Socket0
        NUMA[0: 0M / 188.1G]
            core0(*0)
            core2(1)
    Socket1
        NUMA[1: 0M / 188.2G]
            core0(2)
            core2(*3)
Host[62G]   hostB.site.org
    NUMA[0: 31G]
        Socket0
            core0(0 4)  core1(1 5)
    NUMA[1: 31G]
        Socket0
            core2(2 6)
"""
UNITS = ("cores", "threads", "sockets", "numa_nodes")


@pytest.mark.behaviour("AFF-01")
@pytest.mark.parametrize("by", ["option", "folder", "site"])
def test_trees_tell_the_units_of_hosts(by: str, tmp_path: Path) -> None:
    (tmp_path / "h").write_text(PRINTED["bhosts"])
    (tmp_path / "t").write_text(TREES)
    words = ["--bhosts", str(tmp_path / "h"), "--topology", str(tmp_path / "t")]
    if by == "folder":
        (tmp_path / "less").write_text("Host[1G] hostA\n    core0(0)\n")  # of lshosts -T
        words = ["--from", str(tmp_path)]
    elif by == "site":
        site = tmp_path / "site.yaml"
        site.write_text("format: slotwise/1\nhosts: [{name: hostA, slots: 4, cores: 3}]\n")
        words += ["--site", str(site)]
    code, printed = run("import", "snapshot", *words, "-o", str(tmp_path / "out.yaml"))
    assert code == 0, printed
    found = {
        h.name: [getattr(h, name) for name in UNITS]
        for h in load(tmp_path / "out.yaml").cluster.hosts
    }
    assert found == {"hostA": [3 if by == "site" else 4, 4, 2, 2], "hostB": [3, 6, 1, 2]}


@pytest.mark.behaviour("AFF-01")
@pytest.mark.parametrize(
    ("line", "wrong", "lost"),
    [
        ("core2(1)", "core2(x)", ["threads"]),
        ("core2(1)", "core2()", ["threads"]),
        ("core2(1)", "core2 1", ["cores", "threads"]),
        ("    Socket1", "    Socket?", ["sockets"]),
        ("NUMA[1: 0M", "NUMA[x: 0M", ["numa_nodes"]),
        ("core2(1)", "c?re2(1)", list(UNITS)),
    ],
)
def test_a_line_of_a_tree_takes_what_it_would_tell(line: str, wrong: str, lost: list[str]) -> None:
    whole, other = (
        made(TREES, bhosts=PRINTED["bhosts"]),
        made(TREES.replace(line, wrong, 1), bhosts=PRINTED["bhosts"]),
    )
    assert whole.cluster.hosts[1] == other.cluster.hosts[1]
    gone = [name for name in UNITS if getattr(other.cluster.hosts[0], name) is None]
    assert gone == lost
    (told,) = [item for item in other.omissions if item not in whole.omissions]
    assert told.hosts == ("hostA",)


@pytest.mark.behaviour("AFF-01")
@pytest.mark.parametrize("use", [False, True])
def test_without_use_it_is_assumed_that_jobs_may_be_bound(use: bool) -> None:
    """lshosts -T prints no use, bhosts -aff does; one of a host is enough."""
    plain = TREES.replace("*", "").replace("0M / ", "")
    marked = plain.replace("NUMA[1: 31G]", "NUMA[1: 5M / 31G]") if use else plain
    found = made(marked, bhosts=PRINTED["bhosts"])
    assert found.cluster == made(plain, bhosts=PRINTED["bhosts"]).cluster
    (told,) = (item for item in found.omissions if "give bhosts -aff" in item.what)
    assert told.hosts == (("hostA",) if use else ("hostA", "hostB"))
    bound = replace(found, pending=tuple(with_binding(found.pending[0])))
    (named,) = (item for item in plan(bound, "greedy").omissions if item.what == told.what)
    assert named.jobs == ("8",)


def with_binding(job: Job) -> Iterator[Job]:
    """A job without affinity, and the same job with it."""
    yield job
    yield replace(job, id="8", res_req=("affinity[core(1)]",))
