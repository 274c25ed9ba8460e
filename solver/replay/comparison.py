"""One log under several policies: the metrics of each side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...model.errors import UnknownNameError
from ...model.job_table import OneLine
from .measures import Measuring, measured
from .session import ReplayResult, outcome_of

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReplayComparison(OneLine):
    """Replays of one log on one machine, one per policy."""

    results: tuple[ReplayResult, ...]
    #: Strict FCFS of the same log; fairness compares each wait with its own there.
    fcfs: ReplayResult
    measuring: Measuring

    def _about(self) -> str:
        return ", ".join(result.policy for result in self.results)

    def __iter__(self) -> Iterator[ReplayResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, policy: str) -> ReplayResult:
        """Return the replay under a policy. Raises UnknownNameError."""
        for result in self.results:
            if result.policy == policy:
                return result
        raise UnknownNameError.among("policy", policy, [each.policy for each in self.results])

    @property
    def complete(self) -> bool:
        """Return whether all replays are complete."""
        return self.fcfs.complete and all(result.complete for result in self.results)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one record per policy, then one per group of each policy if groups are measured.

        With groups, `by` is "all" in the records of all jobs. Raises InputError if no job is
        measured, or a replay was stopped.
        """
        return [record for result in self.results for record in self._records(result)]

    def _records(self, result: ReplayResult) -> Iterator[dict[str, Any]]:
        head = {"policy": result.policy, "schedule_after": result.schedule_after}
        metrics, groups = measured(outcome_of(result, self.fcfs), self.measuring)
        grouped = {"by": "all", "group": ""} if self.measuring.by else {}
        yield {**head, **grouped, **metrics.to_dict()}
        for group in groups:
            yield {**head, **group.to_dict()}

    def to_frame(self) -> DataFrame:
        """Return the records as a pandas data frame."""
        import pandas

        return pandas.DataFrame(self.to_records())
