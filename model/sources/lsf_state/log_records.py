"""Records of lsb.events, one at a time, in the order of the file.

A record is a type and fields parted by blanks; lists are preceded by their length. What is known of
the fields comes from LSF's manual (lsb.events.5), from real files, and where neither says enough
(JOB_MODIFY2, JOB_SWITCH, the control records) from the order in which volclava, of LSF's family,
writes them (lsbatch/lib/lsb.log.c). Fields that nobody needs are not examined beyond their quotes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...formats.reading import refuse_other
from ...job import LARGEST_INDEX, TooManyElements, parse_array
from ..acct import HAS_POST_EXEC, Fields, of_lava, slots_by_host, split
from ..log_lines import BadRecords, log_lines, malformed
from .bjobs import SeenJob
from .values import requirement

#: Bits of a job's state (jStatus).
PENDING, HELD, RUNNING, STOPPED, ENDED = 0x01, 0x02, 0x04, 0x08 | 0x10, 0x20 | 0x40
#: Bits of the options of a submission.
_HAS_JOB_NAME, _HAS_QUEUE, _HAS_HOSTS, _EXCLUSIVE = 0x01, 0x02, 0x04, 0x40
_HAS_RES_REQ, _INTERACTIVE = 0x40000, 0x4000000
#: Bit of options2: bsub -K, after which the family of Lava writes a port.
_BLOCKS = 0x04
#: A bmod that says nothing about -n has a number like this, or 0.
_ANY_NUMBER = 2**30
#: In place of a time: bmod takes it away (-bn, -tn).
_TAKEN_AWAY = -2


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record; one of no class below changes nothing here."""

    #: Time of the record, in seconds since 1970.
    time: int


@dataclass(frozen=True, slots=True)
class JobLogRecord(LogRecord):
    """A record of one job."""

    #: Job number.
    number: int
    #: Index of an array element, 0 for a single job.
    index: int


@dataclass(frozen=True, slots=True)
class Submitted(LogRecord):
    """JOB_NEW."""

    #: Job number.
    number: int
    #: Indices of a job array, () for a single job.
    elements: tuple[int, ...]
    #: The job as submitted, with its number as id.
    job: SeenJob
    #: The CPU factor that its limits may have been multiplied by; 1 where they are as asked for.
    factor: float


@dataclass(frozen=True, slots=True)
class Started(JobLogRecord):
    """JOB_START: slots by host, in the order of the allocation."""

    #: Number of slots by host name.
    hosts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Changed(JobLogRecord):
    """JOB_STATUS, or a record that puts a job back into its queue."""

    #: New job state as bits (jStatus).
    status: int
    #: CPU time in seconds, None if not recorded.
    cpu_time: float | None = None


@dataclass(frozen=True, slots=True)
class Repositioned(JobLogRecord):
    """JOB_MOVE: btop, bbot; `position` from the top of its queue and priority, or the bottom."""

    #: New position, from 1.
    position: int
    #: Whether the position counts from the top (btop) or from the bottom (bbot).
    top: bool


@dataclass(frozen=True, slots=True)
class Modified(LogRecord):
    """JOB_MODIFY2, JOB_SWITCH and MIG: bmod, bswitch, bmig."""

    #: Job number.
    number: int
    #: () for the whole job.
    elements: tuple[int, ...]
    #: New values of fields of :class:`.bjobs.SeenJob`.
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cleaned(JobLogRecord):
    """JOB_CLEAN: a finished job is forgotten, and cannot be requeued any more."""


@dataclass(frozen=True, slots=True)
class Resized(JobLogRecord):
    """Hosts that a running job gains, or with `sign` -1 releases."""

    #: Number of changed slots by host name.
    hosts: dict[str, int]
    #: 1 if slots were added, -1 if slots were released.
    sign: int


@dataclass(frozen=True, slots=True)
class Controlled(LogRecord):
    """HOST_CTRL or QUEUE_CTRL: kind "host" or "queue", "submissions" of what a queue takes."""

    #: Kind of the object: host or queue.
    kind: str
    #: Name of the host or queue.
    name: str
    #: Whether the host or queue accepts jobs after the record.
    open: bool


@dataclass(frozen=True, slots=True)
class DaemonStarted(LogRecord):
    """MBD_START: the daemon has read its configuration, with this number of hosts."""

    #: Number of hosts in the cluster.
    hosts: int


def read_events(path: str | Path, bad: BadRecords, kinds: dict[str, int]) -> Iterator[LogRecord]:
    """Yield the records of a file, plain or gzipped, while it is read.

    bad: collects malformed records. kinds: counts the records by type. Raises InputError if the
    file cannot be read or is of another kind.
    """
    refuse_other(path, "events")
    yield from parse_events(log_lines(Path(path)), bad, kinds, str(path))


def parse_events(
    lines: Iterable[str], bad: BadRecords, kinds: dict[str, int], source: str = ""
) -> Iterator[LogRecord]:
    """Yield the records of these lines; see :func:`read_events`."""
    last: int | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            words = split(line)
            name = words[0]
            if not re.fullmatch(r"[A-Z][A-Z0-9_]*", name):
                raise ValueError(f"record type must be in capitals such as JOB_NEW, not {name!r}")
            fields = Fields(words, last)
            record = _READERS.get(name, _other)(name, fields)
        except (ValueError, OverflowError) as error:
            bad.add(malformed(error, source, number))
        else:
            if fields.unread:
                bad.add_cells(fields.unread, getattr(record, "number", -1), source, number)
            kinds[name] = kinds.get(name, 0) + 1
            last = record.time
            yield record


def _time(fields: Fields) -> int:
    return _stamp(fields)[1]


def _stamp(fields: Fields) -> tuple[bool, int]:
    """Return whether a scheduler of Lava's family wrote the record, and its time."""
    lava = of_lava(fields.text("version"))
    last = fields.last
    time = (
        fields.time("eventTime") if last is None else fields.known("eventTime", fields.time, last)
    )
    if time < 0:
        raise ValueError(f"eventTime must be seconds since 1970, not {time}")
    return lava, time


def _other(name: str, fields: Fields) -> LogRecord:
    return LogRecord(_time(fields))


def _limits(fields: Fields, lava: bool) -> tuple[list[int], float]:
    """Return the limits of a job, and the CPU factor that may still be included.

    lava: the record has seconds of a host of factor 1; they are converted to the request.
    """
    limits = [fields.known("rLimits", fields.whole, -1) for _ in range(11)]
    fields.skip("hostSpec")
    factor = fields.known("hostFactor", fields.number, math.nan)
    if math.isnan(factor):  # the unit of the limits is unknown
        return [-1] * len(limits), 1.0
    if factor <= 0:
        return limits, 1.0
    if not lava:
        return limits, factor
    return [round(limit / factor) if limit > 0 else limit for limit in limits], 1.0


def _new(name: str, fields: Fields) -> LogRecord:
    lava, time = _stamp(fields)
    number = fields.whole("jobId")
    fields.skip("userId")
    options = fields.whole("options")
    slots = fields.known("numProcessors", fields.whole, 1)
    submit = fields.known("submitTime", fields.time, time)
    begin, deadline = (fields.known(n, fields.time, 0) for n in ("beginTime", "termTime"))
    fields.skip("sigValue", "chkpntPeriod", "restartPid")
    user = fields.text("userName")
    limits, factor = _limits(fields, lava)
    fields.skip("umask")
    queue, res_req = fields.text("queue"), fields.text("resReq")
    from_host = fields.text("fromHost")
    fields.skip("cwd", "chkpntDir", "inFile", "outFile", "errFile", "subHomeDir", "jobFile")
    hosts = _asked(fields)
    depends = fields.text("dependCond")
    fields.skip("preExecCmd")
    if lava and options & HAS_POST_EXEC:
        fields.skip("postExecCmd")
    job_name = fields.text("jobName")
    fields.skip("command")
    for _ in range(fields.count("nxf")):
        fields.skip("subFn", "execFn", "options")
    fields.skip("mailUser")
    project = fields.text("projectName")
    if options & _INTERACTIVE:
        fields.skip("niosPort")
    most = fields.known("maxNumProcessors", fields.whole, 0)
    fields.skip("schedHostType", "loginShell")
    group, index = _group_and_index(fields, lava)
    fields.skip("inFileSpool", "commandSpool", "jobSpoolDir")
    priority = fields.known("userPriority", fields.whole, -1)
    if number < 0 or slots < 0:
        raise ValueError(f"jobId and processors must be 0 or more, not {number} and {slots}")
    license_project, application = ("", "") if lava else _last_projects(fields)
    job = SeenJob(
        id=str(number),
        user=user or "user",
        queue=queue,
        project=project or "default",
        group=group,
        license_project=license_project,
        application=application,
        from_host=from_host,
        priority=max(0, priority),
        slots=max(1, slots),
        max_slots=most if most > max(1, slots) else None,
        res_req=requirement(res_req),
        hosts=hosts,
        exclusive=bool(options & _EXCLUSIVE),
        submit=submit,
        begin=begin or None,
        deadline=deadline or None,
        run_limit=limits[9] if limits[9] > 0 else None,
        cpu_limit=limits[0] if limits[0] > 0 else None,
        name=job_name,
        dependency=" ".join(depends.split()),
    )
    return Submitted(time, number, (index,) if index > 0 else _elements(job_name), job, factor)


def _group_and_index(fields: Fields, lava: bool) -> tuple[str, int]:
    group = ""
    if not lava:
        fields.skip("timeEvent")
        group = fields.text("userGroup")
        fields.skip("exceptList")
    options2, index = fields.whole("options2"), fields.whole("idx")
    if lava and options2 & _BLOCKS:
        fields.skip("niosPort")
    return group, index


def _asked(fields: Fields) -> str:
    return " ".join(fields.text("askedHosts") for _ in range(fields.count("numAskedHosts")))


def _last_projects(fields: Fields) -> tuple[str, str]:
    """Return the licence project, before options3, and the application profile behind it.

    Between the priority and it are optional texts and three numbers: warningTimePeriod,
    SLArunLimit, options3.
    """
    numbers, text, last = 0, "", ""
    while fields.more and numbers < 3:
        text, last = last, fields.text("options3")
        numbers += re.fullmatch(r"-?\d{1,18}", last) is not None
    if numbers < 3:
        return "", fields.text("app") if fields.more else ""
    license = "" if re.fullmatch(r"-?\d{1,18}", text) else text
    return license, fields.text("app") if fields.more else ""


def _elements(job_name: str) -> tuple[int, ...]:
    """Return indices of ``name[1-10:2,20]``; () for a name without them."""
    try:
        return tuple(parse_array(job_name, LARGEST_INDEX)[1] or ())
    except TooManyElements:
        raise
    except ValueError:
        return ()  # A name that happens to end in brackets.


def _start(name: str, fields: Fields) -> LogRecord:
    lava, time = _stamp(fields)
    number = fields.whole("jobId")
    fields.skip("jStatus", "jobPid", "jobPGid")
    fields.known("hostFactor", fields.number, 0.0)
    hosts = _hosts(fields, "numExHosts", "execHosts")
    fields.skip("queuePreCmd", "queuePostCmd")
    fields.known("jFlags", fields.whole, 0)
    if not lava:
        fields.skip("userGroup")
    return Started(time, number, fields.whole("idx"), hosts)


def _hosts(fields: Fields, count: str, name: str) -> dict[str, int]:
    return slots_by_host([fields.text(name) for _ in range(fields.count(count))])


def _status(name: str, fields: Fields) -> LogRecord:
    time, number = _time(fields), fields.whole("jobId")
    status = fields.whole("jStatus")
    fields.skip("reason", "subreasons")
    cpu = fields.known("cpuTime", fields.number, 0.0)
    fields.known("endTime", fields.time, 0)
    if fields.whole("ru"):
        for _ in range(19):
            fields.known("lsfRusage", fields.number, 0.0)
    fields.known("exitStatus", fields.whole, 0)
    return Changed(time, number, fields.whole("idx"), status, cpu if cpu > 0 else None)


def _requeued(name: str, fields: Fields) -> LogRecord:
    time, number = _time(fields), fields.whole("jobId")
    return Changed(time, number, fields.whole("idx") if fields.more else 0, PENDING)


def _switch(name: str, fields: Fields) -> LogRecord:
    time = _time(fields)
    fields.skip("userId")
    number, queue = fields.whole("jobId"), fields.text("queue")
    return Modified(time, number, _of_array(fields), {"queue": queue})


def _of_array(fields: Fields) -> tuple[int, ...]:
    """Return the index of an array element, () for all of them and for a single job."""
    index = fields.whole("idx") if fields.more else 0
    return (index,) if index else ()


def _move(name: str, fields: Fields) -> LogRecord:
    time = _time(fields)
    fields.skip("userId")
    number, position = fields.whole("jobId"), fields.whole("position")
    base = fields.whole("base")  # TO_TOP 1, TO_BOTTOM 2
    if position < 1 or base not in (1, 2):
        raise ValueError(
            f"position must be 1 or more and base 1 (top) or 2 (bottom), not {position} and {base}"
        )
    index = fields.whole("idx") if fields.more else 0
    return Repositioned(time, number, index, position, base == 1)


def _modify(name: str, fields: Fields) -> LogRecord:
    now = _time(fields)
    which = fields.text("jobIdStr")
    found = re.fullmatch(r"(\d{1,18})(\[.*\])?", which.strip('"'))
    if found is None:
        raise ValueError(f"jobIdStr must be a job id such as 17 or 17[3], not {which!r}")
    options = fields.whole("options")
    fields.skip("options2")
    removed = fields.whole("delOptions")
    fields.skip("userId", "userName", "submitTime", "umask")
    slots = fields.known("numProcessors", fields.whole, 0)
    begin = fields.known("beginTime", fields.whole, 0)
    deadline = fields.known("termTime", fields.whole, 0)
    fields.skip("sigValue", "restartPid")
    # Only modified fields are written; the options tell which fields exist.
    if options & _HAS_JOB_NAME:
        fields.skip("jobName")
    queue = fields.text("queue") if options & _HAS_QUEUE else ""
    changes: dict[str, Any] = {}
    if options & _HAS_HOSTS or removed & _HAS_HOSTS:
        changes["hosts"] = _asked(fields) if options & _HAS_HOSTS else ""
    if options & _HAS_RES_REQ or removed & _HAS_RES_REQ:
        changes["res_req"] = requirement(fields.text("resReq") if options & _HAS_RES_REQ else "")
    run_limit = [fields.known("rLimits", fields.whole, -1) for _ in range(11)][9]
    if queue:
        changes["queue"] = queue
    if 0 < slots < _ANY_NUMBER:
        changes |= {"slots": slots, "max_slots": None}
    if 0 < run_limit < _ANY_NUMBER:
        changes["run_limit"] = run_limit
    for name, time in (("begin", begin), ("deadline", deadline)):
        if time == _TAKEN_AWAY or time > 0:
            changes[name] = max(time, 0) or None
    return Modified(now, int(found[1]), _elements(found[2] or ""), changes)


def _migrate(name: str, fields: Fields) -> LogRecord:
    time, number, hosts = _time(fields), fields.whole("jobId"), _asked(fields)
    fields.skip("userId")
    return Modified(time, number, _of_array(fields), {"hosts": hosts})


def _clean(name: str, fields: Fields) -> LogRecord:
    time, number = _time(fields), fields.whole("jobId")
    return Cleaned(time, number, fields.whole("idx") if fields.more else 0)


def _resize(sign: int) -> Callable[[str, Fields], LogRecord]:
    def read(name: str, fields: Fields) -> LogRecord:
        time, number, index = _time(fields), fields.whole("jobId"), fields.whole("idx")
        fields.skip("notifyId")
        return Resized(time, number, index, _hosts(fields, "numResizeHosts", "resizeHosts"), sign)

    return read


def _control(kind: str) -> Callable[[str, Fields], LogRecord]:
    def read(name: str, fields: Fields) -> LogRecord:
        time, code = _time(fields), fields.whole("opCode")
        # Codes of a host: 1 open, 2 close. Codes of a queue: 1 open, 2 close, 3 activate, 4
        # inactivate.
        closed = code == 2 if kind == "host" else code in (2, 4)
        found = fields.text(kind)
        what = "submissions" if kind == "queue" and code in (1, 2) else kind
        return Controlled(time, what, found, not closed)

    return read


def _daemon(name: str, fields: Fields) -> LogRecord:
    time = _time(fields)
    fields.skip("master", "cluster")
    return DaemonStarted(time, fields.whole("numHosts"))


_READERS: dict[str, Callable[[str, Fields], LogRecord]] = {
    "JOB_NEW": _new,
    "JOB_START": _start,
    "JOB_STATUS": _status,
    "JOB_SWITCH": _switch,
    "JOB_MOVE": _move,
    "JOB_MODIFY2": _modify,
    "JOB_REQUEUE": _requeued,
    "JOB_CLEAN": _clean,
    "MIG": _migrate,
    "JOB_RESIZE_NOTIFY_START": _resize(1),
    "JOB_RESIZE_RELEASE": _resize(-1),
    "MBD_START": _daemon,
    "HOST_CTRL": _control("host"),
    "QUEUE_CTRL": _control("queue"),
}
