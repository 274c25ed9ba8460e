"""Slotwise: when will each pending job start, where, is it provably the earliest, why not sooner?

>>> import slotwise as sw
>>> problem = sw.load(sw.example("headline"))
>>> sw.plan(problem)["job5"].start
10800
"""

from __future__ import annotations

#: As typing has it, whose loading would cost the command a tenth of its start.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from .instances import example, examples
    from .model.errors import InputError, Problem, SlotwiseError
    from .model.formats import dump, load
    from .model.formats.changes import dump_changes, load_changes
    from .model.instance import Instance
    from .model.plan import Plan, PlannedJob
    from .solver.advice.ask import Answer, Choices, ask
    from .solver.advice.compare import Comparison, compare
    from .solver.advice.explain import Explanation, explain
    from .solver.loop.simulation import simulate
    from .solver.planning import plan
    from .solver.validate import Violation, validate

__version__ = "0.1.0"

#: Where each public name lives; imported on first use, so that starting the command stays quick.
_HOMES = {
    "Answer": "solver.advice.ask",
    "Choices": "solver.advice.ask",
    "Comparison": "solver.advice.compare",
    "Explanation": "solver.advice.explain",
    "InputError": "model.errors",
    "Instance": "model.instance",
    "Plan": "model.plan",
    "PlannedJob": "model.plan",
    "Problem": "model.errors",
    "SlotwiseError": "model.errors",
    "Violation": "solver.validate",
    "ask": "solver.advice.ask",
    "compare": "solver.advice.compare",
    "dump": "model.formats",
    "dump_changes": "model.formats.changes",
    "example": "instances",
    "examples": "instances",
    "explain": "solver.advice.explain",
    "load": "model.formats",
    "load_changes": "model.formats.changes",
    "plan": "solver.planning",
    "simulate": "solver.loop.simulation",
    "validate": "solver.validate",
}

__all__ = [
    "Answer",
    "Choices",
    "Comparison",
    "Explanation",
    "InputError",
    "Instance",
    "Plan",
    "PlannedJob",
    "Problem",
    "SlotwiseError",
    "Violation",
    "__version__",
    "ask",
    "compare",
    "dump",
    "dump_changes",
    "example",
    "examples",
    "explain",
    "load",
    "load_changes",
    "plan",
    "simulate",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'slotwise' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
