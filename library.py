"""The long calls of ``import slotwise``: each checks its instance before the solver begins.

The commands read instances from files, which are checked as they are read, and call the solver
itself. A program may make instances of any kind; here they meet the same rules
(:mod:`.model.formats.objects`), once a call, and what is wrong is one InputError.
"""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from .model.errors import Cancelled, InputError
from .model.formats.changes import require_sound_changes
from .model.formats.field_rules import without_numpy
from .model.formats.objects import examine_objects, require_sound
from .model.instance import Instance
from .model.plan import Plan
from .solver import planning as _planning
from .solver import validate as _judge
from .solver.advice import ask as _ask
from .solver.advice import comparison as _compare
from .solver.advice import explain as _explain
from .solver.advice import slots as _slots
from .solver.advice.diagnosis import diagnose as _diagnosis
from .solver.budget import MIN_LIMIT
from .solver.forecast import logs as _logs
from .solver.forecast import of_instance as _forecast
from .solver.outlook import outlook as _outlook
from .solver.scheduler import simulation as _simulation
from .solver.scheduler.records import Simulation
from .solver.studies import sweep as _sweep
from .solver.studies import whatif as _whatif
from .solver.validate import Violation

P = ParamSpec("P")
R = TypeVar("R")

#: Seconds that a cancelled call still looks at its instance.
PATIENCE = 2.0


def _instance(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    return args[0] if args else kwargs.get("instance")


def _limit_of(kwargs: Mapping[str, Any]) -> float | None:
    """Return the time limit of a call, None if it has none or the call will reject it."""
    limit = kwargs.get("time_limit")
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit > 0:
        return None
    return limit


@dataclass(slots=True)
class Patience:
    """Ends the look at an instance some seconds after its call was cancelled, or its limit came.

    until: when the limit comes (monotonic seconds).
    """

    cancel: threading.Event
    seconds: float = PATIENCE
    until: float = math.inf
    _since: float | None = None

    def __call__(self) -> None:
        """Raise Cancelled where that is so."""
        now = time.monotonic()
        if now >= self.until + self.seconds:
            raise Cancelled("the time limit came")
        if not self.cancel.is_set():
            return
        if self._since is None:
            self._since = now
        if now - self._since >= self.seconds:
            raise Cancelled


def checked(function: Callable[P, R], unseen: Callable[P, R] | None = None) -> Callable[P, R]:
    """Return the function with a check of its instance (first parameter) before it begins.

    The check counts for the time limit, and the limit or `cancel` ends it. unseen: returns the
    answer in that case; None: Cancelled is raised.
    """

    @wraps(function)
    def safe(*args: P.args, **kwargs: P.kwargs) -> R:
        begun = time.monotonic()
        named: dict[str, Any] = kwargs
        named.update({name: without_numpy(value) for name, value in kwargs.items()})
        cancel = named.get("cancel")
        limit = _limit_of(named)
        patience = Patience(
            cancel if isinstance(cancel, threading.Event) else threading.Event(),
            until=math.inf if limit is None else begun + limit,
        )
        try:
            require_sound(_instance(args, kwargs), patience)
        except Cancelled:
            if unseen is None:
                raise
            return unseen(*args, **kwargs)
        if limit is not None:
            named["time_limit"] = max(MIN_LIMIT, limit - (time.monotonic() - begun))
        return function(*args, **kwargs)

    safe.__module__ = __name__  # so that it can be pickled: sent to other processes
    return safe


def _renamed(function: Callable[P, R], **names: str) -> Callable[P, R]:
    """Return the function, which warns of parameters that have another name: the old ones stay for
    one release.
    """

    @wraps(function)
    def safe(*args: P.args, **kwargs: P.kwargs) -> R:
        for old, new in names.items():
            if old in kwargs:
                text = f"{function.__name__}({old}=) is now {new}="
                warnings.warn(text, DeprecationWarning, stacklevel=3)
        return function(*args, **kwargs)

    return safe


def _changes_checked(function: Callable[P, R]) -> Callable[P, R]:
    """Return the problems of its changes, once the instance of the changes is sound."""

    @wraps(function)
    def safe(*args: P.args, **kwargs: P.kwargs) -> R:
        require_sound_changes(kwargs.get("changes", ()), _instance(args, kwargs))
        return function(*args, **kwargs)

    return safe


plan = checked(_planning.plan, unseen=_planning.nothing_planned)
compare = checked(_compare.compare)
outlook = checked(_outlook.outlook)
explain = checked(_explain.explain)
diagnose = checked(_diagnosis.diagnose)
ask = checked(_ask.ask)
slots = checked(_slots.slots)
sweep = _sweep.sweep
read_log = _logs.read_log
replay = _logs.replay
backtest = _logs.backtest
whatif = checked(_whatif.whatif)

forecast = checked(_renamed(_forecast.forecast, tell="on_progress", should_stop="cancel"))
simulate = checked(_changes_checked(_simulation.simulate))


def validate(
    instance: Instance, plan: Plan | Simulation, *, as_lsf: bool = False
) -> list[Violation]:
    """Return the violations of a plan or a simulation, or of its instance; [] if it is valid.

    A plan: every violated rule, in the order of the validator's checks. A simulation of this
    instance, without changes from outside: every rule that is violated at some second; if there is
    none and the log was kept, each job that waits although it could start. An invalid instance,
    such as one whose running jobs have more slots than a host: its problems (rule "instance"),
    since no plan for it can be checked. as_lsf: omit windows and advance reservations, which LSF's
    own estimate ignores.
    """
    if not isinstance(plan, (Plan, Simulation)):
        raise InputError(f"must be a Plan or a Simulation, not {type(plan).__name__}")
    problems, _ = examine_objects(instance)
    if problems:
        return [Violation("instance", str(problem)) for problem in problems]
    if isinstance(plan, Simulation):
        return _judge.validate_schedule(instance, plan)
    return _judge.validate(instance, plan, as_lsf=as_lsf)
