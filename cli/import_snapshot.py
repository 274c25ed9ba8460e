"""What LSF's commands have printed, as an instance of the time at which they were run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..model.errors import InputError, Problem, bounded
from ..model.omissions import Omission
from .declare import option, values_of
from .options import RUSAGE_HELP, Rusage, from_stdin, print_note, read_source

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.sources.lsf_state.assemble import Assembled
    from ..model.sources.lsf_state.bjobs import SeenJob
    from ..model.sources.lsf_state.facts import SiteFacts
    from ..model.sources.lsf_state.seen import Seen
    from ..model.sources.lsf_state.values import Remarks, Text


T = TypeVar("T")

#: Begins the notes on sums; a contradiction is a note of its own.
BALANCE = "balance: "
#: Notes of one kind that are spelled out.
MAX_NOTES = 10
SITE_HELP = "Instance with the site's configuration: resources, users, limits."
OF_FILES = "The site's configuration: an instance, or the directory of LSF's own files."
SITE = option(None, SITE_HELP)
FACTS = (
    *("bparams", "bugroup", "bmgroup", "busers", "lshosts", "blimits", "bjgroup", "brsvs", "aps"),
    *("bsla", "bresources", "topology"),
)
#: The kind of text that an option takes, if the option has another name.
_KIND_OF = {
    "aps": "bjobs -aps",
    "bresources": "bresources -g -l",
    "topology": "lshosts -T",
}


@dataclass(frozen=True, slots=True)
class Listings:
    """Files with what LSF's commands have printed, and how they are read."""

    bjobs: tuple[Path, ...] = option(
        (),
        "bjobs -u all -json -o '…', or bjobs -u all -l or -UF; also bjobs -A -w.",
        callback=from_stdin,
    )
    bhosts: tuple[Path, ...] = option(
        (),
        "bhosts -json -o '…', bhosts -l or bhosts; bhosts -gpu -l and bhosts -s in addition.",
        callback=from_stdin,
    )
    bqueues: tuple[Path, ...] = option(
        (), "bqueues -l or -r, bqueues -json or bqueues.", callback=from_stdin
    )
    bhpart: tuple[Path, ...] = option((), "bhpart -r.", callback=from_stdin)
    lsid: Path | None = option(None, "lsid: the name of the scheduler (OpenLava …).")
    bparams: Path | None = option(None, "bparams -l or -a: parameters, without --site.")
    bugroup: Path | None = option(None, "bugroup -l: user groups, without --site.")
    bmgroup: Path | None = option(None, "bmgroup -r: host groups, without --site.")
    busers: Path | None = option(None, "busers all: limits of users, without --site.")
    lshosts: Path | None = option(None, "lshosts -w: memory of hosts, without --site.")
    blimits: Path | None = option(
        None, "blimits -c or bresources, or blimits: limits, without --site."
    )
    bjgroup: Path | None = option(None, "bjgroup: limits of job groups.")
    brsvs: Path | None = option(None, "brsvs -l or brsvs -w: advance reservations.")
    bsla: Path | None = option(None, "bsla: service classes, without --site.")
    bresources: Path | None = option(
        None, "bresources -g -l: guaranteed resource pools, without --site."
    )
    topology: Path | None = option(
        None, "lshosts -T or bhosts -aff: cores, threads, sockets and NUMA nodes of hosts."
    )
    aps: Path | None = option(None, "bjobs -u all -aps: absolute priorities.")
    folder: Path | None = option(
        None, "Folder with the output of these commands, in files of any name.", "--from"
    )
    site: Path | None = option(None, OF_FILES)
    rusage: Rusage | None = option(None, RUSAGE_HELP)
    now: str | None = option(
        None,
        "When the commands ran, ISO 8601 with zone. Default: from the jobs, in UTC.",
        metavar="STAMP",
    )

    @property
    def facts(self) -> dict[str, Path]:
        """Return the files about the configuration, by the command that printed them."""
        given = values_of(self, *FACTS)
        return {name: path for name, path in given.items() if path is not None}

    @property
    def files(self) -> list[Path]:
        """Return all named files, without those of the folder."""
        listed = (*self.bjobs, *self.bhosts, *self.bqueues, *self.bhpart)
        return [*listed, *self.facts.values(), *(() if self.lsid is None else (self.lsid,))]

    @property
    def is_given(self) -> bool:
        """Whether any file or folder with printed text is named."""
        return self.folder is not None or bool(self.files)

    def instance(self, site: Path | Instance | None) -> Instance:
        """Return the instance of the files; notes and differences go to stderr.

        Raises InputError with everything that is wrong with them.
        """
        from ..model.sources.lsf_state.folder import PrintedFolder, printed_in
        from ..model.sources.lsf_state.ignored import IgnoredFiles
        from ..model.sources.lsf_state.values import read_text

        ignored = IgnoredFiles()
        folder = PrintedFolder({}) if self.folder is None else printed_in(self.folder, ignored)
        there = folder.best
        print_notes(list(ignored.sentences()))
        lsids = [text.content for text in there.get("lsid", ())]
        texts: dict[str, Any] = {
            kind: [*there.get(kind, ()), *(read_text(path, kind) for path in getattr(self, kind))]
            for kind in ("bjobs", "bhosts", "bqueues", "bhpart")
        }
        facts = (read_text(path, _KIND_OF.get(kind, kind)) for kind, path in self.facts.items())
        given = Printed(
            **texts,
            lsid="".join(lsids[:1]) if self.lsid is None else _file_text(self.lsid),
            facts=[*there.get("facts", ()), *facts],
            shorter=folder.shorter,
            unread=[*folder.unread, *(() if site is not None else folder.configuration)],
        )
        if not given.has_any:
            raise InputError("no listing is given: give --bjobs, --bhosts, --bqueues or --bhpart")
        moment = None if self.now is None else parse_now(self.now)
        dated = [Path(text.source) for text in (*given.bjobs, *given.bhosts, *given.bqueues)]
        return make_instance(given, moment or _age(dated), moment, site, self.rusage or "")


@dataclass(frozen=True, slots=True)
class Printed:
    """The texts of each command."""

    bjobs: Sequence[Text] = ()
    bhosts: Sequence[Text] = ()
    bqueues: Sequence[Text] = ()
    bhpart: Sequence[Text] = ()
    #: Output of ``lsid``, "" if it was not run.
    lsid: str = ""
    #: Outputs of the commands that print the configuration.
    facts: Sequence[Text] = ()
    #: Shorter forms of bjobs, bhosts and bqueues, read where the texts above lack a name.
    shorter: Mapping[str, Sequence[Text]] = field(default_factory=dict)
    #: Sentences about files that are not read and that may change answers.
    unread: Sequence[str] = ()

    @property
    def has_any(self) -> bool:
        """Whether there is anything."""
        return bool(self.bjobs or self.bhosts or self.bqueues or self.bhpart)


def make_instance(
    printed: Printed,
    reference: datetime,
    now: datetime | None,
    site: Path | Instance | None,
    rusage: str = "",
) -> Instance:
    """Return the instance of the printed texts; notes and differences go to stderr.

    reference: about when it was printed. now: exactly when, None for what the jobs tell. site: the
    configuration. rusage: "slot" or "host", what rusage[mem] counts for, "" for what the site or
    lsid says. Raises InputError with everything that is wrong with the texts.
    """
    from ..model.formats.reading import family_of_words, lava_family
    from ..model.sources.lsf_state.assemble import assemble, moment_of, with_family
    from ..model.sources.lsf_state.facts import read_facts
    from ..solver.fairshare.reports import PrintedShares

    base = _site(site) if isinstance(site, Path) else site
    seen = _seen(printed, reference)
    facts = read_facts(printed.facts, seen.notes if base is None else None)
    if now is None:
        now = datetime.fromtimestamp(moment_of(seen.jobs, reference), reference.tzinfo)
    told = base
    seen.limits, seen.uses = facts.limit_rows, facts.uses
    if facts.any and base is None:
        seen.machines = facts.machines
        hosts = (h.name for h in seen.hosts or ())
        queues = {*(q.name for q in seen.queues or ()), *(job.queue for job in seen.jobs)}
        facts.tell_unknown_groups({job.user for job in seen.jobs}, seen.notes)
        told = facts.site(hosts, now.isoformat(), seen.notes, queues)
    elif facts.of_files.any:
        seen.notes.append(
            "the output of bparams, bugroup and similar commands is ignored: the site is used"
        )
    if told is not None and facts.job_groups:  # which no file of a site has
        told = replace(told, job_groups=facts.job_groups)
    made, family = assemble(seen, now, told), lava_family(printed.lsid)
    before = len(made.notes.omissions)
    made = _with_rows(made, facts, without_site=base is None)
    if not printed.lsid and base is None:
        texts = (*printed.bqueues, *printed.bjobs, *printed.facts)
        family, words = family_of_words(text.content for text in texts)
        if family:
            print_note(f"inferred: the scheduler is {family}, which prints {words!r} (give lsid)")
    made = with_family(made, family, rusage or _counting(made, family))
    sharing = (*(seen.queues or ()), *(seen.partitions or ()))
    accounts = [account for item in sharing for account in item.accounts]
    notes = made.notes
    omissions = (*made.instance.omissions, *notes.omissions[before:])
    instance = replace(made.instance, omissions=omissions)
    if accounts:
        shares = PrintedShares(instance, accounts)
        instance = shares.instance_with_usage(infer=base is None)
        notes += shares.notes
        print_notes([f"differs: {text}" for text in shares.differences()])
    print_notes(notes)
    return _balanced(instance, made.seen) if printed.bjobs else instance


def _site(path: Path) -> Instance:
    """Return the site of an instance file, or of a directory of LSF's own files."""
    if not path.is_dir():
        return read_source(path)
    from ..model.formats.lsf import site_document

    found = site_document(path, present=datetime.now().astimezone())
    instance, warnings = found.instance()
    print_note(*(f"note: {note}" for note in (*found.notes, *warnings)))
    return instance


def _with_rows(made: Assembled, facts: SiteFacts, *, without_site: bool) -> Assembled:
    """Return the assembled instance with absolute priorities, limits of blimits, processor units
    and advance reservations.
    """
    from ..model.sources.lsf_state.bqueues import with_absolute
    from ..model.sources.lsf_state.facts import with_units
    from ..model.sources.lsf_state.limits import tell_others
    from ..model.sources.lsf_state.reservations import with_reservations

    if facts.absolute:
        known = with_absolute(made.instance, facts.absolute, made.notes)
        made = replace(made, instance=known, seen=replace(made.seen, absolute=facts.absolute))
    instance = made.instance
    if without_site and not facts.limits:
        tell_others(instance, facts.limit_rows, made.notes)
    if facts.units:
        instance = with_units(instance, facts.units, facts.units_without_use, made.notes)
    if facts.reservations:
        instance = with_reservations(instance, facts.reservations, made.notes)
    return replace(made, instance=instance)


def _counting(made: Assembled, family: str) -> str:
    """Return what rusage[] counts for, by the reserved amounts; "" if they leave it open."""
    from ..solver.plausibility.consistency import counted_as_reserved

    counted, why = counted_as_reserved(made.instance, made.seen) if made.seen.jobs else ("", "")
    if why and (family or made.instance.params.reserve_per_slot != (counted == "slot")):
        print_note(f"inferred: {why}")
    return counted


def _balanced(instance: Instance, seen: Seen) -> Instance:
    """Return the instance with the contradictions of the listings; print the balance on stderr."""
    from ..solver.plausibility.consistency import check_consistency

    balance = check_consistency(instance, seen)
    print_note(*(f"{BALANCE}{line}" for line in balance.lines))
    return with_contradictions(instance, balance.contradictions)


def with_contradictions(instance: Instance, found: Sequence[Omission]) -> Instance:
    """Return the instance with contradictions of its listings, each a note on stderr."""
    from ..model.sources.lsf_state.values import fit_to_write

    print_notes([f"contradicts itself: {item.text()}" for item in found])
    return replace(instance, omissions=fit_to_write((*instance.omissions, *found)))


@bounded("what LSF printed")
def _seen(printed: Printed, reference: datetime) -> Seen:
    """Return the facts of the texts; raise InputError with all their faults."""
    from ..model.sources.lsf_state.bhosts import (
        is_of_gpus,
        is_of_shared,
        read_bhosts,
        read_gpus,
        read_shared,
    )
    from ..model.sources.lsf_state.bjobs import is_of_arrays, read_bjobs, with_array_limits
    from ..model.sources.lsf_state.bqueues import read_bhpart, read_bqueues
    from ..model.sources.lsf_state.seen import Seen
    from ..model.sources.lsf_state.shorter_forms import with_shorter_forms
    from ..model.sources.lsf_state.values import PrintedTimes, Remarks

    problems: list[Problem] = []

    def read(reader: Callable[[Text, Remarks], list[T]], texts: Sequence[Text]) -> list[T] | None:
        found: list[T] = []
        for text in texts:
            try:
                found += reader(text, notes)
            except InputError as error:
                problems.extend(error.problems)
        return found if texts else None

    calendar = PrintedTimes(reference)
    notes = Remarks()
    notes.omissions += map(Omission, printed.unread)  # printed with the ignored files
    arrays = [text for text in printed.bjobs if is_of_arrays(text)]
    listings = [text for text in printed.bjobs if text not in arrays] or arrays
    jobs = read(lambda text, notes: read_bjobs(text, calendar, notes), listings) or []
    jobs = with_array_limits(jobs, arrays)
    _tell_other_times(jobs, notes)
    gpus = [text for text in printed.bhosts if is_of_gpus(text)]
    shared = [text for text in printed.bhosts if is_of_shared(text)]
    hosts = read(read_bhosts, [text for text in printed.bhosts if text not in (*gpus, *shared)])
    queues = read(read_bqueues, printed.bqueues)
    partitions = read(read_bhpart, printed.bhpart)
    listed, pools = read(read_gpus, gpus) or [], read(read_shared, shared) or []
    if problems:
        raise InputError(problems)
    # If several files name one thing, the last file counts; the long form of a queue says more.
    seen = Seen(
        list({job.id: job for job in jobs}.values()),
        hosts=None if hosts is None else list({host.name: host for host in hosts}.values()),
        queues=None
        if queues is None
        else list({q.name: q for q in sorted(queues, key=lambda q: q.long)}.values()),
        partitions=partitions,
        gpus=listed,
        shared=pools,
        notes=notes,
    )
    return with_shorter_forms(seen, printed.shorter, calendar)


def _tell_other_times(jobs: Sequence[SeenJob], notes: Remarks) -> None:
    """Print the jobs that several files list in different states, as from different times."""
    states: dict[str, str] = {}
    for job in jobs:
        before = states.setdefault(job.id, job.status)
        if before != job.status:
            notes.touch(
                f"job {job.id} is {before} in one file and {job.status} in another: the files "
                f"were written at different times, and the last one counts"
            )
            return


def print_notes(texts: Sequence[str]) -> None:
    """Print the first notes on stderr, and the number of further notes."""
    print_note(*texts[:MAX_NOTES])
    if len(texts) > MAX_NOTES:
        print_note(f"and {len(texts) - MAX_NOTES} more notes")


def _file_text(path: Path) -> str:
    """Return the output of lsid; raise InputError if the file is unreadable or has other
    content.
    """
    from ..model.formats.reading import file_bytes

    text = file_bytes(path).decode("utf-8", errors="replace")
    check_lsid(text, str(path))
    return text


def check_lsid(text: str, source: str) -> None:
    """Raise InputError for a text that is not the output of lsid."""
    from ..model.formats.reading import kind_of_text

    named = any(word in text for word in ("LSF", "Lava", "lava", "My cluster name"))
    if (kind_of_text(text) or "lsid") != "lsid" or not named:
        wrong = "is not the output of lsid: no line has the name LSF or the cluster's name"
        raise InputError([Problem(wrong, source)])


def parse_now(text: str) -> datetime:
    from ..model.formats.units import parse_stamp

    try:
        return parse_stamp(text)
    except ValueError as error:
        raise InputError(f"--now: {error}") from None


def _age(paths: Sequence[Path]) -> datetime:
    """Return when the newest of the files was written: it gives printed times their year."""
    written = [path.stat().st_mtime for path in paths if path.exists()]
    moment = datetime.fromtimestamp(int(max(written)), UTC) if written else None
    return moment or datetime.now(UTC).replace(microsecond=0)
