"""Which part of a matrix of cases runs in `make test`; `make test-all` runs the whole product."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import pytest


@dataclass
class Sampling:
    """Whether cases that are marked slow are made at all: not where a run leaves them all out."""

    all_cases: bool = True


SAMPLING = Sampling()


def some(cases: Iterable[Any], keep: int) -> list[Any]:
    """All cases, of which `keep`, evenly spaced from the first, run by default.

    A case that is a tuple is the values of several parameters. Of cases that another sample has
    marked, the kept ones are of those that it keeps.
    """
    known = list(cases)
    open_to = [number for number, case in enumerate(known) if not getattr(case, "marks", ())]
    keep = min(keep, len(open_to))
    kept = {open_to[number * len(open_to) // keep] for number in range(keep)}
    return _made((case, number not in kept) for number, case in enumerate(known))


def pairwise(*factors: Sequence[Any]) -> list[Any]:
    """The product of factors, of which a part runs by default.

    Of three factors and more: every pair of values of two factors is in one of the cases. Of two:
    every value is.
    """
    size = min(2, len(factors) - 1)
    wanted = {
        (columns, tuple(values))
        for columns in combinations(range(len(factors)), size)
        for values in product(*(range(len(factors[column])) for column in columns))
    }
    cases = list(product(*(range(len(factor)) for factor in factors)))
    chosen: set[tuple[int, ...]] = set()
    while wanted:
        best = max(cases, key=lambda case: len(wanted & _parts(case, size)))
        chosen.add(best)
        wanted -= _parts(best, size)
    return _made(
        (tuple(f[n] for f, n in zip(factors, case, strict=True)), case not in chosen)
        for case in cases
    )


def _parts(case: tuple[int, ...], size: int) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    return {
        (columns, tuple(case[column] for column in columns))
        for columns in combinations(range(len(case)), size)
    }


def _made(cases: Iterable[tuple[Any, bool]]) -> list[Any]:
    return [_case(case, slow=slow) for case, slow in cases if SAMPLING.all_cases or not slow]


def _case(values: Any, *, slow: bool) -> Any:
    if hasattr(values, "marks"):
        values = values.values
    values = values if isinstance(values, tuple) else (values,)
    return pytest.param(*values, marks=[pytest.mark.slow] if slow else [])
