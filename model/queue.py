"""Queues (lsb.queues)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .cluster import Thresholds
from .job import HostRequest


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue (lsb.queues), under Python names; docs/instances.md has LSF's own.

    estimated_run_time: ESTIMATED_RUNTIME (seconds), how long its jobs are expected to run.
    run_limit: RUNLIMIT's default, run_limit_max: its maximum, cpu_limit: CPULIMIT (seconds).
    slots: PROCLIMIT (min, default, max). hosts: HOSTS, empty for all.
    slot_reserve, resource_reserve: MAX_RESERVE_TIME[n] in dispatch cycles, None where not set.
    exclusive: "N", "Y" or "CU[type]".
    queue_slots, user_slots: QJOB_LIMIT, UJOB_LIMIT. processor_slots, host_slots: PJOB_LIMIT,
    HJOB_LIMIT.
    user_shares: FAIRSHARE = USER_SHARES[…] pairs; None for first come, first served.
    fairshare_queues, dispatch_order: cross-queue. slot_share, slot_pool: queue-based fairshare.
    factors: CPU_TIME_FACTOR … that override the cluster's.
    preemptive, preemptable: queue names each applies to; ("*",) for all; None if not. active: False
    where badmin qinact keeps its jobs from starting. gpu_req: GPU_REQ.
    """

    name: str
    priority: int = 1
    hosts: tuple[HostRequest, ...] = ()
    excluded_hosts: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    res_req: str = ""
    resrsv_limit: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    run_limit: int | None = None
    run_limit_max: int | None = None
    cpu_limit: int | None = None
    slots: tuple[int, int | None, int | None] | None = None
    backfill: bool = False
    slot_reserve: int | None = None
    resource_reserve: int | None = None
    exclusive: str = "N"
    queue_slots: int | None = None
    user_slots: int | None = None
    processor_slots: float | None = None
    host_slots: int | None = None
    thresholds: Thresholds = Thresholds()
    dispatch_window: str = ""
    run_window: str = ""
    job_accept_interval: int | None = None
    user_shares: tuple[tuple[str, int], ...] | None = None
    fairshare_queues: tuple[str, ...] = ()
    dispatch_order: str = ""
    slot_share: float | None = None
    slot_pool: str = ""
    max_slots_in_pool: int | None = None
    use_priority_in_pool: bool = False
    factors: Mapping[str, float] = field(default_factory=dict)
    preemptive: tuple[str, ...] | None = None
    preemptable: tuple[str, ...] | None = None
    chunk_job_size: int | None = None
    description: str = ""
    active: bool = True
    estimated_run_time: int | None = None
    gpu_req: str = ""

    @property
    def holds_memory(self) -> bool:
        """Whether reservations of the queue hold memory with the slots (MEM-01, MEM-05)."""
        return self.resource_reserve is not None or self.slot_reserve is None

    @property
    def reserve_cycles(self) -> int | None:
        """Dispatch cycles that a reservation may be held; RESOURCE_RESERVE wins (MEM-05)."""
        return self.resource_reserve if self.resource_reserve is not None else self.slot_reserve
