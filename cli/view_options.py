"""What a view of ``slotwise show`` is asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """names: to show, () for all. long: everything about each. recursive: every share level.

    pending: of the jobs only those that wait. shared: shared resources, or reservation methods.
    alloc: form of a future allocation, see ``model/allocation.py``.
    """

    names: tuple[str, ...] = ()
    long: bool = False
    recursive: bool = False
    pending: bool = False
    shared: bool = False
    alloc: str = "lsf"

    def wants(self, name: str) -> bool:
        """Whether something of this name is to be shown."""
        return not self.names or name in self.names
