"""The replay policies as short and slow as they can be said; the oracle of the fast ones.

Bookings are an unordered list; every question about free processors is answered by looking at all
of them. Nothing is cached, nothing is skipped.
"""

from __future__ import annotations

from dataclasses import dataclass

SUBMIT, END, START = 0, 1, 2


@dataclass
class Booking:
    job: int
    start: int
    end: int


class Reference:
    """`jobs`: (submit, run, request, size) in canonical form; `starts` holds the answer."""

    def __init__(self, jobs, procs, policy, schedule_after):
        self.jobs, self.procs, self.policy = jobs, procs, policy
        self.bookings: list[Booking] = []
        self.waiting: list[int] = []  # in order of arrival, without a booking
        self.reserved: list[int] = []  # in order of arrival, with one
        self.starts = [-1] * len(jobs)
        self.events = [(jobs[job][0], SUBMIT, job, job) for job in range(len(jobs))]
        self.counter = len(jobs)
        while self.events:
            self.events.sort()
            now, kind, _, job = self.events.pop(0)
            if kind == START:
                if self.starts[job] == now:
                    self.push(now + jobs[job][1], END, job)
                continue
            ended = kind == END
            if kind == SUBMIT:
                self.waiting.append(job)
            else:
                self.cut(job, now)
            while schedule_after == "timestamp" and any(e[:2] < (now, START) for e in self.events):
                self.events.sort()
                _, kind, _, job = self.events.pop(0)
                if kind == SUBMIT:
                    self.waiting.append(job)
                else:
                    self.cut(job, now)
                    ended = True
            getattr(self, policy.replace("-", "_"))(now, ended)

    def push(self, time, kind, job):
        self.events.append((time, kind, self.counter, job))
        self.counter += 1

    def cut(self, job, now):
        for booking in self.bookings:
            if booking.job == job:
                booking.end = now

    def free_at(self, time):
        busy = [b.job for b in self.bookings if b.start <= time < b.end]
        return self.procs - sum(self.jobs[job][3] for job in busy)

    def fits(self, job, time):
        _, _, request, size = self.jobs[job]
        moments = [time] + [b.start for b in self.bookings if time < b.start < time + request]
        return all(self.free_at(moment) >= size for moment in moments)

    def earliest(self, job, now):
        moments = sorted({now} | {b.end for b in self.bookings if b.end > now})
        return next(moment for moment in moments if self.fits(job, moment))

    def book(self, job, time):
        self.bookings.append(Booking(job, time, time + self.jobs[job][2]))

    def unbook(self, job):
        self.bookings = [b for b in self.bookings if b.job != job]

    def begin(self, job, now):
        self.book(job, now)
        self.starts[job] = now
        self.push(now, START, job)

    def fcfs(self, now, ended):
        while self.waiting and self.free_at(now) >= self.jobs[self.waiting[0]][3]:
            self.begin(self.waiting.pop(0), now)

    def easy(self, now, ended, key=None):
        self.fcfs(now, ended)
        if not self.waiting:
            return
        head, tail = self.waiting[0], self.waiting[1:]
        for job in sorted(tail, key=key) if key else tail:
            self.book(head, self.earliest(head, now))
            fits = self.fits(job, now)
            self.unbook(head)
            if fits:
                self.waiting.remove(job)
                self.begin(job, now)

    def easy_sjbf(self, now, ended):
        self.easy(now, ended, key=lambda job: self.jobs[job][2])

    def conservative(self, now, ended):
        for job in self.reserved if ended else []:
            before = self.starts[job]
            if before > now:
                self.unbook(job)
                after = self.earliest(job, now)
                if after == before:
                    self.book(job, before)
                else:
                    self.begin(job, after)
        for job in self.waiting:
            self.begin(job, self.earliest(job, now))
            self.reserved.append(job)
        self.waiting.clear()

    def replan(self, now, ended):
        for job in self.waiting:
            self.unbook(job)
        for job in self.waiting:
            self.book(job, self.earliest(job, now))
        for booking in [b for b in self.bookings if b.start == now and b.job in self.waiting]:
            self.waiting.remove(booking.job)
            self.starts[booking.job] = now
            self.push(now, START, booking.job)


def reference_starts(jobs, procs, policy, schedule_after):
    """Start of each job; `jobs` are (submit, run, request, size), sorted by submit."""
    return Reference(jobs, procs, policy, schedule_after).starts
