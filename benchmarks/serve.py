"""The service under load: ``python benchmarks/serve.py load|memory|kills``.

load: a cluster of 1,000 hosts, 5,000 running and 500 pending jobs whose file changes every 10 s,
and 50 requests a second beside it, all on the loopback address. Printed are the times of requests,
and how long after a change of the file its jobs and its first starts were on the board.
memory: the resident memory over many polls of a small cluster. kills: a service with a store is
killed at random times (SIGKILL); after each kill the store has to be sound.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import slotwise as sw
from slotwise import Instance
from slotwise.model.display import iso_time
from slotwise.model.generate import generate

ORIGIN = "2026-03-02T09:00:00+00:00"
#: Requests of the load, by weight.
TARGETS = {"jobs": 4, "jobs/{job}": 4, "": 1, "assets/board.js": 1, "metrics": 1, "plan": 1}

#: Keys of starts of a job.
STARTS = ("as_configured", "possible")


@contextmanager
def serving(*words: str, wait: bool = True) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service on a free port, and its address; it is ended at last."""
    command = [sys.executable, "-m", "slotwise", "serve", *words, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    try:
        while wait:
            try:
                urllib.request.urlopen(f"{address}healthz", timeout=5).close()
                break
            except OSError:
                time.sleep(0.05)
        yield process, address
    finally:
        process.terminate()
        process.wait(30)


def written(path: Path, instance: Instance) -> None:
    """Write a state whole, as `slotwise snapshot -o` does."""
    part = path.with_suffix(".part")
    part.write_text(sw.dump_json(instance), encoding="utf-8")
    os.replace(part, path)


def states(instance: Instance, step: int) -> Iterator[Instance]:
    """The cluster every `step` seconds: some jobs have ended, one has come."""
    numbers, found = random.Random(1), replace(instance, origin=ORIGIN)
    while True:
        yield found
        now = found.now + step
        running = list(found.running)
        for _ in range(min(4, len(running))):
            running.pop(numbers.randrange(len(running)))
        model = numbers.choice(found.pending)
        new = replace(model, id=f"new{now}", submit=now)
        rest = found.pending[1:]
        found = replace(found, now=now, running=tuple(running), pending=(*rest, new))


def metrics(address: str) -> Mapping[str, float]:
    """The counters without labels."""
    with urllib.request.urlopen(f"{address}metrics", timeout=60) as answer:
        text = answer.read().decode()
    return {name: float(value) for name, value in re.findall(r"^(\w+) (\S+)$", text, re.M)}


class Load(threading.Thread):
    """Requests at a rate over one kept connection, with their times."""

    def __init__(self, address: str, rate: float, jobs: list[str], end: threading.Event) -> None:
        super().__init__(daemon=True)
        self.address, self.rate, self.jobs, self.end = address, rate, jobs, end
        self.times: list[float] = []
        self.codes: dict[int, int] = {}

    def run(self) -> None:
        numbers = random.Random(self.name)
        place = urlsplit(self.address)
        connection = HTTPConnection(place.hostname or "", place.port, timeout=60)
        tags: dict[str, str] = {}
        due = time.monotonic()
        while not self.end.is_set():
            due += numbers.expovariate(self.rate)
            self.end.wait(max(0.0, due - time.monotonic()))
            (target,) = numbers.choices(list(TARGETS), list(TARGETS.values()))
            target = target.format(job=numbers.choice(self.jobs))
            headers = {"If-None-Match": tags[target]} if target in tags else {}
            began = time.monotonic()
            connection.request("GET", f"/{target}", headers=headers)
            answer = connection.getresponse()
            answer.read()
            self.times.append(time.monotonic() - began)
            self.codes[answer.status] = self.codes.get(answer.status, 0) + 1
            if tag := answer.headers["etag"]:
                tags[target] = tag


def seen(address: str, found: dict[str, float], end: threading.Event) -> None:
    """Follow the events: when each time of a state was first on the board."""
    with urllib.request.urlopen(f"{address}events", timeout=120) as stream:
        for line in stream:
            if end.is_set():
                return
            if line.startswith(b"data: "):
                found.setdefault(json.loads(line[6:])["time"], time.time())


def load(options: argparse.Namespace) -> None:
    """Measure requests beside polls and plans of a large cluster."""
    instance = generate(
        hosts=options.hosts, running=options.running, pending=options.pending, seed=1
    )
    end = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "now.json"
        changes = states(instance, options.every)
        written(path, next(changes))
        words = (str(path), "--every", f"{options.every}s", "--store", f"{folder}/store.sqlite")
        with serving(*words) as (_, address):
            while not metrics(address)["slotwise_first_starts_seconds"]:
                time.sleep(0.2)
            jobs = [job.id for job in instance.pending]
            threads = [Load(address, options.rate / 10, jobs, end) for _ in range(10)]
            on_board: dict[str, float] = {}
            threading.Thread(target=seen, args=(address, on_board, end), daemon=True).start()
            for thread in threads:
                thread.start()
            began, moved, first = time.monotonic(), [], []
            while time.monotonic() - began < options.seconds:
                state = next(changes)
                written(path, state)
                at = time.time()
                time.sleep(options.every)
                stamp = iso_time(ORIGIN, state.now) or ""
                if stamp in on_board:
                    moved.append(on_board[stamp] - at)
                first.append(metrics(address)["slotwise_first_starts_seconds"])
            end.set()
            for thread in threads:
                thread.join(60)
            last = metrics(address)
            with urllib.request.urlopen(f"{address}jobs", timeout=60) as answer:
                rows = json.load(answer)["jobs"]
    times = sorted(second for thread in threads for second in thread.times)
    codes: dict[int, int] = {}
    for thread in threads:
        for code, count in thread.codes.items():
            codes[code] = codes.get(code, 0) + count
    print(f"{len(times)} requests in {options.seconds} s, by status {codes}")
    for share in (0.5, 0.9, 0.99, 1.0):
        print(f"  {share:.0%} within {1000 * times[int(share * (len(times) - 1))]:.0f} ms")
    print(f"jobs of a new state on the board after {_range(moved)} s")
    print(f"first starts of a new state after {_range(first)} s from the end of its reading")
    plans, seconds = last["slotwise_plans_total"], last["slotwise_plan_seconds"]
    print(f"{plans:.0f} states planned, the last one in {seconds:.1f} s")
    known = {name: sum(row[name] is not None for row in rows) for name in STARTS}
    print(f"of {len(rows)} pending jobs, starts known: {known}")
    print(f"memory {last['slotwise_resident_bytes'] / 1e6:.0f} MB, load average {os.getloadavg()}")


def _range(values: list[float]) -> str:
    ordered = sorted(values)
    if not ordered:
        return "?"
    return f"{ordered[0]:.2f} to {ordered[-1]:.2f} (median {ordered[len(ordered) // 2]:.2f})"


def memory(options: argparse.Namespace) -> None:
    """Measure the resident memory over many polls of a simulated cluster."""
    words = ("--example", "tutorial", "--every", options.poll, "--speed", "20")
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(*words, "--store", f"{folder}/store.sqlite") as (_, address),
    ):
        mark = 0.0
        while mark < options.polls:
            found = metrics(address)
            if found["slotwise_polls_total"] >= mark:
                size = found["slotwise_resident_bytes"] / 1e6
                plans = found["slotwise_plans_total"]
                print(f"polls {found['slotwise_polls_total']:6.0f} plans {plans:6.0f}", end=" ")
                print(f"memory {size:.1f} MB", flush=True)
                mark += options.polls / 10
            time.sleep(1)


def kills(options: argparse.Namespace) -> None:
    """Kill a service with a store again and again; its store has to be sound each time."""
    from slotwise.cli.serve.store import Store

    numbers, kept = random.Random(1), 0
    with tempfile.TemporaryDirectory() as folder:
        path, store = Path(folder) / "now.json", f"{folder}/store.sqlite"
        changes = states(generate(hosts=20, running=40, pending=60, seed=1), 60)
        written(path, next(changes))
        end = threading.Event()

        def change() -> None:
            while not end.wait(0.2):
                written(path, next(changes))

        threading.Thread(target=change, daemon=True).start()
        for number in range(options.kills):
            words = (str(path), "--every", "0.2s", "--store", store)
            with serving(*words, wait=False) as (process, _):
                time.sleep(numbers.uniform(0.0, options.longest))
                process.send_signal(signal.SIGKILL)
                process.wait()
            with Store.open(store, create=False) as opened:
                found = opened.summary()
            assert found.polls >= kept, "a poll that was kept is gone"
            kept = found.polls
            if number % 10 == 9:
                print(
                    f"{number + 1} kills: {kept} polls kept, {found.estimates} estimates",
                    flush=True,
                )
        end.set()


def main() -> None:
    """Read the options and run one of the three."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=("load", "memory", "kills"))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rate", type=float, default=50.0, help="requests a second")
    parser.add_argument("--every", type=int, default=10, help="seconds between two states")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--running", type=int, default=5000)
    parser.add_argument("--pending", type=int, default=500)
    parser.add_argument("--polls", type=int, default=10_000)
    parser.add_argument("--poll", default="0.2s", help="time between two polls (memory)")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--longest", type=float, default=1.5, help="seconds before a kill")
    options = parser.parse_args()
    {"load": load, "memory": memory, "kills": kills}[options.what](options)


if __name__ == "__main__":
    main()
