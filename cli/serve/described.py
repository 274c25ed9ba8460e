"""The bodies and statuses of the answers, as the description of the API has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .answers import JobsAnswer, StateTime

__all__ = [
    "AccuracyAnswer", "AskAnswer", "Health", "JobAnswer", "JobLeft", "JobsAnswer", "PlanAnswer",
    "SlotsAnswer", "answers_of",
]  # fmt: skip


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
