"""Tasks on a Dask cluster: its futures, its retries, its dashboard.

Dask is an extra (`slotwise[cluster]`) and imported here alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

from ...model.errors import InputError, UnknownNameError
from .run import Stop
from .workers import GLANCE, Lost

T = TypeVar("T")
R = TypeVar("R")

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
#: Where the dashboard of a cluster of batch jobs listens unless its configuration says otherwise.
LOOPBACK = "127.0.0.1:8787"
#: Seconds in which a scheduler has to answer.
PATIENCE = 10
#: How often Dask tries a task again that failed for a reason of its own.
RETRIES = 3
MISSING = (
    "a Dask cluster needs the packages dask, distributed and dask-jobqueue, which are not "
    "installed: pip install 'slotwise[cluster]', or leave out --scheduler and --jobqueue"
)


@contextmanager
def client_of(scheduler: str | None, jobqueue: str | None, jobs: int) -> Iterator[Any]:
    """A client of the scheduler at an address, or of a new cluster of so many batch jobs.

    Raises InputError where Dask is not installed, nobody answers, or dask-jobqueue's configuration
    does not say enough.
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
    """What to know of a scheduler that is reached without TLS from other machines; "" of others."""
    scheme, _, rest = address.rpartition("://")
    host = rest.rpartition(":")[0].strip("[]")
    if scheme not in ("", "tcp", "ws") or host in ("localhost", "::1"):
        return ""
    if host.startswith("127."):
        return ""
    return (
        f"{address} is not encrypted and asks nobody who he is: whoever reaches it runs programs "
        "as you; use tls:// (docs/sweep.md)"
    )


def _cluster(name: str, jobs: int) -> Any:
    """A cluster of dask-jobqueue as its own configuration says."""
    if name not in QUEUES:
        raise UnknownNameError.among("job queue", name, QUEUES)
    jobqueue = _package("dask_jobqueue")
    configured = import_module("dask").config.get(f"jobqueue.{name}.scheduler-options", None) or {}
    # Dask would show its dashboard, and what it can do, to everyone.
    options = {"dashboard_address": LOOPBACK, **configured}
    try:
        cluster = getattr(jobqueue, QUEUES[name])(scheduler_options=options)
        cluster.scale(jobs=jobs)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise InputError(
            f"--jobqueue {name}: {reason} (jobqueue.{name} in dask-jobqueue's configuration)"
        ) from error
    return cluster


def _package(name: str) -> Any:
    """A package of the extra, without types."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(MISSING) from None


def on_dask(
    work: Callable[[T], R | None], tasks: Sequence[T], client: Any, stop: Stop
) -> Iterator[tuple[int, R | Lost]]:
    """The results with the numbers of their tasks as they come.

    A worker that dies takes nothing with it: Dask gives its task to another one, so often as its
    configuration says (distributed.scheduler.allowed-failures); a result that dies with its worker
    before it is fetched is waited for anew. Without a scheduler any more it ends, and what is
    missing is missing.
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
