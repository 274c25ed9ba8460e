"""Arrays and conditions over many jobs: counted before they are made, looked at as classes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slotwise import InputError, Job, loads
from slotwise.model.dependency import (
    JobIndex,
    JobReference,
    dependency_cycle,
    element_of,
    parse_dependency,
    waiting_order,
)
from slotwise.model.input_limits import limited
from slotwise.model.job import parse_spec, ranges_of
from slotwise.solver.precedence import Precedence


def text_of(*pending: dict[str, object], **more: object) -> str:
    hosts = [{"name": "h", "slots": 8}]
    params = {"MAX_JOB_ARRAY_SIZE": 2_000_000}
    return json.dumps(
        {"format": "slotwise/1", "hosts": hosts, "params": params, "pending": pending, **more}
    )


def test_as_many_as_the_limit_are_read_and_the_limit_can_be_raised() -> None:
    text = text_of({"id": 1, "array": "1-30"}, {"id": 2, "array": "1-9:2"})
    with limited(elements=35):
        assert len(loads(text).pending) == 35
    with limited(elements=34), pytest.raises(InputError, match="more than 34 elements"):
        loads(text)


def test_a_running_element_does_not_count_the_array_of_its_line() -> None:
    running = [
        {"id": f"1[{n}]", "bsub": '-J "a[1-30]"', "start": 0, "allocation": {"h": 1}}
        for n in (1, 2, 3)
    ]
    with limited(elements=40):
        assert len(loads(text_of({"id": 2, "array": "1-10"}, running=running)).running) == 3


ranges = st.builds(
    lambda first, length, step: f"{first}-{first + length}:{step}",
    st.integers(1, 60),
    st.integers(0, 30),
    st.integers(1, 4),
)


@given(st.lists(ranges, min_size=1, max_size=5))
def test_ranges_are_joined_as_the_numbers_that_they_stand_for(parts: list[str]) -> None:
    numbers = set()
    for part in parts:
        first, rest = part.split("-")
        last, step = map(int, rest.split(":"))
        numbers |= set(range(int(first), last + 1, step))
    assert parse_spec(",".join(parts)).ranges == ranges_of(numbers)


def test_elements_of_a_reference_are_no_list_of_numbers() -> None:
    """Twenty thousand references to as many elements each fit into a megabyte of text."""
    (test,) = [parse_dependency("done(a[1-20000:3,7])")]
    assert test.job.ranges == (range(1, 20_001, 3), range(7, 8))  # type: ignore[union-attr]
    with pytest.raises(InputError, match="names more than 25,000 elements"):
        parse_dependency("done(a[1-300000,1-300000:2])")


def plainly_meant(jobs: Sequence[Job], last_only: bool, ref: JobReference, asker: Job) -> list[str]:
    """What a reference means, by going through all jobs."""
    own, index = element_of(asker.id)
    numbered: dict[str, dict[int, Job]] = defaultdict(dict)
    first: dict[str, tuple[int, int]] = {}
    for place, job in enumerate(jobs):
        number, at = element_of(job.id)
        numbered[number][at] = job
        # All elements of an array were submitted at once, at the earliest time that one has.
        first[number] = (min(job.submit, first.get(number, (job.submit, 0))[0]), place)
    known = {
        element_of(job.id)[0]
        for job in jobs
        if job.user == asker.user and job.name
        if (job.name.startswith(ref.name[:-1]) if ref.name[-1:] == "*" else job.name == ref.name)
    } - {own}
    if not ref.quoted and ref.name in numbered:
        chosen = [ref.name]
    elif not known:
        chosen = [ref.name] if ref.name in numbered else []
    else:
        here = first.get(own)
        before = [n for n in known if here is None or first[n] < here]
        chosen = sorted(before or known, key=lambda n: first[n])
        chosen = chosen[-1:] if last_only and not ref.name.endswith("*") else chosen
    found: list[str] = []
    for number in chosen:
        wanted = list(ref.elements) or list(numbered[number])
        wanted = [index] if ref.each and index else wanted
        if any(item not in numbered[number] for item in wanted):
            return []
        found += [numbered[number][item].id for item in wanted]
    return list(dict.fromkeys(found))


some_jobs = st.lists(
    st.builds(
        lambda number, index, name, user, submit: Job(
            f"{number}[{index}]" if index else str(number), name=name, user=user, submit=submit
        ),
        st.integers(1, 12),
        st.integers(0, 2),
        st.sampled_from(["", "a", "ab", "b", "3"]),
        st.sampled_from(["u", "v"]),
        st.integers(0, 3),
    ),
    max_size=14,
    unique_by=lambda job: job.id,
)
references = st.builds(
    JobReference,
    st.sampled_from(["a", "a*", "ab", "*", "b*", "c*", "3", "3*", "5"]),
    st.booleans(),
    st.sampled_from([(), (range(1, 2),), (range(2, 3), range(1, 3))]),
    st.booleans(),
)


@settings(max_examples=30)
@given(some_jobs, st.booleans(), st.lists(references, min_size=1, max_size=3))
def test_names_are_matched_as_by_going_through_all_jobs(
    jobs: list[Job], last_only: bool, asked: list[JobReference]
) -> None:
    roster = JobIndex(jobs, last_only=last_only)
    for asker in (*jobs, Job("99", user="u"), Job("98[2]", user="v")):
        for reference in asked:
            expected = plainly_meant(jobs, last_only, reference, asker)
            assert list(roster.resolve(reference, asker)) == expected


graphs = st.lists(
    st.tuples(st.sets(st.sampled_from("abcdefgh")), st.sets(st.sampled_from("abcdefgh"))),
    max_size=4,
)


@settings(max_examples=40)
@given(st.permutations("abcdefgh"), graphs)
def test_jobs_that_wait_for_the_same_are_ordered_as_each_alone(
    order: list[str], groups: list[tuple[set[str], set[str]]]
) -> None:
    """A tuple that several share, and a copy of its own for each, give the same."""
    shared: dict[str, Sequence[str]] = {}
    for names, others in groups:
        others_ = tuple(sorted(others))
        shared |= dict.fromkeys(sorted(names), others_)
    alone: Mapping[str, Sequence[str]] = {name: list(others) for name, others in shared.items()}
    assert waiting_order(order, shared) == waiting_order(order, alone)
    assert dependency_cycle(shared) == dependency_cycle(alone)
    found = waiting_order(order, shared)
    assert sorted(found) == sorted(order)
    if not dependency_cycle(shared):
        for name, others in shared.items():
            assert all(found.index(other) < found.index(name) for other in others if other != name)


def test_conditions_over_the_same_names_are_one() -> None:
    """300 conditions over 3,000 names were a list of 900,000."""
    named = [{"id": n, "bsub": f'-J "a{n}"'} for n in range(1, 31)]
    asking = [{"id": n, "bsub": f"-J b{n} -w 'done(\"a*\")'"} for n in range(101, 111)]
    instance = loads(text_of(*named, *asking))
    found = Precedence.of(instance)
    assert len(found.releases) == 10
    assert len({id(item.event) for item in found.releases.values()}) == 1
    assert len({id(names) for names in found.waits_for().values()}) == 1
    with limited(names=299), pytest.raises(InputError, match="more than 299 jobs"):
        loads(text_of(*named, *asking))
    with limited(names=300):
        assert loads(text_of(*named, *asking)) == instance
