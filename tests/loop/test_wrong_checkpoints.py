"""Checkpoints whose sum is true and whose content is not: refused in words, never a fault."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import pytest
import slotwise as sw
from fuzz.checkpoints import checkpoints, some_log
from sampling import some
from slotwise import InputError
from slotwise.model.formats.sealed import CHECKPOINT, Engine, seal, taking_over, unseal
from slotwise.model.generate import generate
from slotwise.solver.replay import Checkpoint, Replay
from slotwise.solver.replay import policies as policies_module
from slotwise.solver.replay import session as session_module
from slotwise.solver.scheduler import checkpoints as checkpoints_module
from slotwise.solver.scheduler.checkpoints import load
from slotwise.solver.scheduler.events import Settings

#: What takes the place of a value, of each type that JSON has.
VALUES: tuple[Any, ...] = ("x", {"a": 1}, [1], None, 7, 1.5, -99999, True)
#: What may hold anything, so that only what goes on with it can say that it is wrong.
OPEN = ("order", "log", "last", "odd", "shapes", "modified")
Place = tuple[str | int, ...]


@cache
def contents() -> dict[str, tuple[Engine, dict[str, Any]]]:
    return {name: (engine, unseal(CHECKPOINT, text)) for name, engine, text in checkpoints()}


NAMES = [
    *(
        f"loop, {name}, {way}"
        for name in ("headline", "generated")
        for way in ("greedy", "time-based")
    ),
    *(f"replay, {policy}" for policy in ("fcfs", "easy", "easy-sjbf", "conservative", "replan")),
    *(f"replay, {policy}" for policy in ("saf", "wfp3", "f1")),
]


def places(value: Any, path: Place = ()) -> Iterator[Place]:
    """Of every value, of lists of the first."""
    if path:
        yield path
    keys = (
        value
        if isinstance(value, dict)
        else range(min(1, len(value)))
        if isinstance(value, list)
        else ()
    )
    for key in keys:
        yield from places(value[key], (*path, key))


def at(content: Any, place: Place) -> Any:
    for key in place:
        content = content[key]
    return content


def changed(content: dict[str, Any], place: Place) -> Iterator[tuple[str, dict[str, Any]]]:
    """The content with something else in a place, without its key, and with one more."""
    *above, last = place
    before = at(content, place)
    for value in VALUES:
        if type(value) is not type(before):
            made = copy.deepcopy(content)
            at(made, tuple(above))[last] = value
            yield f"is {value!r}", made
    made = copy.deepcopy(content)
    del at(made, tuple(above))[last]
    yield "is gone", made
    if isinstance(before, dict):
        made = copy.deepcopy(content)
        at(made, place)["more"] = 1
        yield "has more", made


def run(name: str, engine: Engine, text: str) -> None:
    """Take it over and go on to the end."""
    if engine == "replay":
        replay = Replay.resume(some_log(), Checkpoint.from_json(text))
        with taking_over():
            while replay.advance():
                pass
        return
    small = generate(hosts=4, running=3, pending=5, seed=2)
    instance = sw.load(sw.example("headline")) if "headline" in name else small
    session = load(text, instance)
    with taking_over():
        for _ in range(2000):
            if not session.advance():
                break


def wrong(name: str, sparse: int) -> Iterator[tuple[Place, str, str]]:
    """Every `sparse`-th change of a checkpoint, and what came of it: "" where it was taken."""
    engine, content = contents()[name]
    number = 0
    for place in places(content):
        for what, made in changed(content, place):
            number += 1
            if number % sparse:
                continue
            try:
                run(name, engine, seal(CHECKPOINT, made))
            except InputError as error:
                yield place, what, str(error)
            else:
                yield place, what, ""


def hold_it(name: str, sparse: int = 1) -> None:
    seen = 0
    for place, what, said in wrong(name, sparse):
        seen += 1
        assert not re.search("Error|object is|subscript|NoneType", said), said
        of_type = what.startswith(("has more", "is {", "is 'x'", "is [")) or what == "is 1.5"
        if of_type and not set(place) & set(OPEN):
            assert said or _text_or_number(name, place, what), (place, what)
    assert seen


def _text_or_number(name: str, place: Place, what: str) -> bool:
    """Whether a place may hold any text, or any number."""
    before = at(contents()[name][1], place)
    return (
        (what == "is 'x'" and isinstance(before, str))
        or (what == "is 1.5" and isinstance(before, float))
        or before is None
    )


@pytest.mark.parametrize("name", some(NAMES, 3))
def test_wrong_content_is_refused_in_words(name: str) -> None:
    hold_it(name, 40)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_wrong_content_is_refused_in_words(name: str) -> None:
    hold_it(name)


def test_the_names_are_all() -> None:
    assert list(contents()) == NAMES


def test_what_is_said() -> None:
    _, content = contents()["replay, easy"]
    for change, said in (
        ({"procs": "x"}, "is damaged: procs: input should be a valid integer (delete it"),
        ({"more": 1}, "is damaged: more: is no key of such a checkpoint (delete it"),
    ):
        with pytest.raises(InputError) as caught:
            Checkpoint.from_json(seal(CHECKPOINT, {**content, **change}), "c.json")
        assert str(caught.value).startswith(f"c.json: {said}")
    state = {key: value for key, value in content["state"].items() if key != "now"}
    with pytest.raises(InputError, match=r"state\.now: field required"):
        Checkpoint.from_json(seal(CHECKPOINT, {**content, "state": state}))


#: The fields of checkpoints by version: other fields need another version, so that a checkpoint
#: made before is refused as that, and not as a damaged one.
SHAPES = {6: "81a582ee3d548ea3"}


def test_other_fields_have_another_version() -> None:
    kinds = [
        *(kind for kind in vars(checkpoints_module).values() if _is_own(kind, checkpoints_module)),
        *(kind for kind in vars(session_module).values() if _is_own(kind, session_module)),
        *(kind for kind in vars(policies_module).values() if _is_own(kind, policies_module)),
        Settings,
    ]
    lines = [f"{kind.__name__}.{f.name}: {f.type}" for kind in kinds for f in fields(kind)]
    found = hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:16]
    assert {CHECKPOINT.version: found} == SHAPES


def _is_own(kind: object, module: object) -> bool:
    """Whether it says what a checkpoint has: a dataclass of that module's own."""
    own = isinstance(kind, type) and kind.__module__ == getattr(module, "__name__", "")
    return own and is_dataclass(kind) and kind.__name__.startswith("_")


def test_an_older_one_is_told_as_that() -> None:
    _, content = contents()["replay, easy"]
    older = dataclasses.replace(CHECKPOINT, version=CHECKPOINT.version - 1)
    with pytest.raises(InputError) as caught:
        Checkpoint.from_json(seal(older, content), "c.json")
    assert "is a checkpoint of version 5; this is version 6" in str(caught.value)
