"""Saved plans: what ``slotwise solve --format json`` prints, read again.

Such a file is a sealed record (:mod:`.sealed`) with the digest of its instance. A plan without
``checksum``, edited by hand or written by another program, is read as well; every value is checked
against the instance either way.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from functools import cache, cached_property
from itertools import accumulate
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    create_model,
)

from ..cluster import Cluster, Host
from ..display import iso_time
from ..errors import InputError, Problem, SlotwiseError, nearest
from ..instance import Instance
from ..job import Job
from ..omissions import Omission
from ..plan import MAX_MARGIN, PLANNED_TIMES, Plan, PlanChange, PlannedJob, Unplaced
from ..resreq import effective_requirement
from ..resreq.syntax import Compound, every
from .document import explain, path_text
from .sealed import HEAD, PLAN, digest, refusal, sealed, unsealed

T = TypeVar("T")

#: Largest numbers of a plan; larger ones are typing errors.
_MAX_SECONDS, _MAX_SLOTS = 10**15, 10**9


def plan_record(plan: Mapping[str, Any], instance: Instance) -> dict[str, Any]:
    """Return the record to save: the plan's data with checksum, and its instance's digest."""
    return sealed(PLAN, {"instance": digest(instance), **plan})


def is_sealed(data: Mapping[str, Any]) -> bool:
    """Return whether a saved plan has a valid checksum."""
    return "checksum" in data


def read_plan(
    data: Mapping[str, Any], instance: Instance, source: str, *, bare: bool = False
) -> Plan:
    """Return a saved plan for the instance that it was made for.

    bare: the instance is that of :func:`bare_instance`, which has no queues and requirements to
    hold against the plan. Raises InputError for a plan that is damaged or of another instance, and
    with everything that is wrong: unknown, missing or misshapen values, jobs, hosts and queues that
    the instance does not have, terms and alternatives that the jobs do not ask for, another moment.
    """
    if is_sealed(data):
        unsealed(PLAN, data, source)
    elif data.get("format", PLAN.name) != PLAN.name:
        raise refusal(f"is not a {PLAN.title}: its format is {data['format']!r}", source)
    if not bare and data.get("instance") not in (None, digest(instance)):
        raise refusal(
            "is the plan of another instance: give that instance, or plan again (to check the "
            "plan against this instance, remove the lines `checksum` and `instance`)",
            source,
        )
    known = _Known(instance, bare)
    try:
        entry = _saved_plan().model_validate_json(json.dumps(dict(data)), context=known)
    except ValidationError as error:
        wrong = ((path_text(item.place), item.message) for item in explain(error, _saved_plan()))
        raise InputError(Problem(said, source, path=at) for at, said in wrong) from None
    if problems := [Problem(said, source, path=at) for at, said in known.contradictions(entry)]:
        raise InputError(problems)
    return _object(Plan, entry, known)


def bare_instance(data: Mapping[str, Any]) -> Instance:
    """Return an instance derived from a plan: the hosts that it uses, its jobs, its now.

    A host has as many slots as the plan ever uses there; running jobs are unknown. Malformed values
    are ignored: :func:`read_plan` reports them.
    """
    entries, others, moved = (
        [item for item in _list(data.get(key)) if isinstance(item, Mapping)]
        for key in ("reservations", "unplaced", "changes")
    )
    now, origin = data.get("now"), data.get("origin")
    now = now if type(now) is int else 0
    peaks = _peaks(entries, now)
    for change in moved:
        for place in (change.get("was_on"), change.get("on")):
            peaks = dict.fromkeys(place if isinstance(place, Mapping) else (), 1) | peaks
    names = [str(item.get("job")) for item in (*entries, *others, *moved)]
    return Instance(
        Cluster(tuple(Host(name, slots) for name, slots in peaks.items())),
        pending=tuple(Job(name) for name in dict.fromkeys(names)),
        now=now,
        origin=origin if _is_stamp(origin) else None,
    )


def _peaks(entries: Iterable[Mapping[str, Any]], now: int) -> dict[str, int]:
    """Return the largest number of slots in use at one time by host, 1 or more."""
    steps: dict[str, list[tuple[int, int]]] = {}
    for entry in entries:
        start, finish = entry.get("start"), entry.get("finish")
        begin = start if type(start) is int else now
        for key, since, until in (("allocation", begin, finish), ("reserved", now, start)):
            place = entry.get(key)
            for host, slots in place.items() if isinstance(place, Mapping) else ():
                if type(slots) is int and slots > 0:
                    found = steps.setdefault(host, [])
                    found += [(since, slots)]
                    found += [(until, -slots)] if type(until) is int else []
    return {
        host: max(1, *accumulate(change for _, change in sorted(found)))
        for host, found in steps.items()
    }


def _is_stamp(value: object) -> bool:
    """Return whether a value is an ISO 8601 stamp or missing."""
    try:
        return value is None or (isinstance(value, str) and bool(datetime.fromisoformat(value)))
    except ValueError:
        return False


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


@dataclass(frozen=True)
class _Known:
    """The instance against which a plan is checked."""

    instance: Instance
    bare: bool

    @cached_property
    def hosts(self) -> dict[str, Any]:
        return {host.name: host for host in self.instance.cluster.hosts}

    @cached_property
    def jobs(self) -> dict[str, Job]:
        return {job.id: job for job in self.instance.pending}

    @cached_property
    def queues(self) -> dict[str, Any]:
        return {} if self.bare else {queue.name: queue for queue in self.instance.queues}

    def contradictions(self, plan: Any) -> Iterator[tuple[str, str]]:
        """Yield what does not fit together or into the instance: the place, and what is wrong."""
        now, origin = self.instance.now, self.instance.origin
        if plan.now is None:
            yield "now", "is missing: the time of the plan, in seconds from the origin"
        elif plan.now != now:
            yield "now", f"is {plan.now}, but the instance's is {now}: the plan is of another time"
        if plan.origin not in (None, origin):
            said = f"is {plan.origin}, but the instance's is {origin or 'none'}"
            yield "origin", f"{said}: their times have different origins"
        names = Counter(item.job for item in (*plan.reservations, *plan.unplaced))
        for name in sorted(name for name, count in names.items() if count > 1):
            yield "reservations", f"job {name} occurs more than once"
        for number, item in enumerate(plan.reservations):
            for key, said in self._of_job(item):
                yield f"reservations[{number}].{key}", said
        for number, item in enumerate(plan.changes):
            moved = _object(PlanChange, item, self).moved
            if "moved" in item.model_fields_set and item.moved != moved:
                said = f"is {item.moved!r}, but from was to start it is {moved}"
                yield f"changes[{number}].moved", said

    def _of_job(self, item: Any) -> Iterator[tuple[str, str]]:
        now, origin = self.instance.now, self.instance.origin
        for key in PLANNED_TIMES:
            stamp, value = f"{key}_time", getattr(item, key)
            given, right = getattr(item, stamp), iso_time(origin, value)
            if stamp in item.model_fields_set and given != right:
                said = f"is {given!r}, but {key} is {value}: {right!r}"
                yield stamp, f"{said}; {stamp} may be omitted"
        start, finish = item.start, item.finish
        if start is not None and start < now:
            yield "start", f"is {start}, before the plan's now ({now})"
        if start is not None and finish is not None and finish < start:
            yield "finish", f"is {finish}, before the start ({start})"
        if start is not None and item.estimate is not None:
            yield "estimate", "is given with a start: only a job without a start has it"
        if item.proved and item.proved_if:
            yield "proved_if", "is given with proved: true, which has no condition"
        for number, term in enumerate(item.terms):
            if not term:
                said = "must have a host: omit a term without slots"
                yield f"terms[{number}]", said
        if self.bare and item.alternative < 0:
            yield "alternative", f"must be 0 or more, not {item.alternative}"
        if not self.bare:
            yield from self._of_requirement(item, self.jobs[item.job])

    def _of_requirement(self, item: Any, job: Job) -> Iterator[tuple[str, str]]:
        """Yield terms and alternatives that the requirement of the job does not have."""
        try:
            choices = every(effective_requirement(self.instance, job).requirement)
        except SlotwiseError:
            return  # a job that is refused has no start: the judge says so
        if not 0 <= item.requirement_alternative < len(choices):
            said = f"is {item.requirement_alternative}, but the requirement of job {job.id} has"
            yield "requirement_alternative", f"{said} {len(choices)}: 0 to {len(choices) - 1}"
            return
        requirement = choices[item.requirement_alternative]
        if isinstance(requirement, Compound):
            rest = max(0, job.slots - sum(term.count or 0 for term in requirement.terms))
            counts = [rest if term.count is None else term.count for term in requirement.terms]
            terms, alternatives = sum(count > 0 for count in counts), 1
        else:
            terms = 1
            alternatives = len(requirement.rusage.alternatives) if requirement.rusage else 1
        if not 0 <= item.alternative < alternatives:
            said = f"is {item.alternative}, but the rusage of job {job.id} has {alternatives}"
            yield "alternative", f"{said}: 0 to {alternatives - 1}"
        elif item.start is not None and (terms > 1 or item.terms) and len(item.terms) != terms:
            said = f"has {len(item.terms)}, but the requirement of job {job.id} has {terms} with"
            yield "terms", f"{said} slots: give each its hosts and slots"


def _one_of(what: str, names: str) -> AfterValidator:
    """Return the check that the instance has what is named."""

    def check(name: str, info: ValidationInfo) -> str:
        known = getattr(info.context, names)
        if name and known and name not in known:
            raise ValueError(f"the instance has no {what} {name!r}{nearest(name, known)}")
        return name

    return AfterValidator(check)


def _stamp(text: str | None) -> str | None:
    if not _is_stamp(text):
        raise ValueError(f"must be a date and time (ISO 8601) or null, not {text!r}")
    return text


_Id = Annotated[str, _one_of("pending job", "jobs")]
_Seconds = Annotated[int, Field(ge=-_MAX_SECONDS, le=_MAX_SECONDS)]
_Slots = dict[Annotated[str, _one_of("host", "hosts")], Annotated[int, Field(ge=1, le=_MAX_SLOTS)]]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def _record(kind: type, required: Iterable[str] = ("job",), /, **own: Any) -> type[_Record]:
    """Return the form of a dataclass in a file.

    own: stricter types of its fields, and keys that the class does not have.
    """
    hints = get_type_hints(kind)
    keys: dict[str, Any] = {}
    for field in fields(kind):
        hint, default = hints[field.name], field.default
        if default is MISSING:
            default = None if type(None) in get_args(hint) else "" if hint is str else ()
        if field.name in _MAPS:
            default = {}
        form = own.pop(field.name, hint)
        keys[field.name] = (form, ... if field.name in required else default)
    return create_model(kind.__name__, __base__=_Record, **keys, **own)


def _several(form: Any) -> Any:
    return tuple[form, ...]


_MAPS = frozenset({"allocation", "reserved", "on", "was_on", "suspended"})


@cache
def _saved_plan() -> type[_Record]:
    """Return the form of a saved plan, which follows from the classes of :mod:`..plan`."""
    job = _record(
        PlannedJob,
        job=_Id,
        **dict.fromkeys(PLANNED_TIMES, _Seconds | None),
        **{f"{name}_time": (str | None, None) for name in PLANNED_TIMES},
        allocation=_Slots,
        reserved=_Slots,
        terms=_several(_Slots),
        needs_backfill=Annotated[str, _one_of("queue", "queues")],
        proved_if=_several(_Id),
    )
    change = _record(PlanChange, job=_Id, was_on=_Slots, on=_Slots, moved=(int | None, None))
    return _record(
        Plan,
        ("method", "objective", "status"),
        now=_Seconds | None,
        origin=Annotated[str | None, AfterValidator(_stamp)],
        reservations=_several(job),
        unplaced=_several(_record(Unplaced, job=_Id)),
        changes=_several(change),
        omissions=_several(_record(Omission)),
        margin=Annotated[int, Field(ge=0, le=MAX_MARGIN)],
        behind=Annotated[int, Field(ge=0, le=_MAX_SECONDS)],
        suspended=dict[str, _Seconds],
        # A saved plan also has the outlook of its instance; a reader of the plan recomputes it.
        outlook=(dict[str, Any], {}),
        **dict.fromkeys((*HEAD, "instance"), (Any, None)),
    )


_PARTS = {
    "reservations": PlannedJob,
    "unplaced": Unplaced,
    "changes": PlanChange,
    "omissions": Omission,
}


def _object(kind: type[T], entry: Any, known: _Known) -> T:
    """Return an object of a class from the form that was read."""
    values = {field.name: getattr(entry, field.name) for field in fields(kind)}  # type: ignore[arg-type]
    for name, part in _PARTS.items() if kind is Plan else ():
        values[name] = tuple(_object(part, item, known) for item in values[name])
    if kind is Plan:
        values["origin"] = known.instance.origin
    return kind(**values)
