"""Every field that Slurm prints of jobs, nodes, partitions, reservations, licences and shares.

The readers take their names from here; a test holds every field of recorded output against it. A
name with dots is a field of a record in a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import cache
from typing import Any, Literal

from .. import slurm_values as values
from ..slurm_values import blank, host_list, listed, number, one_or_more, stamp, text, whole
from ..slurm_values import finite_megabytes as size

#: Value of a field that the form of a record lacks although other forms have it.
NOT_PRINTED = "not printed"

RecordKind = Literal["job", "node", "partition", "reservation", "licence", "share", "priority"]
Outcome = Literal["read", "named", "inert"]


@dataclass(frozen=True, slots=True)
class PrintedField:
    """One fact, and the names that it has.

    A fact that is named is an omission of the jobs for which it has a value other than `unset`; one
    that is inert has no influence on a start.
    """

    #: Kind of record that has the field.
    of: RecordKind
    #: Name of the fact: with a reader that of the field of the state, with blanks.
    what: str
    #: Fields of the JSON forms, of all versions; the first that has a value counts.
    json: tuple[str, ...] = ()
    #: Fields of ``scontrol show``, and columns of sshare and sprio.
    text: tuple[str, ...] = ()
    #: Treatment of the field by the reader.
    outcome: Outcome = "read"
    #: Values that mean nothing was asked, in small letters.
    unset: tuple[str, ...] = ()
    #: Reader of the value, None if several facts together make a field of the state.
    reader: Callable[..., Any] | None = None


def _row(
    of: RecordKind,
    what: str,
    json: str = "",
    text: str = "",
    outcome: Outcome | Callable[..., Any] = "read",
    unset: str = "",
) -> PrintedField:
    """Return a row; a reader as outcome: the field is read by it."""
    names = tuple(json.split()), tuple(text.split())
    if isinstance(outcome, str):
        return PrintedField(of, what, *names, outcome, tuple(unset.split()))
    return PrintedField(of, what, *names, reader=outcome)


def _inert(of: RecordKind, json: str = "", text: str = "") -> PrintedField:
    return _row(of, "inert", json, text, "inert")


def _amount(value: Any) -> float:
    return values.amount_of(value) or 0.0


JOBS = (
    _row("job", "id", "job_id", "JobId"),
    _row("job", "array", "array_job_id", "ArrayJobId"),
    _row("job", "array task", "array_task_id"),
    _row("job", "array tasks", "array_task_string", "ArrayTaskId"),
    _row("job", "array limit", "array_max_tasks", "ArrayTaskThrottle"),
    _row("job", "name", "name", "JobName", text),
    _row("job", "user", "user_name", "UserId"),
    _row("job", "account", "account", "Account", text),
    _row("job", "qos", "qos", "QOS", text),
    _row("job", "partitions", "partition", "Partition", listed),
    _row("job", "state", "job_state", "JobState", values.words),
    _row("job", "reason", "state_reason", "Reason", text),
    _row("job", "reason text", "state_description", "", text),
    _row("job", "priority", "priority", "Priority", whole),
    _row("job", "hold", "hold"),
    _row("job", "submit", "submit_time", "SubmitTime", stamp),
    _row("job", "eligible", "eligible_time", "EligibleTime", stamp),
    _row("job", "start", "start_time", "StartTime", stamp),
    _row("job", "end", "end_time", "EndTime", stamp),
    _row("job", "time limit", "time_limit", "TimeLimit"),
    _row("job", "minimum time", "time_minimum", "TimeMin"),
    _row("job", "deadline", "deadline", "Deadline", stamp),
    _row("job", "nodes", "nodes", "NodeList"),
    _row("job", "allocation", "job_resources", "Nodes"),
    _row("job", "node count", "node_count", "NumNodes"),
    _row("job", "most nodes", "max_nodes"),
    _row("job", "cpus", "cpus", "NumCPUs"),
    _row("job", "tasks", "tasks", "NumTasks"),
    _row("job", "cpus per task", "cpus_per_task", "CPUs/Task"),
    _row("job", "tasks per node", "tasks_per_node", "NtasksPer:N"),
    _row("job", "cpus per node", "minimum_cpus_per_node", "MinCPUsNode"),
    _row("job", "memory per node", "memory_per_node", "MinMemoryNode"),
    _row("job", "memory per cpu", "memory_per_cpu", "MinMemoryCPU"),
    _row("job", "tres requested", "tres_req_str", "ReqTRES TRES"),
    _row("job", "tres allocated", "tres_alloc_str", "AllocTRES"),
    _row("job", "tres per node", "tres_per_node", "TresPerNode"),
    _row("job", "tres per job", "tres_per_job", "TresPerJob"),
    _row("job", "tres per task", "tres_per_task", "TresPerTask"),
    _row("job", "tres per socket", "tres_per_socket", "TresPerSocket", "named"),
    _row("job", "features", "features", "Features", text),
    _row("job", "preferred", "prefer", "Prefer", text),
    _row("job", "licences", "licenses", "Licenses", text),
    _row("job", "dependency", "dependency", "Dependency", text),
    _row("job", "required", "required_nodes", "ReqNodeList", host_list),
    _row("job", "excluded", "excluded_nodes", "ExcNodeList", host_list),
    _row("job", "sharing", "shared", "OverSubscribe"),
    _row("job", "exclusive", "exclusive", "Exclusive"),
    _row("job", "submit line", "submit_line"),
    _row("job", "reservation", "resv_name", "Reservation", text),
    _row("job", "het job", "het_job_id", "HetJobId"),
    _row("job", "threads per core", "threads_per_core", "Req:T"),
    _row("job", "contiguous nodes", "contiguous", "Contiguous", "named", "false no 0"),
    _row("job", "leaf switches", "required_switches minimum_switches", "Switches"),
    _row("job", "wait for switches", "maximum_switch_wait_time"),
    _row("job", "cores per socket", "cores_per_socket", "Req:C", "named"),
    _row("job", "sockets per node", "sockets_per_node", "Socks/Node", "named"),
    _row("job", "specialized cores", "core_spec thread_spec", "CoreSpec ThreadSpec", "named", "0"),
    _row("job", "tmp disk per node", "minimum_tmp_disk_per_node", "MinTmpDiskNode", "named", "0"),
    _row("job", "burst buffer", "burst_buffer", "BurstBuffer", "named"),
    _row("job", "cluster features", "cluster_features", "ClusterFeatures", "named"),
    _row("job", "federation", "federation_siblings_viable", "FedViableSiblings", "named"),
    _row("job", "oversubscription", "oversubscribe", "", "named", "false no 0"),
    _row("job", "tasks per core", "tasks_per_core", "NtasksPer:C", "named"),
    _row("job", "tasks per socket", "tasks_per_socket", "NtasksPer:S", "named"),
    _row("job", "tasks per board", "tasks_per_board", "NtasksPer:B", "named", "0"),
    _row("job", "sockets per board", "sockets_per_board", "Req:S", "named", "0"),
    _row("job", "most cpus", "max_cpus", "", "named", "0"),
    _row("job", "memory per gres", "memory_per_tres", "MemPerTres"),
    _row("job", "cpus per gres", "cpus_per_tres", "CpusPerTres", "named"),
    _row("job", "tasks per gres", "tasks_per_tres", "NtasksPerTRES", "named", "0"),
    _row("job", "gres by node", "gres_detail"),
    _row("job", "delay of boot", "delay_boot", "DelayBoot", "named", "0 00:00:00"),
    _row("job", "MCS label", "mcs_label", "MCS_label", "named"),
    _row("job", "flags", "flags"),
    _row("job", "choice of nodes", "", "SpreadJob SpreadSegments ConsolidateSegments", "named"),
    _row("job", "reboot", "reboot", "Reboot", "named", "false 0 no"),
    _inert(
        "job",
        "accrue_time admin_comment allocating_node association_id batch_features batch_flag "
        "batch_host burst_buffer_state cluster command comment container container_id "
        "current_working_directory cpu_frequency_minimum cpu_frequency_maximum "
        "cpu_frequency_governor derived_exit_code exit_code extra failed_node federation_origin "
        "federation_siblings_active group_id group_name het_job_id_set het_job_offset "
        "job_size_str pre_sus_time last_sched_evaluation mail_type mail_user network nice "
        "power preempt_time "
        "preemptable_time priority_by_partition profile requeue resize_time restart_cnt "
        "memory_update_delay memory_update_margin restart_count scheduled_nodes "
        "scheduled_nodes_time selinux_context show_flags "
        "standard_error standard_input standard_output stderr_expanded stdin_expanded "
        "stdout_expanded suspend_time system_comment tres_bind tres_freq user_id wckey "
        "billable_tres container_type cron licenses_allocated segment_size step_id reboot_time",
        "AccrueTime AdminComment AllocNode:Sid BatchFlag BatchHost BatchFeatures Command Comment "
        "CPU_IDs Mem GRES JOB_GRES ExitCode Extra GroupId HetJobIdSet HetJobOffset "
        "KillOInInvalidDependent LastSchedEval MailType MailUser Network Nice Power Profile "
        "NtasksPerN:B:S:C Req:B ReqB:S:C:T "
        "Requeue Restarts RunTime SchedNodeList Scheduler StdErr StdIn StdOut "
        "SuspendTime SecsPreSuspend SubmitLine SystemComment "
        "WorkDir ResizeTime PreemptTime PreemptEligibleTime WCKey Container CpusPerTresBind "
        "NodeAddr SegmentSize LicensesAlloc TresBind TresFreq DerivedExitCode BurstBufferState "
        "ContainerID ContainerType CronJob CrontabSpec ExpeditedRequeue FailedNode "
        "FedActiveSiblings FedOrigin GresAllowTaskSharing GresEnforceBind GresOneTaskPerSharing "
        "KillOnInvalidDependent MemUpdate OOMKillStep ResvPorts SELinuxContext SLUID "
        "StepMgrEnabled",
    ),
)  # fmt: skip

NODES = (
    _row("node", "name", "name", "NodeName", text),
    _row("node", "state", "state", "State"),
    _row("node", "state flags", "state_flags"),
    _row("node", "cpus", "cpus", "CPUTot"),
    _row("node", "usable cpus", "effective_cpus", "CPUEfctv"),
    _row("node", "cores set apart", "specialized_cores", "CoreSpecCount"),
    _row("node", "cpus set apart", "specialized_cpus", "CPUSpecList"),
    _row("node", "cores kept for GPUs", "res_cores_per_gpu", "RestrictedCoresPerGPU", "named", "0"),
    _row("node", "drained gres", "gres_drained", "GresDrain", "named"),
    _row("node", "cores per socket", "cores", "CoresPerSocket", one_or_more),
    _row("node", "threads", "threads", "ThreadsPerCore", one_or_more),
    _row("node", "memory", "real_memory", "RealMemory"),
    _row("node", "memory set apart", "specialized_memory", "MemSpecLimit"),
    _row("node", "gres", "gres", "Gres", values.gres),
    _row("node", "gres in use", "gres_used", "GresUsed"),
    _row("node", "features", "active_features features", "ActiveFeatures AvailableFeatures",
         listed),
    _row("node", "weight", "weight", "Weight", one_or_more),
    _row("node", "partitions", "partitions", "Partitions", listed),
    _row("node", "cpus used", "alloc_cpus", "CPUAlloc", whole),
    _row("node", "memory used", "alloc_memory", "AllocMem", values.amount_of),
    _row("node", "tres in use", "tres_used", "AllocTRES"),
    _row("node", "owner", "owner", "Owner", "named"),
    _row("node", "MCS label", "mcs_label", "MCS_label", "named"),
    _inert(
        "node",
        "address alloc_idle_cpus architecture boards boot_time burstbuffer_network_address "
        "cert_flags cluster_name comment cpu_binding cpu_load energy external_sensors extra "
        "free_mem free_memory gpu_spec hostname idle_cpus instance_id instance_type "
        "last_busy next_state_after_reboot next_state_after_reboot_flags operating_system port "
        "power reason reason_changed_at reason_set_by_user reservation resume_after "
        "slurmd_start_time slurmd_version sockets suspend_time temporary_disk "
        "tls_cert_last_renewal topology tres tres_weighted version",
        "Arch AveWatts Boards BootTime CapWatts CfgTRES CPULoad Comment "
        "CurrentWatts ExtSensorsJoules ExtSensorsTemp ExtSensorsWatts Extra FreeMem "
        "InstanceId InstanceType LastBusyTime NextState NodeAddr NodeHostName OS "
        "Port Reason "
        "ReservationName ResumeAfterTime SlurmdStartTime Sockets SuspendTime TmpDisk Topology "
        "Version BcastAddr CpuBind Parameters TLSCertLastRenewal TLSCertTokenSet",
    ),
)  # fmt: skip

PARTITIONS = (
    _row("partition", "name", "name", "PartitionName", text),
    _row("partition", "nodes", "nodes.configured", "Nodes"),
    _row("partition", "default", "", "Default"),
    _row("partition", "flags", "flags"),
    _row("partition", "default time", "defaults.time", "DefaultTime", values.seconds),
    _row("partition", "max time", "maximums.time", "MaxTime", values.seconds),
    _row("partition", "max nodes", "maximums.nodes", "MaxNodes", whole),
    _row("partition", "fewest nodes", "minimums.nodes", "MinNodes", "named", "0 1"),
    _row("partition", "cpus of a node", "maximums.cpus_per_node", "MaxCPUsPerNode"),
    _row("partition", "tier", "priority.tier", "PriorityTier", one_or_more),
    _row("partition", "job factor", "priority.job_factor", "PriorityJobFactor"),
    _row("partition", "sharing", "maximums.oversubscribe.flags partition.oversubscribe",
         "OverSubscribe"),
    _row("partition", "exclusive", "partition.exclusive", "Exclusive"),
    _row("partition", "jobs of a cpu", "maximums.oversubscribe.jobs maximums.shares"),
    _row("partition", "state", "partition.state", "State"),
    _row("partition", "memory per node", "defaults.partition_memory_per_node", "DefMemPerNode",
         size),
    _row("partition", "memory per cpu", "defaults.partition_memory_per_cpu", "DefMemPerCPU", size),
    _row("partition", "max memory per node", "maximums.partition_memory_per_node",
         "MaxMemPerNode", size),
    _row("partition", "max memory per cpu", "maximums.partition_memory_per_cpu", "MaxMemPerCPU",
         size),
    _row("partition", "qos", "qos.assigned", "QoS", text),
    _row("partition", "accounts", "accounts.allowed", "AllowAccounts", "named", "all"),
    _row("partition", "refused accounts", "accounts.deny", "DenyAccounts", "named", "all"),
    _row("partition", "qos allowed", "qos.allowed", "AllowQos", "named", "all"),
    _row("partition", "qos refused", "qos.deny", "DenyQos", "named", "all"),
    _row("partition", "groups", "groups.allowed", "AllowGroups", "named", "all"),
    _row("partition", "nodes of one user", "", "ExclusiveUser", "named", "no"),
    _row("partition", "use by root alone", "", "RootOnly", "named", "no"),
    _row("partition", "least loaded first", "", "LLN", "named", "no"),
    _row("partition", "reservation required", "", "ReqResv", "named", "no"),
    _row("partition", "preemption", "preempt_mode", "PreemptMode"),
    _row("partition", "billing", "tres.billing_weights", "TRESBillingWeights", values.tres_weights),
    _row("partition", "defaults of gres", "defaults.job", "JobDefaults", "named"),
    _row("partition", "over limit", "maximums.over_time_limit", "OverTimeLimit", values.seconds),
    _row("partition", "network", "topology", "Topology", text),
    _row("partition", "kinds of resources", "select_type", "SelectTypeParameters", "named",
         "none"),
    _row("partition", "nodes of one topology", "", "ExclusiveTopo", "named", "no"),
    _row("partition", "cpus of a socket", "maximums.cpus_per_socket", "MaxCPUsPerSocket", "named",
         "unlimited"),
    _inert(
        "partition",
        "alternate cluster cpus.task_binding cpus.total defaults.memory_per_cpu grace_time "
        "maximums.memory_per_cpu node_sets "
        "nodes.allowed_allocation nodes.total suspend_time timeouts.resume timeouts.suspend "
        "tres.configured",
        "AllocNodes Alternate DisableRootJobs GraceTime Hidden NodeSets "
        "ResumeTimeout SuspendTime SuspendTimeout TRES "
        "TotalCPUs TotalNodes CpuBind PowerDownOnIdle",
    ),
)  # fmt: skip

RESERVATIONS = (
    _row("reservation", "name", "name", "ReservationName", text),
    _row("reservation", "start", "start_time", "StartTime", stamp),
    _row("reservation", "end", "end_time", "EndTime", stamp),
    _row("reservation", "nodes", "node_list", "Nodes", host_list),
    _row("reservation", "cores", "core_count", "CoreCnt", whole),
    _row("reservation", "flags", "flags", "Flags"),
    _row("reservation", "users", "users", "Users"),
    _row("reservation", "accounts", "accounts", "Accounts"),
    _row("reservation", "groups", "groups", "Groups"),
    _row("reservation", "partitions", "", "AllowedPartitions"),
    _row("reservation", "qos", "", "QOS"),
    _row("reservation", "licences", "licenses", "Licenses", text),
    _inert(
        "reservation",
        "burst_buffer core_specializations features max_start_delay node_count partition "
        "purge_completed tres watts",
        "BurstBuffer Comment CoreIDs Duration Features MaxStartDelay NodeCnt NodeName "
        "PartitionName State TRES Watts",
    ),
)

LICENCES = (
    _row("licence", "name", "LicenseName", "LicenseName", text),
    _row("licence", "total", "Total", "Total", _amount),
    _row("licence", "reserved", "Reserved", "Reserved", _amount),
    _row("licence", "used", "Used", "Used", _amount),
    _row("licence", "deficit", "LastDeficit", "LastDeficit", _amount),
    _row("licence", "nodes", "Nodes", "Nodes", text),
    _inert("licence", "Free LastConsumed LastUpdate Remote",
           "Free LastConsumed LastUpdate Mode Remote"),
)  # fmt: skip

#: sshare. Its text has the parent by indentation of the account.
SHARES = (
    _row("share", "account", "", "Account"),
    _row("share", "user", "", "User"),
    _row("share", "name", "name"),
    _row("share", "parent", "parent", "Parent"),
    _row("share", "kind", "type"),
    _row("share", "partition", "partition", "Partition", text),
    _row("share", "shares", "shares", "RawShares"),
    _row("share", "norm shares", "shares_normalized", "NormShares", number),
    _row("share", "usage", "usage", "RawUsage", _amount),
    _row("share", "effective usage", "effective_usage", "EffectvUsage", number),
    _row("share", "factor", "fairshare.factor", "FairShare"),
    _row("share", "level", "fairshare.level", "LevelFS", number),
    _row("share", "GrpTRESMins", "tres.group_minutes", "GrpTRESMins"),
    _inert("share", "cluster id tres.run_seconds tres.usage usage_normalized",
           "Cluster GrpTRESRaw ID NormUsage TRESRunMins"),
)  # fmt: skip

#: sprio, which has no JSON; "PARTITION factor" is its second column PARTITION.
PRIORITIES = (
    _row("priority", "job", "", "JOBID"),
    _row("priority", "partition", "", "PARTITION"),
    _row("priority", "priority", "", "PRIORITY"),
    _row("priority", "PARTITION", "", "PARTITION_factor"),
    *(
        _row("priority", part, "", part)
        for part in ("SITE", "AGE", "ASSOC", "FAIRSHARE", "JOBSIZE", "QOS", "NICE", "TRES")
    ),
    _inert("priority", "", "ACCOUNT CLUSTER QOSNAME SLUID USER"),
)

FIELDS = (*JOBS, *NODES, *PARTITIONS, *RESERVATIONS, *LICENCES, *SHARES, *PRIORITIES)


@cache
def _rows(kind: RecordKind) -> Mapping[str, PrintedField]:
    return {row.what: row for row in FIELDS if row.of == kind and row.what != "inert"}


@cache
def known_names(kind: RecordKind, *, text: bool) -> frozenset[str]:
    """Return every field that a form may have, read or not."""
    rows = (row for row in FIELDS if row.of == kind)
    return frozenset(name for row in rows for name in (row.text if text else row.json))


@dataclass(frozen=True, slots=True)
class SlurmRecord:
    """One record of a listing, of either form, by what its fields mean."""

    #: Kind of the record.
    kind: RecordKind
    #: Values as printed, by field name.
    fields: Mapping[str, Any]
    #: Whether it is of ``scontrol show`` without JSON.
    is_text: bool
    #: File and number of the record, for messages.
    where: str = ""
    #: Name and value of the field that was read last, for messages.
    read: list[tuple[str, Any]] = field(default_factory=list, compare=False)

    @property
    def last(self) -> tuple[str, Any]:
        """The name and the value of the field that was read last."""
        return self.read[-1] if self.read else (self.kind, None)

    def get(self, what: str) -> Any:
        """Return the value of a fact, None if this form lacks it."""
        row = _rows(self.kind)[what]
        for name in row.text if self.is_text else row.json:
            value = _at(self.fields, name)
            if not blank(value):
                self.read[:] = [(name, value)]
                return value
        return None

    def facts(self, zone: tzinfo | None = None) -> dict[str, Any]:
        """Return the facts that have a reader, by the fields of the state.

        zone: of printed times. Raises ValueError for an unreadable value.
        """
        found = {}
        for row in _rows(self.kind).values():
            if (read := row.reader) is not None:
                value = self.get(row.what)
                place = row.what.replace(" ", "_")
                found[place] = stamp(value, zone) if read is stamp else read(value)
        return found

    def named(self) -> Iterator[tuple[str, str]]:
        """Yield the facts that have a value but that no method takes into account."""
        for row in _rows(self.kind).values():
            if row.outcome == "named" and (value := self.get(row.what)) is not None:
                value = whole(value) if isinstance(value, Mapping) else value
                shown = ",".join(map(str, value)) if isinstance(value, list) else str(value)
                empty = shown.strip().lower().removesuffix(".0")
                if value is not None and empty not in ("", "inf", *row.unset) and not blank(shown):
                    yield row.what, shown

    def unknown(self) -> Iterator[str]:
        """Yield the fields that the table of known fields lacks."""
        known = known_names(self.kind, text=self.is_text)
        for name in _paths(self.fields, known):
            if name not in known:
                yield name


def _at(fields: Mapping[str, Any], name: str) -> Any:
    found: Any = fields
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _paths(fields: Mapping[str, Any], known: frozenset[str], above: str = "") -> Iterator[str]:
    """Yield the names of the fields, for nested records those that the table has."""
    for name, value in fields.items():
        path = f"{above}{name}"
        if isinstance(value, Mapping) and any(other.startswith(f"{path}.") for other in known):
            yield from _paths(value, known, f"{path}.")
        else:
            yield path
