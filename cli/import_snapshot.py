"""``slotwise import snapshot`` and ``slotwise snapshot``: what an LSF cluster does now."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Annotated, TypeVar

from ..model.sources.lsf_state.printed_facts import asked_columns
from .declare import command, option, taking, values_of
from .options import RUSAGE_HELP, Rusage, from_stdin, print_note
from .output import Written, keep_inputs

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.sources.lsf_state.assemble import Assembled
    from ..model.sources.lsf_state.bjobs import SeenJob
    from ..model.sources.lsf_state.facts import SiteFacts
    from ..model.sources.lsf_state.seen import Seen
    from ..model.sources.lsf_state.values import Remarks, Text


T = TypeVar("T")

#: Notes of one kind that are spelled out.
MAX_NOTES = 10
SITE_HELP = "Instance with the site's configuration: resources, users, limits."
SITE = option(None, SITE_HELP)
FACTS = (
    *("bparams", "bugroup", "bmgroup", "busers", "lshosts", "blimits", "bjgroup", "brsvs", "aps"),
)
#: What the text of an option is, if it is not called so.
_KIND_OF = {"aps": "bjobs -aps"}


@dataclass(frozen=True, slots=True)
class Listings:
    """Files with what LSF's commands have printed, and how they are read."""

    bjobs: tuple[Path, ...] = option(
        (), "bjobs -u all -json -o '…', or bjobs -u all -l or -UF.", callback=from_stdin
    )
    bhosts: tuple[Path, ...] = option(
        (),
        "bhosts -json -o '…', bhosts -l or bhosts; bhosts -gpu -l and bhosts -s beside it.",
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
    aps: Path | None = option(None, "bjobs -u all -aps: absolute priorities.")
    folder: Path | None = option(
        None, "Folder with what these commands printed, in files of any name.", "--from"
    )
    site: Path | None = option(None, SITE_HELP)
    rusage: Rusage | None = option(None, RUSAGE_HELP)
    now: str | None = option(
        None,
        "When the commands ran, ISO 8601 with zone. Default: from the jobs, in UTC.",
        metavar="STAMP",
    )

    @property
    def any_listing(self) -> bool:
        """Whether there is a listing of jobs, hosts, queues or partitions."""
        return bool(self.bjobs or self.bhosts or self.bqueues or self.bhpart)

    @property
    def facts(self) -> dict[str, Path]:
        """Files about the configuration, by the command that printed them."""
        given = values_of(self, *FACTS)
        return {name: path for name, path in given.items() if path is not None}

    @property
    def files(self) -> list[Path]:
        """All that are named, but for those of the folder."""
        listed = (*self.bjobs, *self.bhosts, *self.bqueues, *self.bhpart)
        return [*listed, *self.facts.values(), *(() if self.lsid is None else (self.lsid,))]

    def instance(self, site: Path | Instance | None) -> Instance:
        """The instance of the files; notes and differences go to stderr.

        Raises InputError with everything that is wrong with them.
        """
        from ..model.errors import InputError
        from ..model.sources.lsf_state.folder import printed_in
        from ..model.sources.lsf_state.values import read_text

        there = {} if self.folder is None else printed_in(self.folder)
        lsids = [text.content for text in there.pop("lsid", ())]
        given = Printed(
            [*there.pop("bjobs", ()), *_read(self.bjobs, "bjobs")],
            [*there.pop("bhosts", ()), *_read(self.bhosts, "bhosts")],
            [*there.pop("bqueues", ()), *_read(self.bqueues, "bqueues")],
            [*there.pop("bhpart", ()), *_read(self.bhpart, "bhpart")],
            _file_text(self.lsid) if self.lsid is not None else "".join(lsids[:1]),
            [
                *there.pop("facts", ()),
                *(read_text(p, _KIND_OF.get(kind, kind)) for kind, p in self.facts.items()),
            ],
        )
        if not given.has_any:
            raise InputError("give what was printed: --bjobs, --bhosts, --bqueues, --bhpart")
        moment = None if self.now is None else parse_now(self.now)
        dated = [Path(text.source) for text in (*given.bjobs, *given.bhosts, *given.bqueues)]
        return make_instance(given, moment or _age(dated), moment, site, self.rusage or "")


@command
def snapshot_files(listings: Listings, written: Written) -> None:
    """Turn the output of bjobs, bhosts, bqueues and the like into an instance.

    Each file is JSON or text, as the command has printed it; an option may be repeated. Printed
    priorities are checked against the formula, and what differs is reported.

    Exit codes: 0 done, 2 bad input.
    """
    keep_inputs(written.output, listings.files)
    written.write(listings.instance(listings.site))


@dataclass(frozen=True, slots=True)
class Printed:
    """The texts of each command."""

    bjobs: Sequence[Text] = ()
    bhosts: Sequence[Text] = ()
    bqueues: Sequence[Text] = ()
    bhpart: Sequence[Text] = ()
    #: What it printed, "" where nobody asked it.
    lsid: str = ""
    #: Of the commands that tell of the configuration.
    facts: Sequence[Text] = ()

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
    """The instance of what was printed; notes and differences go to stderr.

    reference: about when it was printed. now: exactly when, None for what the jobs tell. site: the
    configuration. rusage: "slot" or "host", what rusage[mem] counts for, "" for what the site or
    lsid says.
    Raises InputError with everything that is wrong with the texts.
    """
    from ..model.formats.sniff import family_of_words, lava_family
    from ..model.sources.lsf_state.absolute import with_absolute
    from ..model.sources.lsf_state.assemble import assemble, moment_of, with_family
    from ..model.sources.lsf_state.facts import read_facts
    from ..solver.fairshare.reports import PrintedShares
    from .options import read_source

    base = read_source(site) if isinstance(site, Path) else site
    seen = _seen(printed, reference)
    facts = read_facts(printed.facts, seen.notes if base is None else None)
    if now is None:
        zone = reference.tzinfo
        now = datetime.fromtimestamp(moment_of(seen.jobs, reference), zone)
    told = base
    seen.limits = facts.limit_rows
    if facts.any and base is None:
        seen.machines = facts.machines
        told = facts.site((h.name for h in seen.hosts or ()), now.isoformat(), seen.notes)
    elif replace(facts, job_groups=(), reservations=(), absolute={}).any:
        seen.notes.append("what bparams, bugroup and the like say is passed over: there is a site")
    if told is not None and facts.job_groups:  # which no file of a site has
        told = replace(told, job_groups=facts.job_groups)
    made, family = assemble(seen, now, told), lava_family(printed.lsid)
    if facts.absolute:
        known = with_absolute(made.instance, facts.absolute, made.notes)
        made = replace(made, instance=known, seen=replace(made.seen, absolute=facts.absolute))
    made = _with_rows(made, facts, without_site=base is None)
    if not printed.lsid and base is None:
        listings = (*printed.bqueues, *printed.bjobs, *printed.facts)
        family, words = family_of_words(text.content for text in listings)
        if family:
            print_note(f"inferred: the scheduler is {family}, which prints {words!r} (give lsid)")
    made = with_family(made, family, rusage or _counting(made, family))
    accounts = [account for queue in seen.queues or () for account in queue.accounts]
    accounts += [account for item in seen.partitions or () for account in item.accounts]
    instance, notes = made.instance, made.notes
    if accounts:
        shares = PrintedShares(instance, accounts)
        instance = shares.instance_with_usage(infer=base is None)
        notes += shares.notes
        print_notes([f"differs: {text}" for text in shares.differences()])
    print_notes(notes)
    return _balanced(instance, made.seen) if printed.bjobs else instance


def _with_rows(made: Assembled, facts: SiteFacts, *, without_site: bool) -> Assembled:
    """With what rows of blimits leave open, and with advance reservations."""
    from ..model.sources.lsf_state.limits import tell_others
    from ..model.sources.lsf_state.reservations import with_reservations

    instance = made.instance
    if without_site and not facts.limits:
        instance = tell_others(instance, facts.limit_rows, made.notes)
    if facts.reservations:
        instance = with_reservations(instance, facts.reservations, made.notes)
    return replace(made, instance=instance)


def _counting(made: Assembled, family: str) -> str:
    """What rusage[] counts for by the amounts that are reserved, "" where they do not tell."""
    from ..solver.plausibility import counted_as_reserved

    counted, why = counted_as_reserved(made.instance, made.seen) if made.seen.jobs else ("", "")
    if why and (family or made.instance.params.reserve_per_slot != (counted == "slot")):
        print_note(f"inferred: {why}")
    return counted


def _balanced(instance: Instance, seen: Seen) -> Instance:
    """The instance with what contradicts itself in what was printed; the balance goes to stderr."""
    from ..solver.plausibility import check_consistency

    balance = check_consistency(instance, seen)
    for line in balance.lines:
        print_note(f"balance: {line}")
    print_notes([f"contradicts itself: {item.text()}" for item in balance.contradictions])
    return replace(instance, omissions=(*instance.omissions, *balance.contradictions))


def _seen(printed: Printed, reference: datetime) -> Seen:
    """What the texts say; InputError with all that is wrong with them."""
    from ..model.errors import InputError, Problem
    from ..model.sources.lsf_state.bjobs import read_bjobs
    from ..model.sources.lsf_state.bqueues import read_bhosts, read_bhpart, read_bqueues
    from ..model.sources.lsf_state.consumables import is_of_shared, read_shared
    from ..model.sources.lsf_state.gpus import is_of_gpus, read_gpus
    from ..model.sources.lsf_state.seen import Seen
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
    jobs = read(lambda text, notes: read_bjobs(text, calendar, notes), printed.bjobs) or []
    _tell_other_times(jobs, notes)
    gpus = [text for text in printed.bhosts if is_of_gpus(text)]
    shared = [text for text in printed.bhosts if is_of_shared(text)]
    hosts = read(read_bhosts, [text for text in printed.bhosts if text not in (*gpus, *shared)])
    queues = read(read_bqueues, printed.bqueues)
    partitions = read(read_bhpart, printed.bhpart)
    listed, pools = read(read_gpus, gpus) or [], read(read_shared, shared) or []
    if problems:
        raise InputError(problems)
    # Of what several files name, the last one counts; of queues the long form, which says more.
    return Seen(
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


def _tell_other_times(jobs: Sequence[SeenJob], notes: Remarks) -> None:
    """Jobs that several files list in different states, as those of different times do."""
    states: dict[str, str] = {}
    for job in jobs:
        before = states.setdefault(job.id, job.status)
        if before != job.status:
            notes.touch(
                f"one file says that job {job.id} is {before}, another {job.status}: they are of "
                "different times, and the last one counts"
            )
            return


def print_notes(texts: Sequence[str], most: int = MAX_NOTES) -> None:
    """Notes on stderr, the first few and how many more there are."""
    for text in texts[:most]:
        print_note(text)
    if len(texts) > most:
        print_note(f"and {len(texts) - most} more notes")


def _read(paths: Sequence[Path], kind: str) -> list[Text]:
    from ..model.sources.lsf_state.values import read_text

    return [read_text(path, kind) for path in paths]


def _file_text(path: Path) -> str:
    """What lsid printed; InputError where it cannot be read, or is something else."""
    from ..model.errors import InputError, Problem
    from ..model.formats.reading import file_bytes
    from ..model.formats.sniff import kind_of_text

    text = file_bytes(path).decode("utf-8", errors="replace")
    named = any(word in text for word in ("LSF", "Lava", "lava", "My cluster name"))
    if (kind_of_text(text) or "lsid") != "lsid" or not named:
        raise InputError([Problem("is not the output of lsid", str(path))])
    return text


def parse_now(text: str) -> datetime:
    from ..model.errors import InputError
    from ..model.formats.units import parse_stamp

    try:
        return parse_stamp(text)
    except ValueError as error:
        raise InputError(f"--now: {error}") from None


def _age(paths: Sequence[Path]) -> datetime:
    """When the newest of the files was written: it gives printed times their year."""
    written = [path.stat().st_mtime for path in paths if path.exists()]
    moment = datetime.fromtimestamp(int(max(written)), UTC) if written else None
    return moment or datetime.now(UTC).replace(microsecond=0)


#: Fields of bjobs -o that an instance needs.
FIELDS = (
    "jobid jobindex stat user user_group queue proj_name application job_priority nreq_slot "
    "min_req_proc max_req_proc combined_resreq effective_resreq submit_time start_time finish_time "
    "specified_start_time specified_terminate_time run_time runtimelimit cpu_used alloc_slot "
    "nalloc_slot exec_host pend_reason"
)
#: Those that not every version knows.
MORE_FIELDS = "ask_hosts dependency estimated_start_time job_name"
#: Those of versions that know GPUs.
GPU_FIELDS = "gpu_num gpu_mode j_exclusive gpu_alloc"
#: And those of newer ones.
NEW_FIELDS = "exclusive rsvid job_group estimated_run_time from_host"
#: Every column that the table of printed facts has.
ALL_FIELDS = " ".join(asked_columns())
COMMANDS = {
    "bjobs": (
        ("bjobs", "-u", "all", "-json", "-o", ALL_FIELDS),
        ("bjobs", "-u", "all", "-json", "-o", f"{FIELDS} {MORE_FIELDS} {GPU_FIELDS} {NEW_FIELDS}"),
        ("bjobs", "-u", "all", "-json", "-o", f"{FIELDS} {MORE_FIELDS} {GPU_FIELDS}"),
        ("bjobs", "-u", "all", "-json", "-o", f"{FIELDS} {MORE_FIELDS}"),
        ("bjobs", "-u", "all", "-json", "-o", FIELDS),
        ("bjobs", "-u", "all", "-UF"),
    ),
    "bhosts": (("bhosts", "-l"),),
    "gpus": (("bhosts", "-gpu", "-l"), ("bhosts", "-gpu", "-w"), ("lshosts", "-gpu", "-w")),
    "bqueues": (("bqueues", "-r"), ("bqueues", "-l")),
    "bhpart": (("bhpart", "-r"),),
    "shared": (("bhosts", "-s"),),
    "bparams": (("bparams", "-a"), ("bparams", "-l"), ("bparams",)),
    "bugroup": (("bugroup", "-l"), ("bugroup", "-w"), ("bugroup",)),
    "bmgroup": (("bmgroup", "-r", "-w"), ("bmgroup", "-r"), ("bmgroup",)),
    "busers": (("busers", "-w", "all"), ("busers", "all")),
    "lshosts": (("lshosts", "-w"),),
    "limits": (("blimits", "-c"), ("bresources",)),
    "blimits": (("blimits", "-a", "-w"), ("blimits", "-w"), ("blimits",)),
    "bjgroup": (("bjgroup",),),
    "brsvs": (("brsvs", "-l"), ("brsvs", "-w"), ("brsvs",)),
    "aps": (("bjobs", "-u", "all", "-aps"),),
    "lsid": (("lsid",),),
}
NEEDED = ("bjobs", "bhosts", "bqueues")
#: Seconds to wait for each of the others at the most.
OPTIONAL_TIMEOUT = 30.0


@command
def snapshot(
    how: Annotated[Listings, taking("site rusage")],
    *,
    timeout: float = option(120.0, "Seconds to wait for each command.", min=1.0),
    written: Written,
) -> None:
    """Make an instance of the LSF cluster of this machine, as it is now.

    Runs bjobs, bhosts, bqueues and, where they are there, bhpart, lsid, bparams, bugroup, bmgroup,
    busers, lshosts, blimits, bjgroup, brsvs and bjobs -aps; `slotwise import snapshot` takes what
    they printed on another machine.

    Exit codes: 0 done, 2 a command is missing or its output makes no instance.
    """
    from ..model.errors import InputError, Problem
    from ..model.sources.lsf_state.consumables import is_of_shared
    from ..model.sources.lsf_state.gpus import is_of_gpus
    from ..solver.processes import path_of

    programs = {words[0]: None for forms in COMMANDS.values() for words in forms}
    found = {name: path for name in programs if (path := path_of(name)) is not None}
    missing = [name for name in NEEDED if name not in found]
    if missing:
        raise InputError(
            [Problem(
                "is not on the PATH: set LSF's environment (profile.lsf), or run the commands "
                "where they are and take `slotwise import snapshot`", name
            ) for name in missing]
        )  # fmt: skip
    now = datetime.now().astimezone().replace(microsecond=0)
    texts = {name: _asked(name, found, timeout) for name in COMMANDS}
    lsid, gpus, shared = (texts.pop(name, None) for name in ("lsid", "gpus", "shared"))
    names = (*FACTS, "limits")
    facts = [text for name in names if (text := texts.pop(name, None)) is not None]
    given = {name: [text] for name, text in texts.items() if text is not None}
    if gpus is not None and is_of_gpus(gpus):
        given["bhosts"].append(gpus)
    if shared is not None and is_of_shared(shared):
        given["bhosts"].append(shared)
    name = "" if lsid is None else lsid.content
    printed = Printed(**given, lsid=name, facts=[text for text in facts if _is_read(text)])
    written.write(make_instance(printed, now, now, how.site, how.rusage or ""))


def _asked(name: str, programs: Mapping[str, str], timeout: float) -> Text | None:
    """What a command prints; one that is not needed and fails is told, and passed over."""
    from ..model.errors import InputError

    if name in NEEDED:
        return _run(name, programs, timeout)
    try:
        return _run(name, programs, min(timeout, OPTIONAL_TIMEOUT))
    except InputError as error:
        print_notes([f"{problem}: passed over" for problem in error.problems])
        return None


def _is_read(text: Text) -> bool:
    """Whether what tells of the configuration can be read; else it is told, and passed over."""
    from ..model.errors import InputError
    from ..model.sources.lsf_state.facts import read_facts

    try:
        read_facts([text])
    except InputError as error:
        print_notes([f"{problem}: passed over" for problem in error.problems])
        return False
    return True


#: What LSF's commands find of the environment: these and the variables of LSF and EGO.
_KEPT = (
    *("PATH", "HOME", "USER", "LOGNAME", "TZ", "TMPDIR", "KRB5CCNAME"),
    *("LD_LIBRARY_PATH", "LIBPATH", "SHLIB_PATH"),
)
_OF_LSF = ("LSF_", "LSB_", "XLSF_", "EGO_")


def _environment() -> dict[str, str]:
    """Of LSF's commands: small, with years in the times they print, where this LSF can."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(_OF_LSF)
    }
    return {**kept, "LSB_DISPLAY_YEAR": "Y", "LC_ALL": "C"}


def _run(name: str, programs: Mapping[str, str], timeout: float) -> Text | None:
    """What a command prints, by the first of its forms that works; None where there is nothing.

    programs: the absolute paths of those that are there.
    """
    from ..model.errors import InputError, Problem
    from ..model.input_limits import limits
    from ..model.sources.lsf_state.values import Text
    from ..solver.processes import TooMuchOutput, run_program

    reason, most, environment = "", limits().text, _environment()
    for program, *words in COMMANDS[name]:
        if program not in programs:
            continue
        line = " ".join([program, *words[:3]]) + (" …" if len(words) > 3 else "")
        try:
            done = run_program(
                programs[program], words, timeout=timeout, environment=environment, most=most
            )
        except TimeoutExpired:
            raise InputError([Problem(f"gave no answer in {timeout:g} s", f"`{line}`")]) from None
        except TooMuchOutput:
            wrong = f"printed more than {most:,} bytes (--max-text)"
            raise InputError([Problem(wrong, f"`{line}`")]) from None
        content = done.output.decode("utf-8", errors="replace")
        errors = done.errors.decode("utf-8", errors="replace").strip()
        if done.code == 0 and content.strip():
            return Text(content, f"`{line}`")
        if errors.startswith("No ") or (done.code == 0 and not errors):
            return None
        reason = errors.splitlines()[0] if errors else f"exit code {done.code}"
    if name not in NEEDED:
        return None
    raise InputError([Problem(f"failed: {reason}", f"`{line}`")])
