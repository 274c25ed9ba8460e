"""Variants compared with today's configuration: every measure, its change, and the users
affected.

The variants of a study: the current cluster, each change alone, all together, and grids over them.

Intervals by resampling weeks: the jobs of one week share its load and are drawn together. Every
statistic is a function of how often each block (a week) is drawn. The first row of draws is the log
as it was, so that the first value of a statistic is the measured one. Two runs of the same jobs are
resampled by the same draws: what both had in common is not part of their difference.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...model.display import WEEK, AsData, data_of, duration_text
from ...model.errors import InputError, Problem, SlotwiseError, UnknownNameError
from ...model.escaping import html_table
from ...model.formats.file_format import Contents, ReadOptions
from ...model.formats.settings import Setting, changed, read_setting, split_values
from ...model.formats.units import parse_duration
from ...model.instance import Instance
from ...model.sources.registry import format_of
from ..scheduler.metrics import LoopMetrics, WaitComparison
from ..scheduler.simulation import horizon
from .run import (
    RUN_KEYS,
    Floats,
    Ints,
    JobColumns,
    Run,
    RunOptions,
    RunOutcome,
    Stop,
    options_of,
    perform,
    require_arguments,
)
from .workers import Lost, results_of

if TYPE_CHECKING:
    from pandas import DataFrame


#: Name of the unchanged configuration.
TODAY = "today"


@dataclass(frozen=True, slots=True)
class Variant:
    """One configuration: its changes (empty for the current one), and the changed cluster."""

    settings: tuple[Setting, ...]
    instance: Instance
    options: RunOptions

    @property
    def name(self) -> str:
        """Return the settings as they were given."""
        return " ".join(map(str, self.settings)) or TODAY

    @property
    def plain_settings(self) -> tuple[tuple[str, str], ...]:
        """Return key and value of each setting."""
        return tuple((setting.key, setting.value) for setting in self.settings)


def read_wishes(
    sets: Iterable[str], vary: Iterable[str]
) -> tuple[list[tuple[Setting, ...]], list[list[Setting]], list[Problem]]:
    """Return the variants of --set and the axes of --vary, and everything that is invalid.

    sets: each ``KEY=VALUE``, or several joined by ``;``, is one variant. vary: each ``KEY=A,B,C``
    is one axis of a grid.
    """
    wrong: list[Problem] = []
    found = [_set(text, wrong) for text in sets]
    grid = [axis for text in vary if (axis := _axis(text, wrong))]
    keys = [axis[0].key for axis in grid]
    wrong += [
        Problem(f"{key} is varied twice: give its values in one list", "--vary")
        for key in dict.fromkeys(key for key in keys if keys.count(key) > 1)
    ]
    return found, grid, wrong


def _set(text: str, wrong: list[Problem]) -> tuple[Setting, ...]:
    settings: list[Setting] = []
    for part in filter(None, split_values(text, ";")) if text.strip(" ;") else [text]:
        try:
            settings.append(read_setting(part))
        except InputError as error:
            wrong += error.problems
    keys = [setting.key for setting in settings]
    if len(set(keys)) < len(keys):
        again = next(key for key in keys if keys.count(key) > 1)
        wrong.append(Problem(f"sets {again} twice: give each key one value", f"--set {text}"))
    return tuple(settings)


def _axis(text: str, wrong: list[Problem]) -> list[Setting]:
    try:
        whole = read_setting(text, "--vary")
    except InputError as error:
        wrong += error.problems
        return []
    values = split_values(whole.value)
    if len(set(values)) < len(values):
        again = next(value for value in values if values.count(value) > 1)
        wrong.append(Problem(f"gives {again!r} twice: give each value once", f"--vary {text}"))
    return [Setting(whole.key, value, f"--vary {whole.key}={value}") for value in values]


def combinations(
    sets: Sequence[tuple[Setting, ...]], grid: Sequence[Sequence[Setting]]
) -> Iterator[tuple[Setting, ...]]:
    """Yield the changes of each variant.

    The current configuration, each set of changes alone, all together if no two of them give a key
    different values; and each point of the grid added to each of these.
    """
    together = tuple(setting for settings in sets for setting in settings)
    keys = [setting.key for setting in together]
    bases: list[tuple[Setting, ...]] = [(), *sets]
    if len(sets) > 1 and len(set(keys)) == len(keys):
        bases.append(together)
    yield from bases
    if grid:
        varied = {axis[0].key for axis in grid}
        for base in bases:
            kept = tuple(setting for setting in base if setting.key not in varied)
            if len(kept) == len(base):
                yield from ((*base, *point) for point in product(*grid))


def variants(
    site: Instance,
    wishes: Iterable[tuple[Setting, ...]],
    options: RunOptions,
    problems: Sequence[Problem] = (),
) -> list[Variant]:
    """Return the variants of a site. problems: errors found before.

    Raises InputError with these and every error in any variant.
    """
    found: dict[tuple[tuple[str, str], ...], Variant] = {}
    wrong = list(problems)
    for settings in wishes:
        of_cluster = [setting for setting in settings if setting.key not in RUN_KEYS]
        instance, bad_keys = changed(site, of_cluster, RUN_KEYS)
        run, bad_options = options_of(settings, instance or site, options)
        wrong += [*bad_keys, *bad_options]
        if instance is not None and not bad_options:
            key = tuple((setting.key, setting.value) for setting in settings)
            found.setdefault(key, Variant(settings, instance, run))
    if wrong:
        raise InputError(dict.fromkeys(wrong))
    return list(found.values())


#: Parameters by which a queue without jobs can change the jobs of other queues.
_OF_OTHERS = ("fairshare_queues", "slot_pool", "slot_share")


def without_effect(found: Sequence[Variant], runs: Sequence[Run]) -> dict[str, str]:
    """Return the variants that cannot change any start, by name, with the reason; found before
    any of them is run.

    Such a variant has the configuration of an earlier one, or differs from today's only in queues
    without jobs or in what no simulation uses.
    """
    reasons: dict[str, str] = {}
    for number, (variant, run) in enumerate(zip(found, runs, strict=True)):
        same = next(
            (
                other.name
                for other, earlier in zip(found[:number], runs[:number], strict=True)
                if earlier.options == run.options and other.instance == variant.instance
            ),
            None,
        )
        if same is not None:
            reasons[variant.name] = f"changes nothing: it is the configuration of {same}"
        elif number and run.options == runs[0].options:
            if _as_simulated(variant.instance) == _as_simulated(found[0].instance):
                reasons[variant.name] = "changes nothing: only solve --method slurm uses it"
                continue
            queues = _changed_queues(found[0].instance, variant.instance)
            if queues and not queues & _queues_in_use(run.instance):
                names = ", ".join(sorted(queues))
                reasons[variant.name] = f"changes nothing: no job is in queue {names}"
    return reasons


def _as_simulated(instance: Instance) -> Instance:
    """Return the instance without the settings that method slurm alone uses."""
    params = replace(instance.params, scheduler_parameters="", scheduler_version="")
    return replace(instance, params=params)


def _noted(outcome: RunOutcome, reason: str | None) -> RunOutcome:
    """Return an outcome with the reason for which its variant has no effect as its first note."""
    return outcome if reason is None else replace(outcome, notes=(reason, *outcome.notes))


def _changed_queues(today: Instance, then: Instance) -> set[str]:
    """Return the queues in which a configuration differs, if it differs in nothing else.

    Empty if another part differs too, or if such a queue can change jobs of other queues.
    """
    if replace(then, queues=today.queues) != today:
        return set()
    before = {queue.name: queue for queue in today.queues}
    after = {queue.name: queue for queue in then.queues}
    changed_ones = {name for name in before | after if before.get(name) != after.get(name)}
    versions = [each[name] for each in (before, after) for name in changed_ones if name in each]
    shared = any(getattr(queue, name) for queue in versions for name in _OF_OTHERS)
    children = {name for queue in (*today.queues, *then.queues) for name in queue.fairshare_queues}
    return set() if shared or changed_ones & children else changed_ones


def _queues_in_use(instance: Instance) -> set[str]:
    """Return the queues of all jobs of an instance."""
    running = (item.job for item in instance.running)
    return {job.queue for job in (*running, *instance.pending, *instance.future)}


#: Default length of a block in seconds, because use of a cluster repeats weekly; number of
#: resamplings.
DRAWS = 1000
#: Share of the resamplings within a confidence interval.
LEVEL = 0.95
#: Minimum number of blocks for a statement about random variation.
FEWEST = 3
#: Number of blocks below which intervals are rough, mostly too narrow.
FEW = 8


@dataclass(frozen=True, slots=True)
class Difference(AsData):
    """A change, and the interval that resampling gives it; None if there are too few blocks."""

    DATA: ClassVar = "change low high clear"

    #: Change of the measure.
    change: float
    #: Lower end of the 95 % interval, None if unknown.
    low: float | None
    #: Upper end of the 95 % interval, None if unknown.
    high: float | None

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def draws(blocks: int, seed: int, count: int = DRAWS) -> Floats:
    """Return how often each block is drawn, one row per resampling; the first row has each block
    once.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(blocks, np.full(blocks, 1 / blocks), size=count)
    return np.vstack((np.ones((1, blocks)), drawn))


def block_sums(values: Floats, block: Ints, blocks: int) -> Floats:
    """Return the sum of the values in each block."""
    return np.bincount(block, weights=values, minlength=blocks).astype(float)


def mean(weights: Floats, values: Floats, block: Ints) -> Floats:
    """Return the mean of the values under each row of weights; NaN if no value has a weight."""
    blocks = weights.shape[1]
    counts = np.bincount(block, minlength=blocks).astype(float)
    return ratio(weights @ block_sums(values, block, blocks), weights @ counts)


def ratio(above: Floats, below: Floats) -> Floats:
    """Return the quotient, NaN if the divisor is zero or missing."""
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def percentile(weights: Floats, values: Floats, block: Ints, which: float) -> Floats:
    """Return the interpolated percentile of the values, as numpy computes it; NaN without
    values.
    """
    order = np.argsort(values, kind="stable")
    ordered, blocks = values[order], block[order]
    found = np.full(len(weights), np.nan)
    for number, row in enumerate(weights):
        reached = np.cumsum(row[blocks])
        if not reached.size or reached[-1] < 1:
            continue
        place = (reached[-1] - 1) * which / 100
        low, high = np.searchsorted(reached, (np.floor(place), np.ceil(place)), side="right")
        part = place - np.floor(place)
        found[number] = ordered[low] + part * (ordered[high] - ordered[low])
    return found


def difference(today: Floats, then: Floats, blocks: int, level: float = LEVEL) -> Difference:
    """Return the change of a statistic from one run to another under equal resamplings.

    blocks: how many hold anything that it is made of.
    """
    changes = then - today
    drawn = changes[1:][~np.isnan(changes[1:])]
    if blocks < FEWEST or drawn.size < len(changes) // 2:
        return Difference(float(changes[0]), None, None)
    low, high = np.quantile(drawn, ((1 - level) / 2, (1 + level) / 2))
    return Difference(float(changes[0]), float(low), float(high))


#: What is compared: each a field of LoopMetrics, and how good is said of less (-1) or more (1).
MEASURES: Mapping[str, int] = {
    "mean_wait": -1,
    "p95_wait": -1,
    "big_mean_wait": -1,
    "big_p95_wait": -1,
    "utilisation": 1,
    "backfilled": 0,
    "estimates_met": 1,
    "pending": -1,
}
#: Kinds of groups of jobs.
KINDS = ("queue", "user", "size")
#: Least slots of the size classes.
SIZES = (1, 2, 5, 17, 65, 257, 1025, 4097)
COLUMNS = (
    *("variant", "kind", "group", "jobs", "measure"),
    *("today", "value", "change", "low", "high", "clear"),
)


@dataclass(frozen=True, slots=True)
class GroupChange(AsData):
    """Change of the mean wait of a group of jobs, in seconds."""

    DATA: ClassVar = (
        "kind group=name jobs today value=then change=difference.change low=difference.low "
        "high=difference.high clear=difference.clear"
    )

    #: "queue", "user" or "size" (slots). The interval of a group is as much wider as there are
    #: groups of its kind, so that of many users none is named by chance.
    kind: str
    name: str
    #: Number of jobs that started under the current configuration.
    jobs: int
    #: Value of the measure today.
    today: float
    #: Value of the measure with the variant.
    then: float
    difference: Difference


@dataclass(frozen=True, slots=True)
class ComparedVariant(AsData):
    """Measures of one variant in the comparison."""

    DATA: ClassVar = "variant=name settings=texts cycle metrics differences groups notes"

    name: str
    #: Key and value as they were given.
    settings: tuple[tuple[str, str], ...]
    metrics: LoopMetrics
    #: To today by measure, none of today's own.
    differences: Mapping[str, Difference]
    #: Name of the group whose wait changes.
    groups: tuple[GroupChange, ...]
    cycle: int
    notes: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        """Return the settings as KEY=VALUE."""
        return [f"{key}={value}" for key, value in self.settings]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Variants side by side, today's configuration first."""

    variants: tuple[ComparedVariant, ...]
    #: In which jobs were submitted.
    blocks: int
    #: Seconds of a block that is resampled.
    block: int = WEEK
    seed: int = 0
    #: Variants that were stopped before their end.
    unfinished: tuple[str, ...] = ()
    #: Simulated waits of the current configuration compared with recorded ones, if requested.
    calibration: tuple[WaitComparison, ...] = ()

    def __getitem__(self, name: str) -> ComparedVariant:
        for variant in self.variants:
            if variant.name == name:
                return variant
        raise UnknownNameError.among("variant", name, [item.name for item in self.variants])

    def __iter__(self) -> Iterator[ComparedVariant]:
        return iter(self.variants)

    def __len__(self) -> int:
        return len(self.variants)

    @property
    def complete(self) -> bool:
        """Whether every variant ran to its end."""
        return not self.unfinished

    @property
    def caution(self) -> str:
        """Return the caution about the confidence intervals, "" if there is none."""
        had = f"jobs were submitted in {self.blocks} of the blocks of {duration_text(self.block)}"
        if self.blocks < FEWEST:
            return f"{had}: too few to distinguish a gain from noise (--block sets shorter blocks)"
        return f"{had}: intervals from this few are rough" if self.blocks < FEW else ""

    def to_records(self) -> list[dict[str, Any]]:
        """Return one tidy table: a row per variant and measure, and per variant and group."""
        return [record for variant in self.variants for record in _records(variant, self)]

    def to_frame(self) -> DataFrame:
        """Return the table as a pandas data frame (pandas comes with OR-tools)."""
        import pandas

        return pandas.DataFrame(self.to_records(), columns=list(COLUMNS))

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as a JSON object."""
        return {
            **data_of(self, "complete unfinished block blocks"),
            "draws": DRAWS,
            "level": LEVEL,
            **data_of(self, "seed caution calibration variants"),
        }

    def _repr_html_(self) -> str:
        """Return the comparison as an HTML table for notebooks; waits in seconds, a star for
        clear changes.
        """
        rows = ((v.name, *(_cell(v, name) for name in MEASURES)) for v in self.variants)
        caption = f"what if: {len(self.variants)} variants, {self.blocks} blocks"
        return html_table(caption, ("variant", *(n.replace("_", " ") for n in MEASURES)), rows)


def _cell(variant: ComparedVariant, name: str) -> str:
    value = getattr(variant.metrics, name)
    shown = "" if value is None else f"{value:.4g}" if name in _SHARES else f"{value:.0f}"
    found = variant.differences.get(name)
    return f"{shown} *" if found is not None and found.clear else shown


_SHARES = frozenset({"utilisation", "estimates_met"})


def _records(variant: ComparedVariant, table: WhatIf) -> Iterator[dict[str, Any]]:
    first = table.variants[0]
    for name in MEASURES:
        found = variant.differences.get(name)
        today = getattr(first.metrics, name) if first.name == TODAY else None
        value = getattr(variant.metrics, name)
        yield _record(variant.name, "all", "", variant.metrics.jobs, name, today, value, found)
    for group in variant.groups:
        yield _record(
            variant.name,
            group.kind,
            group.name,
            group.jobs,
            "mean_wait",
            group.today,
            group.then,
            group.difference,
        )


def _record(*values: Any) -> dict[str, Any]:
    found: Difference | None = values[-1]
    ends = (None,) * 4 if found is None else (found.change, found.low, found.high, found.clear)
    return dict(zip(COLUMNS, (*values[:-1], *ends), strict=True))


def compare_outcomes(
    outcomes: Sequence[tuple[str, tuple[tuple[str, str], ...], RunOutcome]],
    *,
    block: int = WEEK,
    seed: int = 0,
    unfinished: Sequence[str] = (),
    calibrate: bool = False,
) -> WhatIf:
    """Return the comparison of outcomes by name and settings; the first is today's (else no
    comparison).

    seed: seed of the resampling.
    """
    first = outcomes[0][2]
    known = outcomes[0][0] == TODAY
    blocks = max(int(item.jobs.block.max(initial=0)) + 1 for _, _, item in outcomes)
    times = max(len(item.used) for _, _, item in outcomes)
    submitting = len(np.unique(first.jobs.block))
    of_jobs, of_time = draws(blocks, seed), draws(times, seed)
    rows = []
    for name, settings, item in outcomes:
        same = not known or item is first
        rows.append(
            ComparedVariant(
                name=name,
                settings=settings,
                metrics=item.metrics,
                differences={} if same else _differences(first, item, of_jobs, of_time),
                groups=() if same else _groups(first.jobs, item.jobs, of_jobs),
                cycle=item.cycle,
                notes=item.notes,
            )
        )
    calibration = first.waits if calibrate and known else ()
    return WhatIf(tuple(rows), submitting, block, seed, tuple(unfinished), calibration)


def _differences(
    today: RunOutcome, then: RunOutcome, of_jobs: Floats, of_time: Floats
) -> dict[str, Difference]:
    found = {}
    for name in MEASURES:
        if getattr(today.metrics, name) is None or getattr(then.metrics, name) is None:
            continue
        if name == "utilisation":
            weights, blocks = of_time, len(today.used)
        else:
            weights, blocks = of_jobs, len(np.unique(today.jobs.block))
        before, after = (statistic(name, item, weights) for item in (today, then))
        if np.isfinite(before[0]) and np.isfinite(after[0]):  # no time has no utilisation
            found[name] = difference(before, after, blocks)
    return found


def statistic(name: str, item: RunOutcome, weights: Floats) -> Floats:
    """Return a measure under each row of weights; weights of 1 give that of the metrics."""
    jobs = item.jobs
    started = ~np.isnan(jobs.wait)
    if name.startswith("big_"):
        started &= jobs.slots >= item.metrics.big_slots
    blocks = weights.shape[1]
    match name:
        case "mean_wait" | "big_mean_wait":
            return mean(weights, jobs.wait[started], jobs.block[started])
        case "p95_wait" | "big_p95_wait":
            return percentile(weights, jobs.wait[started], jobs.block[started], 95)
        case "utilisation":
            return ratio(
                weights @ _padded(item.used, blocks), weights @ _padded(item.there, blocks)
            )
        case "backfilled":
            return weights @ block_sums(jobs.backfilled, jobs.block, blocks)
        case "pending":
            return weights @ block_sums(jobs.pending, jobs.block, blocks)
        case "estimates_met":
            queued = jobs.queued > 0
            return mean(weights, jobs.met[queued], jobs.block[queued])
    raise UnknownNameError.among("measure", name, MEASURES)


def _padded(values: Sequence[float], length: int) -> Floats:
    return np.pad(np.array(values, dtype=float), (0, length - len(values)))


def size_class(slots: int) -> str:
    """Return the class of a size: ``1``, ``2-4``, ``5-16`` and so on, the last one without an
    end.
    """
    place = max(n for n, least in enumerate(SIZES) if slots >= least or not n)
    if place + 1 == len(SIZES):
        return f"{SIZES[-1]}+"
    low, high = SIZES[place], SIZES[place + 1] - 1
    return str(low) if low == high else f"{low}-{high}"


_LABELS: Mapping[str, Callable[[JobColumns], Sequence[str]]] = {
    "queue": lambda jobs: jobs.queue,
    "user": lambda jobs: jobs.user,
    "size": lambda jobs: [size_class(int(slots)) for slots in jobs.slots],
}


def _groups(today: JobColumns, then: JobColumns, weights: Floats) -> tuple[GroupChange, ...]:
    """Return groups of jobs that started in both runs, by the size of their change in job-hours."""
    found: list[GroupChange] = []
    for kind in KINDS:
        before, after = _by_group(today, kind), _by_group(then, kind)
        both = [name for name in before if name in after]
        level = 1 - (1 - LEVEL) / max(1, len(both))
        for name in both:
            (waits, block), (new, new_block) = before[name], after[name]
            change = difference(
                mean(weights, waits, block),
                mean(weights, new, new_block),
                len(np.unique(block)),
                level,
            )
            group = (kind, name, len(waits), float(waits.mean()), float(new.mean()))
            found.append(GroupChange(*group, change))
    found.sort(key=lambda item: -abs(item.difference.change) * item.jobs)
    return tuple(found)


def _by_group(jobs: JobColumns, kind: str) -> dict[str, tuple[Floats, Ints]]:
    """Return waits and blocks of the jobs that started, by group."""
    labels = np.array(_LABELS[kind](jobs), dtype=object)
    started = ~np.isnan(jobs.wait)
    places: dict[str, list[int]] = {}
    for place in np.flatnonzero(started).tolist():
        places.setdefault(str(labels[place]), []).append(place)
    return {name: (jobs.wait[at], jobs.block[at]) for name, at in sorted(places.items())}


def whatif(
    instance: Instance,
    sets: Sequence[str] = (),
    *,
    vary: Sequence[str] = (),
    log: str | Path | None = None,
    until: int | str | None = None,
    cycle: int | None = None,
    block: str = "7d",
    seed: int = 0,
    calibrate: bool = False,
    workers: int = 1,
    cancel: threading.Event | None = None,
) -> WhatIf:
    """Return variants of an instance compared with its present configuration, by the scheduler
    loop.

    sets: one variant each: ``queues.parallel.BACKFILL=N``, or several settings joined by ``;``; two
    or more are also applied together. vary: ``KEY=A,B``, one variant per value; several form a
    grid. log: lsb.acct or an SWF log, whose jobs replace those of the instance. until, cycle: as in
    simulate. block: length of the blocks that are resampled. seed: seed of the resampling.
    calibrate: also report the recorded waits of the log. workers: processes; a program with more
    than one needs the guard that multiprocessing requires. cancel: set it to stop; the result then
    has the finished variants and is not `complete`.

    Raises InputError with every invalid argument or setting, and SlotwiseError if no variant was
    finished.
    """
    numbers = {"seed": (seed, 0), "workers": (workers, 1)}
    numbers |= {} if cycle is None else {"cycle": (cycle, 0)}
    paths = {} if log is None else {"log": log}
    require_arguments(texts={"sets": sets, "vary": vary}, paths=paths, numbers=numbers)
    if calibrate and log is None:
        raise InputError([Problem("calibrate needs log, a log with recorded starts")])
    found_sets, grid, wrong = read_wishes(sets, vary)
    found = variants(instance, combinations(found_sets, grid), RunOptions(cycle=cycle), wrong)
    length = _block(block)
    runs = [_run_of(variant, log, until, length) for variant in found]
    reasons = without_effect(found, runs)
    stop = cancel or threading.Event()
    table = compared_runs(found, runs, reasons, workers, stop, seed=seed, calibrate=calibrate)
    if table is None:
        raise SlotwiseError("stopped before an answer was found")
    return table


def compared_runs(
    found: Sequence[Variant],
    runs: Sequence[Run],
    reasons: Mapping[str, str],
    workers: int,
    stop: Stop,
    *,
    seed: int,
    calibrate: bool,
    step: Callable[[], None] = lambda: None,
) -> WhatIf | None:
    """Return the comparison of the variants whose run was finished, None if there is none.

    reasons: of variants without effect. workers: processes. step: called after each run. Raises
    SlotwiseError if the process of a run dies repeatedly.
    """
    done = {}
    for number, result in results_of(perform, runs, workers, stop):
        if isinstance(result, Lost):
            raise SlotwiseError(f"{found[number].name}: {result.reason}")
        done[number] = result
        step()
    outcomes = [
        (found[n].name, found[n].plain_settings, _noted(done[n], reasons.get(found[n].name)))
        for n in sorted(done)
    ]
    unfinished = [variant.name for n, variant in enumerate(found) if n not in done]
    if not outcomes:
        return None
    block = runs[0].block
    return compare_outcomes(
        outcomes, block=block, seed=seed, unfinished=unfinished, calibrate=calibrate
    )


def _run_of(variant: Variant, log: str | Path | None, until: int | str | None, block: int) -> Run:
    given = _jobs(variant.instance, log)
    options = replace(variant.options, until=horizon(given.instance, until))
    return Run(given.instance, options, (), block, given.recorded)


def _jobs(site: Instance, log: str | Path | None) -> Contents:
    if log is None:
        return Contents(site)
    path = Path(log)
    return format_of(path).read(path, ReadOptions(cluster=site))


def _block(text: str) -> int:
    try:
        seconds = int(parse_duration(text))
    except ValueError as error:
        raise InputError(f"block: {error}") from error
    if seconds < 1:
        raise InputError(f"block: must be a positive time, not {text!r}")
    return seconds
