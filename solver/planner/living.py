"""An instance that goes on: jobs come and end, hosts change, time passes.

What an event means is what it means in files of changes (:mod:`slotwise.model.changes`), and it is
held to their rules, with their messages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ...model.changes import DOWN, Change, EarlyEnd, HostStatus, Kill, NewJob, status_after
from ...model.cluster import HOST_STATUSES, Host
from ...model.duration import within_queue_limit
from ...model.errors import InputError, Problem
from ...model.formats.change_objects import require_sound_changes
from ...model.formats.field_rules import class_rules
from ...model.formats.submit import refusals
from ...model.instance import Instance
from ...model.job import Job, RunningJob
from ...model.modules import with_loaded_modules
from ..rules.left_out import as_estimates_see_it
from ..world.kept import KeptRunning


class LivingInstance:
    """The instance as it is now, and what runs in it, entered.

    The place of a running job in the instance is nobody's business: the last one takes the place of
    one that is gone.
    """

    def __init__(self, instance: Instance, *, margin: int = 0) -> None:
        self.instance = instance
        self._margin = margin
        #: Whether a host is up and open, in the words of changes; its status where unnamed.
        self._status: dict[str, str] = {}
        self._where = {item.job.id: at for at, item in enumerate(instance.running)}
        self._kept: KeptRunning | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without what is entered: it is again when it is asked for."""
        return {**self.__dict__, "_kept": None}

    @property
    def kept(self) -> KeptRunning:
        """What runs, entered."""
        if self._kept is None:
            self._kept = KeptRunning(self._as_entered(), margin=self._margin)
        return self._kept

    def _as_entered(self) -> Instance:
        found = with_loaded_modules(as_estimates_see_it(self.instance))
        hosts = tuple(
            host if host.status == "ok" else replace(host, status="ok")
            for host in found.cluster.hosts
        )
        return replace(found, cluster=replace(found.cluster, hosts=hosts))

    def runs(self, job: str) -> bool:
        """Whether a job of this id runs."""
        return job in self._where

    # --- events ---------------------------------------------------------------------------------

    def submit(self, job: Job) -> None:
        """A job joins the pending ones, or those to come where it is submitted later."""
        now = self.instance.now
        if isinstance(job, Job) and type(job.submit) is int and job.submit < now:
            job = replace(job, submit=now)
        if not self._fits(job):
            self._check(NewJob(job))
        name = "future" if job.submit > now else "pending"
        self._set(**{name: (*getattr(self.instance, name), job)})

    def end(self, job: str) -> None:
        """A running job has ended."""
        self._check(EarlyEnd(self.instance.now, job))
        if job not in self._where:
            raise InputError([Problem(f"job {job} does not run", path="job")])
        self._leave([job])

    def cancel(self, job: str) -> None:
        """A job is killed, wherever it stands."""
        now = self.instance.now
        coming = {item.id for item in self.instance.future}
        if job not in coming:
            self._check(Kill(now, job))
        if job in self._where:
            self._leave([job])
        else:
            self._withdraw({job})

    def host(self, name: str, status: str) -> None:
        """A host goes down (its jobs wait again), comes up, is closed or opened."""
        self._check(HostStatus(self.instance.now, name, status))
        cluster = self.instance.cluster
        at = cluster.host_index()[name]
        host = cluster.hosts[at]
        before = self._status.get(name, "ok" if host.takes_jobs else host.status)
        after = self._status[name] = status_after(before, status)
        shown = after if after in HOST_STATUSES else DOWN
        hosts = (*cluster.hosts[:at], _with_status(host, shown), *cluster.hosts[at + 1 :])
        self._set(cluster=replace(cluster, hosts=hosts))
        if status == DOWN:
            lost = [
                replace(within_queue_limit(self.instance, item.job), requeued=True)
                for item in self.instance.running
                if name in item.allocation
            ]
            self._leave([job.id for job in lost])
            self._set(pending=(*self.instance.pending, *lost))

    def start(self, running: Iterable[RunningJob]) -> None:
        """Pending jobs run; nobody looks at whether they may."""
        more = tuple(running)
        if not more:
            return
        self._withdraw({item.job.id for item in more})
        first = len(self.instance.running)
        self._where |= {item.job.id: first + at for at, item in enumerate(more)}
        kept = self._kept
        self._set(running=(*self.instance.running, *more))
        if kept is not None:
            kept.started(self._as_entered(), more)

    def clock(self, now: int) -> None:
        """It is `now`: what was to end by then has ended, what was to come by then has come."""
        self._set(now=now)
        states = self.kept.states
        over = [
            item.job.id
            for item, state in zip(self.instance.running, states, strict=True)
            if not item.suspended and (end := state.real_end()) is not None and end <= now
        ]
        self._leave(over)
        come = tuple(job for job in self.instance.future if job.submit <= now)
        if come:
            future = tuple(job for job in self.instance.future if job.submit > now)
            self._set(pending=(*self.instance.pending, *come), future=future)

    # --- books ----------------------------------------------------------------------------------

    def _set(self, **parts: object) -> None:
        self.instance = replace(self.instance, **parts)  # type: ignore[arg-type]

    def _leave(self, jobs: Sequence[str]) -> None:
        """Running jobs are gone."""
        if not jobs:
            return
        running = list(self.instance.running)
        for job in jobs:
            at, last = self._where.pop(job), running.pop()
            if at < len(running):
                running[at] = last
                self._where[last.job.id] = at
            if self._kept is not None:
                self._kept.ended(at)
        self._set(running=tuple(running))

    def _withdraw(self, jobs: Collection[str]) -> None:
        pending, future = (
            tuple(job for job in of if job.id not in jobs)
            for of in (self.instance.pending, self.instance.future)
        )
        self._set(pending=pending, future=future)

    def _fits(self, job: Job) -> bool:
        """Whether a job is right by itself and beside the others: all that it could be refused for.

        The look at a whole instance, which says what is wrong, takes in every host.
        """
        if not isinstance(job, Job) or class_rules(Job).wrong(job, set()):
            return False
        known = (self.instance.pending, self.instance.future)
        if job.id in self._where or any(job.id == other.id for of in known for other in of):
            return False
        return not any(refusals(self.instance, job))

    def _check(self, change: Change) -> None:
        """The rules of files of changes for one of them; paths lead into the change."""
        try:
            require_sound_changes([change], self.instance)
        except InputError as error:
            raise InputError(
                replace(found, path=found.path.removeprefix("changes[0]").lstrip("."))
                for found in error.problems
            ) from None


def _with_status(host: Host, status: str) -> Host:
    return host if host.status == status else replace(host, status=status)
