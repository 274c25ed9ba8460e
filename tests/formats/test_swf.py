"""SWF logs: what is read, what is malformed, and that nothing is dropped without a word."""

import gzip
from pathlib import Path

import numpy as np
import pytest
import traces
from hypothesis import given
from hypothesis import strategies as st
from sampling import some
from slotwise import InputError
from slotwise.model.input_limits import InputLimits, limited
from slotwise.model.sources.log_lines import log_lines
from slotwise.model.sources.swf import COLUMNS, parse_swf, read_swf
from slotwise.model.workload import Workload, canonical, machine_size
from slotwise.solver.replay import replay

GOOD = "7 100 -1 50 4 -1 -1 4 60 -1 1 12 3 -1 2 -1 -1 -1"


def record(**changed: str) -> str:
    """GOOD with columns replaced, as ``c4="x"`` (columns count from 1)."""
    words = GOOD.split()
    for name, word in changed.items():
        words[int(name[1:]) - 1] = word
    return " ".join(words)


MALFORMED = [
    *(record(**{f"c{column}": "x"}) for column in range(1, COLUMNS + 1)),
    *(" ".join(GOOD.split()[:count]) for count in range(1, COLUMNS, 2)),
    *(record(**{f"c{column}": "nan"}) for column in (2, 4, 6, 8, 9)),
    *(record(**{f"c{column}": "-7"}) for column in (1, 2, 4, 8, 9)),
    *(record(**{f"c{column}": "1.5"}) for column in (1, 8, 12, 15)),
    record(c2="-1"),
    record(c2="-1.5"),
    record(c4="inf"),
    record(c9="1e999"),
    record(c8="99999999999999999999"),
    record(c4="1_000"),
    record(c9="0x10"),
    record(c2="12:30"),
    GOOD.replace(" ", ","),
]


def test_there_are_fifty_malformed_records():
    assert len(MALFORMED) == len(set(MALFORMED)) == 50


@pytest.mark.parametrize("bad", MALFORMED)
def test_a_malformed_record_is_refused_or_skipped_with_its_line(tmp_path, bad):
    path = tmp_path / "log.swf"
    head = "; MaxProcs: 8\n\n"
    first, last = record(c1="1"), record(c1="9")
    path.write_text(f"{head}{first}\n{bad}\n{last}\n")
    with pytest.raises(InputError) as refused:
        read_swf(path)
    found = read_swf(path, keep_going=True)
    assert found.problems == refused.value.problems
    assert "--keep-going" in refused.value.hint
    assert str(refused.value).startswith(f"{path}:4: ")
    assert dict(found.workload.left_out) == {"malformed record": 1}
    path.write_text(f"{head}{first}\n{last}\n")
    without = replay(read_swf(path).workload)
    np.testing.assert_array_equal(replay(found.workload).start, without.start)


def test_all_problems_come_in_one_report():
    found = parse_swf([*MALFORMED, GOOD, GOOD], "log.swf")
    assert [problem.line for problem in found.problems] == [*range(1, 51), 52]
    assert len(found.workload) == 1
    assert str(found.problems[-1]) == "log.swf:52: job number 7 is already used at line 51"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (record(c4="x"), "run time must be a number, not 'x'"),
        (record(c8="1.5"), "requested processors must be a whole number, not '1.5'"),
        (record(c2="-1"), "submit time must be 0 or more, not -1"),
        (record(c8="-7"), "requested processors must be 0 or more, or -1 for unknown, not -7"),
        (
            record(c8="9" * 20),
            "requested processors must be a number within ±9007199254740992, "
            "not '99999999999999999999'",
        ),
        (record(c6="x"), "column 6 must be a number, not 'x'"),
        ("1 2 3", "a record must have 18 columns, not 3"),
    ],
)
def test_messages_say_what_would_be_right(bad, message):
    assert [problem.message for problem in parse_swf([bad]).problems] == [message]


def test_columns_and_header():
    lines = ["; MaxNodes: 3", ";MaxProcs: 64 (with login nodes)", ";; Note: x: y", "", GOOD]
    log = parse_swf(lines).workload
    assert {name: column.tolist() for name, column in log.columns().items()} == {
        "job": [7],
        "submit": [100],
        "run_time": [50],
        "req_time": [60],
        "procs": [4],
        "user": [12],
        "queue": [2],
    }
    assert log.max_procs == 64
    assert dict(log.header) == {
        "MaxNodes": "3",
        "MaxProcs": "64 (with login nodes)",
        "Note": "x: y",
    }


def test_machine_size_comes_from_the_log_unless_given():
    assert machine_size(parse_swf(["; MaxNodes: 3"]).workload, None) == 3
    assert machine_size(parse_swf(["; MaxNodes: 3"]).workload, 5) == 5
    with pytest.raises(InputError, match="--procs"):
        machine_size(parse_swf(["; MaxProcs: -1"]).workload, None)


def test_whole_numbers_may_be_written_with_a_point_and_columns_may_follow():
    found = parse_swf([record(c4="50.0", c6="0.25") + " {1,2} q_2w 1:ppn=12"])
    assert not found.problems
    assert found.workload.run_time.tolist() == [50]


def test_gzip_is_recognised_by_content(tmp_path):
    path = tmp_path / "log.swf"
    path.write_bytes(gzip.compress(GOOD.encode()))
    assert len(read_swf(path).workload) == 1


def test_the_marks_of_editors(tmp_path):
    """One in front of UTF-8 is read over; UTF-16 is refused as such, not as bad records."""
    path = tmp_path / "log"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert len(read_swf(path).workload) == 1
    for mark in ("utf-16-le", "utf-16-be"):
        path.write_bytes("\ufeff".encode(mark) + GOOD.encode(mark))
        with pytest.raises(InputError, match=r"^\S+log: is UTF-16: a log is UTF-8 text$"):
            read_swf(path)


@pytest.mark.parametrize(
    "content", [b"\x1f\x8b\x08nonsense", gzip.compress(b"1 2 3" * 99, mtime=0)[:-9]]
)
def test_a_damaged_archive_is_one_message(tmp_path, content):
    path = tmp_path / "log.swf.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"log\.swf\.gz: cannot be read: "):
        read_swf(path)


def test_a_missing_file_is_one_message(tmp_path):
    with pytest.raises(InputError, match=r"none\.swf: cannot be read: No such file"):
        read_swf(tmp_path / "none.swf")


@given(st.text(max_size=200))
def test_any_text_is_either_read_or_reported(text):
    found = parse_swf(text.splitlines())
    spoken = [line for line in text.splitlines() if line.split()]
    records = [line for line in spoken if not line.split()[0].startswith(";")]
    assert len(found.workload) + len(found.problems) == len(records)


@given(st.lists(st.tuples(*[st.integers(-1, 12)] * 3, st.integers(0, 9)), max_size=12))
def test_canonical_form_is_complete_and_stable(rows):
    run, request, size, submit = (
        (list(column) for column in zip(*rows, strict=True)) if rows else [[]] * 4
    )
    once = canonical(Workload.of(submit, run, request, size), 8)
    assert len(once) + sum(once.left_out.values()) == len(rows)
    assert np.all((once.run_time >= 1) & (once.run_time <= once.req_time))
    assert np.all((once.procs >= 1) & (once.procs <= 8))
    keys = list(zip(once.submit.tolist(), once.job.tolist(), strict=True))
    assert keys == sorted(keys)
    assert canonical(once, 8).digest() == once.digest()


@pytest.mark.parametrize(
    ("name", "jobs", "procs"), some([("KTH-SP2", 28481, 100), ("theta_2022", 23911, 4360)], 1)
)
def test_packaged_logs_are_already_canonical(name, jobs, procs):
    log = traces.log(name)
    assert (len(log), log.max_procs) == (jobs, procs)
    assert canonical(log, procs).digest() == log.digest()


def test_lines_and_archives_have_exactly_their_limits(tmp_path):
    plain, packed = tmp_path / "log", tmp_path / "log.gz"
    plain.write_bytes(b"123456789\n")
    packed.write_bytes(gzip.compress(b"ab\ncd\n"))
    for path, exact, less in (
        (plain, InputLimits(line=10), InputLimits(line=9)),
        (packed, InputLimits(unpacked=6), InputLimits(unpacked=5)),
    ):
        with limited(exact):
            assert "".join(log_lines(path)).encode() in (b"123456789\n", b"ab\ncd\n")
        with limited(less), pytest.raises(InputError, match="more than"):
            list(log_lines(path))
    with limited(InputLimits(unpacked=5)):
        assert list(log_lines(plain)) == ["123456789\n"]  # of what is packed alone


@pytest.mark.parametrize("text", ["1024", "1,024", "1024 (of 2,048)", "1'024 processors"])
def test_a_size_with_marks_between_its_thousands(text: str) -> None:
    assert parse_swf([f"; MaxProcs: {text}"]).workload.max_procs == 1024


def test_a_log_that_says_only_what_jobs_got() -> None:
    """Requested processors unknown: the allocated ones; unknown too: none."""
    line = "{} 0 0 60 {} -1 -1 {} 90 -1 1 1 1 1 1 -1 -1 -1"
    lines = [line.format(1, 8, -1), line.format(2, 8, 4), line.format(3, -1, -1)]
    assert parse_swf(lines).workload.procs.tolist() == [8, 4, -1]


@pytest.mark.parametrize(
    ("head", "name"),
    [(b"BZh91AY&SY", "bzip2"), (b"\xfd7zXZ\x00\x00", "xz"), (b"PK\x03\x04", "zip")],
)
def test_a_log_that_is_packed_in_another_way_says_so(
    tmp_path: Path, head: bytes, name: str
) -> None:
    path = tmp_path / "log.swf"
    path.write_bytes(head + bytes(range(40)))
    with pytest.raises(InputError, match=f"packed with {name}: unpack it first"):
        read_swf(path)
