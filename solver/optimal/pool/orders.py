"""First orders: the usual rules, and what a relaxation suggests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .decoder import Decoder
from .problem import Floats, PoolProblem

Rule = Callable[[PoolProblem], Floats]


def _weights(problem: PoolProblem) -> Floats:
    return np.maximum(problem.weights, 1e-9).astype(float)


RULES: dict[str, Rule] = {
    "first-come": lambda p: np.arange(len(p), dtype=float),
    "shortest": lambda p: p.durations / _weights(p),
    "smallest-area": lambda p: p.durations * p.sizes / _weights(p),
    "narrowest": lambda p: p.sizes / _weights(p),
    "widest": lambda p: -p.sizes.astype(float),
    "longest": lambda p: -p.durations.astype(float),
    "largest-area": lambda p: -(p.durations * p.sizes).astype(float),
    "earliest-due": lambda p: p.due.astype(float),
    "short-then-narrow": lambda p: p.durations * np.sqrt(p.sizes) / _weights(p),
    "narrow-then-short": lambda p: np.sqrt(p.durations) * p.sizes / _weights(p),
}


def rule_order(problem: PoolProblem, rule: str) -> list[int]:
    """Jobs by a rule of ``RULES``, ties in order of submission."""
    return [int(job) for job in np.argsort(RULES[rule](problem), kind="stable")]


def best_rule(problem: PoolProblem) -> tuple[int, list[int]]:
    """Value and order of the best rule."""
    decoder = Decoder(problem)
    orders = [rule_order(problem, rule) for rule in RULES]
    values = [problem.value(decoder.plan(order)) for order in orders]
    best = int(np.argmin(values))
    return values[best], orders[best]
