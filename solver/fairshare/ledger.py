"""Books what jobs do on the share accounts of every policy that counts them (FSH-03 … FSH-08).

A queue-level policy counts all jobs of its queues; a host partition counts, of every job, the slots
on its own hosts. A job is charged to the account under which it was dispatched; one that was
running before the loop began, to the first account of its user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...model.duration import granted_run_limit
from ...model.instance import Instance
from ...model.job import Job, RunningJob
from .accounts import Account, Change, Meter, ShareTree

#: Accounts of a job by the name of the policy.
Under = Mapping[str, Account]


@dataclass(slots=True)
class Charge:
    """Part of one job in the use of one account."""

    #: Share tree of the account.
    tree: ShareTree
    account: Account
    #: Slots in use.
    slots: int = 0
    #: Slots that the policy counts.
    part: float = 0.0
    #: Part of the job in the run time of its account.
    run: Meter = field(default_factory=Meter)
    #: Part of the job in the rest of the committed run time.
    rest: Meter = field(default_factory=Meter)
    #: Part of the job in the CPU time.
    cpu: Meter = field(default_factory=Meter)

    def book(self, now: int, change: Change) -> None:
        """Add `change` to the account, those above it, and the job's own part."""
        self.run.change(now, self.tree.run_decay, change.run, change.run_rate)
        self.rest.change(now, 0.0, change.rest, change.rest_rate)
        self.cpu.change(now, self.tree.decay, change.cpu, change.cpu_rate)
        self.tree.book(self.account, now, change)

    @property
    def weight(self) -> float:
        """Return the weight of a second of run time: one, or the slots; 0 without slots."""
        return float(self.slots if self.tree.factors.run_time_in_slots else self.slots > 0)

    def to_state(self) -> dict[str, Any]:
        """Return the charge as plain data."""
        return {
            "policy": self.tree.name,
            "account": list(self.account.path),
            "slots": self.slots,
            "part": self.part,
            "run": self.run.state(),
            "rest": self.rest.state(),
            "cpu": self.cpu.state(),
        }

    @classmethod
    def of(cls, state: Mapping[str, Any], trees: Mapping[str, ShareTree]) -> Charge:
        """Return the charge that :meth:`to_state` describes."""
        tree = trees[state["policy"]]
        return cls(
            tree,
            tree.account(tuple(state["account"])),
            state["slots"],
            state["part"],
            Meter.of(state["run"]),
            Meter.of(state["rest"]),
            Meter.of(state["cpu"]),
        )


@dataclass(slots=True)
class Entry:
    """One running job."""

    #: Job of the entry.
    job: Job
    #: Slots by host.
    allocation: dict[str, int]
    #: MB in use.
    memory: float
    #: Run limit in seconds (-W or RUNLIMIT).
    committed: int | None
    #: CPU seconds per second.
    cpu_rate: float
    #: CPU seconds assumed or measured so far.
    cpu: Meter
    #: Seconds of run time without suspensions.
    ran: Meter
    #: Parts in the use of accounts.
    charges: list[Charge] = field(default_factory=list)
    #: Whether the job is suspended.
    suspended: bool = False

    def rates(self, charge: Charge, sign: float) -> Change:
        """Return the rates of the job's meters of one account, times `sign`."""
        run = 0.0 if self.suspended else sign * charge.weight
        cpu = 0.0 if self.suspended else sign * self.cpu_rate * charge.part
        return Change(run_rate=run, rest_rate=0.0 if self.committed is None else -run, cpu_rate=cpu)


class Ledger:
    """The running jobs and what they are charged."""

    def __init__(
        self,
        instance: Instance,
        trees: Mapping[str, ShareTree],
        tree_of_queue: Mapping[str, str],
        tree_of_host: Mapping[str, str],
    ) -> None:
        #: Share trees by the name of the policy.
        self.trees = trees
        self.entries: dict[str, Entry] = {}
        self._reserved: dict[str, list[tuple[ShareTree, Account, int]]] = {}
        self._instance = instance
        #: Name of the policy that counts the jobs of a queue, by queue.
        self.tree_of_queue = tree_of_queue
        #: Name of the policy that counts the slots of a host, by host.
        self.tree_of_host = tree_of_host
        self._averages = {
            running.job.id: _average(running, instance.now)
            for running in instance.running
            if running.job.cpu_time is not None
        }

    def started(
        self, job: Job, allocation: Mapping[str, int], now: int, under: Under, memory: float = 0.0
    ) -> None:
        """Record that a job starts on `allocation` (slots by host) with `memory` MB."""
        self.reserved(job, {}, now, under)
        entry = Entry(
            job,
            allocation={},
            memory=memory,
            committed=granted_run_limit(self._instance, job),
            cpu_rate=0.0,
            cpu=Meter(stamp=now),
            ran=Meter(rate=1.0, stamp=now),
        )
        self.entries[job.id] = entry
        self._settle(entry, allocation, now, under)

    def ended(self, job: str, now: int, cpu_time: float | None = None) -> None:
        """Record the end of a job; cpu_time: total seconds of CPU time, None for the estimate."""
        entry = self.entries[job]
        if cpu_time is None and entry.job.run_time is None and job not in self._averages:
            cpu_time = entry.job.cpu_time
        if cpu_time is not None:
            self.cpu_used(job, cpu_time, now)
        del self.entries[job]
        for charge in entry.charges:  # Only the account needs the end: the charge itself is over.
            tree, rates = charge.tree, entry.rates(charge, -1)
            run = charge.run.at(now, tree.run_decay)
            change = Change(
                jobs=-1,
                slots=-charge.slots,
                memory=-entry.memory * charge.part,
                run=-run,
                run_rate=rates.run_rate,
                rest=-charge.rest.at(now),
                rest_rate=rates.rest_rate,
                cpu_rate=rates.cpu_rate,
                history=run if tree.factors.hist_run_time else 0.0,
            )
            tree.book(charge.account, now, change)

    def resized(self, job: str, allocation: Mapping[str, int], now: int) -> None:
        """Set the allocation of a running job (FSH-15)."""
        entry = self.entries[job]
        under = {charge.tree.name: charge.account for charge in entry.charges}
        self._settle(entry, allocation, now, under)

    def suspended(self, job: str, now: int) -> None:
        """Record that a running job is suspended: its slots still count, its times stop."""
        self._pause(self.entries[job], now, True)

    def resumed(self, job: str, now: int) -> None:
        """Record that a suspended job resumes."""
        self._pause(self.entries[job], now, False)

    def cpu_used(self, job: str, total: float, now: int) -> None:
        """Set the CPU seconds used by a running job to `total`, in place of assumed ones.

        The decayed part is corrected in the same proportion.
        """
        entry = self.entries[job]
        assumed = entry.cpu.at(now)
        for charge in entry.charges:
            kept = charge.cpu.at(now, charge.tree.decay)
            more = kept * (total / assumed - 1) if assumed else total * charge.part
            charge.book(now, Change(cpu=more))
        entry.cpu.change(now, add=total - assumed)

    def cpu_stated(self, job: str, total: float, now: int) -> None:
        """Set the CPU seconds of a job that ran before to `total`, counted in full at `now`."""
        entry = self.entries[job]
        for charge in entry.charges:
            booked = charge.cpu.at(now, charge.tree.decay)
            charge.book(now, Change(cpu=total * charge.part - booked))
        entry.cpu.change(now, add=total - entry.cpu.at(now))

    def commit(self, account: Account, total: float, now: int) -> None:
        """Set the total run time to which the running jobs below `account` are committed.

        The difference from the sum of their own limits is divided among them equally. Without
        running jobs, nothing is committed.
        """
        charges = [
            (entry, charge)
            for entry in self.entries.values()
            for charge in entry.charges
            if account in charge.account.chain()
        ]
        if not charges:
            return
        queued = sum(c.run.at(now, c.tree.run_decay) + c.rest.at(now) for _, c in charges)
        part = (total - queued) / len(charges)
        for entry, charge in charges:
            if entry.committed is None:
                entry.committed = round(entry.ran.at(now) + part / (charge.weight or 1))
                charge.book(now, Change(rest_rate=entry.rates(charge, 1).rest_rate))
            charge.book(now, Change(rest=part))

    def reserved(self, job: Job, slots: Mapping[str, int], now: int, under: Under) -> None:
        """Set the slots that a pending job reserves (by host); {} releases them (FSH-04)."""
        for tree, account, count in self._reserved.pop(job.id, ()):
            tree.book(account, now, Change(reserved=-count))
        if not slots:
            return
        places = self._places(job, slots, under)
        self._reserved[job.id] = [(tree, account, n) for tree, account, n in places]
        for tree, account, count in places:
            tree.book(account, now, Change(reserved=count))

    def charged(self, job: str) -> list[tuple[ShareTree, Account]]:
        """Return the accounts charged for a running job or a job with reserved slots."""
        if job in self.entries:
            return [(charge.tree, charge.account) for charge in self.entries[job].charges]
        return [(tree, account) for tree, account, _ in self._reserved.get(job, ())]

    def _places(
        self, job: Job, allocation: Mapping[str, int], under: Under
    ) -> list[tuple[ShareTree, Account, int]]:
        """Return each policy that counts the job, with the account and the slots counted."""
        found = []
        for tree, slots in self.counted(job.queue, allocation):
            name = tree.name
            accounts = (under[name],) if name in under else tree.accounts(job.user, job.group)
            # A job may run here from before the policy gave its user a share; no account is
            # charged.
            if accounts:
                found.append((tree, accounts[0], slots))
        return found

    def counted(self, queue: str, allocation: Mapping[str, int]) -> list[tuple[ShareTree, int]]:
        """Return each policy that counts a job of a queue, with the slots counted."""
        counts: dict[str, int] = {}
        if queue in self.tree_of_queue:
            counts[self.tree_of_queue[queue]] = sum(allocation.values())
        for host, slots in allocation.items():
            if host in self.tree_of_host:
                name = self.tree_of_host[host]
                counts[name] = counts.get(name, 0) + slots
        return [(self.trees[name], slots) for name, slots in counts.items()]

    def _settle(self, entry: Entry, allocation: Mapping[str, int], now: int, under: Under) -> None:
        """Count a job's slots as `allocation` has them, and let its meters run accordingly."""
        total = sum(allocation.values())
        for charge in entry.charges:
            charge.book(now, entry.rates(charge, -1))
        cpu_rate = self._cpu_rate(entry.job, total)
        if not entry.suspended:
            entry.cpu.change(now, rate=cpu_rate - entry.cpu_rate)
        entry.cpu_rate = cpu_rate
        counts = {
            id(account): (tree, account, count)
            for tree, account, count in self._places(entry.job, allocation, under)
        }
        held = {id(charge.account) for charge in entry.charges}
        for key, (tree, account, _) in counts.items():
            if key not in held:
                entry.charges.append(Charge(tree, account))
                tree.book(account, now, Change(jobs=1))
        for charge in entry.charges:
            slots = counts[id(charge.account)][2] if id(charge.account) in counts else 0
            part = slots / total if total else 0.0
            more, memory = slots - charge.slots, entry.memory * (part - charge.part)
            weight = charge.weight
            charge.slots, charge.part = slots, part
            rest = self._rest(entry, now) * (charge.weight - weight)
            rates = entry.rates(charge, 1)
            charge.book(now, rates._replace(slots=more, memory=memory, rest=rest))
        entry.allocation = dict(allocation)

    def _pause(self, entry: Entry, now: int, suspend: bool) -> None:
        if entry.suspended == suspend:
            return
        sign = -1 if suspend else 1
        entry.ran.change(now, rate=sign)
        entry.cpu.change(now, rate=sign * entry.cpu_rate)
        for charge in entry.charges:
            charge.book(now, entry.rates(charge, -1))
        entry.suspended = suspend
        for charge in entry.charges:
            charge.book(now, entry.rates(charge, 1))

    def _rest(self, entry: Entry, now: int) -> float:
        """Return the remaining seconds of the committed run time."""
        return 0.0 if entry.committed is None else max(0.0, entry.committed - entry.ran.at(now))

    def _cpu_rate(self, job: Job, slots: int) -> float:
        """Return the CPU seconds per second: the job's own average if it is known.

        For a job that ran at the beginning, until then; for a later start, over its run time. A job
        with known total CPU time but unknown run time is charged at its end.
        """
        if job.id in self._averages:
            average = self._averages[job.id]
        elif job.cpu_time is not None:
            average = job.cpu_time / job.run_time if job.run_time else 0.0
        else:
            average = None
        return float(slots) if average is None else average

    def to_state(self) -> dict[str, Any]:
        """Return running jobs and reserved slots as plain data, by job id."""
        return {
            "running": {
                name: {
                    "allocation": entry.allocation,
                    "memory": entry.memory,
                    "committed": entry.committed,
                    "cpu_rate": entry.cpu_rate,
                    "cpu": entry.cpu.state(),
                    "ran": entry.ran.state(),
                    "suspended": entry.suspended,
                    "charges": [charge.to_state() for charge in entry.charges],
                }
                for name, entry in self.entries.items()
            },
            "reserved": {
                name: [[tree.name, list(account.path), count] for tree, account, count in places]
                for name, places in self._reserved.items()
            },
            "averages": dict(self._averages),
        }

    def load_state(self, state: Mapping[str, Any], jobs: Mapping[str, Job]) -> None:
        """Take over what :meth:`to_state` gave; jobs: the running ones by id.

        The accounts' own counters are the trees' state and are not touched.
        """
        self.entries = {
            name: Entry(
                jobs[name],
                dict(record["allocation"]),
                record["memory"],
                record["committed"],
                record["cpu_rate"],
                Meter.of(record["cpu"]),
                Meter.of(record["ran"]),
                [Charge.of(charge, self.trees) for charge in record["charges"]],
                record["suspended"],
            )
            for name, record in state["running"].items()
        }
        self._averages = dict(state["averages"])
        self._reserved = {
            name: [
                (self.trees[tree], self.trees[tree].account(tuple(path)), count)
                for tree, path, count in places
            ]
            for name, places in state["reserved"].items()
        }


def _average(running: RunningJob, now: int) -> float | None:
    """Return the CPU seconds per second that the job has used until `now`; None at its start."""
    elapsed = now - running.start
    assert running.job.cpu_time is not None, "the job gives its usage"
    return running.job.cpu_time / elapsed if elapsed > 0 else None
