"""Times as people read them, also where the calendar ends."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from slotwise import InputError, loads
from slotwise.cli.main import app
from slotwise.model.display import clock_text, iso_time, wall_clock
from typer.testing import CliRunner

#: Two jobs one after the other on one slot, each of 28,500 years.
FAR = """\
format: slotwise/1
origin: 2026-03-01T08:00:00Z
hosts: [{name: a, slots: 1}]
running: [{id: r, start: 0, run_limit: 300000000000, allocation: 1*a}]
pending: [{id: p, run_limit: 900000000000}, {id: q, run_limit: 900000000000}]
"""


def test_a_stamp_where_there_is_one() -> None:
    assert iso_time("2026-03-01T08:00:00+00:00", 3600) == "2026-03-01T09:00:00+00:00"
    assert wall_clock("2026-03-01T08:00:00+00:00", 10**12) is None
    assert iso_time("2026-03-01T08:00:00+00:00", 10**12) is None
    assert iso_time("2026-03-01T08:00:00+00:00", -(10**12)) is None
    assert clock_text(loads(FAR), 86400 * 10**7).startswith("+10000000d")


@pytest.mark.parametrize(
    "command",
    [
        "solve FILE",
        "solve FILE --format json",
        "solve FILE --format csv",
        "compare FILE",
        "explain FILE q",
        "show bjobs FILE",
        "show bjobs FILE -l",
        "show bjobs FILE --format lsf-json",
        "simulate FILE --format json",
    ],
)
def test_every_view_goes_beyond_the_year_9999(tmp_path: Path, command: str) -> None:
    file = tmp_path / "far.yaml"
    file.write_text(FAR)
    result = CliRunner().invoke(app, command.replace("FILE", str(file)).split())
    assert result.exception is None, result.exception
    assert result.exit_code == 0


#: Seconds from the origin of FAR to the last evening of the calendar.
LAST_EVENING = int((datetime(9999, 12, 31, 20) - datetime(2026, 3, 1, 8)).total_seconds())


@pytest.mark.parametrize("now", [10**12, -(10**12), LAST_EVENING])
def test_a_time_of_day_in_no_year_is_an_error_with_its_place(now: int) -> None:
    text = FAR + f"now: {now}\nfuture: [{{id: f, bsub: '-b 7:00', run_limit: 60}}]\n"
    with pytest.raises(InputError, match=r"7:00"):
        loads(text)
