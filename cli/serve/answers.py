"""Answers of the service as records, as a viewer may see them; their description; Atom."""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Final
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, tostring

from ...model.display import DAY, clock_text, data_of, iso_time
from ...model.duration import expected_finish, two_cycles
from ...model.escaping import printable
from ...model.formats.submit import UNNAMED
from ...model.instance import Instance
from ...model.job import NO_RUN_LIMIT
from ...model.omissions import Omission
from ...solver.advice.likely import times_of
from ...solver.advice.slots import free_when, hours
from ..listing import queue_loads
from ..outlook_text import short_reason
from ..tables import mapped
from .access import Viewer
from .board import BoardRow, BoardState, PlannedRow, RowChange, StartMove
from .polls import shifted, zero_of

#: Maximum number of rows of one answer, and of hosts of one job.
MAX_ROWS, MAX_HOSTS = 5000, 24


@dataclass(frozen=True, slots=True)
class StateTime:
    """The head of every answer."""

    #: Number of the state; a new one has a larger number.
    version: int
    #: Name of the source.
    source: str
    #: Time of the state: ISO 8601, or seconds of a clock without dates.
    time: str
    #: Seconds since 1970 at which it was read, None before the first poll.
    read_at: float | None
    #: Whether no poll has succeeded for some intervals, or the last one failed.
    stale: bool
    #: Message of the last poll or plan that failed, "" if none did.
    problem: str
    #: Whether starts of this state are still being computed.
    planning: bool


@dataclass(frozen=True, slots=True)
class JobsAnswer:
    """The pending jobs."""

    state: StateTime
    #: Hosts, slots, running and pending jobs of the cluster, its queues, its hosts not in use, and
    #: the slots in use over the next 24 hours.
    cluster: Mapping[str, Any]
    jobs: list[dict[str, Any]]
    #: User and queue of a job in a question that names none, and the queues; null before the first
    #: state.
    assumed: dict[str, Any] | None
    #: Rules that starts do not take into account, each with its jobs.
    cautions: list[dict[str, Any]]
    #: Remarks of the reader of the state.
    warnings: list[str]
    #: Pending jobs in all that the viewer sees.
    total: int


def finite(record: Any) -> Any:
    """Return a record with None in place of numbers that JSON does not have."""
    return mapped(record, lambda x: None if isinstance(x, float) and not isfinite(x) else x)


def dumped(record: Any) -> bytes:
    """Return a record as compact JSON."""
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode()


def state_record(state: BoardState, source: str, viewer: Viewer, *, stale: bool) -> dict[str, Any]:
    """Return the head of an answer; the fields of :class:`StateTime`."""
    polled, problem = state.polled, state.problem or state.unplanned
    if problem and viewer.user is not None:  # it may name jobs of others
        problem = "the last state could not be read, planned or stored"
    return {
        "version": state.version,
        "source": source,
        "time": "" if polled is None else time_of_state(polled.instance),
        "read_at": None if polled is None else round(polled.read_at, 3),
        "stale": stale,
        "problem": problem,
        "planning": state.planning,
    }


def time_of_state(instance: Instance) -> str:
    """Return the time of a state as ISO 8601; without dates as its second."""
    return iso_time(instance.origin, instance.now) or f"second {instance.now}"


def jobs_record(
    state: BoardState, head: dict[str, Any], viewer: Viewer, only: Mapping[str, str]
) -> dict[str, Any]:
    """Return the answer with the pending jobs; the fields of :class:`JobsAnswer`.

    only: values that columns must have.
    """
    instance = None if state.polled is None else state.polled.instance
    seen = [row for row in state.rows if viewer.sees(row.job.user)]
    chosen = [
        row for row in seen if all(getattr(row.job, name) == value for name, value in only.items())
    ]
    rows = [] if instance is None else [row_record(row, instance) for row in chosen[:MAX_ROWS]]
    names = {row.job.id for row in seen}
    return {
        "state": head,
        "cluster": {} if instance is None else cluster_record(state, instance, seen),
        "assumed": None if instance is None else assumed_record(instance, viewer),
        "jobs": rows,
        "cautions": cautions_record(state, names),
        "warnings": warnings_of(state, viewer),
        "total": len(seen),
    }


def assumed_record(instance: Instance, viewer: Viewer) -> dict[str, Any]:
    """Return the user and the queue of a job in a question that names none.

    is_fixed: whether a proxy names the user.
    """
    return {
        "user": viewer.user or UNNAMED,
        "is_fixed": viewer.user is not None,
        "queue": instance.params.default_queue,
        "queues": [queue.name for queue in instance.queues],
    }


def warnings_of(state: BoardState, viewer: Viewer) -> list[str]:
    """Return remarks on the state, and why there is no forecast; a named user gets their number."""
    found = [] if state.polled is None else list(state.polled.warnings)
    if state.not_forecast:
        found.append(f"no forecast: {state.not_forecast}")
    if found and viewer.user is not None:
        return [f"remarks on this state, for users who see all jobs: {len(found)}"]
    return found


def cluster_record(
    state: BoardState, instance: Instance, seen: Sequence[BoardRow]
) -> dict[str, Any]:
    """Return the size of a cluster, its queues, hosts not in use, and slots over time.

    seen: rows that the viewer may see.
    """
    hosts = instance.cluster.hosts
    return {
        "hosts": len(hosts),
        "slots": sum(host.slots for host in hosts),
        "running": len(instance.running),
        "pending": len(instance.pending),
        "min_gain": two_cycles(instance),
        "queues": [asdict(item) for item in queue_loads(instance, [row.job for row in seen])],
        "not_in_use": [
            {"host": host.name, "status": host.status, "slots": host.slots}
            for host in hosts
            if not host.takes_jobs
        ][:MAX_HOSTS],
        **_over_time(state),
    }


def _over_time(state: BoardState) -> dict[str, Any]:
    """Return the slots of each kind of hosts over 24 hours, of the last planned state."""
    if state.planned is None or state.latest is None:
        return {}
    instance = state.planned.instance
    times = hours(instance.now, DAY)
    found = free_when(instance, state.latest.configured.values(), times)
    return {
        **_times({"from": times[0], "until": times[-1]}, instance),
        "kinds": [asdict(item) for item in found[:MAX_HOSTS]],
    }


def row_record(row: BoardRow, instance: Instance) -> dict[str, Any]:
    """Return a pending job with its predicted starts; times in seconds of the instance."""
    job, planned = row.job, row.planned
    found: dict[str, Any] = {
        **data_of(job, "job=id user queue slots"),
        **_times({"submit": job.submit}, instance),
        "state": "not examined" if planned is None else planned.listed.state,
        "of_earlier_state": row.of_earlier_state,
    }
    if planned is None:
        return found
    found["possible_of_earlier_state"] = planned.possible_of != row.newest
    predicted = planned.predicted
    times: dict[str, int | None] = data_of(predicted, "as_configured possible estimate")
    if planned.likely is not None:
        times |= times_of(planned.likely)
    found |= _times(shifted(times, planned.zero - zero_of(instance)), instance)
    found |= {
        **data_of(predicted, "proved earlier_by"),
        "no_earlier": _no_earlier(planned),
        "waits_for": short_reason(planned.listed.waits_for),
        "reason": planned.listed.waits_for,
        "cautions": [item.name for item in predicted.cautions],
        "possible_cautions": [item.name for item in predicted.possible_cautions],
        "changed": _change_record(planned.change, instance),
    }
    return found


def _no_earlier(planned: PlannedRow) -> str:
    """Return why the job could not start earlier than as configured, "" if it could."""
    if not planned.predicted.is_no_earlier:
        return ""
    is_of_one_state = planned.possible_of == planned.number
    return planned.listed.possible_text if is_of_one_state else "planning …"


def _change_record(change: RowChange | None, instance: Instance) -> dict[str, Any] | None:
    if change is None:
        return None
    at = _times({"at": change.at - zero_of(instance)}, instance)
    return data_of(change, "kind by because text") | at


def _times(times: Mapping[str, int | None], instance: Instance) -> dict[str, Any]:
    """Return times, each followed by an ISO stamp or a short text."""
    found: dict[str, Any] = {}
    for name, time in times.items():
        found[name] = time
        if instance.origin is not None:
            found[f"{name}_time"] = iso_time(instance.origin, time)
        elif time is not None:
            found[f"{name}_text"] = clock_text(instance, time)
    return found


def cautions_record(state: BoardState, names: set[str]) -> list[dict[str, Any]]:
    """Return the omissions of the starts, each with those of the named jobs that it touches."""
    found: dict[str, tuple[Omission, list[str]]] = {}
    for row in state.rows:
        if row.planned is None or row.job.id not in names:
            continue
        predicted = row.planned.predicted
        for item in (*predicted.cautions, *predicted.possible_cautions):
            found.setdefault(item.name, (item, []))[1].append(row.job.id)
    return [{"caution": name, "jobs": jobs} for name, (_, jobs) in found.items()]


def job_record(
    state: BoardState, row: BoardRow, head: dict[str, Any], viewer: Viewer
) -> dict[str, Any]:
    """Return the answer for one pending job."""
    assert state.polled is not None
    instance, planned = state.polled.instance, row.planned
    position = next(at for at, other in enumerate(state.rows, 1) if other is row)
    return {
        "state": head,
        "job": row_record(row, instance),
        "now": instance.now,
        "position": position,
        "of": len(state.rows),
        "run_limit": None if row.job.run_limit == NO_RUN_LIMIT else row.job.run_limit,
        "lines": [] if planned is None else list(planned.listed.lines),
        "outlook": None if planned is None else planned.predicted.to_dict(planned.origin),
        "place": [] if planned is None else place_record(state, planned, instance, viewer),
        "moves": [] if planned is None else moves_record(planned, instance),
    }


def moves_record(planned: PlannedRow, instance: Instance) -> list[dict[str, Any]]:
    """Return how the starts of a job have moved, the last state first."""
    by = -zero_of(instance)
    return [
        {
            **_times(shifted(_starts_of(move), by), instance),
            "change": _change_record(move.change, instance),
        }
        for move in reversed(planned.moves)
    ]


def moved_record(
    planned: PlannedRow, start: int | None, change: RowChange, instance: Instance
) -> dict[str, Any]:
    """Return a move of a job's start as configured, to this one."""
    starts = {"before": change.before, "as_configured": start}
    return {
        **data_of(planned.listed, "job user queue slots"),
        **(_change_record(change, instance) or {}),
        **_times(shifted(starts, -zero_of(instance)), instance),
    }


def _starts_of(move: StartMove) -> dict[str, int | None]:
    starts = "at", "as_configured", "possible", "likely"
    return {name: getattr(move, name) for name in starts}


def left_record(
    state: BoardState, job: str, head: dict[str, Any], viewer: Viewer
) -> dict[str, Any]:
    """Return where a job runs that is not pending, and its earlier estimates."""
    found: dict[str, Any] = {"state": head, "now": None, "run": None, "moves": []}
    if state.polled is None:
        return found
    instance, planned = state.polled.instance, state.left.get(job)
    found["now"] = instance.now
    runs = (run for run in instance.running if run.job.id == job and viewer.sees(run.job.user))
    for run in runs:
        times = {
            "submit": run.job.submit,
            "started": run.start,
            "until": expected_finish(instance, run),
        }
        names = "user=job.user queue=job.queue slots on=allocation"
        found["run"] = data_of(run, names) | _times(times, instance)
    if planned is not None and viewer.sees(planned.listed.user):
        found["moves"] = moves_record(planned, instance)
    return found


def place_record(
    state: BoardState, planned: PlannedRow, instance: Instance, viewer: Viewer
) -> list[dict[str, Any]]:
    """Return the hosts of a job's start as configured and of its possible one, with their jobs.

    Planned jobs are those that start until then. () if its start is of an earlier state than the
    last whole plan. Jobs that the viewer does not see are listed apart, without their ids.
    """
    predicted, whole = planned.predicted, state.planned
    if predicted.as_configured is None or whole is None or whole.number != planned.number:
        return []
    shift = planned.zero - zero_of(instance)
    slots_of = {host.name: host.slots for host in whole.instance.cluster.hosts}
    found: dict[str, dict[str, Any]] = {
        name: {"host": name, "slots": slots_of[name], "jobs": [], "others": [], "could_start": None}
        for name in [*{**predicted.as_configured_on, **predicted.possible_on}][:MAX_HOSTS]
        if name in slots_of
    }

    def put(kind: str, job: str, on: Mapping[str, int], start: int | None, end: int | None) -> None:
        times = shifted({"start": start, "end": end}, shift)
        for name in found.keys() & on.keys():
            own = {"job": job} if viewer.sees(user_of[job]) else {}
            stretch = {"kind": kind, **own, "slots": on[name], **times}
            found[name]["jobs" if own else "others"].append(stretch)

    user_of = {job.id: job.user for job in whole.instance.pending}
    for run in whole.instance.running:
        user_of[run.job.id] = run.job.user
        if found.keys() & run.allocation.keys():
            end = expected_finish(whole.instance, run)
            put("running", run.job.id, run.allocation, None, end)
    for item in () if state.latest is None else state.latest.configured.values():
        if item.start is not None and item.start <= predicted.as_configured:
            put("planned", item.job, item.allocation, item.start, item.finish)
    if predicted.possible is not None and predicted.possible < predicted.as_configured:
        length = predicted.as_configured_end
        end = None if length is None else predicted.possible + length - predicted.as_configured
        times = shifted({"start": predicted.possible, "end": end}, shift)
        for name in found.keys() & predicted.possible_on.keys():
            found[name]["could_start"] = {"slots": predicted.possible_on[name], **times}
    return list(found.values())


def plan_record(state: BoardState, head: dict[str, Any], viewer: Viewer) -> dict[str, Any]:
    """Return the plan of possible starts; a named user gets only own jobs."""
    predicted = state.predicted
    plan = None if predicted is None or predicted.plan is None else predicted.plan.to_dict()
    own = {row.job.id for row in state.rows if viewer.sees(row.job.user)}
    if plan is not None and viewer.user is not None:
        plan["reservations"] = [item for item in plan["reservations"] if item["job"] in own]
        plan["unplaced"] = [item for item in plan["unplaced"] if item["job"] in own]
    of = None if state.predicted_of is None else time_of_state(state.predicted_of.instance)
    return {
        "state": head,
        "plan": plan,
        "plan_of": of,
        "cautions": cautions_record(state, own),
    }


@dataclass(frozen=True, slots=True)
class Refused:
    """A request without its answer."""

    #: Error and accepted values, in one sentence.
    error: str


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """One pending job; times in seconds of the instance."""

    state: StateTime
    job: dict[str, Any]
    now: int
    #: Place in the order of the pending jobs, and their number.
    position: int
    of: int
    run_limit: int | None
    #: Sentences on its start.
    lines: list[str]
    outlook: dict[str, Any] | None
    #: Hosts of its start and of the possible one, with the jobs there until then.
    place: list[dict[str, Any]]
    #: Starts of earlier states, and those in the store.
    moves: list[dict[str, Any]]
    history: list[dict[str, Any]]
    #: With explain=true: why it waits, and commands that would help.
    explanation: dict[str, Any] | None = None
    commands: list[str] | None = None


@dataclass(frozen=True, slots=True)
class JobLeft:
    """A job that is not pending."""

    error: str
    state: StateTime
    #: Second of the state, null before the first one.
    now: int | None
    #: Its start, its latest end, its hosts, slots, user and queue; null if it does not run.
    run: dict[str, Any] | None
    #: Estimates while it waited: of the last states, and those in the store.
    moves: list[dict[str, Any]]
    history: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """The plan of possible starts, null before the first one."""

    state: StateTime
    plan: dict[str, Any] | None
    #: Time of the state that was planned.
    plan_of: str | None
    cautions: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class AskAnswer:
    """When a job would start, as data and as sentences."""

    state: StateTime
    answer: dict[str, Any]
    lines: list[str]


@dataclass(frozen=True, slots=True)
class SlotsAnswer:
    """What could start now, and free slots over time."""

    state: StateTime
    slots: dict[str, Any]


@dataclass(frozen=True, slots=True)
class AccuracyAnswer:
    """How right the estimates were, null without a store."""

    state: StateTime
    accuracy: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Health:
    """Whether the service works: "ok", or why not."""

    status: str
    stale: bool
    version: str


#: Statuses other than 200, each with its cause.
_CAUSES: Final[Mapping[int, str]] = {
    304: "The state is still the one whose ETag was sent as If-None-Match; there is no body.",
    400: "The request has a value that is not accepted.",
    401: "The token is missing or wrong.",
    403: "The proxy names no user.",
    404: "The job is not pending, or a name is unknown.",
    413: "The body is too long, or came too slowly.",
    414: "The address is too long.",
    415: "The body is not of the type application/json.",
    421: "Without a token, only this machine is answered.",
    429: "Too many questions of this client are waiting; Retry-After gives the time to wait.",
    503: "There is no answer now; Retry-After gives the time to wait.",
}
#: Statuses of every request that needs access.
_OF_ALL: Final = (400, 401, 403, 414, 421)


def answers_of(
    body: type | str, *more: int, is_open: bool = False, unknown: type = Refused
) -> dict[int | str, Any]:
    """Return the answers of a path by status. body: of 200; a media type if it is not a record.

    more: statuses of this path alone. is_open: whether it needs no access. unknown: body of 404.
    """
    record: dict[str, Any] = {"model": body}
    done = {"content": {body: {}}} if isinstance(body, str) else record
    found: dict[int | str, Any] = {200: {"description": "The answer.", **done}}
    for status in sorted((*more, *(() if is_open else _OF_ALL))):
        model = body if is_open else unknown if status == 404 else Refused
        refused = {} if status == 304 else {"model": model}
        found[status] = {"description": _CAUSES[status], **refused}
    return found


#: Maximum number of entries.
MAX_ENTRIES = 100
#: Content type of a feed.
ATOM = "application/atom+xml"
#: Second 0 of an instance without dates.
_NO_DATE = "1970-01-01T00:00:00+00:00"


def feed_record(
    state: BoardState, head: dict[str, Any], viewer: Viewer, only: Mapping[str, str]
) -> dict[str, Any]:
    """Return the last moved starts, the latest first. only: values that columns must have."""
    polled = state.polled
    if polled is None:
        return {"state": head, "now": _NO_DATE, "moved": []}
    origin = polled.instance.origin or _NO_DATE

    def moves() -> Iterator[tuple[int, str, PlannedRow, int | None, RowChange]]:
        waiting = (row.planned for row in state.rows if row.planned is not None)
        for row in (*waiting, *state.left.values()):
            listed = row.listed
            chosen = all(getattr(listed, name) == value for name, value in only.items())
            for move in row.moves if chosen and viewer.sees(listed.user) else ():
                if move.change is not None and move.change.is_move:
                    yield move.at, listed.job, row, move.as_configured, move.change

    latest = heapq.nlargest(MAX_ENTRIES, moves(), key=lambda item: item[:2])
    moved = []
    for at, _, row, start, change in latest:
        record = moved_record(row, start, change, polled.instance)
        stamp = iso_time(origin, at - zero_of(polled.instance))
        moved.append({**record, "updated": stamp})
    return {"state": head, "now": iso_time(origin, polled.instance.now), "moved": moved}


def atom(record: Mapping[str, Any]) -> bytes:
    """Return the feed of a record as XML."""
    source, moved = record["state"]["source"], record["moved"]
    feed = Element("feed", xmlns="http://www.w3.org/2005/Atom")
    of_source = f"urn:slotwise:{quote(source, safe='')}"
    updated = moved[0]["updated"] if moved else record["now"]
    _texts(feed, title=f"Moved starts, {source}", id=of_source, updated=updated)
    SubElement(SubElement(feed, "author"), "name").text = "slotwise"
    SubElement(feed, "link", rel="self", type=ATOM, href="feed.atom")
    SubElement(feed, "link", rel="alternate", type="text/html", href="./")
    for item in moved:
        entry, job = SubElement(feed, "entry"), quote(item["job"], safe="")
        _texts(
            entry,
            title=f"{item['job']}: {item['text']}",
            id=f"{of_source}:{job}:{item['updated']}",
            updated=item["updated"],
            summary=f"Start as configured: {_start(item, 'as_configured')}, before "
            f"{_start(item, 'before')}. User {item['user']}, queue {item['queue']}, "
            f"slots {item['slots']}.",
        )
        SubElement(entry, "link", href=f"job/{job}")
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + tostring(feed)


def _texts(parent: Element, **texts: str) -> None:
    """Add elements with texts; a character that XML cannot have is escaped."""
    for name, text in texts.items():
        SubElement(parent, name).text = printable(text)


def _start(item: Mapping[str, Any], name: str) -> str:
    """Return a start as a stamp, or as a short text without dates."""
    return item.get(f"{name}_time") or item.get(f"{name}_text") or "unknown"


_ID = r"(?!(?:jobs?|until)\b)[\w\[\]-]+(?:\.\w+)*(?![\w\[]| more)"
#: A list of jobs in a sentence, in a command, and one job between quotes or before a time.
_LISTED = re.compile(
    rf"\b(jobs?|when|until|after|before|behind|for|of|if) ({_ID}(?:(?:, | and | or ){_ID})*)"
)
_COMMAND = re.compile(rf"\b(brequeue|bkill|bstop|scontrol requeue|scancel) ({_ID}(?: {_ID})*)")
_ONE = re.compile(rf"(?<=')[^']+(?=')|{_ID}(?= at [\d+n])")
_NUMBER = re.compile(r"\d+(\[\d+\])?")


def shown(record: Any, state: BoardState, viewer: Viewer) -> Any:
    """Return an answer as a viewer may see it: a named user learns no id of a job of others."""
    if viewer.user is None:
        return record
    return mapped(record, _SeenJobs.of(state, viewer).without_others)


@dataclass(frozen=True, slots=True)
class _SeenJobs:
    """Ids of the jobs of a state by whether a viewer sees them."""

    own: frozenset[str]
    others: frozenset[str]

    @classmethod
    def of(cls, state: BoardState, viewer: Viewer) -> _SeenJobs:
        seen: dict[bool, set[str]] = {True: set(), False: set()}
        for poll in filter(None, (state.polled, state.planned)):
            for job in (*poll.instance.pending, *(run.job for run in poll.instance.running)):
                seen[viewer.sees(job.user)].add(job.id)
        rows = (*state.left.values(), *(row.planned for row in state.rows))
        for row in rows:  # what moved their starts may have left the cluster
            if row is not None and viewer.sees(row.listed.user):
                seen[True].add(row.listed.job)
                changes = [move.change for move in row.moves if move.change is not None]
                seen[False].update(name for change in changes for name in change.named)
        return cls(frozenset(seen[True]), frozenset(seen[False] - seen[True]))

    def without_others(self, value: Any) -> Any:
        """Return a value of a record; a sentence names no job of others."""
        if not isinstance(value, str):
            return value
        if value in self.others:
            return "another job"
        text = _LISTED.sub(self._listed, _COMMAND.sub(self._listed, value))
        return _ONE.sub(lambda one: "another job" if one[0] in self.others else one[0], text)

    def _listed(self, found: re.Match[str]) -> str:
        lead, names = found[1], re.split(", | and | or | ", found[2])
        of_jobs = lead.startswith("job")
        # A job that has finished is in no state: of its id only the form is known.
        gone = [n for n in names if of_jobs and n not in self.own and _NUMBER.fullmatch(n)]
        hidden = self.others.intersection(names).union(gone)
        if not hidden:
            return found[0]
        known = [name for name in names if name not in hidden]
        rest = "another job" if len(hidden) == 1 else "other jobs"
        if known:
            return f"{lead} {', '.join(known)} and {rest}"
        return rest if of_jobs else f"{lead} {rest}"
