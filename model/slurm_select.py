"""Words of ``select_parameters``, by which an instance keeps Slurm's settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache


@lru_cache(maxsize=16)
def words_of(select_parameters: str) -> Mapping[str, Mapping[str, str]]:
    """Return the words by partition; the key of the cluster is empty."""
    words: dict[str, dict[str, str]] = {"": {}}
    for word in filter(None, select_parameters.split(",")):
        where, colon, rest = word.partition(":")
        # A name of a TRES may have a colon: it is behind the equals sign.
        colon = colon if "=" not in where else ""
        name, _, value = (rest if colon else word).partition("=")
        words.setdefault(where if colon else "", {})[name] = value
    return words


def number_of(own: Mapping[str, str], name: str, default: int) -> int:
    """Return the whole number of a word, the default for another text."""
    text = own.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else default


def flags_of(own: Mapping[str, str]) -> frozenset[str]:
    """Return PriorityFlags."""
    return frozenset(filter(None, own.get("PriorityFlags", "").split("+")))


def without_words(select_parameters: str, names: Collection[str]) -> str:
    """Return ``select_parameters`` without some words of the cluster."""
    words = select_parameters.split(",")
    return ",".join(word for word in words if word.partition("=")[0] not in names)


def amounts_text(amounts: Mapping[str, float]) -> str:
    """Return numbers by name as one value: ``cpu/2+mem/0.25``; a name may have a slash."""
    return "+".join(f"{name}/{amount:.10g}" for name, amount in sorted(amounts.items()))


def amounts_of(text: str) -> dict[str, float]:
    """Return the numbers that :func:`amounts_text` has written."""
    parts = (part.rpartition("/") for part in text.split("+") if part)
    return {name: float(amount) for name, _, amount in parts if name}
