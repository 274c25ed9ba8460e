"""Answers of the service as records: each with the time of its state, cautions and staleness."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from ...model.display import DAY, clock_text, data_of, iso_time
from ...model.duration import expected_finish, two_cycles
from ...model.formats.submit import UNNAMED
from ...model.job import NO_RUN_LIMIT
from ...solver.advice.likely import times_of
from ...solver.advice.slots import free_when, hours
from ..listing import queue_loads
from ..outlook_text import short_reason
from .access import Viewer
from .board import BoardRow, BoardState, PlannedRow, RowChange, StartMove
from .polls import shifted, zero_of

if TYPE_CHECKING:
    from ...model.instance import Instance
    from ...model.omissions import Omission

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
    if isinstance(record, float):
        return record if isfinite(record) else None
    if isinstance(record, Mapping):
        return {str(key): finite(value) for key, value in record.items()}
    if isinstance(record, (list, tuple)):
        return [finite(value) for value in record]
    return record


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
