"""A planner loop: plan, start what starts now, wait for the next event, plan again.

What a site would read from its scheduler is kept in memory here: jobs run to their limits. Replace
`started` by a call of the scheduler and `after` by its answer, and the loop is the real one.

    python examples/planner_loop.py --example joint-wins
    python examples/planner_loop.py my-cluster.yaml --seconds 5
"""

from __future__ import annotations

import argparse
import sys
import threading
from dataclasses import replace

import slotwise as sw


def started(instance: sw.Instance, plan: sw.Plan) -> sw.Instance:
    """The instance with the jobs that the plan starts now running."""
    now = {item.job: item for item in plan if item.start == instance.now}
    running = tuple(
        sw.RunningJob(job, instance.now, now[job.id].allocation, finish=now[job.id].finish)
        for job in instance.pending
        if job.id in now
    )
    pending = tuple(job for job in instance.pending if job.id not in now)
    return replace(instance, running=instance.running + running, pending=pending)


def after(instance: sw.Instance, seconds: int) -> sw.Instance:
    """The instance some seconds later: what was to end by then is gone."""
    now = instance.now + seconds
    running = tuple(
        item for item in instance.running if (end := ends_at(item)) is None or end > now
    )
    return replace(instance, now=now, running=running)


def ends_at(item: sw.RunningJob) -> int | None:
    """When a running job ends: as planned, else at its run limit, None for never."""
    if item.finish is not None:
        return item.finish
    return None if item.job.run_limit is None else item.start + item.job.run_limit


def loop(instance: sw.Instance, effort: float | None, seconds: float | None) -> None:
    """Plan at every event until nothing waits any more, a line an event on standard output."""
    cancel = threading.Event()  # a signal handler would set it: the plan so far is returned
    while instance.pending:
        plan = sw.plan(instance, effort=effort, time_limit=seconds, cancel=cancel)
        starting = [item.job for item in plan if item.start == instance.now]
        waiting = [f"{item.job} at {item.start}" for item in plan if item.start != instance.now]
        print(
            f"second {instance.now}: start {', '.join(starting) or 'nothing'}; "
            f"then {', '.join(waiting) or 'nothing'} ({plan.status})"
        )
        instance = started(instance, plan)
        ends = [end for item in instance.running if (end := ends_at(item)) is not None]
        later = [item.start for item in plan if item.start is not None]
        coming = [time for time in (*ends, *later) if time > instance.now]
        if not coming:
            for item in plan.unplaced:
                print(f"{item.job} never starts: {item.reason}")
            return
        instance = after(instance, min(coming) - instance.now)


def main() -> None:
    """Read an instance and run the loop on it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", nargs="?", help="an instance file")
    parser.add_argument("--example", default="joint-wins", help="a shipped instance instead")
    parser.add_argument("--seconds", type=float, help="time for each plan")
    parser.add_argument("--effort", type=float, default=1.0, help="the same on any machine")
    options = parser.parse_args()
    effort = None if options.seconds is not None else options.effort
    try:
        loop(sw.load(options.file or sw.example(options.example)), effort, options.seconds)
    except sw.SlotwiseError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
