"""Changes that would start a job earlier, tried one by one by planning the job again."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from ...model.cluster import DEAD_STATUSES, Host
from ...model.display import MINUTE, AsData, duration_text
from ...model.duration import expected_duration, expected_finish, granted_run_limit, two_cycles
from ...model.errors import InputError
from ...model.formats.submit import refusals, rejections
from ...model.gpu_request import gpu_options
from ...model.guarantees import ServiceClasses
from ...model.instance import Instance
from ...model.job import Job
from ...model.reserved_periods import may_use, reserved_periods
from ...model.resreq import effective_requirement
from ...model.resreq.syntax import Simple
from ...model.resreq.vocabulary import UNITS
from ...model.sources.slurm.sbatch import limited
from ..availability.demand import Demand
from ..availability.usage import FOREVER
from ..placement.earliest import earliest_start
from .what_if import PlanView, StartAnswer, WhatIfPlanner

#: Minimum share of the request that a change has to keep.
USEFUL = 0.1
#: Starts for which a change is looked for, of the useful values.
MAX_STARTS = 2
#: Up to this number every smaller value is tried.
FEW = 16


def fewer(number: int) -> list[int]:
    """Return smaller values, falling: all if they are few, else in steps of about a tenth.

    For numbers of which a smaller one may be worse, such as slots with a shape.
    """
    found: list[int] = []
    while number > 1:
        number = number - 1 if number <= FEW else min(number - 1, number * 9 // 10)
        found.append(number)
    return found


def more(number: int, most: int) -> list[int]:
    """Return larger values up to `most`, rising: all if they are few, else in steps of about a
    tenth.
    """
    found: list[int] = []
    while number < most:
        number = number + 1 if number < FEW else min(most, number + number // 10)
        found.append(number)
    return found


def ladder(number: int) -> list[int]:
    """Return a few smaller values, falling, for numbers of which a smaller one is never worse."""
    halves = (number >> power for power in range(1, number.bit_length()))
    useful = -(-number // round(1 / USEFUL))
    return sorted({number - 1, number * 3 // 4, useful, *halves} - {0, number}, reverse=True)


def is_useful(value: int, asked: int) -> bool:
    """Return whether enough of the request is left."""
    return value >= asked * USEFUL


def smallest_changes(
    asked: int, values: Sequence[int], answer_of: Callable[[int], StartAnswer], limit: int
) -> Iterator[tuple[int, StartAnswer]]:
    """Return, for the best starts before `limit` (seconds), the value nearest to `asked` with that
    start.

    values: values to try, from the nearest to the farthest. answer_of: start by the method for a
    value. The limit between a value without a start and the first value with it is found by
    bisection.
    """
    known = {value: _start(answer_of(value), limit) for value in values}
    useful = sorted({start for value, start in known.items() if is_useful(value, asked)})
    wanted = [*useful[:MAX_STARTS], min(known.values(), default=limit)]
    for start in dict.fromkeys(start for start in wanted if start < limit):
        at = next(at for at, value in enumerate(values) if known[value] <= start)
        fails, gives = asked if at == 0 else values[at - 1], values[at]
        while abs(fails - gives) > 1:
            middle = (fails + gives) // 2
            if _start(answer_of(middle), limit) <= start:
                gives = middle
            else:
                fails = middle
        yield gives, answer_of(gives)


def _start(answer: StartAnswer, limit: int) -> int:
    return limit if answer.start is None else min(answer.start, limit)


#: Sections of the requirement that a change may replace.
SECTIONS = ("span", "cu", "same", "select", "rusage")


def section(job: Job, name: str) -> str | None:
    """Return the content of a section of the job's own -R, None if it has none."""
    for text in job.res_req:
        if match := re.search(rf"\b{name}\[([^\]]*)\]", text):
            return match[1].strip()
    return None


def is_compound(job: Job) -> bool:
    """Whether the job has a compound requirement, whose counts are tied to -n."""
    return any("{" in text for text in job.res_req)


def with_section(job: Job, name: str, content: str | None) -> Job:
    """Return the job with a section replaced, or removed for None; the rest of the text is
    unchanged.
    """
    cut = [re.sub(rf"\b{name}\[[^\]]*\]", " ", text) for text in job.res_req]
    kept = [" ".join(text.split()) for text in cut]
    if content is not None:
        kept = [*kept[:-1], f"{kept[-1] if kept else ''} {name}[{content}]".strip()]
    return replace(job, res_req=tuple(text for text in kept if text))


def with_slots(job: Job, slots: int) -> Job:
    """Return the job with another -n."""
    return replace(job, slots=slots, max_slots=None)


def with_limit(job: Job, seconds: int) -> Job:
    """Return the job with another -W."""
    return replace(job, run_limit=seconds)


def with_queue(job: Job, queue: str) -> Job:
    """Return the job with another -q."""
    return replace(job, queue=queue)


def memory_edit(job: Job, unit: float) -> tuple[int, Callable[[int], Job]] | None:
    """Return the memory of a job in MB (rounded up) and a function that changes it; None without
    one amount.

    unit: MB of a number in rusage.
    """
    rusage = section(job, "rusage")
    found = re.search(r"\bmem\s*=\s*(\d+(?:\.\d+)?)(?![\w.])", rusage or "")
    if rusage is None or found is None:
        return None
    before, after = rusage[: found.start()], rusage[found.end() :]

    def edited(megabytes: int) -> Job:
        return with_section(job, "rusage", f"{before}mem={megabytes / unit:.12g}{after}")

    return math.ceil(float(found[1]) * unit), edited


def limit_text(seconds: int) -> str:
    """Return a run limit in the form of -W: ``h:mm``."""
    minutes = -(-seconds // 60)
    return f"{minutes // 60}:{minutes % 60:02d}"


def refusal(instance: Instance, edited: Job, job: Job) -> str:
    """Return why a pending job may not be changed so, "" if it may."""
    edited, beyond = limited(instance, job, edited)
    now, then = (rejections(instance, item) for item in (job, edited))
    perhaps = "; ".join(text for text in then if text not in now)
    refused = next(refusals(instance, edited), beyond) or perhaps
    return refused or cut_short(instance, edited, job.queue)


def cut_short(instance: Instance, job: Job, queue: str) -> str:
    """Return the limit of a queue that would end the job, "" if there is none.

    queue: target of the move. RUNLIMIT counts if the job has no -W; CPULIMIT, divided by its slots,
    if it has no -c.
    """
    if job.queue == queue:
        return ""
    other = replace(job, queue=queue)
    here, there = expected_duration(instance, job), expected_duration(instance, other)
    if here is not None and (there is None or here < there):
        return f"queue {job.queue} ends it after {duration_text(here)}"
    limit, wanted = instance.queue(job.queue).cpu_limit, instance.queue(queue).cpu_limit
    own = job.cpu_limit if job.cpu_limit is not None else _times(there, job.slots)
    bounds = [bound for bound in (own, wanted) if bound is not None]
    if limit is not None and bounds and limit < min(bounds):
        return f"queue {job.queue} ends it after {duration_text(limit)} of CPU time (CPULIMIT)"
    return ""


def _times(seconds: int | None, slots: int) -> int | None:
    return None if seconds is None else seconds * slots


def gpu_edits(job: Job) -> Iterator[tuple[str, str]]:
    """Yield smaller -gpu requests with their description: fewer GPUs, or GPUs of any kind."""
    if not job.gpu:
        return
    try:
        options = gpu_options(job.gpu)
    except InputError:
        return
    count, sign, per = options.get("num", "1").partition("/")
    texts = [
        _gpu_text(options | {"num": f"{number}{sign}{per}"})
        for number in range(int(count) - 1, 0, -1)
    ]
    texts += [
        _gpu_text({k: v for k, v in options.items() if k != name})
        for name in ("gmodel", "gmem", "gvendor", "gtile")
        if name in options
    ]
    for text in texts:
        yield f"with -gpu {text}", text


def _gpu_text(options: Mapping[str, str]) -> str:
    return ":".join(f"{name}={value}" for name, value in options.items()) or "num=1"


#: Other jobs that are tried away, running and pending ones each.
MAX_OTHERS = 10
#: Hosts that are down or closed that are tried open, each by itself.
MAX_HOSTS = 6
#: Suggestions of one kind that are shown: the best starts.
MAX_OF_A_KIND = 2


@dataclass(frozen=True, slots=True)
class Suggestion(AsData):
    """A change under which the job starts earlier, found by planning it again."""

    #: Change to make.
    change: str
    #: Start with the change, in seconds from the origin.
    start: int
    #: Seconds sooner, None if it never started.
    gain: int | None
    allocation: dict[str, int]

    STAMPED = ("start",)


@dataclass(frozen=True, slots=True)
class Idea:
    """A change and its gain."""

    #: Kind of the change.
    kind: str
    #: The change in words.
    change: str
    #: Start with the change.
    answer: StartAnswer
    #: Whether it keeps enough of the request.
    useful: bool = True


@dataclass(slots=True)
class Trials:
    """Changes of one job, each planned again by the method itself; `tried` counts them."""

    forecast: WhatIfPlanner
    view: PlanView
    demand: Demand
    #: Seconds, the start that a change has to beat.
    limit: int
    tried: int = 0

    def count(self) -> None:
        """Count one tried change."""
        self.tried += 1

    def answer(self, edited: Job) -> StartAnswer:
        """Return the start of the job with a changed request, without a start if it is rejected or
        killed early.

        No exact plan is made if the job alone could not start before the limit.
        """
        forecast = self.forecast
        self.count()
        refused = refusal(forecast.instance, edited, self.demand.job)
        if refused or forecast.stopped():
            return StartAnswer(edited, None)
        if forecast.method == "optimal":
            demands = forecast.demands(self.view, edited)
            if all(self._is_too_late(demand) for demand in demands):
                return StartAnswer(edited, None)
        return forecast.answer_if_earlier(edited, self.limit)

    def _is_too_late(self, demand: Demand) -> bool:
        """Return whether a job of one term could not start before the limit even alone."""
        if len(demand.terms) != 1:
            return False
        alone = earliest_start(self.view.problem.base, demand)
        return alone is None or alone.time >= self.limit

    def numbers(
        self, asked: int, values: Sequence[int], edit: Callable[[int], Job]
    ) -> list[tuple[int, StartAnswer]]:
        """Return the smallest changes of a number for the best starts."""
        known: dict[int, StartAnswer] = {}

        def answer_of(value: int) -> StartAnswer:
            if value not in known:
                known[value] = self.answer(edit(value))
            return known[value]

        found = list(smallest_changes(asked, values, answer_of, self.limit))
        return [] if self.forecast.refrained else found

    def limits(self) -> list[tuple[int, StartAnswer]]:
        """Return the longest run limits (minutes, shorter than its own) with which the job
        starts earlier.
        """
        job, instance = self.demand.job, self.view.problem.instance
        own, now = granted_run_limit(instance, job), instance.now
        # Without a limit of its own: nothing changes any more behind the last event.
        seconds = self.view.profile.changes()[-1] - now + MINUTE if own is None else own
        asked = -(-seconds // MINUTE)
        return self.numbers(asked, ladder(asked), lambda n: with_limit(job, n * MINUTE))


def job_text(job: str) -> str:
    """Return ``job 17``, or the name alone if it says that it is a job."""
    return f"job {job}" if job[:1].isdigit() else job


def suggest(
    forecast: WhatIfPlanner, view: PlanView, demand: Demand, now_planned: StartAnswer
) -> tuple[tuple[Suggestion, ...], int]:
    """Return changes by which the job starts earlier, largest gain first, and the number tried.

    Changes that strongly reduce the request come last.
    """
    limit = FOREVER if now_planned.start is None else now_planned.start
    trials = Trials(forecast, view, demand, limit)
    return best_of(_ideas(trials), now_planned, forecast), trials.tried


def start_to_beat(planner: WhatIfPlanner, now_planned: StartAnswer) -> int:
    """Return the second before which a start is a gain over the planned one."""
    if now_planned.start is None:
        return FOREVER
    return now_planned.start - two_cycles(planner.instance) + 1


def best_of(
    ideas: Iterable[Idea], now_planned: StartAnswer, planner: WhatIfPlanner
) -> tuple[Suggestion, ...]:
    """Return the suggestions that start earlier than planned: the best of each kind, the largest
    gain first.
    """
    limit = start_to_beat(planner, now_planned)
    by_kind: dict[str, list[Idea]] = {}
    for idea in ideas:
        start = idea.answer.start
        if start is not None and start < limit:
            known = by_kind.setdefault(idea.kind, [])
            if all(start != other.answer.start for other in known):
                known.append(idea)
        if planner.cancel.is_set():
            break
    best = (sorted(alike, key=_rank)[:MAX_OF_A_KIND] for alike in by_kind.values())
    found = []
    for idea in sorted(chain.from_iterable(best), key=_rank):
        start = idea.answer.start or 0
        gain = None if now_planned.start is None else now_planned.start - start
        found.append(Suggestion(idea.change, start, gain, dict(idea.answer.allocation)))
    return tuple(found)


def _rank(idea: Idea) -> tuple[bool, float]:
    return not idea.useful, idea.answer.when


def _ideas(trials: Trials) -> Iterator[Idea]:
    forecast, job = trials.forecast, trials.demand.job
    for kind, change, edited in _job_edits(forecast.instance, job):
        yield Idea(kind, change, trials.answer(edited))
    if not is_compound(job):
        yield from _numbers(trials)
    for minutes, answer in trials.limits():
        loans = any(pool.loans is not None for pool in forecast.instance.guaranteed_pools)
        what = "backfill, or a loan" if loans else "backfill"
        change = f"with -W {limit_text(minutes * MINUTE)} or less ({what})"
        own = trials.demand.runs
        useful = own is None or is_useful(minutes, -(-own // MINUTE))
        yield Idea("limit", change, answer, useful)
    if forecast.jobs_ahead(job):
        trials.tried += 1
        answer = forecast.answer(job, first=True, unless_later=trials.limit)
        yield Idea("first", "if it were first in the dispatch order", answer)
    yield from _other_jobs(trials)
    yield from closed_hosts(forecast, job, trials.limit, trials.count)


def _numbers(trials: Trials) -> Iterator[Idea]:
    """Yield fewer slots, another ptile, less memory: the smallest change for each start."""
    instance, job = trials.forecast.instance, trials.demand.job
    slots = trials.numbers(job.slots, fewer(job.slots), lambda n: with_slots(job, n))
    for count, answer in slots:
        yield Idea("slots", f"with -n {count}", answer, is_useful(count, job.slots))
    requirement = effective_requirement(instance, job).requirement
    assert isinstance(requirement, Simple)
    if requirement.span is not None:
        yield from _tiles(trials, requirement.span.ptile)
    memory = memory_edit(job, UNITS[instance.params.unit_for_limits])
    if memory is not None:
        asked, edit = memory
        for amount, answer in trials.numbers(asked, ladder(asked), edit):
            text = section(answer.job, "rusage")
            yield Idea("memory", f"with rusage[{text}]", answer, is_useful(amount, asked))


def _tiles(trials: Trials, own: int | None) -> Iterator[Idea]:
    """Yield fewer and more slots per host, the nearest first; all values if the job has no
    ptile.
    """
    instance, job = trials.forecast.instance, trials.demand.job
    most = min(max((host.slots for host in instance.cluster.hosts), default=0), job.slots)
    start = most + 1 if own is None else min(own, most + 1)
    near: list[tuple[int, StartAnswer]] = []
    for values in (fewer(start), more(start, most)):
        near += trials.numbers(start, values, lambda n: with_section(job, "span", f"ptile={n}"))
    for tile, answer in sorted(near, key=lambda item: abs(item[0] - start)):
        yield Idea("ptile", f"with span[ptile={tile}]", answer)


def _job_edits(instance: Instance, job: Job) -> Iterator[tuple[str, str, Job]]:
    """Yield (kind, description, job) for every change of the job's own options."""
    if not is_compound(job):
        yield from other_shapes(instance, job)
    if job.exclusive and not job.whole_hosts:
        yield "exclusive", "without -x", replace(job, exclusive=False)
    if job.hosts:
        yield "hosts", "without -m", replace(job, hosts=())
    for change, text in gpu_edits(job):
        yield "gpu", change, replace(job, gpu=text)
    if job.extsched:
        yield "extsched", "without -ext", replace(job, extsched="")
    if job.begin is not None and job.begin > instance.now:
        yield "begin", "without -b", replace(job, begin=None)
    if job.dependency:
        yield "dependency", "without -w", replace(job, dependency="")
    if job.reservation:
        yield "reservation", "without -U", replace(job, reservation="")
    ends_with_it = instance.params.scheduler.ends_with_reservation
    for name in dict.fromkeys(item.name for item in instance.advance_reservations):
        asked = instance.advance_reservation(name)
        mine = asked is not None and may_use(asked, job.user, instance.groups)
        if mine and name != job.reservation:
            periods = reserved_periods(instance, name)
            ends = periods.ends_after(instance.now) if periods else []
            last = min(ends, default=None) if ends_with_it else job.deadline
            inside = replace(job, reservation=name, deadline=last)
            yield "reservation", f"with -U {name}", inside
    classes = ServiceClasses(instance)
    for item in classes.by_name.values():
        if item.name != classes.of(job) and classes.admits(item, job):
            named = replace(job, service_class=item.name)
            yield "service class", f"with -sla {item.name}", named
    for queue in instance.queues:
        if queue.name != job.queue:
            yield "queue", f"in queue {queue.name}", with_queue(job, queue.name)


def other_shapes(instance: Instance, job: Job) -> Iterator[tuple[str, str, Job]]:
    """Yield (section, description, job) for relaxed span, cu, same and select sections.

    The job must not have a compound requirement.
    """
    requirement = effective_requirement(instance, job).requirement
    assert isinstance(requirement, Simple)
    if requirement.span is not None:
        free, words = with_section(job, "span", None), "without span[]"
        if effective_requirement(instance, free).requirement != replace(requirement, span=None):
            free, words = with_section(job, "span", "hosts=-1"), "with span[hosts=-1]"
        yield "span", words, free
    yield from _other_units(instance, job, requirement)
    for name in ("same", "select"):
        if section(job, name) is not None:
            yield name, f"without {name}[]", with_section(job, name, None)


def _other_units(
    instance: Instance, job: Job, requirement: Simple
) -> Iterator[tuple[str, str, Job]]:
    """Yield relaxed cu[] sections, the smallest change for each start."""
    cu = section(job, "cu")
    if cu is None:
        return
    yield from _coarser_units(instance, job, requirement)
    if requirement.cu is not None and requirement.cu.maxcus is not None:
        for most in range(requirement.cu.maxcus + 1, requirement.cu.maxcus + 3):
            text = re.sub(r"maxcus\s*=\s*\d+", f"maxcus={most}", cu)
            yield "cu", f"with cu[{text}]", with_section(job, "cu", text)
    if ":" in cu:
        for word in cu.split(":"):
            rest = ":".join(other for other in cu.split(":") if other != word)
            yield "cu", f"with cu[{rest}]", with_section(job, "cu", rest)
    yield "cu", "without cu[]", with_section(job, "cu", None)


def _coarser_units(
    instance: Instance, job: Job, requirement: Simple
) -> Iterator[tuple[str, str, Job]]:
    """Yield a requirement of one coarser unit instead of few finer ones; hosts stay near each
    other.
    """
    types, cu = instance.cluster.unit_types, requirement.cu
    if cu is None or cu.maxcus is None:
        return
    own = cu.type or instance.cluster.default_unit_type
    for name in types[types.index(own) + 1 :] if own in types else ():
        text = f"type={name}:maxcus=1"
        yield "cu", f"with cu[{text}]", with_section(job, "cu", text)


def tiles(instance: Instance, job: Job) -> list[int]:
    """Return ptile values to try: divisors of -n that fit on a host, the largest first."""
    most = max((host.slots for host in instance.cluster.hosts), default=0)
    return [n for n in range(min(most, job.slots), 0, -1) if job.slots % n == 0]


def _other_jobs(trials: Trials) -> Iterator[Idea]:
    """Yield running jobs that would end now and pending jobs that would be removed.

    Jobs before the job move too.
    """
    forecast, view, limit = trials.forecast, trials.view, trials.limit
    instance, job = forecast.instance, trials.demand.job
    if forecast.stopped():
        return
    for gone in _in_the_way(instance, view, trials.demand, limit):
        if forecast.stopped():
            return
        trials.tried += 1
        without = forecast.for_instance(_with_finished(instance, gone))
        answer = without.answer(job, unless_later=limit)
        yield Idea("running", f"if {job_text(gone)} ended now", answer)
    needed = set(forecast.prerequisites(job))
    ahead = [other for other in forecast.jobs_ahead(job) if other not in needed]
    for gone in _before_it(ahead, view, limit):
        if forecast.stopped():
            return
        trials.tried += 1
        pending = tuple(item for item in instance.pending if item.id != gone)
        without = forecast.for_instance(replace(instance, pending=pending))
        answer = without.answer(job, unless_later=limit)
        yield Idea("pending", f"if {job_text(gone)} (ahead of it) were not pending", answer)


def _with_finished(instance: Instance, gone: str) -> Instance:
    """Return the instance without a running job.

    One of whose start JOB_ACCEPT_INTERVAL still closes its hosts ends in the next second.
    """
    interval = max(map(instance.accept_interval, instance.queues), default=0)
    now, running = instance.now, []
    for item in instance.running:
        if item.job.id != gone:
            running.append(item)
        elif item.start + interval > now:
            running.append(replace(item, finish=now + 1, suspended=False))
    return replace(instance, running=tuple(running))


def _before_it(ahead: Sequence[Job], view: PlanView, limit: int) -> list[str]:
    """Return the pending jobs before the job: those that start earlier, largest first, then others.

    A job that starts later, or never, may still reserve slots within the window of the job.
    """
    sooner = {other.demand.job.id for other in view.planned if other.start.time < limit}
    ordered = sorted(ahead, key=lambda other: (other.id not in sooner, -other.slots))
    return [other.id for other in ordered[:MAX_OTHERS]]


def _in_the_way(instance: Instance, view: PlanView, demand: Demand, limit: int) -> list[str]:
    """Return running jobs: those that end at its start, then on its hosts, then the largest.

    A job on other hosts may still use a licence, a limit or a unit that the job waits for.
    """
    hosts = instance.cluster.hosts
    usable = {hosts[int(host)].name for term in demand.terms for host in term.candidates}
    found: list[tuple[bool, bool, int, str]] = []
    for running in instance.running:
        slots = sum(count for host, count in running.allocation.items() if host in usable)
        finish = expected_finish(instance, running)
        if finish != instance.now:
            found.append((finish != limit, not slots, -slots, running.job.id))
    return [job for *_, job in sorted(found)[:MAX_OTHERS]]


def closed_hosts(
    forecast: WhatIfPlanner, job: Job, limit: int, count: Callable[[], None] = lambda: None
) -> Iterator[Idea]:
    """Yield closed and failed hosts reopened: all of them, and single ones that help.

    count: called for each suggestion tried. All hosts together are suggested only if that is better
    than any single one.
    """
    instance = forecast.instance
    closed = [host for host in instance.cluster.hosts if not host.takes_jobs]
    if not closed or forecast.stopped():
        return
    count()
    together = forecast.for_instance(_opened(instance, closed)).answer(job, unless_later=limit)
    if together.start is None or together.start >= limit:
        return
    best = limit
    if len(closed) > 1:
        largest = sorted(
            closed, key=lambda host: (host.name not in together.allocation, -host.slots)
        )
        for host in largest[:MAX_HOSTS]:
            count()
            opened = forecast.for_instance(_opened(instance, [host]))
            answer = opened.answer(job, unless_later=limit)
            yield Idea("hosts back", _if_back([host]), answer)
            best = best if answer.start is None else min(best, answer.start)
    if together.start < best:
        yield Idea("hosts back", _if_back(closed), together)


def _opened(instance: Instance, hosts: Sequence[Host]) -> Instance:
    names = {host.name for host in hosts}
    opened = (
        replace(host, status="ok") if host.name in names else host
        for host in instance.cluster.hosts
    )
    return replace(instance, cluster=replace(instance.cluster, hosts=tuple(opened)))


def _if_back(hosts: Sequence[Host]) -> str:
    """Return ``if n2 came back (it is unavail)``; for many hosts their number."""
    if len(hosts) > 1:
        return f"if all {len(hosts)} hosts that are down or closed accepted jobs again"
    host = hosts[0]
    verb = "came back" if host.status in DEAD_STATUSES else "were opened"
    return f"if {host.name} {verb} (it is {host.status})"
