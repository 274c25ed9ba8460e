"""A folder of what Slurm's commands printed, in files of any name.

Where several files have one kind of record, one listing counts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any

from ... import slurm_values as values
from ...errors import InputError, Problem, bounded
from ...formats.names import check_name
from ...slurm_version import LAST_READ
from ..lsf_state.folder import texts_in
from ..lsf_state.ignored import COPY, SAYS_LESS, UNKNOWN, IgnoredFiles
from ..lsf_state.values import Text
from .assemble import order_of
from .fields import NOT_PRINTED, RecordKind, SlurmRecord
from .limits import HEAD, of_cluster, read_limits
from .read import job_of, node_of, partition_of, reservation_of
from .records import (
    BEGINNINGS,
    BY_NODE,
    cluster_of,
    json_of,
    lists_nothing,
    records_of_json,
    records_of_text,
    settings_of,
    version_of,
)
from .seen import SlurmJob, SlurmLicence, SlurmNode, SlurmPartition, SlurmState
from .shares import (
    NORMALISED,
    PRIORITY_HEAD,
    SHARE_HEAD,
    check_accounts,
    priorities_of_text,
    priority_of,
    share_of,
    shares_of_json,
    shares_of_text,
)
from .site import NETWORKS, OF_YAML, read_networks

#: Job states, of which jobs are pending or use nodes, unlike those of jobs that have finished.
_FINISHED = frozenset(
    {"boot_fail", "cancelled", "completed", "deadline", "failed", "node_fail", "out_of_memory",
     "preempted", "revoked", "timeout"}
)  # fmt: skip
_ACTIVE = frozenset({"completing", "requeued", "requeue_hold", "special_exit", "stage_out"})
#: The fact that names a record, "" if none does, by kind; the plural, which names its list in a
#: state too; what makes one of a record.
_KINDS: dict[RecordKind, tuple[str, str, Callable[..., Any]]] = {
    "job": ("id", "jobs", job_of),
    "node": ("name", "nodes", node_of),
    "partition": ("name", "partitions", partition_of),
    "reservation": ("name", "reservations", reservation_of),
    "licence": ("name", "licences", lambda record: SlurmLicence(**record.facts())),
    "share": ("", "shares", share_of),
    "priority": ("", "priorities", priority_of),
}
#: Kinds with times, which are those of the zone of the cluster.
_CLOCKED = ("job", "reservation")
#: Names in one sentence.
MAX_NAMES = 3


@dataclass(slots=True)
class ListedRecords:
    """Records by kind: those of the listing that counts, and those of the others."""

    #: Records of the listing that counts.
    records: dict[RecordKind, list[SlurmRecord]] = field(default_factory=dict)
    #: File of that listing.
    sources: dict[RecordKind, str] = field(default_factory=dict)
    #: Files and records of the other listings.
    others: dict[RecordKind, list[tuple[str, list[SlurmRecord]]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    #: The first file of each cluster that files name.
    clusters: dict[str, str] = field(default_factory=dict)

    def add(self, found: Iterable[SlurmRecord], source: str) -> None:
        """Add the records of a file; of two listings of one kind the one that says more counts."""
        by_kind: dict[RecordKind, list[SlurmRecord]] = {}
        for record in found:
            by_kind.setdefault(record.kind, []).append(record)
        for kind, listed in by_kind.items():
            before = self.records.get(kind, [])
            if not before or _says_more(kind, listed, before):
                if before:
                    self.others[kind].append((self.sources[kind], before))
                self.records[kind], self.sources[kind] = listed, source
            else:
                self.others[kind].append((source, listed))

    def add_cluster(self, name: str, source: str) -> None:
        """Add the name of the cluster that a file is of, "" if the file does not tell."""
        if name:
            self.clusters.setdefault(name.lower(), source)

    def other_clusters(self) -> Iterator[Problem]:
        """Yield a problem for each file of another cluster than the first one."""
        (first, source), *others = [*self.clusters.items(), ("", "")]
        for name, other in others:
            if name:
                wrong = f"belongs to cluster {name!r}, but {Path(source).name} to {first!r}"
                yield Problem(f"{wrong}: give the listings of one cluster", other)

    def add_ignored(self, ignored: IgnoredFiles) -> None:
        """Add the files of which no record counts."""
        unused = [source for listings in self.others.values() for source, _ in listings]
        for source in dict.fromkeys(unused):
            if source not in self.sources.values():
                ignored.add(source, COPY)

    def missing(self) -> Iterator[str]:
        """Yield a sentence for each file with jobs or nodes that the listing in force lacks."""
        for kind, (_, plural, _make) in _KINDS.items():
            known = set(_names(self.records.get(kind, ())))
            for source, listed in self.others.get(kind, ()):
                more = [item for item in dict.fromkeys(_names(listed)) if item not in known]
                if more:
                    shown = ", ".join(more[:MAX_NAMES]) + " …" * (len(more) > MAX_NAMES)
                    yield (
                        f"{plural} {shown} are in {Path(source).name}, which is not read, and not "
                        f"in {Path(self.sources[kind]).name}, which is read: give one listing of "
                        f"all {plural}"
                    )


def _names(records: Iterable[SlurmRecord]) -> Iterator[str]:
    """Yield the names of the records, of jobs the numbers, without those that have finished."""
    for record in records:
        state = set(values.words(record.get("state"))) if record.kind == "job" else set()
        if not state & _FINISHED or state & _ACTIVE:
            fact = _KINDS[record.kind][0]
            yield str(record.get(fact)) if fact else ""


def _says_more(kind: RecordKind, listed: list[SlurmRecord], before: list[SlurmRecord]) -> bool:
    """Return whether a text form has values that the JSON form of a kind lacks.

    Flags of a partition are only in its text form; so are the tasks of jobs that end, and from
    26.05 on how jobs share their nodes.
    """
    if kind == "partition":
        return listed[0].is_text and not before[0].is_text
    lacks, lacked = (
        any(record.fields.get("shared") == NOT_PRINTED for record in part)
        for part in (listed, before)
    )
    if (
        lacked
        and not lacks
        and any(r.fields.get("shared") or r.fields.get(BY_NODE) for r in listed)
    ):
        return _extent(listed)[0] >= _extent(before)[0]
    if kind in ("job", "share") and listed[0].is_text == before[0].is_text:
        return _extent(listed) > _extent(before) or (
            kind == "share" and len(listed[0].fields) > len(before[0].fields)
        )
    return False


def _extent(listed: list[SlurmRecord]) -> tuple[int, int]:
    """Return the number of records that have not finished, and of all."""
    return sum(1 for _ in _names(listed)), len(listed)


_RECORDS = re.compile(rf"^(?:{'|'.join(BEGINNINGS)})=", re.MULTILINE)
_STARTS = re.compile(r"^\s*JOBID\b.*\bSTART_TIME\b.*\bSCHEDNODES\b", re.MULTILINE)
_DIAGNOSIS = re.compile(r"sdiag output at (.*?) \((\d{9,11})\)")
_CONFIGURED = re.compile(r"Configuration data as of (\S+)")
#: Seconds between UTC and the time of any place at most.
_FARTHEST = 18 * 3600
_STAMP_OF_DIAGNOSIS = "%a %b %d %H:%M:%S %Y"
#: Messages that Slurm's commands print where a listing should be.
_FAILED = re.compile(
    r"^(?:slurm_load_\w+ error|\w+: (?:error|fatal)):.*|.*Unable to contact slurm controller.*",
    re.MULTILINE,
)
_PARTS = ("Age", "JobSize", "Partition", "FairShare", "QOS", "Assoc")
#: Readers of the settings that are no text.
_SETTINGS: Mapping[str, Callable[[str], object]] = {
    **dict.fromkeys(("DefMemPerNode", "DefMemPerCPU"), values.megabytes),
    **dict.fromkeys((f"PriorityWeight{part}" for part in _PARTS), values.number),
    **dict.fromkeys(("MaxArraySize", "FairShareDampeningFactor"), values.number),
    **dict.fromkeys(
        ("PriorityMaxAge", "PriorityCalcPeriod", "PriorityDecayHalfLife"), values.clock_seconds
    ),
    **dict.fromkeys(
        ("KillWait", "OverTimeLimit"), lambda text: values.number(text.partition(" ")[0])
    ),  # "30 sec"
    "PriorityWeightTRES": values.tres_weights,
}
_NO_JOBS = re.compile(r"^No jobs in the system", re.MULTILINE)
#: Answers of commands whose subject the cluster does not have, with an error's prefix at times.
_NOTHING_THERE = re.compile(
    r"No topology information available|accounting[ _]storage|not running a supported",
    re.IGNORECASE,
)
#: Answers of commands that have nothing to list.
_NOTHING_LISTED = re.compile(
    r"No (?:jobs|reservations|licenses|nodes|partitions)\b|There are no \w+", re.IGNORECASE
)
#: Heads of other tables of squeue and sinfo.
_TABLES = re.compile(
    r"^\s*(?:JOBID\s+PARTITION|PARTITION\s+AVAIL|NODELIST\s+NODES|ACCOUNT\|TRES_PER_NODE)",
    re.MULTILINE,
)
#: Words in the names that people give to files, and the listings that these may have.
_NAMES = {
    **dict.fromkeys(("reservation", "reservations"), "reservation"),
    **dict.fromkeys(("license", "licenses", "licence", "licences"), "licence"),
    **dict.fromkeys(("partition", "partitions"), "partition"),
    **dict.fromkeys(("sacctmgr", "qos", "assoc", "associations"), "limits"),
    **{"sshare": "share", "sprio": "priority", "topology": "switches", "config": "settings"},
}
#: Tables for people, in which sizes and limits are missing.
_FOR_PEOPLE = re.compile(r"^\s*JOBID\s+PARTITION\s+NAME\b", re.MULTILINE)
_JOBS = "squeue --json, or scontrol show job -d -o"
_TIME_OF_DAY = re.compile(r"\b(\d{1,2}):(\d\d):(\d\d)(?:\s*([AP])M)?\b", re.IGNORECASE)
_SLURM_CONF = re.compile(r"^\s*(?:ClusterName|SlurmctldHost|NodeName)\s*=", re.MULTILINE)
#: The message for a folder in which no scheduler's command has left anything.
NO_LISTING = (
    "has no file with the output of bjobs, bhosts, bqueues or squeue, sinfo, scontrol: save one "
    "there, such as bjobs.txt (slotwise import lsf reads LSF's configuration)"
)


def read_folder(folder: Path) -> SlurmState:
    """Return the state that the files of a folder describe; raises InputError."""
    ignored = IgnoredFiles()
    texts = list(ignored.readable(texts_in(folder), _has_no_listing))
    return read_texts(texts, str(folder), ignored=ignored)


@bounded("what Slurm printed")
def read_texts(
    given: Iterable[Text],
    source: str,
    zone: tzinfo | None = None,
    ignored: IgnoredFiles | None = None,
) -> SlurmState:
    """Return the state in these texts, JSON before text forms of one kind; source: for messages.

    zone: of times without one, None: as in sdiag, else UTC. ignored: files that are not read.

    Raises InputError with every error, and if no text is of Slurm.
    """
    texts = [text for text in given if text.content.strip()]
    seen = SlurmState(ignored=ignored or IgnoredFiles())
    zone = _clock(texts, seen) or zone
    listings = ListedRecords()
    problems: list[Problem] = []
    # With topology.yaml Slurm reads no topology.conf.
    for text in sorted(texts, key=lambda t: (not t.is_json, not OF_YAML.search(t.content))):
        try:
            if reason := _read(text, seen, listings):
                seen.ignored.add(text.source, reason)
        except InputError as error:
            problems += error.problems
    listings.add_ignored(seen.ignored)
    records = listings.records
    seen.missing = [*listings.missing(), *seen.ignored.may_have(_lacking(seen, records))]
    for kind, listed in records.items():
        _interpret(kind, listed, zone, seen, problems)
    try:
        check_accounts(seen.shares)
    except InputError as error:
        problems += error.problems
    problems += listings.other_clusters()
    if problems:
        raise InputError(problems)
    if not (records or seen.settings):
        _check_tables(texts)
        raise InputError([Problem(NO_LISTING, source)])
    if not _lists_jobs(texts, records):
        _check_tables(texts)
        wrong = "no input lists the jobs: nodes in use would be treated as free"
        raise InputError([Problem(f"{wrong}; give {_JOBS}", source)])
    seen.limits = of_cluster(seen.limits, seen.settings.get("clustername", ""))
    seen.jobs = order_of(seen.jobs)
    seen.version = seen.version or seen.settings.get("slurm_version", "")
    return seen


def _lacking(seen: SlurmState, records: Mapping[RecordKind, list[SlurmRecord]]) -> frozenset[str]:
    """Return the words in the names of files with listings that no file has that is read."""
    there = {
        *records,
        *(["limits"] if seen.limits else ()),
        *(["switches"] if seen.networks else ()),
        *(["settings"] if seen.settings else ()),
    }
    return frozenset(word for word, what in _NAMES.items() if what not in there)


def _lists_jobs(texts: Iterable[Text], records: Mapping[RecordKind, list[SlurmRecord]]) -> bool:
    """Return whether a text lists the jobs, also if there are none."""
    if "job" in records:
        return True
    return any(
        json_of(text).get("jobs") == [] if text.is_json else _NO_JOBS.search(text.content[:4096])
        for text in texts
    )


def _check_tables(texts: Iterable[Text]) -> None:
    """Raise InputError for a table for people in place of the records of jobs."""
    for text in texts:
        start = text.content[:4096]
        if _FOR_PEOPLE.search(start) and not _STARTS.search(start):
            wrong = "is a table of squeue, without the sizes and limits of jobs"
            raise InputError([Problem(f"{wrong}; give {_JOBS}", text.source)])


def _check_document(document: Mapping[str, Any], source: str) -> None:
    """Raise InputError for a document with an error in place of records."""
    errors = document.get("errors")
    first = errors[0] if isinstance(errors, list) and errors else None
    if isinstance(first, Mapping):
        raise _failed(str(first.get("description") or first.get("error") or first), source)


def _failed(said: str, source: str) -> InputError:
    wrong = f"contains an error of Slurm and no listing: {said[:200]!r}; run the command again"
    return InputError([Problem(wrong, source)])


def _read(text: Text, seen: SlurmState, listings: ListedRecords) -> str:
    """Read one text by its first line; return why it is ignored, "" if it is read."""
    content, start = text.content, text.content[:4096]
    if text.is_json:
        return _read_json(text, seen, listings)
    if _CONFIGURED.search(start):
        seen.settings = _checked_settings(text)
        listings.add_cluster(seen.settings.get("clustername", ""), text.source)
    elif "Association Manager" in start or any(map(HEAD.match, start.splitlines())):
        seen.limits += read_limits(text)
    elif NETWORKS.search(content):
        if seen.networks:
            return COPY
        try:
            read_networks(text, seen)
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            wrong = (
                str(error) if isinstance(error, ValueError) else "is not a tree of named switches"
            )
            raise InputError([Problem(wrong, text.source)]) from None
    elif _STARTS.search(start):
        return SAYS_LESS
    elif _SLURM_CONF.search(content[:65536]) and "SlurmctldHost" in content:
        settings = _checked_settings(text)
        listings.add_cluster(settings.get("clustername", ""), text.source)
        if seen.settings:
            return COPY
        seen.settings = settings
    elif _RECORDS.search(content):
        listings.add(records_of_text(text), text.source)
    elif SHARE_HEAD.search(start):
        listings.add(shares_of_text(text), text.source)
    elif PRIORITY_HEAD.search(start):
        if NORMALISED.search(content):
            return "sprio -n, give sprio -l"
        listings.add(priorities_of_text(text), text.source)
    elif not _DIAGNOSIS.search(start):
        # An error message may stand in place of records.
        failed = _FAILED.search(text.content[:4096])
        if failed and not _NOTHING_THERE.search(failed[0]):
            raise _failed(failed[0].strip(), text.source)
        return "" if _has_no_listing(content) else (SAYS_LESS if _TABLES.search(start) else UNKNOWN)
    return ""


def _read_json(text: Text, seen: SlurmState, listings: ListedRecords) -> str:
    """Read one JSON document; return why it is ignored, "" if it is read."""
    document = json_of(text)
    found = [*records_of_json(document, text.source), *shares_of_json(document, text.source)]
    if not found:
        _check_document(document, text.source)
        return "" if lists_nothing(document) else UNKNOWN
    listings.add_cluster(cluster_of(document), text.source)
    seen.version = version_of(document) or seen.version
    _stamp(document, seen)
    listings.add(found, text.source)
    return ""


def _has_no_listing(content: str) -> bool:
    """Return whether a content is the answer of a command that has nothing to list."""
    return bool(
        _NOTHING_THERE.search(content[:4096]) or _NOTHING_LISTED.match(content.lstrip()[:4096])
    )


def _checked_settings(text: Text) -> dict[str, str]:
    """Return the settings of a text; raises InputError for a number that is none."""
    found = settings_of(text)
    problems = []
    for name in (name for name in _SETTINGS if name.lower() in found):
        try:
            _SETTINGS[name](found[name.lower()])
        except ValueError as error:
            problems.append(Problem(f"{name}: {error}", text.source))
    if problems:
        raise InputError(problems)
    return found


def _stamp(document: Mapping[str, Any], seen: SlurmState) -> None:
    """Take the time of printing from JSON (23.11 and later)."""
    stamp = document.get("last_update")
    found = None if stamp is None else values.whole(stamp)
    if found:
        seen.now = max(seen.now or 0, found)


def _clock(texts: Iterable[Text], seen: SlurmState) -> tzinfo | None:
    """Return the time zone of printed times, from sdiag; None if unknown."""
    zone: tzinfo | None = None
    for text in texts:
        if (found := _DIAGNOSIS.search(text.content[:4096])) is None:
            continue
        seen.now = int(found[2])
        if (offset := _offset(found[1].strip(), int(found[2]))) is not None:
            if abs(offset) > _FARTHEST:
                wrong = f"{found[0]!r}: the date and the seconds since 1970 must agree"
                raise InputError([Problem(wrong, text.source)])
            zone = timezone(timedelta(seconds=offset))
    return zone


def _offset(printed: str, time: int) -> int | None:
    """Return the seconds by which a printed local time is ahead of UTC, in quarters of an hour.

    A date of another locale has its time of day and, first of its other numbers, its day.
    """
    try:
        local = datetime.strptime(printed, _STAMP_OF_DIAGNOSIS).replace(tzinfo=UTC)
        ahead = local.timestamp() - time
    except ValueError:
        if (found := _TIME_OF_DAY.search(printed)) is None:
            return None
        half = (found[4] or "").upper()
        hour = int(found[1]) % 12 + 12 * (half == "P") if half else int(found[1])
        seconds = hour * 3600 + int(found[2]) * 60 + int(found[3])
        ahead = (seconds - time + 36000) % 86400 - 36000  # from -10 to 14 hours
    return round(ahead / 900) * 900


def _interpret(
    kind: RecordKind,
    records: list[SlurmRecord],
    zone: tzinfo | None,
    seen: SlurmState,
    problems: list[Problem],
) -> None:
    _, plural, make = _KINDS[kind]
    for record in records:
        if unknown := set(record.unknown()):
            seen.unknown.setdefault(kind, set()).update(unknown)
        try:
            made = make(record, zone) if kind in _CLOCKED else make(record)
            _check_names(record, made)
            getattr(seen, plural).append(made)
        except (ValueError, AttributeError, TypeError, KeyError) as error:
            problems.append(Problem(_unread(record, error), record.where))


def _check_names(record: SlurmRecord, made: object) -> None:
    """Raise ValueError for the name of a node or a partition that is none."""
    if isinstance(made, SlurmNode | SlurmPartition):
        record.get("name")
        check_name(made.name)
    if isinstance(made, SlurmNode | SlurmJob):
        record.get("partitions")
        for name in made.partitions:
            check_name(name)


def _unread(record: SlurmRecord, error: Exception) -> str:
    """Return which field cannot be read, and why."""
    name, value = record.last
    if isinstance(error, ValueError):
        return f"{name}: {error}"
    return f"{name}: {str(value)[:80]!r} has a form that no version up to {LAST_READ} prints"


def printed_at(seen: SlurmState) -> int | None:
    """Return the seconds since 1970 at which the texts were printed, by their records; None if
    unknown.
    """
    if seen.now is not None:
        return seen.now
    passed = [
        time
        for job in seen.jobs
        for time in (job.submit, job.start if "running" in job.state else None)
        if time is not None
    ]
    return max(passed, default=None)
