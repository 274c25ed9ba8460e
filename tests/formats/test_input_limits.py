"""What an input may ask for is counted before it is made, and every limit can be changed."""

from __future__ import annotations

import gzip
import json
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
from parsed_bsub import parse_bsub
from sampling import some
from slotwise import InputError, loads
from slotwise.cli.main import app
from slotwise.model.formats import names, text
from slotwise.model.input_limits import InputLimits, limited, limits
from slotwise.model.resreq import parse
from slotwise.model.sources.acct import read_acct
from slotwise.model.sources.swf import read_swf
from typer.testing import CliRunner

HEAD = "format: slotwise/1\nhosts:\n"
ONE = HEAD + "  - {name: a, slots: 1}\n"
RECORD = "{} {} -1 10 3 -1 -1 3 10 -1 1 1 1 -1 1 -1 -1 -1\n"
ACCT = Path(__file__).parents[1] / "data" / "acct" / "lsb.acct.small-cluster"


def refusal(read: Callable[[], object], *, megabytes: float = 60, seconds: float = 20) -> str:
    """The message with which something is refused, in so much memory and time."""
    begun = time.process_time()
    with pytest.raises(InputError):
        read()
    # Tracing makes it some five times as slow, so it is timed without.
    assert time.process_time() - begun < seconds
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            read()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < megabytes * 2**20
    return str(caught.value)


@pytest.mark.parametrize(
    ("hosts", "says"),
    [
        ("  - {name: a, slots: 1, count: 2147483647}\n", "200,000 hosts in all: raise --max-hosts"),
        ("  - {name: 'n[1-200001]', slots: 1}\n", "expands to more than 200,000 names"),
        ("  - {name: 'n[1-9][1-99][1-9999]', slots: 1}\n", "more than 200,000 names"),
        ("  - {name: 'n[A-Z][A-Z][A-Z][A-Z][A-Z]', slots: 1}\n", "more than 200,000 names"),
        (
            "  - {name: 'a[1-1500]', slots: 1}\n  - {name: b, slots: 1, count: 198501}\n",
            "hosts[1].count: has more than 200,000 hosts",
        ),
        (
            "  - {name: 'a[1-100]', slots: 1}\n"
            + "".join(f"  - {{name: 'h{i}n[1-200000]', slots: 1}}\n" for i in range(200)),
            "and 150 more problems (200 in all)",
        ),
    ],
)
def test_hosts_are_counted_before_they_are_made(hosts: str, says: str) -> None:
    assert says in refusal(lambda: loads(HEAD + hosts))


def test_names_are_counted_over_the_whole_input() -> None:
    groups = "".join(f"  g{i}: 'a[{i + 1}-1000]'\n" for i in range(20))
    document = HEAD + "  - {name: 'a[1-1000]', slots: 1}\nhost_groups:\n" + groups
    assert len(loads(document).cluster.groups) == 20
    with limited(names=20_000):
        assert "more than 20,000 names" in refusal(lambda: loads(document))


@pytest.mark.parametrize(
    "line",
    [
        "user_groups:\n  - {name: g, members: 'u[1-5000]'}\n",
        "limits:\n  - {name: g, SLOTS: 1, USERS: 'u[1-5000]'}\n",
        "running:\n  - {id: 1, start: 0, allocation: '2*u[1-5000]'}\n",
    ],
    ids=["members", "users", "allocation"],
)
def test_all_names_that_a_few_lines_may_stand_for_take_less_than_300_megabytes(line: str) -> None:
    hosts = HEAD + "  - {name: 'u[1-5000]', slots: 9}\n"
    peaks = []
    for document in (hosts, hosts + line):
        tracemalloc.start()
        loads(document)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # What Python and this package take by themselves is 60 MB.
    assert (peaks[1] - peaks[0]) / 5_000 * InputLimits().names < 240 * 2**20


def test_keys_given_twice_take_little_memory() -> None:
    says = refusal(lambda: loads("a:\n" * 4_000), megabytes=4)
    assert says == "line 4000: a: the key 'a' is given twice, first in line 1: keep one"


def test_queues_are_checked_in_one_pass() -> None:
    """Who inherits whose shares was looked for among all queues, for each queue."""
    queues = "".join(f"  - {{name: q{i}, FAIRSHARE: 'USER_SHARES[[a,1]]'}}\n" for i in range(9000))
    begun = time.process_time()
    loads(ONE + "queues:\n" + queues)
    assert time.process_time() - begun < 8


@pytest.mark.parametrize("count", [900])
def test_host_groups_may_stand_in_each_other_to_any_depth(count: int) -> None:
    def groups(last: str) -> str:
        inner = [f"g{i + 1}" for i in range(count - 1)]
        lines = (f"  g{i}: {name}\n" for i, name in enumerate([*inner, last]))
        return ONE + "host_groups:\n" + "".join(lines)

    assert loads(groups("a")).cluster.groups[0].members == ("a",)
    ring = "host groups contain each other: g0 -> g1 -> g2 -> g3 -> … -> g899 -> g0"
    assert refusal(lambda: loads(groups("g0"))) == f"line 5: host_groups.g0: {ring}"


def test_each_limit_holds_and_can_be_raised() -> None:
    jobs = ONE + "pending:\n" + "".join(f"  - {{id: {i}}}\n" for i in range(10))
    deep = '{"format": ' + "[" * 61 + "]" * 61 + "}"
    long = ONE + f"description: {'x' * 500}\n"
    cases: tuple[tuple[dict[str, int], str, str], ...] = (
        ({"jobs": 9}, jobs, "more than 9 jobs: raise --max-jobs"),
        ({"text": 100}, jobs, "more than 100 bytes: raise --max-text"),
        ({"value": 499}, long, "more than 499 characters in one value: raise --max-value"),
        ({"value": 499}, json.dumps({"name": "x" * 500}), "more than 499 characters"),
        ({"nesting": 2}, ONE, "nested too deeply"),
        ({"hosts": 0}, ONE, "more than 0 hosts"),
    )
    for changes, document, says in cases:
        with limited(**changes):
            assert says in refusal(lambda document=document: loads(document))
    assert loads(jobs).pending
    assert loads(long).description
    assert "nested too deeply" in refusal(lambda: loads(deep))
    with limited(nesting=70):
        assert "nested too deeply" not in refusal(lambda: loads(deep))
    assert limits() == InputLimits()


@pytest.mark.parametrize("count", some([16_000, 32_000], 1))
@pytest.mark.parametrize(
    "read",
    [
        lambda n: text.preemption("PREEMPTIVE[" * n),
        lambda n: text.preemption("PREEMPTIVE[" * min(n, 2_900)),
        lambda n: names.tokens("a[" * n),
        lambda n: names.tokens("[a" * n),
        lambda n: parse_bsub("-o a " * n),
        lambda n: parse_bsub("-o a " * min(n, 6_500)),
        lambda n: parse_bsub("'" * (2 * n + 1)),
        lambda n: parse("rusage[" + "||".join(["mem=1"] * 4 * n) + "]"),
        lambda n: parse("||".join(["mem>1"] * n)),
        lambda n: parse("(" * n),
        lambda n: parse("(" * 300 * n),
        lambda n: parse("!" * n + "mem"),
        lambda n: parse("9" * n + "x y"),
        lambda n: parse("rusage[" + "a" * n + "]"),
        lambda n: parse("rusage[mem" + " " * n + "]"),
        lambda n: parse("<" + " " * n + ">"),
        lambda n: text.resource_map("1@[" * n),
        lambda n: text.user_shares("[" * n),
        lambda n: text.user_shares("[a," * n),
        lambda n: text.reservation_limits("[a=" * n),
        lambda n: text.resource_amounts("[a" + " " * n),
        lambda n: names.host_requests("a+" * n),
        lambda n: names.expand_range("[" * n),
        lambda n: parse("select[a] " * min(n, 3_200)),
        lambda n: loads("".join(f"a{number}: 1\n" for number in range(n))),
        lambda n: loads(ONE + "params:\n" + "".join(f"  a{number}: 1\n" for number in range(n))),
    ],
)
def test_long_texts_are_read_in_linear_time_or_refused(
    read: Callable[[int], Any], count: int
) -> None:
    begun = time.process_time()
    with suppress(InputError, ValueError):
        read(count)
    assert time.process_time() - begun < 5


def test_megabytes_of_brackets_are_refused_in_a_short_line() -> None:
    many = "(" * (4 * 10**6)
    for document in (
        ONE + f"pending:\n  - {{id: 1, res_req: '{many}'}}\n",
        HEAD + f"  - {{name: '{many}', slots: 1}}\n",
        ONE + f"queues:\n  - {{name: q, PREEMPTION: '{many}'}}\n",
        json.dumps({"format": "slotwise/1", "hosts": [{"name": many, "slots": 1}]}),
    ):
        assert len(refusal(lambda document=document: loads(document), megabytes=300)) < 3000


@pytest.mark.parametrize(
    "entry", ["{id: %d, slotz: 1}", "{id: %d, slots: -1}", "{id: %d, queue: nope}", "{id: x}"]
)
def test_very_many_bad_entries_show_the_first_and_a_count(entry: str) -> None:
    count = 1500
    lines = [f"  - {entry % i if '%' in entry else entry}\n" for i in range(count)]
    with pytest.raises(InputError) as caught:
        loads(ONE + "pending:\n" + "".join(lines))
    problems = len(caught.value.problems)
    assert problems >= count - 1
    shown = str(caught.value).splitlines()
    assert len(shown) == 51
    assert shown[0].startswith("line ")
    assert shown[-1] == f"and {problems - 50} more problems ({problems} in all)"
    with limited(errors=3), pytest.raises(InputError) as fewer:
        loads(ONE + "pending:\n" + "".join(lines))
    assert len(str(fewer.value).splitlines()) == 4


def test_a_gzip_bomb_is_refused(tmp_path: Path) -> None:
    packed = tmp_path / "lsb.acct.gz"
    packed.write_bytes(gzip.compress(b"0" * 1_200_000))
    for read in (read_acct, read_swf):
        assert "raise --max-line" in refusal(lambda read=read: read(packed))
    packed.write_bytes(gzip.compress(b"\n" * 300_000))
    with limited(unpacked=100_000):
        for read in (read_acct, read_swf):
            assert "100,000 bytes when unpacked" in refusal(lambda read=read: read(packed))


#: One mebibyte of small bombs: what a log may repeat, and who reads it.
BOMBS = {
    "empty lines": (b"\n", read_acct),
    "comments of lsb.acct": (b"#\n", read_acct),
    "comments of SWF": (b";\n", read_swf),
    "no record": (b"x\n", read_swf),
    "records": (RECORD.format(1, 1).encode(), read_swf),
}


@pytest.mark.parametrize("name", some(BOMBS, 1))
def test_a_log_does_not_unpack_to_many_times_its_size(name: str, tmp_path: Path) -> None:
    """29 KB may be 1 GB; short lines count for 64 bytes, since each costs time."""
    unit, read = BOMBS[name]
    packed = tmp_path / "log.gz"
    with gzip.open(packed, "wb", 9) as file:
        for _ in range(20):
            file.write(unit * (2**20 // len(unit)))
    says = "unpacks to more than 50 times its size: raise --max-ratio"
    assert says in refusal(lambda: read(packed), megabytes=60, seconds=30)
    with limited(ratio=3), suppress(InputError):
        read_acct(ACCT)  # a plain log has no ratio


def test_the_ratio_is_an_option_and_small_logs_have_none(tmp_path: Path) -> None:
    packed = tmp_path / "log.swf.gz"
    header = f"; Note: {'x' * 90}\n" * 200_000
    packed.write_bytes(gzip.compress((header + RECORD.format(1, 1)).encode()))
    line = ["import", "swf", str(packed), "--procs", "9", "--policy", "easy"]
    refused = CliRunner().invoke(app, line)
    assert "raise --max-ratio" in str(refused.exception)
    assert CliRunner().invoke(app, ["--max-ratio", "1000", *line]).exit_code == 0
    packed.write_bytes(gzip.compress((header[: 97 * 100] + "\n" + RECORD.format(1, 1)).encode()))
    with limited(ratio=1):
        assert len(read_swf(packed).workload) == 1


@pytest.mark.parametrize(("read", "bad"), [(read_swf, "1 x\n"), (read_acct, "x\n")])
def test_the_first_bad_records_are_kept_and_the_others_counted(
    read: Callable[..., Any], bad: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.write_text(bad * 9_000)
    assert "and 8,950 more bad records (9,000 in all)" in refusal(lambda: read(log), megabytes=4)
    assert len(read(log, keep_going=True).problems) == 51


def test_logs_have_no_more_records_than_are_wanted(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_text("".join(RECORD.format(i, i) for i in range(1, 101)))
    assert len(read_swf(log).workload) == 100
    with limited(jobs=99):
        assert "more than 99 records: raise --max-jobs" in refusal(lambda: read_swf(log))
    log.write_text("what\n" * 100)
    with limited(jobs=99):
        assert "more than 99 records" in refusal(lambda: read_acct(log))


def growth(read: Callable[[Path], object], small: Path, large: Path, more: int) -> float:
    """Bytes that each further record of the large log costs at the peak."""
    peaks = []
    for path in (small, large):
        tracemalloc.start()
        kept = read(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        del kept
    return (peaks[1] - peaks[0]) / more


def test_swf_takes_little_memory_a_record(tmp_path: Path) -> None:
    """A million records within 300 MB."""
    paths = tmp_path / "small.swf", tmp_path / "large.swf"
    for path, count in zip(paths, (1000, 4000), strict=True):
        path.write_text("".join(RECORD.format(i, i) for i in range(1, count + 1)))
    assert growth(read_swf, *paths, more=3000) < 200


def test_acct_takes_little_memory_a_record(tmp_path: Path) -> None:
    """A million records within 300 MB, and 500 MB of records of this length too."""
    words = ACCT.read_text().splitlines()[0].split(" ")
    paths = tmp_path / "small", tmp_path / "large"
    for path, count in zip(paths, (200, 1200), strict=True):
        with path.open("w") as file:
            for number in range(count):
                words[3] = str(1000 + number)
                file.write(" ".join(words) + "\n")
    assert growth(read_acct, *paths, more=1000) < 280


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--max-hosts", 3), ("--max-text", 100), ("--max-nesting", 2), ("--max-value", 20)),
        *(("--max-names", 3), ("--max-requirement", 5)),
    ],
)
def test_every_command_has_the_limits_as_options(option: str, value: int) -> None:
    path = str(sw.example("headline"))
    assert CliRunner().invoke(app, ["check", path]).exit_code == 0
    done = CliRunner().invoke(app, [option, str(value), "check", path])
    assert done.exit_code == 2
    assert path in done.stderr
    assert limits() == InputLimits()
