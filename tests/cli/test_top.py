"""`slotwise top`: rows, keys and screens as data; printed once; and on a terminal of its own."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import pytest
import slotwise as sw
from forked import slotwise
from hypothesis import given
from hypothesis import strategies as st
from on_terminal import OnTerminal, copy_of
from rich.cells import cell_len
from slotwise import InputError
from slotwise.cli.listing import JobChoice, ListedJob, Listing, listing_of
from slotwise.cli.top.keys import KeyReader
from slotwise.cli.top.screen import TopPage, page_size, screen_lines
from slotwise.cli.top.view import KEYS, TopView
from slotwise.solver.outlook.outlook import outlook

EXAMPLE = sw.example("joint-wins")


def row(number: int, **changes: object) -> ListedJob:
    """A job like many others."""
    usual: dict[str, object] = {
        **{"job": str(number), "user": f"u{number % 3}", "queue": "long", "slots": number % 7},
        **{"state": "waits", "configured": 60 * number, "possible": 60, "waits_for": "8 slots"},
        **{"configured_text": f"{number}m", "possible_text": "1m", "lines": (f"job {number}",)},
    }
    return ListedJob(**(usual | changes))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def listing() -> Listing:
    instance = sw.load(EXAMPLE)
    return listing_of(instance, outlook(instance, effort=2.0))


def test_rows_say_what_the_outlook_says(listing: Listing) -> None:
    small, large = listing.jobs
    assert (small.state, small.configured, small.possible_text) == ("starts now", 0, "now")
    assert (large.state, large.configured_text, large.possible_text) == ("held back", "2h", "now")
    assert "cu[maxcus=1]" in large.waits_for
    assert large.lines[0].startswith("job large starts +2h as configured, ends +5h, on ")
    assert large.lines[1].startswith("possible: now, proved the earliest, on ")


def test_a_rule_that_is_not_modelled_is_marked_and_named() -> None:
    instance = sw.load(sw.example("site"))
    rows = {item.job: item for item in listing_of(instance, outlook(instance, effort=1.0)).jobs}
    found = outlook(instance, effort=1.0)
    for item in found:
        texts = rows[item.job].configured_text, rows[item.job].possible_text
        assert texts[0].endswith("?") is (item.as_configured is not None and bool(item.cautions))
        touched = bool(item.cautions or item.possible_cautions)
        assert texts[1].endswith("?") is (item.possible is not None and touched)
        for caution in (*item.cautions, *item.possible_cautions):
            assert any(caution.what in line for line in rows[item.job].lines)
    assert any(item.possible_cautions for item in found)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (JobChoice(), ["10", "9", "b", "a[2]"]),
        (JobChoice(reverse=True), ["a[2]", "b", "9", "10"]),
        (JobChoice("job"), ["9", "10", "a[2]", "b"]),
        (JobChoice("slots"), ["9", "b", "a[2]", "10"]),
        (JobChoice("slots", reverse=True), ["10", "b", "a[2]", "9"]),
        (JobChoice("configured"), ["9", "10", "b", "a[2]"]),
        (JobChoice("configured", reverse=True), ["10", "9", "b", "a[2]"]),
        (JobChoice(only={"user": "ana"}), ["9", "b"]),
        (JobChoice(only={"user": "ana", "state": "impossible"}), ["b"]),
        (JobChoice(words="ANA no such"), ["b"]),
        (JobChoice(words="nothing"), []),
    ],
)
def test_rows_are_sorted_and_filtered(choice: JobChoice, expected: list[str]) -> None:
    jobs = [
        row(10, slots=9, user="bo"),
        row(9, slots=1, user="ana"),
        row(1, job="b", slots=3, user="ana", state="impossible", waits_for="no such host"),
        row(2, job="a[2]", slots=3, user="bo", configured=None),
    ]
    jobs[2] = replace(jobs[2], configured=None)
    assert [item.job for item in choice.of(jobs)] == expected


def pressed(keys: str | list[str], jobs: list[ListedJob], view: TopView | None = None) -> TopView:
    view = view or TopView()
    for key in keys:
        view, _ = view.pressed(key, jobs, 10, 30)
    return view


@pytest.mark.parametrize(
    ("keys", "job"),
    [
        (["down"], "1"),
        (["j", "j", "k"], "1"),
        (["up"], "0"),
        (["page down"], "10"),
        (["page down", "page down", "page up"], "10"),
        (["end"], "24"),
        (["end", "down", "G"], "24"),
        (["end", "home"], "0"),
        (["page down", "page down", "page down"], "24"),
    ],
)
def test_keys_move(keys: list[str], job: str) -> None:
    jobs = [row(number) for number in range(25)]
    view = pressed(keys, jobs)
    assert jobs[view.row_of(view.choice.of(jobs))].job == job


def test_keys_sort_filter_find_and_come_back() -> None:
    jobs = [row(number, queue="short" if number == 5 else "long") for number in range(25)]
    assert pressed("s", jobs).choice == JobChoice("job")
    assert pressed("S", jobs).choice == JobChoice("possible")
    assert pressed("sssr", jobs).choice == JobChoice("queue", reverse=True)
    assert pressed("jjjjjfq", jobs).choice == JobChoice(only={"queue": "short"})
    assert pressed("jfufs", jobs).choice == JobChoice(only={"user": "u1", "state": "waits"})
    assert pressed("jfufsfa", jobs).choice == JobChoice()
    assert pressed("fx", jobs) == TopView()
    found = pressed("/q2sr", jobs)
    assert (found.choice.words, found.mode) == ("q2sr", "words")
    assert pressed(["backspace", "page down", "enter"], jobs, found).choice.words == "q2s "
    assert pressed(["escape"], jobs, found) == TopView()
    assert pressed(["enter", "escape"], jobs, found) == TopView()
    assert pressed("jh", jobs).mode == "help"
    assert pressed("jhq", jobs) == pressed("j", jobs)


def test_keys_explain_scroll_and_end() -> None:
    jobs = [row(number) for number in range(25)]
    view, action = pressed("jj", jobs).pressed("enter", jobs, 10)
    assert (view.mode, view.job, action) == ("explain", "2", "explain")
    assert pressed(["page down", "down"], jobs, view).scroll == 11
    assert pressed(["end"], jobs, view).scroll == 20
    assert view.pressed("quit", jobs, 10)[1] == "quit"
    assert view.pressed("q", jobs, 10) == (replace(view, mode="table"), "")
    assert TopView().pressed("q", jobs, 10)[1] == "quit"
    assert TopView().pressed("R", jobs, 10)[1] == "refresh"
    assert TopView().pressed("enter", [], 10) == (TopView(), "")


def test_of_a_job_that_has_gone_its_row_stays_chosen() -> None:
    jobs = [row(number) for number in range(5)]
    view = pressed("jjj", jobs)
    assert view.row_of(jobs[:3] + jobs[4:]) == 3
    assert view.row_of(jobs[:2]) == 1
    assert view.row_of([]) == 0
    assert view.row_of(jobs[::-1]) == 1


SEQUENCES = {
    b"\x1b[A": ["up"],
    b"\x1bOB": ["down"],
    b"\x1b[6~x": ["page down", "x"],
    b"\x1b[1;5A\x1b[200~q": ["q"],
    b"\r\x7f\xc3\xa9\x03": ["enter", "backspace", "é", "quit"],
    b"\x1b\x1b[B": ["escape", "down"],
    b"\x00\x01": [],
}


@pytest.mark.parametrize("data", SEQUENCES)
def test_bytes_are_keys_however_they_are_parted(data: bytes) -> None:
    for cut in range(len(data) + 1):
        reader = KeyReader()
        assert [*reader.feed(data[:cut]), *reader.feed(data[cut:])] == SEQUENCES[data]
        assert not reader.is_within


def test_escape_alone_is_a_key_when_nothing_follows() -> None:
    reader = KeyReader()
    assert [*reader.feed(b"a\x1b")] == ["a"]
    assert reader.is_within
    assert [*reader.flush()] == ["escape"]
    assert [*reader.flush()] == []


@given(st.binary(max_size=20), st.integers(0, 20))
def test_any_bytes_are_some_keys(data: bytes, cut: int) -> None:
    whole, parts = KeyReader(), KeyReader()
    known = [*whole.feed(data), *whole.flush()]
    assert [*parts.feed(data[:cut]), *parts.feed(data[cut:]), *parts.flush()] == known
    assert all(len(key) == 1 or key.replace(" ", "").isalpha() for key in known)


def pages(listing: Listing) -> Iterator[TopPage]:
    """Pages of no job, one and many, in every mode, with long and wide names."""
    many = tuple(
        row(
            n,
            job="job-of-a-very-long-name" * (n % 2) + str(n),
            user="日本語の名前" * (n % 3),
            waits_for="needs 12 hosts with 2 free slots each; " * (n % 4),
            lines=("a sentence " * 30, "and another"),
        )
        for n in range(60)
    )
    for jobs in ((), listing.jobs[:1], many):
        found = replace(listing, jobs=jobs)
        for mode, scroll in product(("table", "help", "explain", "words", "filter"), (0, 3)):
            view = TopView(job="59", mode=mode, scroll=scroll)  # type: ignore[arg-type]
            yield TopPage("f.yaml", view, found, "read", text=["\x1b[31mwhy\x1b[0m " * 40] * 9)
    yield TopPage("f.yaml", TopView())
    yield TopPage("f" * 300, TopView(), replace(listing, jobs=many), "bad " * 99, stale=True)


@pytest.mark.parametrize("size", [(80, 24), (20, 4), (40, 9), (200, 60), (79, 8)])
def test_a_screen_has_the_size_of_the_terminal(listing: Listing, size: tuple[int, int]) -> None:
    for page in pages(listing):
        lines = screen_lines(page, *size)
        assert len(lines) == size[1]
        assert all(cell_len(line.plain) <= size[0] for line in lines)
        assert not any(set("\x1b\r\n") & set(line.plain) for line in lines)
        assert page_size(page, *size) >= 1


def test_the_chosen_row_is_seen_wherever_it_is(listing: Listing) -> None:
    jobs = tuple(row(number) for number in range(100))
    for number, height in product((0, 7, 50, 99), (6, 10, 24)):
        page = TopPage("f", TopView(job=str(number)), replace(listing, jobs=jobs))
        marked = [line.plain for line in screen_lines(page, 80, height) if line.plain[:1] == ">"]
        assert [line.split()[0] for line in marked] == [f">{number}"]


def test_at_80_columns_the_columns_of_the_issue_fit(listing: Listing) -> None:
    text = "\n".join(line.plain for line in screen_lines(TopPage("f", TopView(), listing), 80, 24))
    head = "JOB USER QUEUE SLOTS STATE AS CONFIGURED POSSIBLE WAITS FOR"
    assert head in " ".join(text.split())


def test_the_help_names_every_key() -> None:
    jobs = [row(number) for number in range(3)]
    words = re.findall(r"[^\s,;:()]+", " ".join(map(" ".join, KEYS.items())))
    named = {word for word in words if len(word) == 1}
    start = TopView(job="1", row=1)
    keys = set(map(chr, range(33, 127)))
    work = {key for key in keys if start.pressed(key, jobs, 10) != (start, "")}
    assert work <= named
    assert named - work <= set("ua")  # after `f` only


def test_once_prints_every_row_and_no_colour_to_a_pipe() -> None:
    done = slotwise("top", EXAMPLE, "--once")
    assert (done.returncode, done.stderr) == (0, "")
    head, states, titles, small, large = done.stdout.splitlines()
    columns = "JOB USER QUEUE SLOTS STATE AS CONFIGURED POSSIBLE WAITS FOR"
    assert "slotwise top" in head
    assert "4 hosts, 16 slots, 1 running" in head
    assert states == " 2 pending: 1 held back, 1 starts now"
    assert titles.split() == columns.split()
    assert small.split() == ["small", "user", "default", "2", "starts", "now", "now", "now"]
    assert large.split()[:8] == ["large", "user", "default", "8", "held", "back", "2h", "now"]
    assert "\x1b" not in done.stdout
    assert slotwise("top", EXAMPLE).stdout == done.stdout  # there is no terminal


def test_once_filters_and_sorts() -> None:
    done = slotwise("top", "--example", "site", "--once", "--sort", "slots", "-q", "queue1")
    lines = done.stdout.splitlines()
    assert lines[1].endswith("[1 listed: sorted by slots, queue queue1]")
    assert [line.split()[0] for line in lines[3:]] == ["209"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["missing.yaml"], "missing.yaml: cannot be read: No such file"),
        ([], "give an instance file or --example NAME"),
        ([EXAMPLE, "--example", "site"], f"is the instance already: leave {EXAMPLE} out"),
        ([EXAMPLE, "--every", "soon"], "--every: must be a duration"),
        ([EXAMPLE, "--every", "0"], "--every: must be more than 0"),
    ],
)
def test_bad_input_is_one_message(words: list[str], said: str) -> None:
    done = slotwise("top", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_the_page_lives(tmp_path: Path) -> None:
    """Keys, a file that breaks and comes back, another size, and the terminal as it was."""
    file = copy_of(EXAMPLE, tmp_path)
    good = file.read_text("utf-8")
    with OnTerminal("top", file) as page:
        before = page.modes()
        page.shows("reading and planning")
        page.shows(">small", " large", "1 held back", "read 0s ago")
        assert page.modes() != before
        page.press("\x1b[B")
        page.shows(">large", "job large starts +2h as configured", "possible: now, proved")
        page.press("\r")
        text = page.shows("large starts +2h as configured", "cu[maxcus=2]")
        assert text.splitlines()[-1].strip() == "Up Down PgUp PgDn scroll   q or Esc back"
        page.press("\x1b")
        page.shows(">large", " small")
        page.press("fu")
        page.shows("[2 listed: user user]")
        page.press("/lar")
        page.until(lambda text: "/lar_" in text and "\n small" not in text)
        page.press("\x1b\x1b")
        page.shows(" small", "AS CONFIGURED")
        page.resize(60, 12)
        page.until(lambda text: len(text.splitlines()) == 12)
        file.write_text(good.replace("format: ", "forma: "), encoding="utf-8")
        page.shows("STALE", "stale, read ", ">large")
        file.write_text(good.replace("id: small", "id: other"), encoding="utf-8")
        page.until(lambda text: " other" in text and "STALE" not in text and "planning" not in text)
        page.press("q")
        assert page.ended() == 0
        assert page.said.endswith("\x1b[?25h\x1b[?1049l")
        assert max(map(len, page.screen)) <= 60


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"]
)
def test_a_signal_ends_it_and_gives_the_terminal_back(number: int, code: int) -> None:
    with OnTerminal("top", EXAMPLE, environment={"NO_COLOR": "1"}, fresh=True) as page:
        page.shows("reading")
        if number == signal.SIGINT:
            page.press("\x03")
        else:
            os.kill(page.child, number)
        assert page.ended() == code
        assert page.said.rfind("\x1b[?25h\x1b[?1049l") > page.said.rfind("\x1b[?1049h")
        assert not re.search(r"\x1b\[[0-9;]*3[0-9]", page.said)


def test_a_bad_file_ends_it_at_first(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("format: 99\n", encoding="utf-8")
    with OnTerminal("top", file) as page:
        assert page.ended() == 2
        assert page.said.split("\x1b[?1049l")[1].startswith("slotwise: ")


def test_standard_input_is_read_once(tmp_path: Path) -> None:
    with OnTerminal("top", "-") as page:
        assert page.ended() == 2
        assert "add --once" in page.said


def test_a_terminal_without_colours_or_cursor_prints_once() -> None:
    with OnTerminal("top", EXAMPLE, environment={"TERM": "dumb"}) as page:
        assert page.ended() == 0
        assert "large" in page.said
        assert "\x1b" not in page.said


def test_without_termios_there_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    from slotwise.cli.top.terminal import check_terminal

    check_terminal()
    monkeypatch.setitem(sys.modules, "termios", None)
    with pytest.raises(InputError, match="--once prints it"):
        check_terminal()


def test_sorted_rows_keep_priority_among_equals() -> None:
    jobs = [row(number, slots=number % 2) for number in range(20)]
    for reverse in (False, True):
        found = JobChoice("slots", reverse=reverse).of(jobs)
        for one, other in pairwise(found):
            assert one.slots != other.slots or int(one.job) < int(other.job)
