"""Order of jobs -> plan: the serial schedule-generation scheme.

Jobs are placed one by one, each at its earliest start in what the earlier ones left. For an
objective that never improves by starting later, some order gives an optimal plan (Kolisch 1996).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .problem import Ints, PoolProblem
from .step_profile import StepProfile


class Decoder:
    """Decodes many orders of one problem."""

    def __init__(self, problem: PoolProblem) -> None:
        self._profile = problem.profile()
        self._jobs: list[tuple[int, int, int]] = list(
            zip(
                problem.sizes.tolist(),
                problem.durations.tolist(),
                problem.earliest.tolist(),
                strict=True,
            )
        )

    def starts(self, order: Iterable[int], fixed: StepProfile | None = None) -> list[int]:
        """The start of each job in the order's own sequence, on top of ``fixed`` if given."""
        profile = (fixed or self._profile).copy()
        place, jobs = profile.place, self._jobs
        return [place(*jobs[job]) for job in order]

    def plan(self, order: Sequence[int]) -> Ints:
        """(N,) starts by job."""
        import numpy as np

        starts = np.zeros(len(order), dtype=np.int64)
        starts[np.asarray(order, dtype=np.int64)] = self.starts(order)
        return starts
