"""Settings of Slurm as keys of an instance file: ``partitions.main.PriorityTier`` and the like."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .slurm_words import PARTITION_KEYS, SECTION_NAMES

_TIMES = ("maxtime", "defaulttime")
#: Key of an instance file with SchedulerParameters.
SCHEDULER_PARAMETERS = "scheduler_parameters"
#: Words of SchedulerParameters that have no number.
_FLAGS = frozenset(
    {"assoc_limit_stop", "bf_busy_nodes", "bf_continue", "bf_licenses", "bf_one_resv_per_job",
     "bf_running_job_reserve", "pack_serial_at_end", "time_min_as_soft_limit"}
)  # fmt: skip
#: Values by which a flag is set, and by which it is removed.
_SET, _UNSET = ("", "1", "y", "yes", "true"), ("0", "n", "no", "false")
#: Words of SchedulerParameters that the simulation has as parameters: the key of each, and the
#: default of Slurm.
LOOP_WORDS = {
    "bf_interval": ("MBD_SLEEP_TIME", 30),
    "bf_max_job_test": ("LSB_TIME_RESERVE_NUMJOBS", 500),
}
#: Settings of slurm.conf that decide how a listing is read, in small letters.
_AS_READ = frozenset(
    {"allowaccounts", "allowqos", "defcpupergpu", "defmempercpu", "defmempergpu", "defmempernode",
     "exclusiveuser", "killwait", "maxmempercpu", "maxmempernode", "maxnodes", "minnodes",
     "overpartqos", "oversubscribe", "overtimelimit", "preemptmode", "preempttype",
     "prioritytype", "qos", "selecttype", "selecttypeparameters", "topologyparam", "topologyplugin"}
)  # fmt: skip
#: Sections of sacctmgr.
_OF_ACCOUNTING = ("qos", "account", "accounts", "assoc", "user")
#: Keys of a node, and states of nodes and partitions with the values of an instance file.
_NODE_KEYS = {"state": "status", "realmemory": "mem"}
_NODE_STATES = {
    **dict.fromkeys(("resume", "idle", "up", "alloc", "allocated", "mix", "mixed"), "ok"),
    **dict.fromkeys(("drain", "drained", "draining", "fail", "maint"), "closed_Adm"),
    "down": "unavail",
}
_PARTITION_STATES = {"up": "Y", "down": "N", "inactive": "N", "drain": "Y"}
#: Settings of priority and fairshare of LSF, in small letters, which no Slurm has.
_SHARES_OF_LSF = frozenset(
    {"hist_hours", "cpu_time_factor", "run_time_factor", "run_job_factor", "fairshare",
     "committed_run_time_factor", "fairshare_adjustment_factor", "fairshare_adjustment",
     "enable_hist_run_time", "run_time_decay", "user_shares", "fairshare_queues", "share_usage",
     "job_priority_over_time", "aps_priority", "host_partitions"}
)  # fmt: skip
#: Beginnings of Slurm's settings of priority, and its associations, in small letters.
_OF_PRIORITY = (
    "priorityweight", "prioritydecay", "prioritycalc", "priorityflags", "prioritymaxage",
    "priorityfavor", "priorityusage", "priorityjobfactor", "fairshare", "tresbilling", "rawshares",
)  # fmt: skip


def parameters_of(text: str) -> dict[str, str]:
    """Return the words of SchedulerParameters, in small letters, with their values."""
    parts = (part.strip().partition("=") for part in text.split(",") if part.strip())
    return {name.strip().lower(): value.strip() for name, _, value in parts}


def loop_number(scheduler_parameters: str, word: str) -> int:
    """Return the number of a word of :data:`LOOP_WORDS`, 1 or more."""
    found = re.match(r"\d{1,6}", parameters_of(scheduler_parameters).get(word, ""))
    return max(1, int(found[0])) if found else LOOP_WORDS[word][1]


def slurm_settings(key: str, value: str, scheduler_parameters: str) -> list[tuple[str, str]]:
    """Return a setting in Slurm's words as keys and values of an instance file.

    scheduler_parameters: SchedulerParameters as they are now, in which a word such as ``bf_window``
    is replaced. Raises ValueError as :func:`_of_one_key` does, and for a value that a word cannot
    have.
    """
    first, _, rest = key.partition(".")
    whole = first.lower() in ("schedulerparameters", SCHEDULER_PARAMETERS)
    word = (rest if whole else key).lower()
    if word in _FLAGS or word.startswith("bf_"):
        words, changed = _with_word(scheduler_parameters, word, value), {word}
    elif whole and not rest:
        words, changed = value, set(LOOP_WORDS)
    else:
        return [_of_one_key(key, value)]
    loop = [
        (ours, str(loop_number(words, name)))
        for name, (ours, _) in LOOP_WORDS.items()
        if name in changed
    ]
    return [(SCHEDULER_PARAMETERS, words), *loop]


def _of_one_key(key: str, value: str) -> tuple[str, str]:
    """Return a setting that is not a word of SchedulerParameters as key and value of a file.

    Raises ValueError: for a limit of time, of which a file has two in one key; a setting without
    its partition; a setting that decides how listings are read; one of priority, fairshare or
    accounting; a value that is none.
    """
    _check_priority_key(key)
    first, dot, rest = key.partition(".")
    last = key.rpartition(".")[2].lower()
    if first.lower() in _OF_ACCOUNTING:
        raise ValueError(
            f"{key} is a limit of a QOS or account: write limits.NAME.KEY (`slotwise show "
            f"blimits` lists the names)"
        )
    if last in _AS_READ:
        raise ValueError(
            f"{key} determines how listings are read: change it in the listings and run "
            f"`slotwise import slurm` again"
        )
    known = {theirs.lower(): ours for ours, theirs in PARTITION_KEYS.items()}
    if not dot and last in (*known, *_TIMES):
        raise ValueError(f"{key} belongs to a partition: write partitions.NAME.{key}")
    section = next((ours for ours, theirs in SECTION_NAMES.items() if theirs == first), first)
    name, point, _ = rest.rpartition(".")
    if not point or section not in ("queues", "hosts"):
        return f"{section}{dot}{rest}", value
    if section == "queues":
        if last in _TIMES:
            wrong = f"{key.rpartition('.')[2]} cannot be set alone: give {first}.{name}.RUNLIMIT"
            raise ValueError(f"{wrong} with DefaultTime and MaxTime, such as '1h 2d'")
        if last == "state":
            return f"queues.{name}.active", _state(key, value, _PARTITION_STATES)
    elif last == "state":
        value = _state(key, value, _NODE_STATES)
    keys = known if section == "queues" else _NODE_KEYS
    return f"{section}.{name}.{keys.get(last, key.rpartition('.')[2])}", value


def _check_priority_key(key: str) -> None:
    """Raise ValueError for a setting of priority or of fairshare: no study varies those of Slurm.

    The priorities of an instance are printed ones, which contain the weights of today.
    """
    first, last = key.partition(".")[0].lower(), key.rpartition(".")[2].lower()
    if last in _SHARES_OF_LSF or first in _SHARES_OF_LSF:
        raise ValueError(f"{key} is a setting of LSF's fairshare, which Slurm does not have")
    if last.startswith(_OF_PRIORITY) or first == "associations":
        raise ValueError(
            f"{key} cannot be varied: priorities are as printed, with the current weights "
            f"and shares"
        )


def _with_word(parameters: str, word: str, value: str) -> str:
    """Return SchedulerParameters with one word set, or removed for no value.

    Raises ValueError for a value that the word cannot have.
    """
    others = [
        part.strip()
        for part in parameters.split(",")
        if part.strip() and part.partition("=")[0].strip().lower() != word
    ]
    if word in _FLAGS:
        if value.lower() not in (*_SET, *_UNSET):
            raise ValueError(f"{word} must be yes or no, not {value!r}")
        return ",".join([*others, word] if value.lower() in _SET else others)
    if value and not re.fullmatch(r"\d{1,9}", value):
        raise ValueError(f"{word} must be a whole number, or empty for the default, not {value!r}")
    return ",".join([*others, f"{word}={value}"] if value else others)


def _state(key: str, value: str, states: Mapping[str, str]) -> str:
    """Return the value of an instance file for a state; raises ValueError if there is none."""
    found = states.get(value.lower(), value if value in states.values() else None)
    if found is None:
        raise ValueError(f"{key} must be one of {', '.join(states)}, not {value!r}")
    return found
