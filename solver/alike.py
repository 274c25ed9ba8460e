"""Equality of jobs, defined once for demands, running use, kinds in the simulation and proofs.

It names the fields of a job that do *not* matter. A new field of :class:`Job` therefore
distinguishes jobs until it is shown that no answer depends on it; ``tests/test_alike.py`` varies
each.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import fields
from operator import attrgetter

from ..model.job import Job

#: Fields of identity, position in the dispatch order, account and objective.
_OF_ITSELF = frozenset(
    {
        "submit",
        "queued_as",
        "priority",
        "has_fixed_priority",
        "aps",
        "weight",
        "group",
        "name",
        "requeued",
        "unheeded",
        "assumed",
    }
)
#: Fields that determine start and run time, but neither hosts nor amounts.
_TIMES = frozenset(
    {
        *("begin", "deadline", "dependency", "think_time", "orphan_term"),
        *("run_limit", "cpu_limit", "estimated_run_time", "run_time", "cpu_time"),
    }
)
#: Fields that count by their effect: limits by user and projects, those of an array, a home.
_BY_MEANING = frozenset({"id", "array_limit", "user", "project", "license_project", "from_host"})
#: All other fields.
_ASKED: Callable[[Job], tuple[object, ...]] = attrgetter(
    *(field.name for field in fields(Job) if field.name not in _OF_ITSELF | _TIMES | _BY_MEANING)
)
#: Key that is equal for jobs of one effective requirement.
merged: Callable[[Job], Hashable] = attrgetter(
    *("res_req", "gpu", "queue", "application", "slots", "max_slots", "extsched"),
    "requirement_alternative",
)
#: Key that is equal for jobs with equal expected run times and equal kill times.
spans: Callable[[Job], Hashable] = attrgetter(
    *("run_limit", "estimated_run_time", "cpu_limit", "queue", "application")
)


def asked(job: Job, whose: Hashable, home: Hashable) -> Hashable:
    """Return a key that is equal for jobs with equal possible allocations and equal use.

    whose: identity of the job for limits. home: type and model of its submission host.
    """
    return (*_ASKED(job), whose, home)


class Same:
    """Equal for one and the same object, which it keeps, so that no other gets its identity."""

    __slots__ = ("_of",)

    def __init__(self, of: object) -> None:
        self._of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self._of is other._of

    def __hash__(self) -> int:
        return id(self._of)
