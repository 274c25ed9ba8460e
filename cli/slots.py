"""``slotwise slots``: what could start right now without delaying any job; free slots over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ..model.display import WrittenTimes, day_clock_text, duration_text, some
from ..model.errors import InputError, Problem
from ..model.omissions import sentences
from .declare import command, option, taking, values_of
from .forecast import LikelyOptions
from .options import FORMAT, Format, Search, seconds_of
from .process import cancel_on_signal, give, left_of
from .source import Source
from .tables import Column, ListingRow, csv_text, json_text, listing_text, paragraph, strip_text

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.advice.slots import FreeSlots, Slots, SlotsRow

#: Wall-clock seconds of the search unless others are given.
TIME_LIMIT = 60
#: Rows of the default page.
PAGE = 12
_COLUMNS = (
    *(Column("HOSTS"), Column("SLOTS"), Column("FOR AT MOST", marked=True), Column("UNTIL")),
    Column("LINE TO PASTE", line=1, label=""),
)


@command
def slots(
    source: Source,
    *,
    queue: str = option("", "Queue of the job; else the default one.", "-q"),
    user: str = option("", "User who submits the job; limits and queues depend on it.", "-u"),
    until: str | None = option(
        None, "Also free slots over time, until then (24h).", metavar="TIME"
    ),
    every: bool = option(
        False, "All rows. Default: the largest row of each kind of hosts.", "--all"
    ),
    likely: Annotated[
        LikelyOptions,
        taking(
            "history samples seed",
            history="Log of finished jobs: with --until, also free slots in 9 of 10 forecasts.",
        ),
    ],
    search: Annotated[
        Search,
        taking(
            "time_limit", time_limit=f"Wall-clock seconds of the command; default {TIME_LIMIT}."
        ),
    ],
    format: Format = FORMAT,
) -> None:
    """List requests that would start now without delaying any job.

    Like LSF's bslots, but a job of each row is simulated: the job starts now, and no
    other job starts or ends later. Exit codes: 0 done, 2 bad input, 3 stopped early.
    """
    from ..solver.advice.slots import slots as slots_of

    seconds = None if until is None else seconds_of(until, "--until")
    if likely.history is not None and seconds is None:
        raise InputError([Problem("--history needs --until, such as --until 2h")])
    instance = source.read(search.time_limit)
    with cancel_on_signal() as cancel:
        found = slots_of(
            instance,
            queue=queue,
            user=user,
            until=seconds,
            every=every,
            history=likely.past(instance),
            **values_of(likely.settings(), "samples", "seed"),
            time_limit=left_of(TIME_LIMIT if search.time_limit is None else search.time_limit),
            cancel=cancel,
        )
    if format == "json":
        text = json_text(found.to_dict())
    elif format == "csv":
        text = csv_text(_CSV if seconds is None else _CSV_OVER_TIME, found.records())
    else:
        text = slots_text(instance, found, every)
    give(text, is_partial=found.is_partial)


_CSV = ("kind", "slots", "allocation", "at_most", "line", "delays", "why_not_longer")
_CSV_OVER_TIME = ("kind", "capacity", "time", "free", "whole_hosts", "running", "likely")


def slots_text(instance: Instance, found: Slots, every: bool) -> str:
    """Return the rows, and free slots over time; every: all rows."""
    page = found.rows if every else found.rows[:PAGE]
    ends = [found.now + row.at_most for row in page if row.at_most is not None]
    earliest = [] if found.earliest is None else [found.earliest]
    clock = WrittenTimes.of(instance, [found.now, *ends, *earliest])
    text = paragraph(f"in queue {found.queue}, as user {found.user}", instance=instance)
    if page:
        rows = [_row(clock, row) for row in page]
        text += listing_text(_COLUMNS, rows, instance=instance)
    if len(page) < len(found.rows):
        text += f"{len(found.rows) - len(page)} more rows: --all\n"
    text += paragraph(_sum(found, clock), instance=instance)
    for item in found.without_row:
        if item.why != found.nothing:
            names = f"{'host' if len(item.hosts) == 1 else 'hosts'} {some(item.hosts)}"
            text += paragraph(f"no row for {names}: {item.why}", instance=instance)
    for sentence in sentences(found.cautions):
        text += paragraph(sentence, instance=instance)
    if found.free_when:
        text += "\n" + _free_when(clock, found)
    return text


def _row(clock: WrittenTimes, row: SlotsRow) -> ListingRow:
    until, limit = row.why_not_longer, "no limit"
    if row.at_most is not None:
        limit = duration_text(row.at_most)
        if row.delays:
            until = f"{clock.text(clock.instance.now + row.at_most)}, job {row.delays}"
    hosts = len(row.allocation)
    where = f"{row.slots} on {hosts} host{'s' * (hosts != 1)}"
    return ListingRow((row.kind, where, limit, until, row.line), "now")


def _sum(found: Slots, clock: WrittenTimes) -> str:
    free = f"{found.free} slot{'s are' if found.free != 1 else ' is'} free"
    if found.free_of_queue != found.free:
        free += f", {found.free_of_queue} of them for jobs of queue {found.queue}"
    if found.rows:
        jobs = "the waiting job" if found.waiting == 1 else f"any of {found.waiting} waiting jobs"
        more = "; stopped early: more may fit" if found.is_partial else ""
        return f"{free}; each row by itself fits without delaying {jobs}{more}"
    if not found.nothing:
        return f"{free}; stopped before a row was found"
    why = f"{found.nothing} ({free})" if found.free else "no slot is free"
    earliest = ""
    if found.earliest is not None:
        size = "1 slot" if found.smallest == 1 else f"{found.smallest} slots"
        earliest = f"; a job of {size} would start {clock.text(found.earliest)}"
    return f"nothing could start now without delaying a job: {why}{earliest}"


def _free_when(clock: WrittenTimes, found: Slots) -> str:
    """Return the table and picture of free slots, planned starts included."""
    shown = [0, 2, 4, 8, 12, 24]
    columns = [
        Column("FREE SLOTS"),
        *(Column(day_clock_text(clock.instance, found.times[i])) for i in shown),
    ]
    rows = []
    for item in found.free_when:
        name = f"{item.kind} {item.capacity}"
        rows.append(ListingRow((name, *_values(item.free, shown), _strip(item.free, item))))
        if item.likely:
            values = _values(item.likely, shown)
            rows.append(ListingRow(("  9 in 10", *values, _strip(item.likely, item))))
    whole = [sum(values) for values in zip(*(i.whole_hosts for i in found.free_when), strict=True)]
    rows.append(ListingRow(("whole hosts", *_values(whole, shown), "")))
    table = listing_text((*columns, Column("OVER TIME")), rows)
    said = "If every job runs to its limit and nothing more is submitted."
    if found.free_when[0].likely:
        said += " 9 in 10: free in 9 of 10 forecasts from past run times and submissions."
    return table + paragraph(said, instance=clock.instance)


def _values(values: tuple[int, ...] | list[int], shown: list[int]) -> list[str]:
    return [str(values[index]) for index in shown]


def _strip(free: tuple[int, ...], item: FreeSlots) -> str:
    return strip_text(count / max(1, item.capacity) for count in free)
