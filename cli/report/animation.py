"""Two Gantt charts side by side, the same jobs sliding to where they could be: SVG without script.

What moves does so by the style alone; where motion is unwanted the picture is its own result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...model.display import duration_text
from ...model.errors import InputError
from ...model.escaping import html_text
from ...solver.advice.comparison import ComparedJob, Comparison
from ...solver.advice.sentences import names_text, proof_sentence
from .about import About
from .bars import Bar, host_groups, ticks
from .data import Report, chart

#: Maximum number of hosts drawn: those with a moving job first, then others while there is space.
MAX_HOSTS = 10
#: Pixels: the picture, the left edges of its two parts, and within one the chart's left and width.
WIDTH, LEFTS, PART, INSET, CHART = 960, (20, 490), 450, 72, 340
#: The first row, the room below the rows, and between hosts of different units.
TOP, BELOW, GAP = 104, 90, 14
#: Pixels of a character of the small, middle and large text, about.
SMALL, MIDDLE, LARGE = 8.2, 8.8, 9.6
MAX_TICKS = 5
STYLE = """
.bg{fill:#f4f6f8}.card{fill:#fff;stroke:#d5dbe2}.row{fill:none;stroke:#d5dbe2}.gr{stroke:#e6eaee}
.run{fill:#c4ccd5}.plan{fill:#b9d2f5}.move{fill:#0b57d0}
.gh{fill:none;stroke:#a1420f;stroke-width:2;stroke-dasharray:6 5}.nw{stroke:#a1420f;stroke-width:2}
text{font:15px system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;fill:#4a5868}
.h{font-size:20px;font-weight:650;fill:#15202b}.s{font-size:17px;font-weight:600}.late{fill:#a1420f}
.good{fill:#136a43}.now{fill:#a1420f;font-weight:650}.tm{fill:#fff;font-size:17px;font-weight:700}
.tp{fill:#12315e;font-weight:600}.tr{fill:#26323f}
@media(prefers-color-scheme:dark){.bg{fill:#0e1318}.card{fill:#161c23;stroke:#2b3540}
.row{stroke:#2b3540}.gr{stroke:#222b34}.run{fill:#46525f}.plan{fill:#2b4c7c}.move{fill:#84b4ff}
.gh,.nw{stroke:#ffa16b}text{fill:#a5b2c0}.h{fill:#e7ecf2}.late,.now{fill:#ffa16b}.good{fill:#7fd8ad}
.tm{fill:#06203f}.tp{fill:#e2edfd}.tr{fill:#e7ecf2}}
"""
#: Shares of the eight seconds: first jobs move that make others possible, then those that gain;
#: then all return.
FIRST, THEN, BACK = (12, 24), (26, 42), 92


@dataclass(frozen=True, slots=True)
class Tile:
    """A rectangle of a job, over one host or over several whole ones below each other; pixels."""

    job: str
    kind: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class _Sheet:
    """Positions of hosts and times in one part of the picture."""

    #: Top of the row of each host, by index.
    rows: dict[int, float]
    height: float
    lanes: dict[int, int]
    begin: int
    end: int

    def x(self, time: int) -> float:
        """Return the pixels from the left of the chart."""
        share = (time - self.begin) / max(1, self.end - self.begin)
        return CHART * min(1.0, max(0.0, share))

    def blocks(self, bars: Iterable[Bar]) -> list[Tile]:
        """Return the bars as blocks; adjacent bars of whole hosts are one block."""
        found: list[Tile] = []
        for bar in sorted(bars, key=lambda bar: (bar.job, bar.start, self.rows.get(bar.host, 0))):
            if bar.host not in self.rows:
                continue
            lane = self.height / self.lanes[bar.host]
            begin, end = self.x(bar.start), CHART if bar.finish is None else self.x(bar.finish)
            block = Tile(
                *(bar.job, bar.kind, begin, self.rows[bar.host] + bar.first * lane),
                *(max(end - begin, 2.0), bar.count * lane),
            )
            last = found[-1] if found else None
            if last is not None and self._goes_on(last, block):
                found[-1] = replace(last, height=block.y + block.height - last.y)
            else:
                found.append(block)
        return found

    def _goes_on(self, last: Tile, block: Tile) -> bool:
        same = (last.job, last.kind, last.x, last.width) == (
            *(block.job, block.kind, block.x),
            block.width,
        )
        whole = block.height >= self.height - 0.5 and last.height >= self.height - 0.5
        return same and whole and 0 <= block.y - (last.y + last.height) < 2 * GAP


def animation_svg(report: Report) -> str:
    """Return the picture, equal for equal reports; raise InputError without two plans."""
    comparison = report.comparison
    if comparison is None:
        raise InputError("--animate shows two plans: give an instance and --method all")
    about = About(report)
    drawn = [chart(report, view).bars for view in report.views]
    moved = [row for row in comparison if row.as_configured_on and row.possible_on]
    first = max(moved, key=lambda row: row.earlier_by or 0, default=None)
    sheet = _sheet(report, drawn, _moving(comparison))
    before, after = (sheet.blocks(bars) for bars in drawn)
    gainers = {row.job for row in comparison if row.earlier_by}
    bottom = max(sheet.rows.values(), default=TOP) + sheet.height
    height = round(bottom + BELOW)
    today, possible = _words(about, comparison, first)
    keyframes, shown = _motions(before, after, gainers)
    parts = (
        _part(about, sheet, LEFTS[0], bottom, today, "".join(_static(before, gainers))),
        _part(about, sheet, LEFTS[1], bottom, possible, "".join(shown)),
    )
    title = "The same jobs, as the scheduler places them today and as they could be placed"
    said = f"Today: {today[1]}. Possible: {possible[1]}. {possible[2]}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-labelledby="t d"><title id="t">{title}</title>'
        f'<desc id="d">{html_text(said)}</desc><style>{STYLE}{keyframes}</style>'
        f'<rect width="{WIDTH}" height="{height}" class="bg" rx="14"/>{"".join(parts)}</svg>\n'
    )


def _moving(comparison: Comparison) -> set[str]:
    """Return the jobs whose start or hosts differ between the two plans."""
    return {
        row.job
        for row in comparison
        if row.sooner_by or dict(row.as_configured_on) != dict(row.possible_on)
    }


def _sheet(report: Report, drawn: Sequence[Iterable[Bar]], moving: set[str]) -> _Sheet:
    cluster = report.instance.cluster
    bars = [bar for each in drawn for bar in each]
    wanted = {bar.host for bar in bars if bar.job in moving}
    rest = [host for host in range(len(cluster.hosts)) if host not in wanted]
    chosen = sorted([*sorted(wanted), *rest][:MAX_HOSTS])
    home = {host: n for n, group in enumerate(host_groups(cluster)) for host in group.own}
    height = max(20.0, min(42.0, 300 / max(1, len(chosen))))
    rows: dict[int, float] = {}
    top = float(TOP)
    for place, host in enumerate(chosen):
        if place and home.get(host) != home.get(chosen[place - 1]):
            top += GAP
        rows[host] = top
        top += height + 4
    lanes = {host: max(1, cluster.hosts[host].slots) for host in chosen}
    for bar in bars:
        if bar.host in lanes:
            lanes[bar.host] = max(lanes[bar.host], bar.first + bar.count)
    shown = chart(report, report.views[0], bare=True)
    return _Sheet(rows, height, lanes, report.instance.now, shown.end)


def _words(
    about: About, comparison: Comparison, first: ComparedJob | None
) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
    """Return title, text on the job that gains most, and the sentence below the picture."""
    proof = proof_sentence(comparison.optimal).replace(" in priority order", "")
    if first is None or not first.earlier_by or first.as_configured is None:
        same = "every job starts as early as it can"
        return ("Scheduler today", same, ""), ("Possible", same, proof)
    name = _cut(first.job, 20)
    late = _start(about, first.as_configured)
    soon = f"{_start(about, first.possible)}, {duration_text(first.earlier_by)} earlier"
    return (
        ("Scheduler today", f"{name} starts {late}", _in_the_way(comparison, first)),
        ("Possible", f"{name} starts {soon}", proof),
    )


def _in_the_way(comparison: Comparison, first: ComparedJob) -> str:
    """Return the jobs that use slots where a job could run by then; else the reason why it
    waits.
    """
    assert first.possible is not None
    assert first.as_configured is not None
    names = [
        row.job
        for row in comparison
        if row is not first
        and set(row.as_configured_on) & set(first.possible_on)
        and row.as_configured is not None
        and row.as_configured < first.as_configured
        and (row.as_configured_end or first.as_configured) > first.possible
    ]
    if not names:
        why = first.held_back or first.waits_for
        return f"{first.job} {why}" if why else ""
    return f"{names_text(names)} run{'s' * (len(names) == 1)} on hosts where {first.job} could run"


def _start(about: About, time: int | None) -> str:
    """Return a start as text: ``now``, ``in 2h``, ``at 13:30``."""
    text = "never" if time is None else about.clock.short(time)
    if time is None or time == about.report.instance.now:
        return text
    return f"in {text}" if about.report.instance.origin is None else f"at {text}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _part(
    about: About, sheet: _Sheet, left: float, bottom: float, words: tuple[str, str, str], body: str
) -> str:
    """Return one of the two charts with its title and its axis."""
    title, head, foot = words
    x0, edge = left + INSET, left + 20
    late = "late" if left == LEFTS[0] else "good"
    lines = [
        f'<rect x="{left}" y="12" width="{PART}" height="{bottom + BELOW - 24:.0f}" rx="12" '
        f'class="card"/><text x="{edge}" y="44" class="h">{html_text(title)}</text>'
        f'<text x="{edge}" y="70" class="s {late}">{html_text(_cut(head, 46))}</text>'
    ]
    for time, text in _marks(about, sheet):
        x = x0 + sheet.x(time)
        now = " now" if time == about.report.instance.now else ""
        lines.append(
            f'<path class="gr" d="M{x:.1f} {TOP - 6}V{bottom + 6:.1f}"/><text x="{x:.1f}" '
            f'y="{bottom + 26:.1f}" class="ax{now}" text-anchor="middle">{html_text(text)}</text>'
        )
    hosts = about.report.instance.cluster.hosts
    for host, top in sheet.rows.items():
        middle = top + sheet.height / 2 + 5
        name = html_text(_cut(hosts[host].name, 8))
        lines.append(
            f'<rect x="{x0}" y="{top:.1f}" width="{CHART}" height="{sheet.height:.1f}" '
            f'class="row"/><text x="{x0 - 10}" y="{middle:.1f}" text-anchor="end">{name}</text>'
        )
    more = len(hosts) - len(sheet.rows)
    foot = _cut(foot, round((PART - 40) / SMALL)) if foot else ""
    if more > 0 and not foot:
        foot = f"and {more} more hosts"
    return (
        f'<g>{"".join(lines)}<g transform="translate({x0} 0)">{body}</g>'
        f'<path class="nw" d="M{x0} {TOP - 8}V{bottom + 8:.1f}"/>'
        f'<text x="{edge}" y="{bottom + 60:.1f}">{html_text(foot)}</text></g>'
    )


def _marks(about: About, sheet: _Sheet) -> Iterator[tuple[int, str]]:
    """Round times with their labels, now among them, none on top of another."""
    instance = about.report.instance
    yield instance.now, "now"
    for time, text in ticks(instance, sheet.begin, sheet.end, MAX_TICKS):
        if time != instance.now and sheet.x(time) > 45:
            yield time, text.split()[-1] if about.clock.day else text


def _rect(block: Tile, style: str) -> str:
    return (
        f'<rect x="{block.x + 1:.1f}" y="{block.y:.1f}" width="{max(block.width - 2, 1):.1f}" '
        f'height="{block.height:.1f}" rx="4" class="{style}"/>'
    )


def _label(block: Tile, style: str) -> str:
    """Return the name of the job as SVG, or "" if the block is too small."""
    size = MIDDLE if style == "tp" else LARGE if style == "tm" else SMALL
    room = int((block.width - 8) / size)
    if block.height < 15 or room < min(3, len(block.job)):
        return ""
    x, y = block.x + block.width / 2, block.y + block.height / 2 + 5
    name = html_text(_cut(block.job, room))
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}" text-anchor="middle">{name}</text>'


def _styles(block: Tile, gainers: set[str]) -> tuple[str, str]:
    if block.kind == "running":
        return "run", "tr"
    return ("move", "tm") if block.job in gainers else ("plan", "tp")


def _drawn(block: Tile, gainers: set[str]) -> str:
    """Return a block with the name of its job; a running job is marked as running."""
    style, words = _styles(block, gainers)
    named = replace(block, job="running") if block.kind == "running" else block
    return _rect(block, style) + _label(named, words)


def _static(blocks: Iterable[Tile], gainers: set[str]) -> Iterator[str]:
    for block in sorted(blocks, key=lambda block: block.kind != "running"):
        yield _drawn(block, gainers)


def _motions(
    before: Sequence[Tile], after: Sequence[Tile], gainers: set[str]
) -> tuple[str, list[str]]:
    """Return the keyframes and the blocks of the possible plan: ghosts, then moving blocks."""
    frames: list[str] = []
    ghosts: list[str] = []
    shown: list[str] = []
    for job in dict.fromkeys(block.job for block in after):
        old = [block for block in before if block.job == job]
        new = [block for block in after if block.job == job]
        for place, block in enumerate(new):
            body = _drawn(block, gainers)
            was = old[place] if place < len(old) else None
            moves = was is not None and (was.x, was.y) != (block.x, block.y)
            if block.kind == "running" or not moves:
                shown.append(body)
                continue
            assert was is not None
            name = f"m{len(frames)}"
            away = f"transform:translate({was.x - block.x:.1f}px,{was.y - block.y:.1f}px)"
            begin, end = THEN if job in gainers else FIRST
            frames.append(
                f".{name}{{animation:{name} 8s ease-in-out infinite}}"
                f"@keyframes {name}{{0%,{begin}%{{{away}}}{end}%,{BACK}%{{transform:none}}"
                f"100%{{{away}}}}}"
            )
            shown.append(f'<g class="{name}">{body}</g>')
        if job in gainers:
            ghosts += [_ghost(block) for block in old]
    style = "".join(frames)
    fade = "@keyframes g{0%,26%{opacity:0}34%,90%{opacity:1}100%{opacity:0}}"
    style += f".gh{{animation:g 8s linear infinite}}{fade}"
    return f"@media(prefers-reduced-motion:no-preference){{{style}}}", [*ghosts, *shown]


def _ghost(block: Tile) -> str:
    inner = replace(block, x=block.x + 2, y=block.y + 3, width=block.width - 4)
    return _rect(replace(inner, height=max(block.height - 6, 4)), "gh")
