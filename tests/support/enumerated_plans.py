"""Plans of tiny instances by enumeration: optima, and what is wrong with a plan.

Jobs fit together where what their forms (:mod:`enumerator`) hold adds up to no more than there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from enumerator import NEVER, Enumerator, Form, drops, length
from slotwise import Instance, Job, Plan

#: A form and its start (seconds).
Placed = tuple[Form, int]


@dataclass
class Table:
    """An instance with the forms of its pending jobs and what runs."""

    instance: Instance
    them: Enumerator = field(init=False)
    forms: dict[str, list[Form]] = field(init=False)
    running: list[Placed] = field(init=False)
    limits: Any = field(init=False)

    def __post_init__(self) -> None:
        self.them = Enumerator(self.instance)
        self.forms = {job.id: self.them.forms(job) for job in self.instance.pending}
        self.running = [
            (Form(run.job, (tuple(run.allocation.items()),), run.alternative), run.start)
            for run in self.instance.running
        ]
        self.limits = np.array(list(self.them.capacity.values())) + 1e-6

    def size(self) -> int:
        """How many combinations of forms there are."""
        return int(np.prod([float(max(1, len(forms))) for forms in self.forms.values()]))

    def used(self, placed: Sequence[Placed], time: int) -> Any:
        """What runs and is placed holds at an instant."""
        total = np.zeros(len(self.limits))
        for form, start in placed:
            if start <= time < start + length(form.job):
                total = total + self.them.held(form, time - start)
        return total

    def fits(self, before: Sequence[Placed], new: Placed) -> bool:
        """Whether a job fits beside others: at its start and at every later start inside it."""
        form, start = new
        everything = [*self.running, *before, new]
        instants = {s for _, s in before if start <= s < start + length(form.job)} | {start}
        for time in instants:
            # What others do among themselves, where the job holds nothing, is not its fault.
            own = self.them.held(form, time - start) > 0
            if not (self.used(everything, time) <= self.limits)[own].all():
                return False
        return True

    def roots(self) -> set[int]:
        """Now, and when something that runs is given back."""
        now = self.instance.now
        found = {now}
        for form, start in self.running:
            spans = {length(form.job), *drops(self.them, form.job)}
            found |= {start + span for span in spans if now < start + span < NEVER}
        return found

    def instants(self, job: Job, spans: Iterable[int]) -> list[int]:
        """Starts worth trying, with these instants of others."""
        first = max(self.instance.now, job.begin or 0)
        times = {first, *(t for t in spans if first <= t < NEVER)}
        return sorted(times)

    def lexicographic(self) -> dict[str, int | None]:
        """The earliest starts in order of submission; None where there is none."""
        prefixes: list[list[Placed]] = [[]]
        times = self.roots()
        starts: dict[str, int | None] = {}
        pending = self.instance.pending
        for job in pending:
            starts[job.id] = None
            for time in self.instants(job, times):
                grown = self._grown(prefixes, job, time, only_one=job is pending[-1])
                if grown:
                    starts[job.id], prefixes = time, grown
                    spans = {length(job), *drops(self.them, job)}
                    times |= {time + span for span in spans}
                    break
        return starts

    def _grown(
        self, prefixes: list[list[Placed]], job: Job, time: int, *, only_one: bool
    ) -> list[list[Placed]]:
        grown: list[list[Placed]] = []
        for form in self.forms[job.id]:
            if not self.fits([], (form, time)):
                continue
            for prefix in prefixes:
                if self.fits(prefix, (form, time)):
                    grown.append([*prefix, (form, time)])
                    if only_one:
                        return grown
        return grown

    def starts_of_all(self) -> Iterator[dict[str, int]]:
        """All combinations of starts worth trying, each job at one of its instants."""
        pending = self.instance.pending
        choices: list[list[int]] = []
        for job in pending:
            others = [other for other in pending if other is not job]
            chains = {0}
            for other in others:
                steps = {0, length(other), *drops(self.them, other)}
                chains |= {chain + step for chain in chains for step in steps}
            begins = {other.begin for other in others if other.begin}
            spans = {root + chain for root in self.roots() | begins for chain in chains}
            alone = [
                time
                for time in self.instants(job, spans)
                if any(self.fits([], (form, time)) for form in self.forms[job.id])
            ]
            choices.append(alone)
        for times in product(*choices):
            yield {job.id: time for job, time in zip(pending, times, strict=True)}

    def possible(self, starts: Mapping[str, int]) -> bool:
        """Whether all jobs can be placed with these starts."""
        jobs = sorted(self.instance.pending, key=lambda job: starts[job.id])

        def place(number: int, before: list[Placed]) -> bool:
            if number == len(jobs):
                return True
            job = jobs[number]
            return any(
                self.fits(before, new) and place(number + 1, [*before, new])
                for form in self.forms[job.id]
                for new in [(form, starts[job.id])]
            )

        return place(0, [])

    def least(self, objective: str) -> float | None:
        """The optimum over plans of all jobs, None where no plan has them all."""
        ranked = sorted(self.starts_of_all(), key=lambda starts: self.value(objective, starts))
        found = next((starts for starts in ranked if self.possible(starts)), None)
        return None if found is None else self.value(objective, found)

    def value(self, objective: str, starts: Mapping[str, int]) -> float:
        """The objective of these starts."""
        now = self.instance.now
        jobs = self.instance.pending
        if objective == "total-start":
            return float(sum(starts.values()) - now * len(jobs))
        if objective == "makespan":
            return float(max(starts[job.id] + (job.run_limit or 0) for job in jobs) - now)
        assert objective == "weighted"
        return sum(job.weight * (starts[job.id] - now) for job in jobs)

    def placed(self, plan: Plan) -> list[Placed]:
        """The entries of a plan as forms, as the plan records them."""
        jobs = {job.id: job for job in self.instance.pending}
        found = []
        for item in plan:
            if item.start is not None:
                terms = item.terms or (item.allocation,)
                form = Form(
                    jobs[item.job], tuple(tuple(term.items()) for term in terms), item.alternative
                )
                found.append((form, item.start))
        return found

    def faults(self, plan: Plan) -> list[str]:
        """What is wrong with the places of a plan."""
        placed = self.placed(plan)
        found = []
        for number, (form, start) in enumerate(placed):
            others = placed[:number] + placed[number + 1 :]
            shapes = {self.kind(other) for other in self.forms[form.job.id]}
            if self.kind(form) not in shapes:
                found.append(f"{form.job.id} has a shape that it may not have: {form.terms}")
            elif not self.fits(others, (form, start)):
                found.append(f"{form.job.id} has no room at {start}")
        return found

    def kind(self, form: Form) -> tuple[object, ...]:
        """What the form holds over time."""
        times = sorted({0, *drops(self.them, form.job)})
        return tuple(self.them.held(form, time).tobytes() for time in times)

    def first_fits(self, plan: Plan) -> list[str]:
        """What time-based reservation got wrong, job by job beside those before it."""
        entries = {form.job.id: (form, start) for form, start in self.placed(plan)}
        before: list[Placed] = []
        found = []
        for job in self.instance.pending:
            ends = {s + length(form.job) for form, s in [*self.running, *before]}
            right = next(
                (
                    time
                    for time in self.instants(job, ends)
                    if any(self.fits(before, (form, time)) for form in self.forms[job.id])
                ),
                None,
            )
            got = entries.get(job.id)
            if (None if got is None else got[1]) != right and not self._in_order(job, got, right):
                found.append(f"{job.id}: {None if got is None else got[1]}, not {right}")
            if got is not None:
                before.append(got)
        return found

    def _in_order(self, job: Job, got: Placed | None, right: int | None) -> bool:
        """Terms placed one after another may start later, or never (REQ-14)."""
        late = got is None or (right is not None and got[1] > right)
        return late and len(self.them.asked(job)) > 1
