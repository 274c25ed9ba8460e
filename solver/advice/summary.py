"""What a plan or a comparison comes to, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.instance import Instance
from ...model.objective import objective_named
from ...model.plan import Plan
from ...model.time_text import duration_text
from ..shortage import counted
from .compared_job import ComparedJob

#: Jobs, or runs of jobs, that a sentence names; more are counted.
MOST_NAMED = 4
#: So many jobs with numbers in a row are named by the first and the last.
_RUN = 3
#: What the value of an objective is that minimises every start in turn.
_VALUE_IN_ORDER = "sum of the seconds from now to each start"


def sentences(rows: Sequence[ComparedJob], optimal: Plan, baseline: str) -> tuple[str, ...]:
    """A comparison: what is proved, who starts sooner, who waits longer, and what that sums up to.

    rows: in priority order. baseline: how the cluster reserves greedily, as `baseline_of` says.
    """
    if not rows:
        return ("Nothing is pending.",)
    found = [proof_sentence(optimal), *_unplaced(optimal)]
    known = [row for row in rows if row.gain is not None]
    if known:
        changes = _changes(known, in_order=objective_named(optimal.objective).in_order)
        head = f"Against greedy reservation, simulated as configured ({baseline})"
        found += [f"{head}: {changes}.", *_totals(known)]
    return (*found, *_uncounted(rows))


def plan_sentences(plan: Plan) -> tuple[str, ...]:
    """A plan: how many jobs have a start, what is proved, and the value of its objective."""
    if plan.method == "greedy":
        return _of_greedy(plan)
    if plan.method == "time-based":
        return (f"Time-based reservation gives {_starts(plan)}. {_NOTHING}", *_unplaced(plan))
    found = [proof_sentence(plan), *_unplaced(plan)]
    if plan.value is not None:
        bound = "" if plan.bound is None else f", bound {plan.bound:.15g}"
        meaning = _VALUE_IN_ORDER if _in_order(plan) else objective_named(plan.objective).meaning
        text = f"Method {plan.method}, objective {plan.objective}: value {plan.value:.15g}{bound}"
        found.append(f"{text} ({meaning}).")
    return tuple(found)


_NOTHING = "It is what the next cycle says; nothing is proved."


def _of_greedy(plan: Plan) -> tuple[str, ...]:
    now = sum(item.start is not None for item in plan)
    estimated = sum(item.start is None and item.estimate is not None for item in plan)
    without = len(plan) - now - estimated
    texts = [f"{counted(now, 'job') if now else 'no job'} {_verb(now or 1, 'start')} now"]
    if estimated:
        texts.append(f"{counted(estimated, 'job')} {_verb(estimated, 'wait')} with an estimate")
    if without:
        texts.append(f"{counted(without, 'job')} {_verb(without, 'wait')} without an estimate")
    return (f"Greedy reservation: {', '.join(texts)}. {_NOTHING}", *_unplaced(plan))


def _starts(plan: Plan) -> str:
    starts = sum(item.start is not None for item in plan)
    return f"{counted(starts, 'job')} a start"


def _in_order(plan: Plan) -> bool:
    return objective_named(plan.objective).in_order


def proof_sentence(plan: Plan) -> str:
    """How many of the starts are proved, or that the plan is."""
    starts = [item for item in plan if item.start is not None]
    proved = sum(item.proved for item in starts)
    total = len(starts)
    if not _in_order(plan) and plan.status == "optimal":
        meaning = objective_named(plan.objective).meaning
        return f"Proved: no plan has a smaller {meaning} (objective {plan.objective})."
    claim = "proved the earliest" + (" in priority order" if _in_order(plan) else "")
    if not total:
        return "No job has a start."
    if proved == total:
        every = {1: "The one start is", 2: "Both starts are"}.get(total, f"All {total} starts are")
        return f"{every} {claim}."
    if not proved:
        return f"No start is {claim}."
    return f"{proved} of {total} starts {_verb(proved, 'are')} {claim}."


def _verb(number: int, verb: str) -> str:
    if verb == "are":
        return "is" if number == 1 else "are"
    return f"{verb}s" if number == 1 else verb


def _unplaced(plan: Plan) -> list[str]:
    words = [word for word in plan.missing_starts().values() if word != "?"]
    never = words.count("never")
    found = []
    if never:
        found.append(f"{counted(never, 'job')} {'has' if never == 1 else 'have'} no place.")
    if rest := len(words) - never:
        found.append(f"For {counted(rest, 'job')} no place was found.")
    return found


# --- who gains ------------------------------------------------------------------------------------


def _changes(rows: Sequence[ComparedJob], *, in_order: bool) -> str:
    """Who starts sooner and who waits longer, against greedy reservation."""
    sooner = [row for row in rows if row.gain and row.gain > 0]
    later = [row for row in rows if row.gain and row.gain < 0]
    parts = []
    if sooner:
        parts.append(f"{_who(sooner)} {_verb(len(sooner), 'start')} {_range(sooner)} sooner")
    if later:
        longer = f"{_who(later)} {_verb(len(later), 'wait')} {_range(later)} longer"
        if in_order and sooner and rows.index(sooner[0]) < rows.index(later[0]):
            longer += ", because priority comes first (`--objective total-start` minimises the sum)"
        parts.append(longer)
    return "; ".join(parts) or "no job starts sooner or later"


def _who(rows: Sequence[ComparedJob]) -> str:
    names = [row.job for row in rows]
    shown = names_text(names)
    if names[0][:1].isdigit() and shown[:1].isdigit() and not shown.endswith(" jobs"):
        return f"job{'s' * (len(names) > 1)} {shown}"
    return shown


def names_text(names: Sequence[str]) -> str:
    """``110``, ``110 and 112``, ``113 to 116``; of many how many there are."""
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
    if len(texts) > MOST_NAMED:
        return f"{len(names)} jobs"
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _follows(name: str, later: str) -> bool:
    return name.isdecimal() and later.isdecimal() and int(later) == int(name) + 1


def _range(rows: Sequence[ComparedJob]) -> str:
    changes = [abs(row.gain or 0) for row in rows]
    low, high = duration_text(min(changes)), duration_text(max(changes))
    return low if low == high else f"{low} to {high}"


def _totals(rows: Sequence[ComparedJob]) -> list[str]:
    """The sum of the waits, and of the waits times the slots."""
    seconds = sum(row.gain or 0 for row in rows)
    slot_hours = sum(row.gain_slot_hours or 0.0 for row in rows)
    if not any(row.gain for row in rows):
        return []
    waits = f"{duration_text(abs(seconds))} {_less(seconds)}"
    weighed = f"{abs(slot_hours):.1f} slot-hours {_less(slot_hours)}"
    return [f"Summed up that is {waits} waiting, and {weighed} (waiting times slots)."]


def _less(saved: float) -> str:
    return "less" if saved >= 0 else "more"


def _uncounted(rows: Sequence[ComparedJob]) -> list[str]:
    """How many optimal starts a queue without BACKFILL would not give: they are no gain."""
    needy = [row.needs_backfill for row in rows if row.needs_backfill]
    if not needy:
        return []
    queues = ", ".join(dict.fromkeys(needy))
    needs = "need" if len(needy) > 1 else "needs"
    return [f"{counted(len(needy), 'start')} {needs} BACKFILL in queue {queues}: not counted."]


def baseline_of(instance: Instance) -> str:
    """How an instance reserves greedily: which queues have BACKFILL, and whether all reserve."""
    lending = [queue.name for queue in instance.queues if queue.backfill]
    if not lending:
        found = "no queue has BACKFILL"
    elif len(lending) == 1:
        found = f"BACKFILL in queue {lending[0]}"
    elif len(lending) == len(instance.queues):
        found = "BACKFILL in every queue"
    else:
        found = f"BACKFILL in {len(lending)} of {len(instance.queues)} queues"
    if all(queue.reserve_cycles is None for queue in instance.queues):
        found += ", reserving in every queue"
    return found
