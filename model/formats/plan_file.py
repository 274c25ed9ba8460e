"""Saved plans: what ``slotwise solve --format json`` prints, read again.

Such a file is a sealed record (:mod:`.sealed`) with the digest of its instance. A plan without
``checksum``, edited by hand or written by another program, is read as well; every value is checked
against the instance either way.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import accumulate
from typing import Any, get_args

from ..cluster import Cluster, Host
from ..display import iso_time
from ..errors import InputError, Problem, SlotwiseError, nearest
from ..instance import Instance
from ..job import Job
from ..objective import ObjectiveName
from ..omissions import SCOPE, Change, Omission
from ..plan import MAX_MARGIN, PLANNED_TIMES, Method, Plan, PlanChange, PlannedJob, Status, Unplaced
from ..resreq import effective_requirement
from ..resreq.syntax import Compound, every
from .sealed import HEAD, PLAN, digest, refusal, sealed, unsealed

_STATUSES = get_args(Status)
_OBJECTIVES = get_args(ObjectiveName)
_METHODS = get_args(Method)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


#: A saved plan also has the outlook of its instance; a reader of the plan recomputes it.
_PLAN_KEYS = (*HEAD, "instance", "outlook", *_names(Plan))
_ENTRY_KEYS = (*_names(PlannedJob), *(f"{name}_time" for name in PLANNED_TIMES))
_CHANGE_KEYS = (*_names(PlanChange), "moved")
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
        raise refusal(f"is no {PLAN.title}: its format is {data['format']!r}", source)
    if not bare and data.get("instance") not in (None, digest(instance)):
        raise refusal(
            "is the plan of another instance than the one given: give that one, or plan again "
            "(to judge it by this one take the lines `checksum` and `instance` out)",
            source,
        )
    return _PlanReader(instance, source, bare).plan(data)


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


class _PlanReader:
    def __init__(self, instance: Instance, source: str, bare: bool) -> None:
        self.source = source
        self.instance = instance
        self.bare = bare
        self.now = instance.now
        self.origin = instance.origin
        self.hosts = {host.name for host in instance.cluster.hosts}
        self.jobs = {job.id: job for job in instance.pending}
        self.queues = {queue.name for queue in instance.queues}
        self.problems: list[Problem] = []

    def plan(self, data: Mapping[str, Any]) -> Plan:
        self._known_keys(data, _PLAN_KEYS, "")
        if not isinstance(data.get("outlook", {}), Mapping):
            self._wrong(f"must be an object, not {data['outlook']!r:.40}", "outlook")
        self._one_of(data, "method", _METHODS)
        self._one_of(data, "objective", _OBJECTIVES)
        self._one_of(data, "status", _STATUSES)
        self._moment(data)
        entries = self._entries(data, "reservations")
        planned = [self._planned(entry, f"reservations[{n}]") for n, entry in enumerate(entries)]
        unplaced = [
            self._unplaced(entry, f"unplaced[{n}]")
            for n, entry in enumerate(self._entries(data, "unplaced"))
        ]
        names = Counter([item.job for item in planned] + [item.job for item in unplaced])
        for name in sorted(name for name, count in names.items() if name and count > 1):
            self._wrong(f"job {name} is there more than once", "reservations")
        notes = self._notes(data)
        value, bound = (self._real(data, key) for key in ("value", "bound"))
        rounded, cut, refused = (
            self._flag(data, key, key) for key in ("rounded", "cut", "refused")
        )
        margin = self._number(data, "margin", "") or 0
        if not 0 <= margin <= MAX_MARGIN:
            self._wrong(f"must be seconds, 0 to {MAX_MARGIN}, not {margin}", "margin")
        behind = self._number(data, "behind", "", "number") or 0
        if behind < 0:
            self._wrong(f"must be 0 or more, not {behind}", "behind")
        told = [
            self._change(entry, f"changes[{n}]")
            for n, entry in enumerate(self._entries(data, "changes"))
        ]
        omitted = enumerate(self._entries(data, "omissions"))
        omissions = [self._omission(entry, f"omissions[{n}]") for n, entry in omitted]
        if self.problems:
            raise InputError(self.problems)
        return Plan(
            method=data["method"],
            objective=data["objective"],
            status=data["status"],
            now=self.now,
            reservations=tuple(planned),
            unplaced=tuple(unplaced),
            value=value,
            bound=bound,
            notes=notes,
            rounded=rounded,
            origin=self.origin,
            cut=cut,
            margin=margin,
            behind=behind,
            changes=tuple(told),
            refused=refused,
            omissions=tuple(omissions),
        )

    def _moment(self, data: Mapping[str, Any]) -> None:
        """Check that now and origin of the plan equal those of the instance."""
        now = self._number(data, "now", "")
        if now is not None and now != self.now:
            self._wrong(
                f"is {now}, but the instance's is {self.now}: it is of another moment", "now"
            )
        elif data.get("now") is None:
            self._wrong("is missing: the moment of the plan, seconds from the origin", "now")
        origin = data.get("origin")
        if not _is_stamp(origin):
            self._wrong(f"must be a date and time (ISO 8601) or null, not {origin!r}", "origin")
        elif origin is not None and origin != self.origin:
            said = f"is {origin}, but the instance's is {self.origin or 'none'}"
            self._wrong(f"{said}: its times count from elsewhere", "origin")

    def _planned(self, entry: Mapping[str, Any], place: str) -> PlannedJob:
        self._known_keys(entry, _ENTRY_KEYS, place)
        start, finish, bound, estimate = (self._time(entry, key, place) for key in PLANNED_TIMES)
        if start is not None and start < self.now:
            self._wrong(f"is {start}, before the plan's now ({self.now})", f"{place}.start")
        if start is not None and finish is not None and finish < start:
            self._wrong(f"is {finish}, before the start ({start})", f"{place}.finish")
        if start is not None and estimate is not None:
            self._wrong(
                "is given beside a start: only a job without one has it", f"{place}.estimate"
            )
        found = PlannedJob(
            job=self._job(entry, place),
            start=start,
            finish=finish,
            allocation=self._allocation(entry.get("allocation", {}), f"{place}.allocation"),
            method=self._text(entry, "method", place),
            bound=bound,
            proved=self._flag(entry, "proved", f"{place}.proved"),
            waits_for=self._text(entry, "waits_for", place),
            fallback=self._text(entry, "fallback", place),
            estimate=estimate,
            reserved=self._allocation(entry.get("reserved", {}), f"{place}.reserved"),
            alternative=self._number(entry, "alternative", place, "number") or 0,
            requirement_alternative=self._number(entry, "requirement_alternative", place, "number")
            or 0,
            needs_backfill=self._text(entry, "needs_backfill", place),
            terms=self._terms(entry.get("terms", []), f"{place}.terms"),
            exact_fit=self._text(entry, "exact_fit", place),
            proved_if=self._conditions(entry, place),
        )
        queue = found.needs_backfill
        if queue and not self.bare and queue not in self.queues:
            said = f"the instance has no queue {queue!r}{nearest(queue, self.queues)}"
            self._wrong(said, f"{place}.needs_backfill")
        if found.job and not self.bare:
            self._fits_requirement(found, self.jobs[found.job], place)
        elif found.alternative < 0:
            self._wrong(f"must be 0 or more, not {found.alternative}", f"{place}.alternative")
        return found

    def _time(self, entry: Mapping[str, Any], key: str, place: str) -> int | None:
        """Return a time; a stamp next to it must agree."""
        value, stamp = self._number(entry, key, place), f"{key}_time"
        if stamp in entry and _is_stamp(self.origin):
            right = iso_time(self.origin, value)
            if entry[stamp] != right:
                said = f"is {entry[stamp]!r}, but {key} is {value}: {right!r}"
                self._wrong(f"{said}; of the two {stamp} may be left out", f"{place}.{stamp}")
        return value

    def _fits_requirement(self, found: PlannedJob, job: Job, place: str) -> None:
        """Check that terms and alternative exist in the requirement of the job."""
        try:
            requirement = effective_requirement(self.instance, job).requirement
        except SlotwiseError:
            return  # a job that is refused has no start: the judge says so
        choices, chosen = every(requirement), found.requirement_alternative
        if not 0 <= chosen < len(choices):
            said = f"is {chosen}, but the requirement of job {job.id} has {len(choices)}"
            self._wrong(f"{said}: 0 to {len(choices) - 1}", f"{place}.requirement_alternative")
            return
        requirement = choices[chosen]
        if isinstance(requirement, Compound):
            given = sum(term.count or 0 for term in requirement.terms)
            rest = max(0, job.slots - given)
            counts = [rest if term.count is None else term.count for term in requirement.terms]
            terms, alternatives = sum(count > 0 for count in counts), 1
        else:
            terms = 1
            alternatives = len(requirement.rusage.alternatives) if requirement.rusage else 1
        if not 0 <= found.alternative < alternatives:
            said = f"is {found.alternative}, but the rusage of job {job.id} has {alternatives}"
            self._wrong(f"{said}: 0 to {alternatives - 1}", f"{place}.alternative")
        if found.start is None or (terms == 1 and not found.terms):
            return
        if len(found.terms) != terms:
            said = f"has {len(found.terms)}, but the requirement of job {job.id} has {terms} with"
            self._wrong(f"{said} slots: give each its hosts and slots", f"{place}.terms")

    def _terms(self, value: object, place: str) -> tuple[Mapping[str, int], ...]:
        if not isinstance(value, list):
            self._wrong("must be a list, a mapping of hosts to slots for each term", place)
            return ()
        for number, term in enumerate(value):
            if term == {}:
                self._wrong(
                    "must have a host: a term without slots is left out", f"{place}[{number}]"
                )
        return tuple(self._allocation(term, f"{place}[{n}]") for n, term in enumerate(value))

    def _conditions(self, entry: Mapping[str, Any], place: str) -> tuple[str, ...]:
        """Return the jobs whose planned starts a proof depends on."""
        names, place = entry.get("proved_if", []), f"{place}.proved_if"
        if not isinstance(names, list):
            self._wrong("must be a list of job ids", place)
            return ()
        for name in names:
            if not isinstance(name, str) or name not in self.jobs:
                hint = nearest(str(name), self.jobs)
                self._wrong(f"the instance has no pending job {name!r}{hint}", place)
        if names and entry.get("proved") is True:
            self._wrong("is given beside proved: true, which needs no condition", place)
        return tuple(names)

    def _unplaced(self, entry: Mapping[str, Any], place: str) -> Unplaced:
        self._known_keys(entry, _names(Unplaced), place)
        return Unplaced(self._job(entry, place), self._text(entry, "reason", place))

    def _change(self, entry: Mapping[str, Any], place: str) -> PlanChange:
        """Read a change as a planner wrote it; the difference follows from the two starts."""
        self._known_keys(entry, _CHANGE_KEYS, place)
        found = PlanChange(
            job=self._job(entry, place),
            was=self._number(entry, "was", place),
            start=self._number(entry, "start", place),
            was_on=self._allocation(entry.get("was_on", {}), f"{place}.was_on"),
            on=self._allocation(entry.get("on", {}), f"{place}.on"),
            because=self._text(entry, "because", place),
        )
        if entry.get("moved", found.moved) != found.moved:
            said = f"is {entry['moved']!r}, but from was to start it is {found.moved}"
            self._wrong(said, f"{place}.moved")
        return found

    def _notes(self, data: Mapping[str, Any]) -> tuple[str, ...]:
        notes = data.get("notes", [])
        if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
            self._wrong("must be a list of texts", "notes")
            return ()
        return tuple(notes)

    def _omission(self, entry: Mapping[str, Any], place: str) -> Omission:
        self._known_keys(entry, _names(Omission), place)
        jobs = entry.get("jobs")
        if jobs is not None and not _is_texts(jobs):
            self._wrong("must be a list of job ids or null", f"{place}.jobs")
            jobs = None
        scope: dict[str, Any] = {}
        for name in SCOPE:
            if name in entry and not _is_texts(entry[name]):
                self._wrong("must be a list of names", f"{place}.{name}")
            else:
                scope[name] = tuple(entry.get(name, ()))
        changes = entry.get("changes", "starts")
        if changes not in get_args(Change):
            kinds = " or ".join(get_args(Change))
            self._wrong(f"must be {kinds}, not {changes!r}", f"{place}.changes")
            changes = "starts"
        unplanned = entry.get("unplanned", [])
        if not _is_texts(unplanned):
            self._wrong("must be a list of job ids", f"{place}.unplanned")
            unplanned = []
        return Omission(
            what=self._text(entry, "what", place),
            where=self._text(entry, "where", place),
            count=self._number(entry, "count", place, "number") or 1,
            jobs=None if jobs is None else tuple(jobs),
            effect=self._text(entry, "effect", place),
            changes=changes,
            unplanned=tuple(unplanned),
            **scope,
        )

    def _job(self, entry: Mapping[str, Any], place: str) -> str:
        name = entry.get("job")
        if not isinstance(name, str) or name not in self.jobs:
            hint = nearest(str(name), self.jobs)
            self._wrong(f"the instance has no pending job {name!r}{hint}", f"{place}.job")
            return ""
        return name

    def _allocation(self, value: object, place: str) -> dict[str, int]:
        if not isinstance(value, Mapping):
            self._wrong("must map hosts to slots", place)
            return {}
        for host, slots in value.items():
            if host not in self.hosts:
                hint = nearest(str(host), self.hosts)
                self._wrong(f"the instance has no host {host!r}{hint}", place)
            if type(slots) is not int or not 1 <= slots <= _MAX_SLOTS:
                self._wrong(f"the slots on {host} must be 1 or more, not {slots!r}", place)
        return dict(value)

    def _entries(self, data: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
        found = data.get(key, [])
        if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
            self._wrong("must be a list of mappings", key)
            return []
        return found

    def _number(
        self, entry: Mapping[str, Any], key: str, place: str, what: str = "seconds"
    ) -> int | None:
        value = entry.get(key)
        if value is None:
            return None
        if type(value) is not int or abs(value) > _MAX_SECONDS:
            wanted = "whole seconds" if what == "seconds" else "a whole number"
            self._wrong(f"must be {wanted}, not {value!r}", f"{place}.{key}".strip("."))
            return None
        return value

    def _real(self, data: Mapping[str, Any], key: str) -> float | None:
        value = data.get(key)
        if value is None:
            return None
        if type(value) not in (int, float) or not abs(value) <= 1e300:
            self._wrong(f"must be a number, not {value!r}", key)
            return None
        return float(value)

    def _flag(self, entry: Mapping[str, Any], key: str, place: str) -> bool:
        value = entry.get(key, False)
        if not isinstance(value, bool):
            self._wrong(f"must be true or false, not {value!r}", place)
        return value is True

    def _text(self, entry: Mapping[str, Any], key: str, place: str) -> str:
        value = entry.get(key, "")
        if not isinstance(value, str):
            self._wrong(f"must be a text, not {value!r}", f"{place}.{key}")
            return ""
        return value

    def _one_of(self, data: Mapping[str, Any], key: str, known: tuple[str, ...]) -> None:
        if data.get(key) not in known:
            self._wrong(f"must be one of {', '.join(known)}, not {data.get(key)!r}", key)

    def _known_keys(self, entry: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
        """Reject unknown keys."""
        for key in entry:
            if key not in known:
                said = f"unknown field {str(key)!r}{nearest(str(key), known)}"
                self._wrong(said, f"{place}.{key}".strip("."))

    def _wrong(self, message: str, place: str) -> None:
        self.problems.append(Problem(message, self.source, path=place))
