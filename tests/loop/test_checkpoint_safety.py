"""Checkpoints of both engines: damage is refused, and a killed run goes on to the same bytes."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest
import slotwise as sw
from fuzz.checkpoints import some_log
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from loop_workloads import workloads
from slotwise import InputError, Instance
from slotwise.cli.output import Checkpoints
from slotwise.model.formats.sealed import read_checkpoint, seal_checkpoint, unseal_checkpoint
from slotwise.solver.replay import POLICIES, Checkpoint, Replay
from slotwise.solver.scheduler.checkpoints import load, save
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session

quick = examples(60)
RUN = [sys.executable, "-c", "from slotwise.cli.start import main; main()"]


@cache
def loop_text() -> str:
    instance = sw.load(sw.example("headline"))
    session = Session(instance, settings_for(instance, reservation="time-based"), keep_log=True)
    session.begin()
    for _ in range(3):
        session.advance()
    return save(session)


@cache
def replay_text(policy: str) -> str:
    session = Replay(some_log(), policy)
    session.advance(9)
    return session.checkpoint().to_json()


def refused(data: bytes, engine: str, path: Path) -> str:
    """The one line with which a damaged file is refused."""
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        resumed(engine, path)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(f"{path}: ")
    return line


def resumed(engine: str, path: Path) -> Session | Replay:
    text = read_checkpoint(path)
    if engine == "loop":
        return load(text, sw.load(sw.example("headline")), source=str(path))
    return Replay.resume(some_log(), Checkpoint.from_json(text, str(path)), str(path))


def texts() -> list[tuple[str, str]]:
    return [("loop", loop_text()), *(("replay", replay_text(policy)) for policy in POLICIES)]


@pytest.mark.parametrize("number", range(1 + len(POLICIES)))
def test_flips_cuts_and_additions_are_refused_in_one_line(tmp_path: Path, number: int) -> None:
    engine, text = texts()[number]
    data, path, rng = text.encode(), tmp_path / "point.json", random.Random(number)
    for _ in range(60):
        changed = bytearray(data)
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        refused(bytes(changed), engine, path)
    for _ in range(20):
        refused(data[: rng.randrange(len(data))], engine, path)
        at = rng.randrange(len(data))
        refused(data[:at] + data[at + rng.randint(1, 40) :], engine, path)
    for wrong in (
        data[:-1],
        data + b"\n",
        data + b" ",
        b" " + data,
        data.replace(b'"', b' "', 1),
        data.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + data,
        b"",
        b"[" * 100_000,
        b'{"format":"slotwise-checkpoint"}',
        data[:1000] + b"\xff" + data[1000:],
    ):
        refused(wrong, engine, path)


def test_a_checkpoint_of_the_other_engine_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "point.json"
    assert "of a replay, not of the scheduler loop" in refused(
        replay_text("easy").encode(), "loop", path
    )
    assert "of the scheduler loop, not of a replay" in refused(loop_text().encode(), "replay", path)


@quick
@given(st.data())
def test_content_that_was_sealed_but_makes_no_sense_is_refused_or_goes_on(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Somebody computed the checksum: never a traceback."""
    engine = data.draw(st.sampled_from(["loop", "replay"]))
    content = unseal_checkpoint(
        loop_text() if engine == "loop" else replay_text("conservative"), engine
    )
    value = st.sampled_from([None, -1, 10**30, 1.5, "x", [], {}, [[1]], [1, 2, 3, 4], True])
    holder = content if engine == "loop" else content["state"]
    key = data.draw(st.sampled_from(sorted(holder)))
    holder[key] = data.draw(value)
    path = tmp_path_factory.getbasetemp() / "sealed.json"
    path.write_text(seal_checkpoint(engine, content))
    said = ""
    try:
        resumed(engine, path)
    except InputError as error:
        said = str(error)
    assert "\n" not in said


@quick
@given(workloads(), st.integers(0, 5))
def test_sealing_loses_nothing(instance: Instance, steps: int) -> None:
    session = Session(instance, settings_for(instance), keep_log=True)
    session.begin()
    for _ in range(steps):
        session.advance()
    text = save(session)
    assert seal_checkpoint("loop", unseal_checkpoint(text, "loop")) == text
    assert save(load(text, instance)) == text


def test_a_checkpoint_is_written_when_its_time_has_come(tmp_path: Path) -> None:
    now = 0.0
    path = tmp_path / "point"
    points = Checkpoints(path, 60.0, clock=lambda: now)
    written = []
    for second in range(0, 300, 7):
        now = float(second)
        points.when_due(lambda: str(second))  # noqa: B023
        if path.exists() and (not written or written[-1] != path.read_text()):
            written.append(path.read_text())
    assert written == ["63", "126", "189", "252"]


@pytest.mark.parametrize(
    "every", ["0", "soon", "-5", "0s", "nan", "inf", "", "5ms", "-0.2s", "1e3"]
)
def test_intervals_that_make_no_sense(tmp_path: Path, every: str) -> None:
    with pytest.raises(InputError, match="--checkpoint-every"):
        Checkpoints.of(tmp_path / "point", every)
    with pytest.raises(InputError, match="needs --checkpoint"):
        Checkpoints.of(None, "60s")


def files(tmp_path: Path) -> dict[str, list[str]]:
    """A run of a few seconds for each engine."""
    log = tmp_path / "log.swf"
    rng = random.Random(7)
    submit, lines = 0, ["; MaxProcs: 64"]
    for number in range(1, 251):
        submit += rng.randint(0, 120)
        request = rng.randint(60, 9000)
        lines.append(
            f"{number} {submit} -1 {rng.randint(1, request)} {rng.randint(1, 40)} -1 -1 "
            f"{rng.randint(1, 40)} {request} -1 1 {rng.randint(1, 9)} 1 -1 1 -1 -1 -1"
        )
    log.write_text("\n".join(lines) + "\n")
    return {
        "replan": ["replay", str(log), "--policy", "replan"],
        "easy": ["replay", str(log), "--policy", "easy"],
        "time-based": ["simulate", str(log), "--hosts", "8", "--reservation", "time-based"],
        "greedy": ["simulate", str(log), "--hosts", "4", "--reservation", "greedy", "--cycle", "0"],
    }


class Runs:
    """Runs of one command in a folder of their own, with a checkpoint every so often."""

    def __init__(self, command: list[str], folder: Path) -> None:
        folder.mkdir()
        self.folder, self.point = folder, folder / "point.json"
        self.command = [*RUN, *command, "--format", "json", "--jobs", str(folder / "jobs.csv")]
        if "--hosts" in command:
            self.command += ["--cycle-log", str(folder / "cycles.jsonl")]
        self.command += ["--checkpoint", str(self.point), "--checkpoint-every", "0.1"]

    def start(self) -> subprocess.Popen[bytes]:
        """Go on from the last checkpoint, or begin."""
        resume = ["--resume", str(self.point)] if self.point.exists() else []
        return subprocess.Popen(
            [*self.command, *resume], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def result(self, run: subprocess.Popen[bytes]) -> dict[str, bytes] | None:
        """All that a run leaves when it ends; None if it was killed."""
        out, err = run.communicate(timeout=300)
        if run.returncode == -signal.SIGKILL:
            return None
        assert run.returncode == 0, err.decode()
        files = [path for path in self.folder.iterdir() if path.suffix in (".csv", ".jsonl")]
        return {"stdout": out} | {path.name: path.read_bytes() for path in files}

    def anew(self) -> None:
        """Leave nothing of what was."""
        for path in self.folder.iterdir():
            path.unlink()


def kill_often(command: list[str], folder: Path, kills: int, seed: str) -> int:
    """Kill runs at random instants until they were killed so often; how many got to their end.

    Every run that ends, from whatever checkpoint, has to give the bytes of an undisturbed one.
    """
    rng = random.Random(seed)
    runs = Runs(command, folder)
    begun = time.monotonic()
    whole = runs.result(runs.start())
    seconds = time.monotonic() - begun
    assert whole is not None
    assert len(whole) == (3 if "--hosts" in command else 2)
    runs.anew()
    ended = 0
    while kills or runs.point.exists() or not ended:
        run = runs.start()
        if kills:
            time.sleep(rng.uniform(0.2, 1.0) * seconds)
            run.send_signal(signal.SIGKILL)
        found = runs.result(run)
        if found is None:
            kills -= 1
            continue
        assert found == whole
        ended += 1
        runs.anew()
    return ended


def test_a_kill_changes_nothing(tmp_path: Path) -> None:
    command = files(tmp_path)["replan"]
    assert kill_often(command, tmp_path / "runs", 1, "few") >= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["replan", "easy", "time-based", "greedy"])
def test_twenty_five_kills_at_random_instants_change_nothing(tmp_path: Path, name: str) -> None:
    """A hundred in all: a resumed run equals an undisturbed one, byte by byte."""
    command = files(tmp_path)[name]
    assert kill_often(command, tmp_path / "runs", 25, name) >= 1
