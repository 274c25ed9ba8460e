"""Saved plans: what ``slotwise solve --format json`` prints, read again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, get_args

from ..cluster import Cluster, Host
from ..errors import InputError, Problem, nearest
from ..instance import Instance
from ..job import Job
from ..objective import ObjectiveName
from ..omissions import Omission
from ..plan import MOST_MARGIN, Method, Plan, PlanChange, PlannedJob, Status, Unplaced

_STATUSES = get_args(Status)
_OBJECTIVES = get_args(ObjectiveName)
_METHODS = get_args(Method)


def read_plan(data: Mapping[str, Any], instance: Instance, source: str) -> Plan:
    """The plan in plain data, for the instance that it was made for.

    Raises InputError with everything that is wrong: missing or misshapen values, jobs and hosts
    that the instance does not have, another moment.
    """
    return _PlanReader(instance, source).plan(data)


def bare_instance(data: Mapping[str, Any]) -> Instance:
    """As much of an instance as a plan tells by itself: the hosts that it uses, its jobs, its now.

    A host has as many slots as the plan ever uses there; what runs beside it is not known. What is
    misshapen is passed over: :func:`read_plan` complains of it.
    """
    entries = [item for item in _list(data.get("reservations")) if isinstance(item, Mapping)]
    others = [item for item in _list(data.get("unplaced")) if isinstance(item, Mapping)]
    held = [
        (entry.get("start"), entry.get("finish"), host, slots)
        for entry in entries
        for place in (entry.get("allocation"), entry.get("reserved"))
        for host, slots in (place.items() if isinstance(place, Mapping) else ())
        if type(slots) is int and slots > 0
    ]
    peaks = _peaks(held)
    now, origin = data.get("now"), data.get("origin")
    names = [str(item.get("job")) for item in (*entries, *others)]
    return Instance(
        Cluster(tuple(Host(name, slots) for name, slots in peaks.items())),
        pending=tuple(Job(name) for name in dict.fromkeys(names)),
        now=now if type(now) is int else 0,
        origin=origin if _is_stamp(origin) else None,
    )


def _peaks(held: Iterable[tuple[Any, Any, str, int]]) -> dict[str, int]:
    """The most slots of each host that are held at once, 1 at least; (start, finish, host, slots).

    What has no start is not counted; without a finish it is held for ever.
    """
    peaks: dict[str, int] = {}
    changes: list[tuple[int, int, str]] = []
    for start, finish, host, slots in held:
        peaks.setdefault(host, 1)
        ends = isinstance(finish, int)
        if isinstance(start, int) and not (ends and finish <= start):
            changes.append((start, slots, host))
            if ends:
                changes.append((finish, -slots, host))
    used = dict.fromkeys(peaks, 0)
    for _, slots, host in sorted(changes):  # at one instant what ends is first
        used[host] += slots
        peaks[host] = max(peaks[host], used[host])
    return peaks


def _is_stamp(value: object) -> bool:
    """Whether it is an ISO 8601 stamp or nothing."""
    try:
        return value is None or (isinstance(value, str) and bool(datetime.fromisoformat(value)))
    except ValueError:
        return False


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


class _PlanReader:
    def __init__(self, instance: Instance, source: str) -> None:
        self.source = source
        self.now = instance.now
        self.hosts = {host.name for host in instance.cluster.hosts}
        self.jobs = {job.id for job in instance.pending}
        self.problems: list[Problem] = []

    def plan(self, data: Mapping[str, Any]) -> Plan:
        self._one_of(data, "method", _METHODS)
        self._one_of(data, "objective", _OBJECTIVES)
        self._one_of(data, "status", _STATUSES)
        now = self._number(data, "now", "")
        if now is not None and now != self.now:
            self._wrong(
                f"is {now}, but the instance's is {self.now}: it is of another moment", "now"
            )
        entries = self._entries(data, "reservations")
        planned = [self._planned(entry, f"reservations[{n}]") for n, entry in enumerate(entries)]
        unplaced = [
            Unplaced(self._job(entry, f"unplaced[{n}]"), self._text(entry, "reason", "unplaced"))
            for n, entry in enumerate(self._entries(data, "unplaced"))
        ]
        names = [item.job for item in planned] + [item.job for item in unplaced]
        counts = Counter(name for name in names if name)
        for name in sorted(name for name, count in counts.items() if count > 1):
            self._wrong(f"job {name} is there more than once", "reservations")
        notes = self._notes(data)
        origin = data.get("origin")
        if not _is_stamp(origin):
            self._wrong(f"must be a date and time (ISO 8601) or null, not {origin!r}", "origin")
        value, bound = (self._real(data, key) for key in ("value", "bound"))
        rounded, cut, refused = (
            self._flag(data, key, key) for key in ("rounded", "cut", "refused")
        )
        margin = self._number(data, "margin", "") or 0
        if not 0 <= margin <= MOST_MARGIN:
            self._wrong(f"must be seconds, 0 to {MOST_MARGIN}, not {margin}", "margin")
        behind = self._number(data, "behind", "") or 0
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
            origin=origin,
            cut=cut,
            margin=margin,
            behind=behind,
            changes=tuple(told),
            refused=refused,
            omissions=tuple(omissions),
        )

    def _planned(self, entry: Mapping[str, Any], place: str) -> PlannedJob:
        start, finish = (self._number(entry, key, place) for key in ("start", "finish"))
        if start is not None and start < self.now:
            self._wrong(f"is {start}, before the plan's now ({self.now})", f"{place}.start")
        if start is not None and finish is not None and finish < start:
            self._wrong(f"is {finish}, before the start ({start})", f"{place}.finish")
        terms = entry.get("terms", [])
        return PlannedJob(
            job=self._job(entry, place),
            start=start,
            finish=finish,
            allocation=self._allocation(entry.get("allocation", {}), f"{place}.allocation"),
            method=self._text(entry, "method", place),
            bound=self._number(entry, "bound", place),
            proved=self._flag(entry, "proved", f"{place}.proved"),
            waits_for=self._text(entry, "waits_for", place),
            fallback=self._text(entry, "fallback", place),
            estimate=self._number(entry, "estimate", place),
            reserved=self._allocation(entry.get("reserved", {}), f"{place}.reserved"),
            alternative=self._number(entry, "alternative", place) or 0,
            needs_backfill=self._text(entry, "needs_backfill", place),
            terms=tuple(
                self._allocation(term, f"{place}.terms[{n}]")
                for n, term in enumerate(terms if isinstance(terms, list) else [])
            ),
            exact_fit=self._text(entry, "exact_fit", place),
        )

    def _change(self, entry: Mapping[str, Any], place: str) -> PlanChange:
        """What moved, as a planner wrote it; how far follows from the two starts."""
        return PlanChange(
            job=self._job(entry, place),
            was=self._number(entry, "was", place),
            start=self._number(entry, "start", place),
            was_on=self._allocation(entry.get("was_on", {}), f"{place}.was_on"),
            on=self._allocation(entry.get("on", {}), f"{place}.on"),
            because=self._text(entry, "because", place),
        )

    def _notes(self, data: Mapping[str, Any]) -> tuple[str, ...]:
        notes = data.get("notes", [])
        if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
            self._wrong("must be a list of texts", "notes")
            return ()
        return tuple(notes)

    def _omission(self, entry: Mapping[str, Any], place: str) -> Omission:
        jobs = entry.get("jobs")
        if jobs is not None and not (
            isinstance(jobs, list) and all(isinstance(name, str) for name in jobs)
        ):
            self._wrong("must be a list of job ids or null", f"{place}.jobs")
            jobs = None
        return Omission(
            what=self._text(entry, "what", place),
            where=self._text(entry, "where", place),
            count=self._number(entry, "count", place) or 1,
            jobs=None if jobs is None else tuple(jobs),
            effect=self._text(entry, "effect", place),
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
            if type(slots) is not int or slots < 1:
                self._wrong(f"the slots on {host} must be 1 or more, not {slots!r}", place)
        return dict(value)

    def _entries(self, data: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
        found = data.get(key, [])
        if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
            self._wrong("must be a list of mappings", key)
            return []
        return found

    def _number(self, entry: Mapping[str, Any], key: str, place: str) -> int | None:
        value = entry.get(key)
        if value is None:
            return None
        if type(value) is not int or abs(value) > 10**15:
            self._wrong(f"must be whole seconds, not {value!r}", f"{place}.{key}".strip("."))
            return None
        return value

    def _real(self, data: Mapping[str, Any], key: str) -> float | None:
        value = data.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
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

    def _wrong(self, message: str, place: str) -> None:
        self.problems.append(Problem(message, self.source, path=place))
