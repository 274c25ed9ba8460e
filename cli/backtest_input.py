"""What ``slotwise backtest`` asks about: a log run to its end, on a pool or over hosts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .options import tell
from .replay import read_log, tell_left_out
from .replay_progress import progress_bar

if TYPE_CHECKING:
    from ..model.errors import InputError
    from ..model.workload import Workload
    from ..solver.forecast.backtest import PastLog
    from ..solver.forecast.recorded import JobNaming

#: The log as it ran, and what is said about that.
Run = tuple["PastLog", dict[str, Any]]


@dataclass(frozen=True, slots=True)
class PastOfPool:
    """A log on a pool of processors, and the options that say how it is read and run."""

    log: Path
    policy: str
    procs: int | None
    keep_going: bool
    default_limit: str | None

    def run(self, stop: Callable[[], bool]) -> Run:
        """The log replayed; what is odd goes to stderr."""
        from ..solver.forecast.backtest import Replayed
        from ..solver.replay import replay

        workload, names = self._workload()
        result = replay(workload, policy=self.policy, procs=self.procs, stop=stop)
        if not result.complete:
            raise KeyboardInterrupt  # before anything was asked
        tell_left_out(result.workload)
        replayed = Replayed.of(result, names)
        head = {"log": replayed.log.source, "policy": self.policy, "procs": replayed.procs}
        return replayed, head

    def _workload(self) -> tuple[Workload, JobNaming]:
        from ..model.formats.sniff import kind_of, refuse_other
        from ..solver.forecast.recorded import JobNaming, read_recorded

        refuse_other(self.log, "swf", "acct", "events")
        if kind_of(self.log) not in ("acct", "events"):
            log = read_log(self.log, self.keep_going, self.default_limit, follows=False)
            return log, JobNaming()
        if self.default_limit is not None:
            raise only_of_swf(self.log)
        workload, names, remarks = read_recorded(self.log, keep_going=self.keep_going)
        for remark in remarks:
            tell(remark)
        if self.procs is None:
            size = workload.max_procs
            tell(f"{self.log}: {size} slots were in use at most: the pool has so many (or --procs)")
        return workload, names


def only_of_swf(log: Path) -> InputError:
    """The refusal of --default-limit for a log of LSF's, whose queues have limits of their own."""
    from ..model.errors import InputError

    return InputError(f"--default-limit: means nothing for {log}, which is no SWF log")


def past_over_hosts(
    log: Path,
    cluster: Path,
    keep_going: bool,
    default_limit: str | None,
    stop: Callable[[], bool],
) -> Run:
    """The log run by the loop over the hosts of an instance, as `slotwise simulate` does."""
    from ..model.omissions import sentences
    from ..solver.budget import OutOfTime
    from ..solver.forecast.simulated import SimulatedLog
    from ..solver.rules.heeded_nowhere import heeded_nowhere_in_a_run
    from .simulate_loop import LoopOptions, cycle_of, new_session, workload

    options = LoopOptions(cluster=cluster, keep_going=keep_going, default_limit=default_limit)
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
