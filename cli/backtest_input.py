"""What ``slotwise backtest`` asks about: a log run to its end, on a pool or over hosts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .options import tell
from .replay import read_log, tell_left_out
from .replay_progress import progress_bar

if TYPE_CHECKING:
    from ..model.workload import Workload
    from ..solver.forecast.backtest import PastLog
    from ..solver.forecast.recorded import JobNaming

#: The log as it ran, and what is said about that.
Run = tuple["PastLog", dict[str, Any]]


def past_of_pool(
    log: Path, policy: str, procs: int | None, keep_going: bool, stop: Callable[[], bool]
) -> Run:
    """The log replayed on a pool of processors; what is odd goes to stderr."""
    from ..solver.forecast.backtest import Replayed
    from ..solver.replay import replay

    workload, names = _workload(log, procs, keep_going)
    result = replay(workload, policy=policy, procs=procs, stop=stop)
    if not result.complete:
        raise KeyboardInterrupt  # before anything was asked
    tell_left_out(result.workload)
    replayed = Replayed.of(result, names)
    head = {"log": replayed.log.source, "policy": policy, "procs": replayed.procs}
    return replayed, head


def _workload(log: Path, procs: int | None, keep_going: bool) -> tuple[Workload, JobNaming]:
    from ..model.formats.sniff import kind_of, refuse_other
    from ..solver.forecast.recorded import JobNaming, read_recorded

    refuse_other(log, "swf", "acct", "events")
    if kind_of(log) not in ("acct", "events"):
        return read_log(log, keep_going), JobNaming()
    workload, names, remarks = read_recorded(log, keep_going=keep_going)
    for remark in remarks:
        tell(remark)
    if procs is None:
        size = workload.max_procs
        tell(f"{log}: {size} slots were in use at most: the pool has so many (or --procs)")
    return workload, names


def past_over_hosts(log: Path, cluster: Path, keep_going: bool, stop: Callable[[], bool]) -> Run:
    """The log run by the loop over the hosts of an instance, as `slotwise simulate` does."""
    from ..model.omissions import sentences
    from ..solver.budget import OutOfTime
    from ..solver.forecast.simulated import SimulatedLog
    from ..solver.rules.heeded_nowhere import heeded_nowhere_in_a_run
    from .simulate_loop import LoopOptions, cycle_of, new_session, workload

    options = LoopOptions(cluster=cluster, keep_going=keep_going)
    given = workload(log, options)
    session = new_session(given, options, cycle_of(given, options))
    total = len(session.given)
    with progress_bar("simulating", total, lambda: (session.started, session.world.now)) as show:
        try:
            simulated = SimulatedLog.run(session, str(log), stop=stop, watch=show)
        except OutOfTime:
            raise KeyboardInterrupt from None  # before anything was asked
    hosts = len(session.instance.cluster.hosts)
    omissions = heeded_nowhere_in_a_run(session.source, session.world.requests.resolver)
    for sentence in sentences(omissions):
        tell(sentence)
    head = {"log": str(log), "cluster": str(cluster), "hosts": hosts}
    return simulated, head | ({"omissions": [o.to_dict() for o in omissions]} if omissions else {})
