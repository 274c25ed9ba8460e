"""Greedy and time-based reservation as LSF's documents describe them, in literal loops.

    from slotwise.solver.reference import greedy, time_based
    greedy(instance)["101"].estimate

For readers and for checks: plans come from the scheduler's next cycle, which knows more rules and
is fast. Nothing of it is used here, only the model. :mod:`.greedy` and :mod:`.time_based` are the
methods, :mod:`.occupancy` has the resources in use, :mod:`.placement` the possible allocations.
tests/support/left_out.py lists the rules that neither knows.
"""

from __future__ import annotations

from .greedy import Reserved, greedy
from .time_based import time_based

__all__ = ["Reserved", "greedy", "time_based"]
