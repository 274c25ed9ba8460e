"""Removes what a real cluster had and an instance cannot have, each kind with a note."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...display import some
from ...duration import expected_finish, within_queue_limit
from ...errors import InputError, Problem
from ...formats import from_document, to_document
from ...formats.document import Finding, path_text
from ...formats.rules import known_users, rule_findings
from ...instance import Instance
from ...job import Job
from ...resreq import Vocabulary, heeded_part, readable, requirement_options
from ...slurm_words import family_text
from .values import Remarks

#: Values of a queue without a parameter that names undefined objects.
_DROPPED: dict[str, dict[str, Any]] = {
    "RES_REQ": {"res_req": ""},
    "GPU_REQ": {"gpu_req": ""},
    "EXCLUSIVE": {"exclusive": "N"},
    "USERS": {"users": ()},
    "HOSTS": {"hosts": (), "excluded_hosts": ()},
    "FAIRSHARE_QUEUES": {"fairshare_queues": ()},
    "APS_PRIORITY": {"aps_priority": None, "queue_group": ()},
    "QUEUE_GROUP": {"queue_group": ()},
}
#: Values of a job without requirements that cannot be obeyed.
_BARE: dict[str, dict[str, Any]] = {
    "res_req": {"res_req": ()},
    "extsched": {"extsched": ""},
    "gpu": {"gpu": ""},
    "dependency": {"dependency": ""},
    "hosts": {"hosts": ()},
}
_UNASKED: dict[str, Any] = {"res_req": (), "hosts": (), "group": ""}


def acceptable(instance: Instance, notes: Remarks) -> Instance:
    """Return the instance as it will be written, without parts that the reader would reject.

    Requirements lose terms with undefined names. A pending job that would be rejected, or whose
    requirement cannot be read at all, is removed. Raises InputError for other errors.
    """
    instance = _with_one_limit(instance, notes)
    fatal = _fatal(instance)
    while fatal:  # Each round removes a rejected part, so the repetition ends.
        mended = _Mended(instance, notes).of(fatal)
        if mended == instance:
            break
        instance, fatal = mended, _fatal(mended)
    if fatal:
        raise InputError(
            Problem(finding.message, path=path_text(finding.place)) for finding in fatal
        )
    _tell_overdue(instance, notes)
    return from_document(to_document(instance))


def _tell_overdue(instance: Instance, notes: Remarks) -> None:
    """Note the hosts of running jobs that should have finished, and of which nothing says when."""
    late = {
        run.job.id: run.allocation
        for run in instance.running
        for end in (run.finish, expected_finish(instance, run))
        if end is not None and end <= instance.now + 1
    }
    if late:
        hosts = {name for allocation in late.values() for name in allocation}
        text = f"when jobs that should have finished ({some(list(late))}) release their hosts"
        notes.touch(text, count=len(late), hosts=sorted(hosts))


def _with_one_limit(instance: Instance, notes: Remarks) -> Instance:
    """Give arrays whose elements have different limits the least of them, and note it."""
    limits: defaultdict[str, set[int]] = defaultdict(set)
    waiting: defaultdict[str, list[str]] = defaultdict(list)
    for job in instance.jobs:
        if job.array_id and job.array_limit:
            limits[job.array_id].add(job.array_limit)
    for job in instance.pending:
        waiting[job.array_id or ""].append(job.id)
    for array, found in limits.items():
        if len(found) > 1 and waiting[array]:
            shown = " and ".join(f"%{limit}" for limit in sorted(found))
            text = f"which limit array {array} has: its elements are listed with {shown}"
            notes.touch(text, waiting[array], mark="fit")
    if all(len(found) == 1 for found in limits.values()):
        return instance
    least = {array: min(found) for array, found in limits.items()}

    def limited(job: Job) -> Job:
        return replace(job, array_limit=least.get(job.array_id or "", job.array_limit))

    return replace(
        instance,
        running=tuple(replace(item, job=limited(item.job)) for item in instance.running),
        pending=tuple(map(limited, instance.pending)),
        future=tuple(map(limited, instance.future)),
    )


def _fatal(instance: Instance) -> list[Finding]:
    """Return the findings that keep an instance from being read, in its scheduler's words."""
    return [
        replace(finding, message=family_text(instance, finding.message))
        for finding in rule_findings(instance)
        if not finding.warning
    ]


#: Reason for an omission, and the id of the job, "" if no job is affected.
Reason = tuple[str, str]
#: Reasons of one kind that are spelled out.
MAX_REASONS = 5


class _Mended:
    """One round of corrections: everything that the findings concern is removed together."""

    def __init__(self, instance: Instance, notes: Remarks) -> None:
        self._instance = instance
        self._notes = notes
        self._queues, self._running = list(instance.queues), list(instance.running)
        self._waiting = {"pending": list(instance.pending), "future": list(instance.future)}
        self._partly: dict[str, list[Reason]] = {}
        self._bare: dict[str, list[Reason]] = {}
        self._gone: dict[str, dict[int, str]] = {name: {} for name in self._waiting}
        self._unread: dict[str, dict[int, str]] = {name: {} for name in self._waiting}
        #: Limits that cannot be, and why.
        self._limits: dict[int, str] = {}
        self._limited: dict[tuple[str, str], dict[int, str]] = {}
        known = Vocabulary.of_cluster(instance.cluster)
        self._options = requirement_options(instance.params, known)

    def of(self, fatal: Sequence[Finding]) -> Instance:
        """Return the instance without the objects of these findings; notes describe them."""
        for finding in fatal:
            match finding.place:
                case ("queues", int(index), str(key), *_) if key in _DROPPED:
                    self._queue(index, key, finding.message)
                case ("limits", int(index), *_):
                    self._limits[index] = finding.message
                case ("running", int(index), "res_req" | "hosts" | "group" | "gpu" as key, *_):
                    self._runs(index, key, finding.message)
                case ("pending" | "future" as kind, int(index), *rest):
                    self._waits(kind, index, str(rest[0]) if rest else "", finding.message)
        self._report()
        kept = {
            name: tuple(
                job
                for index, job in enumerate(jobs)
                if index not in self._gone[name] and index not in self._unread[name]
            )
            for name, jobs in self._waiting.items()
        }
        instance = self._instance
        return replace(
            instance,
            limits=tuple(
                limit for index, limit in enumerate(instance.limits) if index not in self._limits
            ),
            queues=tuple(self._queues),
            running=tuple(self._running),
            pending=kept["pending"],
            future=kept["future"],
        )

    def _queue(self, index: int, key: str, reason: str) -> None:
        queue = self._queues[index]
        part = self._heeded((queue.res_req,)) if key == "RES_REQ" else ()
        dropped: dict[str, Any] = {"res_req": part[0]} if part else _DROPPED[key]
        self._queues[index] = replace(queue, **dropped)
        of = "a part of " if part else ""
        jobs = [job.id for job in self._waiting["pending"] if job.queue == queue.name]
        self._notes.touch(f"omitted {of}{key} of queue {queue.name}: {reason}", jobs)

    def _runs(self, index: int, key: str, reason: str) -> None:
        job = self._running[index].job
        if key == "res_req" and not job.res_req:  # RES_REQ of the queue is wrong
            self._queue([q.name for q in self._queues].index(job.queue), "RES_REQ", reason)
            return
        part = self._heeded(job.res_req) if key == "res_req" else ()
        bare = _BARE["gpu"] if key == "gpu" else _UNASKED
        job = replace(job, res_req=part) if part else replace(job, **bare)
        self._running[index] = replace(self._running[index], job=job)
        run = self._running[index]
        what = f"{'a part of ' if part else ''}the request of running job {job.id}"
        self._notes.touch(f"left out {what}: {reason}", hosts=tuple(run.allocation))

    def _waits(self, kind: str, index: int, key: str, reason: str) -> None:
        job = self._waiting[kind][index]
        if key == "res_req" and job.res_req and self._unreadable(job.res_req):
            self._unread[kind][index] = reason
        elif key in _BARE and getattr(job, key):
            part = self._heeded(job.res_req) if key == "res_req" else ()
            changed: dict[str, Any] = {"res_req": part} if part else _BARE[key]
            self._waiting[kind][index] = replace(job, **changed)
            (self._partly if part else self._bare).setdefault(kind, []).append((reason, job.id))
        elif key == "service_class":
            unheeded = (*job.unheeded, f"-sla {job.service_class}")
            self._waiting[kind][index] = replace(job, service_class="", unheeded=unheeded)
            self._bare.setdefault(kind, []).append((reason, job.id))
        elif key in ("run_limit", "cpu_limit"):
            self._waiting[kind][index] = within_queue_limit(self._instance, job)
            self._limited.setdefault((kind, key), {})[index] = reason
        elif key != "user" or not self._opened(job):
            self._gone[kind][index] = reason

    def _unreadable(self, texts: Sequence[str]) -> bool:
        """Return whether a requirement is completely unreadable, so that the request is unknown."""
        try:
            for text in texts:
                heeded_part(text, self._options, readable(self._options))
        except InputError:
            return True
        return False

    def _heeded(self, texts: Sequence[str]) -> tuple[str, ...]:
        """Return the parts of requirements that this cluster can obey; () if none, or all."""
        try:
            parts = [heeded_part(text, self._options, readable(self._options)) for text in texts]
        except InputError:
            return ()
        return () if parts == list(texts) else tuple(part for part in parts if part)

    def _opened(self, job: Job) -> bool:
        """Return whether the job's queue is open to all now, because its USERS are unknown."""
        strangers = _strangers(self._instance, job.queue)
        for index, queue in enumerate(self._queues):
            if queue.name == job.queue and queue.users and strangers:
                self._queues[index] = replace(queue, users=())
                self._notes.touch(
                    f"USERS of queue {queue.name} names {strangers}, whose members no input "
                    f"gives (a group of the operating system, or of egroup): not checked",
                    [job.id for job in self._waiting["pending"] if job.queue == queue.name],
                )
        return bool(strangers)

    def _report(self) -> None:
        for index, reason in self._limits.items():
            limit = self._instance.limits[index]
            users = () if limit.users is None else limit.users.names
            bound = [] if users in ((), ("all",)) else list(users)
            of = () if limit.amounts.keys() & {"slots", "jobs"} else tuple(limit.amounts)
            self._notes.touch(f"omitted limit {limit.name}: {reason}", users=bound, resources=of)
        for section, reasons in self._partly.items():
            _report(self._notes, "omitted a part of the requirements of", section, reasons)
        for section, reasons in self._bare.items():
            _report(self._notes, "omitted the requirements of", section, reasons)
        for (section, key), found in self._limited.items():
            gone = self._gone[section]
            limits = [(text, "") for index, text in found.items() if index not in gone]
            name = "run limit" if key == "run_limit" else "CPU limit"
            head = family_text(self._instance, f"the maximum of the queue is used as the {name} of")
            _report(self._notes, head, section, limits)
        for section, unread in self._unread.items():
            for text, count in Counter(unread.values()).items():
                jobs = f"{count} {section} job{'s' * (count > 1)}"
                self._notes.touch(
                    f"omitted {jobs} whose requirement cannot be read: {text}", count=count
                )
        for section, dropped in self._gone.items():
            waiting = self._waiting[section]
            reasons = [(text, waiting[index].id) for index, text in dropped.items()]
            _report(self._notes, "left out", section, reasons, are_gone=True)


def _strangers(instance: Instance, name: str) -> str:
    """Return the names in USERS of a queue that nothing else defines."""
    # A program of the site (egroup) names the members of a group without any.
    external = {group.name for group in instance.groups if not group.members}
    known = {"all", *known_users(instance)} - external
    words = next((queue.users for queue in instance.queues if queue.name == name), ())
    plain = (word.removeprefix("~").removesuffix("/") for word in words)
    return ", ".join(dict.fromkeys(word for word in plain if word not in known))


def _report(
    notes: Remarks, what: str, kind: str, reasons: list[Reason], *, are_gone: bool = False
) -> None:
    """Add notes for the most frequent reasons, with the pending jobs that they affect, or that are
    not planned.
    """
    found = Counter(reason for reason, _ in reasons).most_common()
    for number, (reason, count) in enumerate(found):
        ids = [job for other, job in reasons if other == reason and job and kind == "pending"]
        text = f"{what} {count} {kind} job{'s' * (count > 1)}: {reason}"
        if ids and are_gone:
            notes.unplanned(text, ids, reason)
        elif ids:
            notes.touch(text, ids, count=count)
        elif number < MAX_REASONS:
            notes.append(text)
    if (more := len(found) - MAX_REASONS) > 0:
        notes.append(f"{what} other {kind} jobs for {more} more reasons")
