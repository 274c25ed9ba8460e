"""State of one poll: pending jobs with their estimates, and running jobs with their starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Protocol

from ...model.display import epoch_of

if TYPE_CHECKING:
    from ...model.instance import Instance
    from ...solver.forecast.forecast import Forecasts

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
    ) -> PolledState:
        """Return the state of an instance with the starts that its simulation and a forecast give.

        Without `starts`, the start as configured is that of the forecast by limits.
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
