"""Checkpoints whose sum is true and whose content is not: refused in words, never a fault."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from fuzz.checkpoints import checkpoints
from slotwise.model.formats.sealed import CHECKPOINT, Engine, unseal
from slotwise.solver.replay import policies as policies_module
from slotwise.solver.replay import session as session_module
from slotwise.solver.scheduler import checkpoints as checkpoints_module
from slotwise.solver.scheduler.events import Settings


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


def test_the_names_are_all() -> None:
    assert list(contents()) == NAMES


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
