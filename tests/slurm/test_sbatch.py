"""sbatch lines and scripts in ask: the job that they submit, and what is wrong with them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import slotwise as sw
from slotwise import InputError
from submitted import submission

from tests.slurm.test_import import instance_of, run, texts_of

pytestmark = pytest.mark.behaviour("SLU-03")


@pytest.fixture(scope="module")
def probes() -> sw.Instance:
    return instance_of(texts_of("probes"))


@pytest.fixture(scope="module")
def live() -> sw.Instance:
    return instance_of(texts_of("live"))


#: Options of the recorded jobs, by id; their names say what each tried.
RECORDED = {
    "6": "-n 4 --mem-per-cpu=100 -t 10",
    "7": "-N1 -n1 --mem=0 -t 10",
    "9": "-N 2 --ntasks-per-node=2 -c 3 --mem=50 -t 10",
    "10": "-N 1 -n 4 --mem 10 -C 'a&x' -t 10",
    "11": "-N1 -n4 --mem=10M --constraint='x|y' -t 00:10:00",
    "15": "-n 1 --mem=10 -L lic:2 -t 10",
    "17": "-N1 -n 1 --mem=10 --exclusive -t 10",
    "20": "-N1 -n 4 --mem=10 --hint=nomultithread -t 10",
    "21": "-N1 -n 4 --mem=10 --threads-per-core=1 -t 10",
    "24": "-N1 -n8 --mem=10 -x n[1,3] -t 10",
    "36": "-n5 --mem=10 -t 7",
    "37": "-N4 --ntasks=32 --mem=900 -t 33",
}


@pytest.mark.parametrize("number", RECORDED)
def test_lines_ask_for_what_slurm_had_of_their_jobs(probes: sw.Instance, number: str) -> None:
    job = submission(probes, f"sbatch {RECORDED[number]}").job
    known = next(job for job in probes.pending if job.id == number)
    assert (job.slots, job.res_req, job.run_limit, job.exclusive) == (
        known.slots, known.res_req, known.run_limit, known.exclusive
    )  # fmt: skip


def test_defaults_of_memory(probes: sw.Instance) -> None:
    """DefMemPerCPU of a partition, else the whole node."""
    assert submission(probes, "sbatch -n1 -p hi").job.res_req == (
        "rusage[mem=50/task] span[hosts=1]",
    )
    job = submission(probes, "sbatch -n1").job
    assert job.exclusive
    assert job.queue == "main"


def test_times_dependencies_arrays_and_priority(probes: sw.Instance) -> None:
    line = "sbatch -n1 --mem=1 --begin=now+1hour --deadline=2026-11-27T03:00 -d afterok:1:2,after:3"
    job = submission(probes, f"{line} --priority=7 --time-min=5 -t 20").job
    assert (job.begin, job.deadline, job.priority) == (3600, 11179, 7)
    assert job.dependency == "done(1) && done(2) && started(3)"
    assert job.estimated_run_time == 300
    found = submission(probes, "sbatch -n1 --mem=1 -a 0-7:2%2")
    assert [job.array_index for job in found.jobs] == [0, 2, 4, 6]
    assert found.jobs[0].array_limit == 2
    assert found.assumed[0].startswith("it has priority 1070, of its size")


def test_scripts_and_which_option_counts(live: sw.Instance) -> None:
    script = (
        "#!/bin/bash\n# a comment\n#SBATCH -N 2 --ntasks-per-node=4\n#SBATCH --time=10 --mem=10M"
        " # of a node\n\necho start\n#SBATCH -N 9\n"
    )
    job = submission(live, "sbatch -t 20 job.sh", script=script).job
    assert (job.slots, job.res_req, job.run_limit) == (
        8, ("rusage[mem=10/host] span[ptile=4]",), 1200
    )  # fmt: skip
    assert submission(live, script).job.run_limit == 600


def test_what_no_method_obeys_is_named(live: sw.Instance) -> None:
    found = submission(live, "sbatch -n1 --mem=1 --contiguous --mail-type=END --nice=5")
    assert found.job.unheeded == ("--contiguous (set)", "--nice (5)")
    assert found.quiet == ("--mail-type",)
    answer = sw.ask(live, "sbatch -n1 --mem=1 --contiguous -t 5")
    assert any("--contiguous" in item.what for item in answer.omissions)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sbatch --tim=4", "did you mean '--time'"),
        ("sbatch -n x", "--ntasks: must be a number of 1 or more, not 'x'"),
        ("sbatch -N 2-", "partition"),
        ("sbatch -t 5d", "--time: '5d' is not a time"),
        ("sbatch -p nowhere -n1", "--partition: "),
        ("sbatch -t 30-00 -n1", "--time: partition main accepts jobs of 2d at most (MaxTime)"),
        ("sbatch --begin=soon -n1", "--begin: 'soon' is not a time"),
        ("sbatch -n", "--ntasks: needs a value"),
        ("sbatch -a 3-1", "--array: "),
        ("sbatch -w 'n[1-' -n1", "--nodelist: 'n[1-' is not a list of nodes"),
        ("sbatch --gpus=a:b -n1", "must be GPUs such as 2 or a100:2"),
        ("sbatch -n1 -d after,afterok:1", "--dependency: 'after' names no job: give after:JOB"),
        ("sbatch -n1 --exclusive=true", "--exclusive: must be one of exclusive, allocation, user"),
        ("sbatch -n1 --mem=1.5G", "--mem: must be a size such as 4000M or 4G, not '1.5G'"),
        ("sbatch -n1 --mem=2G --mem-per-gpu=1G", "--mem: excludes --mem-per-gpu"),
        ("sbatch -n1 --hint=multithread,foo", "--hint: must be one of compute_bound, memory"),
        ("sbatch -n1 -t 10 --time-min=60", "--time-min: must be at most --time, not '60'"),
        ("sbatch -N 2-1", "--nodes: must be the fewest and the most nodes, not '2-1'"),
    ],
)
def test_what_is_wrong_is_said(live: sw.Instance, line: str, message: str) -> None:
    if line == "sbatch -N 2-":
        assert "more nodes" in submission(live, f"{line} --mem=1").job.assumed[-1]
        return
    with pytest.raises(InputError) as caught:
        submission(live, line)
    assert message in str(caught.value)


def test_options_that_only_some_versions_reject_take_the_proof(live: sw.Instance) -> None:
    line = "sbatch -n1 --mem=1 --hint=compute_bound,nomultithread --gres=gpu:1 --gpus-per-node=1"
    assert "--gres (gpu:1 with --gpus-per-node)" in str(submission(live, line).job.unheeded)


def test_no_option_is_lost_in_the_tables_of_options(live: sw.Instance) -> None:
    """Names with several hyphens, from `man sbatch`."""
    for option in (
        *("--gpus-per-node=0", "--no-requeue", "--gpus-per-socket=1", "--ntasks-per-socket=1"),
        *("--thread-spec=1", "--tres-bind=x", "--kill-on-invalid-dep=yes", "--power=level"),
        *("--stepmgr", "--oom-kill-step", "--oom-kill-step=1", "--mem-update=5"),  # to 26.05
    ):
        submission(live, f"sbatch -n1 --mem=1 {option}")
    for option in ("--per-node=1", "--bind=1", "--spec=1", "--no-"):
        with pytest.raises(InputError, match="unknown option"):
            submission(live, f"sbatch -n1 --mem=1 {option}")


def test_a_script_names_its_line(live: sw.Instance) -> None:
    with pytest.raises(InputError, match=r"job\.sh:2: --ntasks"):
        submission(live, "#!/bin/sh\n#SBATCH -n none\n", script_name="job.sh")


@pytest.mark.parametrize(
    ("directive", "told"),
    [
        ("\u2013-mem=400G", "begins with a long dash: write --mem=400G"),
        ("\u2014mem=400G", "begins with a long dash: write --mem=400G"),
        ("\u2013n 4", "begins with a long dash: write -n"),
        ("mem=400G", "'mem=400G' is not an option"),
        ("-- mem=400G", "'mem=400G' is not an option"),
        ("\u201c--mem=400G\u201d", "begins with a typographic quote"),
        ("\u2212\u2212mem=400G", "begins with a long dash: write --mem=400G"),
        ("--job-name=my job", "'job' is not an option"),
        ("-N 1 400G", "'400G' is not an option"),
    ],
)
def test_a_word_of_a_directive_that_is_no_option_is_refused(
    live: sw.Instance, directive: str, told: str
) -> None:
    for space in (" ", "\t"):
        text = f"#!/bin/sh\n#SBATCH -n1 -t5 --mem=10\n#SBATCH{space}{directive}\nx\n"
        with pytest.raises(InputError, match=re.escape(told)) as error:
            submission(live, text, script_name="job.sh")
        assert str(error.value).startswith("job.sh:3: #SBATCH: ")


@pytest.mark.parametrize(
    ("line", "slots", "shape", "told"),
    [
        ("-N3 -n3 --ntasks-per-node=2", 6, "span[ptile=2]", True),
        ("-n3 --ntasks-per-node=2", 4, "span[ptile=2]", True),
        ("-N2 -n2 --ntasks-per-node=2 -c2", 8, "span[ptile=4]", True),
        ("-n1 --ntasks-per-node=2", 2, "span[ptile=2]", True),
        ("-N2 -n8 --ntasks-per-node=2", 8, "span[ptile=2]", True),
        ("-N1-2 -n8 --ntasks-per-node=3", 9, "span[ptile=3]", True),
        ("-N2 -n4 --ntasks-per-node=2", 4, "span[ptile=2]", False),
        ("-n4 --ntasks-per-node=2", 4, "span[ptile=2]", False),
        ("-N5 -n3", 3, "span[ptile=1]", False),
        ("-N3-9 -n3", 3, "span[ptile=1]", False),
    ],
)
def test_tasks_of_a_node_are_the_room_that_each_node_has(
    live: sw.Instance, line: str, slots: int, shape: str, told: bool
) -> None:
    """Slurm looks for room for them on every node, however few tasks there are, and gives no node
    to a job that has no task for it. Three tasks on three nodes were planned on one.
    """
    job = submission(live, f"sbatch {line} --mem-per-cpu=1").job
    assert (job.slots, job.res_req[-1].split(" ")[-1]) == (slots, shape)
    assert bool([text for text in job.assumed if "tasks on" in text]) == told


@pytest.mark.parametrize(
    ("line", "start", "proved"),
    [
        ("-w n1,n2 -n 2", 3600, True),
        ("-w n1,n2 -n 2 -c 2", 3600, True),
        ("-w n1,n2 -N2 -n 2", 3600, True),
        ("-w n1,n2 -n 4", 3600, False),
        ("-w n1,n3 -n 4", 0, False),
        ("-w n1 -n 6", 0, True),
    ],
)
def test_a_job_has_all_nodes_that_it_lists(line: str, start: int, proved: bool) -> None:
    """Two tasks on two listed nodes were planned on the first alone, now, proved."""
    small = sw.loads("""
format: slotwise/1
params: {family: Slurm}
hosts: [{name: "n[1-3]", slots: 4}]
queues: [{name: cpu}]
running: [{id: 1, queue: cpu, slots: 4, run_limit: 1h, start: 0, allocation: 4*n2}]
""")
    answer = sw.ask(small, f"sbatch {line} -t 10 --wrap x", method="optimal").line.answer
    assert (answer.start, answer.proved) == (start, proved)


def test_a_long_dash_on_a_line_is_no_script(live: sw.Instance) -> None:
    for line in ("srun \u2013n 2 a.out", "sbatch -n1 \u2014mem=4G job.sh"):
        with pytest.raises(InputError, match="begins with a long dash"):
            submission(live, line)


def test_the_command(tmp_path: Path, live: sw.Instance) -> None:
    (tmp_path / "live.yaml").write_text(sw.dump(live))
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n#SBATCH -n 1 --mem=10 -t 2\nsleep 1\n")
    for words in ((script,), (f"sbatch {script}",), ("sbatch", "-n1", "--mem=10", "-t2")):
        code, said = run("ask", tmp_path / "live.yaml", *words)
        assert code == 0, said
    for words in (("srun -I -n1 --mem=10 ./a.out",), ("salloc", "-n1", "--mem=10", "bash")):
        code, said = run("ask", tmp_path / "live.yaml", *words)  # a command is not a script
        assert code == 0, said
    code, said = run("ask", tmp_path / "live.yaml", "sbatch --bogus")
    assert code == 2
    assert "--bogus" in said


@pytest.mark.parametrize(
    ("line", "script"),
    [
        ("sbatch -n1 -t5 --mem=10 : -n20 -t5 --mem=10", None),
        ("sbatch -n1 -t5 --mem=10 : -n20 : -N2 -t5 job.sh", "#!/bin/sh\nsrun a : b\n"),
        ("sbatch job.sh", "#!/bin/sh\n#SBATCH -n1 -t5 --mem=10\n#SBATCH hetjob\n#SBATCH -n20\n"),
        ("sbatch job.sh", "#!/bin/sh\n#SBATCH -n1 -t5 --mem=10\n#SBATCH packjob\n#SBATCH -N9\n"),
    ],
)
def test_the_other_components_of_a_heterogeneous_job_are_named(
    live: sw.Instance, line: str, script: str | None
) -> None:
    alone = submission(live, "sbatch -n1 -t5 --mem=10").job
    found = submission(live, line, script=script).job
    assert found.unheeded[:-1] == alone.unheeded
    assert "the other components of the heterogeneous job" in found.unheeded[-1]
    assert replace(found, unheeded=()) == replace(alone, unheeded=())


@pytest.mark.parametrize(("partitions", "first"), [("hi,main", "hi"), ("main,hi", "main")])
def test_partitions_that_are_planned_as_their_first_are_named(
    probes: sw.Instance, partitions: str, first: str
) -> None:
    """As for a job that waits in them: its start elsewhere may be sooner, so none is proved."""
    told = f"its other partitions: planned in {first} of {partitions}"
    line = f"sbatch -p {partitions} -n1 --mem=10 -t 5"
    assert told in submission(probes, line).job.assumed
    assert not submission(probes, line.replace(partitions, "hi")).job.assumed


def test_a_job_that_is_left_out_may_take_the_nodes_of_a_new_one() -> None:
    """Inside a reservation with FLEX: it may be ahead of the new job."""
    texts = texts_of("probes")
    texts["reservation.txt"] = texts["reservation.txt"].replace("Flags=", "Flags=FLEX,", 1)
    found = instance_of(texts)
    told = "the nodes of jobs ahead of it inside reservations that are not planned"
    assert told in submission(found, "sbatch -n1 --mem=10 -t 5").job.unheeded


@pytest.mark.parametrize("line", ["-a 1-5000", "-a 1-4,5000%2", "-a 0-3%0", "-a 4-1", "-a x"])
def test_arrays_that_slurm_refuses_are_told_in_its_words(probes: sw.Instance, line: str) -> None:
    with pytest.raises(InputError, match="--array") as found:
        submission(probes, f"sbatch -n1 --mem=1 {line}")
    assert not any(word in str(found.value) for word in ("MAX_JOB_ARRAY_SIZE", "bsub", "-J"))
    assert ("MaxArraySize" in str(found.value)) == ("5000" in line)


@pytest.mark.parametrize(
    ("words", "right"),
    [("-mem=400G", "--mem=400G"), ("-mem-per-cpu=4G", "--mem-per-cpu=4G"), ("-N=1", "-N1"),
     ("-n=4", "-n4"), ("-nodes=2", "--nodes=2"), ("-qos=high", "--qos=high"), ("-p=main", "-pmain"),
     ("-time=5", "--time=5"), ("-ntasks 4", "--ntasks"), ("-mail-type=END", "--mail-type=END"),
     ("-J=name", ""), ("-ojob.out", ""), ("-N1", ""), ("-t 5", "")],
)  # fmt: skip
def test_what_follows_one_dash_is_a_letter_and_its_value(
    live: sw.Instance, words: str, right: str
) -> None:
    """-mem=400G was a distribution without an effect: 4 GB instead of 400 were planned."""
    scripts = {f"sbatch {words} --mem=1": None, "sbatch job.sh": f"#!/bin/sh\n#SBATCH {words}\n"}
    for line, script in scripts.items():
        if not right:
            assert submission(live, line, script=script)
            continue
        with pytest.raises(InputError, match=f"write {right}") as caught:
            submission(live, line, script=script, script_name="job.sh")
        assert ("job.sh:2:" in str(caught.value)) == (script is not None)
