"""Which jobs a dependency condition means: by number, element or name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from .dependency import JobReference, parse_dependency, status_tests
from .instance import Instance
from .job import Job

_ELEMENT = re.compile(r"(?P<array>.+)\[(?P<index>\d{1,9})\]\Z")


def element_of(name: str) -> tuple[str, int]:
    """Array and index of ``101[3]``; a job that is no element is alone, with index 0."""
    match = _ELEMENT.match(name)
    return (match["array"], int(match["index"])) if match else (name, 0)


class Roster:
    """The jobs that there are, in the order in which they were submitted as far as that is known.

    last_only: of several jobs of one name the latest counts (JOB_DEP_LAST_SUB); else all of them.
    """

    def __init__(self, jobs: Sequence[Job], *, last_only: bool = True) -> None:
        self._jobs = jobs
        self._last_only = last_only

    @classmethod
    def of(cls, instance: Instance) -> Roster:
        """The jobs of an instance: running, pending, then those to come."""
        running = (item.job for item in instance.running)
        jobs = (*running, *instance.pending, *instance.future)
        return cls(jobs, last_only=instance.params.job_dep_last_sub)

    @cached_property
    def _by_number(self) -> Mapping[str, Mapping[int, Job]]:
        """Jobs and elements by the number of their job."""
        found: dict[str, dict[int, Job]] = defaultdict(dict)
        for job in self._jobs:
            array, index = element_of(job.id)
            found[array][index] = job
        return found

    @cached_property
    def _by_name(self) -> Mapping[str, Mapping[str, Mapping[str, int]]]:
        """By user and name the numbers of the jobs, each with its place among all."""
        found: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
        for place, job in enumerate(self._jobs):
            if job.name:
                number = element_of(job.id)[0]
                found[job.user][job.name.partition("[")[0]][number] = place
        return found

    @cached_property
    def _places(self) -> Mapping[str, tuple[int, int]]:
        """When jobs were submitted, and their place among all, by number."""
        found: dict[str, tuple[int, int]] = {}
        for place, job in enumerate(self._jobs):
            found.setdefault(element_of(job.id)[0], (job.submit, place))
        return found

    def meant(self, reference: JobReference, asker: Job) -> tuple[str, ...]:
        """The ids of the jobs or elements that a job refers to, () where nobody knows them.

        A name means own jobs that came before the asker, if there are any.
        """
        own, index = element_of(asker.id)
        found: list[str] = []
        for number in self._numbers(reference, asker.user, own):
            members = self._by_number[number]
            wanted: Sequence[int] = reference.elements or tuple(members)
            if reference.each and index:
                wanted = (index,)
            if any(item not in members for item in wanted):
                return ()
            found += [members[item].id for item in wanted]
        return tuple(dict.fromkeys(found))

    def _numbers(self, reference: JobReference, user: str, own: str) -> list[str]:
        if not reference.quoted and reference.name in self._by_number:
            return [reference.name]
        names = self._by_name.get(user, {})
        known: dict[str, int] = {}
        if reference.name.endswith("*"):
            stem = reference.name[:-1]
            for name, numbers in names.items():
                known |= numbers if name.startswith(stem) else {}
        else:
            known.update(names.get(reference.name, {}))
        known.pop(own, None)
        if not known:
            return [reference.name] if reference.name in self._by_number else []
        here = self._places.get(own)
        before = [n for n in known if here is None or self._places[n] < here]
        chosen = sorted(before or known, key=lambda n: self._places[n])
        last = self._last_only and not reference.name.endswith("*")
        return chosen[-1:] if last else chosen


def predecessors(roster: Roster, job: Job) -> tuple[str, ...]:
    """The jobs that the condition of a job names. Raises DependencyError."""
    if not job.dependency:
        return ()
    tests = status_tests(parse_dependency(job.dependency))
    return tuple(dict.fromkeys(name for test in tests for name in roster.meant(test.job, job)))


def circle(waits_for: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Jobs that wait for each other in a circle, () if none do. waits_for: by id."""
    done: set[str] = set()
    for first in waits_for:
        path: dict[str, Iterator[str]] = {}
        stack = [first] if first not in done else []
        while stack:
            name = stack[-1]
            if name not in path:
                path[name] = iter(waits_for.get(name, ()))
            step = next(path[name], None)
            if step is None:
                done.add(name)
                del path[name]
                stack.pop()
            elif step in path:
                names = list(path)
                return (*names[names.index(step) :], step)
            elif step not in done:
                stack.append(step)
    return ()


def waiting_order(order: Sequence[str], waits_for: Mapping[str, Sequence[str]]) -> list[str]:
    """An order in which every job comes behind those it waits for, otherwise as it was.

    Jobs in a circle come last.
    """
    inside = set(order)
    open_still = {
        name: {other for other in waits_for.get(name, ()) if other in inside and other != name}
        for name in order
    }
    followers: dict[str, list[str]] = defaultdict(list)
    for name in order:
        for other in open_still[name]:
            followers[other].append(name)
    found: dict[str, None] = {}
    passed: set[str] = set()
    for name in order:
        passed.add(name)
        ready = [] if open_still[name] else [name]
        while ready:
            item = ready.pop(0)
            found[item] = None
            for follower in followers[item]:
                open_still[follower].discard(item)
                ready += [follower] if follower in passed and not open_still[follower] else []
    return [*found, *(name for name in order if name not in found)]
