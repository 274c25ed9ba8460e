"""Queues (lsb.queues)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from .cluster import Thresholds
from .facts import Fact
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

    name: Annotated[str, Fact("new_name", aka=("QUEUE_NAME",))]
    priority: Annotated[int, Fact("whole", "PRIORITY")] = 1
    hosts: Annotated[
        tuple[HostRequest, ...], Fact("queue_hosts", "HOSTS", also=("excluded_hosts",))
    ] = ()
    excluded_hosts: tuple[str, ...] = ()
    users: Annotated[tuple[str, ...], Fact("words", "USERS")] = ()
    res_req: Annotated[str, Fact("requirement", "RES_REQ")] = ""
    resrsv_limit: Annotated[Mapping[str, tuple[float, float]], Fact("bounds", "RESRSV_LIMIT")] = (
        field(default_factory=dict)
    )
    run_limit: Annotated[int | None, Fact("run_limit", "RUNLIMIT", also=("run_limit_max",))] = None
    run_limit_max: int | None = None
    cpu_limit: Annotated[int | None, Fact("minutes", "CPULIMIT")] = None
    estimated_run_time: Annotated[int | None, Fact("minutes", "ESTIMATED_RUNTIME")] = None
    slots: Annotated[
        tuple[int, int | None, int | None] | None,
        Fact("processor_limit", "PROCLIMIT", aka=("TASKLIMIT",)),
    ] = None
    backfill: Annotated[bool, Fact("flag", "BACKFILL")] = False
    slot_reserve: Annotated[int | None, Fact("cycles", "SLOT_RESERVE")] = None
    resource_reserve: Annotated[int | None, Fact("cycles", "RESOURCE_RESERVE")] = None
    exclusive: Annotated[str, Fact("exclusive", "EXCLUSIVE")] = "N"
    queue_slots: Annotated[int | None, Fact("count", "QJOB_LIMIT")] = None
    user_slots: Annotated[int | None, Fact("count", "UJOB_LIMIT")] = None
    processor_slots: Annotated[float | None, Fact("amount", "PJOB_LIMIT")] = None
    host_slots: Annotated[int | None, Fact("count", "HJOB_LIMIT")] = None
    thresholds: Annotated[Thresholds, Fact("thresholds")] = Thresholds()
    dispatch_window: Annotated[str, Fact("windows", "DISPATCH_WINDOW")] = ""
    run_window: Annotated[str, Fact("windows", "RUN_WINDOW")] = ""
    job_accept_interval: Annotated[int | None, Fact("count", "JOB_ACCEPT_INTERVAL")] = None
    user_shares: Annotated[tuple[tuple[str, int], ...] | None, Fact("shares", "FAIRSHARE")] = None
    fairshare_queues: Annotated[tuple[str, ...], Fact("words", "FAIRSHARE_QUEUES")] = ()
    dispatch_order: Annotated[str, Fact("dispatch_order", "DISPATCH_ORDER")] = ""
    slot_share: Annotated[float | None, Fact("percent", "SLOT_SHARE")] = None
    slot_pool: Annotated[str, Fact("name", "SLOT_POOL")] = ""
    max_slots_in_pool: Annotated[int | None, Fact("count", "MAX_SLOTS_IN_POOL")] = None
    use_priority_in_pool: Annotated[bool, Fact("flag", "USE_PRIORITY_IN_POOL")] = False
    factors: Annotated[Mapping[str, float], Fact("factors")] = field(default_factory=dict)
    preemptive: Annotated[
        tuple[str, ...] | None, Fact("preemption", "PREEMPTION", also=("preemptable",))
    ] = None
    preemptable: tuple[str, ...] | None = None
    chunk_job_size: Annotated[int | None, Fact("count", "CHUNK_JOB_SIZE")] = None
    description: Annotated[str, Fact("text", "DESCRIPTION")] = ""
    active: Annotated[bool, Fact("boolean")] = True
    gpu_req: Annotated[str, Fact("gpu_req", "GPU_REQ")] = ""

    @property
    def holds_memory(self) -> bool:
        """Whether reservations of the queue hold memory with the slots (MEM-01, MEM-05)."""
        return self.resource_reserve is not None or self.slot_reserve is None

    @property
    def reserve_cycles(self) -> int | None:
        """Dispatch cycles that a reservation may be held; RESOURCE_RESERVE wins (MEM-05)."""
        return self.resource_reserve if self.resource_reserve is not None else self.slot_reserve
