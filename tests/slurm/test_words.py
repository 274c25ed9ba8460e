"""What a user of Slurm reads has no word that only LSF has: all commands, on recorded clusters."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import slotwise as sw
from sampling import some
from slotwise.cli.main import app
from slotwise.model.formats.settings import changed, read_setting
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("SLU-01")
#: Commands, options, files, parameters and titles that only LSF has.
OF_LSF = re.compile(
    r"(?<![\w-])(?:b(?:mod|switch|sub|jobs|hosts|queues|admin|kill|requeue|resources|rsvs)"
    r"|badmin|brsvdel|lsb\.\w+|LSB_\w+|LSF|RUNLIMIT|[UPHQ]JOB_LIMIT|SLOT_RESERVE|RESOURCE_RESERVE"
    r"|BACKFILL|MAX_RESERVE_TIME|MBD_SLEEP_TIME|JL/[UPH]|HOST_NAME|QUEUE_NAME|EXEC_HOST"
    r"|FROM_HOST|PTILE|(?:span|select|rusage|cu|same|affinity)\[[^\]]*\]?|-[RWq](?= )"
    r"|[Qq]ueues?|QUEUES?|[Hh]osts?|HOSTS?|[Ss]lots?|SLOTS?)(?![\w-])"
)
#: Commands that answer for a whole cluster.
COMMANDS = (
    *("solve", "solve --method slurm", "solve --method greedy", "compare --methods", "diagnose"),
    *("diagnose --details --format md", "top --once", "show bjobs -p", "show bhosts"),
    *("show bqueues", "show bqueues -l", "show bhosts -l", "show bjobs -l", "show busers"),
    *("show blimits -a", "show brsvs", "show bhist"),
)


def run(*words: object) -> tuple[int, str]:
    """Exit code, and what goes to both streams."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.stdout + result.stderr


def words_of(said: str) -> list[str]:
    """The lines with a word of LSF, of a page without its scripts and data."""
    return [line.strip() for line in said.splitlines() if OF_LSF.search(line)]


#: A cluster with what Slurm has words of its own for: nodes that are down or drained, limits,
#: licences, a reservation, and jobs of every kind that waits.
CLUSTER = """
format: slotwise/1
name: small
origin: '2026-11-26T23:01:49+00:00'
params: {family: Slurm, select_parameters: 'unit=1,memory', LSB_TIME_RESERVE_NUMJOBS: 500,
  MAX_USER_PRIORITY: 2147483647, scheduler_version: 22.05.8}
resources: [{name: gold, kind: boolean}]
shared_resources: [{name: lic_matlab, amount: 2}]
hosts:
- {name: 'n[1-2]', slots: 4, mem: 1000, cores: 4}
- {name: n3, slots: 4, mem: 1000, cores: 4, RESOURCES: (gold)}
- {name: n4, slots: 4, mem: 1000, cores: 4, status: closed_Adm}
- {name: n5, slots: 4, mem: 1000, cores: 4, status: unavail}
queues:
- {name: main, RUNLIMIT: 1h 2d, BACKFILL: Y, RESOURCE_RESERVE: 'MAX_RESERVE_TIME[1000000]',
  EXCLUSIVE: Y, HOSTS: n1 n2 n3 n4 n5}
- {name: slow, PRIORITY: 1, BACKFILL: Y, RESOURCE_RESERVE: 'MAX_RESERVE_TIME[1000000]', HOSTS: n1}
limits: [{name: qos_normal_user, PER_USER: all, SLOTS: 6}]
advance_reservations: [{name: school, users: bea, start: 3h, end: 5h, allocation: 4*n3}]
lsf_says: [{job: '10', reason: Resources, start: 3600s}, {job: '11', reason: Priority}]
running:
- {id: '1', user: ann, slots: 4, res_req: 'rusage[mem=500/host]', run_limit: 1h, start: -60s,
  submit: -90s, priority: 9, allocation: 4*n1}
- {id: '2', user: bea, slots: 2, res_req: 'rusage[mem=100/host:lic_matlab=1/job]', run_limit: 2h,
  start: -60s, submit: -90s, priority: 9, allocation: 2*n2}
- {id: '3', user: cy, slots: 4, start: -60s, run_limit: 1h, submit: -90s, priority: 9,
  allocation: 4*n3}
pending:
- {id: '10', user: ann, slots: 8, res_req: 'rusage[mem=200/host] span[ptile=4]', run_limit: 1h,
  submit: -3h, priority: 8}
- {id: '11', user: bea, slots: 4, res_req: 'select[gold] rusage[mem=10/task] span[hosts=1]',
  run_limit: 4h, submit: -2h, priority: 7}
- {id: '12', user: cy, slots: 2, res_req: 'rusage[lic_matlab=2/job]', run_limit: 30m, submit: -60s,
  priority: 6}
- {id: '13', user: ann, slots: 1, run_limit: 10m, submit: -60s, priority: 5, exclusive: true,
  dependency: done(10)}
- {id: '14', user: ann, slots: 1, run_limit: 10m, submit: -60s, priority: 5, begin: 2h}
- {id: '15', user: bea, slots: 99, run_limit: 10m, submit: -60s, priority: 5}
- {id: '16', user: cy, slots: 8, run_limit: 1h, submit: -60s, priority: 5, deadline: 90m}
- {id: '17', user: cy, slots: 1, queue: slow, submit: -60s, priority: 4}
- {id: '18', user: bea, slots: 1, run_limit: 1h, submit: -60s, priority: 4, reservation: school}
- {id: '19[1]', user: ann, slots: 2, run_limit: 20m, submit: -60s, priority: 3, name: arr,
  array_limit: 1}
- {id: '19[2]', user: ann, slots: 2, run_limit: 20m, submit: -60s, priority: 3, name: arr,
  array_limit: 1}
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(CLUSTER)
    return path


@pytest.mark.parametrize("command", some(COMMANDS, 5))
def test_no_command_speaks_of_lsf(command: str, small: Path) -> None:
    name, *options = command.split()
    words = (name, options[0], small, *options[1:]) if name == "show" else (name, small, *options)
    code, said = run(*words)
    assert code == 0, said
    assert words_of(said) == []


#: The job that is explained in the least time comes first.
JOBS = sorted((job.id for job in sw.loads(CLUSTER).pending), key=lambda job: job != "12")


@pytest.mark.parametrize("job", some(JOBS, 1))
def test_no_answer_about_one_job_speaks_of_lsf(job: str, small: Path) -> None:
    for options in ((), ("--brief",)):
        code, said = run("explain", small, job, *options)
        assert code == 0, said
        assert words_of(said) == []


@pytest.mark.slow
def test_no_answer_to_a_question_speaks_of_lsf(small: Path) -> None:
    code, said = run("ask", small, "sbatch -N 2 --ntasks-per-node=2 --mem=10 -t 20", "--explore")
    assert code == 0, said
    assert words_of(said) == []


@pytest.mark.slow
def test_the_page_does_not_speak_of_lsf(small: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    code, said = run("report", small, "-o", page)
    assert code == 0, said
    html = re.sub(r"<(style|script)\b.*?</\1>", "", page.read_text("utf-8"), flags=re.DOTALL)
    shown = re.findall(r">([^<]+)<|(?:title|aria-label|placeholder)=\"([^\"]*)\"", html)
    assert words_of("\n".join(one or other for one, other in shown)) == []


def test_names_stay_and_lsf_keeps_its_words() -> None:
    from slotwise.model.slurm_words import family_text

    live = sw.load(sw.example("slurm-live"))
    assert family_text(live, "2 Hosts (host-1, queue.x) of queue main, 'slot' 3 slot-hours") == (
        "2 Nodes (host-1, queue.x) of partition main, 'slot' 3 CPU-hours"
    )
    assert family_text(live, "a queue's maximum, hosts' slots") == (
        "a partition's maximum, hosts' CPUs"
    )
    lsf = sw.load(sw.example("headline"))
    assert family_text(lsf, "queue slots host") == "queue slots host"


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("whatif --set partitions.nope.PriorityTier=1", "unknown partition 'nope'"),
        ("whatif --set partitons.main.PriorityTier=1", "(did you mean 'partitions'?)"),
        ("whatif --set nods.n1.slots=1", "(did you mean 'nodes'?)"),
        ("whatif --set PriorityTier=1", "PriorityTier belongs to a partition"),
        ("whatif --set partitions.main.MaxTime=10", "give partitions.main.RUNLIMIT"),
        ("whatif --set partitions.main.State=OFF", "State must be one of up, down"),
        ("whatif --set nodes.n1.State=gone", "State must be one of resume, idle"),
        ("whatif --set bf_window=long", "bf_window must be a whole number"),
        ("whatif --set bf_continue=5", "bf_continue must be yes or no, not '5'"),
        ("whatif --set DefMemPerCPU=100", "DefMemPerCPU determines how listings are read"),
        ("whatif --set partitions.main.MaxNodes=1", "run `slotwise import slurm` again"),
        ("whatif --set SelectTypeParameters=CR_Core", "run `slotwise import slurm` again"),
        ("whatif --set qos.high.GrpTRES=cpu=4", "write limits.NAME.KEY"),
        ("whatif --set PriorityWeightAge=4", "cannot be varied"),
        ("ask 'sbatch -w n7'", "--nodelist: unknown node 'n7'"),
        ("ask 'sbatch -x n[1-7]'", "--exclude: unknown node 'n7'"),
        ("ask 'sbatch -C gold&big'", "--constraint: no node has the feature 'big'"),
        ("ask 'sbatch -L matlab:1,abaqus'", "--licenses: unknown licence 'abaqus'"),
        ("ask 'sbatch --gres=fpga:1'", "--gres: no node has the generic resource 'fpga'"),
    ],
)
def test_names_of_slurm_that_are_not_there(tmp_path: Path, words: str, answer: str) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(CLUSTER)
    command, *rest = shlex.split(words)
    result = CliRunner().invoke(app, [command, str(path), *rest])
    assert isinstance(result.exception, sw.InputError)
    assert answer in str(result.exception)


def test_settings_and_views_in_words_of_slurm(tmp_path: Path) -> None:
    problem = sw.loads(CLUSTER)
    for given, ours in (
        ("partitions.main.PriorityTier=7", "queues.main.PRIORITY=7"),
        ("partitions.*.Nodes=n1 n2", "queues.*.HOSTS=n1 n2"),
        ("nodes.n1.slots=8", "hosts.n1.slots=8"),
        ("partitions.main.MaxCPUsPerNode=2", "queues.main.HJOB_LIMIT=2"),
        ("partitions.main.State=DOWN", "queues.main.active=N"),
        ("nodes.n1.State=drain", "hosts.n1.status=closed_Adm"),
        ("nodes.n1.State=down", "hosts.n1.status=unavail"),
        ("nodes.n1.RealMemory=50", "hosts.n1.mem=50"),
    ):
        theirs, wrong = changed(problem, [read_setting(given)])
        assert not wrong
        assert theirs == changed(problem, [read_setting(ours)])[0] != problem
    path = tmp_path / "small.yaml"
    path.write_text(CLUSTER)
    for view, ours in (("jobs", "bjobs"), ("nodes", "bhosts"), ("partitions", "bqueues")):
        assert run("show", view, path) == run("show", ours, path)
    for words in (["squeue", "-l"], ["squeue", "--format", "json"], ["sinfo", "-l"]):
        ours = {"squeue": "bjobs", "sinfo": "bhosts"}[words[0]]
        assert run("show", *words, path) == run("show", ours, *words[1:], path)


def test_words_of_scheduler_parameters_are_settings() -> None:
    problem = sw.loads(CLUSTER.replace("family: Slurm", "family: Slurm, scheduler_parameters: "
                                       "'bf_window=100,bf_continue,max_rpc_cnt=3'"))  # fmt: skip
    for given, words, loop in (
        (["bf_window=60"], "bf_continue,max_rpc_cnt=3,bf_window=60", {}),
        (["SchedulerParameters.bf_window="], "bf_continue,max_rpc_cnt=3", {}),
        (["bf_continue=no", "bf_licenses=yes"], "bf_window=100,max_rpc_cnt=3,bf_licenses", {}),
        (["bf_max_job_test=7"], "bf_window=100,bf_continue,max_rpc_cnt=3,bf_max_job_test=7",
         {"time_reserve_numjobs": 7}),
        (["SchedulerParameters=bf_interval=9"], "bf_interval=9",
         {"mbd_sleep_time": 9, "time_reserve_numjobs": 500}),
    ):  # fmt: skip
        found, wrong = changed(problem, [read_setting(text) for text in given])
        assert not wrong
        assert found is not None
        assert found.params == replace(problem.params, scheduler_parameters=words, **loop)


@pytest.mark.parametrize("words", ["explain 1", "ask 'sbatch -n1'", "report"])
def test_a_method_that_another_command_has_is_named(tmp_path: Path, words: str) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(CLUSTER)
    command, *rest = shlex.split(words)
    result = CliRunner().invoke(app, [command, str(path), *rest, "--method", "slurm"])
    assert isinstance(result.exception, sw.InputError)
    assert "not 'slurm'; `slotwise solve --method slurm` takes it" in str(result.exception)
    assert run("solve", path, "--method", "slurm")[0] == 0


def test_a_bsub_line_has_the_lowest_priority_as_an_sbatch_line_has(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(CLUSTER)
    said = "it has the lowest priority of its partition;"
    assert f"{said} --priority sets another" in run("ask", path, "sbatch -n1 -t 5")[1]
    assert f"{said} -sp sets another" in run("ask", path, "bsub -n 1 -W 5")[1]
    assert said not in run("ask", path, "bsub -sp 9 -n 1 -W 5")[1]


def test_a_request_for_the_command_of_another_scheduler_is_told(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(CLUSTER)
    said = "the request is for {}, but this cluster accepts {}"
    assert said.format("bsub", "sbatch") in run("ask", path, "bsub -n 1 -W 5")[1]
    assert "the request is for" not in run("ask", path, "sbatch -n1 -t 5")[1]
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n#SBATCH -n 2\n#SBATCH -t 5\n./a\n")
    lsf = sw.example("joint-wins")
    printed = run("ask", lsf, str(script))[1]
    assert said.format("sbatch", "bsub") in printed
    assert "lowest priority" not in printed
    assert "ignored:" not in printed
    assert "the request is for" not in run("ask", lsf, "bsub -n 1 -W 5")[1]


#: A cluster of Slurm in which each kind of name is NAME.
NAMED = """
format: slotwise/1
params: {family: Slurm}
hosts: [{name: n1, slots: 4}, {name: n2, slots: 4}]
queues: [{name: "NAME", PRIORITY: 1}]
shared_resources: [{name: "lic_NAME", amount: 1}]
advance_reservations: [{name: "NAME", start: 1h, end: 2h, allocation: 4*n2}]
limits: [{name: "NAME", PER_USER: all, SLOTS: 4}]
running: [{id: 1, user: "NAME", project: "NAME", queue: "NAME", slots: 4, run_limit: 1h, start: 0,
  allocation: 4*n1}]
pending: [{id: 2, user: "NAME", project: "NAME", queue: "NAME", slots: 4, run_limit: 3h}]
"""
#: What the commands say of names, and what Slurm's users read.
SENTENCES = (
    ("limit NAME (slots of NAME): needs 4 (now 0)", "limit NAME (CPUs of NAME): needs 4 (now 0)"),
    ("needs 2 slots on 1 host in queue NAME", "needs 2 CPUs on 1 node in partition NAME"),
    ("user NAME has no share in queue NAME", "user NAME has no share in partition NAME"),
    ("fairshare puts jobs of NAME behind others", "fairshare puts jobs of NAME behind others"),
    ("until advance reservation NAME starts", "until reservation NAME starts"),
    ("needs BACKFILL in queue NAME", "uses CPUs that are reserved for another job"),
    ("one host with 4 slots (NAME)", "one node with 4 CPUs (NAME)"),
    ("NAME", "NAME"),
    ("starts now, on 4*NAME", "starts now, on 4*NAME"),
    ("1 of 1 licences NAME are in use on 1 host", "1 of 1 licences NAME are in use on 1 node"),
    ("sacctmgr modify qos NAME set GrpTRES=cpu=8", "sacctmgr modify qos NAME set GrpTRES=cpu=8"),
    ("requirement: NAME holds on 1 of 3 hosts", "requirement: NAME holds on 1 of 3 nodes"),
    ("hname!=NAME holds on 2 of 3 hosts", "hname!=NAME holds on 2 of 3 nodes"),
    ("Job <1>, User <NAME>, on 1 host", "Job <1>, User <NAME>, on 1 node"),
    ("its account, treated as NAME (1 host)", "its account, treated as NAME (1 node)"),
    ("HOST  NAME", "NODE  NAME"),
    ("with -L NAME:1 in queue NAME", "with -L NAME:1 in partition NAME"),
    ("NAME available: needs 1 (has 0)", "NAME available: needs 1 (has 0)"),
    ("Not enough job slot(s): n2", "Not enough job CPU(s): n2"),
    ("Resource (slots) limit reached", "Resource (CPUs) limit reached"),
)


@pytest.mark.parametrize("name", ["host", "slot", "queue", "hosts", "BACKFILL", "a:host", "x@slot"])
def test_names_that_are_words_of_lsf_stay(name: str, tmp_path: Path) -> None:
    """Users, limits and others were rewritten with the sentence: `limit node (CPUs of CPU)`."""
    from slotwise.model.slurm_words import family_text

    text = NAMED.replace("NAME", name).replace("lic_" + name, "lic_x")
    site = tmp_path / "s.yaml"
    site.write_text(text)
    instance = sw.load(site)
    for ours, theirs in SENTENCES:
        said = family_text(instance, ours.replace("NAME", name))
        assert said == theirs.replace("NAME", name)
    _, said = run("explain", site, "2")
    assert f"limit {name} (CPUs of {name})" in said


@pytest.mark.parametrize("name", some(["slot", "host"], 1))
def test_every_answer_has_a_name_that_is_a_word_of_lsf_as_any_other(
    name: str, tmp_path: Path
) -> None:
    """A name of the same length in its place changes no other word of what is printed."""

    def told(word: str, line: str) -> str:
        site = tmp_path / "s.yaml"
        site.write_text(NAMED.replace("NAME", word))
        return run(*shlex.split(line.replace("NAME", word).replace("FILE", str(site))))[1]

    other = f"{name[:-1]}z"
    for line in (
        *("compare FILE", "solve FILE", "solve FILE --method slurm", "explain FILE 2"),
        *(
            "diagnose FILE",
            "show jobs FILE -l",
            "show blimits FILE",
            "slots FILE",
            "top FILE --once",
        ),
        "ask FILE 'sbatch -p NAME -n9 -t 60' --user NAME",
    ):
        assert told(name, line) == told(other, line).replace(other, name), line
