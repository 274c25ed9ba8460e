"""What is known of LSF's parameters: which have a counterpart, which change answers, which not.

Names and meanings are those of the LSF 7 and 10.1 configuration references.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection

from ...cluster import BUILTIN_INDICES
from .notes import Notes
from .sections import LsfEntry

#: Parameters without a counterpart that have a say in starts, and what they would do.
CHANGES_ANSWERS = {
    "ABSOLUTE_PRIORITY": "jobs are ordered by an absolute priority, here by fairshare or FCFS",
    "ALLOCATION_PLANNER": "the allocation planner plans ahead; here the chosen method does",
    "APPS": "limits by application profile are not applied",
    "APS_PRIORITY": "jobs are ordered by an absolute priority, here by fairshare or FCFS",
    "DEFAULT_APPLICATION": "jobs without -app belong to this profile, here to none",
    "DEFAULT_EXTSCHED": "topology options of an external scheduler are not read",
    "DEFAULT_HOST_SPEC": "run limits count on this host's processor; see CPU factors",
    "ELIGIBLE_PEND_JOBS": "not applied: more jobs may be looked at in a cycle",
    "ENABLE_JOB_INTERVAL": "not applied",
    "EXTENDABLE_RUNLIMIT": "a job may run on beyond its limit; here the limit ends it",
    "HOSTLIMIT_PER_JOB": "the number of hosts of a job is not limited",
    "INTERRUPTIBLE_BACKFILL": "jobs may run in a gap and be stopped; here only if they end in time",
    "JOB_PRIORITY_OVER_TIME": "priorities of pending jobs grow; here they stay as submitted",
    "JOB_SCHEDULING_INTERVAL": "the cycle length is taken from MBD_SLEEP_TIME",
    "JOB_SIZE_LIST": "sizes that are not listed are refused; here any size is taken",
    "JOBS_PER_SCHED_CYCLE": "not applied: more jobs may start in a cycle",
    "LSB_MAX_JOB_DISPATCH_PER_SESSION": "not applied: more jobs may start in a cycle",
    "MAX_JOBS_DISPATCH_PER_SESSION": "not applied: more jobs may start in a cycle",
    "MEMLIMIT": "it ends jobs that use more memory; here no job is ended for that",
    "MEMLIMIT_TYPE": "see MEMLIMIT",
    "NQS_QUEUES": "jobs are forwarded elsewhere; here they are not",
    "ORPHAN_JOB_TERM_GRACE_PERIOD": "orphaned jobs are ended; here they wait",
    "PEND_TIME_LIMIT": "not applied",
    "PLAN": "the allocation planner plans ahead; here the chosen method does",
    "QUEUE_GROUP": "queues are ordered together by absolute priority; here each by its own",
    "RCVJOBS_FROM": "jobs come from other clusters; here only from this one",
    "RELAX_JOB_DISPATCH_ORDER": "jobs may start out of order; here in order",
    "RERUNNABLE": "jobs start anew when their host fails; here they end with it",
    "ROUND_ROBIN": "users take turns; here jobs go in order of submission",
    "RUNWINDOW": "the host takes jobs at certain times only; here at all times",
    "SNDJOBS_TO": "jobs are forwarded to other clusters; here they are not",
    "SWAPLIMIT": "it ends jobs that use more memory; here no job is ended for that",
    "TIME_BASED_RES_REQ": "requirements by time of day are not read",
    "USE_SUSP_SLOTS": "low priority jobs may take slots of suspended ones; here they may not",
}
CHANGES_ANSWERS["RERUN"] = CHANGES_ANSWERS["RERUNNABLE"]

#: Other parameters of the references: known, without a say in starts or seldom with one.
_KNOWN = frozenset(
    [
        "ADMINISTRATORS",
        "AFFINITY",
        "APP_PROFILE",
        "CHKPNT",
        "CHKPNT_DIR",
        "CHKPNT_METHOD",
        "CHKPNT_PERIOD",
        "CHKPNT_INITPERIOD",
        "CLEAN_PERIOD",
        "COMMITTED_RUN_TIME",
        "CONDENSE",
        "CORELIMIT",
        "CPU_FREQUENCY",
        "DATALIMIT",
        "DEFAULT_JOBGROUP",
        "DEFAULT_PROJECT",
        "DEFAULT_USER_GROUP",
        "DESCRIPTION",
        "DISPATCH_BY_QUEUE",
        "DJOB_COMMFAIL_ACTION",
        "DJOB_ENV_SCRIPT",
        "DJOB_HB_INTERVAL",
        "DJOB_RESIZE_GRACE_PERIOD",
        "DOCKER_IMAGE_AFFINITY",
        "ENABLE_DEFAULT_EADMIN_SUBMIT",
        "ENABLE_EVENT_STREAM",
        "ENABLE_EXIT_RATE_PER_SLOT",
        "ENFORCE_UG_TREE",
        "ENFORCE_ONE_UG_LIMITS",
        "EXIT_RATE",
        "EXEC_DRIVER",
        "CONTAINER",
        "FILELIMIT",
        "GLOBAL_EXIT_RATE",
        "GROUP_SUSP_ONLY",
        "HOST_EXIT_RATE",
        "IGNORE_DEADLINE",
        "IMPT_JOBBKLG",
        "INTERACTIVE",
        "JOB_ACTION_WARNING_TIME",
        "JOB_CONTROLS",
        "JOB_CWD",
        "JOB_CWD_TTL",
        "JOB_IDLE",
        "JOB_INCLUDE_POSTPROC",
        "JOB_OVERRUN",
        "JOB_POSTPROC_TIMEOUT",
        "JOB_PREPROC_TIMEOUT",
        "JOB_SPOOL_DIR",
        "JOB_STARTER",
        "JOB_TERMINATE_INTERVAL",
        "JOB_UNDERRUN",
        "JOB_WARNING_ACTION",
        "JOB_DEP_LAST_SUB",
        "LOAD_INDICES",
        "LOCAL_MAX_PREEXEC_RETRY",
        "LSB_SUSPEND_BEFORE_SUBMIT",
        "MANDATORY_EXTSCHED",
        "MAX_ACCT_ARCHIVE_FILE",
        "MAX_CONCURRENT_QUERY",
        "MAX_EVENT_STREAM_SIZE",
        "MAX_INFO_DIRS",
        "MAX_JOB_ARRAY_SIZE",
        "MAX_JOB_ATTA_SIZE",
        "MAX_JOB_MSG_NUM",
        "MAX_JOB_NUM",
        "MAX_JOB_PREEMPT",
        "MAX_JOB_REQUEUE",
        "MAX_JOBID",
        "MAX_PEND_JOBS",
        "MAX_PEND_SLOTS",
        "MAX_PREEXEC_RETRY",
        "MAX_RSCHED_TIME",
        "MAX_SBD_CONNS",
        "MAX_SBD_FAIL",
        "MAX_TOTAL_TIME_PREEMPT",
        "MBD_EGO_CONNECT_TIMEOUT",
        "MBD_REFRESH_TIME",
        "MBD_USE_EGO_MXJ",
        "MC_FAST_FORWARD",
        "MIG",
        "MIN_REFRESH_TIME",
        "NEW_JOB_SCHED_DELAY",
        "NEWJOB_REFRESH",
        "NICE",
        "NO_PREEMPT_INTERVAL",
        "NO_PREEMPT_FINISH_TIME",
        "NO_PREEMPT_RUN_TIME",
        "PERSISTENT_HOST_ORDER",
        "PG_SUSP_IT",
        "POST_EXEC",
        "PRE_EXEC",
        "PRE_POST_EXEC_USER",
        "PREEMPT_FOR",
        "PREEMPT_JOBTYPE",
        "PREEMPTION_WAIT_TIME",
        "PREEMPTABLE_RESOURCES",
        "PRIVILEGED_USER_FORCE_BKILL",
        "PROCESSLIMIT",
        "REMOTE_MAX_PREEXEC_RETRY",
        "REQUEUE_EXIT_VALUES",
        "RESIZABLE_JOBS",
        "RESIZE_NOTIFY_CMD",
        "RESUME_COND",
        "SBD_SLEEP_TIME",
        "SECURE_INFODIR_USER_ACCESS",
        "SLA_TIMER",
        "STACKLIMIT",
        "STOP_COND",
        "SUB_TRY_INTERVAL",
        "SUCCESS_EXIT_VALUES",
        "SYSTEM_MAPPING_ACCOUNT",
        "TERMINATE_WHEN",
        "THREADLIMIT",
        "USE_PAM_CREDS",
        "USER_ADVANCE_RESERVATION",
        "USER_SHARES_ADMIN",
        "GROUP_ADMIN",
        "ADMINISTRATOR",
    ]
)


def is_index(name: str, resources: Collection[str]) -> bool:
    """Whether a key or column is a load index, built in or defined by the site."""
    return name.lower() in BUILTIN_INDICES or name in resources


def note_rest(
    notes: Notes,
    entry: LsfEntry,
    kind: str,
    taken: Collection[str],
    where: str,
    resources: Collection[str] = (),
) -> None:
    """Note every parameter of an entry that nothing has taken.

    kind: ``queue``, ``host`` or a file's name, for counts. taken: parameters with a counterpart.
    where: which one it is, for reasons. resources: names that may be load indices.
    """
    for parameter, value in entry.values.items():
        name = entry.keys[parameter]
        if parameter in taken or is_index(name, resources):
            continue
        if parameter in CHANGES_ANSWERS:
            if value.text.upper() not in ("N", "NO"):
                notes.may_differ(parameter, CHANGES_ANSWERS[parameter], where)
            continue
        if parameter not in _KNOWN and (
            meant := difflib.get_close_matches(parameter, taken, 1, 0.85)
        ):
            hint = f"unknown parameter {name} (did you mean '{meant[0]}'?): left out"
            notes.remark(hint, value.place)
        notes.not_modelled(kind, name)
