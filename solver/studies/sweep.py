"""A sweep: every case under every policy, parameter and seed, a cell each and a row each.

A case is a cluster, or a log on one pool of processors under a policy of `slotwise replay`.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...model.changes import Change
from ...model.confined import check_inside
from ...model.display import WEEK
from ...model.errors import InputError, Problem, SlotwiseError, nearest
from ...model.formats import dump_json, load
from ...model.formats.changes import load_changes
from ...model.formats.file_format import ChangedEstimates, DefaultLimit, ReadOptions
from ...model.formats.reading import digest
from ...model.formats.settings import Setting, changed
from ...model.formats.study import GIVE_HOSTS, CaseEntry, StudyDocument, load_study, settings_of
from ...model.formats.units import parse_duration
from ...model.generate import generate
from ...model.instance import Instance
from ...model.job import Job
from ...model.sources.registry import format_of
from ...model.sources.swf import with_estimates
from ...model.workload import Ints, Workload, within
from ..forecast.logs import read_log
from ..replay import Measuring, Replay, engine_of, policy_names
from ..replay import measure as pool_measures
from ..replay.measures import METRICS as POOL_METRICS
from ..scheduler.methods import RESERVATIONS
from ..scheduler.metrics import LoopMetrics, measure
from ..scheduler.simulation import horizon
from .run import RUN_KEYS, Run, RunOptions, Stop, options_of, require_arguments, simulation
from .workers import Lost, on_dask, results_of

if TYPE_CHECKING:
    from pandas import DataFrame


__all__ = ["POOL_KEYS", "POOL_METRICS", "is_of_pool", "read_setting", "replayed"]


def _schedule_after(text: str) -> str:
    if text not in ("event", "timestamp"):
        raise ValueError(f"must be event or timestamp, not {text!r}")
    return text


def _policy(text: str) -> str:
    engine_of(text)
    return text


def _processors(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"must be a whole number, 1 or more, not {text!r}")
    return int(text)


#: How the value of each key of a replay is read; a reader raises ValueError or InputError.
POOL_KEYS: Mapping[str, Callable[[str], Any]] = {
    "policy": _policy,
    "schedule_after": _schedule_after,
    "procs": _processors,
    "estimates": lambda text: ChangedEstimates.parse(text, "estimates"),
    "warm_up": parse_duration,
    "cool_down": parse_duration,
    "slowdown_threshold": parse_duration,
}
_MEASURING = ("warm_up", "cool_down", "slowdown_threshold")


def is_of_pool(settings: Sequence[Setting]) -> bool:
    """Return whether the settings of a cell name a policy of `slotwise replay`."""
    return any(setting.key == "policy" for setting in settings)


def read_setting(setting: Setting) -> Any:
    """Return the value of a key of a replay. Raises InputError."""
    said = setting.said or str(setting)
    if setting.key not in POOL_KEYS:
        known = ", ".join(POOL_KEYS)
        wrong = f"{setting.key} does not apply to a policy of replay: use one of {known}"
        raise InputError([Problem(wrong, said)])
    try:
        return POOL_KEYS[setting.key](setting.value)
    except InputError as error:
        raise InputError([replace(each, source=said, path="") for each in error.problems]) from None
    except ValueError as error:
        raise InputError([Problem(str(error), said)]) from None


def replayed(cell: Cell, stop: Stop | None) -> dict[str, Any] | None:
    """Return the metrics of a replay, None if it was stopped.

    Raises InputError, also for a case without a log.
    """
    case = cell.case
    if case.log is None:
        raise InputError(NO_LOG)
    given = {setting.key: read_setting(setting) for setting in cell.settings}
    if case.site is not None:
        slots = sum(host.slots for host in load(case.site).cluster.hosts)
        given = {"procs": slots} | given
    log = read_log(case.log, keep_going=case.keep_going, default_limit=case.limit).workload
    log = with_estimates(within(log, None, _end(log, cell.until)), given.get("estimates"))
    if cell.seed is not None:
        log = resampled_log(log, cell.seed)
    session = Replay(log, given["policy"], given.get("procs"), given.get("schedule_after"))
    while session.advance():
        if stop is not None and stop.is_set():
            return None
    measuring = Measuring(**{name: given[name] for name in _MEASURING if name in given})
    return pool_measures(session.result(), measuring).to_dict()


def _end(log: Workload, until: int | str | None) -> int | None:
    if until is None or not len(log):
        return None
    if isinstance(until, str) and not until.strip().isdecimal():
        return int(log.submit.min()) + parse_duration(until)
    return int(until)


def sampled_blocks(count: int, seed: int) -> list[int]:
    """Return a block of the past for each of `count` new blocks, sampled with replacement."""
    found: list[int] = np.random.default_rng(seed).integers(0, count, size=count).tolist()
    return found


def resampled_log(log: Workload, seed: int) -> Workload:
    """Return the log with its jobs resampled, whole blocks (weeks) with replacement.

    A job keeps its position within its week. It gets a new number, by the number of the new week.
    """
    if not len(log):
        return log
    order = np.argsort(log.submit, kind="stable")
    first = int(log.submit[order[0]])
    of_block = (log.submit[order] - first) // WEEK
    span = int(log.job.max()) + 1
    rows: list[Ints] = []
    moved: list[Ints] = []
    for new, old in enumerate(sampled_blocks(int(of_block[-1]) + 1, seed)):
        found = order[of_block == old]
        rows.append(found)
        moved.append(np.full(len(found), new, dtype=np.int64))
    at, week = np.concatenate(rows), np.concatenate(moved)
    columns: dict[str, Any] = {name: column[at] for name, column in log.columns().items()}
    columns["submit"] = columns["submit"] + (week - of_block[np.argsort(order)][at]) * WEEK
    columns["job"] = columns["job"] + week * span
    if log.preceding is not None:
        before = columns["preceding"]
        columns["preceding"] = np.where(before >= 0, before + week * span, -1)
    again = np.lexsort((columns["job"], columns["submit"]))
    columns = {name: column[again] for name, column in columns.items()}
    return replace(log, **columns)


def redrawn(instance: Instance, seed: int) -> Instance:
    """Return the instance with its future jobs resampled, whole weeks with replacement.

    A job keeps its time within the week, and its number is followed by that of the new week.
    Running and pending jobs stay.
    """
    jobs = instance.future
    if not jobs:
        return instance
    begin = min(job.submit for job in jobs)
    weeks: dict[int, list[Job]] = {}
    for job in jobs:
        weeks.setdefault((job.submit - begin) // WEEK, []).append(job)
    count = max(weeks) + 1
    future = [
        _moved(job, (new - old) * WEEK, new)
        for new, old in enumerate(sampled_blocks(count, seed))
        for job in weeks.get(old, ())
    ]
    return replace(instance, future=tuple(sorted(future, key=lambda job: job.submit)))


def _moved(job: Job, by: int, week: int) -> Job:
    def later(time: int | None) -> int | None:
        return None if time is None else time + by

    return replace(
        job,
        id=f"{job.id}w{week}",
        submit=job.submit + by,
        begin=later(job.begin),
        deadline=later(job.deadline),
    )


#: The message for a replay policy on a case without a log.
NO_LOG = "a replay policy needs a case with a log"
#: State of a cell.
DONE, FAILED = "done", "failed"
#: The numbers of a row: every metric that is one.
METRICS = tuple(
    item.name for item in fields(LoopMetrics) if not item.name.startswith("predictions")
)


@dataclass(frozen=True, slots=True)
class Case:
    """The input of a cell: files by their absolute paths, or a generated instance."""

    name: str
    site: str | None
    log: str | None
    hosts: int | None
    changes: str | None
    generated: tuple[tuple[str, Any], ...] | None
    keep_going: bool = False
    default_limit: str | None = None

    @property
    def limit(self) -> DefaultLimit | None:
        """Return the requested time of jobs without one."""
        return None if self.default_limit is None else DefaultLimit.parse(self.default_limit)


@dataclass(frozen=True, slots=True)
class Cell:
    """One simulation of a sweep."""

    #: Number of the cell, from 0.
    number: int
    case: Case
    policy: str
    settings: tuple[Setting, ...]
    #: Key and value as printed in the table.
    parameters: tuple[tuple[str, str], ...]
    #: Seed of the resampling, None without one.
    seed: int | None
    #: Last second of the simulation, or a duration; None if there is no end.
    until: int | str | None
    #: Key of a cell; equal for cells with equal options and content.
    digest: str
    #: Names of the numbers of a row, equal in all cells of a sweep.
    metrics: tuple[str, ...] = METRICS

    @property
    def name(self) -> dict[str, Any]:
        """Return the values that distinguish the cell from others."""
        return {
            "cell": self.number,
            "case": self.case.name,
            "policy": self.policy,
            **dict(self.parameters),
            "seed": self.seed,
        }


@dataclass(frozen=True, slots=True)
class Sweep:
    """The rows of a sweep in the order of its cells, each a mapping of the same columns."""

    name: str
    #: Names of the cases.
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    #: Number of cells without a row.
    unfinished: int = 0

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.rows)

    @property
    def failed(self) -> int:
        """Return the number of cells whose result is an error."""
        return sum(row["status"] == FAILED for row in self.rows)

    def to_records(self) -> list[dict[str, Any]]:
        """Return the table as plain data, one row per cell."""
        return [dict(row) for row in self.rows]

    def to_frame(self) -> DataFrame:
        """Return the rows as a pandas data frame (pandas comes with OR-tools)."""
        import pandas

        return pandas.DataFrame(self.to_records(), columns=list(self.columns))


def cells_of(path: Path, default_limit: str | None = None) -> tuple[StudyDocument, list[Cell]]:
    """Return the cells of a study in their order: cases, policies, parameters, seeds.

    default_limit: instead of that of the study. Raises InputError for a study that is malformed,
    and for a setting that fits no case.
    """
    study = load_study(path)
    if default_limit is not None:
        limit = DefaultLimit.parse(default_limit).text
        study = study.model_copy(update={"default_limit": limit})
    cases = [_case(case, study, path.parent) for case in study.cases]
    policies = _policies(study, path)
    axes = [
        [settings_of({key: value}, "parameters")[0] for value in values]
        for key, values in study.parameters.items()
    ]
    contents = {case: _content(case) for case in cases}
    seeds: Sequence[int | None] = study.seeds or [None]
    metrics = METRICS
    if any(is_of_pool((*fixed, *point)) for _, fixed in policies for point in product(*axes)):
        metrics += tuple(name for name in POOL_METRICS if name not in METRICS)
    # The parameter `estimates` has the column of that name; the count of first estimates has none.
    metrics = tuple(name for name in metrics if name not in study.parameters)
    cells: list[Cell] = []
    for case, (policy, fixed), point, seed in product(cases, policies, product(*axes), seeds):
        settings = (*fixed, *point)
        asked = [contents[case], [str(s) for s in settings], seed, study.until, version("slotwise")]
        asked += [] if metrics == METRICS else [list(metrics)]
        cell = Cell(
            number=len(cells) + 1,
            case=case,
            policy=policy,
            settings=settings,
            parameters=tuple((setting.key, setting.value) for setting in point),
            seed=seed,
            until=study.until,
            digest=hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:32],
            metrics=metrics,
        )
        cells.append(cell)
    _refuse_impossible(cells, path)
    return study, cells


def _policies(study: StudyDocument, path: Path) -> list[tuple[str, tuple[Setting, ...]]]:
    """Return names and settings of the policies. Raises InputError."""
    found = []
    wrong = []
    for number, policy in enumerate(study.policies):
        of_pool = policy.name in policy_names()
        given = policy.set or {"policy" if of_pool else "reservation": policy.name}
        method = given.get("reservation", "configured")
        if method not in RESERVATIONS:
            names = (*RESERVATIONS, *policy_names())
            said = f"unknown policy {method!r}{nearest(str(method), names)}: use one of "
            wrong.append(Problem(said + ", ".join(names), str(path), path=f"policies[{number}]"))
        found.append((policy.name, settings_of(given, f"policies[{number}].set")))
    if wrong:
        raise InputError(wrong)
    return found


def _case(entry: CaseEntry, study: StudyDocument, folder: Path) -> Case:
    def whole(name: str | None) -> str | None:
        return None if name is None else str((folder / name).resolve())

    made = None if entry.generate is None else tuple(entry.generate.model_dump().items())
    return Case(
        entry.title,
        whole(entry.site),
        whole(entry.log),
        entry.hosts,
        whole(entry.changes),
        made,
        study.keep_going,
        study.default_limit,
    )


def _content(case: Case) -> list[Any]:
    """Return the content of a case, regardless of the names and folders of its files."""
    try:
        site: Any = None if case.site is None else dump_json(load(case.site))
    except SlotwiseError as error:
        site = str(error)
    found: list[Any] = [site, case.hosts, case.generated, case.keep_going]
    if case.default_limit is not None:
        found.append(case.default_limit)
    for name in (case.log, case.changes):
        if name is not None:
            check_inside(name)
        try:
            found.append(None if name is None else digest(Path(name)))
        except InputError as error:  # the caller who runs the case reports it
            found.append(str(error))
    return found


def _refuse_impossible(cells: Sequence[Cell], path: Path) -> None:
    """Raise InputError if no case can be read, or if a setting fits none: the study is invalid
    then.
    """
    if wrong_pool := [*_wrong_on_pools(cells, path)]:
        raise InputError(dict.fromkeys(wrong_pool))
    cases = list(dict.fromkeys(cell.case for cell in cells))
    sites: dict[Case, Instance] = {}
    wrong: list[Problem] = []
    for case in cases:
        try:
            site = _site(case)
        except InputError as error:
            wrong += error.problems
        else:
            sites |= {} if site is None else {case: site}
    if wrong and not sites:
        raise InputError(wrong)
    if len(sites) < len(cases):
        return  # a case of unknown content may have the queue
    wrong = []
    for setting in dict.fromkeys(setting for cell in cells for setting in cell.settings):
        if setting.key in POOL_KEYS:
            continue
        found = [_wrong(setting, site) for site in sites.values()]
        if all(found):
            wrong += [replace(p, source=f"{path}: {p.source}") for p in found[0]]
    wrong += _too_early(sites, cells[0].until, path)
    if wrong:
        raise InputError(dict.fromkeys(wrong))


def _wrong_on_pools(cells: Sequence[Cell], path: Path) -> Iterator[Problem]:
    """Yield the errors of replay policies: values, keys that fit no cell, and cases without a log
    or hosts.
    """
    of_pool = [cell for cell in cells if is_of_pool(cell.settings)]
    for setting in dict.fromkeys(setting for cell in cells for setting in cell.settings):
        alone = all(setting not in cell.settings for cell in cells if cell not in of_pool)
        if setting.key not in POOL_KEYS and not (of_pool and alone):
            continue
        try:
            read_setting(setting)
        except InputError as error:
            yield from (replace(p, source=f"{path}: {p.source}") for p in error.problems)
    if of_pool and all(cell.case.log is None for cell in of_pool):
        yield Problem(NO_LOG, str(path))
    for number, case in enumerate(dict.fromkeys(cell.case for cell in cells)):
        lacks_hosts = case.log is not None and case.site is None and case.hosts is None
        if lacks_hosts and any(cell.case == case and cell not in of_pool for cell in cells):
            yield Problem(GIVE_HOSTS, str(path), path=f"cases[{number}]")


def _too_early(
    sites: Mapping[Case, Instance], until: int | str | None, path: Path
) -> list[Problem]:
    """Return the error that `until` precedes the begin of every case; logs with an unknown begin
    pass.
    """
    wrong: list[Problem] = []
    for case, site in sites.items():
        try:
            if case.log is not None or horizon(site, until) is None:
                return []
        except InputError as error:
            wrong += error.problems
        else:
            return []
    return [replace(problem, source=str(path)) for problem in wrong[:1]]


def _site(case: Case) -> Instance | None:
    """Return the cluster of a case, None if the log defines it. Raises InputError."""
    if case.generated is not None:
        return generate(hosts=1, running=0, pending=0)
    for name in (case.log, case.changes):
        if name is None:
            continue
        check_inside(name)
        if not os.path.isfile(name):
            raise InputError([Problem("must be an existing file", name)])
    return None if case.site is None else load(case.site)


def _wrong(setting: Setting, site: Instance) -> list[Problem]:
    if setting.key in RUN_KEYS:
        return options_of([setting], site, RunOptions())[1]
    return changed(site, [setting], RUN_KEYS)[1]


def run_cell(cell: Cell, stop: Stop | None = None) -> dict[str, Any] | None:
    """Return the row of a cell, its numbers or its error; None if the run was stopped."""
    try:
        if is_of_pool(cell.settings):
            metrics = replayed(cell, stop)
        else:
            result = simulation(_run(cell), stop)
            metrics = asdict(measure(result)) if result.complete else None
        if metrics is None:
            return None
        return row_of(cell, {name: metrics.get(name) for name in cell.metrics})
    except SlotwiseError as error:
        return row_of(cell, error="; ".join(str(error).splitlines()))
    except Exception as error:  # a cell is one of many
        return row_of(cell, error=f"{type(error).__name__}: {error}")


def row_of(cell: Cell, numbers: Mapping[str, Any] | None = None, error: str = "") -> dict[str, Any]:
    """Return a row of the table."""
    status = FAILED if numbers is None else DONE
    values = dict.fromkeys(cell.metrics) if numbers is None else numbers
    return {**cell.name, "status": status, "error": error, **values}


def rows_of(
    cells: Sequence[Cell], client: Any, workers: int, stop: Stop
) -> Iterator[tuple[Cell, dict[str, Any], bool]]:
    """Yield cells with their rows as they arrive, and whether another run would give the same row.

    client: of a Dask cluster; None if there is none: `workers` processes are used then.
    """
    if client is not None:
        coming = on_dask(run_cell, cells, client, stop)
    else:
        coming = results_of(run_cell, cells, workers, stop)
    for number, result in coming:
        if isinstance(result, Lost):
            yield cells[number], row_of(cells[number], error=result.reason), False
        else:
            yield cells[number], result, True


def columns_of(cells: Iterable[Cell]) -> tuple[str, ...]:
    """Return the columns of every row."""
    return tuple(row_of(next(iter(cells))))


def _run(cell: Cell) -> Run:
    """Return the simulation of a cell. Raises InputError."""
    instance, changes = _workload(cell)
    options, wrong = options_of(cell.settings, instance, RunOptions())
    if wrong:
        raise InputError(wrong)
    until = horizon(instance, cell.until)
    return Run(instance, replace(options, until=until), changes)


def _workload(cell: Cell) -> tuple[Instance, tuple[Change, ...]]:
    case = cell.case
    others = (*RUN_KEYS, "estimates")
    of_cluster = [setting for setting in cell.settings if setting.key not in others]
    site: Instance | None = None
    if case.generated is not None:
        site = generate(**dict(case.generated), seed=cell.seed or 0)
    elif case.site is not None:
        site = load(case.site)
    if site is not None:
        site = _set(site, of_cluster)
    if case.log is not None:
        path = Path(case.log)
        changed_to = [read_setting(each) for each in cell.settings if each.key == "estimates"]
        estimates = changed_to[-1] if changed_to else None
        options = ReadOptions(case.hosts, site, case.keep_going, case.limit, estimates)
        given = format_of(path).read(path, options).instance
        site = _set(given, of_cluster) if site is None else given
    assert site is not None
    if cell.seed is not None and case.generated is None:
        site = redrawn(site, cell.seed)
    changes = () if case.changes is None else load_changes(case.changes, site)
    return site, tuple(changes)


def _set(instance: Instance, settings: Sequence[Setting]) -> Instance:
    found, wrong = changed(instance, settings, RUN_KEYS)
    if found is None:
        raise InputError(wrong)
    return found


def sweep(
    study: str | Path,
    *,
    workers: int = 1,
    client: Any = None,
    default_limit: str | None = None,
    cancel: threading.Event | None = None,
) -> Sweep:
    """Run every cell of a study (docs/sweep.md); a bad cell is a row with its error.

    workers: processes; with more than one a program needs the guard that multiprocessing asks for.
    client: a distributed.Client, whose cluster takes their place. default_limit: requested time of
    jobs without one, instead of that of the study. cancel: set it to stop; the rows
    that are done are returned.
    Raises InputError for arguments that are none and for a study that is malformed.
    """
    require_arguments(paths={"study": study}, numbers={"workers": (workers, 1)})
    read, cells = cells_of(Path(study), default_limit)
    stop = cancel or threading.Event()
    rows = {cell: row for cell, row, _ in rows_of(cells, client, workers, stop)}
    done = tuple(rows[cell] for cell in cells if cell in rows)
    return Sweep(read.name or Path(study).stem, columns_of(cells), done, len(cells) - len(done))
