"""Instances made in a program: put together, and checked, with the errors of instance files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..cluster import Cluster, Host
from ..errors import InputError, Problem
from ..instance import (
    AdvanceReservation,
    BorrowedSlots,
    HeldHosts,
    Instance,
    PoolUsage,
    SaidByLsf,
    ShareUsage,
)
from ..job import Application, Job, RunningJob
from ..limits import Limit, ReservationUsage
from ..omissions import Omission
from ..params import Params, with_default_queue
from ..queue import Queue
from ..user import HostPartition, User, UserGroup
from .machines import with_machine_groups
from .objects import examine_objects, require_sound
from .reader import from_document, load_with_warnings


def instance(
    cluster: Cluster | Iterable[Host] | Mapping[str, Any] | Instance,
    *,
    pending: Iterable[Job] = (),
    running: Iterable[RunningJob] = (),
    future: Iterable[Job] = (),
    queues: Iterable[Queue] | None = None,
    applications: Iterable[Application] = (),
    users: Iterable[User] = (),
    groups: Iterable[UserGroup] = (),
    partitions: Iterable[HostPartition] = (),
    limits: Iterable[Limit] = (),
    reservation_usage: Iterable[ReservationUsage] = (),
    advance_reservations: Iterable[AdvanceReservation] = (),
    share_usage: Iterable[ShareUsage] = (),
    pool_usage: Iterable[PoolUsage] = (),
    held: Iterable[HeldHosts] = (),
    borrowed: Iterable[BorrowedSlots] = (),
    lsf_says: Iterable[SaidByLsf] = (),
    params: Params | None = None,
    now: int = 0,
    origin: str | None = None,
    name: str = "",
    description: str = "",
    omissions: Iterable[Omission] = (),
) -> Instance:
    """An instance of these parts, checked as a file is; the fields are those of :class:`Instance`.

    cluster: a cluster or its hosts. A mapping is taken for the plain data of an instance file, an
    Instance is checked and returned as it is; both stand alone. queues: None for the one queue
    "default". now: seconds from the origin, which is an ISO 8601 stamp or None.
    Raises InputError with everything that is wrong, each with its path: ``pending[3].slots``.
    """
    parts: dict[str, Any] = {key: value for key, value in locals().items() if key != "cluster"}
    if isinstance(cluster, (Mapping, Instance)):
        if given := [key for key, value in parts.items() if _is_given(value)]:
            raise InputError(f"{', '.join(given)}: an instance that is whole takes no other parts")
        if isinstance(cluster, Mapping):
            return from_document(dict(cluster))
        require_sound(cluster)
        return cluster
    machines = cluster if isinstance(cluster, Cluster) else Cluster(_tuple("hosts", cluster))
    parts["queues"] = (Queue("default"),) if queues is None else _tuple("queues", queues)
    parts["params"] = _params(Params() if params is None else params, parts["queues"])
    plain = ("params", "now", "origin", "name", "description")
    lists = {key: _tuple(key, value) for key, value in parts.items() if key not in plain}
    made = Instance(with_machine_groups(machines), **(parts | lists))
    require_sound(made)
    return made


def _is_given(value: Any) -> bool:
    # An array has a length and no truth value.
    return len(value) > 0 if hasattr(value, "__len__") else bool(value)


def _params(params: Any, queues: tuple[Any, ...]) -> Any:
    """The parameters, with the default queue that they have in a file; what is none stays."""
    sound = isinstance(params, Params) and isinstance(params.default_queue, str)
    if not sound or not all(isinstance(q, Queue) and isinstance(q.name, str) for q in queues):
        return params
    return with_default_queue(params, [queue.name for queue in queues])


def _tuple(name: str, items: Iterable[Any]) -> tuple[Any, ...]:
    if isinstance(items, (str, Mapping)) or not isinstance(items, Iterable):
        raise InputError(f"{name}: must be a list or a tuple, not {type(items).__name__}")
    return tuple(items)


def check(source: Instance | str | Path) -> tuple[Problem, ...]:
    """What is odd about an instance in memory or in a file, but no error.

    Raises InputError with everything that is wrong with it.
    """
    if isinstance(source, (str, Path)):
        return load_with_warnings(source)[1]
    problems, warnings = examine_objects(source)
    if problems:
        raise InputError(problems)
    return warnings
