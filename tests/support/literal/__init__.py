"""Greedy and time-based reservation as LSF's documents describe them, in literal loops.

    from literal import greedy, time_based
    greedy(instance)["101"].estimate

For readers and for checks: plans come from the scheduler's next cycle, which knows more rules and
is fast. Nothing of it is used here, only the model. greedy.py and time_based.py are the methods,
occupancy.py has the resources in use, placement.py the possible allocations.
left_out.py lists the rules that neither knows.
"""

from __future__ import annotations

from .greedy import Reserved, greedy
from .time_based import time_based

__all__ = ["Reserved", "greedy", "time_based"]
