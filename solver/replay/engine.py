"""Base of all replay policies: the clock, the events and the processors in use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right, insort
from dataclasses import fields
from operator import attrgetter
from typing import Any, ClassVar, Literal

from ...model.workload import Workload, predecessors
from ..optimal.pool.problem import StepProfile
from ..scheduler.events import EventKind, EventQueue

ScheduleAfter = Literal["event", "timestamp"]


class _Precedence:
    """The precedence of jobs, from columns 17 and 18 of SWF."""

    def __init__(self, workload: Workload) -> None:
        #: The job that each job follows, -1 for none.
        self.before: list[int] = predecessors(workload).tolist()
        #: Seconds of think time of each job after the job that it follows.
        self.think: list[int] = [] if workload.think is None else workload.think.tolist()
        #: Numbers of the jobs that follow a job.
        self.behind: dict[int, list[int]] = {}
        for job, before in enumerate(self.before):
            if before >= 0:
                self.behind.setdefault(before, []).append(job)


class Engine(ABC):
    """One pool of identical processors under one policy, advanced event by event.

    At one time stamp all submissions come first, then all ends, then all starts; submissions in
    file order, ends in the order in which the jobs were started. A policy plans with the requested
    time; a job ends by its real one.

    A policy implements `submitted`, `ended` and `schedule`. `schedule` runs after every submission
    and end, or once after the last of them at a time stamp (`schedule_after`), and sets a job to
    start with `begin`.

    Parameters
    ----------
    workload: in canonical form (`slotwise.model.workload.canonical`).
    procs: processors of the machine.
    """

    default_schedule_after: ClassVar[ScheduleAfter] = "event"
    #: Whether jobs are set to start later than now: then a start of now may be one set before.
    plans_ahead: ClassVar[bool] = False

    def __init__(self, workload: Workload, procs: int, schedule_after: ScheduleAfter) -> None:
        self.submit: list[int] = workload.submit.tolist()
        self._order = _Precedence(workload)
        #: Submission instant of each job that follows another job, by job.
        self.submitted_at: dict[int, int] = {}
        self.run: list[int] = workload.run_time.tolist()
        self.request: list[int] = workload.req_time.tolist()
        self.size: list[int] = workload.procs.tolist()
        self.procs = procs
        self.schedule_after = schedule_after
        self.start = [-1] * len(workload)
        self.finished = 0
        self.now = self.submit[0] if self.submit else 0
        self.queue = EventQueue()
        if self.submit:
            self.queue.push(self.submit[0], EventKind.SUBMIT, 0)

    @abstractmethod
    def hold(self, job: int, end: int) -> None:
        """Record that a job uses its processors from before this engine begins until the planned
        `end`.
        """

    @abstractmethod
    def submitted(self, job: int, now: int) -> None:
        """Process the arrival of a job."""

    @abstractmethod
    def ended(self, job: int, now: int) -> None:
        """Process the end of a job, perhaps before its requested time expires."""

    @abstractmethod
    def schedule(self, now: int) -> None:
        """Decide which waiting jobs start now."""

    #: The dataclass that says what `policy_state` returns: attributes of the policy, each with its
    #: path in the metadata "at" if that is not its name.
    state_shape: ClassVar[Any]

    def policy_state(self) -> dict[str, Any]:
        """Return the state that a policy has beyond the engine, as plain data for a checkpoint."""
        return {
            item.name: attrgetter(item.metadata.get("at", item.name))(self)
            for item in fields(self.state_shape)
        }

    def restore_policy(self, state: dict[str, Any]) -> None:
        """Restore the state that `policy_state` returned; pairs of JSON become tuples."""
        for item in fields(self.state_shape):
            value = state[item.name]
            if isinstance(value, list):
                value = [tuple(each) if isinstance(each, list) else each for each in value]
            owner, _, attribute = item.metadata.get("at", item.name).rpartition(".")
            setattr(attrgetter(owner)(self) if owner else self, attribute, value)

    def carry_on(self, job: int, started: int) -> None:
        """Add a job that runs since `started`, before this engine begins; call `begin_with`
        afterwards.
        """
        self.start[job] = started
        self.hold(job, started + self.request[job])

    def begin_with(self, first: int, coming: int) -> None:
        """Begin with already running jobs, all numbered below `first`, and waiting jobs from
        `first` on.

        Submissions are those from `coming` on. Who waits is looked at together, as the last of them
        arrives: one by one they would be offered what a newcomer of that very second is offered
        first. Ends that have come by then are handled after it.
        """
        self.queue = EventQueue()
        for job in range(first):
            self.queue.push(max(self.now, self.start[job] + self.run[job]), EventKind.END, job)
        newest = max(first, coming - 1)
        for job in range(first, newest):
            self.submitted(job, self.now)
        if newest < len(self.submit):
            self.queue.push(self.submit[newest], EventKind.SUBMIT, newest)

    def begin(self, job: int, time: int) -> None:
        """Set `job` to start at `time`; an earlier time given later replaces it."""
        self.start[job] = time
        # Without planned starts, all events of this instant are processed before the starts.
        if time == self.now and not self.plans_ahead:
            self.queue.push(time + self.run[job], EventKind.END, job)
        else:
            self.queue.push(time, EventKind.START, job)

    def advance(self, events: int) -> bool:
        """Process up to `events` further events; return whether any event is left."""
        queue, start, run = self.queue, self.start, self.run
        each_event = self.schedule_after == "event"
        submission, beginning = EventKind.SUBMIT, EventKind.START
        for _ in range(events):
            event = queue.take()
            if event is None:
                return False
            now, kind, _, job = event
            if kind == beginning:
                if start[job] == now:  # Otherwise the job was moved to an earlier instant.
                    queue.push(now + run[job], EventKind.END, job)
                continue
            self.now = now
            if kind == submission:
                again = job in self.submitted_at
                if not again and job + 1 < len(start):
                    queue.push(self.submit[job + 1], EventKind.SUBMIT, job + 1)
                if self._order.before[job] < 0 or again or self._may_submit(job, now):
                    self.submitted(job, now)
            else:
                self.finished += 1
                self.ended(job, now)
                for other in self._order.behind.get(job, ()):
                    if self.submit[other] <= now:
                        self._submit(other, now + self._order.think[other])
            if each_event or not self._more_now(now):
                self.schedule(now)
        return bool(queue)

    def _may_submit(self, job: int, now: int) -> bool:
        """Whether the job that another follows has ended, and the think time has passed.

        If it has ended the other comes when that time is over, else when the end comes: at one time
        stamp ends come last.
        """
        before = self._order.before[job]
        end = self.start[before] + self.run[before]
        if self.start[before] < 0 or end >= now:
            return False
        if end + self._order.think[job] <= now:
            return True
        self._submit(job, end + self._order.think[job])
        return False

    def _submit(self, job: int, time: int) -> None:
        """Submit a job that follows another job."""
        self.submitted_at[job] = time
        self.queue.push(time, EventKind.SUBMIT, job)

    def _more_now(self, now: int) -> bool:
        """Whether another submission or end happens at this instant."""
        if not self.queue:
            return False
        time, kind, _, _ = self.queue.peek()
        return time == now and kind != EventKind.START

    def state(self) -> dict[str, Any]:
        """Return everything that has changed since the beginning, as plain data."""
        events, sequence, _ = self.queue.state()
        return {
            "now": self.now,
            "finished": self.finished,
            "start": self.start,
            "came": list(self.submitted_at.items()),
            "events": events,
            "sequence": sequence,
            "policy": self.policy_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`, which must come from an equal workload, size and policy."""
        self.now = state["now"]
        self.finished = state["finished"]
        self.start = list(state["start"])
        self.submitted_at = dict(state["came"])
        events = [(time, kind, sequence, job) for time, kind, sequence, job in state["events"]]
        self.queue = EventQueue(events, state["sequence"])
        self.restore_policy(state["policy"])


class ProcessorProfile(StepProfile):
    """A profile whose neighbouring steps differ, so that the lists are as short as they can be."""

    __slots__ = ()

    def forget_before(self, now: int) -> None:
        """Drop the steps that ended at or before `now`."""
        past = bisect_right(self.times, now) - 1
        if past > 0:
            del self.times[:past]
            del self.free[:past]

    def take(self, start: int, end: int, procs: int) -> None:
        """Occupy `procs` processors over [start, end); a negative number releases processors."""
        times, free = self.times, self.free
        first = bisect_left(times, start)
        if first == len(times) or times[first] != start:
            times.insert(first, start)
            free.insert(first, free[first - 1])
        last = bisect_left(times, end, first)
        if last == len(times) or times[last] != end:
            times.insert(last, end)
            free.insert(last, free[last - 1])
        for i in range(first, last):
            free[i] -= procs
        # Only at the two borders can neighbours have become equal.
        if free[last] == free[last - 1]:
            del times[last], free[last]
        if first > 0 and free[first] == free[first - 1]:
            del times[first], free[first]

    def earlier(self, procs: int, duration: int, now: int, reserved: int) -> int:
        """Return an earlier start for a job that itself reserves `procs` over [reserved, reserved +
        duration).

        Returns a start in [now, reserved]. From `reserved` on, the job's own processors count as
        free, so only the steps before that have to be examined.
        """
        times, free = self.times, self.free
        count = bisect_left(times, reserved)
        i = bisect_right(times, now) - 1
        start = now
        while True:
            if free[i] < procs:
                i += 1
                while i < count and free[i] < procs:
                    i += 1
                if i == count:
                    return reserved
                start = times[i]
            end = start + duration
            i += 1
            while i < count and times[i] < end:
                if free[i] < procs:
                    break
                i += 1
            else:
                return start


class WaitingBySize:
    """Waiting jobs by number in the order of arrival, and the jobs of each size by request.

    size: processors of each job. request: its planned run time (seconds).
    """

    def __init__(self, size: list[int], request: list[int]) -> None:
        self._size, self._request = size, request
        self._sizes: list[int] = []  # ascending; of those that wait
        self._of_size: dict[int, list[tuple[int, int]]] = {}  # (request, job), sorted

    def add(self, job: int) -> None:
        """Add a waiting job."""
        size = self._size[job]
        jobs = self._of_size.get(size)
        if jobs is None:
            insort(self._sizes, size)
            jobs = self._of_size[size] = []
        insort(jobs, (self._request[job], job))

    def remove(self, job: int) -> None:
        """Remove a job that no longer waits."""
        size = self._size[job]
        jobs = self._of_size[size]
        if len(jobs) == 1:
            del self._of_size[size]
            del self._sizes[bisect_left(self._sizes, size)]
        else:
            del jobs[bisect_left(jobs, (self._request[job], job))]

    def fitting(self, free: int, extra: int, window: int) -> list[int]:
        """Return the jobs of at most `free` processors that request at most `window` seconds, or at
        most `extra` processors.

        In the order of their arrival.
        """
        found: list[int] = []
        for size in self._sizes:
            if size > free:
                break
            jobs = self._of_size[size]
            if size > extra and jobs[0][0] > window:
                continue  # the shortest is too long
            last = len(jobs) if size <= extra else bisect_left(jobs, (window + 1,))
            found += [job for _, job in jobs[:last]]
        found.sort()
        return found
