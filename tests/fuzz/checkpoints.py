"""Every flipped bit and every cut of whole small checkpoints, of both engines.

``python tests/fuzz/checkpoints.py`` prints how many were refused; any that is accepted is named and
the exit code is 1. Minutes, where the tests draw some by seed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

import slotwise as sw
from slotwise import InputError
from slotwise.model.formats.sealed import Engine, unseal_checkpoint
from slotwise.model.generate import generate
from slotwise.model.workload import Workload
from slotwise.solver.replay import POLICIES, Replay
from slotwise.solver.scheduler.checkpoints import save
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session


def some_log(count: int = 12, seed: int = 1) -> Workload:
    """A few jobs on five processors."""
    rng = random.Random(seed)
    requests = [rng.randint(1, 50) for _ in range(count)]
    return Workload.of(
        sorted(rng.randint(0, 60) for _ in range(count)),
        [rng.randint(1, request) for request in requests],
        requests,
        [rng.randint(1, 4) for _ in range(count)],
        max_procs=5,
    )


def checkpoints() -> Iterator[tuple[str, Engine, str]]:
    """Checkpoints by name, with the engine."""
    small = generate(hosts=4, running=3, pending=5, seed=2)
    for name, instance in (("headline", sw.load(sw.example("headline"))), ("generated", small)):
        for reservation in ("greedy", "time-based"):
            settings = settings_for(instance, reservation=reservation)
            session = Session(instance, settings, keep_log=True)
            session.begin()
            for _ in range(3):
                session.advance()
            yield f"loop, {name}, {reservation}", "loop", save(session)
    for policy in POLICIES:
        replay = Replay(some_log(), policy)
        replay.advance(9)
        yield f"replay, {policy}", "replay", replay.checkpoint().to_json()


def damaged(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The bytes with each bit flipped, cut at each place, and without each byte."""
    for place in range(len(data)):
        for bit in range(8):
            flipped = bytes((data[place] ^ 1 << bit,))
            yield f"bit {bit} of byte {place}", data[:place] + flipped + data[place + 1 :]
        yield f"cut at {place}", data[:place]
        yield f"without byte {place}", data[:place] + data[place + 1 :]


def accepted(data: bytes, engine: Engine) -> bool:
    """Whether a checkpoint is taken for a whole one."""
    try:
        unseal_checkpoint(data.decode(), engine)
    except (InputError, UnicodeDecodeError):
        return False
    return True


def main() -> None:
    """Damage them all."""
    wrong = 0
    for name, engine, text in checkpoints():
        data = text.encode()
        assert accepted(data, engine)
        count = 0
        for what, changed in damaged(data):
            count += 1
            if accepted(changed, engine):
                wrong += 1
                print(f"{name}: accepted: {what}")
        print(f"{name}: {len(data):,} bytes, {count:,} damaged ones tried", flush=True)
    print(f"{wrong} accepted")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
