"""Summaries of plans, outlooks and comparisons, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...model.display import HOUR, duration_text, hours_text
from ...model.instance import Instance
from ...model.objective import objective_named
from ...model.plan import Method, Plan
from ..outlook.outlook import JobOutlook, State
from ..pending_reasons import counted

#: Maximum number of jobs, or runs of jobs, that a sentence names; more are counted.
MAX_NAMED = 4
#: Minimum length of a run of jobs with consecutive numbers that is named by its first and last job.
_RUN = 3
#: Meaning of the value of the objective that minimises all starts in order.
_VALUE_IN_ORDER = "sum of the seconds from now to each start"


def outlook_sentences(
    rows: Sequence[JobOutlook], optimal: Plan, configuration: str
) -> tuple[str, ...]:
    """Return sentences about an outlook: proofs, jobs that could start earlier, what that costs
    others, and jobs without a start.

    rows: in dispatch order. configuration: text of :func:`configuration_of`.
    """
    if not rows:
        return ("Nothing is pending.",)
    found = [proof_sentence(optimal)]
    known = [row for row in rows if row.sooner_by is not None]
    if known:
        found += [f"As configured ({configuration}): {_changes(known)}.", *_totals(known)]
    return (*found, *state_sentences(rows))


#: Sentence on the jobs that do not start, by state.
_OF_STATE: Mapping[State, tuple[str, str]] = {
    "impossible": ("cannot start on this cluster", "cannot start on this cluster"),
    "starts if": ("starts only once another event occurs", "start only once another event occurs"),
    "unknown end": (
        "waits for an event at an unknown time",
        "wait for an event at an unknown time",
    ),
    "not examined": ("was not examined", "were not examined"),
}


def state_sentences(rows: Sequence[JobOutlook]) -> tuple[str, ...]:
    """Return how many jobs do not start as configured, one sentence for each kind of reason."""
    return _stated([(row.job, row.state) for row in rows])


def _stated(states: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return one sentence for each state of jobs without a start."""
    found = []
    for state, (one, several) in _OF_STATE.items():
        jobs = [job for job, found_state in states if found_state == state]
        if jobs:
            verb = one if len(jobs) == 1 else several
            found.append(f"{counted(len(jobs), 'job')} {verb}: {names_text(jobs)}.")
    return tuple(found)


def plan_sentences(plan: Plan, words: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return sentences about a plan: jobs with a start, proofs, and the value of its objective.

    words: state of each job without a start; None: the words of the plan.
    """
    without = _unplaced(plan.missing_starts() if words is None else words)
    if plan.method == "greedy":
        return (*_of_greedy(plan), *without)
    if plan.method == "time-based":
        starts = counted(sum(item.start is not None for item in plan), "job")
        return (f"Time-based reservation gives {starts} a start. {_NOTHING}", *without)
    found = [proof_sentence(plan), *without]
    if plan.value is not None:
        bound = "" if plan.bound is None else f", bound {plan.bound:.15g}"
        meaning = _VALUE_IN_ORDER if _in_order(plan) else objective_named(plan.objective).meaning
        text = f"Method {plan.method}, objective {plan.objective}: value {plan.value:.15g}{bound}"
        found.append(f"{text} ({meaning}).")
    return tuple(found)


_NOTHING = "It is the estimate of the next cycle; nothing is proved."


def _of_greedy(plan: Plan) -> tuple[str, ...]:
    now = sum(item.start is not None for item in plan)
    estimated = sum(item.start is None and item.estimate is not None for item in plan)
    without = len(plan) - now - estimated
    texts = [f"{counted(now, 'job') if now else 'no job'} {_verb(now or 1, 'start')} now"]
    if estimated:
        texts.append(f"{counted(estimated, 'job')} {_verb(estimated, 'wait')} with an estimate")
    if without:
        texts.append(f"{counted(without, 'job')} {_verb(without, 'wait')} without an estimate")
    return (f"Greedy reservation: {', '.join(texts)}. {_NOTHING}",)


def _in_order(plan: Plan) -> bool:
    return objective_named(plan.objective).in_order


def proof_sentence(plan: Plan) -> str:
    """Return how many starts are proved, or that the whole plan is."""
    starts = [item for item in plan if item.start is not None]
    proved = sum(item.proved for item in starts)
    total = len(starts)
    if not _in_order(plan) and plan.status == "optimal":
        meaning = objective_named(plan.objective).meaning
        return f"Proved: no plan has a smaller {meaning} (objective {plan.objective})."
    claim = "proved the earliest" + (" in priority order" if _in_order(plan) else "")
    if not total:
        return "No job has a start."
    on_condition = sum(bool(item.proved_if) for item in starts)
    more = f", {on_condition} if others start where planned" if on_condition else ""
    if proved == total:
        every = {1: "The one start is", 2: "Both starts are"}.get(total, f"All {total} starts are")
        return f"{every} {claim}."
    if not proved:
        return f"No start is {claim}{more}."
    return f"{proved} of {total} starts {_verb(proved, 'are')} {claim}{more}."


def _verb(number: int, verb: str) -> str:
    if verb == "are":
        return "is" if number == 1 else "are"
    return f"{verb}s" if number == 1 else verb


def _unplaced(words: Mapping[str, str]) -> list[str]:
    said = list(words.values())
    found = list(_stated([item for item in words.items() if item[1] != "not examined"]))
    if rest := said.count("no place"):
        found.append(f"{counted(rest, 'job')} {'has' if rest == 1 else 'have'} no place.")
    if rest := said.count("no place found"):
        found.append(f"For {counted(rest, 'job')} no start was found.")
    return found


def _changes(rows: Sequence[JobOutlook]) -> str:
    """Return a clause about the jobs that could start earlier, and those that pass others."""
    earlier = [row for row in rows if row.earlier_by]
    ahead = [row for row in rows if row.ahead_of]
    parts = []
    if earlier:
        each = "each " if len(earlier) > 1 else ""
        gain = _range([row.earlier_by or 0 for row in earlier])
        parts.append(f"{named([row.job for row in earlier])} could {each}start {gain} earlier")
    if ahead:
        names, many = named([row.job for row in ahead]), len(ahead) > 1
        whom = named(list(dict.fromkeys(row.ahead_of for row in ahead)))
        verb = "start" if many else "starts"
        parts.append(f"{names} {verb} before {whom} of higher priority")
    return "; ".join(parts) or "every job starts at its planned time"


def named(names: Sequence[str]) -> str:
    """Return names of jobs such as ``job 110``, ``jobs 113 to 116``, ``110x and 112y`` or ``14
    jobs``.
    """
    shown = names_text(names)
    if names[0][:1].isdigit() and shown[:1].isdigit() and not shown.endswith(" jobs"):
        return f"job{'s' * (len(names) > 1)} {shown}"
    return shown


def names_text(names: Sequence[str]) -> str:
    """Return names such as ``110``, ``110 and 112`` or ``113 to 116``; for many, their number."""
    parts: list[list[str]] = []
    for name in names:
        if parts and _follows(parts[-1][-1], name):
            parts[-1].append(name)
        else:
            parts.append([name])
    texts = [
        text
        for part in parts
        for text in ([f"{part[0]} to {part[-1]}"] if len(part) >= _RUN else part)
    ]
    if len(texts) > MAX_NAMED:
        return f"{len(names)} jobs"
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _follows(name: str, later: str) -> bool:
    return name.isdecimal() and later.isdecimal() and int(later) == int(name) + 1


def _range(changes: Sequence[int]) -> str:
    low, high = duration_text(min(changes)), duration_text(max(changes))
    return low if low == high else f"{low} to {high}"


def _totals(rows: Sequence[JobOutlook]) -> list[str]:
    """Return a sentence on the waiting that priority order saves some jobs and costs others."""
    parts = [
        f"{counted(len(some), 'job')} would wait "
        f"{hours_text(abs(sum(row.sooner_by or 0 for row in some)))} {less} "
        f"({_slot_hours(abs(sum((row.sooner_by or 0) * row.slots for row in some)))} slot-hours)"
        for kind, less in (("earlier_by", "less"), ("is_ahead", "more"))
        if (some := [row for row in rows if getattr(row, kind) and (row.earlier_by or row.proved)])
    ]
    if not parts:
        return []
    return [f"With every job at its earliest start in priority order, {' and '.join(parts)}."]


def _slot_hours(slot_seconds: float) -> str:
    return f"{slot_seconds / HOUR:,.1f}".removesuffix(".0")


def savings_sentences(
    waits: Mapping[Method, Mapping[str, int]], slots: Mapping[str, int]
) -> tuple[str, ...]:
    """Return a sentence on the waiting that the optimal method saves over others; () without any.

    waits: seconds by method and job, of the same jobs. slots: of all compared jobs.
    """
    best = waits.get("optimal", {})
    others = [method for method in waits if method != "optimal"]
    if not best or not others:
        return ()
    parts = []
    for method in others:
        wait = sum(waits[method].values())
        saved, of = wait - sum(best.values()), hours_text(wait)
        if method == others[0]:
            whole = sum(waits[method][job] * slots[job] for job in best)
            less = whole - sum(best[job] * slots[job] for job in best)
            than = "of" if less >= 0 else "more than"
            weighed = f"{_slot_hours(abs(less))} slot-hours {than} {_slot_hours(whole)}"
            of += f" of waiting ({weighed})"
        verb, over = ("saves", "of") if saved >= 0 else ("adds", "to")
        amount = hours_text(abs(saved)) if saved else "nothing"
        parts.append(f"{verb} {amount} {over} {of} over {method}")
    text = ", ".join(parts).replace(", saves ", ", ")
    if ", adds" in f", {text}":
        text += ", as priority comes first (`--objective total-start` minimises the sum)"
    known = "" if len(best) == len(slots) else f" ({len(best)} of {len(slots)} jobs)"
    return (f"Optimal {text}{known}.",)


def configuration_of(instance: Instance, method: str) -> str:
    """Return a clause about the configured method and the queues that reserve and backfill.

    method: the configured reservation method.
    """
    queues = instance.queues
    reserving = [queue.name for queue in queues if queue.reserve_cycles is not None]
    lending = [queue.name for queue in queues if queue.backfill]
    if not reserving:
        return f"no queue reserves, {_queues_with(lending, len(queues), 'BACKFILL')}"
    reserves = _queues_with(reserving, len(queues), f"{method} reservation")
    return f"{reserves}, {_queues_with(lending, len(queues), 'BACKFILL')}"


def _queues_with(names: Sequence[str], total: int, what: str) -> str:
    """Return text such as ``BACKFILL in queue normal``, ``BACKFILL in 2 of 5 queues``, ``no
    BACKFILL``.
    """
    if not names:
        return f"no {what}"
    if len(names) == total:
        return f"{what} in {'every queue' if total > 1 else f'queue {names[0]}'}"
    if len(names) == 1:
        return f"{what} in queue {names[0]}"
    return f"{what} in {len(names)} of {total} queues"
