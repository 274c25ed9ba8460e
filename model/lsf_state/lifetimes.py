"""When the hosts of a cluster were there, as lsb.events tells it: changes for a simulation.

`badmin hclose` and `hopen` (HOST_CTRL) close and open a host. The daemon writes how many hosts its
configuration has (MBD_START). Where a log names more, the others came and went - hosts of a cloud,
borrowed hosts: each is there from the first record that names it until its last job has ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..changes import CLOSED, OPEN, HostStatus
from . import log_records as r


@dataclass(slots=True)
class HostLives:
    """What a log says of hosts; times in seconds since 1970.

    first, last: the first record that names a host, and when its last job had ended; in the order
    in which they are named. controls: closing (False) and opening, in order. configured: the most
    hosts that the daemon's configuration ever had, None where the log does not say.
    """

    first: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    controls: list[tuple[int, str, bool]] = field(default_factory=list)
    configured: int | None = None

    @property
    def passing(self) -> list[str]:
        """Hosts beyond those of the configuration, which came and went."""
        return [] if self.configured is None else list(self.first)[self.configured :]

    def changes(self, hosts: Iterable[str], zero: int) -> tuple[HostStatus, ...]:
        """What happens to these hosts in seconds from `zero`; earlier things happen at 0."""
        wanted = set(hosts)
        found: list[HostStatus] = []
        for name in self.passing:
            if name not in wanted:
                continue
            if self.first[name] > zero:
                found.append(HostStatus(0, name, CLOSED))
                found.append(HostStatus(self.first[name] - zero, name, OPEN))
            if name in self.last:
                found.append(HostStatus(max(0, self.last[name] - zero), name, CLOSED))
        for time, name, opens in self.controls:
            if name in wanted:
                found.append(HostStatus(max(0, time - zero), name, OPEN if opens else CLOSED))
        return tuple(sorted(found, key=lambda change: change.time))


def host_lives(records: Iterable[r.Record]) -> HostLives:
    """The lives of all hosts that a log names, from its records in order."""
    lives = HostLives()
    running: dict[tuple[int, int], set[str]] = {}
    for record in records:
        match record:
            case r.Started():
                _name(lives, record.hosts, record.time)
                running[record.number, record.index] = set(record.hosts)
            case r.Resized():
                _name(lives, record.hosts, record.time)
                running.setdefault((record.number, record.index), set()).update(record.hosts)
            case r.Changed() if not record.status & (r.RUNNING | r.STOPPED):
                for host in running.pop((record.number, record.index), ()):
                    lives.last[host] = record.time
            case r.Controlled(kind="host"):
                lives.controls.append((record.time, record.name, record.open))
            case r.DaemonStarted():
                lives.configured = max(lives.configured or 0, record.hosts)
    for hosts in running.values():  # they run on when the log ends
        for host in hosts:
            lives.last.pop(host, None)
    return lives


def _name(lives: HostLives, hosts: Iterable[str], time: int) -> None:
    for host in hosts:
        lives.first.setdefault(host, time)
