"""An instance made in memory meets the rules of files: the same mistakes, in the same words."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import format_cases
import numpy as np
import pytest
import random_instances
import slotwise as sw
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from sampling import some
from slotwise import Scope
from slotwise.model.input_limits import limited

QUIET = examples(30)
HERE = Path(__file__).parent
SMALL = sw.load(HERE / "small.yaml")
COMPLETE = sw.load(HERE.parent / "formats" / "complete.yaml")
Change = Callable[[Any], Any]


def problems_of(instance: Any) -> tuple[sw.Problem, ...]:
    """What is wrong."""
    try:
        sw.check(instance)
    except sw.InputError as error:
        return tuple(error.problems)
    return ()


def messages(instance: Any) -> list[str]:
    """What is wrong, without the places."""
    return sorted(problem.message for problem in problems_of(instance))


def messages_of_file(instance: sw.Instance) -> list[str]:
    """What the reader of files says about the same instance written down."""
    try:
        sw.from_document(sw.to_document(instance))
    except sw.InputError as error:
        return sorted(problem.message for problem in error.problems)
    return []


@given(format_cases.instances() | random_instances.instances())
@QUIET
def test_random_instances_are_sound(instance: sw.Instance) -> None:
    assert messages(instance) == []
    assert sw.instance(instance) is instance


def _first(instance: sw.Instance, section: str, **changes: Any) -> sw.Instance:
    """The first object of a section changed."""
    items = getattr(instance, section)
    if not items:
        return instance
    return replace(instance, **{section: (replace(items[0], **changes), *items[1:])})


def _host(instance: sw.Instance, **changes: Any) -> sw.Instance:
    cluster = instance.cluster
    first = replace(cluster.hosts[0], **changes)
    return replace(instance, cluster=replace(cluster, hosts=(first, *cluster.hosts[1:])))


def _running(instance: sw.Instance, **changes: Any) -> sw.Instance:
    if not instance.running:
        return instance
    job = replace(instance.running[0].job, **changes)
    return _first(instance, "running", job=job)


def _machines(instance: sw.Instance) -> set[str]:
    return {host.node_of for host in instance.cluster.hosts if host.node_of}


def _cluster(instance: sw.Instance, **changes: Any) -> sw.Instance:
    return replace(instance, cluster=replace(instance.cluster, **changes))


def _overbooked(instance: sw.Instance) -> sw.Instance:
    """The first host has one slot less than the running jobs hold."""
    held: dict[str, int] = {}
    for item in instance.running:
        if not item.suspended:
            for host, count in item.allocation.items():
                held[host] = held.get(host, 0) + count
    hosts = tuple(
        replace(host, slots=held[host.name] - 1) if host.name in held else host
        for host in instance.cluster.hosts
    )
    return _cluster(instance, hosts=hosts)


def _twice(instance: sw.Instance) -> sw.Instance:
    return replace(instance, pending=instance.pending + instance.pending[:1])


MISTAKES: dict[str, Change] = {
    "host without slots": lambda i: _host(i, slots=-4),
    "processors below 1": lambda i: _host(i, ncpus=0),
    "negative memory": lambda i: _host(i, amounts={"mem": -1}),
    "negative amount": lambda i: _host(i, amounts={"gpu": -2}),
    "factor of nothing": lambda i: _host(i, cpu_factor=0),
    "status": lambda i: _host(i, status="closed_adn"),
    "windows of a host": lambda i: _host(i, windows="25:00-7:00"),
    "slots of a user on a host": lambda i: _host(i, user_slots=-1),
    "host name": lambda i: _cluster(i, hosts=(sw.Host("a&b", 4), *i.cluster.hosts)),
    "group of nobody": lambda i: _cluster(i, groups=(sw.HostGroup("g:x", ("nobody",)),)),
    "group named as a host": lambda i: _cluster(
        i,
        groups=(
            sw.HostGroup(i.cluster.hosts[0].name, (i.cluster.hosts[1].name,)),
            *(group for group in i.cluster.groups if group.name in _machines(i)),
        ),
    ),
    "unit of an unknown type": lambda i: _cluster(
        i, units=(sw.ComputeUnit("u:x", "enclosur", (i.cluster.hosts[0].name,)),)
    ),
    "shared amount": lambda i: _cluster(i, shared=(sw.SharedResource("licence", -1),)),
    "resource twice": lambda i: _cluster(
        i, resources=(sw.ResourceDefinition("unit"), sw.ResourceDefinition("unit"))
    ),
    "resource of no kind": lambda i: _cluster(
        i, resources=(sw.ResourceDefinition("unit", kind="numerical"),)
    ),
    "slots of a job": lambda i: _first(i, "pending", slots=-4, max_slots=None),
    "no slots of a job": lambda i: _first(i, "pending", slots=0, max_slots=None),
    "range of slots": lambda i: _first(i, "pending", slots=8, max_slots=4),
    "run limit": lambda i: _first(i, "pending", run_limit=0),
    "negative run limit": lambda i: _first(i, "pending", run_limit=-60),
    "cpu limit": lambda i: _first(i, "pending", cpu_limit=-1),
    "run time": lambda i: _first(i, "pending", run_time=-1),
    "cpu time": lambda i: _first(i, "pending", cpu_time=-0.5),
    "weight": lambda i: _first(i, "pending", weight=-1),
    "too long": lambda i: _first(i, "pending", run_limit=10**13),
    "job id": lambda i: _first(i, "pending", id="a b"),
    "job twice": _twice,
    "unknown queue": lambda i: _first(i, "pending", queue="mian"),
    "unknown application": lambda i: _first(i, "pending", application="tol"),
    "unknown host asked for": lambda i: _first(i, "pending", hosts=(sw.HostRequest("nope"),)),
    "unknown submission host": lambda i: _first(i, "pending", from_host="nope"),
    "deadline before begin": lambda i: _first(i, "pending", begin=100, deadline=100),
    "requirement": lambda i: _first(i, "pending", res_req=("span[ptile=0]",)),
    "requirement without end": lambda i: _first(i, "pending", res_req=("span[ptile=2",)),
    "unknown resource": lambda i: _first(i, "pending", res_req=("rusage[licens=1]",)),
    "group of a stranger": lambda i: _first(i, "pending", group="staff"),
    "control character": lambda i: _first(i, "pending", user="an\x1bn"),
    "overbooked": _overbooked,
    "starts later": lambda i: _first(i, "running", start=i.now + 3600, finish=None),
    "ends before its start": lambda i: _first(i, "running", finish=i.now - 10**9),
    "holds on an unknown host": lambda i: _first(i, "running", allocation={"nope": 1}),
    "holds nothing": lambda i: _first(i, "running", allocation={}),
    "holds no slot": lambda i: _first(i, "running", allocation={"nope": 0}),
    "holds more than it asked for": lambda i: _running(
        i, slots=99, max_slots=None, resizable=False
    ),
    "alternative": lambda i: _first(i, "running", alternative=-1),
    "default above the maximum": lambda i: _first(i, "queues", run_limit=7200, run_limit_max=3600),
    "priority of a queue": lambda i: _first(i, "queues", priority=2**40),
    "limit of a queue": lambda i: _first(i, "queues", queue_slots=-1),
    "slots of a queue": lambda i: _first(i, "queues", slots=(4, None, 1)),
    "cycles of a queue": lambda i: _first(i, "queues", slot_reserve=0),
    "exclusive of a queue": lambda i: _first(i, "queues", exclusive="maybe"),
    "exclusive units of a queue": lambda i: _first(i, "queues", exclusive="CU[rak]"),
    "hosts of a queue": lambda i: _first(i, "queues", hosts=(sw.HostRequest("nope"),)),
    "shares of a queue": lambda i: _first(i, "queues", user_shares=(("ann", 0),)),
    "shares twice": lambda i: _first(i, "queues", user_shares=(("ann", 1), ("ann", 2))),
    "preemption": lambda i: _first(i, "queues", preemptive=("nope",)),
    "bounds": lambda i: _first(i, "queues", resrsv_limit={"mem": (100.0, 30.0)}),
    "requirement of a queue": lambda i: _first(i, "queues", res_req="select[mem>"),
    "chunks": lambda i: replace(
        _first(i, "queues", chunk_job_size=3),
        params=replace(i.params, time_reserve_numjobs=1),
    ),
    "unknown default queue": lambda i: replace(i, params=replace(i.params, default_queue="mian")),
    "parameter": lambda i: replace(i, params=replace(i.params, mbd_sleep_time=-1)),
    "unit of limits": lambda i: replace(i, params=replace(i.params, unit_for_limits="XB")),
    "half life": lambda i: replace(i, params=replace(i.params, hist_hours=-1)),
    "limit on nothing": lambda i: replace(i, limits=(sw.Limit("l"),)),
    "limit below 0": lambda i: replace(i, limits=(sw.Limit("l", {"slots": -1}),)),
    "limit on an unknown resource": lambda i: replace(i, limits=(sw.Limit("l", {"lic": 1.0}),)),
    "limit per processor": lambda i: replace(
        i, limits=(sw.Limit("l", slots_per_processor=1.0, hosts=sw.Scope(("all",))),)
    ),
    "limit on an unknown host": lambda i: replace(
        i, limits=(sw.Limit("l", {"slots": 1.0}, hosts=sw.Scope(("nope",), each=True)),)
    ),
    "usage of an unknown resource": lambda i: replace(
        i, reservation_usage=(sw.ReservationUsage("lic", "PER_HOST"),)
    ),
    "usage of no kind": lambda i: replace(
        i, reservation_usage=(sw.ReservationUsage("licence", "PER_NODE"),)
    ),
    "usage of memory": lambda i: replace(
        i, reservation_usage=(sw.ReservationUsage("mem", "PER_HOST"),)
    ),
    "reservation that ends first": lambda i: replace(
        i,
        advance_reservations=(sw.AdvanceReservation("r", 60, 60, {i.cluster.hosts[0].name: 1}),),
    ),
    "reservation of too much": lambda i: replace(
        i,
        advance_reservations=(sw.AdvanceReservation("r", 0, 60, {i.cluster.hosts[0].name: 10**6}),),
    ),
    "origin": lambda i: replace(i, origin="2026-01-05T08:00:00"),
    "usage of an unknown policy": lambda i: replace(i, share_usage=(sw.ShareUsage("nope", "ann"),)),
    "slots of a user": lambda i: replace(i, users=(sw.User("ann", max_slots=-1),)),
    "partition of nobody": lambda i: replace(
        i, partitions=(sw.HostPartition("p", ("nope",), (("ann", 1),)),)
    ),
}


@given(
    format_cases.instances() | random_instances.instances(),
    st.lists(st.sampled_from(sorted(MISTAKES)), min_size=1, max_size=3, unique=True),
)
@examples(50)
def test_mistakes_in_random_instances_too(instance: sw.Instance, names: list[str]) -> None:
    """Alone and together. A file with a broken parameter or name tells less of what may rest on it:
    there the whole of a section is in doubt, here it is known which field is wrong.
    """
    broken = instance
    for name in names:
        broken = MISTAKES[name](broken)
    told, of_file = set(messages(broken)), set(messages_of_file(broken))
    assert told >= of_file if len(names) > 1 else told == of_file


@pytest.mark.parametrize("name", some(MISTAKES, 20))
def test_no_plan_and_no_simulation_is_made_of_a_mistake(name: str) -> None:
    broken = MISTAKES[name](SMALL)
    assert broken != SMALL
    calls: list[Callable[[], object]] = [
        lambda: sw.plan(broken, "greedy"),
        lambda: sw.plan(instance=broken),
        lambda: sw.simulate(broken),
        lambda: sw.compare(broken, methods=True),
        lambda: sw.explain(broken, "p0"),
        lambda: sw.ask(broken, "-n 1 -W 1:00"),
        lambda: sw.check(broken),
        lambda: sw.instance(broken),
    ]
    told = [problem.message for problem in problems_of(broken)]
    assert told
    for call in calls:
        with pytest.raises(sw.InputError) as caught:
            call()
        assert [problem.message for problem in caught.value.problems] == told
    violations = sw.validate(broken, sw.plan(SMALL, "greedy"))
    assert [violation.check for violation in violations] == ["instance"] * len(told)


def test_numbers_must_be_numbers() -> None:
    for value in (float("nan"), float("inf"), "4", True, None):
        for broken in (
            _host(SMALL, amounts={"mem": value}),
            _first(SMALL, "pending", weight=value),
        ):
            (message,) = messages(broken)
            assert "number" in message or "size" in message


def test_the_place_is_the_one_of_the_object_as_given() -> None:
    """Objects before it that are not objects do not move it."""
    cluster = sw.Cluster((sw.Host("a", 4),))
    jobs: Any = ("x", sw.Job("p1", -4), None, sw.Job("p2", 1, queue="nope"))
    problems = problems_of(sw.Instance(cluster, pending=jobs))
    assert [str(problem) for problem in problems] == [
        "pending[0]: must be a Job, not str",
        "pending[1].slots: must be 1 slot or more, not -4",
        "pending[2]: must be a Job, not NoneType",
        "pending[3].queue: unknown queue 'nope'",
    ]


GARBAGE: tuple[Any, ...] = (
    *(None, -1, 0, 1.5, 10**20, True, float("nan"), float("-inf"), "", "x", "\x1b[2J", "\ud800"),
    *((), [], {}, set(), (None,), ("x", 1), {"x": "y"}, {1: 2}, {"mem": None}, object(), "n[1-3]"),
    *(b"bytes", 1j, ((),), (("a", "b"),), {"a": {"b": 1}}, frozenset({1}), sw.Job("p"), sw.Host),
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every field and every member of a tuple within an instance."""
    if is_dataclass(value) and not isinstance(value, type):
        inner = [(f.name, getattr(value, f.name)) for f in fields(value)]
    elif isinstance(value, tuple):
        inner = list(enumerate(value))
    else:
        return []
    return [place for key, item in inner for place in ((*path, key), *_places(item, (*path, key)))]


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    key, rest = path[0], path[1:]
    if isinstance(value, tuple):
        return (*value[:key], _with(value[key], rest, new), *value[key + 1 :])
    return replace(value, **{key: _with(getattr(value, key), rest, new)})


def _usual(value: Any, path: tuple[Any, ...]) -> Any:
    """The default of a field, what stands there if it has none."""
    for key in path[:-1]:
        value = value[key] if isinstance(value, tuple) else getattr(value, key)
    if isinstance(value, tuple):
        return value[path[-1]]
    (field,) = (item for item in fields(value) if item.name == path[-1])
    made = field.default if field.default_factory is MISSING else field.default_factory()
    return getattr(value, path[-1]) if made is MISSING else made


@given(st.data())
@examples(80)
def test_whatever_stands_in_a_field_there_is_a_report_or_a_plan(data: st.DataObject) -> None:
    broken = COMPLETE
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.sampled_from(_places(broken)))
        broken = _with(broken, place, copy.copy(data.draw(st.sampled_from(GARBAGE))))
    report_or_plan(broken)


@given(st.data())
@examples(10)
def test_with_a_field_at_its_default_there_is_a_report_or_a_plan(data: st.DataObject) -> None:
    """Of most fields a plan."""
    place = data.draw(st.sampled_from(_places(COMPLETE)))
    report_or_plan(_with(COMPLETE, place, copy.copy(_usual(COMPLETE, place))))


def report_or_plan(broken: sw.Instance) -> None:
    problems = problems_of(broken)
    for problem in problems:
        assert "\x1b" not in str(problem)
    if problems:
        with pytest.raises(sw.InputError):
            sw.plan(broken, "greedy")
    else:
        assert sw.instance(broken) is broken
        assert sw.loads(sw.dump(broken)) == broken
        sw.plan(broken, "greedy")


@pytest.mark.parametrize("sign", ["\x1b", "\u202e", "\ud800"])
def test_characters_that_terminals_obey_are_found_in_parts_of_a_field_too(sign: str) -> None:
    """Names in the scope of a limit, hosts that a job asks for."""
    (job, *others), (limit, *more) = SMALL.pending, COMPLETE.limits
    scope = Scope(("all",), excluded=(f"a{sign}",))
    asking = replace(SMALL, pending=(replace(job, hosts=(sw.HostRequest(f"h{sign}"),)), *others))
    limited = replace(COMPLETE, limits=(replace(limit, users=scope), *more))
    for instance, place in ((asking, "pending[0].hosts"), (limited, "limits[0].users")):
        (problem,) = problems_of(instance)
        assert problem.path == place
        assert f"character U+{ord(sign):04X}: remove it" in problem.message


def test_a_broken_number_of_numpy_is_refused_as_pythons_is() -> None:
    for value in (np.float64("nan"), np.float64(4.5), np.int64(0), np.bool_(True)):
        with pytest.raises(sw.InputError, match="slots"):
            sw.instance([sw.Host("a", 4)], pending=[sw.Job("x", slots=value)])


BASES: dict[type, tuple[str, Any]] = {
    sw.Host: ("cluster", sw.Host("a", slots=2)),
    sw.Job: ("pending", sw.Job("1")),
    sw.Queue: ("queues", sw.Queue("default")),
    sw.UserGroup: ("groups", sw.UserGroup("g", ("u",))),
}
ARRAYS = (np.array([1, 2]), np.array(["x", "y"]), np.array([]), np.array(["x"]))


@pytest.mark.parametrize("kind", BASES)
def test_an_array_as_a_field_is_refused_in_one_line(kind: type) -> None:
    part, base = BASES[kind]
    for field in fields(kind):
        for array in ARRAYS:
            for value in (array, (array,)):
                parts: dict[str, Any] = {"cluster": [sw.Host("a", slots=2)]}
                parts[part] = [replace(base, **{field.name: value})]
                with pytest.raises(sw.InputError) as caught:
                    sw.instance(**parts)
                assert all("\n" not in problem.message for problem in caught.value.problems)
                if value is array:
                    assert len(caught.value.problems) == 1, str(caught.value)


@pytest.mark.parametrize("name", ["params", "now", "origin", "name", "description"])
def test_an_array_as_a_part_is_refused_in_one_line(name: str) -> None:
    for array in ARRAYS:
        with pytest.raises(sw.InputError) as caught:
            sw.instance([sw.Host("a", slots=2)], **{name: array})
        assert len(str(caught.value).splitlines()) == 1
    for document in (
        {"format": "slotwise/1", "hosts": array},
        {"format": "slotwise/1", "hosts": [{"name": "a", "slots": array}]},
    ):
        with pytest.raises(sw.InputError):
            sw.instance(document)


@pytest.mark.parametrize("write", [sw.dump, sw.dump_json])
def test_what_cannot_be_read_back_is_not_written(write: Callable[[sw.Instance], str]) -> None:
    sound = sw.instance([sw.Host("a", slots=2)], pending=[sw.Job("1"), sw.Job("2")])
    assert sw.loads(write(sound)) == sound
    broken = replace(sound, pending=(sw.Job("1", slots=-1), sw.Job("1", queue="none")))
    with pytest.raises(sw.InputError, match=r"pending\[0\].slots"):
        write(broken)
    for limit, says in (
        ({"jobs": 1}, "has more than 1 jobs: raise --max-jobs"),
        ({"text": 50}, "has more than 50 bytes: raise --max-text"),
        ({"hosts": 0}, "has more than 0 hosts: raise --max-hosts"),
    ):
        with limited(**limit), pytest.raises(sw.InputError) as caught:
            write(sound)
        assert str(caught.value) == says
