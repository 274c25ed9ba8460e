"""bsub command lines (CFG-03)."""

from __future__ import annotations

import re

import pytest
import slotwise as sw
from parsed_bsub import parse_bsub
from slotwise import InputError
from slotwise.model.bsub_options import QUIET_FLAGS, QUIET_VALUES, REFUSED, UNHEEDED
from slotwise.model.formats.bsub import bsub_line, script_in_command, script_of
from slotwise.model.formats.units import Clock, parse_stamp

pytestmark = pytest.mark.behaviour("CFG-03")


def test_times_of_day_need_the_instance() -> None:
    clock = Clock(parse_stamp("2026-01-05T08:00:00+01:00"))
    assert parse_bsub("-b 20:00 -t 6:8:00", clock) == {"begin": 43200, "deadline": 86400}
    assert parse_bsub("-b 2026-01-05T09:00:00+01:00", clock) == {"begin": 3600}
    with pytest.raises(InputError, match="needs an 'origin'"):
        parse_bsub("-b 20:00")


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


@pytest.mark.behaviour("SUB-02")
def test_whole_hosts_are_no_number_of_slots() -> None:
    found = parse_bsub("-P 'a b' -nnodes 2 -alloc_flags 'gpumps smt4' run")
    assert (found["slots"], found["project"]) == (2, "a b")
    assert (found["exclusive"], found["whole_hosts"]) == (True, True)
    assert found["res_req"] == ("span[ptile=1]",)
    script = "#!/bin/sh\n#BSUB -nnodes 2\nrun\n"
    for line, text in (("-n 4 < job", script), ("-nnodes 4 < job", "#!/bin/sh\n#BSUB -n 2\n")):
        assert "give one of them" in bsub_line(line, script=text).problems[0].message
    for line in ("-n 4 -nnodes 2", "-nnodes 2 -n 4"):
        assert "give one of them" in bsub_line(line).problems[0].message


@pytest.mark.behaviour("SUB-01")
def test_directives_behind_the_first_command_are_named_and_ignored() -> None:
    found = bsub_line("#!/bin/sh\n\n#BSUB -n 2\nmodule load x\n#BSUB -W 10\nrun\n")
    assert found.notes == ["#BSUB -W 10 (line 5, after the first command)"]
    assert (found.problems, found.fields) == ([], {"slots": 2, "max_slots": None})


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
    found = bsub_line("-network a < job", script="#!/bin/sh\n#BSUB -data f -network b\nrun\n")
    assert found.fields["unheeded"] == ("-network a", "-data f")


@pytest.mark.behaviour("SUB-06")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "bsub -n 4 a\nbsub -n 8 b\n",
            "2 times: give one call only; the second is 'bsub -n 8 b'",
        ),
        ("bsub -n 4 a; bsub -n 8 b", "the second is 'bsub -n 8 b'"),
        ("bsub -n 4 a && /opt/bin/bsub -n 8 b", "the second is 'bsub -n 8 b'"),
        ("-n 4 a; X=1 bsub -n 8 b", "the second is 'bsub -n 8 b'"),
        ("A=$(bsub -n 4 a) ; bsub -n 8 -w 'done(1)' b", "the second is 'bsub -n 8 -w 'done(1)' b'"),
        ("bsub -q a <<E\nrun\nE\nbsub -n 8 b\n", "the second is 'bsub -n 8 b'"),
        (
            "for i in 1 2; do bsub -n 4 a; done",
            "in a loop: give one of its jobs, such as 'bsub -n 4",
        ),
        ("#!/bin/sh\nwhile read f\ndo\n  x=1 # don't\n  bsub -n 4 a\ndone\n", "in a loop"),
        ("#!/bin/sh\nbsub -n 4 a\nbsub -n 8 b\n", "the second is 'bsub -n 8 b'"),
    ],
)
def test_what_is_not_read_is_no_empty_request(text: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        parse_bsub(text)


@pytest.mark.behaviour("SUB-03")
def test_what_a_line_overrides_in_its_script_is_noted() -> None:
    script = "#!/bin/sh\n#BSUB -n 16 -q a -R 'select[mem>1]' -o x -sla s\n"
    found = bsub_line("-n 4 -q a -R 'rusage[mem=1]' -o y -sla t < job", script=script)
    assert found.fields["res_req"] == ("rusage[mem=1]",)
    assert (found.fields["slots"], found.fields["service_class"]) == (4, "t")
    assert sorted(found.notes) == [
        "-R 'select[mem>1]' (of the script; the command line has its own -R)",
        "-n 16 (the script's, the line has -n 4)",
        "-sla s (the script's, the line has -sla t)",
    ]


@pytest.mark.behaviour("SUB-06")
@pytest.mark.parametrize(
    ("directive", "note"),
    [
        ("# BSUB -n 4", "# BSUB -n 4 (line 2: an option follows #BSUB)"),
        ("#bsub -n 4", "#bsub -n 4 (line 2: an option follows #BSUB)"),
    ],
)
def test_what_is_nearly_a_directive_is_noted(directive: str, note: str) -> None:
    found = bsub_line(f"#!/bin/sh\n{directive}\n#BSUB -W 10\nrun\n")
    assert (found.problems, found.fields, found.notes) == ([], {"run_limit": 600}, [note])


@pytest.mark.behaviour("SUB-06")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-W 10 \u2013n 4", "begins with a long dash: write -n"),
        ("\u201c-n 4\u201d", "begins with a typographic quote"),
        ("-W 10 \u2018-n\u2019 4", "begins with a typographic quote"),
        ("-- -n 4", "'-n' is not an option"),
    ],
)
def test_what_no_shell_takes_for_an_option_is_said(text: str, words: str) -> None:
    found = bsub_line(f"#!/bin/sh\n#BSUB {text}\nrun\n")
    assert words in found.problems[0].message
    assert found.problems[0].line == 2


@pytest.mark.parametrize("text", ['-R \\"span[hosts=1]\\"', "-R '\"span[hosts=1]\"'"])
def test_quotes_that_a_shell_has_kept(text: str) -> None:
    assert bsub_line(f"#!/bin/sh\n#BSUB {text}\n").fields == {"res_req": ("span[hosts=1]",)}


def test_a_time_of_day_without_a_date_is_left_out_where_that_is_asked_for() -> None:
    found = bsub_line("-n 2 -b 3:00", dateless=True)
    assert (found.problems, found.fields["unheeded"]) == ([], ("-b 3:00",))
    assert "begin" not in found.fields
    assert bsub_line("-b 25:00", dateless=True).problems


@pytest.mark.behaviour("SUB-06")
@pytest.mark.parametrize("directive", ["mem=400G", '"-M 400G"', "-W 10 mem=400G", "M 400G"])
def test_no_start_is_proved_without_a_word_that_is_no_option(directive: str) -> None:
    """It was named, and the start that the job has without it was called proved."""
    asked = sw.ask(
        sw.loads("format: slotwise/1\nhosts: [{name: a, slots: 4}]\n"),
        f"#!/bin/sh\n#BSUB -n 2\n#BSUB {directive}\nrun\n",
        method="optimal",
    )
    assert not asked.line.answer.proved
    assert "(line 3: no option)" in str(asked.line.answer.omissions)


@pytest.mark.behaviour("SUB-06")
def test_a_word_that_is_no_option_ends_what_bsub_reads() -> None:
    found = bsub_line("#!/bin/sh\n#BSUB -W 10\n#BSUB -n 4 me@x.org\nrun\n")
    assert (found.problems, found.unheeded) == ([], ["me@x.org (line 3: no option)"])
    found = bsub_line("#!/bin/sh\n#BSUB -n 4 me@x.org\n#BSUB -W 10\nrun\n")
    assert "'me@x.org' is not an option" in found.problems[0].message


def test_a_form_is_refused_once_a_line() -> None:
    script = "#!/bin/sh\n#BSUB -J {{ name }}\n#BSUB -n <%= cores %>\n#BSUB -W 10\n{{ body }}\n"
    found = bsub_line(script)
    assert [problem.line for problem in found.problems] == [2, 3]


@pytest.mark.behaviour("SUB-02")
def test_what_an_esub_changes_is_not_known() -> None:
    found = bsub_line("-n 4 -a 'docker(x/y)' run")
    assert (found.problems, found.quiet) == ([], [])
    assert found.notes == ["-a docker(x/y) (what its esub changes in the request is not known)"]


def test_a_long_script_is_read_and_long_options_are_not() -> None:
    commands = "echo don't\n" * 50_000
    assert parse_bsub(f"#!/bin/sh\n#BSUB -n 4\n{commands}") == {"slots": 4, "max_slots": None}
    with pytest.raises(InputError, match="raise --max-requirement"):
        parse_bsub("#!/bin/sh\n" + "#BSUB -n 4\n" * 50_000)
    with pytest.raises(InputError, match="raise --max-requirement"):
        parse_bsub("-n 4 " * 50_000)


@pytest.mark.parametrize(
    "begin", ["{} bsub", "export {}; bsub", "export {}\nbsub", "X=gpu\n{} bsub"]
)
def test_variables_give_the_queue_and_the_project_that_no_option_gives(begin: str) -> None:
    call = begin.format("LSB_DEFAULTQUEUE=$X" if "X=" in begin else "LSB_DEFAULTQUEUE=gpu")
    assert parse_bsub(f"{call} -n 4 ./a")["queue"] == "gpu"
    assert parse_bsub(f"{call} -q normal -n 4 ./a")["queue"] == "normal"
    with_script = bsub_line(f"{call} -n 4 < a.lsf", script="#BSUB -q normal\n./a")
    assert with_script.fields["queue"] == "normal"
    project = begin.format("LSB_DEFAULTPROJECT=alpha") + " -n 4 ./a"
    assert parse_bsub(project)["project"] == "alpha"


SCRIPT = "#!/bin/bash\n#BSUB -n 20\n#BSUB -W 90\n./x\n"


@pytest.mark.parametrize(
    ("line", "parsed", "slots"),
    [
        ("bsub ./a.sh", False, None),
        ("bsub -n 2 ./a.sh arg", False, 2),
        ("bsub bash ./a.sh", False, None),
        ("bsub /bin/sh -x ./a.sh", True, None),
        ("bsub ./a.sh", True, 20),
        ("bsub -n 2 ./a.sh arg", True, 2),
        ("bsub < ./a.sh", False, 20),
    ],
)
def test_a_script_that_is_the_command_is_read_as_the_site_says(
    line: str, parsed: bool, slots: int | None
) -> None:
    assert (script_in_command(line) or script_of(line)) == "./a.sh"
    found = bsub_line(line, script=SCRIPT, parse_script=parsed)
    assert found.problems == []
    assert found.fields.get("slots") == slots
    read = "<" in line or (parsed and "sh " not in line.partition("./a.sh")[0])
    assert found.fields.get("run_limit") == (5400 if read else None)
    told = [note for note in found.notes if note.startswith("the #BSUB lines of ./a.sh")]
    assert len(told) == (not read)


def test_a_program_is_no_script() -> None:
    assert bsub_line("bsub ./a.out", script="run\n").notes == []
    assert script_in_command("bsub -n 2") is None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("bsub -queue normal x", "-queue: bsub reads it as -q ueue: write -q"),
        ("bsub --queue normal x", "--queue: unknown option: write -q"),
        ("bsub -output o x", "-output: bsub reads it as -o utput: write -o"),
        ("bsub -hosts a x", "-hosts: unknown option: write -m"),
        ("bsub -R “span[hosts=1]” x", "-R: '“span[hosts=1]”' begins with a typographic quote"),
        ("bsub -J ‘a b’ x", "-J: '‘a' begins with a typographic quote"),
        ("#!/bin/sh\n#BSUB -q “a”\nx", "-q: '“a”' begins with a typographic quote"),
    ],
)
def test_what_no_bsub_takes_is_told_in_words(line: str, says: str) -> None:
    assert says in bsub_line(line).problems[0].message


@pytest.mark.parametrize(
    ("option", "value", "plain"),
    [("-W", "2h", "2:00"), ("-c", "90m", "1:30"), ("-We", "1.5", "0:02")],
)
def test_a_limit_that_bsub_refuses_is_told(option: str, value: str, plain: str) -> None:
    (note,) = bsub_line(f"{option} {value} x").notes
    assert f"({option} {plain})" in note
    assert bsub_line(f"{option} {plain} x").notes == bsub_line(f"{option} 90 x").notes == []
