"""What a cluster tells of its configuration stands in for the files of a site."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from printed_listings import snapshot
from slotwise import InputError, Instance, Job, load
from slotwise.cli.main import app
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


def run(*words: str) -> tuple[int, str]:
    """Exit code and standard error."""
    try:
        done = CliRunner().invoke(app, words, catch_exceptions=False)
    except InputError as error:
        return 2, str(error)
    return done.exit_code, done.stderr


def test_a_folder_without_any_of_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello\n")
    for folder, says in (
        (tmp_path, "has no file with the output of bjobs"),
        (tmp_path / "b", "cannot be read"),
    ):
        code, said = run("import", "snapshot", "--from", str(folder))
        assert code == 2
        assert says in said


def made(**texts: str) -> Instance:
    """The instance of the listings above and these texts."""
    usual = {name: PRINTED[name] for name in ("bjobs", "bhosts", "bqueues")}
    return snapshot(NOW, **(usual | texts))


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
    found = made(bjgroup=head + groups, bjobs=asks)
    assert [(group.name, group.limit) for group in found.job_groups] == limits
    assert [job.job_group for job in found.pending] == ["/a/b"]
    assert any(
        "must be a whole number such as 4, not 'y'" in item.what for item in found.omissions
    ) == ("y" in groups)


GROUPS = "GROUP_NAME NJOBS PEND RUN SSUSP USUSP FINISH SLA JLIMIT OWNER\n/a 3 {} 0 () {} ann\n"
RUNS = """
Job <8>, User <ann>, Project <default>, Status <{}>, Queue <normal>, Command <x>{}
Fri Nov 27 00:33:00: Submitted from host <hostA>, CWD </>, 2 Processors Requested;
Fri Nov 27 00:34:00: Started on 2 Hosts/Processors <2*hostA>;
"""
POOL = "GUARANTEED RESOURCE POOL: p\nTYPE: {}\nDISTRIBUTION: [sc, 1]\nHOSTS: all\n"
USED = "\nCONSUMERS CONFIG USED USED\nsc 1 1 {}\n"
CLASS = (
    "SERVICE CLASS NAME:  sc\nGOAL:  GUARANTEE\n\nPOOL NAME TYPE CONFIG USED USED\np slots 4 2 2\n"
)
BOOKED = "RSVID TYPE USER NCPUS RSV_HOSTS TIME_WINDOW\nu#0 user ann 2/2 hostA:2/2 {}\n{}"


@pytest.mark.behaviour("CFG-04", "GRP-01", "GUA-02", "ARV-01")
@pytest.mark.parametrize(
    ("texts", "member", "says"),
    [
        ({"bjgroup": GROUPS.format("0 1 0 0", "-/3")}, "Job Group </a/b>", "1 job in use"),
        ({"bjgroup": GROUPS.format("0 0 1 0", "-/3")}, "Job Group </a>", "1 job in use"),
        ({"bjgroup": GROUPS.format("0 0 0 1", "-/3")}, "Job Group </a>", "1 job in use"),
        ({"bjgroup": GROUPS.format("0 0 0 0", "1/3")}, "Job Group </a>", "1 job in use"),
        ({"bjgroup": GROUPS.format("1 0 0 0", "0/3")}, "", "1 job pending"),
        ({"bsla": CLASS, "bresources": POOL.format("slots")}, "Service Class <sc>", "2 slots in"),
        (
            {"bresources": POOL.format("slots") + USED.format(2)},
            "Service Class <sc>",
            "service class sc of pool p has 2 slots in use",
        ),
        (
            {"bresources": POOL.format("hosts") + USED.format(1)},
            "Service Class <sc>",
            "service class sc of pool p has 1 host in use",
        ),
        (
            {"brsvs": BOOKED.format("11/27/0/0-11/27/9/0", "Reservation Type: OPEN\n")},
            "Reservation <u#0>",
            "reservation u#0 on hostA has 2 slots in use",
        ),
    ],
)
def test_amounts_in_use_are_those_of_the_listed_jobs(
    texts: dict[str, str], member: str, says: str
) -> None:
    """A listing prints a use; a running job explains it if it is listed as a member."""
    bhosts = PRINTED["bhosts"].replace("0      0      0      0      0\nhostB", "2 2 0 0 0\nhostB")
    for words in filter(None, ("", member)):
        listed = RUNS.replace(", Status", f", {words}, Status" if words else ", Status")
        found = made(**texts, bhosts=bhosts, bjobs=PRINTED["bjobs"] + listed.format("RUN", ""))
        told = [item.what for item in found.omissions if says in item.what]
        assert len(told) == (not words), (words, found.omissions)
        assert words or not plan(found, "optimal", effort=5)["7"].proved


def test_a_use_that_no_job_explains_touches_the_jobs_of_its_group() -> None:
    listed = PRINTED["bjobs"].replace("Status", "Job Group </a/b>, Status")
    listed += PRINTED["bjobs"].replace("<7>", "<9>").replace("Status", "Job Group </c>, Status")
    found = made(bjgroup=GROUPS.format("1 1 0 0", "1/3"), bjobs=listed)
    (item,) = (item for item in found.omissions if "/a has 1 job in use" in item.what)
    assert item.jobs == ("7",)


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
@pytest.mark.parametrize("use", [False, True])
def test_without_use_it_is_assumed_that_jobs_may_be_bound(use: bool) -> None:
    """lshosts -T prints no use, bhosts -aff does; one of a host is enough."""
    plain = TREES.replace("*", "").replace("0M / ", "")
    marked = plain.replace("NUMA[1: 31G]", "NUMA[1: 5M / 31G]") if use else plain
    found = made(topology=marked)
    assert found.cluster == made(topology=plain).cluster
    (told,) = (item for item in found.omissions if "give bhosts -aff" in item.what)
    assert told.hosts == (("hostA",) if use else ("hostA", "hostB"))
    bound = replace(found, pending=tuple(with_binding(found.pending[0])))
    (named,) = (item for item in plan(bound, "greedy").omissions if item.what == told.what)
    assert named.jobs == ("8",)


def with_binding(job: Job) -> Iterator[Job]:
    """A job without affinity, and the same job with it."""
    yield job
    yield replace(job, id="8", res_req=("affinity[core(1)]",))
