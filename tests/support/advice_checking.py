"""Advice read from its words and carried out on a case of the combined enumerator.

Nothing of the solver is used: a change is made on the plain data of a case, beside its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from combined_enumerator import DAY, MINUTE, Amount, Case, Form, Row, Term
from combined_instances import text_of
from slotwise import Instance, Job, Plan


def with_instance(it: Case, instance: Instance) -> Case:
    """The case with another instance."""
    return Case(instance, it.asks, it.host_windows, it.dispatch, it.run)


def with_job(it: Case, job: Job, term: Term | None = None) -> Case:
    """The case with a pending job asked for in another way; term: what it asks for then."""
    asks = dict(it.asks)
    if term is not None:
        text = text_of(term)
        asks[job.id], job = (term,), replace(job, res_req=(text,) if text else ())
    pending = tuple(job if other.id == job.id else other for other in it.instance.pending)
    changed = replace(it.instance, pending=pending)
    return Case(changed, asks, it.host_windows, it.dispatch, it.run)


def without(it: Case, gone: str) -> Case:
    """The case without a running or a pending job."""
    running = tuple(item for item in it.instance.running if item.job.id != gone)
    pending = tuple(item for item in it.instance.pending if item.id != gone)
    return with_instance(it, replace(it.instance, running=running, pending=pending))


def with_hosts_open(it: Case, change: str) -> Case:
    """The case with the hosts open that a change names, or all."""
    hosts = it.instance.cluster.hosts
    one = re.fullmatch(r"if (\w+) (?:came back|were opened) \(it is (\w+)\)", change)
    if one is not None:
        assert it.hosts[one[1]].status == one[2]
    opened = tuple(
        replace(host, status="ok") if one is None or host.name == one[1] else host for host in hosts
    )
    return with_instance(
        it, replace(it.instance, cluster=replace(it.instance.cluster, hosts=opened))
    )


def first_in_line(it: Case, name: str) -> Case:
    """The case with one job in front of all, or alone where its queue does not let it be there."""
    first = replace(it.jobs[name], priority=1 + max(job.priority for job in it.order))
    found = with_job(it, first)
    if found.order[0] is first:
        return found
    return with_instance(found, replace(found.instance, pending=(first,)))


def carried_out(it: Case, name: str, change: str) -> Case:
    """The case with a suggestion carried out, read from its words."""
    job = it.jobs[name]
    if found := re.fullmatch(r"with -n (\d+)", change):
        return with_job(it, replace(job, slots=int(found[1]), max_slots=None))
    if found := re.fullmatch(r"with -W (\d+):(\d\d) or less \(backfill\)", change):
        return with_job(it, replace(job, run_limit=60 * (60 * int(found[1]) + int(found[2]))))
    if found := re.fullmatch(r"if (?:job )?(\w+) ended now", change):
        assert any(item.job.id == found[1] for item in it.instance.running)
        return without(it, found[1])
    if found := re.fullmatch(r"if (?:job )?(\w+) \(ahead of it\) were not pending", change):
        order = [other.id for other in it.order]
        assert order.index(found[1]) < order.index(name)
        return without(it, found[1])
    if found := re.fullmatch(r"in queue (\w+)", change):
        return with_job(it, replace(job, queue=found[1]))
    if re.search(r" (came back|were opened|accepted jobs again)", change):
        return with_hosts_open(it, change)
    if change == "if it were first in the dispatch order":
        return first_in_line(it, name)
    options: dict[str, Job] = {
        "without -x": replace(job, exclusive=False),
        "without -m": replace(job, hosts=()),
        "without -b": replace(job, begin=None),
    }
    if change in options:
        return with_job(it, options[change])
    (term,) = it.asks[name]
    return with_job(it, job, _other_term(term, change))


def _other_term(term: Term, change: str) -> Term:
    if change == "without span[]":
        return replace(term, tile=0, one_host=False, block=1)
    if change == "without cu[]":
        return replace(term, cu=None)
    if change == "without same[]":
        return replace(term, same=False)
    if change == "without select[]":
        return replace(term, kind="")
    if found := re.fullmatch(r"with span\[ptile=(\d+)\]", change):
        return replace(term, tile=int(found[1]), one_host=False, block=1)
    if found := re.fullmatch(r"with cu\[(.*)\]", change):
        words = [word.partition("=") for word in found[1].split(":") if word]
        return replace(term, cu=tuple((key, value) for key, _, value in words))
    found = re.fullmatch(r"with rusage\[.*?mem=(\d+)(?![\w.]).*\]", change)
    assert found is not None, change
    return with_memory(term, int(found[1]))


def with_memory(term: Term, amount: int) -> Term:
    """The term with its first plain amount of memory replaced."""
    alternatives: list[tuple[Amount, ...]] = []
    left = 1
    for alternative in term.alternatives:
        items = []
        for item in alternative:
            plain = item.resource == "mem" and len(item.values) == 1 and left
            items.append(replace(item, values=(amount,)) if plain else item)
            left -= bool(plain)
        alternatives.append(tuple(items))
    return replace(term, alternatives=tuple(alternatives))


def others(it: Case, name: str) -> Iterator[str]:
    """Every change of the kinds that are offered, over small ranges, in the words of advice."""
    job, terms = it.jobs[name], it.asks[name]
    order = [other.id for other in it.order]
    if job.run_limit is not None:
        for minutes in range(1, -(-job.run_limit // MINUTE)):
            yield f"with -W {minutes // 60}:{minutes % 60:02d} or less (backfill)"
    yield from (f"if {form.job} ended now" for form, _ in it.base)
    for other in order[: order.index(name)]:
        yield f"if {other} (ahead of it) were not pending"
    if order[0] != name:
        yield "if it were first in the dispatch order"
    yield from (f"in queue {q.name}" for q in it.instance.queues if q.name != job.queue)
    asked = {"-x": job.exclusive, "-m": job.hosts, "-b": job.begin}
    yield from (f"without {option}" for option, there in asked.items() if there)
    if len(terms) == 1:
        yield from _other_shapes(job, terms[0], max(host.slots for host in it.hosts.values()))


def _other_shapes(job: Job, term: Term, most: int) -> Iterator[str]:
    span = bool(term.tile or term.one_host or term.block > 1)
    has = {"span": span, "cu": term.cu is not None, "same": term.same, "select": term.kind}
    yield from (f"without {name}[]" for name, there in has.items() if there)
    yield from (f"with -n {count}" for count in range(1, job.slots))
    if span:
        yield from (f"with span[ptile={tile}]" for tile in range(1, min(most, job.slots) + 1))
    if term.cu is not None and len(term.cu) > 1:
        for left in term.cu:
            rest = (key + ("=" if v else "") + v for key, v in term.cu if (key, v) != left)
            yield f"with cu[{':'.join(rest)}]"
    plain = (a for some in term.alternatives for a in some if a.resource == "mem")
    plain = (a for a in plain if len(a.values) == 1)
    if (memory := next(plain, None)) is not None:
        for amount in range(10, memory.values[0], 10):
            changed = with_memory(term, amount)
            text = re.search(r"rusage\[(.*?)\]", text_of(changed))
            assert text is not None
            yield f"with rusage[{text[1]}]"


def kind(change: str) -> str:
    """What a change is about, without its numbers."""
    for word in ("-n", "-W", "ptile", "rusage", "cu["):
        if change.startswith(("with ", "without ")) and word in change:
            return word
    return re.sub(r"^if (?:job )?\w+ (?=ended|\()", "if ", change)


def placed_forms(it: Case, plan: Plan, names: set[str]) -> list[tuple[Form, int]]:
    """Where a plan has these jobs."""
    found = []
    for item in plan:
        if item.job in names and item.start is not None:
            terms = item.terms or (item.allocation,)
            form = Form(item.job, tuple(tuple(t.items()) for t in terms), item.alternative)
            found.append((form, item.start))
    return found


def fits_at(it: Case, job: str, time: int, placed: list[tuple[Form, int]]) -> bool:
    """Whether some form of a job has room from a time on, beside those that are placed."""
    return any(it.may_start(form, time) and it.fits(placed, form, time) for form in it.forms[job])


def least_left(
    it: Case, rows: Iterable[Row], job: str, time: int, placed: list[tuple[Form, int]]
) -> dict[Row, float]:
    """What nobody has of each row in the whole window of a job from a time on."""
    end = time + it.length(job)
    starts = {s for _, s in placed} | {i.start for i in it.instance.advance_reservations}
    used = [it.used(placed, at) for at in (time, *(s for s in starts if time < s < end))]
    return {row: min(it.full[row] - at.get(row, 0) for at in used) for row in rows}


def hosts_open(it: Case, name: str, time: int) -> list[str]:
    """Hosts that a job with one term may use at a time."""
    term, job = it.asks[name][0], it.jobs[name]
    doors = it.host_windows
    return [
        host
        for host in it.hosts
        if it.able(job, term, host, 0)
        and (host not in doors or doors[host][0] <= time % DAY // MINUTE < doors[host][1])
    ]


_SLOTS = r"free slots?((?: and no other job there| under [A-Z/_]+(?: slots)? of \w+ \w+)*)"
_REST = r"(?: each)?(?: and one (?:with|of) \d+)?"


def counted(
    it: Case, name: str, reason: str, time: int, placed: list[tuple[Form, int]]
) -> float | None:
    """The number that a reason says of an instant, counted; None for what is not counted here."""
    job = it.jobs[name]
    if len(it.asks[name]) > 1:
        return None
    rows: dict[str, Row] = {
        f"QJOB_LIMIT of {job.queue}": ("QJOB", job.queue),
        f"UJOB_LIMIT of {job.queue} for user {job.user}": ("UJOB", job.queue, job.user),
        f"MAX_JOBS of {job.user}": ("MAX", job.user),
        "tok available": ("shared", "tok"),
        "lic available": ("shared", "lic"),
    }
    for what, row in rows.items():
        if re.match(rf"{what}: needs .* \(has \d|needs .* under {what}, which leaves ", reason):
            return max(0.0, least_left(it, [row], name, time, placed)[row])
    if found := re.match(rf"needs \d+ {_SLOTS} \(has \d", reason):
        return sum(_slots(it, name, found[1], time, placed))
    if found := re.match(
        rf"needs one host with \d+ {_SLOTS} \(has \d+(?: to \d+)? at best", reason
    ):
        return max(_slots(it, name, found[1], time, placed), default=0)
    if found := re.match(
        rf"needs \d+ hosts? with (\d+) {_SLOTS}(?: each)?{_REST} \(has \d", reason
    ):
        return sum(n >= int(found[1]) for n in _slots(it, name, found[2], time, placed))
    if found := re.match(rf"needs \d+ blocks? of (\d+) {_SLOTS}{_REST} \(has \d", reason):
        slots = _slots(it, name, found[2], time, placed)
        return sum(min(n, job.slots) // int(found[1]) for n in slots)
    return None


def _slots(it: Case, name: str, more: str, time: int, placed: list[tuple[Form, int]]) -> list[int]:
    """Slots of each host that a job may use; more: limits on a host, and whether it needs all."""
    job, booked = it.jobs[name], it.booked(name)
    limits = {"JL/U": ("JLU", None, job.user), "HJOB_LIMIT": ("HJOB", job.queue)}
    limits |= {"PJOB_LIMIT": ("PJOB", job.queue)}
    found = []
    for host in hosts_open(it, name, time):
        rows: list[Row] = [("slots", host), ("outside" if booked is None else booked.name, host)]
        rows += [
            tuple(part or host for part in row) if None in row else (*row, host)
            for word, row in limits.items()
            if word in more
        ]
        left = least_left(it, [row for row in rows if row in it.full], name, time, placed)
        wholly = [row for row in left if row in (("slots", host), ("outside", host))]
        if "no other job" in more and any(left[row] < it.full[row] for row in wholly):
            left["slots", host] = 0
        found.append(max(0, int(min(left.values()))))
    return found
