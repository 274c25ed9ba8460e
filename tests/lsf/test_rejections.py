"""A limit that LSF tests at submission takes the proof from the jobs that it may reject alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lsf.lab import write
from slotwise import Choices, Job, ask, explain, load
from slotwise.cli.main import app
from slotwise.model.configuration import Queue
from slotwise.model.formats.lsf.params import CHANGES_ANSWERS, lsf_keys
from slotwise.model.job import Application
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("GAT-03", "GAT-04", "SUB-02")

#: Parameter, its value, options of a job that it may reject, and of one that it does not reject.
REJECTING = [
    ("CORELIMIT", "0", "-C 5", ""),
    ("DATALIMIT", "20000", "-D 5", "-C 5"),
    ("FILELIMIT", "20000", "-F 30000", ""),
    ("MEMLIMIT", "5000", "-M 6000", "-v 6000"),
    ("PROCESSLIMIT", "10", "-p 20", "-ptl 20"),
    ("STACKLIMIT", "2048", "-S 5", ""),
    ("SWAPLIMIT", "5000", "-v 6000", "-M 6000"),
    ("THREADLIMIT", "10", "-T 20", ""),
    ("JOB_SIZE_LIST", "2 4", "-n 3", None),
    ("INTERACTIVE", "NO", "-Ip", ""),
    ("INTERACTIVE", "ONLY", "", "-Is"),
    ("INTERACTIVE", "YES", None, "-I"),
]


def configured(folder: Path, name: str, value: str) -> str:
    """The instance of a configuration in which queue q alone has a parameter."""
    conf = folder / "conf"
    conf.mkdir()
    queue = "Begin Queue\nQUEUE_NAME = {}\nRUNLIMIT = 60\n{}\nEnd Queue\n"
    text = queue.format("q", f"{name} = {value}") + queue.format("r", "")
    (conf / "lsb.queues").write_text(text)
    (conf / "lsb.hosts").write_text("Begin Host\nHOST_NAME MXJ\nA 4\nEnd Host\n")
    (conf / "lsf.cluster.c").write_text(
        "Begin Host\nHOSTNAME model type server\nA ! ! 1\nEnd Host\n"
    )
    done = CliRunner().invoke(app, ["import", "lsf", str(conf), "-o", str(folder / "site.yaml")])
    assert done.exit_code == 0, done.output
    return str(folder / "site.yaml")


def printed(folder: Path, name: str, value: str) -> str:
    """A folder with the output of `bqueues -l` of the same queues."""
    queue = (
        "QUEUE: {}\n  -- x\n\nPARAMETERS/STATISTICS\n"
        "PRIO NICE STATUS       MAX JL/U JL/P JL/H NJOBS PEND RUN SSUSP USUSP RSV\n"
        " 30    0  Open:Active    -    -    -    -     0    0   0     0     0   0\n\n"
        "MAXIMUM LIMITS:\n RUNLIMIT\n 60.0 min\n\n{}\n"
        "SCHEDULING POLICIES:  {}\nUSERS: all\nHOSTS:  all\n{}\n\n"
    )
    unit = "" if name in ("PROCESSLIMIT", "THREADLIMIT") else " K"
    policy = {"NO": "NO_INTERACTIVE", "ONLY": "ONLY_INTERACTIVE"}.get(value, "")
    is_list, is_policy = name == "JOB_SIZE_LIST", name == "INTERACTIVE"
    limit = "" if is_list or is_policy else f" {name}\n {value}{unit}\n"
    text = queue.format("q", limit, policy, f"{name}: {value}" if is_list else "")
    (folder / "bqueues").write_text(text + queue.format("r", "", "", ""))
    (folder / "bhosts").write_text(
        "HOST_NAME  STATUS  JL/U  MAX  NJOBS  RUN  SSUSP  USUSP  RSV\n"
        "A          ok      -     4    0      0    0      0      0\n"
    )
    return str(folder)


@pytest.mark.parametrize("form", [configured, printed])
@pytest.mark.parametrize(("name", "value", "beyond", "within"), REJECTING)
def test_what_a_queue_rejects_is_not_proved(
    form: object, name: str, value: str, beyond: str | None, within: str | None, tmp_path: Path
) -> None:
    """`ask -I` in a queue without interactive jobs said "now, proved the earliest"."""
    assert callable(form)
    source = form(tmp_path, name, value)
    for options, queue, is_proved in (
        (beyond, "q", False),
        (beyond, "r", True),
        (within, "q", True),
    ):
        if options is None:
            continue
        words = [
            "ask",
            source,
            "--format",
            "json",
            "--",
            "bsub",
            "-q",
            queue,
            *options.split(),
            "a",
        ]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        assert found["outlook"]["possible"] == found["now"]
        assert found["outlook"]["proved"] is is_proved, (options, queue)
        named = [item for item in found["omissions"] if "LSF rejects" in item["what"]]
        assert len(named) == (not is_proved)
        quiet = options.split()[0] if options.startswith("-") and options[1] != "n" else ""
        ignored = [item["what"] for item in found["omissions"] if "no effect" in item["what"]]
        assert ignored == ([f"{quiet} (no effect on the start)"] if quiet and is_proved else [])


QUEUES = "".join(f"Begin Queue\nQUEUE_NAME = {name}\nRUNLIMIT = 60\n{more}End Queue\n"
                 for name, more in (("q", ""), ("r", "JOB_SIZE_LIST = 2 4\n")))  # fmt: skip
PROFILE = "Begin Application\nNAME = {}\n{}\nEnd Application\n"
PROFILES = (
    PROFILE.format("sized", "TASKLIMIT = 2 3 3")
    + PROFILE.format("older", "PROCLIMIT = 2 3 3")
    + PROFILE.format("listed", "JOB_SIZE_LIST = 2 4")
    + PROFILE.format("chunked", "CHUNK_JOB_SIZE = 4")
    + PROFILE.format("limits", "CORELIMIT = 1\nMEMLIMIT = 1\nABS_RUNLIMIT = Y")
)


def site(folder: Path, **files: str) -> str:
    """The instance of a configuration, with pending jobs of ann (2, 3 slots) and bob (1)."""
    write(folder / "conf", {"lsb.queues": QUEUES, "lsb.applications": PROFILES, **files})
    jobs = "".join(
        f'  - {{id: "{n}", user: {user}, queue: q, slots: {slots}, begin: 2d}}\n'
        for n, (user, slots) in enumerate((("ann", 2), ("ann", 3), ("bob", 1)), start=1)
    )
    (folder / "now.yaml").write_text(f"format: slotwise/1\nconfig: conf\npending:\n{jobs}")
    return str(folder / "now.yaml")


def asked(source: str, line: str, *options: str) -> tuple[bool | None, str]:
    """Whether the start of a job is proved, None if it is refused; and what is said of it."""
    words = ["ask", source, *options, "--format", "json", "--", "bsub", *line.split(), "a"]
    done = CliRunner().invoke(app, words)
    if done.exit_code:
        return None, str(done.exception)
    found = json.loads(done.stdout)
    said = "; ".join(item["what"] for item in found["omissions"])
    return found["outlook"]["proved"], said


@pytest.mark.parametrize(
    ("options", "is_proved", "said"),
    [
        ("-app sized -n 1", None, "application sized accepts jobs of 2 to 3 slots"),
        ("-app older -n 4", None, "application older accepts jobs of 2 to 3 slots"),
        ("-app sized -n 1,2", True, ""),
        ("-app sized", True, ""),
        ("-app listed -n 3", False, "JOB_SIZE_LIST (application listed)"),
        ("-app chunked", False, "CHUNK_JOB_SIZE (application chunked)"),
        ("-app limits -C 5 -M 9", True, "-C, -M (no effect"),
        ("-n 3", True, ""),
    ],
)
def test_limits_of_an_application_profile_are_those_of_its_jobs(
    options: str, is_proved: bool | None, said: str, tmp_path: Path
) -> None:
    """TASKLIMIT and JOB_SIZE_LIST of a profile rejected no job; options may exceed its limits."""
    proved, told = asked(site(tmp_path), options)
    assert proved is is_proved, told
    assert said in told
    assert ("application" in told) == (is_proved is not True)


def test_every_key_of_a_queue_is_one_of_profiles_or_of_no_profile() -> None:
    """CHUNK_JOB_SIZE and ABS_RUNLIMIT of a profile were neither read nor named."""
    shared = {"CHUNK_JOB_SIZE", "CPULIMIT", "DESCRIPTION", "ESTIMATED_RUNTIME", "GPU_REQ"}
    shared |= {"PROCLIMIT", "RES_REQ", "RUNLIMIT", "TASKLIMIT"}
    assert shared <= lsf_keys(Queue)
    assert shared <= lsf_keys(Application) | CHANGES_ANSWERS | {"DESCRIPTION"}


USERS = "Begin User\nUSER_NAME MAX_PEND_JOBS MAX_PEND_SLOTS\n{}\nEnd User\n"
GROUP = "Begin UserGroup\nGROUP_NAME GROUP_MEMBER\ng (ann bob)\nEnd UserGroup\n"


@pytest.mark.parametrize(
    ("params", "users", "line", "said"),
    [
        ("MAX_PEND_JOBS = 3", "ann - -", "-n 1", "MAX_PEND_JOBS: LSF rejects more than 3"),
        ("MAX_PEND_JOBS = 4", "ann - -", "-n 1", ""),
        ("MAX_PEND_JOBS = 4", "ann - -", "-J x[1-2]", "MAX_PEND_JOBS: "),
        ("MAX_PEND_SLOTS = 9", "ann - -", "-n 4", "MAX_PEND_SLOTS: LSF rejects more than 9"),
        ("MAX_PEND_SLOTS = 9", "ann - -", "-n 3", ""),
        ("", "ann 2 -", "-n 1", "MAX_PEND_JOBS of ann: LSF rejects more than 2 pending jobs"),
        ("", "bob 1 -", "-n 1", ""),
        ("", "ann - 6", "-n 2", "MAX_PEND_SLOTS of ann: "),
        ("", "default 2 -", "-n 1", "MAX_PEND_JOBS of default: "),
        ("", "default 2 -\nann 3 -", "-n 1", ""),
        ("", "g 3 -", "-n 1", "MAX_PEND_JOBS of g: LSF rejects more than 3"),
        ("", "g@ 3 -", "-n 1", ""),
        ("", "g@ 2 -", "-n 1", "MAX_PEND_JOBS of g@: "),
        ("LSB_ESUB_METHOD", "ann - -", "-n 1", "LSB_ESUB_METHOD"),
    ],
)
def test_a_job_beyond_the_pending_ones_is_not_proved(
    params: str, users: str, line: str, said: str, tmp_path: Path
) -> None:
    files = {"lsb.users": GROUP + USERS.format(users)}
    if params.startswith("LSB"):
        files["lsf.conf"] = f'{params}="check"\n'
    elif params:
        files["lsb.params"] = f"Begin Parameters\n{params}\nEnd Parameters\n"
    proved, told = asked(site(tmp_path, **files), line, "--user", "ann")
    assert (proved is True) == (not said), told
    assert said in told
    assert ("MAX_PEND" in told or "LSB_ESUB" in told) == bool(said)


def test_an_alternative_and_a_job_in_memory_are_rejected_alike(tmp_path: Path) -> None:
    """Only the line itself was looked at: -n 3 in another queue, and a Job, were proved."""
    source = site(tmp_path)
    instance = load(source)
    for queue, is_proved in (("q", True), ("r", False)):
        job = Job("n", slots=3, queue=queue, run_limit=60)
        assert ask(instance, job).outlook.proved is is_proved
        other = "r" if queue == "q" else "q"
        answer = ask(
            instance, f"-q {queue} -n 3", choices=Choices(queue=(other,)), method="optimal"
        )
        assert [item.proved for item in answer.alternatives] == [not is_proved]


def test_no_move_is_suggested_to_a_queue_that_may_reject_the_job(tmp_path: Path) -> None:
    """`explain` said that a job of 1 slot starts now in queue r, which accepts 2 or 4 slots."""
    source = Path(site(tmp_path))
    full = "running:\n  - {id: r, queue: q, slots: 4, start: 0, run_limit: 1h, allocation: HOSTS}\n"
    text = source.read_text().replace(", begin: 2d", "")
    source.write_text(text + full.replace("HOSTS", "4*hostA"))
    conf = tmp_path / "conf" / "lsb.queues"
    queues = QUEUES.replace("NAME = q\n", "NAME = q\nQJOB_LIMIT = 4\n")
    conf.write_text(queues + "Begin Queue\nQUEUE_NAME = s\nRUNLIMIT = 60\nEnd Queue\n")
    found = [item.change for item in explain(load(source), "3").suggestions]
    assert "in queue s" in found
    assert "in queue r" not in found
