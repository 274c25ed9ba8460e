"""``slotwise import snapshot`` and ``slotwise snapshot``: what an LSF cluster does now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from .options import Rusage, tell
from .output import Notation, Output, keep_inputs, write_instance
from .paths import file_option
from .stdin_file import from_stdin

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.lsf_state.assemble import Seen
    from ..model.lsf_state.records import Text

T = TypeVar("T")

Site = Annotated[
    Path | None,
    file_option("--site", help="Instance with the site's configuration: resources, users, limits."),
]
#: Notes of one kind that are spelled out.
MOST_NOTES = 10


Bjobs = Annotated[
    list[Path] | None,
    file_option(
        "--bjobs",
        help="bjobs -u all -json -o '…', or bjobs -u all -l or -UF.",
        callback=from_stdin,
    ),
]
Bhosts = Annotated[
    list[Path] | None,
    file_option(
        "--bhosts",
        help="bhosts -json -o '…', bhosts -l or bhosts; bhosts -gpu -l beside it.",
        callback=from_stdin,
    ),
]
Bqueues = Annotated[
    list[Path] | None,
    file_option(
        "--bqueues", help="bqueues -l or -r, bqueues -json or bqueues.", callback=from_stdin
    ),
]
Bhpart = Annotated[
    list[Path] | None, file_option("--bhpart", help="bhpart -r.", callback=from_stdin)
]
Lsid = Annotated[
    Path | None,
    file_option("--lsid", help="lsid: the name of the scheduler (OpenLava …)."),
]
PrintedAt = Annotated[
    str | None,
    typer.Option(
        "--now",
        help="When the commands ran, ISO 8601 with zone. Default: as the jobs tell, in UTC.",
        metavar="STAMP",
    ),
]


def snapshot_files(
    bjobs: Bjobs = None,
    bhosts: Bhosts = None,
    bqueues: Bqueues = None,
    bhpart: Bhpart = None,
    lsid: Lsid = None,
    site: Site = None,
    rusage: Rusage = None,
    now: PrintedAt = None,
    output: Output = None,
    format: Notation = None,
) -> None:
    """Turn the output of bjobs, bhosts, bqueues and bhpart into an instance.

    Each file is JSON or text, as the command has printed it; an option may be repeated. Printed
    priorities are checked against the formula, and what differs is told.

    Exit codes: 0 done, 2 bad input.
    """
    files = [path for paths in (bjobs, bhosts, bqueues, bhpart) for path in paths or ()]
    keep_inputs(output, files if lsid is None else [*files, lsid])
    made = listed_instance(
        bjobs, bhosts, bqueues, bhpart, lsid, site=site, rusage=rusage or "", now=now
    )
    write_instance(made, output, format)


def listed_instance(
    bjobs: list[Path] | None,
    bhosts: list[Path] | None,
    bqueues: list[Path] | None,
    bhpart: list[Path] | None,
    lsid: Path | None,
    *,
    site: Path | Instance | None,
    rusage: str | None,
    now: str | None,
) -> Instance:
    """The instance of the files that these options name; notes and differences go to stderr.

    Raises InputError with everything that is wrong with them.
    """
    from ..model.errors import InputError

    given = Printed(
        _read(bjobs, "bjobs"), _read(bhosts, "bhosts"), _read(bqueues, "bqueues"),
        _read(bhpart, "bhpart"), "" if lsid is None else _file_text(lsid),
    )  # fmt: skip
    if not given.any:
        raise InputError("give what was printed: --bjobs, --bhosts, --bqueues, --bhpart")
    moment = None if now is None else _stamp(now)
    reference = moment or _age([*(bjobs or ()), *(bhosts or ()), *(bqueues or ())])
    return make_instance(given, reference, moment, site, rusage or "")


@dataclass(frozen=True, slots=True)
class Printed:
    """The texts of each command. lsid: what it printed, "" where nobody asked it."""

    bjobs: Sequence[Text] = ()
    bhosts: Sequence[Text] = ()
    bqueues: Sequence[Text] = ()
    bhpart: Sequence[Text] = ()
    lsid: str = ""

    @property
    def any(self) -> bool:
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
    from ..model.formats.sniff import lava_family
    from ..model.lsf_state.assemble import assemble, moment_of, with_rusage
    from ..solver.fairshare.printed import PrintedShares
    from .options import read_source

    base = read_source(site) if isinstance(site, Path) else site
    seen = _seen(printed, reference)
    if now is None:
        zone = reference.tzinfo
        now = datetime.fromtimestamp(moment_of(seen.jobs, reference), zone)
    made = with_rusage(assemble(seen, now, base), lava_family(printed.lsid), rusage)
    accounts = [account for queue in seen.queues or () for account in queue.accounts]
    accounts += [account for item in seen.partitions or () for account in item.accounts]
    instance, notes = made.instance, made.notes
    if accounts:
        shares = PrintedShares(instance, accounts)
        instance = shares.instance_with_usage(infer=base is None)
        notes += shares.notes
        tell_some([f"differs: {text}" for text in shares.differences()])
    tell_some(notes)
    return _balanced(instance, made.seen) if printed.bjobs else instance


def _balanced(instance: Instance, seen: Seen) -> Instance:
    """The instance with what contradicts itself in what was printed; the balance goes to stderr."""
    from ..solver.plausibility import balance_of

    balance = balance_of(instance, seen)
    for line in balance.lines:
        tell(f"balance: {line}")
    tell_some([f"contradicts itself: {item.text()}" for item in balance.contradictions])
    return replace(instance, omissions=(*instance.omissions, *balance.contradictions))


def _seen(printed: Printed, reference: datetime) -> Seen:
    """What the texts say; InputError with all that is wrong with them."""
    from ..model.errors import InputError, Problem
    from ..model.lsf_state.assemble import Seen
    from ..model.lsf_state.bhosts import read_bhosts
    from ..model.lsf_state.bjobs import read_bjobs
    from ..model.lsf_state.bqueues import read_bqueues
    from ..model.lsf_state.gpus import is_of_gpus, read_gpus
    from ..model.lsf_state.remarks import Remarks
    from ..model.lsf_state.share_tables import read_bhpart
    from ..model.lsf_state.values import PrintedTimes

    problems: list[Problem] = []

    def read(reader: Callable[[Text], list[T]], texts: Sequence[Text]) -> list[T] | None:
        found: list[T] = []
        for text in texts:
            try:
                found += reader(text)
            except InputError as error:
                problems.extend(error.problems)
        return found if texts else None

    calendar = PrintedTimes(reference)
    notes = Remarks()
    jobs = read(lambda text: read_bjobs(text, calendar, notes), printed.bjobs) or []
    gpus = [text for text in printed.bhosts if is_of_gpus(text)]
    hosts = read(read_bhosts, [text for text in printed.bhosts if text not in gpus])
    queues = read(read_bqueues, printed.bqueues)
    partitions = read(read_bhpart, printed.bhpart)
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
        gpus=read(read_gpus, gpus) or [],
        notes=notes,
    )


def tell_some(texts: Sequence[str], most: int = MOST_NOTES) -> None:
    """Notes on stderr, the first few and how many more there are."""
    for text in texts[:most]:
        tell(text)
    if len(texts) > most:
        tell(f"and {len(texts) - most} more notes")


def _read(paths: list[Path] | None, kind: str) -> list[Text]:
    from ..model.lsf_state.records import read_text

    return [read_text(path, kind) for path in paths or ()]


def _file_text(path: Path) -> str:
    """What lsid printed; InputError where it cannot be read, or is something else."""
    from ..model.errors import InputError, Problem
    from ..model.formats.sniff import kind_of_text
    from ..model.formats.source_text import file_bytes

    text = file_bytes(path).decode("utf-8", errors="replace")
    named = any(word in text for word in ("LSF", "Lava", "lava", "My cluster name"))
    if (kind_of_text(text) or "lsid") != "lsid" or not named:
        raise InputError([Problem("is not the output of lsid", str(path))])
    return text


def _stamp(text: str) -> datetime:
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
