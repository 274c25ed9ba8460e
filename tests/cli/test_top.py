"""`slotwise top`: its rows, the live page under keys, printed once, on a terminal of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
from forked import slotwise
from on_terminal import OnTerminal
from sampling import some
from slotwise.cli.listing import JobChoice, Listing, listing_of
from slotwise.cli.source import WatchedSource
from slotwise.cli.top.about import head_lines, news
from slotwise.cli.top.page import TopApp
from slotwise.solver.outlook.outlook import outlook
from textual.pilot import Pilot
from textual.widgets import DataTable

EXAMPLE = sw.example("joint-wins")


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


def test_once_filters_and_sorts() -> None:
    done = slotwise("top", "--example", "site", "--once", "--sort", "slots", "-q", "queue1")
    lines = done.stdout.splitlines()
    head = lines.index(next(line for line in lines if line.startswith("10 pending")))
    assert lines[head].endswith("[1 listed: sorted by slots, queue queue1]")
    assert [line.split()[0] for line in lines[head + 3 :] if line.strip()] == ["209"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["missing.yaml"], "missing.yaml: cannot be read: No such file"),
        ([], "give an instance file or --example NAME"),
        ([EXAMPLE, "--example", "site"], f"is already the instance: remove {EXAMPLE}"),
        ([EXAMPLE, "--every", "soon"], "--every: must be a duration"),
        ([EXAMPLE, "--every", "0"], "--every: must be more than 0"),
    ],
)
def test_bad_input_is_one_message(words: list[str], said: str) -> None:
    done = slotwise("top", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


class Page:
    """The live page without a terminal: keys go in, the whole screen comes out."""

    def __init__(self, pilot: Pilot[None]) -> None:
        self.pilot = pilot
        self.app: Any = pilot.app

    @property
    def text(self) -> str:
        strips = self.app.screen._compositor.render_strips()  # noqa: SLF001 (no public way)
        return "\n".join(strip.text.rstrip() for strip in strips)

    @property
    def jobs(self) -> list[str]:
        table = self.app.screen.query_one(DataTable)
        return [str(table.get_row_at(place)[0]) for place in range(table.row_count)]

    async def shows(self, *words: str, without: str = "\0") -> str:
        """The screen, as soon as all these words are on it, and not another one."""
        for _ in range(600):
            await self.pilot.pause(0.05)
            if without not in self.text and all(word in self.text for word in words):
                return self.text
        raise AssertionError(self.text)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()


def on_page(file: Path, steps: Callable[[Page], Awaitable[None]], width: int = 80) -> TopApp:
    """Run the page of a file and return it after its end."""
    app = TopApp(WatchedSource(lambda: (sw.load(file), []), file.name, file), JobChoice(), None, 9)

    async def run() -> None:
        async with app.run_test(size=(width, 24)) as pilot:
            await steps(Page(pilot))

    asyncio.run(run())
    return app


def test_the_page_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys, the explanation of a job, a file that breaks and comes back."""
    monkeypatch.setenv("COLUMNS", "80")
    file = tmp_path / EXAMPLE.name
    good = EXAMPLE.read_text("utf-8")
    file.write_text(good, encoding="utf-8")

    async def steps(page: Page) -> None:
        await page.shows("1 held back", "job small starts now", "read 0s ago")
        assert page.jobs == ["small", "large"]
        await page.press("down")
        await page.shows("job large starts +2h as configured", "possible: now, proved")
        await page.press("enter")
        await page.shows("large starts +2h as configured", "cu[maxcus=2]", "back")
        await page.press("escape")
        await page.shows("small")
        file.write_text(good.replace("format: ", "forma: "), encoding="utf-8")
        await page.shows("stale, read ", "large")
        file.write_text(good.replace("id: small", "id: other"), encoding="utf-8")
        await page.shows(" other  user", without="stale")
        await page.press("h")
        await page.shows("sort by the next column", "CONFIGURED: when the simulated scheduler")
        await page.press("q", "q")

    assert on_page(file, steps).return_code == 0


def test_a_long_explanation_says_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Enter shows one sentence for as long as the plans take, whatever is finished."""
    seen = threading.Event()

    def slowly(*given: object) -> None:
        instance, job, _limit, _cancel, show = given
        show(sw.Progress(3, None, None, None, 1.5))  # type: ignore[operator]
        assert seen.wait(60)
        return sw.explain(instance, job)  # type: ignore[arg-type, return-value]

    monkeypatch.setattr("slotwise.cli.top.page.explained", slowly)

    async def steps(page: Page) -> None:
        await page.shows("small")
        await page.press("enter")
        await page.shows("examining what would start it earlier: 3 plans, 1.5 s")
        seen.set()
        await page.shows("small starts now as configured")
        await page.press("q", "q")

    file = tmp_path / EXAMPLE.name
    file.write_text(EXAMPLE.read_text("utf-8"), encoding="utf-8")
    assert on_page(file, steps).return_code == 0


def test_a_wide_page_has_the_chosen_job_beside_the_table() -> None:
    """Slots in use, times of the clock, the explanation as it comes, free slots, a copied line."""
    file = sw.example("tutorial")

    async def steps(page: Page) -> None:
        await page.shows("[████████████████████] 24/24 used  24h ███", "7 pending: 2 held back")
        shown = await page.shows("WHAT WOULD HELP", "1  bmod -n 2 110: starts 09:30, 4h earlier")
        row = next(line for line in shown.splitlines() if line.startswith(" 110 "))
        assert row.split()[:7] == ["110", "carla", "normal", "12", "13:30", "11:30", "2h"]
        assert "job 110 starts 13:30:11" in shown.splitlines()[4], "beside the head of the table"
        await page.press("1", "t")
        assert page.app.clipboard == "bmod -n 2 110"
        await page.shows("4h 30m")
        await page.press("w")
        await page.shows("FREE SLOTS", "nothing could start now without delaying a job")
        await page.press("escape", "q")

    on_page(file, steps, 160)


def test_what_has_changed_since_the_state_before(listing: Listing) -> None:
    """A start as much later as the state, or less than two cycles more, has not moved."""
    instance = listing.instance
    small, large = listing.jobs
    later = replace(
        listing,
        instance=replace(instance, now=instance.now + 600),
        jobs=(replace(small, job="new"), replace(large, configured=6000)),
    )
    assert news(listing, later) == "small is gone, new is new, large 10m earlier"
    assert news(listing, replace(later, jobs=(small, replace(large, configured=6719)))) == (
        "small 10m later"
    )


def test_hosts_that_take_no_jobs_are_named_with_their_status() -> None:
    instance = sw.load(EXAMPLE)
    first, *others = instance.cluster.hosts
    down = replace(first, status="unavail", name="h\x1b[1m")
    found = replace(instance, cluster=replace(instance.cluster, hosts=(down, *others)))
    listing = Listing(found, ())
    assert "not in use: h\\x1b[1m (unavail)" in list(head_lines("now", listing, JobChoice()))


#: Keys and the jobs that the page lists then; each line begins with the page as it came.
KEYS = (
    (("", "small large"), ("s", "large small"), ("r", "small large")),
    (("S", "small large"),),
    (("s", "large small"), ("escape", "small large")),
    (("j f s", "large"), ("f a", "small large"), ("f x", "small large")),
    (("slash l a r", "large"), ("enter r", "large")),
    (("slash l a r", "large"), ("escape", "small large"), ("slash q", "")),
)


def test_keys_sort_filter_find_and_come_back() -> None:
    async def steps(page: Page) -> None:
        await page.shows("1 held back")
        for line in KEYS:
            for keys, listed in line:
                await page.press(*keys.split())
                assert page.jobs == listed.split(), keys
            await page.press("escape", "escape", "k")

    on_page(EXAMPLE, steps)


@pytest.mark.parametrize(("number", "code"), some([(signal.SIGTERM, 143), (signal.SIGINT, 0)], 1))
def test_a_signal_ends_it_and_gives_the_terminal_back(number: int, code: int) -> None:
    with OnTerminal("top", EXAMPLE, environment={"NO_COLOR": "1"}, fresh=True) as page:
        page.said_until("\x1b[?1049h")
        page.said_until("reading")
        if number == signal.SIGINT:
            page.press("\x03")
        else:
            os.kill(page.child, number)
        assert page.ended() == code
        assert page.said.rfind("\x1b[?1049l") > page.said.rfind("\x1b[?1049h")


def test_a_bad_file_ends_it_at_first(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("format: 99\n", encoding="utf-8")
    with OnTerminal("top", file) as page:
        assert page.ended() == 2
        assert "slotwise: " in page.said.split("\x1b[?1049l")[1]


def test_standard_input_is_read_once(tmp_path: Path) -> None:
    with OnTerminal("top", "-") as page:
        assert page.ended() == 2
        assert "add --once" in page.said


def test_a_terminal_without_colours_or_cursor_prints_once() -> None:
    with OnTerminal("top", EXAMPLE, environment={"TERM": "dumb"}) as page:
        assert page.ended() == 0
        assert "large" in page.said
        assert "\x1b" not in page.said
