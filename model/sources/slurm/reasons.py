"""Slurm's reasons for which a job is pending, and for each what explains it.

Words are those of Slurm 22.05 to 26.05, in small letters.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress

from ... import slurm_values as values
from ...display import some
from ...slurm_limits import HOLDING
from .limits import LimitRows, has_tres, is_set, spelt
from .requests import licence_counts
from .seen import SlurmJob, SlurmPartition, SlurmState
from .site import licence_name, status_of

NEVER_SATISFIED = "its dependency can never be satisfied"
#: Reasons of a job that no passing of time helps, each with the cause in words.
_NEVER_STARTS = {
    "dependencyneversatisfied": NEVER_SATISFIED,
    "partitiontimelimit": "its time limit exceeds that of its partition",
    "partitionnodelimit": "it requests more nodes than its partition allows",
    "badconstraints": "no node meets its constraints",
    "deadline": "its deadline has passed",
    "maxmemperlimit": "it requests more memory than its partition allows",
}
_NODES_DOWN = "nodes required for job are down"
#: Reasons of a job that waits for nodes in use or for jobs ahead of it: its start explains them.
WAITING = frozenset({"", "none", "priority", "resources", _NODES_DOWN})
#: Reasons that state no priority alone: no node was free for the job.
TRIED = frozenset({"resources", _NODES_DOWN})
#: Beginnings of reasons in words, with the word for each.
_IN_WORDS = {
    _NODES_DOWN: _NODES_DOWN,
    "job's account not permitted": "accountnotallowed",
    "job's qos not permitted": "qosnotallowed",
}
#: A comma outside of brackets.
_COMMA = re.compile(r"\s*,\s*(?![^(\[]*[)\]])")
#: What follows a comma in the text of one reason: hosts have digits in their names.
_DETAIL = re.compile(
    r"drained or reserved|may be reserved|reserved for maint|unavailablenodes:|.*\d"
)
#: A limit: of whom, its kind, what is limited, over which time and for whom.
_LIMIT = re.compile(
    r"(?P<of>qos|assoc|)(?P<kind>grp|max|min)"
    r"(?P<what>cpu|mem(?:ory)?|node|gres|license|billing|energy|bb|unknown|jobs?|submitjobs?|wall)"
    r"(?:duration)?(?P<time>(?:run)?min(?:ute)?s)?(?P<per>per(?:job|node|user|account))?"
    r"(?:limit|notsatisfied)?"
)
#: Columns of what is limited; of all else it is that of TRES.
_COLUMNS = {"job": "jobs", "jobs": "jobs", "submitjob": "submit", "submitjobs": "submit"}
_COLUMNS["wall"] = "wall"
#: Beginnings of the names of TRES in limits, by the words for them in reasons.
_TRES = {"memory": "mem", "gres": "gres/", "license": "license/", "bb": "bb/", "unknown": ""}


def reason_words(job: SlurmJob) -> list[str]:
    """Return each reason of a job as one word: several of the tasks of an array, none of others.

    squeue joins reasons of tasks by commas, which the text of one reason may have too.
    """
    in_words = _in_small_letters(job.reason_text).startswith(tuple(_IN_WORDS))
    found: list[str] = []
    for part in _COMMA.split(_in_small_letters(job.reason_text if in_words else job.reason)):
        has_more = found and found[-1] in (_NODES_DOWN, "reqnodenotavail")
        if not (has_more and _DETAIL.match(part)):
            known = (word for text, word in _IN_WORDS.items() if part.startswith(text))
            found.append(next(known, part))
    return found


def _in_small_letters(said: str) -> str:
    return said.replace("_", " ").strip().lower()


def why_never(job: SlurmJob) -> str:
    """Return why no passing of time helps a job, by Slurm's reasons; "" if one does not say so."""
    found = [_never(word, job) for word in reason_words(job)]
    return found[0] if all(found) else ""


def _never(word: str, job: SlurmJob) -> str:
    limit = _LIMIT.fullmatch(word)
    if limit is not None and (limit["kind"] == "min" or limit["per"] in ("perjob", "pernode")):
        return f"it exceeds a limit per job ({job.reason})"
    return _NEVER_STARTS.get(word, "")


class ReadOfSlurm:
    """What was read of a Slurm cluster, asked for what explains the reasons of its jobs."""

    def __init__(self, seen: SlurmState, now: int) -> None:
        """Initialise it; now: seconds since 1970."""
        self.seen, self.now = seen, now
        self.limits = LimitRows(seen.limits, seen.jobs, seen.partitions)
        self.up = {node.name: status_of(node) == "ok" for node in seen.nodes}
        self.reservations = {item.name: item for item in seen.reservations if item.end > now}
        #: Jobs by fields and their values.
        self._alike: dict[tuple[str, ...], defaultdict[object, list[SlurmJob]]] = {}

    def lacks(self, job: SlurmJob) -> str:
        """Return in words that what explains the reason of a job was not read, "" if it was."""
        if why_never(job):
            return ""
        return next(filter(None, (self._lacks(job, word) for word in reason_words(job))), "")

    def _lacks(self, job: SlurmJob, word: str) -> str:
        if word in WAITING:
            return ""
        if (limit := _LIMIT.fullmatch(word)) is not None:
            return self._lacks_limit(job, limit)
        if word == "reqnodenotavail":
            return self._lacks_nodes(job)
        if word in _EXPLAINED_BY:
            what, holds = _EXPLAINED_BY[word]
            return "" if holds(self, job) else f"no input gives {what}"
        return "no input explains it"

    def held_alike(self, job: SlurmJob) -> list[SlurmJob]:
        """Return the jobs that the reason of a job holds back: of a limit, all that share it."""
        found = {job.full_id: job}
        for limit in filter(None, map(_LIMIT.fullmatch, reason_words(job))):
            fields = _sharing(limit)
            if fields not in self._alike:
                alike: defaultdict[object, list[SlurmJob]] = defaultdict(list)
                self._alike[fields] = alike
                for other in self.seen.jobs:
                    alike[tuple(getattr(other, name) for name in fields)].append(other)
            same = self._alike[fields][tuple(getattr(job, name) for name in fields)]
            found |= {other.full_id: other for other in same}
        return list(found.values())

    def has_limit(self, job: SlurmJob, of: str, column: str = "", tres: str = "") -> bool:
        """Return whether a limit of a QOS or an association of a job may hold it back: one of a
        column, of any if none is given.
        """
        return any(
            self.limits.may_hold(row, name, tres, job)
            for row in self.limits.of(job)
            if row.of == of
            for name in ([column] if column else filter(HOLDING.match, row.values))
        )

    def partitions_of(self, job: SlurmJob) -> list[SlurmPartition]:
        """Return the partitions of a job that were read."""
        return [item for item in self.seen.partitions if item.name in job.partitions]

    def nodes_of(self, job: SlurmJob) -> set[str]:
        """Return the nodes that a job requires, else those of its partitions."""
        listed = [name for item in self.partitions_of(job) for name in item.nodes or ()]
        named = (
            n.name for n in self.seen.nodes if not set(n.partitions).isdisjoint(job.partitions)
        )
        return set(job.required) or {*listed, *named}

    def _lacks_limit(self, job: SlurmJob, limit: re.Match[str]) -> str:
        base, per, time = limit["what"], limit["per"] or "", limit["time"] or ""
        column = "".join(
            (
                limit["kind"],
                _COLUMNS.get(base, "tres"),
                time.replace("minutes", "mins"),
                {"peruser": "pu", "peraccount": "pa"}.get(per, ""),
            )
        )
        of = "association" if limit["of"] == "assoc" else "qos"
        tres = "" if base in _COLUMNS else _TRES.get(base, base)
        if self.has_limit(job, of, column, tres):
            return ""
        whose = f"account {job.account}" if of == "association" else f"QOS {job.qos}"
        rows = [row for row in self.limits.of(job) if row.of == of]
        if not rows:
            return f"no listing contains {whose.strip()}"
        if any(is_set(row, column) and has_tres(row.values[column], tres) for row in rows):
            return f"{spelt(column)} of {whose} leaves enough for it"
        return f"no listing contains {spelt(column)} {tres} for {whose}".replace("  ", " ")

    def _lacks_nodes(self, job: SlurmJob) -> str:
        said = job.reason_text or job.reason
        here, ends = self.nodes_of(job), self.now + (job.limit or math.inf)
        begun = [item for item in self.reservations.values() if item.start < ends]
        around = [item for item in begun if not here.isdisjoint(item.nodes)]
        reserved = {name for item in around for name in item.nodes}
        if "maintenance" in said.lower():
            there = any("MAINT" in item.flags for item in around)
            return "" if there else "no input lists a maintenance reservation of its nodes"
        listed: tuple[str, ...] = ()
        if found := re.search(r"UnavailableNodes:(\S+)", said):
            with suppress(ValueError):  # a truncated list
                listed = values.host_list(found[1])
        if listed:
            idle = [name for name in listed if self.up.get(name) and name not in reserved]
            return f"no input explains why {some(idle)} should not be available" if idle else ""
        if reserved or not all(self.up.get(name) for name in here):
            return ""
        return "no input lists a reservation or an unavailable node among its nodes"


def _sharing(limit: re.Match[str]) -> tuple[str, ...]:
    """Return the fields that jobs with a limit have in common."""
    if limit["of"] == "assoc":
        return ("account",) if limit["kind"] == "grp" else ("account", "user")
    return ("qos", *{"peruser": ("user",), "peraccount": ("account",)}.get(limit["per"], ()))


def _licences_listed(read: ReadOfSlurm, job: SlurmJob) -> bool:
    free = {licence_name(item.name): item.total - item.used for item in read.seen.licences}
    asked = [(licence_name(name), count) for name, count in licence_counts(job.licences)]
    return (
        bool(asked)
        and all(name in free for name, _ in asked)
        and any(free[name] < count for name, count in asked)
    )


#: Rules of a partition on who may use it.
_WHO = {"accounts", "refused accounts", "qos allowed", "qos refused", "groups"}


def _restricted(read: ReadOfSlurm, job: SlurmJob) -> bool:
    return any(not _WHO.isdisjoint(dict(item.named)) for item in read.partitions_of(job))


def _closed(read: ReadOfSlurm, job: SlurmJob) -> bool:
    return any(not item.up for item in read.partitions_of(job))


def _is_array_full(read: ReadOfSlurm, job: SlurmJob) -> bool:
    most = job.task_limit or values.whole(job.tasks.partition("%")[2])
    return most is not None and sum(run.id == job.id for run in read.limits.running) >= most


def _is_too_early(read: ReadOfSlurm, job: SlurmJob) -> bool:
    found = read.reservations.get(job.reservation)
    return found is not None and found.start > read.now


def _named(what: str) -> Callable[[ReadOfSlurm, SlurmJob], bool]:
    return lambda _, job: what in dict(job.named)


def _any_limit(of: str, column: str = "") -> Callable[[ReadOfSlurm, SlurmJob], bool]:
    return lambda read, job: read.has_limit(job, of, column)


#: What explains a reason, in words, and whether it was read.
_EXPLAINED_BY: dict[str, tuple[str, Callable[[ReadOfSlurm, SlurmJob], bool]]] = {
    "dependency": ("its dependency", lambda _, job: bool(job.dependency)),
    "begintime": ("its begin time", lambda read, job: (job.eligible or 0) > read.now),
    "jobarraytasklimit": ("a full limit on the tasks of its array", _is_array_full),
    "licenses": ("all licences that it requests", _licences_listed),
    "reservation": ("that its reservation is not active", _is_too_early),
    "nodedown": (
        "a node that it requires and that is down",
        lambda read, job: not all(read.up.get(name) for name in job.required),
    ),
    "constraints": ("its constraints", lambda _, job: bool(job.features)),
    "partitiondown": ("a partition that it requests and that is down", _closed),
    "partitioninactive": ("a partition that it requests and that is inactive", _closed),
    **dict.fromkeys(
        ("accountnotallowed", "qosnotallowed", "partitionconfig"),
        ("the access rules of its partition", _restricted),
    ),
    "qosusagethreshold": ("a UsageThres of its QOS", _any_limit("qos", "usagethres")),
    **dict.fromkeys(
        ("qosjoblimit", "qosresourcelimit", "qostimelimit"),
        ("limits of its QOS", _any_limit("qos")),
    ),
    **dict.fromkeys(
        ("associationjoblimit", "associationresourcelimit", "associationtimelimit",
         "accountingpolicy"),
        ("limits of its association", _any_limit("association")),
    ),
    **dict.fromkeys(
        ("burstbufferresources", "burstbufferstagein", "burstbufferoperation"),
        ("its burst buffer", _named("burst buffer")),
    ),
    "fedjoblock": ("its federation", _named("federation")),
}  # fmt: skip
