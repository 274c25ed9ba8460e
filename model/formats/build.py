"""Conversion of a well-formed document to an Instance, with all inconsistencies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from ..configuration import (
    CONSUMERS,
    HostPartition,
    Limit,
    Params,
    Queue,
    ReservationUsage,
    UserGroup,
    usual_queue,
)
from ..facts import known_fields
from ..input_limits import counting, limits
from ..instance import (
    AdvanceReservation,
    BorrowedSlots,
    Instance,
)
from ..omissions import SCOPE, Omission
from . import document as d
from .fields import Percent, given
from .finding import Finding, Location
from .hosts import HostBuilder
from .jobs import EntryColumns, JobBuilder
from .rules import in_wall_clock, rule_findings
from .units import Clock

if TYPE_CHECKING:
    from pydantic import ValidationError

T = TypeVar("T")


def build(
    document: d.Document, columns: Mapping[str, EntryColumns] | None = None
) -> tuple[Instance, list[Finding]]:
    """Return the instance and all findings; it is complete only if there are no errors.

    columns: jobs of sections that the document lacks.
    """
    apart = columns or {}
    findings: list[Finding] = []
    clock, origin = _clock(document)
    hosts = HostBuilder(document, findings)
    cluster = hosts.cluster()
    unit = cluster.default_unit_type or ""
    queues = tuple(_queue(item, unit) for item in document.queues) or Instance(cluster).queues
    made: dict[str, Any] = {
        section: _objects(kind, section, getattr(document, section), clock, findings)
        for section, kind in d.FACT_SECTIONS.items()
    }
    params = _params(document.params, queues)
    if document.dialect is not None:
        if "dialect" in document.params.model_fields_set and params.dialect != document.dialect:
            findings.append(Finding(("dialect",), f"params say {params.dialect}: keep one of them"))
        params = replace(params, dialect=document.dialect)
    jobs = JobBuilder(queues, made["applications"], params, clock, findings)
    instance = Instance(
        cluster=cluster,
        queues=queues,
        running=jobs.running(apart.get("running", document.running)),
        pending=jobs.waiting("pending", apart.get("pending", document.pending)),
        future=jobs.waiting("future", apart.get("future", document.future)),
        groups=tuple(map(_user_group, document.user_groups)),
        partitions=tuple(
            HostPartition(
                e.name, hosts.home(("host_partitions", i, "HOSTS"), e.hosts), e.user_shares
            )
            for i, e in enumerate(document.host_partitions)
        ),
        limits=tuple(limit_of(entry, i, findings) for i, entry in enumerate(document.limits)),
        reservation_usage=_methods(document),
        advance_reservations=_reservations(document, clock, findings),
        borrowed=tuple(BorrowedSlots(**given(BorrowedSlots, e)) for e in document.borrowed),
        omissions=tuple(map(omission_of, document.omissions)),
        params=params,
        now=clock.now,
        origin=origin,
        name=document.name,
        description=document.description,
        **made,
    )
    instance = jobs.counted(in_wall_clock(instance, later := []))
    later += [hosts.in_document(finding) for finding in rule_findings(instance)]
    findings += jobs.in_entries(instance, later)
    return instance, [_in_line(document, finding) for finding in findings]


def _methods(document: d.Document) -> tuple[ReservationUsage, ...]:
    """Return the units of rusage amounts; PER_TASK is PER_SLOT of LSF 10.1."""
    return tuple(
        ReservationUsage(name, "PER_SLOT" if method == "PER_TASK" else method)
        for name, method in document.reservation_usage.items()
    )


def _in_line(document: d.Document, finding: Finding) -> Finding:
    """Return a finding about a job's field, placed in the bsub line or script that gave it."""
    sections: dict[str, Sequence[d.JobEntry]] = {
        "running": document.running,
        "pending": document.pending,
        "future": document.future,
    }
    match finding.place:
        case (str(section), int(index), str(key)) if sections.get(section):
            entry = sections[section][index]
            for said in ("bsub", "script"):
                if getattr(entry, said) is not None and key not in entry.model_fields_set:
                    return replace(finding, place=(section, index, said))
    return finding


def _clock(document: d.Document) -> tuple[Clock, str | None]:
    now = document.now
    text = document.origin
    if text is None and isinstance(now, datetime):
        text = now.isoformat()
    origin = None if text is None else datetime.fromisoformat(text)
    clock = Clock(origin)
    return Clock(origin, clock.seconds(now)), text


def _user_group(entry: d.GroupEntry) -> UserGroup:
    return UserGroup(entry.name, entry.members, entry.user_shares, entry.priority)


def _params(entry: d.Section, queues: Sequence[Queue]) -> Params:
    params = Params(**given(Params, entry))
    if "default_queue" not in entry.model_fields_set and queues:
        return replace(params, default_queue=usual_queue([queue.name for queue in queues]))
    return params


def _queue(entry: d.Section, unit_type: str) -> Queue:
    """Return a queue. unit_type: the cluster's default type, "" if it has none."""
    queue = Queue(**given(Queue, entry))
    return replace(queue, exclusive=f"CU[{unit_type}]") if queue.exclusive == "CU[]" else queue


def omission_of(entry: d.OmissionEntry) -> Omission:
    """Return an omission of a document."""
    jobs = None if entry.jobs is None else tuple(entry.jobs)
    return Omission(
        *(entry.what, entry.where, entry.count, jobs, entry.effect),
        changes=entry.changes,
        unplanned=tuple(entry.unplanned),
        mark=entry.mark,
        **{name: getattr(entry, name) for name in SCOPE},
    )


def limit_of(entry: d.LimitEntry, index: int, findings: list[Finding]) -> Limit:
    """Return a Limit section; errors are added to `findings`."""
    amounts = {
        name: value
        for name in ("slots", "jobs", "mem", "swp", "tmp")
        if (value := getattr(entry, name)) is not None
    }
    of_hosts = {n: float(v) for n, v in amounts.items() if isinstance(v, Percent)}
    amounts = {name: value for name, value in amounts.items() if name not in of_hosts}
    for name, amount in (entry.resource or {}).items():
        if name in amounts or name in of_hosts:
            place: Location = ("limits", index, "RESOURCE")
            findings.append(Finding(place, f"limits {name} twice: {name.upper()} says it already"))
        amounts[name] = amount
    scopes = {}
    for item in CONSUMERS:
        together, each = getattr(entry, item.field), getattr(entry, item.per_field)
        if together is not None and each is not None:
            key = item.per_field.upper()
            findings.append(
                Finding(("limits", index, key), f"give {item.field.upper()} or {key}, not both")
            )
        scopes[item.field] = together if each is None else each
    return Limit(entry.name, amounts, entry.slots_per_processor, percentages=of_hosts, **scopes)


def _reservations(
    document: d.Document, clock: Clock, findings: list[Finding]
) -> tuple[AdvanceReservation, ...]:
    built: list[AdvanceReservation] = []
    for index, entry in enumerate(document.advance_reservations):
        where: Location = ("advance_reservations", index)
        both = entry.start is not None and entry.end is not None
        if (entry.windows and (entry.start, entry.end) != (None, None)) or not (
            entry.windows or both
        ):
            message = "give start and end, or windows for one that is active again and again"
            findings.append(Finding(where, message))
            continue
        try:
            start, end = (
                0 if time is None else clock.seconds(time) for time in (entry.start, entry.end)
            )
        except ValueError as error:
            findings.append(Finding((*where, "start"), str(error)))
            continue
        built.append(
            AdvanceReservation(
                entry.name,
                start,
                end,
                entry.allocation,
                users=entry.users,
                open=entry.open,
                windows=entry.windows,
                suspends=entry.suspends,
            )
        )
    return tuple(built)


def _objects(
    kind: type[T], section: str, entries: Sequence[d.Section], clock: Clock, findings: list[Finding]
) -> tuple[T, ...]:
    """Return objects whose fields have facts, instants in seconds; a missing stamp is now."""
    found = []
    for index, entry in enumerate(entries):
        values = given(kind, entry)
        for known in known_fields(kind).values():
            if known.fact.kind == "instant" and (known.name in values or known.name == "stamp"):
                place = (section, index, known.key)
                values[known.name] = _stamp(place, values.get(known.name), clock, findings)
        found.append(kind(**values))
    return tuple(found)


def _stamp(
    place: Location, given: int | datetime | None, clock: Clock, findings: list[Finding]
) -> int:
    """Return the stamp, or the instance's now if none is given."""
    if given is None:
        return clock.now
    try:
        return clock.seconds(given)
    except ValueError as error:
        findings.append(Finding(place, str(error)))
        return clock.now


#: Maximum number of form errors that are explained; each takes a kilobyte.
MAX_ERRORS = 20_000
#: Number of entries that are checked together if there are more.
_TOGETHER = 2_000


def examine(data: Any, *, printable: bool = False) -> tuple[Instance | None, list[Finding]]:
    """Return the instance of plain data, None if it has errors, and all findings.

    printable: it is known to hold no strange character.
    """
    from pydantic import ValidationError

    from .document import Document
    from .finding import explain, rest
    from .jobs import take_columns
    from .source_text import strange_values

    context = _context(data)
    strange = [] if printable else list(strange_values(data))
    with suppress(ValidationError), counting():
        others, columns = take_columns(data)
        instance, found = build(Document.model_validate(others, context=context), columns)
        return _judged(instance, _with_strange(strange, found))
    try:
        with counting():
            instance, found = build(Document.model_validate(data, context=context))
    except ValidationError as error:
        if error.error_count() > MAX_ERRORS:
            return None, _with_strange(strange, list(_first_errors(data, context, error)))
        with counting():
            found = explain(error)
        remainder = rest(data, error)
        with suppress(ValidationError):
            with counting():
                others = build(Document.model_validate(remainder.data, context=context))[1]
            if remainder.defining:
                others = [finding for finding in others if not finding.rests_on_others]
            if remainder.deciding:
                others = [finding for finding in others if not finding.undecided]
            others = [remainder.original(finding) for finding in others]
            # An error of a whole entry may only be due to the part that was removed.
            broken = {finding.place[:n] for finding in found for n in range(len(finding.place))}
            found += [finding for finding in others if finding.place not in broken]
        return None, _with_strange(strange, found)
    return _judged(instance, _with_strange(strange, found))


def _first_errors(data: Any, context: Any, error: ValidationError) -> Iterator[Finding]:
    """Yield the first of many errors of form, then the number of all errors."""
    from pydantic import ValidationError

    from .document import FORMAT, Document
    from .finding import explain

    stand_in = {"format": FORMAT, "hosts": [{"name": "a", "slots": 1}]}
    told = 0
    for place, part in _parts(data):
        try:
            with counting():
                Document.model_validate(stand_in | part, context=context)
        except ValidationError as partial:
            with counting():
                for finding in explain(partial):
                    told += 1
                    yield _later(finding, place)
        if told > limits().errors:
            break
    yield Finding((), f"has {error.error_count():,} wrong entries, keys and values in all")


def _parts(data: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield a document in parts, with the number of the first entry of each list."""
    given = data if isinstance(data, dict) else {}
    for key, value in given.items():
        if isinstance(value, list):
            for first in range(0, len(value), _TOGETHER):
                yield first, {key: value[first : first + _TOGETHER]}
        elif isinstance(value, dict):
            pairs = iter(value.items())
            while part := dict(islice(pairs, _TOGETHER)):
                yield 0, {key: part}
        else:
            yield 0, {key: value}


def _later(finding: Finding, first: int) -> Finding:
    """Return the finding of a part at its place in the whole document."""
    if len(finding.place) < 2 or not isinstance(finding.place[1], int):
        return finding
    return replace(finding, place=(finding.place[0], finding.place[1] + first, *finding.place[2:]))


def _judged(instance: Instance, found: list[Finding]) -> tuple[Instance | None, list[Finding]]:
    return None if any(not finding.warning for finding in found) else instance, found


def _with_strange(strange: list[Finding], found: list[Finding]) -> list[Finding]:
    """Return both lists of findings; a text with strange characters has no other findings."""
    places = {finding.place for finding in strange}
    return strange + [finding for finding in found if finding.place not in places]


def _context(data: Any) -> dict[str, float]:
    """Return the units of bare sizes: `base` M in a G, `unit` MB under LSF_UNIT_FOR_LIMITS."""
    given = data if isinstance(data, dict) else {}
    base = 1000 if given.get("size_base") == 1000 else 1024
    params = given.get("params")
    unit = params.get("LSF_UNIT_FOR_LIMITS") if isinstance(params, dict) else None
    powers = {"KB": -1, "MB": 0, "GB": 1, "TB": 2, "PB": 3}
    return {"base": base, "unit": float(base) ** powers.get(str(unit), 0)}
