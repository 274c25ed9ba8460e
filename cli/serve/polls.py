"""Polls and their sources: a file, a folder, the cluster of this machine, a simulated one."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from ...model.confined import check_inside
from ...model.display import HOUR, MINUTE, epoch_of
from ...model.duration import expected_duration
from ...model.errors import InputError, Problem, SlotwiseError, report
from ...model.job import Job
from ..options import read_source, read_with_warnings
from ..source import INSTANCES, Source, WatchedSource

if TYPE_CHECKING:
    from ...model.instance import Instance
    from ...solver.forecast.forecast import Forecasts


#: Seconds to wait for each command of a scheduler, unless --timeout says otherwise.
TIMEOUT = 30.0
#: Newest files of a folder that are tried before a poll fails.
MAX_TRIED = 5


@dataclass(frozen=True, slots=True)
class Polled:
    """The state of the cluster as one poll has read it."""

    #: Number of the poll; later states have larger numbers.
    number: int
    instance: Instance
    #: Remarks of the reader, one line each.
    warnings: tuple[str, ...]
    #: Seconds since 1970 at which it was read.
    read_at: float

    @property
    def zero(self) -> int:
        """Return second 0 of the instance in seconds since 1970; 0 if time is abstract."""
        return zero_of(self.instance)


def zero_of(instance: Instance) -> int:
    """Return second 0 of an instance in seconds since 1970; 0 if time is abstract."""
    return epoch_of(instance.origin) or 0


class StateSource(Protocol):
    """A source of the cluster's state."""

    @property
    def title(self) -> str:
        """The name of the source on pages."""

    def stamp(self) -> tuple[int, ...]:
        """Return a stamp that differs once there is a new state; () if only reading tells."""

    def read(self) -> tuple[Instance, Sequence[Problem]]:
        """Return the state with warnings; raise InputError or OSError if it cannot be read."""


@dataclass(frozen=True, slots=True)
class SnapshotFolder:
    """A folder into which another program writes snapshots; the newest readable one counts."""

    folder: Path

    @property
    def title(self) -> str:
        """The name of the folder."""
        return self.folder.name or str(self.folder)

    def stamp(self) -> tuple[int, ...]:
        """Return the times and sizes of the newest files."""
        return tuple(part for time, size, _ in self._newest() for part in (time, size))

    def read(self) -> tuple[Instance, Sequence[Problem]]:
        """Return the newest snapshot that is readable; newer ones that are not become warnings."""
        wrong: list[Problem] = []
        for _, _, path in self._newest():
            try:
                instance, warnings = read_with_warnings(path)
            except SlotwiseError as error:
                first = str(error).splitlines()[0]
                wrong.append(Problem(f"skipped, an older snapshot is shown: {first}", path.name))
            except OSError as error:
                wrong.append(Problem(f"skipped: {error.strerror or error}", path.name))
            else:
                return instance, [*wrong, *warnings]
        if wrong:
            raise InputError(wrong)
        endings = ", ".join(INSTANCES)
        raise InputError(
            [Problem(f"has no snapshot: add a file whose name ends in {endings}", str(self.folder))]
        )

    def _newest(self) -> list[tuple[int, int, Path]]:
        """Return the newest files with their times of change and sizes, the newest first."""
        try:
            paths = [path for path in self.folder.iterdir() if path.suffix in INSTANCES]
        except OSError as error:
            raise InputError([Problem(error.strerror or str(error), str(self.folder))]) from None
        found = []
        for path in paths:
            try:
                facts = path.stat()
            except OSError:  # removed since the folder was listed
                continue
            found.append((facts.st_mtime_ns, facts.st_size, path))
        return sorted(found, reverse=True)[:MAX_TRIED]


def state_source(source: Source, speed: float) -> StateSource:
    """Return the source of polls that the options of a command name.

    speed: simulated seconds per second of an example. Raises InputError as `Source` does.
    """
    if source.is_live:
        asked = source if source.timeout is not None else replace(source, timeout=TIMEOUT)
        return WatchedSource(asked.read_with_warnings, asked.name)
    if source.example is not None and source.file is None:
        return living_cluster(source.example, speed)
    if str(source.file) == "-":
        raise InputError("serve cannot read standard input (-) repeatedly: give a file")
    path = source.path()
    check_inside(path)
    with suppress(OSError):  # a name that is too long is not a folder: its reader says so
        if path.is_dir():
            return SnapshotFolder(path)
    return WatchedSource(source.read_with_warnings, source.name, path)


def read_once(source: StateSource, number: int, clock: Callable[[], float]) -> Polled:
    """Return the state of a poll; clock: seconds since 1970. Raises InputError and OSError."""
    instance, warnings = source.read()
    return Polled(number, instance, tuple(report(warnings)), clock())


#: Id and submission of a job: ids are used again, elements of arrays are ``7[3]``.
JobKey = tuple[str, int]


class PredictedStarts(Protocol):
    """Starts of one pending job by the simulation of its instance, in seconds from the origin."""

    @property
    def job(self) -> str: ...

    @property
    def as_configured(self) -> int | None: ...

    @property
    def estimate(self) -> int | None: ...

    @property
    def possible(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class JobEstimate:
    """A pending job and the starts estimated for it; times in seconds of the store's clock."""

    #: Job id.
    job: str
    #: Submission.
    submit: int
    #: Name of the user.
    user: str
    #: Name of the queue.
    queue: str
    #: Minimum number of slots.
    slots: int
    #: Start in the simulated scheduler, None if there is none.
    as_configured: int | None = None
    #: Start by the reservation method in force, None if there is none.
    estimate: int | None = None
    #: Start by the optimal method, None if there is none.
    possible: int | None = None
    #: Start that the scheduler itself printed, None if it printed none.
    printed: int | None = None
    #: Median forecast start, None without a forecast or without a start.
    likely: int | None = None
    #: Calibrated P10 of the forecast start.
    early: int | None = None
    #: Calibrated P90 of the forecast start.
    late: int | None = None
    #: Uncalibrated quantiles at 0.1, 0.2 … 0.9, () without a forecast; None: no start.
    quantiles: tuple[int | None, ...] = ()
    #: What moved its start as configured since the state before, "" if nothing is known.
    because: str = ""
    #: Whether its starts were computed at this poll. If not, nothing is kept of them.
    examined: bool = True

    @property
    def key(self) -> JobKey:
        """Return the identity of the job."""
        return self.job, self.submit


@dataclass(frozen=True, slots=True)
class PolledState:
    """The jobs of a cluster at one instant."""

    #: Time of the state: seconds since 1970, or of the instance's clock without an origin.
    at: int
    #: Whether times are seconds since 1970.
    dated: bool
    #: Pending jobs with their estimates.
    pending: tuple[JobEstimate, ...] = ()
    #: Start of each running job, also of suspended jobs.
    running: Mapping[JobKey, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        instance: Instance,
        starts: Iterable[PredictedStarts] | None = None,
        forecasts: Forecasts | None = None,
        causes: Mapping[str, str] = MappingProxyType({}),
    ) -> PolledState:
        """Return the state of an instance with the starts that its simulation and a forecast give.

        Without `starts`, the start as configured is that of the forecast by limits. causes: of
        moved starts, by job.
        """
        epoch = epoch_of(instance.origin)
        zero = epoch or 0
        printed = shifted({item.job: item.start for item in instance.lsf_says}, zero)
        rows: dict[str, dict[str, int | None]] = {}
        quantiles: dict[str, tuple[int | None, ...]] = {}
        if forecasts is not None:
            from ...solver.accuracy.measures import LEVELS

            columns = [forecasts.quantile(level).tolist() for level in LEVELS]
            quantiles = {
                name: tuple(int(time) + zero if isfinite(time) else None for time in times)
                for name, times in zip(forecasts.names, zip(*columns, strict=True), strict=True)
            }
            for record in forecasts.records():
                rows[record["job"]] = {
                    "as_configured": record["by_limits"],
                    "likely": record["likely"],
                    "early": record["one_in_ten_by"],
                    "late": record["nine_in_ten_by"],
                }
        if starts is not None:
            for item in starts:
                rows.setdefault(item.job, {}).update(
                    as_configured=item.as_configured,
                    estimate=item.estimate,
                    possible=item.possible,
                )
        pending = tuple(
            JobEstimate(
                job.id,
                job.submit + zero,
                job.user,
                job.queue,
                job.slots,
                printed=printed.get(job.id),
                quantiles=quantiles.get(job.id, ()),
                because=causes.get(job.id, ""),
                examined=job.id in rows or printed.get(job.id) is not None,
                **shifted(rows.get(job.id, {}), zero),
            )
            for job in instance.pending
        )
        running = {
            (run.job.id, run.job.submit + zero): run.start + zero for run in instance.running
        }
        return cls(instance.now + zero, epoch is not None, pending, running)


def shifted(times: Mapping[str, int | None], by: int) -> dict[str, int | None]:
    """Return times by name on a clock whose second 0 is `by` seconds earlier."""
    return {name: None if time is None else time + by for name, time in times.items()}


#: Largest time by which one read advances the cluster, in simulated seconds.
MAX_STEP = 6 * HOUR
#: Share of the run limit that a job really runs, minimum and maximum.
_SHARES = (0.15, 1.0)
#: Share of the slots that new jobs keep busy; with more the queue would grow for ever.
_LOAD = 0.85
#: Minimum mean time between two new jobs, in simulated seconds.
_GAP = 30.0


@dataclass(slots=True)
class LivingCluster:
    """The cluster of an example; each read advances it by the time since the last one.

    Jobs run for a part of their limits, which plans do not know, and new ones like those of the
    example arrive. Equal seeds and clocks give equal clusters.
    """

    title: str
    #: The state, with run times and arrivals that a reader does not see.
    instance: Instance
    #: Simulated seconds of one second.
    speed: float
    seed: int = 0
    clock: Callable[[], float] = time.monotonic
    _began: float | None = None
    _first: int = 0
    _arrivals: Iterator[Job] | None = None
    _models: tuple[Job, ...] = ()
    _next: Job | None = None
    _number: int = 0

    def stamp(self) -> tuple[int, ...]:
        """Return (): only reading tells."""
        return ()

    def read(self) -> tuple[Instance, Sequence[Problem]]:
        """Advance the cluster and return its state."""
        if self._began is None:
            self._begin()
        assert self._began is not None
        now = self._first + int((self.clock() - self._began) * self.speed)
        while self.instance.now < now:
            self._advance(min(now, self.instance.now + MAX_STEP))
        return _as_seen(self.instance), ()

    def _begin(self) -> None:
        """Give every job a run time, and begin the arrivals."""
        numbers = random.Random(f"{self.seed} run times")
        found = self.instance
        running = tuple(
            replace(
                run, job=_with_run_time(found, run.job, numbers, at_least=found.now - run.start + 1)
            )
            for run in found.running
        )
        pending = tuple(_with_run_time(found, job, numbers) for job in found.pending)
        self.instance = replace(found, running=running, pending=pending, future=(), held=())
        known = (*pending, *(run.job for run in running))
        self._models = tuple(job for job in known if not job.dependency) or (Job("any"),)
        known_ids = [int(job.id) for job in known if job.id.isdecimal()]
        self._number = max(known_ids, default=9000) + 1
        self._first, self._began = found.now, self.clock()
        self._arrivals = self._submissions()

    def _advance(self, time: int) -> None:
        """Advance the simulated scheduler to an instant; jobs that arrive until then are entered.

        One arrival more is known to the scheduler, so that its simulation does not end before.
        """
        from ...solver.scheduler.history import snapshot_at

        assert self._arrivals is not None
        coming: list[Job] = [] if self._next is None else [self._next]
        while not coming or coming[-1].submit <= time:
            coming.append(next(self._arrivals))
        found = snapshot_at(replace(self.instance, future=tuple(coming)), time).instance
        self._next = coming[-1]
        self.instance = replace(found, future=())

    def _submissions(self) -> Iterator[Job]:
        """Return new jobs like those of the example, as many as the cluster has slots for."""
        numbers = random.Random(f"{self.seed} arrivals")
        slots = sum(host.slots for host in self.instance.cluster.hosts)
        lengths = (job.run_time or expected_duration(self.instance, job) for job in self._models)
        work = zip(self._models, lengths, strict=True)
        mean = sum(job.slots * (length or HOUR) for job, length in work) / len(self._models)
        at = float(self.instance.now)
        while True:
            at += numbers.expovariate(1.0 / max(_GAP, mean / (_LOAD * max(1, slots))))
            model = numbers.choice(self._models)
            job = replace(model, id=str(self._number), submit=int(at), begin=None, array_limit=None)
            yield _with_run_time(self.instance, job, numbers)
            self._number += 1


def _with_run_time(
    instance: Instance, job: Job, numbers: random.Random, *, at_least: int = MINUTE
) -> Job:
    """Return the job with a run time below its limit."""
    limit = expected_duration(instance, job) or 2 * HOUR
    return replace(job, run_time=max(at_least, min(limit, int(numbers.uniform(*_SHARES) * limit))))


def _as_seen(instance: Instance) -> Instance:
    """Return the state as a scheduler prints it: without run times of the future."""
    running = tuple(replace(run, job=replace(run.job, run_time=None)) for run in instance.running)
    pending = tuple(replace(job, run_time=None) for job in instance.pending)
    return replace(instance, running=running, pending=pending, future=(), lsf_says=())


def living_cluster(name: str, speed: float) -> LivingCluster:
    """Return the cluster of an example; raise UnknownNameError for another name."""
    from ...instances import example

    return LivingCluster(name, read_source(example(name)), speed)
