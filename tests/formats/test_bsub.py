"""bsub command lines (CFG-03)."""

from __future__ import annotations

import re

import pytest
from slotwise.model.array import ArraySpec
from slotwise.model.bsub_options import QUIET_FLAGS, QUIET_VALUES, REFUSED, UNHEEDED
from slotwise.model.errors import InputError
from slotwise.model.formats.bsub import bsub_line, parse_bsub, script_of
from slotwise.model.formats.units import Clock, parse_stamp
from slotwise.model.job import HostRequest

pytestmark = pytest.mark.behaviour("CFG-03")


def test_every_option_of_a_plan() -> None:
    line = (
        "bsub -n 6 -R 'span[ptile=2]' -W 2:00 -c 30 -q big -m 'hostA+2 hg1!' -x -sp 50 -G grp "
        "-P proj -app prof -ar"
    )
    assert parse_bsub(line) == {
        "slots": 6,
        "max_slots": None,
        "res_req": ("span[ptile=2]",),
        "run_limit": 7200,
        "cpu_limit": 1800,
        "queue": "big",
        "hosts": (HostRequest("hostA", 2), HostRequest("hg1", 0, True)),
        "exclusive": True,
        "priority": 50,
        "group": "grp",
        "project": "proj",
        "application": "prof",
        "resizable": True,
    }


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("bsub run", {}),
        ("bsub", {}),
        ("/usr/bin/bsub -n 4 ./run -n 9 -x", {"slots": 4, "max_slots": None}),
        ("-n 4,16", {"slots": 4, "max_slots": 16}),
        ("-n4 -W90", {"slots": 4, "max_slots": None, "run_limit": 5400}),
        ('-R"span[hosts=1]"', {"res_req": ("span[hosts=1]",)}),
        (
            '-R "select[mem>1]" -R "rusage[mem=1]"',
            {"res_req": ("select[mem>1]", "rusage[mem=1]")},
        ),
        ("-W 30s", {"run_limit": 30}),
        (
            "-Jname -oout -eerr -M8000 -hl -env all -a 'docker(x/y)' -Ne -Zs -- run -n 9",
            {"name": "name"},
        ),
        (
            "-J '[7-7]' -Pproj -qnight",
            {"array": ArraySpec((range(7, 8),)), "project": "proj", "queue": "night"},
        ),
        (
            "-Ja[1-10:2,15]%4",
            {"name": "a", "array": ArraySpec((range(1, 10, 2), range(15, 16)), 4)},
        ),
        ("-J a[1-5] x", {"name": "a", "array": ArraySpec((range(1, 6),))}),
        ("cd run && LSB_X=1 bsub -n 3 ./x", {"slots": 3, "max_slots": None}),
        (
            "-w 'done(7) && ended(8)' -sla gold -J 'a[1-100]%10'",
            {
                "dependency": "done(7) && ended(8)",
                "name": "a",
                "array": ArraySpec((range(1, 101),), 10),
                "unheeded": ("-sla gold",),
            },
        ),
        (
            "-w 'numdone(prep, >= 3) || \"my job\"' -ti",
            {"dependency": 'numdone(prep, >= 3) || "my job"', "orphan_term": True},
        ),
        (
            "#!/bin/bash\n#BSUB -n 16 -W 2:00 # two hours\n"
            '#BSUB -R "span[ptile=4]"\n#SBATCH -n 9\nrun',
            {"slots": 16, "max_slots": None, "run_limit": 7200, "res_req": ("span[ptile=4]",)},
        ),
        ("#BSUB -n 2", {"slots": 2, "max_slots": None}),
        ("-J name -o out.%J -e err -N -M 100 -K sleep 10", {"name": "name"}),
    ],
)
def test_lines(line: str, fields: dict[str, object]) -> None:
    assert parse_bsub(line) == fields


def test_times_of_day_need_the_instance() -> None:
    clock = Clock(parse_stamp("2026-01-05T08:00:00+01:00"))
    assert parse_bsub("-b 20:00 -t 6:8:00", clock) == {"begin": 43200, "deadline": 86400}
    assert parse_bsub("-b 2026-01-05T09:00:00+01:00", clock) == {"begin": 3600}
    with pytest.raises(InputError, match="needs an 'origin'"):
        parse_bsub("-b 20:00")


@pytest.mark.parametrize(
    ("line", "problems"),
    [
        ("", ["bsub line: is empty: give the options of bsub, such as -n 8 -W 2:00"]),
        (
            "sleep 100",
            [
                "bsub line: 'sleep 100' is no bsub line: give options (-n 8 -W 2:00), bsub and a "
                "command, or a script with #BSUB lines"
            ],
        ),
        (
            "bsub -n 4 < job.lsf",
            [
                "bsub line: the script behind '<' is not read here: give the options that it has",
            ],
        ),
        (
            "#!/bin/sh\n#SBATCH -n 4\nrun",
            ["bsub line: a script for Slurm: Slotwise reads #BSUB lines"],
        ),
        (
            "#!/bin/sh\nrun",
            ["bsub line: a script without #BSUB lines asks for nothing: give the options of bsub"],
        ),
        (
            "-nnodes two",
            ["-nnodes: must be a number of hosts such as 2, not 'two'"],
        ),
        ("-H", ["-H: a held job has no start to plan: leave -H out"]),
        ("-n", ["-n: needs a value"]),
        ("-n 4 -n 5", ["-n: is given twice"]),
        ("-n 5,4", ["-n: must be 1 slot or more and rise, not '5,4'"]),
        ("-q 'a b'", ["-q: must be one name, not 'a b'"]),
        (
            "-W 60/hostA",
            ["-W: a limit on hostA needs the CPU factors of a cluster: write it without '/hostA'"],
        ),
        ("-m '~hostA'", ["-m: ~hostA: a job cannot exclude hosts by -m, use select[]"]),
        ("-apps x", ["-apps: unknown option (did you mean '-app'?)"]),
        ("-R 'a", ['bsub line: No closing quotation: "-R \'a"']),
        (
            "-n x -W 0 -sp high -n 4",
            [
                "-n: must be a number of slots such as 6, or 6,12, not 'x'",
                "-W: must be more than 0, not '0'",
                "-sp: must be a whole number of 1 or more, not 'high'",
            ],
        ),
    ],
)
def test_refusals(line: str, problems: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        parse_bsub(line)
    assert [problem.message for problem in caught.value.problems] == problems


def test_a_line_wins_over_the_script_that_it_reads() -> None:
    line, script = "bsub -n 4 < job.lsf", "#!/bin/sh\n#BSUB -n 16 -W 60 -o out\n"
    assert script_of(line) == script_of("-n 4 <job.lsf") == "job.lsf"
    found = bsub_line(line, script=script)
    assert (found.problems, found.quiet) == ([], ["-o"])
    assert found.fields == {"slots": 4, "max_slots": None, "run_limit": 3600}
    for other in ("bsub -n 4 run < input", "bsub -n 4 run <input", "-n 4"):
        assert script_of(other) is None
        assert bsub_line(other).problems == []


def test_every_option_of_bsub_has_one_meaning() -> None:
    kinds = [QUIET_VALUES, QUIET_FLAGS, set(UNHEEDED), set(REFUSED)]
    assert sum(map(len, kinds)) == len(set().union(*kinds))
    for option in QUIET_VALUES | set(UNHEEDED):
        assert bsub_line(f"{option}").problems
        found = bsub_line(f"{option} 1 -n 4 run")
        assert found.fields["slots"] == 4
        assert (found.quiet == [option]) != (found.fields.get("unheeded") == (f"{option} 1",))
    for option in QUIET_FLAGS:
        assert bsub_line(f"{option} -n 4 run").quiet == [option]


@pytest.mark.parametrize(
    ("name", "array"),
    [
        *(("a", 0), ("a[1]", 1), ("[3-3]", 1), ("a[1-2]", 2), ("a[1,3]", 2)),
        *(("a[1-9:2]%2", 5), ("a[2-22]", 21)),
    ],
)
def test_a_name_with_elements_is_an_array(name: str, array: int) -> None:
    assert len(parse_bsub(f"-J '{name}'").get("array", ())) == array


def test_a_directive_that_is_commented_out_says_nothing() -> None:
    script = "#!/bin/sh\n#BSUB -n 2\n##BSUB -n 4\n# BSUB -n 8\n# end of BSUB options\nrun\n"
    assert parse_bsub(script) == {"slots": 2, "max_slots": None}


@pytest.mark.behaviour("SUB-02")
def test_whole_hosts_are_no_number_of_slots() -> None:
    found = parse_bsub("-P 'a b' -nnodes 2 -alloc_flags 'gpumps smt4' run")
    assert (found["slots"], found["exclusive"], found["project"]) == (2, True, "a b")
    assert found["res_req"] == ("span[ptile=1]",)
    script = "#!/bin/sh\n#BSUB -nnodes 2\nrun\n"
    assert "whole hosts" in bsub_line("-n 4 < job", script=script).problems[0].message


@pytest.mark.behaviour("SUB-01")
def test_directives_behind_the_first_command_are_reported_and_ignored() -> None:
    found = bsub_line("#!/bin/sh\n\n#BSUB -n 2\nmodule load x\n#BSUB -W 10\nrun\n")
    assert (found.problems, found.fields) == ([], {"slots": 2, "max_slots": None})
    assert found.quiet == ["#BSUB -W 10 (line 5, behind the first command)"]


@pytest.mark.behaviour("SUB-01")
def test_a_here_document_is_the_script_of_its_line() -> None:
    found = parse_bsub("bsub -q night <<'END'\n#!/bin/sh\n#BSUB -q day -n 2\nrun\nEND\n")
    assert found == {"queue": "night", "slots": 2, "max_slots": None}


@pytest.mark.behaviour("SUB-01")
def test_a_directive_goes_on_behind_a_backslash() -> None:
    script = '#!/bin/sh\r\n#BSUB -R "select[mem>1] \\\r\n#BSUB rusage[mem=1]"\r\nrun\r\n'
    assert parse_bsub(script) == {"res_req": ("select[mem>1]  rusage[mem=1]",)}


@pytest.mark.behaviour("SUB-01")
def test_what_the_script_leaves_out_of_a_plan_stays_beside_the_line() -> None:
    found = bsub_line("-sla gold < job", script="#!/bin/sh\n#BSUB -data f -sla tin\nrun\n")
    assert found.fields["unheeded"] == ("-sla gold", "-data f")


@pytest.mark.behaviour("SUB-06")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bsub -n 4 a\nbsub -n 8 b\n", "has 2 lines of bsub"),
        ("#!/bin/sh\nmodule load x\n#BSUB -n 4\nrun\n", "behind the first command (line 2)"),
    ],
)
def test_what_is_not_read_is_no_empty_request(text: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        parse_bsub(text)
