"""What it costs a forecast over hosts not to know what the loop before it remembers.

    python benchmarks/forecast_memory.py LOG.swf --cluster FILE [--jobs 40] [--seed 0]

The log is run over the hosts of the instance. Jobs that waited are asked about at their submission
with the true run times and the true arrivals, so that nothing but the state at that moment is
unknown. One line for what the instance of the moment says of the loop: nothing; the hosts on which
pending jobs held slots; the slots that running jobs had borrowed of them by backfill; both, as a
backtest has it. Exact: off by no more than the time between two cycles.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from forecast_errors import Places, arrivals_of
from slotwise.cli.simulate import LoopOptions, cycle_of, new_session, workload
from slotwise.solver.forecast.backtest import sampled_rows
from slotwise.solver.forecast.forecast import look_ahead, starts_at_limits
from slotwise.solver.forecast.of_instance import HostsWorld, SimulatedLog

#: What is said: hosts that pending jobs held, slots that running ones had borrowed.
SAID = {
    "nothing": (False, False),
    "hosts held": (True, False),
    "slots borrowed": (False, True),
    "both": (True, True),
}


def main() -> None:
    """Measure and print."""
    options = _options()
    past, cycle = _run(options.log, options.cluster)
    rows, places = sampled_rows(past, options.jobs, options.seed).tolist(), Places(past)
    print("| said | exact | mean absolute error s |\n|---|---:|---:|")
    for name, (held, borrowed) in SAID.items():
        off = []
        for row in rows:
            world = past.world(row)
            moment = world.instance
            moment = replace(
                moment,
                held=moment.held if held else (),
                borrowed=moment.borrowed if borrowed else (),
            )
            world = replace(world, instance=moment)
            off.append(abs(_start(past, places, world, row) - int(past.start[row])))
        exact = sum(seconds <= cycle for seconds in off)
        print(f"| {name} | {exact} of {len(off)} | {np.mean(off):.0f} |", flush=True)


def _run(log: Path, cluster: Path) -> tuple[SimulatedLog, int]:
    """The log over the hosts, and seconds between two cycles."""
    options = LoopOptions(cluster=cluster, keep_going=False)
    given = workload(log, options)
    session = new_session(given, options, cycle_of(given, options))
    return SimulatedLog.run(session, str(log)), session.settings.cycle


def _start(past: SimulatedLog, places: Places, world: HostsWorld, row: int) -> int:
    """Of a job, with everything known that comes."""
    until = world.now + look_ahead(starts_at_limits(world), world.now)
    truth = np.array([places.run_time[int(key)] for key in world.jobs.key])
    return int(world.starts(truth, arrivals_of(past, places, row, until))[0])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log", type=Path)
    parser.add_argument("--cluster", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
