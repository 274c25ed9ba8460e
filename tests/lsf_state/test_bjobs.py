"""Jobs as bjobs prints them: real JSON, the documents' text, values, and what is wrong."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sampling import some
from slotwise.model.sources.lsf_state import values
from slotwise.model.sources.lsf_state.bjobs import read_bjobs
from slotwise.model.sources.lsf_state.values import PrintedTimes, Text

REFERENCE = datetime(2026, 4, 12, 18, 30, tzinfo=UTC)
CALENDAR = PrintedTimes(REFERENCE)


def _epoch(*fields: int) -> int:
    return int(datetime(*fields, tzinfo=UTC).timestamp())  # type: ignore[arg-type,misc]


def test_years_weekdays_and_zones() -> None:
    east = PrintedTimes(datetime(2026, 1, 2, 3, 0, tzinfo=timezone(timedelta(hours=2))))
    assert east.past("Dec 31 23:00") == _epoch(2025, 12, 31, 21)
    assert east.coming("Jan  3 04:00") == _epoch(2026, 1, 3, 2)
    assert east.past("Jan  2 03:00:05") == _epoch(2026, 1, 2, 1, 0, 5)
    # Friday 22 April was in 2022, not in 2025.
    assert east.past("Fri Apr 22 15:18:56") == _epoch(2022, 4, 22, 13, 18, 56)
    assert east.coming("Feb 29 00:00:00 2028 L") == _epoch(2028, 2, 28, 22)
    for wrong in ("Feb 29 00:00:00 2027", "yesterday", "Apr 41 00:00"):
        with pytest.raises(ValueError, match="time"):
            east.past(wrong)


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (values.limit, "1440.0", 86400),
        (values.limit, "00:10:00", 600),
        (values.limit, " 840.0 min of hostA", 50400),
        (values.limit, "10.5/hostA", 630),
        (values.seconds, "57208 second(s)", 57208),
        (values.seconds, "100:00:01", 360001),
        (values.size, "5.2 Gbytes", 5.2 * 1024),
        (values.size, "178_g", 178 * 1024),
        (values.size, "911M", 911),
        (values.number, "91%", 91),
        (values.number, "0.0*", 0),
        (values.whole, "-", None),
    ],
)
def test_values(read, text: str, value: float | None) -> None:  # type: ignore[no-untyped-def]
    assert read(text) == (value if value is None else pytest.approx(value))


def test_hosts_in_each_of_their_forms() -> None:
    assert values.allocation("a:a:b") == {"a": 2, "b": 1}
    assert values.allocation("2*a:3*b") == {"a": 2, "b": 3}
    assert values.allocation("16*n1 n2") == {"n1": 16, "n2": 1}
    with pytest.raises(ValueError, match="not a host"):
        values.allocation("0*a")


#: The documents' own job (seed 000, example 1), wrapped at column 80 as bjobs -l does.
PENDING = """\
Job <11898>, User <user2>, Project <default>, Status <PEND>, Queue <challenge>,
                      Job Priority <50>, Command <sleep 100000000>
Fri Apr 22 15:18:50: Submitted from host <qat26>, CWD <$HOME>, 6 Processors Req
                     uested, Requested Resources <span[ptile=2]>;

 RUNLIMIT
 840.0 min of hostA
Fri Apr 22 15:18:56: Reserved <2> job slots on host(s) <2*qat26>;
Sat Apr 23 03:28:46: Estimated Job Start Time; alloc=2*qat25 2*qat24 2*qat26.lsf.platf
                     orm.com

 SCHEDULING PARAMETERS:
           r15s   r1m  r15m   ut      pg    io   ls    it    tmp    swp    mem
 loadSched   -     -     -     -       -     -    -     -     -      -      -
 loadStop    -     -     -     -       -     -    -     -     -      -      -
------------------------------------------------------------------------------

Job <12>, Job Name <a, b>, User <ann>, User Group <g>, Project <p>, Application
                      <app1>, Status <RUN>, Queue <normal>, Command <run>
Fri Apr 22 10:00:00: Submitted from host <h>, CWD <$HOME>, 2-8 Task(s), Requested
                      Resources <rusage[mem=100]>, Specified Hosts <hostA+2>, <
                     hg1>, Exclusive Execution;
Fri Apr 22 10:05:00: Started 3 Task(s) on Host(s) <2*hostA> <hostB>, Allocated 3
                      Slot(s) on Host(s) <2*hostA> <hostB>, Execution Home </x>;
Fri Apr 22 15:00:00: Resource usage collected. The CPU time used is 42.5 seconds.
"""


def _wrapped(line: str, indent: int, width: int) -> list[str]:
    """A line as bjobs -l breaks it, in the middle of a word where that falls so."""
    rows, rest = [line[:width]], line[width:]
    while rest:
        rows.append(" " * indent + rest[: width - indent])
        rest = rest[width - indent :]
    return rows


@pytest.mark.behaviour("CFG-04")
@pytest.mark.parametrize("year", [False, True])
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("width", [79, 80])
def test_lines_broken_at_every_column(year: bool, cut: bool, width: int) -> None:
    """With and without the year (LSB_BJOBS_DISPLAY_YEAR), with blanks at ends of lines cut off."""
    stamp = "Sun Mar 15 19:00:00 2026: " if year else "Sun Mar 15 19:00:00: "
    calendar = PrintedTimes(datetime(2026, 3, 16, tzinfo=UTC))
    for shift in range(width):
        head = (
            f"Job <5002>, Job Name <{'j' * shift}>, User <bob>, Project <lab1>, Status <PEND>, "
            "Queue <normal>, Job Priority <50>, Command <x y z>, Share group charged </bob>"
        )
        submitted = (
            f"{stamp}Submitted from host <login2>, CWD <$HOME/{'a' * shift}>, 48 Task(s), "
            "Requested Resources < select[mem>1000] rusage[mem=1024] span[ptile=24]>, "
            "Specified Hosts <a>, <b>;"
        )
        rows = ["", *_wrapped(head, len(stamp), width), *_wrapped(submitted, len(stamp), width)]
        rows += [
            " PENDING REASONS:",
            " Job slot limit reached: 1 host;",
            "",
            " RUNLIMIT",
            " 360.0 min",
        ]
        text = "\n".join(row.rstrip() if cut else row for row in rows) + "\n"
        (job,) = read_bjobs(Text(text, "x"), calendar)
        assert (job.user, job.queue, job.priority, job.slots) == ("bob", "normal", 50, 48), shift
        assert job.res_req == "select[mem>1000] rusage[mem=1024] span[ptile=24]", shift
        assert (job.hosts, job.run_limit, job.unheeded) == ("a b", 21600, ()), shift


#: Lines of a waiting and of a running job, {} where a word makes them longer; STAMP for a time.
WHOLE = (
    ("Job <5002>, Job Name <{}>, User <bob>, User Group <g>, Project <lab1>, Application <app>, "
     "Status <PEND>, Queue <normal>, Job Priority <50>, Command <x y z>",
     "STAMPSubmitted from host <login2>, CWD <$HOME/{}>, 48 Task(s), Requested Resources "
     "< select[mem>1000] rusage[mem=1024] span[ptile=24]>, Specified Hosts <a>, <b>;",
     " PENDING REASONS:",
     " Job slot limit reached: 1 host;",
     "",
     " RUNLIMIT",
     " 360.0 min"),
    ("Job <5003>, Job Name <{}>, User <ann>, Project <lab1>, Status <RUN>, Queue <normal>, "
     "Command <run it>, Share group charged </ann>",
     "STAMPSubmitted from host <login2>, CWD <$HOME/{}>, Output File </work/{}/out>, 5 Task(s), "
     "Requested Resources <span[ptile=2]>, Exclusive Execution;",
     "STAMPStarted 5 Task(s) on Host(s) <2*node0001.site.org> <2*node0002.site.org> "
     "<1*node0003.site.org>, Allocated 5 Slot(s) on Host(s) <2*node0001.site.org> "
     "<2*node0002.site.org> <1*node0003.site.org>, Execution Home </home/{}>;",
     "STAMPResource usage collected. The CPU time used is 42 seconds.",
     "                     MEM: 3 Mbytes;  SWAP: 0 Mbytes;  NTHREAD: 4"),
)  # fmt: skip


def _page(word: str, stamp: str, width: int | None, *, cut: bool, jobs: slice) -> str:
    """The jobs as bjobs -l prints them, or -UF; width: None for that."""
    rows = []
    for job in WHOLE[jobs]:
        rows.append("")
        for line in job:
            text = line.replace("{}", word).replace("STAMP", stamp)
            if line.startswith("     "):
                text = " " * len(stamp) + line.strip()
            rows += [text] if width is None else _wrapped(text, len(stamp), width)
    return "\n".join(row.rstrip() if cut else row for row in rows) + "\n"


@pytest.mark.behaviour("CFG-04")
@pytest.mark.parametrize("stamp", ["Sun Mar 15 19:00:00: ", "Sun Mar 15 19:00:00 2026: "])
@pytest.mark.parametrize("cut", some([False, True], 1))
@pytest.mark.parametrize("width", some([79, 80], 1))
@pytest.mark.parametrize(
    "jobs", [slice(0, 1), slice(1, 2), slice(0, 2)], ids=["one waits", "one runs", "both"]
)
def test_what_was_wrapped_is_what_was_printed_whole(
    stamp: str, cut: bool, width: int, jobs: slice
) -> None:
    """Wherever a line breaks, -l says what -UF does; blanks at ends of lines may be cut off."""
    calendar = PrintedTimes(datetime(2026, 3, 16, tzinfo=UTC))
    for shift in range(width):
        word = "j" * shift
        whole, wrapped = (
            read_bjobs(Text(_page(word, stamp, columns, cut=cut, jobs=jobs), "x"), calendar)
            for columns in (None, width)
        )
        for job in (*whole, *wrapped):
            job.line = None
        assert wrapped == whole, (shift, width)
    assert sum(job.cpu_time == 42 for job in whole) == (jobs.stop == 2)
    assert [job.allocation.get("node0003.site.org", 0) for job in whole][-1] == (jobs.stop == 2)


def test_a_past_time_without_a_year_is_of_the_last_one_though_the_next_is_nearer() -> None:
    december = PrintedTimes(datetime(2026, 12, 1, tzinfo=UTC))
    assert december.past("Jan 10 08:00:00") == _epoch(2026, 1, 10, 8)
    assert december.coming("Jan 10 08:00:00") == _epoch(2027, 1, 10, 8)


#: Of `bjobs -l` of volclava 2.2, recorded by tests/live, with bsub -sp 56 and a limit of 100.
OWN_PRIORITY = """\
Job <20>, Job Name <p11>, User <ann>, Project <default>, Status <PEND>, Queue <
                     normal>, Job Priority <56>, Command <sleep 24>
Fri Apr 22 14:52:22: Submitted from host <host0>, CWD </>, Output File </dev/nu
                     ll>, 3 Processors Requested, User Priority <56>;
"""


@pytest.mark.behaviour("CFG-04")
@pytest.mark.parametrize(
    ("printed", "priority"),
    [("Job Priority <56>, ", 56), ("Job Priority <70>, ", 70), ("", 56)],
    ids=["both", "it has grown", "without that of the job"],
)
def test_the_priority_of_bsub_is_read(printed: str, priority: int) -> None:
    text = OWN_PRIORITY.replace("Job Priority <56>, ", printed)
    (job,) = read_bjobs(Text(text, "x"), CALENDAR)
    assert (job.priority, job.slots, job.unheeded) == (priority, 3, ())
