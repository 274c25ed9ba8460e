"""Which fact each form of a listing prints, and under which name: of jobs, hosts, queues, users …

The readers take their columns from here, docs/output-forms.md shows the rows, and a test prints
random clusters in every form. A form without a cell does not print the fact: there it is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ...configuration import CONSUMERS

#: ``bjobs -l`` and ``-UF`` (wrapped or not), ``bhosts -l``, ``bqueues -l`` and ``-r``.
LONG = "-l"
#: ``-json -o '…'``.
JSON = "-json"
#: Tables of bhosts and bqueues, with or without ``-w``; tables of bjobs are rejected.
PLAIN = "plain"
FORMS = (LONG, JSON, PLAIN)


Kind = Literal[
    "job", "host", "queue", "user", "user group", "host group", "limit", "job group", "units"
]


@dataclass(frozen=True, slots=True)
class PrintedFact:
    """One fact. `cells`: by form the names that it has there; of several columns the first counts
    that says something.
    """

    #: Kind of object that the fact describes.
    of: Kind
    #: The fact in words.
    what: str
    #: Field of SeenJob, SeenHost or SeenQueue, "" if the fact is stored elsewhere.
    field: str
    cells: Mapping[str, tuple[str, ...]]
    #: Whether the fact is read, or reported as missing.
    outcome: Literal["read", "told"] = "read"
    #: The column of -o without which an answer may be another one, "" for none.
    needed: str = ""
    #: Columns of -o that are asked for, by default the best one.
    asked: tuple[str, ...] = ()

    @property
    def row(self) -> str:
        """Return the row of the table in the docs."""
        cells = [", ".join(f"`{n}`" for n in self.cells.get(form, ())) or "-" for form in FORMS]
        return f"| {self.of} | {self.what} | {' | '.join(cells)} | {self.outcome} |"


def _job(
    what: str,
    field: str,
    long: str = "",
    json: str = "",
    *,
    needed: str = "",
    told: bool = False,
    asked: str | None = None,
) -> PrintedFact:
    """Return a fact of a job; names in a cell are separated by ``;``."""
    cells = {form: _names(text) for form, text in ((LONG, long), (JSON, json)) if text}
    best = cells.get(JSON, ())[:1] if asked is None else tuple(asked.split())
    return PrintedFact("job", what, field, cells, "told" if told else "read", needed, best)


def _row(of: Kind, what: str, field: str, **cells: str) -> PrintedFact:
    forms = {"long": LONG, "json": JSON, "plain": PLAIN}
    return PrintedFact(of, what, field, {forms[name]: _names(text) for name, text in cells.items()})


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(";"))


JOBS = (
    _job("id", "id", "Job", "JOBID"),
    _job("index in its array", "id", "Job", "JOBINDEX; ARRAY_INDEX"),
    _job("state", "status", "Status", "STAT"),
    _job("queue", "queue", "Queue", "QUEUE", needed="queue"),
    _job("user", "user", "User", "USER", needed="user"),
    _job("user group", "group", "User Group", "USER_GROUP"),
    _job("project", "project", "Project", "PROJ_NAME; PROJECT"),
    _job("application profile", "application", "Application", "APPLICATION; APP"),
    _job("host of submission", "from_host", "Submitted from host", "FROM_HOST"),
    _job("slots", "slots", "Task(s); Processors Requested", "MIN_REQ_PROC; NREQ_SLOT; SLOTS",
         needed="nreq_slot", asked="MIN_REQ_PROC NREQ_SLOT"),
    _job("slots reserved for it", "reserved", "Reserved"),
    _job("most slots (-n min,max)", "max_slots", "Task(s); Processors Requested", "MAX_REQ_PROC"),
    _job("requirement (-R)", "res_req", "Requested Resources; RESOURCE REQUIREMENT DETAILS",
         "COMBINED_RESREQ; EFFECTIVE_RESREQ; RES_REQ", needed="combined_resreq",
         asked="COMBINED_RESREQ EFFECTIVE_RESREQ"),
    _job("run limit (-W)", "run_limit", "RUNLIMIT", "RUNTIMELIMIT", needed="runtimelimit"),
    _job("CPU limit (-c)", "cpu_limit", "CPULIMIT", "CPULIMIT", asked=""),
    _job("estimated run time (-We)", "estimated_run_time", "ESTIMATED_RUNTIME",
         "ESTIMATED_RUN_TIME; ESTIMATED_RUNTIME"),
    _job("submission", "submit", "Submitted", "SUBMIT_TIME", needed="submit_time"),
    _job("priority (-sp)", "priority", "Job Priority; User Priority", "JOB_PRIORITY",
         needed="job_priority"),
    _job("absolute priority set for it (bmod -aps)", "aps",
         "System Absolute Priority; Admin factor value", "APS", asked=""),
    _job("earliest start (-b)", "begin", "Specified Start Time", "SPECIFIED_START_TIME",
         needed="specified_start_time"),
    _job("latest end (-t)", "deadline", "Specified Termination Time", "SPECIFIED_TERMINATE_TIME"),
    _job("start", "start", "Started; Dispatched", "START_TIME"),
    _job("expected end", "finish", json="FINISH_TIME"),
    _job("time left", "left", json="TIME_LEFT", asked=""),
    _job("run time so far", "run_time", json="RUN_TIME"),
    _job("beginning of a suspension", "stopped", "Suspended"),
    _job("end of a suspension", "idle", "Running; Resumed"),
    _job("CPU time used", "cpu_time", "The CPU time used is", "CPU_USED"),
    _job("hosts in use", "allocation", "Started; Allocated", "ALLOC_SLOT; EXEC_HOST",
         asked="ALLOC_SLOT NALLOC_SLOT EXEC_HOST"),
    _job("hosts (-m)", "hosts", "Specified Hosts", "ASK_HOSTS; ASKED_HOSTS", needed="ask_hosts"),
    _job("exclusive (-x)", "exclusive", "Exclusive Execution", "EXCLUSIVE"),
    _job("resizes itself (-ar)", "resizable", "Autoresizable; Auto-resizable"),
    _job("name and array (-J)", "name", "Job Name", "JOB_NAME"),
    _job("elements of its array", "name", "Job Name", "JARRAY_SPEC; ARRAY_SPEC", asked=""),
    _job("condition (-w)", "dependency", "Dependency Condition", "DEPENDENCY", needed="dependency"),
    _job("GPUs asked for", "gpu", "Requested GPU; GPU REQUIREMENT DETAILS", "GPU_NUM; NGPUS"),
    _job("mode of GPUs", "gpu", "Requested GPU; GPU REQUIREMENT DETAILS", "GPU_MODE"),
    _job("GPUs for it alone", "gpu", "Requested GPU; GPU REQUIREMENT DETAILS", "J_EXCLUSIVE"),
    _job("GPUs in use", "gpus_held", "GPU_ALLOCATION; EXTERNAL MESSAGES", "GPU_ALLOC"),
    _job("why it waits", "reason", "PENDING REASONS", "PEND_REASON"),
    _job("estimated start", "estimate",
         "Estimated Job Start Time; Job will start no sooner than; Will be started; ESTIMATION",
         "ESTIMATED_START_TIME; ESTART_TIME; ESTIMATED_SIM_START_TIME; ESSTART_TIME"),
    _job("advance reservation (-U)", "reservation", "Reservation", "RSVID; RESERVATION"),
    _job("job group (-g)", "job_group", "Job Group", "JOB_GROUP"),
    _job("service class (-sla)", "service_class", "Service Class", "SERVICE_CLASS; SLA"),
    _job("licence project (-Lp)", "license_project", "License Project",
         "LICPROJECT; LICENSE_PROJECT",         asked=""),
    _job("forwarded to a cluster", "unread", "forwarded to cluster", "FORWARD_CLUSTER", told=True,
         asked=""),
    _job("network", "unread", "Network", "NETWORK_REQ", told=True),
    _job("data (-data)", "unread", "DATA REQUIREMENTS", "DATA_REQUIREMENT", told=True,
         asked=""),
)  # fmt: skip

#: Columns of ``bjobs -o`` that have no effect on starts.
SILENT_COLUMNS = frozenset(
    {"JOB_DESCRIPTION", "ESUB", "COMMAND", "PRE_EXEC_COMMAND", "POST_EXEC_COMMAND", "PIDS"}
    | {"RESIZE_NOTIFICATION_COMMAND", "NALLOC_SLOT", "NEXEC_HOST", "FIRST_HOST", "EXIT_CODE"}
    | {"EXIT_REASON", "KILL_REASON", "KILL_ISSUE_HOST", "SUSPEND_REASON", "SUSPEND_ISSUE_HOST"}
    | {"RESUME_REASON", "RESUME_ISSUE_HOST", "%COMPLETE", "COMPLETE"}
    | {"WARNING_ACTION", "ACTION_WARNING_TIME", "PENDSTATE", "PEND_TIME", "EPENDTIME", "IPENDTIME"}
    | {"EFFECTIVE_PLIMIT", "EFFECTIVE_EPLIMIT", "PLIMIT_REMAIN", "EPLIMIT_REMAIN", "PLIMIT"}
    | {"EPLIMIT", "RU_UTIME", "RU_STIME", "IDLE_FACTOR", "EXCEPTION_STATUS", "SLOTS", "NTHREADS"}
    | {"MEM", "MAX_MEM", "AVG_MEM", "MEMLIMIT", "SWAP", "SWAPLIMIT", "MEM_EFFICIENCY", "HRUSAGE"}
    | {"FILELIMIT", "CORELIMIT", "STACKLIMIT", "PROCESSLIMIT", "DATALIMIT", "THREADLIMIT"}
    | {"INPUT_FILE", "OUTPUT_FILE", "ERROR_FILE", "OUTPUT_DIR", "SUB_CWD", "EXEC_HOME", "EXEC_CWD"}
    | {"EXEC_HOME_DIR", "FORWARD_TIME", "SRCJOBID", "DSTJOBID", "SOURCE_CLUSTER", "SRCLUSTER"}
    | {"ENERGY", "GPFSIO", "BLOCK", "CPU_PEAK", "CPU_EFFICIENCY", "AVERAGE_CPU_EFFICIENCY"}
    | {"CPU_PEAK_EFFICIENCY", "CPU_PEAK_REACHED_DURATION", "DELAY_HOSTS", "CHARGED_SAAP"}
    | {"INELIGIBLE_PENDING_TIME", "ELIGIBLE_PENDING_TIME", "ALL", "EXT_MSG", "JOB_MSG", "COMMENT"}
    | {
        "ALLOC_FLAGS",
        "CORE_ISOLATION",
        "SMT",
        "STEP_CGROUP",
        "NREQ_SLOT",
        "ERROR",
        "IS_HIDDEN",
        "CONTAINER_IMAGE",
        "JOB_TYPE",
    }
)

HOSTS = (
    _row("host", "name", "name", long="HOST", json="HOST_NAME; HOST", plain="HOST_NAME"),
    _row("host", "state", "status", long="STATUS", json="STATUS", plain="STATUS"),
    _row("host", "slots", "slots", long="MAX", json="MAX", plain="MAX"),
    _row("host", "slots of one user", "user_slots", long="JL/U", json="JL/U; JL_U", plain="JL/U"),
    _row("host", "slots of running jobs", "used", long="RUN", json="RUN", plain="RUN"),
    _row("host", "slots of jobs that LSF suspended", "used", long="SSUSP", json="SSUSP",
         plain="SSUSP"),
    _row("host", "slots of jobs that users suspended", "used", long="USUSP", json="USUSP",
         plain="USUSP"),
    _row("host", "slots reserved", "reserved_slots", long="RSV", json="RSV", plain="RSV"),
    _row("host", "CPU factor", "cpu_factor", long="CPUF", json="CPUF"),
    _row("host", "dispatch window", "windows", long="DISPATCH_WINDOW", json="DISPATCH_WINDOW"),
    _row("host", "GPUs", "gpus", long="ngpus; ngpus_physical", json="NGPUS"),
    _row("host", "GPUs in use", "gpus_used", long="ngpus_physical", json="NGPUS_ALLOC"),
    _row("host", "memory, swap, tmp that are free", "total", long="Total",
         json="AVAILABLE_MEM; AVAILABLE_SWP; AVAILABLE_TMP"),
    _row("host", "memory, swap, tmp that jobs reserve", "reserved", long="Reserved",
         json="RESERVED_MEM; RESERVED_SWP; RESERVED_TMP"),
    _row("host", "load, resources of the site", "total", long="Total"),
    _row("host", "thresholds", "sched", long="loadSched; loadStop"),
)  # fmt: skip

QUEUES = (
    _row("queue", "name", "name", long="QUEUE", json="QUEUE_NAME; QUEUE", plain="QUEUE_NAME"),
    _row("queue", "priority", "priority", long="PRIO", json="PRIO; PRIORITY", plain="PRIO"),
    _row("queue", "state: open, active", "status", long="STATUS", json="STATUS", plain="STATUS"),
    _row("queue", "slots", "queue_slots", long="MAX", json="MAX", plain="MAX"),
    _row("queue", "slots of a user", "user_slots", long="JL/U", json="JL_U; JL/U", plain="JL/U"),
    _row("queue", "slots of a processor", "processor_slots", long="JL/P", json="JL_P; JL/P",
         plain="JL/P"),
    _row("queue", "slots of a host", "host_slots", long="JL/H", json="JL_H; JL/H", plain="JL/H"),
    _row("queue", "slots of its jobs", "counts", long="NJOBS; PEND; RUN; SSUSP; USUSP; RSV",
         json="NJOBS; PEND; RUN; SUSP; SSUSP; USUSP; RSV", plain="NJOBS; PEND; RUN; SUSP"),
    _row("queue", "description", "description", long="--", json="DESCRIPTION"),
    _row("queue", "run limit", "run_limit", long="RUNLIMIT"),
    _row("queue", "CPU limit", "cpu_limit", long="CPULIMIT"),
    _row("queue", "tasks of a job", "tasks", long="TASKLIMIT; PROCLIMIT"),
    _row("queue", "thresholds", "sched", long="loadSched; loadStop"),
    _row("queue", "policies", "policies", long="SCHEDULING POLICIES"),
    _row("queue", "shares", "shares", long="USER_SHARES"),
    _row("queue", "share accounts", "accounts", long="SHARE_INFO_FOR"),
    _row("queue", "queues of its set", "fairshare_queues", long="FAIRSHARE_QUEUES"),
    _row("queue", "absolute priority", "absolute", long="APS_PRIORITY"),
    _row("queue", "queues of its APS group", "queue_group", long="QUEUE_GROUP"),
    _row("queue", "order of dispatch", "by_queue", long="DISPATCH_ORDER"),
    _row("queue", "users", "users", long="USERS"),
    _row("queue", "hosts", "hosts", long="HOSTS"),
    _row("queue", "requirement", "res_req", long="RES_REQ"),
    _row("queue", "time of a reservation", "reservation",
         long="Maximum slot reservation time; Maximum resource reservation time"),
    _row("queue", "interval between jobs of a host", "accept_interval",
         long="Interval for a host to accept two jobs"),
    _row("queue", "pool of slots", "slot_pool", long="SLOT_POOL"),
    _row("queue", "share of slots", "slot_share", long="SLOT_SHARE"),
    _row("queue", "dispatch window", "dispatch_window", long="DISPATCH_WINDOW"),
    _row("queue", "run window", "run_window", long="RUN_WINDOW"),
)  # fmt: skip

USERS = (
    _row("user", "name", "name", json="USER/GROUP", plain="USER/GROUP"),
    _row("user", "slots", "max_slots", json="MAX", plain="MAX"),
    _row("user", "slots of a processor", "processor_slots", json="JL/P; JL_P", plain="JL/P"),
)

USER_GROUPS = (
    _row("user group", "name", "name", long="GROUP_NAME", plain="GROUP_NAME"),
    _row("user group", "members", "members", long="USERS", plain="USERS"),
    _row("user group", "shares", "user_shares", long="SHARES"),
)

HOST_GROUPS = (
    _row("host group", "name", "name", long="GROUP_NAME", plain="GROUP_NAME"),
    _row("host group", "members", "members", long="HOSTS", plain="HOSTS"),
)

#: Whom a limit binds, and of what.
LIMIT_CONSUMERS = tuple(
    _row("limit", f"{item.noun}s", item.field, long=f"{key}; {item.per_field.upper()}", plain=key)
    for item in CONSUMERS
    for key in (item.field.upper(),)
)
LIMIT_AMOUNTS = (
    _row("limit", "slots", "slots", long="SLOTS", plain="SLOTS"),
    _row("limit", "memory", "mem", long="MEM", plain="MEM"),
    _row("limit", "tmp", "tmp", long="TMP", plain="TMP"),
    _row("limit", "swap", "swp", long="SWP", plain="SWP"),
    _row("limit", "jobs", "jobs", long="JOBS", plain="JOBS"),
)
LIMITS = (
    _row("limit", "name", "name", long="NAME", plain="NAME"),
    *LIMIT_CONSUMERS,
    *LIMIT_AMOUNTS,
)

JOB_GROUPS = (
    _row("job group", "name", "name", plain="GROUP_NAME"),
    _row("job group", "started jobs, and their limit", "limit", plain="JLIMIT"),
)

#: Processor units of hosts, in the trees of lshosts -T and bhosts -aff.
TOPOLOGY = (
    _row("units", "host", "name", plain="Host"),
    _row("units", "sockets", "sockets", plain="Socket"),
    _row("units", "NUMA nodes", "numa_nodes", plain="NUMA"),
    _row("units", "cores", "cores", plain="core"),
    _row("units", "threads of cores", "threads", plain="core"),
)

FACTS = (
    *JOBS, *HOSTS, *QUEUES, *USERS, *USER_GROUPS, *HOST_GROUPS, *LIMITS, *JOB_GROUPS, *TOPOLOGY,
)  # fmt: skip


def _columns(fact: PrintedFact) -> tuple[str, ...]:
    """Return the columns of a fact in -json; clauses of ``bjobs -l`` are no columns."""
    forms = (JSON,) if fact.of == "job" else (JSON, PLAIN, LONG)
    return tuple(dict.fromkeys(name for form in forms for name in fact.cells.get(form, ())))


_READ_COLUMNS = frozenset(
    name for fact in JOBS if fact.outcome == "read" for name in fact.cells.get(JSON, ())
)
_COLUMNS = {(fact.of, fact.what): _columns(fact) for fact in FACTS}
_TITLES = {(fact.of, name): fact.what for fact in FACTS for name in fact.cells.get(LONG, ())}


def columns(what: str, of: Kind = "job") -> tuple[str, ...]:
    """Return the columns that have a fact, the best first."""
    return _COLUMNS[of, what]


def fact_of(title: str, of: Kind) -> str:
    """Return the fact under a title of a long form, "" if there is none."""
    return _TITLES.get((of, title), "")


def titles(facts: Iterable[PrintedFact], form: str) -> tuple[tuple[str, str], ...]:
    """Return the titles of a form, each with the field of its fact."""
    return tuple((name, fact.field) for fact in facts for name in fact.cells.get(form, ()))


def needed() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return, for facts without which answers may differ, the column to request, and all
    columns.
    """
    return ((fact.needed, fact.cells[JSON]) for fact in JOBS if fact.needed)


def asked_columns() -> Iterator[str]:
    """Return the fields of ``bjobs -o`` that have all facts of a job."""
    return (name.lower() for fact in JOBS for name in fact.asked)


def is_told(column: str) -> bool:
    """Return whether a column of ``bjobs -json`` that has a value is reported: no reader uses it,
    and it may affect a start.
    """
    return column not in _READ_COLUMNS and column not in SILENT_COLUMNS


def read_parts() -> frozenset[str]:
    """Return clauses and titles of ``bjobs -l`` from which the reader takes a fact, in lower
    case.
    """
    kept = (fact for fact in JOBS if fact.field != "unread")
    return frozenset(name.lower() for fact in kept for name in fact.cells.get(LONG, ()))
