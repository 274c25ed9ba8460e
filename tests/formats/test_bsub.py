"""bsub command lines (CFG-03)."""

from __future__ import annotations

import pytest
from slotwise.model.errors import InputError
from slotwise.model.formats.bsub import parse_bsub
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
        ("", {}),
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
        ("-J name -o out.%J -e err -N -M 100 -K sleep 10", {}),
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
        (
            "-w 'done(7)'",
            [
                "-w: start conditions are not supported: a plan cannot know when another job "
                "will have ended"
            ],
        ),
        ("-J 'a[1-10]'", ["-J: job arrays are not supported: 'a[1-10]'"]),
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
