"""A recorded workload: jobs as arrays, each asking for a number of identical processors."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InputError, Problem

Ints = NDArray[np.int64]
#: Why a job without a requested time is left out.
NO_REQUEST = "requested time not positive"


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """n jobs in the order in which ties are broken (file order); all arrays int64 of shape (n,).

    Arrays are read-only. Use `Workload.of` to build one from plain sequences.
    """

    #: Number in the log, unique.
    job: Ints
    #: Seconds, non-decreasing.
    submit: Ints
    #: True duration, seconds.
    run_time: Ints
    #: Requested duration, seconds.
    req_time: Ints
    #: Processors held while running.
    procs: Ints
    #: Numbers of users in the log, -1 for unknown.
    user: Ints
    #: Numbers of queues in the log, -1 for unknown.
    queue: Ints
    #: The machine's size as the log states it, or None.
    max_procs: int | None = None
    source: str = ""
    header: Mapping[str, str] = field(default_factory=dict)
    #: Reason to number of jobs that were dropped on the way here.
    left_out: Mapping[str, int] = field(default_factory=dict)
    #: What was repaired or filled in on the way here, to how many records.
    notes: Mapping[str, int] = field(default_factory=dict)
    #: Number of the job after whose end one is submitted, -1 for none.
    preceding: Ints | None = None
    #: How many seconds after that, at least. Both None where no job of the log has one.
    think: Ints | None = None

    def __post_init__(self) -> None:
        columns = self.columns()
        if len({len(column) for column in columns.values()}) > 1:
            raise InputError("The columns of a workload must be of one length.")
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
        """A workload from sequences of ints; jobs are numbered from 1 unless `job` is given."""
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
        """The arrays by name, in the order of the fields."""
        named = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in named.items() if isinstance(value, np.ndarray)}

    def digest(self) -> str:
        """SHA-256 over what decides a schedule: number, submit, run, request and processors."""
        content = hashlib.sha256()
        for column in (self.job, self.submit, self.run_time, self.req_time, self.procs):
            content.update(np.ascontiguousarray(column, dtype="<i8").tobytes())
        for more in (self.preceding, self.think):
            if more is not None:
                content.update(np.ascontiguousarray(more, dtype="<i8").tobytes())
        return content.hexdigest()


#: Of jobs whose preceding job is none that they could follow.
NO_SUCH_JOB = "a preceding job that does not exist, or is later in the log, ignored"


def predecessors(workload: Workload) -> Ints:
    """Place of the job that each follows, -1 for none: one earlier in the order of the jobs."""
    count = len(workload)
    if workload.preceding is None or not count:
        return np.full(count, -1, dtype=np.int64)
    order = np.argsort(workload.job, kind="stable")
    at = np.searchsorted(workload.job[order], workload.preceding)
    place = order[np.minimum(at, count - 1)]
    known = (workload.job[place] == workload.preceding) & (place < np.arange(count))
    return np.where(known, place, -1)


def canonical(workload: Workload, procs: int) -> Workload:
    """The jobs that a machine of `procs` processors can replay, in canonical form.

    Jobs without a positive run time, request or size, and jobs larger than the machine, are left
    out and counted in `left_out`, each under the first reason that holds; a run longer than its
    request is cut to it; jobs are sorted by (submit, number).
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
    if made.preceding is None:
        return made
    wrong = (made.preceding >= 0) & (predecessors(made) < 0)
    if not wrong.any():
        return made
    notes = {**made.notes, NO_SUCH_JOB: int(np.count_nonzero(wrong))}
    return replace(made, preceding=np.where(wrong, -1, made.preceding), notes=notes)


def machine_size(workload: Workload, procs: int | None) -> int:
    """`procs` if given, else the size that the log states.

    Raises InputError if neither is a positive number.
    """
    size = workload.max_procs if procs is None else procs
    if size is None and not len(workload) and not workload.left_out:
        raise InputError(
            [Problem("the log holds no job, and no size (MaxProcs, --procs)", workload.source)]
        )
    if size is None:
        message = "the log does not state MaxProcs; give the machine's size with --procs"
        raise InputError([Problem(message, workload.source)])
    if size <= 0:
        raise InputError([Problem(f"{size} processors; a machine has at least 1", workload.source)])
    return size
