"""Why the waiting jobs of a report do not start earlier and what would help: `explain`, in turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...model.instance import Instance
from ...solver.advice.explain import Explanation, explain
from ...solver.budget import Deadline


@dataclass(frozen=True, slots=True)
class Advice:
    """Explanations by job. left: waiting jobs that were not looked at."""

    found: dict[str, Explanation]
    left: int

    def notes(self) -> tuple[str, ...]:
        """What a reader of the report has to know of it."""
        if not self.left:
            return ()
        return (
            f"Why-not-earlier and what-would-help were worked out for {len(self.found)} of "
            f"{len(self.found) + self.left} waiting jobs (--explain, --advice-time); "
            "slotwise explain FILE JOB does it for any other.",
        )


def advise(
    instance: Instance,
    waiting: Sequence[str],
    *,
    most: int,
    seconds: float | None,
    cancel: threading.Event,
    on_progress: Callable[[str], None] | None = None,
) -> Advice:
    """Explain the first `most` of the waiting jobs, by time-based planning as `explain` does.

    seconds: wall clock for all of them together, None for no limit; a job whose explanation was
    not done by then is left out. cancel: set it to stop.
    """
    stop = Deadline(seconds, cancel)
    found: dict[str, Explanation] = {}
    for job in waiting[:most]:
        if stop.is_set():
            break
        if on_progress is not None:
            on_progress(f"explaining {job}")
        explanation = explain(instance, job, cancel=stop)
        if not stop.is_set():
            found[job] = explanation
    return Advice(found, len(waiting) - len(found))
