"""What a view of ``slotwise show`` is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from ..model.array import array_of


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """names: to show, () for all. long: everything about each. recursive: every share level.

    pending, running, suspended, ended: jobs of these states alone; none of them: unfinished jobs.
    arrays: job arrays in place of jobs. everything: finished jobs too, limits that nobody uses.
    shared: shared resources. configured: limits as configured. users, queues, hosts: of these
    alone, () for all. alloc: form of a future allocation, see ``model/allocation.py``. gpus: the
    GPUs of hosts.
    """

    names: tuple[str, ...] = ()
    long: bool = False
    recursive: bool = False
    pending: bool = False
    running: bool = False
    suspended: bool = False
    ended: bool = False
    everything: bool = False
    shared: bool = False
    configured: bool = False
    arrays: bool = False
    users: frozenset[str] = frozenset()
    queues: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    alloc: str = "lsf"
    gpus: bool = False

    def wants(self, name: str) -> bool:
        """Whether something of this name is to be shown."""
        return not self.names or name in self.names

    def wants_job(self, job: str, user: str, queue: str, hosts: frozenset[str]) -> bool:
        """Whether a job is to be shown, by name, user, queue and the hosts that it is on."""
        return (
            (self.wants(job) or array_of(job) in self.names)
            and (not self.users or user in self.users)
            and (not self.queues or queue in self.queues)
            and (not self.hosts or bool(self.hosts & hosts))
        )

    @property
    def any_state(self) -> bool:
        """Whether jobs of some states alone are asked for."""
        return self.pending or self.running or self.suspended or self.ended
