"""Cluster-wide parameters (lsb.params, lsf.conf) under Python names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .array import DEFAULT_LARGEST


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters a planner needs; seconds where LSF has seconds or cycles of them.

    mbd_sleep_time: length of a dispatch cycle (s). time_reserve_numjobs: LSB_TIME_RESERVE_NUMJOBS,
    0 means off. reserve_per_slot: RESOURCE_RESERVE_PER_SLOT. job_accept_interval: cycles.
    dialect: the version of LSF whose requirement language is spoken, "7" or "10.1".
    unit_for_limits: LSF_UNIT_FOR_LIMITS (MB, GB, …) for mem and swp without a unit of their own.
    estimated_run_time: ESTIMATED_RUNTIME, how long jobs are expected to run for which nothing else
    gives an estimate (seconds).
    lenient: cu[balance] may have usablecuslots, as one example of the documents has it.
    max_user_priority: MAX_USER_PRIORITY, the highest -sp; 0 where it is not set.
    max_job_array_size: MAX_JOB_ARRAY_SIZE, the largest index of a job array.
    job_dep_last_sub: JOB_DEP_LAST_SUB: a condition (-w) on a name means the last job of that name
    alone. orphan_grace: ORPHAN_JOB_TERM_GRACE_PERIOD, seconds after which a job is killed whose
    condition can never hold; None: it waits on.
    run_time_in_slots: the fairshare run time counts slot-seconds instead of wall time.
    gpu_req: LSB_GPU_REQ. gpu_req_merge: GPU_REQ_MERGE, options of GPU requirements are merged one
    by one. gpu_syntax: LSB_GPU_NEW_SYNTAX, "extend", "Y" or "N".
    """

    mbd_sleep_time: int = 60
    time_reserve_numjobs: int = 0
    reserve_per_slot: bool = False
    reserve_by_starttime: bool = False
    job_accept_interval: int = 0
    parallel_sched_by_slot: bool = False
    strict_resreq: bool = False
    lenient: bool = False
    dialect: str = "10.1"
    unit_for_limits: str = "MB"
    default_queue: str = "default"
    cpu_time_factor: float = 0.7
    run_time_factor: float = 0.7
    committed_run_time_factor: float = 0.0
    run_job_factor: float = 3.0
    fairshare_adjustment_factor: float = 0.0
    fairshare_adjustment: str = ""
    hist_hours: float = 5.0
    enable_hist_run_time: bool = False
    run_time_decay: bool = False
    run_time_in_slots: bool = False
    max_user_priority: int = 0
    modules: tuple[str, ...] | None = None
    estimated_run_time: int | None = None
    job_dep_last_sub: bool = True
    orphan_grace: int | None = None
    max_job_array_size: int = DEFAULT_LARGEST
    gpu_req: str = ""
    gpu_req_merge: bool = True
    gpu_syntax: str = "extend"

    @property
    def default_priority(self) -> int:
        """The priority of a job without -sp: half the highest one."""
        return self.max_user_priority // 2


def counting_rusage(params: Params, family: str, asked: str = "") -> tuple[Params, str]:
    """The parameters with what rusage[mem] counts for, and a sentence where that is a guess.

    family: "OpenLava" or "volclava", of LSF's family, "" for LSF. asked: "slot" or "host", "" for
    what the family does: LSF and today's volclava take an amount once a host, OpenLava and early
    volclava once a slot.
    """
    if asked:
        return replace(params, reserve_per_slot=asked == "slot"), ""
    if not family or params.reserve_per_slot:
        return params, ""
    if family == "OpenLava":
        what = "rusage[mem] is counted per slot, as OpenLava does (--rusage host: per host)"
        return replace(params, reserve_per_slot=True), what
    return params, (
        "rusage[mem] is counted per host, and early versions of volclava count it per slot "
        "(--rusage slot)"
    )


def usual_queue(names: Sequence[str]) -> str:
    """The default queue where nobody names one: ``default`` where there is one, else the first."""
    usual = Params().default_queue
    return usual if usual in names or not names else names[0]


def with_default_queue(params: Params, names: Sequence[str]) -> Params:
    """The parameters beside queues of these names; one that nobody named is the usual one."""
    named = params.default_queue != Params().default_queue
    return params if named else replace(params, default_queue=usual_queue(names))
