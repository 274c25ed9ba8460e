"""A recorded workload: jobs as arrays, each asking for a number of identical processors."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InputError, Problem

Ints = NDArray[np.int64]
#: Reason for which a job without a requested time is dropped.
NO_REQUEST = "requested time not positive"


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """Jobs of a recorded workload as arrays in file order; all arrays int64 of shape (n,).

    Arrays are read-only. Use `Workload.of` to build one from plain sequences.
    """

    #: Number of the job in the log, unique.
    job: Ints
    #: Submission time in seconds, non-decreasing.
    submit: Ints
    #: Real run time in seconds.
    run_time: Ints
    #: Requested run time in seconds.
    req_time: Ints
    #: Number of processors in use while running.
    procs: Ints
    #: Number of the user in the log, -1 if unknown.
    user: Ints
    #: Number of the queue in the log, -1 if unknown.
    queue: Ints
    #: Number of processors of the machine by the log, None if not stated.
    max_procs: int | None = None
    #: Name of the log.
    source: str = ""
    #: Header of the log, value by key.
    header: Mapping[str, str] = field(default_factory=dict)
    #: Number of dropped jobs by reason.
    left_out: Mapping[str, int] = field(default_factory=dict)
    #: Number of repaired or completed records by kind of repair.
    notes: Mapping[str, int] = field(default_factory=dict)
    #: Number of the job after whose end the job is submitted, -1 if none.
    preceding: Ints | None = None
    #: Minimum seconds after that end. Both arrays are None if no job of the log has a preceding
    #: job.
    think: Ints | None = None

    def __post_init__(self) -> None:
        columns = self.columns()
        if len({len(column) for column in columns.values()}) > 1:
            lengths = ", ".join(f"{name} {len(column)}" for name, column in columns.items())
            raise InputError(f"workload columns must all have the same length, not {lengths}")
        for column in columns.values():
            column.setflags(write=False)

    def __len__(self) -> int:
        return len(self.job)

    @classmethod
    def of(
        cls,
        submit: ArrayLike,
        run_time: ArrayLike,
        req_time: ArrayLike,
        procs: ArrayLike,
        *,
        job: ArrayLike | None = None,
        max_procs: int | None = None,
    ) -> Workload:
        """Return a workload from sequences of ints; jobs are numbered from 1 unless `job` is
        given.
        """
        start = np.array(submit, dtype=np.int64)
        count = len(start)
        return cls(
            job=np.arange(1, count + 1) if job is None else np.array(job, dtype=np.int64),
            submit=start,
            run_time=np.array(run_time, dtype=np.int64),
            req_time=np.array(req_time, dtype=np.int64),
            procs=np.array(procs, dtype=np.int64),
            user=np.full(count, -1, dtype=np.int64),
            queue=np.full(count, -1, dtype=np.int64),
            max_procs=max_procs,
        )

    def columns(self) -> dict[str, Ints]:
        """Return the arrays by name, in the order of the fields."""
        named = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in named.items() if isinstance(value, np.ndarray)}

    def digest(self) -> str:
        """Return SHA-256 over the inputs of a schedule: number, submit, run, request and
        processors.
        """
        content = hashlib.sha256()
        for column in (self.job, self.submit, self.run_time, self.req_time, self.procs):
            content.update(np.ascontiguousarray(column, dtype="<i8").tobytes())
        for more in (self.preceding, self.think):
            if more is not None:
                content.update(np.ascontiguousarray(more, dtype="<i8").tobytes())
        return content.hexdigest()


#: Repair of jobs whose preceding job does not exist or is not earlier.
NO_SUCH_JOB = "a preceding job that does not exist, or is later in the log, ignored"
#: Repair of jobs whose preceding job is in the log and not replayed.
SKIPPED_JOB = "a preceding job that is itself skipped, ignored: the recorded submission counts"
#: Reason for which a job is dropped that is submitted before or after a period.
OTHER_PERIOD = "submitted outside the selected period"


def predecessors(workload: Workload) -> Ints:
    """Return the position of the job that each follows, always an earlier one; -1 if none."""
    count = len(workload)
    if workload.preceding is None or not count:
        return np.full(count, -1, dtype=np.int64)
    order = np.argsort(workload.job, kind="stable")
    at = np.searchsorted(workload.job[order], workload.preceding)
    place = order[np.minimum(at, count - 1)]
    known = (workload.job[place] == workload.preceding) & (place < np.arange(count))
    return np.where(known, place, -1)


def canonical(workload: Workload, procs: int) -> Workload:
    """Return the jobs that a machine of `procs` processors can replay, in canonical form.

    Jobs without a positive run time, request or size, and jobs larger than the machine, are dropped
    and counted in `left_out`, each under the first reason that applies; a run longer than its
    request is truncated to it; jobs are sorted by (submit, number).
    """
    reasons = {
        "run time not positive": workload.run_time <= 0,
        NO_REQUEST: workload.req_time <= 0,
        "requested processors not positive": workload.procs <= 0,
        f"more than the machine's {procs} processors": workload.procs > procs,
    }
    keep = np.ones(len(workload), dtype=bool)
    left_out = dict(workload.left_out)
    for reason, wrong in reasons.items():
        if count := int(np.count_nonzero(wrong & keep)):
            left_out[reason] = left_out.get(reason, 0) + count
        keep &= ~wrong
    order = np.flatnonzero(keep)
    order = order[np.lexsort((workload.job[order], workload.submit[order]))]
    columns = {name: column[order] for name, column in workload.columns().items()}
    columns["run_time"] = np.minimum(columns["run_time"], columns["req_time"])
    made = Workload(
        **columns,
        max_procs=workload.max_procs,
        source=workload.source,
        header=workload.header,
        left_out=left_out,
        notes=workload.notes,
    )
    made = _without_skipped(made, workload)
    if made.preceding is None:
        return made
    return _without_preceding(made, (made.preceding >= 0) & (predecessors(made) < 0), NO_SUCH_JOB)


def within(workload: Workload, begin: int | None, end: int | None) -> Workload:
    """Return the jobs submitted in [begin, end), seconds of the log; None: no limit.

    The others are counted in `left_out`. Raises InputError if no job is submitted then.
    """
    if begin is None and end is None:
        return workload
    keep = np.ones(len(workload), dtype=bool)
    keep &= True if begin is None else workload.submit >= begin
    keep &= True if end is None else workload.submit < end
    if not keep.any() and len(workload):
        first, last = int(workload.submit.min()), int(workload.submit.max())
        text = (
            f"no job is submitted from second {first if begin is None else begin} "
            f"until second {last + 1 if end is None else end}; submissions are {first} to {last}"
        )
        raise InputError([Problem(text, workload.source)])
    skipped = int(np.count_nonzero(~keep))
    left_out = {**workload.left_out, **({OTHER_PERIOD: skipped} if skipped else {})}
    columns: dict[str, Any] = {name: column[keep] for name, column in workload.columns().items()}
    return _without_skipped(replace(workload, **columns, left_out=left_out), workload)


def _without_skipped(part: Workload, whole: Workload) -> Workload:
    """Return a part of a workload without preceding jobs that are in the whole alone."""
    if part.preceding is None:
        return part
    wanted = part.preceding
    lost = np.isin(wanted, whole.job) & ~np.isin(wanted, part.job) & (wanted >= 0)
    return _without_preceding(part, lost, SKIPPED_JOB)


def _without_preceding(workload: Workload, wrong: NDArray[np.bool_], note: str) -> Workload:
    """Return a workload in which the `wrong` jobs follow no job, which a note counts."""
    if workload.preceding is None or not wrong.any():
        return workload
    notes = {**workload.notes, note: workload.notes.get(note, 0) + int(np.count_nonzero(wrong))}
    return replace(workload, preceding=np.where(wrong, -1, workload.preceding), notes=notes)


def machine_size(workload: Workload, procs: int | None) -> int:
    """Return `procs` if given, else the size that the log states.

    Raises InputError if neither is a positive number.
    """
    size = workload.max_procs if procs is None else procs
    if size is None and not len(workload) and not workload.left_out:
        message = "the log has no jobs and no MaxProcs: give the machine's size with --procs"
        raise InputError([Problem(message, workload.source)])
    if size is None:
        message = "the log does not state MaxProcs; give the machine's size with --procs"
        raise InputError([Problem(message, workload.source)])
    if size <= 0:
        raise InputError([Problem(f"must be 1 processor or more, not {size}", workload.source)])
    return size
