"""Records of finished jobs: ``lsb.acct`` (LSF 5 to 10.1, volclava) and Slurm's ``sacct -P``.

lsb.acct has one record a line: a type, then fields parted by blanks, strings in double quotes with
``""`` for a quote. Several lists are preceded by their length, so fields are read in order and not
by a fixed place. Only JOB_FINISH records hold jobs; other known types are passed over and counted.

``sacct -a -X -P -o JobID,User,Account,Partition,Submit,Eligible,Start,End,State,Timelimit,
AllocTRES,ReqTRES,NodeList`` has all that is read. Times without a zone are treated as UTC;
``SLURM_TIME_FORMAT=%s`` prints seconds since 1970.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from pathlib import Path
from typing import TypeVar

import numpy as np

from .. import slurm_values as values
from ..cluster import BUILTIN_AMOUNTS
from ..compact import NamePlaces, OnDemand
from ..errors import InputError, Problem, report
from ..formats.names import Domains
from ..formats.reading import SACCT_HEADER, refuse_other
from ..gpu_request import GPUS_NAMED
from ..instance import Instance
from ..job import Job
from ..resreq import Vocabulary, heeded_part, readable, requirement_options
from ..resreq.partly import hostless
from .finished_jobs import FinishedJob, FinishedJobs
from .log_lines import (
    BadRecords,
    check_records,
    in_range,
    log_lines,
    malformed,
    number_of,
    refused_records,
)

#: Required columns, each with columns that may replace it.
_NEEDED = (
    *(("start",), ("end",), ("state",), ("submit",), ("nodelist",)),
    ("alloctres", "alloccpus", "ncpus"),
)
#: ``517_3``, ``12+1``, ``8``; a step has a point behind it.
_ID = re.compile(r"(\d{1,10})(?:_(\d{1,9}))?(?:\+\d{1,9})?")
#: States of jobs that have not finished.
_ALIVE = ("PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING", "CONFIGURING", "COMPLETING")
#: The status of a job that is done, and of one that has exited (lsb.acct).
_DONE, _EXIT = 64, 32


def is_header(line: str) -> bool:
    """Return whether a line is the first one of ``sacct -P``."""
    return SACCT_HEADER.match(line) is not None


class SacctTable:
    """Reads rows by the columns of their first line."""

    def __init__(self, header: str) -> None:
        self.names = [name.strip().lower() for name in header.strip().rstrip("|").split("|")]
        missing = ["/".join(group) for group in _NEEDED if not set(group) & set(self.names)]
        #: Error in the first line, "" if none.
        self.wrong = f"has no column {', '.join(missing)}: add them to sacct -o" if missing else ""

    def finished(self, line: str) -> tuple[int, int, FinishedJob] | str:
        """Return number, array index and job of a row, or why it has no finished job.

        Raises ValueError for an unreadable row.
        """
        cells = line.strip("\n").split("|")
        if len(cells) < len(self.names):
            raise ValueError(f"must have {len(self.names)} columns like line 1, not {len(cells)}")
        row = dict(zip(self.names, (cell.strip() for cell in cells), strict=False))
        shown = row.get("jobid") or row.get("jobidraw", "")
        found = _ID.fullmatch(shown)
        if found is None:
            return "step" if re.match(r"\d+(?:_\d+)?(?:\+\d+)?\.", shown) else "pending"
        if row["state"].upper().startswith(_ALIVE):
            return "unfinished"
        number, index = int(found[1]), int(found[2] or 0)
        raw = row.get("jobidraw", "")
        if found[2] == "0" and raw.isdigit():  # index 0 stands for no array
            number = int(raw)
        return number, index, _job(row)


def _job(row: Mapping[str, str]) -> FinishedJob:
    names = ("submit", "eligible", "start", "end")
    times = {name: values.stamp(row.get(name), UTC) or 0 for name in names}
    held = values.tres(row.get("alloctres", "")) or values.tres(row.get("reqtres", ""))
    count = values.whole(row.get("alloccpus") or row.get("ncpus"))
    cpus = int(held.get("cpu", count or 0)) or 1
    nodes = values.host_list(row.get("nodelist", ""))
    nodes = () if any("assigned" in name.lower() for name in nodes) else nodes
    limit = values.seconds(row.get("timelimit")) if row.get("timelimit") else None
    status = _DONE if row["state"].upper().startswith("COMPLETED") else _EXIT
    start = times["start"] if nodes else 0
    return FinishedJob(
        "",
        user=row.get("user") or "user",
        queue=row.get("partition", "").partition(",")[0] or "default",
        project=row.get("account") or "default",
        submit=times["submit"] or start or times["end"],
        begin=times["eligible"] if times["eligible"] > times["submit"] else 0,
        start=start,
        end=times["end"],
        slots=cpus,
        max_slots=cpus,
        hosts=_shared_out(nodes, cpus),
        res_req=_requirement(held, len(nodes), cpus),
        run_limit=None if limit is None or math.isinf(limit) else int(limit),
        cpu_time=0.0,
        status=status,
    )


def _shared_out(nodes: tuple[str, ...], cpus: int) -> dict[str, int]:
    """Return CPUs by node: sacct has their sum, which is divided evenly."""
    share, rest = divmod(cpus, len(nodes)) if nodes else (0, 0)
    return {name: max(1, share + (place < rest)) for place, name in enumerate(nodes)}


def _requirement(held: Mapping[str, float], nodes: int, cpus: int) -> str:
    """Return the memory of a node, and CPUs of a node if all have the same number."""
    parts = []
    if held.get("mem"):
        parts.append(f"rusage[mem={held['mem'] / max(1, nodes):g}]")
    if nodes == 1:
        parts.append("span[hosts=1]")
    elif nodes and cpus % nodes == 0:
        parts.append(f"span[ptile={cpus // nodes}]")
    return " ".join(parts)


T = TypeVar("T")
U = TypeVar("U")
#: Record types of lsb.acct that are no finished job.
OTHERS = frozenset({"EVENT_ADRSV_FINISH", "JOB_RESIZE", "JOB_ARRAY_ELEMENT", "JOB_EVENT"})
#: From this version on a record has all its fields (10.1.0.8); older ones may end earlier.
COMPLETE = (10, 108)
#: Bit of a submission's options that says in the family of Lava that postExecCmd is written.
HAS_POST_EXEC = 0x40000000
#: Before this version a record may end within its last part.
WHOLE = (9,)
#: Indices of the charged account, licence project and application in the last part.
_CHARGED, _LICENSE_PROJECT, _APPLICATION = 11, 12, 13
_FIELD = re.compile(r'"((?:[^"]|"")*)"(?=\s|$)|([^\s"]+)(?=\s|$)')
_WHOLE = re.compile(r"[+-]?\d{1,400}", re.ASCII)
#: Seconds by which the clocks of two hosts may differ without a record being malformed.
CLOCK_SKEW = 300
SKEWED = "starts before the submission, and ends before the start, were moved to it (clocks differ)"
#: The last second that can be written as a date in every zone.
LAST_SECOND = 253_400_000_000
_MULTIPLE = re.compile(r"([1-9]\d{0,8})\*(.+)")


@dataclass(frozen=True, slots=True)
class AcctLog:
    """The finished jobs of an accounting log, and counts of skipped records."""

    #: In file order.
    jobs: Sequence[FinishedJob]
    #: The first malformed records (--max-errors), and one that counts the others.
    problems: tuple[Problem, ...]
    #: Number of records of other types, by type.
    passed_over: dict[str, int] = field(default_factory=dict)
    #: Records whose times were a little out of order, as clocks of two hosts have it.
    repaired: int = 0
    #: Cells that could not be read of records that count otherwise, a line each.
    unread: tuple[str, ...] = ()

    @property
    def remarks(self) -> list[str]:
        """Return one line for each repair or omission in the log."""
        lines = [f"warning: {line}" for line in (*report(self.problems), *self.unread)]
        lines += [f"ignored {count} {kind} records" for kind, count in self.passed_over.items()]
        return lines + ([f"{self.repaired} × {SKEWED}"] if self.repaired else [])


def read_acct(path: str | Path, *, keep_going: bool = False) -> AcctLog:
    """Read a file of accounting records.

    Raises InputError if it cannot be read, or has malformed records and `keep_going` is false.
    """
    refuse_other(path, "acct")
    log = parse_acct(log_lines(Path(path)), source=str(path))
    if log.problems and not keep_going:
        raise refused_records(log.problems, len(log.jobs))
    return log


def parse_acct(lines: Iterable[str], source: str = "") -> AcctLog:
    """Return the log of these lines; malformed records are skipped (``keep_going``)."""
    jobs = FinishedJobs()
    bad = BadRecords()
    others: dict[str, int] = {}
    for line, number, index, job in _records(lines, bad, others, source):
        try:
            jobs.add(number, index, job)
        except ValueError as error:
            bad.add(malformed(error, source, line))
    repaired = others.pop(SKEWED, 0)
    return AcctLog(jobs, tuple(bad.report()), others, repaired, tuple(bad.told_cells()))


def finished_jobs(
    lines: Iterable[str],
    bad: BadRecords,
    others: dict[str, int],
    source: str = "",
) -> Iterator[FinishedJob]:
    """Yield the jobs of a log while it is read.

    bad: collects malformed records and unreadable cells. others: counts records of other types, and
    under :data:`SKEWED` records with repaired times.
    """
    seen: dict[str, int] = {}
    for _, number, index, job in _records(lines, bad, others, source):
        yield replace(job, id=_id(number, index, seen))


def _records(
    lines: Iterable[str],
    bad: BadRecords,
    others: dict[str, int],
    source: str,
) -> Iterator[tuple[int, int, int, FinishedJob]]:
    """Yield line, job number, array index and job (without its id) of every well-formed record."""
    count = 0
    table: SacctTable | None = None
    for at, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if is_header(text):
            table = SacctTable(text)
            if table.wrong:
                raise InputError([Problem(table.wrong, source, at)])
            continue
        if table is not None:
            if (row := _row(table, line, bad, others, source, at)) is not None:
                yield at, *row
            count += 1
            check_records(count, source)
            continue
        try:
            words = split(text)
            if words[0] in OTHERS:
                others[words[0]] = others.get(words[0], 0) + 1
                continue
            if words[0] != "JOB_FINISH":
                raise ValueError(
                    f"unknown record type {words[0]!r}: lsb.acct has JOB_FINISH records"
                )
            fields = Fields(words)
            job_number, index, job, repaired = _finished(fields)
            if repaired:
                others[SKEWED] = others.get(SKEWED, 0) + 1
        except ValueError as error:
            bad.add(malformed(error, source, at))
        else:
            if fields.unread:
                bad.add_cells(fields.unread, job_number, source, at)
            yield at, job_number, index, job
        count += 1
        check_records(count, source)


def _row(
    table: SacctTable, line: str, bad: BadRecords, others: dict[str, int], source: str, at: int
) -> tuple[int, int, FinishedJob] | None:
    """Return number, array index and job of a row of ``sacct -P``; None if it has no finished
    job.
    """
    try:
        found = table.finished(line)
        if isinstance(found, str):
            others[found] = others.get(found, 0) + 1
            return None
        number, index, job = found
        start, end = _in_order(job.submit, job.start, job.end)
        if (start, end) != (job.start, job.end):
            others[SKEWED] = others.get(SKEWED, 0) + 1
        _check(number, job.slots, job.submit, start, end)
        return number, index, replace(job, start=start, end=end)
    except ValueError as error:
        bad.add(malformed(error, source, at))
        return None


def split(text: str) -> list[str]:
    """Return the fields of a record; raises ValueError for an unclosed or misplaced quote."""
    words = _split_plain(text)
    if words is not None:
        return words
    words = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        found = _FIELD.match(text, at)
        if found is None:
            raise ValueError(
                f"field {len(words) + 1} has no closing quote at its end: {text[at : at + 40]!r}"
            )
        quoted = found[1]
        words.append(found[2] if quoted is None else quoted.replace('""', '"'))
        at = found.end()
    return words


def _split_plain(text: str) -> list[str] | None:
    """Return the fields of a record without quotes inside strings, fast; None if there are any."""
    parts = text.split('"')
    if not len(parts) % 2:
        return None
    last = len(parts) - 1
    words: list[str] = []
    for place, part in enumerate(parts):
        if place % 2:
            words.append(part)
        elif part == " " and 0 < place < last:
            continue
        else:
            # A string begins and ends at a blank, or at the ends of the record.
            begins = part[:1].isspace() or not place or (place == last and not part)
            ends = part[-1:].isspace() or place == last or (not place and not part)
            if not (begins and ends):
                return None
            words += part.split()
    return words


class Fields:
    """The fields of one record, taken one after another."""

    def __init__(self, words: list[str], last: int | None = None) -> None:
        self._words = words
        #: Time of the record before, None if there is none.
        self.last = last
        self._at = 1
        #: Names of unreadable fields, treated as not written.
        self.unread: list[str] = []

    @property
    def more(self) -> bool:
        """Return whether any field is left."""
        return self._at < len(self._words)

    def rest(self) -> list[str]:
        """Return the remaining fields without consuming them."""
        return self._words[self._at :]

    def text(self, name: str) -> str:
        """Return the next field."""
        if not self.more:
            raise ValueError(f"the record has no {name}, only {len(self._words)} fields")
        self._at += 1
        return self._words[self._at - 1]

    def whole(self, name: str) -> int:
        """Return the next field as a whole number."""
        word = self.text(name)
        if not _WHOLE.fullmatch(word):
            raise ValueError(f"{name} must be a whole number, not {word!r} (field {self._at})")
        return in_range(int(word), name, word)

    def time(self, name: str) -> int:
        """Return the next field as seconds since 1970; 0 or -1 if not set."""
        value = self.whole(name)
        if not -1 <= value <= LAST_SECOND:
            limits = f"0 to {LAST_SECOND} seconds since 1970"
            raise ValueError(f"{name} must be {limits}, not {value} (field {self._at})")
        return value

    def number(self, name: str) -> float:
        """Return the next field as a number."""
        return number_of(self.text(name), name, f" (field {self._at})")

    def known(self, name: str, read: Callable[[str], T], otherwise: U) -> T | U:
        """Return the next field; if it cannot be read, the value that means "not set"."""
        before = self._at
        try:
            return read(name)
        except ValueError as error:
            if self._at == before:  # the record has ended
                raise
            self.unread.append(str(error))
            return otherwise

    def count(self, name: str) -> int:
        """Return the length of a list."""
        return self._length(name, self.whole(name))

    def known_count(self, name: str) -> int | None:
        """Return the next count, None if unreadable: then the next field cannot be located."""
        number = self.known(name, self.whole, None)
        return None if number is None else self._length(name, number)

    def _length(self, name: str, number: int) -> int:
        if not 0 <= number <= len(self._words):
            raise ValueError(
                f"{name} must be a list length from 0 to {len(self._words)}, not {number}"
            )
        return number

    def skip(self, *names: str) -> None:
        """Skip fields."""
        self._at += len(names)
        if self._at > len(self._words):
            self._at -= len(names)
            for name in names:
                self.text(name)


def _finished(fields: Fields) -> tuple[int, int, FinishedJob, bool]:
    """Return job number, array index, the job, and whether its times were repaired."""
    word = fields.text("version")
    version, lava = _version(word), of_lava(word)
    end = fields.time("eventTime")
    number = fields.whole("jobId")
    fields.skip("userId")
    options = fields.whole("options") if lava else fields.known("options", fields.whole, 0)
    slots = fields.known("numProcessors", fields.whole, 0)
    submitted = fields.known("submitTime", fields.time, None)
    begin = fields.known("beginTime", fields.time, 0)
    deadline = fields.known("termTime", fields.time, 0)
    start = fields.time("startTime")
    user, queue, res_req = fields.text("userName"), fields.text("queue"), fields.text("resReq")
    fields.skip("dependCond", "preExecCmd")
    if lava and options & HAS_POST_EXEC:
        fields.skip("postExecCmd")
    from_host = fields.text("fromHost")
    fields.skip("cwd", "inFile", "outFile", "errFile", "jobFile")
    fields.skip(*["askedHosts"] * fields.count("numAskedHosts"))
    hosts = slots_by_host([fields.text("execHosts") for _ in range(fields.count("numExHosts"))])
    status = fields.known("jStatus", fields.whole, 0)
    fields.known("hostFactor", fields.number, 0.0)
    fields.skip("jobName", "command")
    usage = [fields.known(name, fields.number, 0.0) for name in _RUSAGE]
    fields.skip("mailUser")
    project = fields.text("projectName")
    fields.known("exitStatus", fields.whole, 0)
    most = fields.known("maxNumProcessors", fields.whole, 0)
    fields.skip("loginShell", *(() if lava else ("timeEvent",)))
    index = fields.whole("idx")
    tail = _Tail() if lava else _last(fields, version)
    submit = (start or end) if submitted is None else submitted
    written = (submit, start, end)
    start, end = _in_order(*written)
    _check(number, slots, submit, start, end)
    job = FinishedJob(
        "",
        user=user or "user",
        queue=queue,
        project=project or "default",
        submit=submit,
        begin=begin,
        start=start,
        end=end,
        slots=slots,
        max_slots=most,
        hosts=hosts,
        res_req=res_req,
        run_limit=tail.run_limit if tail.run_limit > 0 else None,
        cpu_time=max(0.0, usage[0]) + max(0.0, usage[1]),
        status=status,
        application=tail.application,
        charged=tail.charged,
        license_project=tail.license_project,
        deadline=deadline,
        from_host=from_host,
    )
    return number, index, job, (submit, start, end) != written


@dataclass(frozen=True, slots=True)
class _Tail:
    """What is read of the last part of a record."""

    #: Application profile, "" if none.
    application: str = ""
    #: Run limit in seconds, -1 without one.
    run_limit: int = -1
    #: Share account that was charged, "" if not recorded.
    charged: str = ""
    #: Licence project of -Lp, "" if none.
    license_project: str = ""


def _last(fields: Fields, version: tuple[int, ...]) -> _Tail:
    """Return the last part as :func:`_tail` does; records of LSF 5 to 8 may end earlier."""
    if version >= WHOLE:
        return _tail(fields, version)
    words = fields.rest()
    try:
        return _tail(fields, version)
    except ValueError:
        words += [""] * (_APPLICATION + 1)
        return _Tail(words[_APPLICATION], -1, words[_CHARGED], words[_LICENSE_PROJECT])


#: Lists before the run limit, and what each of their items has.
_LISTS = {
    "submitEXT": ("submitEXT key", "submitEXT value"),
    "numHostRusage": ("hostname", "mem", "swap", "utime", "stime"),
}


def _tail(fields: Fields, version: tuple[int, ...]) -> _Tail:
    """Read the rest of a record."""
    fields.skip("maxRMem", "maxRSwap", "inFileSpool", "commandSpool", "rsvId", "sla")
    fields.skip("exceptMask", "additionalInfo", "exitInfo", "warningAction", "warningTimePeriod")
    charged = fields.text("chargedSAAP")
    license_project = fields.text("licenseProject")
    application = fields.text("app")
    fields.skip("postExecCmd", "runtimeEstimation", "jobGroupName", "requeueEvalues", "options2")
    fields.skip("resizeNotifyCmd", "lastResizeTime", "rsvId", "jobDescription")
    for count, names in _LISTS.items():
        if not _skip_list(fields, count, *names):
            return _Tail(application, -1, charged, license_project)
    run_limit = fields.known("runLimit", fields.whole, -1)
    fields.skip("options3", "avgMem", "effectiveResReq")
    if version >= COMPLETE or fields.more:
        _end(fields, version)
    return _Tail(application, run_limit, charged, license_project)


def _end(fields: Fields, version: tuple[int, ...]) -> None:
    fields.skip("srcCluster", "srcJobId", "dstCluster", "dstJobId", "forwardTime", "flowId")
    fields.skip("acJobWaitTime", "totalProvisionTime", "outdir", "runTime", "subcwd")
    if not _skip_list(fields, "numNetwork", "networkID", "networkAlloc"):
        return
    fields.skip("affinity", "serialJobEnergy", "cpi", "gips", "gbs", "gflops")
    if not _skip_list(fields, "numAllocSlots", "allocSlots"):
        return
    older = version < COMPLETE
    if older and not fields.more:
        return
    fields.skip("ineligiblePendTime")
    if not _skip_list(
        fields, "indexRangeCnt", "indexRangeStart", "indexRangeEnd", "indexRangeStep"
    ):
        return
    fields.skip("requeueTime")
    if fields.known_count("numGPURusages") != 0:
        return  # a list of its own kind follows; nothing behind it is needed
    if older and not fields.more:
        return
    if _skip_list(fields, "storageInfoC", "storageInfoV"):
        _skip_list(fields, "numKVP", "KVP key", "KVP value")


def _skip_list(fields: Fields, count: str, *names: str) -> bool:
    """Pass over a list; whether its length can be read."""
    length = fields.known_count(count)
    for _ in range(length or 0):
        fields.skip(*names)
    return length is not None


def _in_order(submit: int, start: int, end: int) -> tuple[int, int]:
    """Start and end; one that lies a little before what it follows is moved to that."""
    if start and submit - CLOCK_SKEW <= start < submit:
        start = submit
    if start and start - CLOCK_SKEW <= end < start:
        end = start
    return start, end


def _check(number: int, slots: int, submit: int, start: int, end: int) -> None:
    if number < 0 or slots < 0:
        raise ValueError(f"jobId and processors must be 0 or more, not {number} and {slots}")
    if start and not submit <= start <= end:
        raise ValueError(
            "the job must be submitted, started and finished in this order, not at "
            f"{submit}, {start} and {end}"
        )


def of_lava(version: str) -> bool:
    """Return whether a scheduler of Lava's family wrote the record (OpenLava, volclava): ``22``.

    LSF's versions have a point (``10.1``). Lava's records have fewer fields; volclava's
    lsbatch/lib/lsb.log.c lists them.
    """
    return "." not in version


def _version(word: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+(\.\d+)*", word):
        raise ValueError(f"version must be a number such as 10.1, not {word!r}")
    return tuple(int(part) for part in word.split("."))


def _id(number: int, index: int, seen: dict[str, int]) -> str:
    """Return an id:

    ``7``, ``7[2]`` for an array element, ``7#2`` for the second run after a requeue.
    """
    name = f"{number}[{index}]" if index > 0 else str(number)
    seen[name] = seen.get(name, 0) + 1
    return name if seen[name] == 1 else f"{name}#{seen[name]}"


def slots_by_host(names: Iterable[str]) -> dict[str, int]:
    """Return the number of slots by host of names such as ``hostA`` and ``4*hostB``."""
    hosts: dict[str, int] = {}
    for name in names:
        found = _MULTIPLE.fullmatch(name)
        slots, host = (int(found[1]), found[2]) if found else (1, name)
        hosts[host] = hosts.get(host, 0) + slots
    return hosts


_RUSAGE = (
    *("utime", "stime", "maxrss", "ixrss", "ismrss", "idrss", "isrss", "minflt", "majflt"),
    *("nswap", "inblock", "oublock", "ioch", "msgsnd", "msgrcv", "nsignals", "nvcsw", "nivcsw"),
    "exutime",
)


def _untold(instance: Instance) -> re.Pattern[str] | None:
    """Return a pattern for names of resources that no host of a cluster reports."""
    hosts = instance.cluster.hosts
    sizes = [name for name in BUILTIN_AMOUNTS if not any(name in h.amounts for h in hosts)]
    words = [rf"\b{name}\b" for name in sizes]
    words += [] if any(host.gpu_count for host in hosts) else [GPUS_NAMED.pattern]
    return re.compile("|".join(words)) if words else None


class Requirements:
    """The parts of requirements in a log that a cluster's hosts can meet.

    cluster: None if only the log names hosts: then the part is kept that hosts without resources
    can meet (`hostless`).
    """

    def __init__(self, cluster: Instance | None) -> None:
        self._options = (
            None
            if cluster is None
            else requirement_options(cluster.params, Vocabulary.of_cluster(cluster.cluster))
        )
        #: Where no host tells of GPUs, memory and the like, what jobs ask of these goes.
        self._untold = None if cluster is None else _untold(cluster)
        self._known: dict[tuple[str, int], tuple[str | None, tuple[str, ...]]] = {}
        self._machines = frozenset[str]() if cluster is None else cluster.cluster.machines()
        self._domains = Domains(self._machines)

    def home(self, name: str) -> str:
        """Return a submission host in the cluster's spelling; "" if it is not a host of the
        cluster.
        """
        known = self._domains.known(name)
        return known if known in self._machines else ""

    @property
    def hostless(self) -> bool:
        """Return whether only slots of hosts are known."""
        return self._options is None

    def of(self, text: str, slots: int) -> tuple[str | None, tuple[str, ...]]:
        """Return the kept part of a job's requirement, and the names of the removed parts.

        slots: of the job. None: the requirement is unreadable, so the request is unknown.
        """
        if not text:
            return "", ()
        key = text, slots if self.hostless else 0
        if key not in self._known:
            self._known[key] = self._read(*key)
        return self._known[key]

    def _read(self, text: str, slots: int) -> tuple[str | None, tuple[str, ...]]:
        if self._options is None:
            kept, gone = hostless(text, slots)
            return kept, tuple(_IN_WORDS.get(name, f"{name}[]") for name in gone)
        sound, untold = readable(self._options), self._untold

        def keep(part: str) -> bool:
            return sound(part) and not (untold and untold.search(part))

        if keep(text):
            return text, ()
        try:
            part = heeded_part(text, self._options, keep)
        except InputError:
            return None, ()
        return part, (f"part of the requirement {text}",)


#: Parts of requirements that are not sections, in words.
_IN_WORDS = {"unreadable": "unreadable requirement", "alternatives": "alternatives in braces"}


class AcctJobs(OnDemand[Job]):
    """The records that started, in order of submission;

    Records whose requirement cannot be read are not among them (`unreadable`, by the text, how
    many). Without a cluster application profiles are left out.
    """

    __slots__ = ("_kept", "_records", "_requirements", "unreadable", "zero")

    def __init__(
        self, records: Sequence[FinishedJob], kept: Sequence[int], requirements: Requirements
    ) -> None:
        self._records = records
        self._kept = kept
        self._requirements = requirements
        self.unreadable: Counter[str] = Counter()
        #: Second 0, the first submission.
        self.zero = records[kept[0]].submit if len(kept) else 0

    @classmethod
    def of(cls, records: Sequence[FinishedJob], *, cluster: Instance | None) -> AcctJobs:
        """Return the jobs of the records that ever started, for the hosts of a cluster."""
        places, submits = array("q"), array("q")
        requirements = Requirements(cluster)
        unreadable: Counter[str] = Counter()
        for place, job in enumerate(records):
            if not (job.start and job.hosts):
                continue
            if requirements.of(job.res_req, sum(job.hosts.values()))[0] is None:
                unreadable[job.res_req] += 1
                continue
            places.append(place)
            submits.append(job.submit)
        order = np.argsort(np.array(submits, dtype=np.int64), kind="stable")
        kept = array("q", np.array(places, dtype=np.int64)[order].tobytes())
        found = cls(records, kept, requirements)
        found.unreadable = unreadable
        return found

    def __len__(self) -> int:
        return len(self._kept)

    def records(self) -> Iterator[FinishedJob]:
        """Return the records of the jobs."""
        return (self._records[place] for place in self._kept)

    def item(self, place: int) -> Job:
        """Return the job of one record."""
        job = self._records[self._kept[place]]
        return Job(
            id=job.id,
            slots=max(1, sum(job.hosts.values())),
            user=job.user,
            queue=job.queue,
            project=job.project,
            license_project=job.license_project,
            res_req=(text,) if (text := self._asks(job)[0]) else (),
            run_limit=job.run_limit,
            run_time=job.end - job.start,
            cpu_time=job.cpu_time,
            submit=job.submit - self.zero,
            begin=job.begin - self.zero if job.begin else None,
            deadline=job.deadline - self.zero if job.deadline > 0 else None,
            from_host=self._requirements.home(job.from_host),
            application="" if self._requirements.hostless else job.application,
        )

    def passed_over(self) -> Iterator[tuple[str, ...]]:
        """Return for each job the omitted parts of its requirement."""
        return (self._asks(job)[1] for job in self.records())

    def recorded_starts(self) -> Mapping[str, int]:
        """Return the real start of each job by id, in seconds from second 0."""
        return _Starts(self)

    def start_of(self, place: int) -> tuple[str, int]:
        """Return the id of a job and its recorded start."""
        job = self._records[self._kept[place]]
        return job.id, job.start - self.zero

    def _asks(self, job: FinishedJob) -> tuple[str | None, tuple[str, ...]]:
        return self._requirements.of(job.res_req, sum(job.hosts.values()))


class _Starts(Mapping[str, int]):
    """Recorded starts by job id."""

    def __init__(self, jobs: AcctJobs) -> None:
        self._jobs = jobs
        self._places = NamePlaces(self, self._name_at)

    def _name_at(self, place: int) -> str:
        return self._jobs.start_of(place)[0]

    def __getitem__(self, job: str) -> int:
        place = self._places.first(job)
        if place is None:
            raise KeyError(job)
        return self._jobs.start_of(place)[1]

    def __iter__(self) -> Iterator[str]:
        return map(self._name_at, range(len(self._jobs)))

    def __len__(self) -> int:
        return len(self._jobs)
