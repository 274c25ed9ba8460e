"""Texts of the page on each pending job: its table row, its details, and advice on it."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

from ...model.display import AsData, WrittenTimes, duration_text, smallest_difference
from ...model.duration import expected_duration
from ...model.escaping import html_text
from ...model.instance import Instance
from ...model.job import Job
from ...model.plan import NOT_PROVED, PlannedJob, proof_text
from ...model.slurm_words import change_text
from ...solver.advice.comparison import METHOD_STARTS, ComparedJob
from ...solver.advice.diagnosis.records import (
    Advised,
    Page,
    SpokenTimes,
    Verdict,
    WaitingJob,
    advised,
)
from ...solver.advice.explain import Explanation, explain
from ...solver.advice.likely import times_of
from ...solver.advice.suggestions import Suggestion
from ...solver.budget import Deadline
from ...solver.pending_reasons import counted
from ..outlook_text import command_of, could_start
from ..source import LIVE
from ..tables import hosts_text
from .data import MAX_JOBS, Report

#: A pattern, the word that it stands for, and what that is; first those of requirements.
_WORDS: tuple[tuple[str, str, str], ...] = (
    (
        r"\bcu\[[^\]]*",
        "cu[…]",
        "which compute units (enclosures, racks) it may use; maxcus=1: all its slots in one",
    ),
    (r"\bptile=", "span[ptile=N]", "N slots on each host"),
    (r"span\[hosts=1\]", "span[hosts=1]", "all slots on one host"),
    (r"\bsame\[", "same[…]", "hosts that are alike in this"),
    (r"\brusage\[", "rusage[…]", "memory and other resources that are reserved for it"),
    (r"\bselect\[", "select[…]", "which hosts are suitable"),
    (r"\baffinity\[", "affinity[…]", "cores to which it is bound"),
    (r"\bSLOT_RESERVE\b", "SLOT_RESERVE", "slots are reserved for a job until it has enough"),
    (r"\bRESOURCE_RESERVE\b", "RESOURCE_RESERVE", "likewise for slots and memory"),
    (r"\bBACKFILL\b", "BACKFILL", "short jobs may use slots that are reserved for others"),
    (r"\bslot pool\b", "slot pool", "slots that some queues share by percentage"),
    (r"\blsb\.queues\b", "lsb.queues", "the file of the queues (Slurm: partitions)"),
    (r"\blsb\.params\b", "lsb.params", "the file of the scheduler’s settings"),
    (r"\blsb\.users\b", "lsb.users", "the file of users’ limits"),
    (r"\blsb\.resources\b", "lsb.resources", "the file of limits"),
    (r"\bbadmin reconfig\b", "badmin reconfig", "LSF reads its files again"),
    (r"\bbmod\b", "bmod", "changes a waiting job (Slurm: scontrol update)"),
    (r"(?<=bmod) -Rn\b", "-Rn", "without its requirement"),
    (r"(?<=bmod) -n\b", "-n", "its slots"),
    (r"(?<=bmod) -W\b", "-W", "its time limit, hours:minutes"),
    (r"\bbswitch\b", "bswitch", "moves a job to another queue"),
    (r"\bbrequeue\b", "brequeue", "ends a running job, which is pending again"),
    (r"\bbkill\b", "bkill", "ends a job (Slurm: scancel)"),
)


def lsf_words(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the words of LSF that these texts use, each with its meaning."""
    whole = "\n".join(texts)
    return tuple((word, meaning) for sign, word, meaning in _WORDS if re.search(sign, whole))


#: Changes of each of the two kinds that are shown of a job; more are named where they stand whole.
MAX_HELPS = 3


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job in the slim table; times in seconds, as text where there is one."""

    job: str
    user: str
    slots: int
    #: "stuck", "one change helps" or "".
    flag: str
    #: Seconds (None: none) and text of each column of starts.
    starts: tuple[tuple[int | None, str], ...]
    #: Seconds by which it could start earlier, None if one of the two starts is not known.
    sooner: int | None
    #: Reason why the job waits, in words.
    waits_for: str
    #: Sort key of the row: its start, in a simulation its wait (seconds); None if it has none.
    wait: int | None

    @property
    def order(self) -> tuple[bool, bool, float]:
        """Return a sort key: jobs that never start first, then the longest wait."""
        first = self.wait
        return self.flag != "stuck", not self.flag, -(1e18 if first is None else first)


@dataclass(frozen=True, slots=True)
class StartText:
    """One of the starts of a job, printed in large figures."""

    #: Name of the start, such as "as configured".
    what: str
    #: The start as text.
    time: str
    #: "1h earlier", and whether that is good.
    more: str = ""
    good: bool = False


@dataclass(frozen=True, slots=True)
class Help:
    """A change under which a job starts earlier."""

    #: Gain by the change, in words.
    gives: str
    #: Person who can make the change.
    by: str
    #: Lines and commands, in the order of doing.
    lines: tuple[str, ...]
    #: Effect on other jobs, in words.
    costs: str
    #: "good" if no job waits longer, "bad" if another job would never start, "" else.
    kind: str = ""


@dataclass(frozen=True, slots=True)
class JobText(AsData):
    """The detail of a job."""

    facts: str
    starts: tuple[StartText, ...]
    #: "good" or "warn", and the text on the proof; None if there is no plan.
    proof: tuple[str, str] | None
    notes: tuple[str, ...]
    #: Start, and the obstacles then.
    why: tuple[tuple[str, str], ...]
    helps: tuple[Help, ...]
    #: Text in place of remedies if there are none, or below them.
    more: str
    #: LSF terms used in these texts, each with its meaning.
    words: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class About:
    """The words of one report."""

    report: Report

    @cached_property
    def clock(self) -> WrittenTimes:
        """Return the format of times."""
        return WrittenTimes.of(self.report.instance, self._times())

    @cached_property
    def found(self) -> Mapping[str, WaitingJob]:
        """Return the findings of the diagnosis, by job."""
        diagnosis = self.report.diagnosis
        return {} if diagnosis is None else {item.job: item for item in diagnosis.jobs}

    @cached_property
    def rows(self) -> tuple[JobRow, ...]:
        """Return the rows of the slim table: jobs that never start, then the longest wait first."""
        return tuple(sorted(islice(self._rows(), MAX_JOBS), key=lambda row: row.order))

    @cached_property
    def compared(self) -> tuple[ComparedJob, ...]:
        """Return the listed jobs of a comparison in dispatch order, those that start now last."""
        found = self.report.comparison
        rows = () if found is None else found.jobs[:MAX_JOBS]
        now = self.report.instance.now
        return tuple(sorted(rows, key=lambda row: row.as_configured == row.possible == now))

    @cached_property
    def words(self) -> Mapping[str, Mapping[str, str]]:
        """Return by field of a time the jobs without it, each with the word for that."""
        comparison = self.report.comparison
        return (
            self.report.missing
            if comparison is None
            else comparison.missing_starts(self.clock.short)
        )

    def detail(self, job: str) -> JobText:
        """Return the detail of a pending job."""
        return self._details[job]

    def flag(self, job: str, state: str = "starts") -> str:
        """Return "stuck" for a job that starves or cannot start, or whether one change helps."""
        if state == "impossible":
            return "stuck"
        item = self.found.get(job)
        if item is None or not (item.starves or item.remedies):
            return ""
        return "stuck" if item.starves else "one change helps"

    def _times(self) -> Iterator[int | None]:
        report = self.report
        for row in report.comparison or ():
            yield from (row.as_configured, row.possible, row.bound, row.estimate)
            yield from (getattr(row, name) for name in METHOD_STARTS)
        for item in report.plan or ():
            yield from (item.start, item.finish, item.bound, item.estimate)
        for record in report.jobs:
            yield from (record["submit"], record["start"], record["end"])

    def time(self, name: str, job: str, time: int | None, beside: int = 0) -> str:
        """Return a time of a job as text, or the word for a missing time."""
        if time is None:
            return self.words.get(name, {}).get(job, "?")
        return self.clock.short(time, beside)

    def could_start(self, row: ComparedJob, beside: int = 0) -> str:
        """Return the possible start of a job, in words if it is no earlier than as configured."""
        start = self.time("possible", row.job, row.possible, beside)
        return could_start(row, start).removesuffix(" found") if row.is_no_earlier else start

    def _rows(self) -> Iterator[JobRow]:
        report = self.report
        users = {job.id: job for job in (*report.instance.pending, *report.instance.future)}
        if report.comparison is not None:
            for row in self.compared:
                yield self._compared(row, users[row.job])
        elif report.plan is not None:
            for item in report.plan:
                yield self._planned(item, users[item.job])
            for left in report.plan.unplaced:
                word = self.time("start", left.job, None)
                job = users[left.job]
                starts = ((None, word), (None, ""))
                yield JobRow(job.id, job.user, job.slots, "stuck", starts, None, left.reason, None)
        else:
            yield from map(self._simulated, report.jobs)

    def _simulated(self, record: Mapping[str, Any]) -> JobRow:
        """Return a job of a simulation; a job that ran before the simulation has no wait."""
        job, wait = record["job"], record["wait"]
        waited = wait is not None and wait >= 0
        starts = (
            (record["start"], self.time("start", job, record["start"])),
            (wait if waited else -1, duration_text(wait) if waited else ""),
        )
        began = wait if waited else -1
        order = None if record["start"] is None else began
        what = record["reason"] or record["status"]
        return JobRow(job, record["user"], record["slots"], "", starts, None, what, order)

    def _compared(self, row: ComparedJob, job: Job) -> JobRow:
        beside = smallest_difference((row.as_configured, row.possible))
        starts = (
            (row.as_configured, self.time("as_configured", row.job, row.as_configured, beside)),
            (row.possible, self.could_start(row, beside)),
        )
        waits = row.as_configured != self.report.instance.now
        why = (row.condition or row.waits_for or row.held_back) if waits else ""
        flag = self.flag(row.job, row.state)
        start = row.as_configured
        return JobRow(row.job, job.user, row.slots, flag, starts, row.earlier_by, why, start)

    def _planned(self, item: PlannedJob, job: Job) -> JobRow:
        early = item.bound if item.start is not None else item.estimate
        starts = (
            (item.start, self.time("start", item.job, item.start)),
            (early, "" if early is None else self.clock.short(early)),
        )
        return JobRow(job.id, job.user, job.slots, "", starts, None, item.waits_for, item.start)

    @cached_property
    def _details(self) -> Mapping[str, JobText]:
        report = self.report
        jobs = {job.id: job for job in (*report.instance.pending, *report.instance.future)}
        if report.comparison is not None:
            return {row.job: self._of_compared(row, jobs[row.job]) for row in self.compared}
        if report.plan is not None:
            found = {item.job: self._of_planned(item, jobs[item.job]) for item in report.plan}
            for left in report.plan.unplaced[:MAX_JOBS]:
                start = StartText("Start", self.time("start", left.job, None))
                why = (("", left.reason),)
                found[left.job] = self._text(jobs[left.job], (start,), None, (), why)
            return found
        return {record["job"]: self._of_record(record) for record in report.jobs}

    def _text(
        self,
        job: Job,
        starts: Iterable[StartText],
        proof: tuple[str, str] | None,
        notes: Iterable[str],
        why: Sequence[tuple[str, str]],
    ) -> JobText:
        """Return the texts of explain and diagnose on the job."""
        explained = self.report.advice.get(job.id)
        helps = tuple(self._helps(job, explained))
        shown = tuple(starts)
        if helps and job.id in self.found and self.found[job.id].remedies:
            shown = (*shown, self._with_change(self.found[job.id]))
        if explained is not None and explained.obstacles:
            why = tuple(self._obstacles(explained))
        more = "" if explained is None and helps else self._more(job.id, explained, bool(helps))
        if more and not why:
            more = "It starts now: no change is necessary."
        said = [text for _, text in why] + [line for each in helps for line in each.lines]
        length = expected_duration(self.report.instance, job)
        parts = [
            *filter(None, (job.user, f"queue {job.queue}", counted(job.slots, "slot"))),
            "no run limit" if length is None else f"at most {duration_text(length)}",
        ]
        waited = self.report.instance.now - job.submit
        if waited > 0 and self.report.kind != "simulation":
            parts.append(f"has waited {duration_text(waited)}")
        found = JobText(" · ".join(parts), shown, proof, tuple(notes), tuple(why), helps, more)
        reworded = self.report.instance.params.scheduler.has_own_words
        return replace(found, words=() if reworded else lsf_words(said))

    def _of_compared(self, row: ComparedJob, job: Job) -> JobText:
        beside = smallest_difference((row.as_configured, row.possible, row.bound))
        gain = row.earlier_by
        more = (
            f"{duration_text(gain)} earlier"
            if gain
            else "the same"
            if row.as_configured == row.possible
            else ""
        )
        if row.is_ahead:
            more = f"{self.time('possible', row.job, row.possible, beside)} in priority order"
        configured = self.time("as_configured", row.job, row.as_configured, beside)
        starts = (
            StartText("As configured", configured),
            StartText("Possible", self.could_start(row, beside), more, bool(gain)),
        )
        why = [("", text) for text in dict.fromkeys((row.condition, row.held_back)) if text]
        if row.as_configured == self.report.instance.now:
            why = []
        elif not why and row.waits_for:
            why = [("", row.waits_for)]
        notes = self._notes(row, beside)
        return self._text(job, starts, self._proof(row, beside), notes, why)

    def _proof(self, row: ComparedJob, beside: int) -> tuple[str, str] | None:
        if row.possible is None:
            return None
        if proof := proof_text(row.proved, row.proved_if):
            return "good", proof.replace("proved", "proved the earliest", 1)
        if row.cautions:
            return "warn", f"not proved: {counted(len(row.cautions), 'setting')} not modelled"
        if row.bound is not None:
            return "warn", f"not proved: not before {self.clock.short(row.bound, beside)}"
        return "warn", "not proved"

    def _notes(self, row: ComparedJob, beside: int) -> Iterator[str]:
        """Yield notes on allocations, LSF's estimate, the forecast and the possible start."""
        if row.as_configured_on and row.as_configured_on != row.possible_on:
            yield f"As configured on {hosts_text(row.as_configured_on)}"
        if row.possible_on:
            yield f"Possible on {hosts_text(row.possible_on)}"
        if row.estimate is not None:
            no = "no sooner than " if row.estimate_by == "greedy" else ""
            at = self.clock.short(row.estimate, beside)
            yield f"LSF’s {row.estimate_by} estimate: {no}{at}"
        comparison = self.report.comparison
        if comparison is not None and comparison.forecast is not None:
            times = times_of(comparison.forecast.get(row.job))
            words = ("likely", "9 in 10 by", "1 in 10 by")
            known = [
                f"{word} {self.clock.short(time)}"
                for word, time in zip(words, times.values(), strict=True)
                if time is not None
            ]
            yield "By the history " + (", ".join(known) or "not known")
        if row.needs_backfill:
            yield f"The possible start needs BACKFILL in queue {row.needs_backfill}"
        yield from (text for text in (row.fallback, row.exact_fit) if text not in ("", NOT_PROVED))

    def _of_planned(self, item: PlannedJob, job: Job) -> JobText:
        start = self.time("start", item.job, item.start)
        if item.start is None and item.estimate is not None:
            start = f"no sooner than {self.clock.short(item.estimate)}"
        end = "unknown" if item.finish is None else self.clock.short(item.finish)
        starts = [StartText("Start", start)]
        starts += [StartText("End", end)] if item.start is not None else []
        proof = proof_text(item.proved, item.proved_if) if item.start is not None else ""
        notes = [f"On {hosts_text(item.allocation)}"] if item.allocation else []
        notes += [f"Reserves {hosts_text(item.reserved)} now"] if item.reserved else []
        notes += (text for text in (item.fallback, item.exact_fit) if text not in ("", NOT_PROVED))
        why = [("", item.waits_for)] if item.waits_for else []
        said = ("good", proof.replace("proved", "proved the earliest", 1)) if proof else None
        return self._text(job, starts, said, notes, why)

    def _of_record(self, record: Mapping[str, Any]) -> JobText:
        name = record["job"]
        end = "unknown" if record["end"] is None else self.clock.short(record["end"])
        wait = record["wait"]
        starts = (
            StartText("Start", self.time("start", name, record["start"])),
            StartText("End", end),
            StartText("Waited", "–" if wait is None or wait < 0 else duration_text(wait)),
        )
        facts = " · ".join(
            (record["user"], f"queue {record['queue']}", counted(record["slots"], "slot"))
        )
        status = record["status"] + (", backfilled" if record["backfilled"] else "")
        why = (("", record["reason"]),) if record["reason"] else ()
        return JobText(facts, starts, None, (status,), why, (), "")

    def _with_change(self, item: WaitingJob) -> StartText:
        first = item.remedies[0]
        more = "" if not first.gain else f"{duration_text(abs(first.gain))} earlier"
        return StartText("With change 1", self.clock.short(first.start), more, bool(first.gain))

    def _helps(self, job: Job, explained: Explanation | None) -> Iterator[Help]:
        item = self.found.get(job.id)
        known = "" if item is None else " ".join(r.setting for r in item.remedies)
        if item is not None:
            spoken = SpokenTimes(self.report.instance)
            for remedy in item.remedies[:MAX_HELPS]:
                said = advised(spoken, item, remedy)
                own = remedy.where.startswith("job ")
                kind = "bad" if remedy.cost.lost else "" if remedy.cost.longer else "good"
                does = remedy.setting if remedy.setting.startswith("ask ") else "do this"
                by = f"{job.user or 'its user'} can {does}" if own else "for the administrator"
                lines = _to_paste(said.lines, said.then, f"{remedy.where}: " if own else "")
                costs = " ".join(filter(None, (said.costs, said.whose)))
                yield Help(said.gives, by, lines, costs, kind)
        suggestions = () if explained is None else explained.suggestions
        instance = self.report.instance
        others = [
            s
            for s in suggestions
            if change_text(instance, s.change).removeprefix("with ") not in known
        ]
        for suggestion in others[:MAX_HELPS]:
            yield self._suggested(job, suggestion)

    def _suggested(self, job: Job, item: Suggestion) -> Help:
        at = SpokenTimes(self.report.instance).at(item.start)
        gives = f"Starts {at}" + (f", {duration_text(item.gain)} earlier." if item.gain else ".")
        own = item.change.startswith(("with ", "without ", "in queue "))
        by = f"{job.user or 'its user'} can do this" if own else ""
        costs = "Its effect on other jobs was not examined."
        instance = self.report.instance
        line = command_of(instance, job.id, item.change) or change_text(instance, item.change)
        return Help(gives, by, (line,), costs)

    def _obstacles(self, explained: Explanation) -> Iterator[tuple[str, str]]:
        for item in explained.obstacles:
            until = "…" if item.until is None else self.clock.short(item.until)
            yield f"{self.clock.short(item.first)} – {until}", item.reason

    def _more(self, job: str, explained: Explanation | None, helps: bool) -> str:
        """Return further facts, or the command that finds them."""
        if explained is not None:
            if helps:
                return ""
            tried = counted(explained.tried, "change")
            return f"No change that was tried starts it earlier ({tried})."
        name = {"-": "FILE", LIVE: "--cluster"}.get(self.report.name, self.report.name)
        return f"slotwise explain {name} {job}"


def _to_paste(lines: Sequence[str], then: str, own: str) -> tuple[str, ...]:
    """Return lines of files and the command to run; for a job's own options only the command.

    own: what stands before an option of the job, "" for lines of files.
    """
    if own and then:
        return (then,)
    return (*(line.removeprefix(own) for line in lines), *((then,) if then else ()))


@dataclass(frozen=True, slots=True)
class Advice:
    """Explanations by job."""

    found: dict[str, Explanation]
    #: Waiting jobs that were not examined.
    left: int

    def notes(self) -> tuple[str, ...]:
        """Return the notes that a reader of the report needs."""
        if not self.left:
            return ()
        return (
            f"Reasons and remedies were computed for {len(self.found)} of "
            f"{len(self.found) + self.left} waiting jobs (--explain); "
            "slotwise explain FILE JOB explains any other job.",
        )


def advise(
    instance: Instance,
    waiting: Sequence[str],
    *,
    most: int,
    seconds: float | None,
    cancel: threading.Event,
    on_progress: Callable[[str], None] | None = None,
) -> Advice:
    """Return explanations of the first `most` waiting jobs, as `explain` prints them.

    seconds: wall clock for all of them together, None if no limit; jobs without an explanation by
    then are missing. cancel: set it to stop.
    """
    stop = Deadline(seconds, cancel)
    found: dict[str, Explanation] = {}
    for job in waiting[:most]:
        if stop.is_set():
            break
        if on_progress is not None:
            on_progress(f"explaining {job}")
        limit = None if seconds is None else stop.left()
        explanation = explain(instance, job, time_limit=limit, cancel=stop)
        if not stop.is_set():
            found[job] = explanation
    return Advice(found, len(waiting) - len(found))


def html_of(page: Page) -> str:
    """Return a diagnosis in words as HTML."""
    body = f'<p class="answer">{html_text(page.answer)}</p>'
    body += "".join(f"<p>{html_text(fact)}</p>" for fact in page.facts)
    body += "".join(map(_verdict_of_job, page.verdicts))
    body += "".join(f'<p class="hint">{html_text(note)}</p>' for note in page.notes)
    return body


def _verdict_of_job(item: Verdict) -> str:
    remedies = "".join(f"<li>{_remedy(remedy)}</li>" for remedy in item.remedies)
    helps = f"<p>Each of these changes helps:</p><ol>{remedies}</ol>" if remedies else ""
    little = "".join(f"<p>Not enough alone: {_remedy(other)}</p>" for other in item.too_little)
    more = "".join(f"<p>{html_text(text)}</p>" for text in item.details) + little
    folded = f"<details><summary>Details</summary>{more}</details>" if more else ""
    return (
        f"<h3>{html_text(item.title)}</h3><p>{html_text(' '.join(item.sentences))}</p>"
        f"<p><strong>Cause.</strong> {html_text(item.cause)}</p>{helps}{folded}"
    )


def _remedy(remedy: Advised) -> str:
    return (
        f"<code>{html_text(remedy.write)}</code><br>"
        f"{html_text(' '.join(filter(None, (remedy.gives, remedy.costs, remedy.whose))))}"
    )
