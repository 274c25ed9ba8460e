"""Every numeric column of every log keeps one range: beyond it a record is malformed.

A number of any size in any column is read or refused; no command ends in a fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from event_lines import job_new, job_start, job_status
from sampling import some
from slotwise import InputError
from slotwise.cli.main import app
from slotwise.model.sources.acct import parse_acct
from slotwise.model.sources.log_lines import MAX_NUMBER, BadRecords
from slotwise.model.sources.lsf_state.bhosts import read_bhosts
from slotwise.model.sources.lsf_state.bqueues import read_bqueues
from slotwise.model.sources.lsf_state.log_records import parse_events
from slotwise.model.sources.lsf_state.values import Text
from slotwise.model.sources.swf import COLUMNS, parse_swf
from typer.testing import CliRunner

SWF = "7 100 5 50 4 3.5 -1 4 60 -1 1 12 3 -1 2 -1 3 2"
ACCT = Path(__file__).parents[1] / "data" / "acct" / "lsb.acct.small-cluster"
SIZES = (
    *(str(MAX_NUMBER), str(MAX_NUMBER + 2), str(-MAX_NUMBER - 2), str(2**63), "9" * 400),
    *("1e17", "1e300", "-1e300", "9" * 15, "253402300800"),
)
_NUMBER = re.compile(r'(?<!\S)("?)-?\d+(?:\.\d+)?\1(?!\S)')


def columns(record: str) -> list[re.Match[str]]:
    """The fields of a record that are a number."""
    return list(_NUMBER.finditer(record))


def with_number(record: str, column: re.Match[str], word: str) -> str:
    quote = column[1]
    return record[: column.start()] + quote + word + quote + record[column.end() :]


def acct_record() -> str:
    return ACCT.read_text("utf-8").splitlines()[0]


#: A log by its kind: records, and the commands that read it.
LOGS: dict[str, tuple[list[str], tuple[tuple[str, ...], ...]]] = {
    "swf": (
        [SWF],
        (("replay", "LOG", "--procs", "8"), ("simulate", "LOG", "--cluster", "CLUSTER")),
    ),
    "acct": ([acct_record()], (("import", "acct", "LOG"), ("simulate", "LOG"))),
    "events": (
        [job_new(1, 1000), job_start(1, 1010, "h1"), job_status(1, 1100, 64), job_new(2, 1200)],
        (("import", "events", "LOG", "--with-future"),),
    ),
}
CASES = [
    (kind, row, column, command, word)
    for kind, (records, commands) in LOGS.items()
    for row, record in enumerate(records)
    for column in range(len(columns(record)))
    for command in range(len(commands))
    for word in SIZES
]


@pytest.mark.parametrize(("kind", "row", "column", "command", "word"), some(CASES, 8))
def test_a_number_of_any_size_is_read_or_refused(
    tmp_path: Path, kind: str, row: int, column: int, command: int, word: str
) -> None:
    records, commands = LOGS[kind]
    place = columns(records[row])[column]
    cluster = tmp_path / "cluster.json"
    cluster.write_text(
        '{"hosts": [{"name": "h1", "slots": 8}], "origin": "2026-01-01T00:00:00+00:00"}'
    )
    lines = [*records[:row], with_number(records[row], place, word), *records[row + 1 :]]
    log = tmp_path / {"swf": "log.swf", "acct": "lsb.acct", "events": "lsb.events"}[kind]
    log.write_text("\n".join(lines) + "\n")
    words = [{"LOG": str(log), "CLUSTER": str(cluster)}.get(w, w) for w in commands[command]]
    found = CliRunner().invoke(app, [*words, "--keep-going"])
    fault = found.exception
    assert fault is None or isinstance(fault, InputError), repr(fault)


#: As a floating-point number too.
BEYOND = (str(MAX_NUMBER + 2), str(2**63), str(-MAX_NUMBER - 2))


@pytest.mark.parametrize("word", [*BEYOND, "1e17", "-1e300"])
def test_every_column_of_swf_has_the_same_range(word: str) -> None:
    place = columns(SWF)
    assert len(place) == COLUMNS
    for column in place:
        log = parse_swf([with_number(SWF, column, word)])
        assert [p.message for p in log.problems] == [log.problems[0].message], column
        assert f"must be a number within ±{MAX_NUMBER}, not '{word}'" in log.problems[0].message
        assert not parse_swf([with_number(SWF, column, str(MAX_NUMBER))]).problems


def _problems_of_events(record: str) -> list[str]:
    bad = BadRecords()
    list(parse_events([record], bad, {}))
    return [problem.message for problem in (*bad.problems, *(cell for cell, _ in bad.cells))]


def _problems_of_acct(record: str) -> list[str]:
    log = parse_acct([record])
    return [*(problem.message for problem in log.problems), *log.unread]


@pytest.mark.parametrize("word", BEYOND)
@pytest.mark.parametrize(
    ("record", "problems", "read"),
    [
        (acct_record(), _problems_of_acct, 14),
        (job_new(1, 1000), _problems_of_events, 19),
        (job_start(1, 1010, "h1"), _problems_of_events, 5),
        (job_status(1, 1100, 64), _problems_of_events, 7),
    ],
)
def test_the_columns_that_are_read_of_lsf_logs_have_it_too(
    record: str, problems: Callable[[str], list[str]], read: int, word: str
) -> None:
    """read: how many columns at least are looked at; of the others any text is passed over.

    The first is the version, which says which columns there are.
    """
    numbers = columns(record)[1:]
    refused = [found for c in numbers if (found := problems(with_number(record, c, word)))]
    assert len(refused) >= read
    wrong = (
        "must be a number within ±",
        "must be seconds since 1970",
        "must be a list length",
    )
    assert [text for (text,) in refused if not any(part in text for part in wrong)] == []


def test_parts_of_a_job_never_add_up_to_more() -> None:
    part = f"7 100 5 {MAX_NUMBER} 4 3.5 -1 4 60 -1 2 12 3 -1 2 -1 -1 -1"
    assert parse_swf([part] * 3).workload.run_time.tolist() == [MAX_NUMBER]


@pytest.mark.parametrize("blank", ["", " ", "  ", "\t"])
@pytest.mark.parametrize("before", ["", "  "])
def test_a_line_that_begins_a_block_gives_its_name(before: str, blank: str) -> None:
    """A start that is recognised is one that can be taken apart."""
    queue = f"{before}QUEUE:{blank}other\n  -- its jobs\nPRIO NICE STATUS MAX JL/U JL/P JL/H\n"
    rows = f"{queue} 30   20  Open:Active  -  -  -  -\n"
    (seen,) = read_bqueues(Text(rows, "bqueues"))
    assert (seen.name, seen.priority) == ("other", 30)
    if blank and not before:
        host = f"HOST{blank}h1{blank}\nSTATUS CPUF JL/U MAX NJOBS RUN SSUSP USUSP RSV\n"
        (found,) = read_bhosts(Text(f"{host}ok 1.0 - 8 0 0 0 0 0\n", "bhosts"))
        assert (found.name, found.slots) == ("h1", 8)
