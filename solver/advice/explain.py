"""Why a job does not start earlier, and what would help."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any

from ...model.errors import InputError, UnknownNameError, nearest
from ...model.instance import Instance, SaidByLsf
from ...model.job import Job
from ...model.pending import PendingReason
from ...model.plan import PlannedArray
from ...model.progress import OnProgress
from ...model.rich_display import html_table
from ...model.time_text import duration_text, with_stamps
from ..budget import OutOfTime
from ..loop.snapshot import snapshot_of
from .chains import ChainLink, critical_path
from .contests import LostContest, lost_contests
from .diagnosis.diagnose import diagnose
from .diagnosis.probes import OF_THE_JOB
from .diagnosis.records import Diagnosis
from .obstacles import Obstacle, find_obstacles
from .suggestions import Suggestion, suggest
from .what_if import Asker, Method, Outlook


@dataclass(frozen=True, slots=True)
class Explanation:
    """One pending job: its start as planned, what stands before it, what would bring it forward.

    tried: how many changes were tried for the suggestions, the best of which come first. now:
    seconds from the origin, the ISO date of second 0 (None: it has none). reasons: what bjobs says
    of the job after this cycle. contests: accounts that come before the job's own by fairshare.
    requirement: its conditions that hold on some hosts only. lsf: what LSF itself said of it, None
    where the instance does not know.
    chain: the jobs that decide when its dependency condition (-w) holds, the first one first.
    cut: a limit or Ctrl-C came before everything had been looked at. array: where a whole array was
    asked about, its elements as planned; the job is then the first that does not start now.
    diagnosis: what changes of the configuration would do, None where they were not asked for.
    """

    outlook: Outlook
    method: str
    obstacles: tuple[Obstacle, ...]
    suggestions: tuple[Suggestion, ...]
    tried: int

    now: int = 0
    origin: str | None = None
    reasons: tuple[PendingReason, ...] = ()
    contests: tuple[LostContest, ...] = ()
    requirement: tuple[str, ...] = ()
    lsf: SaidByLsf | None = None
    cut: bool = False
    chain: tuple[ChainLink, ...] = ()
    array: PlannedArray | None = None
    diagnosis: Diagnosis | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, times in seconds from the instance's origin, ISO stamps beside them."""
        found = {
            "now": self.now,
            "origin": self.origin,
            "job": self.outlook.job.id,
            "method": self.method,
            "start": self.outlook.start,
            "finish": self.outlook.finish,
            "allocation": dict(self.outlook.allocation),
            "proved": self.outlook.proved,
            "waits_for": self.outlook.waits_for,
            "requirement": list(self.requirement),
            **({"critical_path": self._chain()} if self.outlook.job.dependency else {}),
            "pending_reasons": [reason.to_dict() for reason in self.reasons],
            "contests": [
                with_stamps(contest.to_dict(), self.origin, ("ahead_from",))
                for contest in self.contests
            ],
            "obstacles": [
                with_stamps(
                    {"from": o.first, "until": o.until, "reason": o.reason},
                    self.origin,
                    ("from", "until"),
                )
                for o in self.obstacles
            ],
            "suggestions": [item.to_dict(self.origin) for item in self.suggestions],
            "tried": self.tried,
            **({} if self.diagnosis is None else {"configuration": self._remedies(self.diagnosis)}),
            **({} if self.lsf is None else {"lsf_says": self._lsf_record(self.lsf)}),
            **self.outlook.unknown(),
            **({"cut": True} if self.cut else {}),
            **({} if self.array is None else {"array": self._array(self.array)}),
        }
        return with_stamps(found, self.origin, ("start", "finish", "at_the_earliest"))

    def _remedies(self, found: Diagnosis) -> list[dict[str, Any]]:
        return [item.to_dict(self.origin) for job in found.jobs for item in job.remedies]

    def _lsf_record(self, said: SaidByLsf) -> dict[str, Any]:
        record = {"reason": said.reason, "start": said.start}
        return with_stamps(record, self.origin, ("start",))

    def _array(self, whole: PlannedArray) -> dict[str, Any]:
        times = {"first": whole.first, "middle": whole.middle, "last": whole.last}
        record = {name: item.start for name, item in times.items()}
        stamped = with_stamps(record, self.origin, tuple(times))
        return {"array": whole.job, "elements": len(whole.elements), **stamped}

    def _chain(self) -> list[dict[str, Any]]:
        return [with_stamps(i.to_dict(), self.origin, ("start", "finish")) for i in self.chain]

    def _repr_html_(self) -> str:
        """The explanation as a notebook shows it; times from now on."""
        start = self.outlook.start
        begin = "has no start" if start is None else f"starts in {duration_text(start - self.now)}"
        rows = [
            ("in the way", duration_text(item.first - self.now), item.reason)
            for item in self.obstacles
        ]
        rows += [
            ("would help", duration_text(item.start - self.now), item.change)
            for item in self.suggestions
        ]
        rows += [
            ("would help", duration_text(item.start - self.now), item.key)
            for job in (() if self.diagnosis is None else self.diagnosis.jobs)
            for item in job.remedies
        ]
        caption = f"job {self.outlook.job.id} {begin} ({self.method}): {self.outlook.waits_for}"
        return html_table(caption, ("", "from", "what"), rows)


def explain(
    instance: Instance,
    job: str,
    *,
    method: Method = "time-based",
    time_limit: float | None = None,
    effort: float | None = None,
    margin: int = 0,
    configuration: bool = False,
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
) -> Explanation:
    """Why a pending job does not start earlier, and what would help (LOP-01).

    job: its id; that of an array stands for the first element that does not start now.

    method: "time-based" (what LSF would say, quick) or "optimal" (lexicographic, the jobs before it
    placed jointly). time_limit: wall seconds of all plans together; effort, margin: of each, as in
    :func:`slotwise.plan`. configuration: whether changes of the configuration are tried too, as
    :func:`slotwise.diagnose` does, which runs the scheduler once for each. cancel: set it to stop
    trying changes; before there is a start, the answer says that the job was not looked at.
    on_progress: called before each plan. Raises InputError for a job that is not pending,
    UnknownNameError for
    one that is not there.
    """
    whole = _array(instance, job)
    asked = _pending(instance, job if whole is None else whole[0])
    forecast = Asker(
        instance,
        method,
        time_limit=time_limit,
        effort=effort,
        margin=margin,
        cancel=cancel,
        on_progress=on_progress,
    )
    planned = None if whole is None else forecast.planned().array(job)
    if whole is not None:
        asked = _pending(instance, _waiting(instance, whole, planned))
    outlook = forecast.outlook_with_omissions(asked)
    lsf = next((item for item in instance.lsf_says if item.job == job), None)
    found = Explanation(
        *(outlook, method, (), (), 0), now=instance.now, origin=instance.origin, lsf=lsf
    )
    found = replace(found, array=planned)
    try:
        if outlook.start == instance.now:
            return found
        if outlook.cut or forecast.stopped():
            return replace(found, cut=True)
        found = _explained(forecast, asked, found)
        return _with_diagnosis(forecast, asked, found) if configuration else found
    except OutOfTime:
        return replace(found, cut=True)


def _explained(forecast: Asker, asked: Job, found: Explanation) -> Explanation:
    """With what stands before the start, and what would bring it forward."""
    view = forecast.view(asked)
    demand = forecast.demand(view, asked)
    if asked.dependency:
        chain = critical_path(forecast.instance, asked, view.times())
        found = replace(found, chain=chain)
    if not demand.impossible:
        start, stop = found.outlook.start, forecast.cancel.is_set
        blocking = find_obstacles(view, demand, start, found.method, stop)
        found = replace(found, obstacles=tuple(blocking))
    found = replace(found, requirement=forecast.fails(found.outlook))
    if forecast.stopped():
        return replace(found, cut=True)
    budget = forecast.budget()
    moment = snapshot_of(forecast.instance, after_cycle=True, budget=budget)
    if budget.stopped():
        return replace(found, cut=True)
    if asked in moment.instance.pending:
        reasons = moment.waiting[asked.id].reasons
        found = replace(found, reasons=reasons, contests=lost_contests(moment, asked))
    suggestions, tried = suggest(forecast, view, demand, found.outlook)
    return replace(found, suggestions=suggestions, tried=tried, cut=forecast.refrained)


def _with_diagnosis(forecast: Asker, asked: Job, found: Explanation) -> Explanation:
    """With what changes of the configuration would do for the job."""
    if forecast.stopped():
        return replace(found, cut=True)
    diagnosis = diagnose(forecast.instance, jobs=(asked.id,), cancel=forecast.cancel)
    jobs = []
    for item in diagnosis.jobs:  # other ways of asking are among the suggestions
        kept = tuple(
            remedy for remedy in item.remedies if remedy.kind not in OF_THE_JOB - {"queue hosts"}
        )
        jobs += [replace(item, remedies=kept)] if kept or not item.remedies else []
    diagnosis = replace(diagnosis, jobs=tuple(jobs))
    return replace(found, diagnosis=diagnosis, cut=found.cut or diagnosis.cut)


def _array(instance: Instance, job: str) -> tuple[str, ...] | None:
    """The pending elements where an id is that of an array, None for any other."""
    if any(item.id == job for item in instance.pending):
        return None
    return tuple(item.id for item in instance.pending if item.array_id == job) or None


def _waiting(instance: Instance, ids: tuple[str, ...], planned: PlannedArray | None) -> str:
    """The first element that does not start now; the first where all do."""
    starts = {} if planned is None else {item.job: item.start for item in planned.elements}
    return next((id for id in ids if starts.get(id) != instance.now), ids[0])


def _pending(instance: Instance, job: str) -> Job:
    found = next((item for item in instance.pending if item.id == job), None)
    if found is not None:
        return found
    if any(item.job.id == job for item in instance.running):
        raise InputError(f"job {job} runs already: only pending jobs wait for a start")
    if any(item.id == job for item in instance.future):
        raise InputError(f"job {job} is not submitted yet: only pending jobs wait for a start")
    hint = nearest(job, [item.id for item in instance.pending])
    raise UnknownNameError(f"there is no pending job {job!r}{hint}")
