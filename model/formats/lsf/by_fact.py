"""LSF's parameters that are imported as the facts at the fields of the model say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...facts import KnownField, known_fields
from ..kinds import FACTORS, KINDS, factors
from .draft import Item, number
from .source import Value

#: Kinds that take more than the text of the parameter: hosts, run limits and the like.
_APART = frozenset(
    {"new_name", "requirement", "queue_hosts", "run_limit", "minutes", "processor_limit"}
    | {"preemption", "gpu_req"}
)


def _exclusive(value: Value) -> str:
    upper = value.text.upper()
    return upper[0] if upper in ("YES", "NO") else value.text


#: Kinds that LSF's files write in another way than instance files.
_TEXTS: dict[str, Callable[[Value], Any]] = {
    "percent": lambda value: number(value.text.rstrip("% ")),
    "dispatch_order": lambda value: value.text.upper(),
    "exclusive": _exclusive,
}


def parameters_of(kind: type, place: str = "") -> list[KnownField]:
    """The fields of a class that have a name of LSF's; place: the file that sets them."""
    return [
        item
        for item in known_fields(kind).values()
        if item.fact.place == place and (item.key.isupper() or item.fact.aka)
    ]


def lsf_keys(kind: type, place: str = "") -> frozenset[str]:
    """LSF's names of the fields of a class."""
    found = {key for item in parameters_of(kind, place) for key in (item.key, *item.fact.aka)}
    if any(item.fact.kind == FACTORS for item in known_fields(kind).values()):
        found |= factors().keys()
    return frozenset(key for key in found if key.isupper())


def limit_fields(kind: type) -> list[KnownField]:
    """The limits and estimates of time among the fields of a class."""
    return [item for item in parameters_of(kind) if item.fact.kind in ("minutes", "run_limit")]


def take_plain(item: Item, kind: type) -> None:
    """Set every key whose text needs no look at anything else."""
    kinds = {field.key: field.fact.kind for field in parameters_of(kind)}
    if any(field.fact.kind == FACTORS for field in known_fields(kind).values()):
        kinds |= {key: field.fact.kind for key, field in factors().items()}
    for key, name in kinds.items():
        value = item.entry.values.get(key)
        if value is not None and name in _TEXTS:
            item.put(key, _TEXTS[name](value))
        elif name not in _APART:
            item.take(key, plain=KINDS[name].number)
