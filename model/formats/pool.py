"""Snapshots of a pool of identical processors as instances.

A snapshot is a JSON object of a whole-processor cluster at one moment: ``log``, ``time``,
``procs``, ``free``; ``running``: ``id``, ``procs``, ``remaining_req_s``, ``remaining_actual_s``;
``queue`` in order of submission: ``id``, ``procs``, ``req_s``, ``run_s``, ``waited_s``. Processors
that cannot be told apart are one host with that many slots: this is exact, as any free ones do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cluster import Cluster, Host
from ..errors import InputError, Problem
from ..instance import Instance
from ..job import Job, RunningJob
from ..queue import Queue
from . import raw
from .file_format import Contents, ReadOptions
from .sniff import kind_of, refuse_other
from .source_text import file_bytes

#: Name of the one host.
POOL = "pool"


def load_pool(source: str | Path) -> Instance:
    """Read a snapshot file; InputError with all problems."""
    path = Path(source)
    try:
        return from_snapshot(
            raw.parse(_text(path, str(source)), str(source), json_text=True),
            path.stem,
            str(source),
        )
    except InputError:
        if kind_of(path) != "instance":  # the reader has a better word for that
            refuse_other(path, "pool")
        raise


def _text(path: Path, source: str) -> str:
    try:
        return file_bytes(path, source).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError([Problem("is not UTF-8 text", source)]) from None


def from_snapshot(data: Any, name: str = "", source: str = "") -> Instance:
    """The instance of a snapshot's data.

    A running job is taken to start now with what remains of its request; its real remainder and
    the real run times of the queue are kept for simulation (``run_time``). Second 0 is the moment
    of the snapshot.
    """
    reader = _PoolReader(source)
    if not isinstance(data, Mapping):
        raise InputError(
            [Problem("must be a snapshot: an object with procs, running, queue", source)]
        )
    reader.snapshot(data)
    processors = reader.number(data, "procs", 1)
    running = [
        RunningJob(
            Job(
                reader.identity(entry, place),
                slots=slots,
                run_limit=reader.number(entry, "remaining_req_s", 1, place),
                run_time=reader.number(entry, "remaining_actual_s", 0, place),
            ),
            start=0,
            allocation={POOL: slots},
        )
        for place, entry in reader.entries(data, "running")
        if (slots := reader.number(entry, "procs", 1, place))
    ]
    pending = [
        Job(
            reader.identity(entry, place),
            slots=reader.number(entry, "procs", 1, place),
            run_limit=reader.number(entry, "req_s", 1, place),
            run_time=reader.number(entry, "run_s", 0, place),
            submit=-reader.number(entry, "waited_s", 0, place),
        )
        for place, entry in reader.entries(data, "queue")
    ]
    reader.capacity(data, processors, sum(item.slots for item in running))
    reader.finish()
    return Instance(
        Cluster((Host(POOL, processors),)),
        queues=(Queue("default", backfill=True),),
        running=tuple(running),
        pending=tuple(pending),
        name=name,
        description=_description(data, processors, len(running), len(pending)),
    )


def _description(data: Mapping[str, Any], processors: int, running: int, pending: int) -> str:
    moment = f" at second {data['time']} of the log" if "time" in data else ""
    return (
        f"A real queue of {data.get('log', 'a log')}{moment}: {pending} jobs wait behind {running} "
        f"running ones on {processors} processors, any of which will do."
    )


@dataclass(frozen=True, slots=True)
class PoolSnapshot:
    """The format, for the registry."""

    name: str = "pool"
    kind: str = "a queue snapshot of a pool of identical processors, JSON"
    takes: frozenset[str] = frozenset()

    def recognises(self, path: Path) -> bool:
        """A JSON object that says its processors and no format."""
        return kind_of(path) == "pool"

    def read(self, path: Path, options: ReadOptions) -> Contents:
        """The processors as one host with as many slots."""
        return Contents(load_pool(path))


class _PoolReader:
    """Takes numbers out of the data and remembers what is wrong."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._problems: list[Problem] = []
        self._seen: set[str] = set()

    def _problem(self, path: str, message: str) -> None:
        self._problems.append(Problem(message, self._source, path=path))

    def snapshot(self, data: Mapping[str, Any]) -> None:
        """InputError for data that is no snapshot at all."""
        if "format" in data and "hosts" in data:
            self._problem("", "is an instance already, no snapshot: use it as it is")
        else:
            for key in ("procs", "running", "queue"):
                if key not in data:
                    self._problem(key, "is missing: a snapshot has procs, running and queue")
        self.finish()

    def number(self, data: Mapping[str, Any], key: str, least: int, place: str = "") -> int:
        """A whole number of `least` or more; `least` where it is wrong."""
        value = data.get(key)
        if type(value) is int and least <= value < 10**12:
            return value
        wanted = f"must be a whole number of {least} or more"
        message = f"is missing: {wanted}" if key not in data else f"{wanted}, not {value!r}"
        self._problem(f"{place}.{key}" if place else key, message)
        return least

    def identity(self, entry: Mapping[str, Any], place: str) -> str:
        """The job's id as text, each once."""
        value = entry.get("id")
        if type(value) not in (int, str) or not str(value):
            self._problem(f"{place}.id", f"must be a job's id, not {value!r}")
            return place
        if str(value) in self._seen:
            self._problem(f"{place}.id", f"there is a job {value} already")
        self._seen.add(str(value))
        return str(value)

    def entries(self, data: Mapping[str, Any], key: str) -> list[tuple[str, Mapping[str, Any]]]:
        """The objects of a list with their places."""
        value = data.get(key)
        if not isinstance(value, list):
            self._problem(key, "must be a list of jobs")
            return []
        found: list[tuple[str, Mapping[str, Any]]] = []
        for index, entry in enumerate(value):
            if isinstance(entry, Mapping):
                found.append((f"{key}[{index}]", entry))
            else:
                self._problem(f"{key}[{index}]", f"must be an object, not {entry!r}")
        return found

    def capacity(self, data: Mapping[str, Any], processors: int, used: int) -> None:
        """Running jobs and free processors make up the machine, if they could be read."""
        if self._problems:
            return
        free = data.get("free", processors - used)
        if used > processors:
            self._problem("running", f"uses {used} of {processors} processors")
        elif free != processors - used:
            self._problem(
                "free", f"must be {processors - used}, what the running jobs leave, not {free!r}"
            )

    def finish(self) -> None:
        """InputError if anything was wrong."""
        if self._problems:
            raise InputError(self._problems)
