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
from slotwise import Scope
from slotwise.model.formats.objects import examine_objects
from slotwise.model.input_limits import limited

QUIET = examples(30)
HERE = Path(__file__).parent
SMALL = sw.load(HERE / "small.yaml")
COMPLETE = sw.load(HERE.parent / "formats" / "complete.yaml")


def messages(instance: Any) -> list[str]:
    """What is wrong, without the places."""
    return sorted(problem.message for problem in examine_objects(instance)[0])


@pytest.mark.parametrize("name", sw.examples())
def test_shipped_instances_are_sound(name: str) -> None:
    instance = sw.load(sw.example(name))
    problems, warnings = examine_objects(instance)
    assert problems == ()
    told = {warning.message for warning in sw.check(sw.example(name))}
    assert {warning.message for warning in warnings} == told
    assert sw.check(instance) == warnings


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


def test_numbers_must_be_numbers() -> None:
    for value in (float("nan"), float("inf"), "4", True, None):
        for broken in (
            _host(SMALL, amounts={"mem": value}),
            _first(SMALL, "pending", weight=value),
        ):
            (message,) = messages(broken)
            assert "number" in message or "size" in message


def test_the_place_is_the_one_of_the_object_as_given() -> None:
    """Objects before it that are no objects do not move it."""
    cluster = sw.Cluster((sw.Host("a", 4),))
    jobs: Any = ("x", sw.Job("p1", -4), None, sw.Job("p2", 1, queue="nope"))
    problems, _ = examine_objects(sw.Instance(cluster, pending=jobs))
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
    problems, _ = examine_objects(broken)
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
        (problem,) = examine_objects(instance)[0]
        assert problem.path == place
        assert f"character U+{ord(sign):04X}: leave it out" in problem.message


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
        ({"jobs": 1}, "has more than 1 jobs (--max-jobs)"),
        ({"text": 50}, "has more than 50 bytes (--max-text)"),
        ({"hosts": 0}, "has more than 0 hosts (--max-hosts)"),
    ):
        with limited(**limit), pytest.raises(sw.InputError) as caught:
            write(sound)
        assert str(caught.value) == says
