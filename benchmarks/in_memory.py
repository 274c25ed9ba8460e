"""What looking at an instance in memory costs beside the plans made of it (CPU seconds, the best).

python benchmarks/in_memory.py [--hosts 1000] [--running 5000] [--pending 50]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from slotwise.model.formats import from_document, to_document
from slotwise.model.formats.objects import require_sound
from slotwise.model.generate import generate
from slotwise.solver.planning import plan


def main() -> None:
    """Measure and print the table; the steps take turns, so that a busy machine slows all alike."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--running", type=int, default=5000)
    parser.add_argument("--pending", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    instance = generate(
        hosts=options.hosts, running=options.running, pending=options.pending, seed=1
    )
    document = to_document(instance)
    steps: dict[str, Callable[[], object]] = {
        "check in memory": lambda: require_sound(instance),
        "read plain data": lambda: from_document(document),
        "greedy plan": lambda: plan(instance, "greedy"),
        "time-based plan": lambda: plan(instance, "time-based"),
    }
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(options.rounds):
        for name, step in steps.items():
            begun = time.process_time()
            step()
            best[name] = min(best[name], time.process_time() - begun)
    print(f"{options.hosts} hosts, {options.running} running, {options.pending} pending jobs")
    for name, seconds in best.items():
        print(f"{name:16} {seconds:7.3f} s")


if __name__ == "__main__":
    main()
