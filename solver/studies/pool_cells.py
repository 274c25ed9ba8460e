"""Cells of a sweep on one pool of processors: a log under a policy of `slotwise replay`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...model.display import WEEK
from ...model.errors import InputError, Problem
from ...model.formats.file_format import ChangedEstimates, DefaultLimit
from ...model.formats.settings import Setting
from ...model.formats.units import parse_duration
from ...model.sources.swf import with_estimates
from ...model.workload import Ints, Workload, within
from ..forecast.logs import read_log
from ..replay import Measuring, Replay, engine_of, measure
from ..replay.measures import METRICS as POOL_METRICS
from .run import Stop

__all__ = ["POOL_KEYS", "POOL_METRICS", "PoolCell", "is_of_pool", "read_setting", "replayed"]


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
        wrong = f"{setting.key} does not apply to a policy on one pool, which takes {known}"
        raise InputError([Problem(wrong, said)])
    try:
        return POOL_KEYS[setting.key](setting.value)
    except InputError as error:
        raise InputError([replace(each, source=said, path="") for each in error.problems]) from None
    except ValueError as error:
        raise InputError([Problem(str(error), said)]) from None


@dataclass(frozen=True, slots=True)
class PoolCell:
    """The input of a replay."""

    log: str
    #: Number of processors of the site of the case, None to take those of the log.
    procs: int | None
    keep_going: bool
    default_limit: str | None
    settings: tuple[Setting, ...]
    seed: int | None
    #: Only jobs submitted before are replayed: a second of the log, or a time such as 7d from its
    #: first submission.
    until: int | str | None


def replayed(cell: PoolCell, stop: Stop | None) -> dict[str, Any] | None:
    """Return the metrics of a replay, None if it was stopped. Raises InputError."""
    given = {setting.key: read_setting(setting) for setting in cell.settings}
    limit = None if cell.default_limit is None else DefaultLimit.parse(cell.default_limit)
    log = read_log(cell.log, keep_going=cell.keep_going, default_limit=limit).workload
    log = with_estimates(within(log, None, _end(log, cell.until)), given.get("estimates"))
    if cell.seed is not None:
        log = resampled_log(log, cell.seed)
    procs = given.get("procs", cell.procs)
    session = Replay(log, given["policy"], procs, given.get("schedule_after"))
    while session.advance():
        if stop is not None and stop.is_set():
            return None
    measuring = Measuring(**{name: given[name] for name in _MEASURING if name in given})
    return measure(session.result(), measuring).to_dict()


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


def resampled_log(log: Workload, seed: int, block: int = WEEK) -> Workload:
    """Return the log with its jobs resampled, whole blocks (weeks) with replacement.

    A job keeps its position within its week. It gets a new number, by the number of the new week.
    """
    if not len(log):
        return log
    order = np.argsort(log.submit, kind="stable")
    first = int(log.submit[order[0]])
    of_block = (log.submit[order] - first) // block
    span = int(log.job.max()) + 1
    rows: list[Ints] = []
    moved: list[Ints] = []
    for new, old in enumerate(sampled_blocks(int(of_block[-1]) + 1, seed)):
        found = order[of_block == old]
        rows.append(found)
        moved.append(np.full(len(found), new, dtype=np.int64))
    at, week = np.concatenate(rows), np.concatenate(moved)
    columns: dict[str, Any] = {name: column[at] for name, column in log.columns().items()}
    columns["submit"] = columns["submit"] + (week - of_block[np.argsort(order)][at]) * block
    columns["job"] = columns["job"] + week * span
    if log.preceding is not None:
        before = columns["preceding"]
        columns["preceding"] = np.where(before >= 0, before + week * span, -1)
    again = np.lexsort((columns["job"], columns["submit"]))
    columns = {name: column[again] for name, column in columns.items()}
    return replace(log, **columns)
