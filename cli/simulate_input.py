"""What ``slotwise simulate`` reads: an instance or a log, changes over time, lives of hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from .options import limit_of, read_instance, tell

if TYPE_CHECKING:
    from ..model.changes import Change
    from ..model.errors import InputError, Problem
    from ..model.formats.file_format import FileFormat
    from ..model.instance import Instance


@dataclass(frozen=True, slots=True)
class Sources:
    """The files of the command line, and what is said about them; None where it is not said.

    site: the cluster of a log as an instance at hand, instead of `cluster`. quiet: nothing is told.
    """

    file: Path
    cluster: Path | None = None
    hosts: int | None = None
    keep_going: bool = False
    default_limit: str | None = None
    events: Path | None = None
    changes: Path | None = None
    site: Instance | None = None
    quiet: bool = False

    def tell(self, text: str) -> None:
        """A remark on stderr."""
        if not self.quiet:
            tell(text)


@dataclass(frozen=True, slots=True)
class Simulated:
    """What is simulated. recorded: real starts of a log's jobs by id. of_lsf: whether these show
    how often the scheduler ran.
    """

    instance: Instance
    changes: tuple[Change, ...] = ()
    recorded: Mapping[str, int] = field(default_factory=dict)
    of_lsf: bool = False


def read(sources: Sources) -> Simulated:
    """Everything; what is odd goes to stderr.

    Raises InputError for bad files, and for an option that means nothing for the kind of file.
    """
    from ..model.formats.file_format import ReadOptions
    from ..model.formats.registry import format_of
    from ..model.formats.source_text import check_readable

    check_readable(sources.file)
    found = format_of(sources.file)
    _only_what_applies(sources, found)
    cluster = sources.site
    if sources.cluster is not None:
        cluster = read_instance(sources.cluster, None)
    limit = limit_of(sources.default_limit)
    options = ReadOptions(sources.hosts, cluster, sources.keep_going, limit)
    contents = found.read(sources.file, options)
    if sources.events is not None and not contents.of_lsf:
        raise _idle(["events"], sources, found)
    for remark in contents.remarks:
        sources.tell(remark)
    instance = contents.instance
    changes: list[Change] = []
    if sources.events is not None:
        changes += _lives(sources.events, instance, sources)
    if sources.changes is not None:
        from ..model.formats.changes import load_changes

        changes += load_changes(sources.changes, instance)
    return Simulated(instance, tuple(changes), contents.recorded, contents.of_lsf)


def _only_what_applies(sources: Sources, found: FileFormat) -> None:
    asked = {
        "hosts": sources.hosts,
        "cluster": sources.cluster or sources.site,
        "keep_going": sources.keep_going,
        "default_limit": sources.default_limit,
    }
    idle = [name for name, value in asked.items() if value and name not in found.takes]
    if idle:
        raise _idle(idle, sources, found)


def _idle(names: list[str], sources: Sources, found: FileFormat) -> InputError:
    from ..model.errors import InputError

    said = ", ".join(f"--{name.replace('_', '-')}" for name in names)
    return InputError(f"{said}: means nothing for {found.kind}, which {sources.file} is")


def _lives(path: Path, instance: Instance, sources: Sources) -> Iterator[Change]:
    """The hosts of the log as lsb.events says they came, closed and opened."""
    from ..model.errors import report
    from ..model.formats.bad_records import BadRecords
    from ..model.formats.log_lines import refused_records
    from ..model.lsf_state.lifetimes import host_lives
    from ..model.lsf_state.log_records import read_events

    bad = BadRecords()
    lives = host_lives(read_events(path, bad, {}))
    problems: list[Problem] = bad.report()
    if bad.count and not sources.keep_going:
        raise refused_records(problems)
    for line in report(problems):
        sources.tell(f"warning: {line}")
    assert instance.origin is not None  # a log that takes --events has one
    zero = int(datetime.fromisoformat(instance.origin).timestamp())
    names = [host.name for host in instance.cluster.hosts]
    found = lives.changes(names, zero)
    unnamed = sum(name not in lives.first for name in names)
    passing = len(set(lives.passing) & set(names))
    sources.tell(
        f"{path}: {passing} of {len(names)} hosts come and go, {len(lives.controls)} times one was "
        f"closed or opened; {unnamed} hosts are not in it"
    )
    return iter(found)
