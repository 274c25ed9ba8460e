"""Replay of a recorded workload on one pool of identical processors, job by job and exact.

>>> from slotwise.model.workload import Workload
>>> from slotwise.solver.scheduler.replay import replay
>>> log = Workload.of(submit=[0, 1, 2], run_time=[10, 5, 3], req_time=[10, 5, 3], procs=[3, 4, 1])
>>> replay(log, policy="easy", procs=4).start.tolist()
[0, 10, 2]
"""

from .measures import GroupMetrics, Measuring, Metrics
from .policies import QueuePolicy, QueueView
from .session import (
    POLICIES,
    Checkpoint,
    Policy,
    Replay,
    ReplayComparison,
    ReplayResult,
    engine_of,
    measure,
    policy_name,
    policy_names,
    replay,
    require_different,
    strict_fcfs,
)

__all__ = [
    "POLICIES",
    "Checkpoint",
    "GroupMetrics",
    "Measuring",
    "Metrics",
    "Policy",
    "QueuePolicy",
    "QueueView",
    "Replay",
    "ReplayComparison",
    "ReplayResult",
    "engine_of",
    "measure",
    "policy_name",
    "policy_names",
    "replay",
    "require_different",
    "strict_fcfs",
]
