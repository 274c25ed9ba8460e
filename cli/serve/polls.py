"""Polls and their sources: a changing file, a folder of snapshots, the cluster of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from ...model.confined import check_inside
from ...model.display import epoch_of
from ...model.errors import InputError, Problem, SlotwiseError, report
from ..options import read_with_warnings
from ..source import INSTANCES, Source
from ..watched import WatchedSource

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


def state_source(source: Source, living: Callable[[str], StateSource]) -> StateSource:
    """Return the source of polls that the options of a command name.

    living: returns the simulated cluster of an example. Raises InputError as `Source` does.
    """
    if source.is_live:
        asked = source if source.timeout is not None else replace(source, timeout=TIMEOUT)
        return WatchedSource(asked.read_with_warnings, asked.name)
    if source.example is not None and source.file is None:
        return living(source.example)
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
