"""What an event costs a long-lived planner, beside a plan from scratch (CPU seconds, medians).

python benchmarks/planner.py [--hosts 1000] [--running 5000] [--pending 50] [--load .92]
    [--events 20]
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

import slotwise as sw
from slotwise.model.generate import generate


def main() -> None:
    """Measure in turns, so that a busy machine slows all alike, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--running", type=int, default=5000)
    parser.add_argument("--pending", type=int, default=50)
    parser.add_argument("--events", type=int, default=20)
    parser.add_argument("--load", type=float, default=0.92)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    instance = generate(
        hosts=options.hosts,
        running=options.running,
        pending=options.pending,
        load=options.load,
        seed=options.seed,
    )
    draw = random.Random(options.seed)
    queues = sorted(instance.queues, key=lambda queue: queue.priority)
    planner = sw.Planner(instance, "time-based")
    planner.plan()
    spent: dict[str, list[float]] = {}

    def timed(name: str, step: Callable[[], object]) -> object:
        begun = time.process_time()
        result = step()
        spent.setdefault(name, []).append(time.process_time() - begun)
        return result

    for number in range(options.events):
        model = draw.choice(instance.pending)
        come = sw.Job(
            f"new{number}",
            model.slots,
            queue=model.queue,
            res_req=model.res_req,
            run_limit=model.run_limit,
            user=model.user,
        )
        timed("submit and plan", lambda come=come: (planner.submit(come), planner.plan()))
        last, *_, first = (queue.name for queue in queues)
        for name, queue in (("ask, behind all others", last), ("ask, before others", first)):
            asked = sw.Job("asked", come.slots, queue=queue, run_limit=1800)
            timed(name, lambda asked=asked: planner.ask(asked))
        wide = sw.Job("asked", 128, queue=last, run_limit=7200)
        timed("ask for 128 slots, behind", lambda wide=wide: planner.ask(wide))
        gone = draw.choice(planner.instance.running).job.id
        timed("end and plan", lambda gone=gone: (planner.end(gone), planner.plan()))
        now = planner.instance.now + 30
        timed("advance and plan", lambda now=now: (planner.advance(now), planner.plan()))
        found = planner.plan()
        fresh = timed("sw.plan from nothing", lambda: sw.plan(planner.instance, "time-based"))
        assert isinstance(fresh, sw.Plan)
        assert [item.start for item in found] == [item.start for item in fresh]
    print(f"{options.hosts} hosts, {options.running} running, {options.pending} pending jobs")
    for name, seconds in spent.items():
        middle, most = statistics.median(seconds), max(seconds)
        print(f"{name:23} {1000 * middle:7.1f} ms   at most {1000 * most:7.1f} ms")


if __name__ == "__main__":
    main()
