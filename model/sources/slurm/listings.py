"""The listing that counts for each kind of record, where several files have one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import Problem
from .. import slurm_values as values
from ..lsf_state.ignored import COPY, IgnoredFiles
from .fields import RecordKind, SlurmRecord

#: Job states, of which jobs are pending or use nodes, unlike those of jobs that have finished.
_FINISHED = frozenset(
    {"boot_fail", "cancelled", "completed", "deadline", "failed", "node_fail", "out_of_memory",
     "preempted", "revoked", "timeout"}
)  # fmt: skip
_ACTIVE = frozenset({"completing", "requeued", "requeue_hold", "special_exit", "stage_out"})
#: Kinds of which each record has a name, and how messages name them.
_NAMED: dict[RecordKind, tuple[str, str]] = {
    "job": ("id", "jobs"), "node": ("name", "nodes"), "partition": ("name", "partitions"),
    "reservation": ("name", "reservations"), "licence": ("name", "licences"),
}  # fmt: skip
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
                wrong = f"is of cluster {name!r}, and {Path(source).name} of cluster {first!r}"
                yield Problem(f"{wrong}: give the listings of one cluster", other)

    def add_ignored(self, ignored: IgnoredFiles) -> None:
        """Add the files of which no record counts."""
        unused = [source for listings in self.others.values() for source, _ in listings]
        for source in dict.fromkeys(unused):
            if source not in self.sources.values():
                ignored.add(source, COPY)

    def missing(self) -> Iterator[str]:
        """Yield a sentence for each file with jobs or nodes that the listing in force lacks."""
        for kind, (_, plural) in _NAMED.items():
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
            yield str(record.get(_NAMED[record.kind][0])) if record.kind in _NAMED else ""


def _says_more(kind: RecordKind, listed: list[SlurmRecord], before: list[SlurmRecord]) -> bool:
    """Return whether a text form has values that the JSON form of a kind lacks.

    Flags of a partition are only in its text form; so are the tasks of jobs that end.
    """
    if kind == "partition":
        return listed[0].is_text and not before[0].is_text
    if kind in ("job", "share") and listed[0].is_text == before[0].is_text:
        return _extent(listed) > _extent(before) or (
            kind == "share" and len(listed[0].fields) > len(before[0].fields)
        )
    return False


def _extent(listed: list[SlurmRecord]) -> tuple[int, int]:
    """Return the number of records that have not finished, and of all."""
    return sum(1 for _ in _names(listed)), len(listed)
