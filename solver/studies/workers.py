"""Tasks on local processes: results in the order of completion, also if a process dies.

Tasks on a Dask cluster: its futures, its retries, its dashboard. Dask is an extra
(`slotwise[cluster]`) and imported here alone.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, TypeVar

from ...model.errors import InputError, UnknownNameError, missing_package
from ..processes import WorkerPool
from .run import Stop

T = TypeVar("T")
R = TypeVar("R")
#: Function that does one task; it returns None if it was stopped.
Work = Callable[[T, Stop | None], R | None]

#: Seconds between two checks whether to stop.
GLANCE = 0.1
#: Number of deaths of its process after which a task is abandoned.
STRIKES = 3

_stop: Any = None


@dataclass(frozen=True, slots=True)
class Lost:
    """The result of a task whose process died repeatedly."""

    reason: str = f"the process that ran it was killed {STRIKES} times (out of memory?)"


def results_of(
    work: Work[T, R], tasks: Sequence[T], count: int, stop: Stop
) -> Iterator[tuple[int, R | Lost]]:
    """Yield the results of tasks with their numbers: on processes, or in this one if it suffices.

    count: number of processes.
    """
    if min(count, len(tasks)) > 1:
        yield from on_processes(work, tasks, count, stop)
        return
    for number, task in enumerate(tasks):
        if stop.is_set():
            return
        result = work(task, stop)
        if result is not None:
            yield number, result


def on_processes(
    work: Work[T, R], tasks: Sequence[T], count: int, stop: Stop
) -> Iterator[tuple[int, R | Lost]]:
    """Yield the results with the numbers of their tasks, in the order of completion.

    A process that dies takes nothing with it: its task, and what waited, is done again; what may
    have killed it is tried on a process of its own, and after STRIKES times given up (Lost).
    """
    strikes = dict.fromkeys(range(len(tasks)), 0)
    while strikes and not stop.is_set():
        suspects = [number for number, struck in strikes.items() if struck]
        todo, processes = (suspects[:1], 1) if suspects else (list(strikes), count)
        finished: set[int] = set()
        for number, result in _round(work, tasks, todo, processes, stop):
            finished.add(number)
            del strikes[number]
            yield number, result
        left = [number for number in todo if number not in finished]
        for number in left[:processes]:  # those were at work
            strikes[number] += 1
            if strikes[number] >= STRIKES and not stop.is_set():
                del strikes[number]
                yield number, Lost()


def _round(
    work: Work[T, R], tasks: Sequence[T], todo: Sequence[int], count: int, stop: Stop
) -> Iterator[tuple[int, R]]:
    """Yield results until all tasks are done, a process dies, or the study must stop."""
    with WorkerPool(min(count, len(todo)), _begin) as pool:
        futures: dict[Future[R | None], int] = {
            pool.submit(_Job(work, tasks[number])): number for number in todo
        }
        yield from _as_completed(futures, stop, pool.ending.set)


def _as_completed(
    futures: dict[Future[R | None], int], stop: Stop, report: Callable[[], None]
) -> Iterator[tuple[int, R]]:
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=GLANCE, return_when=FIRST_COMPLETED)
        broken = False
        for future in sorted(done, key=futures.__getitem__):
            try:
                result = future.result()
            except BrokenProcessPool:
                broken = True
                continue
            if result is not None:
                yield futures[future], result
        if broken:
            return
        if stop.is_set():
            report()
            waiting = {future for future in waiting if not future.cancel()}


def _begin(stop: Any) -> None:
    """Initialise a worker process."""
    global _stop
    _stop = stop


@dataclass(frozen=True, slots=True)
class _Job(Generic[T, R]):
    """One function call in a form that can be sent to a process."""

    work: Work[T, R]
    task: T

    def __call__(self) -> R | None:
        return self.work(self.task, _stop)


#: Clusters of dask-jobqueue by the name of their scheduler; each has its section in its
#: configuration (jobqueue.yaml).
QUEUES = {
    "lsf": "LSFCluster",
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "htcondor": "HTCondorCluster",
    "oar": "OARCluster",
}
#: Default address of the dashboard of a cluster of batch jobs.
LOOPBACK = "127.0.0.1:8787"
#: Seconds in which a scheduler has to answer.
PATIENCE = 10
#: How often Dask tries a task again that failed for a reason of its own.
RETRIES = 3
MISSING = missing_package(
    "dask, distributed and dask-jobqueue", "--scheduler and --jobqueue", "cluster"
)


@contextmanager
def client_of(scheduler: str | None, jobqueue: str | None, jobs: int) -> Iterator[Any]:
    """Return a client of the scheduler at an address, or of a new cluster of `count` batch jobs.

    Raises InputError if Dask is not installed, if no scheduler answers, or if the configuration of
    dask-jobqueue is incomplete.
    """
    distributed = _package("distributed")
    cluster = None if jobqueue is None else _cluster(jobqueue, jobs)
    try:
        client = distributed.Client(cluster if cluster is not None else scheduler, timeout=PATIENCE)
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        if cluster is not None:
            cluster.close()
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise InputError(f"--scheduler {scheduler}: not reachable: {reason}") from error
    try:
        yield client
    finally:
        client.close()
        if cluster is not None:
            cluster.close()


def open_to_others(address: str) -> str:
    """Return the warning about a scheduler reachable without TLS from other machines; "" if there
    is none.
    """
    scheme, _, rest = address.rpartition("://")
    host = rest.rpartition(":")[0].strip("[]")
    if scheme not in ("", "tcp", "ws") or host in ("localhost", "::1"):
        return ""
    if host.startswith("127."):
        return ""
    return (
        f"{address} has no encryption and no authentication: anyone who can connect to it runs "
        f"programs as you; use tls:// (docs/sweep.md)"
    )


def _cluster(name: str, jobs: int) -> Any:
    """Return a cluster of dask-jobqueue by its own configuration."""
    if name not in QUEUES:
        raise UnknownNameError.among("job queue", name, QUEUES)
    jobqueue = _package("dask_jobqueue")
    configured = import_module("dask").config.get(f"jobqueue.{name}.scheduler-options", None) or {}
    # The dashboard of Dask, and its controls, would be open to every user.
    options = {"dashboard_address": LOOPBACK, **configured}
    cluster = None
    try:
        cluster = getattr(jobqueue, QUEUES[name])(scheduler_options=options)
        # The `scale` method of the cluster submits jobs in the background and raises a refusal
        # there.
        for _ in range(jobs):
            cluster.worker_spec.update(cluster.new_worker_spec())
        cluster.sync(_submitted, cluster)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        if cluster is not None:
            # Once all is closed, it is surprised by a job that was never there.
            with suppress(AssertionError):
                cluster.close()
        raise InputError(
            f"--jobqueue {name}: {_refused(error)} "
            f"(jobqueue.{name} in dask-jobqueue's configuration)"
        ) from error
    return cluster


async def _submitted(cluster: Any) -> None:
    """Submit every job; raises the error of the first that is rejected."""
    await cluster


def _refused(error: Exception) -> str:
    """Return why a job was not submitted: the first line of the scheduler's error output.

    For some schedulers dask-jobqueue drops that output and gives the exit code only.
    """
    said, mark, complaint = str(error).partition("stderr:\n")
    first = next((line for line in (complaint if mark else said).splitlines() if line.strip()), "")
    code = re.search(r"^Exit code: (-?\d+)$", said, re.MULTILINE)
    if mark and not first and code:
        first = f"exit code {code[1]}"
    told = first.strip() or type(error).__name__
    return f"a job was not submitted: {told}" if mark else told


def _package(name: str) -> Any:
    """Return a package of the extra, without types."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(MISSING) from None


def on_dask(
    work: Callable[[T], R | None], tasks: Sequence[T], client: Any, stop: Stop
) -> Iterator[tuple[int, R | Lost]]:
    """Yield the results with the numbers of their tasks as they arrive.

    If a worker dies, Dask gives its task to another one, as often as its configuration allows
    (distributed.scheduler.allowed-failures). A result that is lost with its worker is computed
    again. If the scheduler is gone, the iteration ends and the missing results stay missing.
    """
    futures = {
        client.submit(work, task, pure=False, retries=RETRIES): number
        for number, task in enumerate(tasks)
    }
    coming = _package("distributed").as_completed(list(futures))
    left = len(futures)
    while left and not stop.is_set() and client.status == "running":
        batch = [] if coming.queue.empty() else list(coming.next_batch(block=False))
        if not batch:
            time.sleep(GLANCE)
        for future in batch:
            if future.status in ("lost", "pending"):
                coming.add(future)
                continue
            left -= 1
            if future.status == "finished":
                result: R = future.result()
                yield futures[future], result
            elif future.status == "error":
                yield futures[future], Lost(_reason(future.exception()))
            future.release()
    if left:
        client.cancel(list(futures))


def _reason(error: BaseException | None) -> str:
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first}"
