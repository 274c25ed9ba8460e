"""What an instance does not say of the loop before it, and what that costs a forecast over hosts.

    python benchmarks/forecast_memory.py LOG.swf --cluster FILE [--jobs 40] [--seed 0]

The log is run over the hosts of the instance. Jobs that waited are asked about at their submission
with the true run times and the true arrivals, so that nothing but the state at that moment is
unknown. One line for what is carried over from the loop: nothing, as in an instance; the hosts on
which pending jobs held slots; the slots that running jobs had borrowed of them by backfill; both.
Exact: off by no more than the time between two cycles.
"""

from __future__ import annotations

import argparse
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from forecast_errors import Places, arrivals_of
from slotwise.cli.simulate_loop import LoopOptions, cycle_of, new_session, workload
from slotwise.solver.forecast.backtest import sampled_rows
from slotwise.solver.forecast.forecast import look_ahead, starts_at_limits
from slotwise.solver.forecast.hosts import HostsWorld
from slotwise.solver.forecast.simulated import SimulatedLog
from slotwise.solver.loop.simulation import Session
from slotwise.solver.world.world import World

#: What is carried over: hosts that pending jobs held, slots that running ones had borrowed.
CARRIED = {
    "nothing": (False, False),
    "hosts held": (True, False),
    "slots borrowed": (False, True),
    "both": (True, True),
}


@dataclass(frozen=True, slots=True)
class Memory:
    """What the loop knew after a cycle, by job id: hosts held, slots borrowed by host."""

    time: int
    held: dict[str, tuple[int, ...]]
    borrowed: dict[str, dict[int, int]]

    @classmethod
    def of(cls, world: World) -> Memory:
        """After the cycle at the world's time."""
        return cls(
            world.now,
            {state.job.id: state.held for state in world.pending.values() if state.held},
            {state.job.id: dict(state.borrowed) for state in world.borrowing.values()},
        )


class Remembering(HostsWorld):
    """The hosts with what the loop knew before."""

    def remember(self, memory: Memory, *, held: bool, borrowed: bool) -> None:
        """Before the first future."""
        object.__setattr__(self, "memory", (memory, held, borrowed))

    def _begun(self) -> Session:
        session = super()._begun()
        memory, held, borrowed = self.memory  # type: ignore[attr-defined]
        states, world = session.world.states, session.world
        for name, hosts in memory.held.items() if held else ():
            if (state := states.find(name)) is not None:
                state.held = hosts
        for name, slots in memory.borrowed.items() if borrowed else ():
            state = states.find(name)
            if state is not None and state.number in world.running:
                state.borrowed = dict(slots)
                world.borrowing[state.number] = state
        return session


def main() -> None:
    """Measure and print."""
    options = _options()
    past, memories, cycle = _run(options.log, options.cluster)
    rows, places = sampled_rows(past, options.jobs, options.seed).tolist(), Places(past)
    times = [memory.time for memory in memories]
    print("| carried over | exact | mean absolute error s |\n|---|---:|---:|")
    for name, (held, borrowed) in CARRIED.items():
        off = []
        for row in rows:
            plain = past.world(row)
            fields = (plain.instance, plain.jobs, plain.names, plain.asked, plain.settings)
            world = Remembering(*fields, plain.newcomers)
            before = memories[bisect_left(times, world.now) - 1]
            world.remember(before, held=held, borrowed=borrowed)
            off.append(abs(_start(past, places, world, row) - int(past.start[row])))
        exact = sum(seconds <= cycle for seconds in off)
        print(f"| {name} | {exact} of {len(off)} | {np.mean(off):.0f} |", flush=True)


def _run(log: Path, cluster: Path) -> tuple[SimulatedLog, list[Memory], int]:
    """The log over the hosts, what the loop knew after each cycle, seconds between two cycles."""
    options = LoopOptions(cluster=cluster, keep_going=False)
    given = workload(log, options)
    session = new_session(given, options, cycle_of(given, options))
    memories = [Memory.of(session.world)]
    while session.advance():
        memories.append(Memory.of(session.world))
    past = SimulatedLog.of(session.result(), session.given, str(log))
    return past, memories, session.settings.cycle


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
