"""Words of ``select_parameters``, by which an instance keeps Slurm's settings."""

from __future__ import annotations

from ...instance import Instance


def words_of(instance: Instance) -> dict[str, dict[str, str]]:
    """Return the words of ``select_parameters`` by partition; the key of the cluster is empty."""
    words: dict[str, dict[str, str]] = {}
    for word in filter(None, instance.params.select_parameters.split(",")):
        where, colon, rest = word.partition(":")
        # A name of a TRES may have a colon: it is behind the equals sign.
        colon = colon if "=" not in where else ""
        name, _, value = (rest if colon else word).partition("=")
        words.setdefault(where if colon else "", {})[name] = value
    return words


def amounts_text(amounts: dict[str, float]) -> str:
    """Return numbers by name as one value: ``cpu/2+mem/0.25``; a name may have a slash."""
    return "+".join(f"{name}/{amount:.10g}" for name, amount in sorted(amounts.items()))


def amounts_of(text: str) -> dict[str, float]:
    """Return the numbers that :func:`amounts_text` has written."""
    parts = (part.rpartition("/") for part in text.split("+") if part)
    return {name: float(amount) for name, _, amount in parts if name}
