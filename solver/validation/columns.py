"""Slots held and compute units as columns of numbers: what the judge asks of all hosts at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ...model.cluster import ComputeUnit, Host

IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

#: Later than anything that ends.
NEVER = np.iinfo(np.int64).max

#: A job that holds slots: its id, start, finish (None: never) and slots by host.
Held: TypeAlias = tuple[str, int, int | None, Mapping[str, int]]


class SlotColumns:
    """Who holds how many slots of which host, from when to when; hosts by their position."""

    def __init__(self, hosts: Mapping[str, Host], held: Iterable[Held]) -> None:
        position = {name: at for at, name in enumerate(hosts)}
        self._slots = np.array([host.slots for host in hosts.values()], dtype=np.int64)
        self._jobs: dict[str, int] = {}
        rows = [
            (
                position[host],
                slots,
                start,
                NEVER if finish is None else finish,
                self._jobs.setdefault(job, len(self._jobs)),
            )
            for job, start, finish, allocation in held
            for host, slots in allocation.items()
            if host in position
        ]
        self._rows = np.array(rows, dtype=np.int64).reshape(-1, 5).T

    def free_beside(self, job: str, time: int) -> IntArray:
        """Slots of each host that the other jobs leave free at `time`, 0 where they take more."""
        host, slots, start, finish, owner = self._rows
        there = (start <= time) & (time < finish) & (owner != self._jobs.get(job, -1))
        used = np.bincount(host[there], weights=slots[there], minlength=len(self._slots))
        free: IntArray = np.maximum(self._slots - used.astype(np.int64), 0)
        return free


@dataclass(frozen=True, slots=True)
class UnitsOfType:
    """The compute units of one type in configuration order.

    of_host: the numbers of the units that a host is in. members: for each unit and host of it the
    number of the unit and the position of the host.
    """

    units: tuple[ComputeUnit, ...]
    of_host: Mapping[str, Sequence[int]]
    members: tuple[IntArray, IntArray]

    @classmethod
    def of(cls, units: Iterable[ComputeUnit], type_: str, hosts: Iterable[str]) -> UnitsOfType:
        """hosts: all hosts of the cluster in their order."""
        chosen = tuple(unit for unit in units if unit.type == type_)
        position = {name: at for at, name in enumerate(hosts)}
        of_host: dict[str, list[int]] = {}
        pairs = []
        for number, unit in enumerate(chosen):
            for host in dict.fromkeys(unit.hosts):
                of_host.setdefault(host, []).append(number)
                pairs.append((number, position[host]))
        numbers, places = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return cls(chosen, of_host, (numbers, places))

    def sums(self, amounts: IntArray) -> IntArray:
        """The sum of what the hosts of each unit have."""
        numbers, places = self.members
        found = np.bincount(numbers, weights=amounts[places], minlength=len(self.units))
        return found.astype(np.int64)

    def hosts_of(self, wanted: BoolArray, count: int) -> BoolArray:
        """Which of `count` hosts are in one of the units wanted."""
        numbers, places = self.members
        found = np.zeros(count, dtype=bool)
        found[places[wanted[numbers]]] = True
        return found
