"""Random small queues with every kind of property of all pending jobs, and what each command says.

The document is plain data, so that a queue that fails can be printed and kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import slotwise as sw

#: What is said of a job: its start as configured, its possible start, proofs and state.
Said = tuple[object, ...]
#: Solver units of each plan: plans are the same on any machine.
EFFORT = 20.0


def queue_document(seed: int) -> dict[str, Any]:
    """One to three hosts, up to five pending jobs, and some of loans, GPUs, arrays, limits, ranges,
    groups, preemption, reservations and options that no method obeys.
    """
    random = Random(seed)
    some = {name: random.random() < 0.35 for name in _FEATURES}
    hosts = [
        {"name": name, "slots": random.randint(1, 4)}
        for name in "abc"[: random.choice((1, 2, 2, 3))]
    ]
    for host in hosts if some["gpus"] else ():
        host["gpus"] = random.choice((1, 2))
    found: dict[str, Any] = {
        "format": "slotwise/1",
        "hosts": hosts,
        "queues": [
            {"name": "hi", "PRIORITY": random.choice((20, 50)), "EXCLUSIVE": "Y"},
            {"name": "lo", "PRIORITY": 30, "EXCLUSIVE": "Y"},
        ],
    }
    for queue in found["queues"]:
        if random.random() < 0.3:
            queue["BACKFILL"] = "Y"
        if random.random() < 0.3:
            queue["SLOT_RESERVE"] = "MAX_RESERVE_TIME[999]"
    if some["preemption"]:
        found["queues"][0]["PREEMPTION"] = "PREEMPTIVE[lo]"
    if some["loans"]:
        found |= _loans(random, hosts)
    if some["groups"]:
        found["job_groups"] = [{"name": "/g", "limit": random.choice((1, 2))}]
    if some["limits"]:
        who = random.choice(({"PER_USER": "all"}, {"USERS": "u"}, {"QUEUES": "lo"}))
        found["limits"] = [{"name": "l", "SLOTS": random.randint(1, 3), **who}]
    if some["reserved"]:
        host = random.choice(hosts)
        begin = random.choice((0, 0, 1800))
        found["advance_reservations"] = [
            {
                "name": "ar",
                "allocation": f"{random.randint(1, host['slots'])}*{host['name']}",
                "start": begin,
                "end": begin + 7200,
                "users": ["u"],
            }
        ]
    if some["omissions"]:
        found["omissions"] = [
            {
                "what": "a setting",
                **random.choice(({"queues": ["lo"]}, {"users": ["v"]}, {"jobs": ["p2"]})),
            }
        ]
    found["running"] = list(_running(random, hosts, some))
    found["pending"] = list(_pending(random, some))
    return found


_FEATURES = ("loans", "gpus", "preemption", "groups", "limits", "reserved", "omissions", "ranges")
_FEATURES += ("unheeded", "arrays", "waiting", "begins")


def _loans(random: Random, hosts: list[dict[str, Any]]) -> dict[str, Any]:
    pool = {
        "name": "p",
        "TYPE": "slots",
        "HOSTS": random.choice(("all", hosts[0]["name"])),
        "DISTRIBUTION": f"[g, {random.randint(1, 3)}]",
    }
    if random.random() < 0.85:
        words = ["QUEUES[all]"] if random.random() < 0.7 else ["QUEUES[lo]"]
        words += random.choice(([], [], ["DURATION[30]"], ["CLOSE_ON_DEMAND"], ["RETAIN[1]"]))
        pool["LOAN_POLICIES"] = " ".join(words)
    return {
        "service_classes": [{"name": "g", "GOALS": "[GUARANTEE]"}],
        "guaranteed_pools": [pool],
    }


def _running(
    random: Random, hosts: list[dict[str, Any]], some: dict[str, bool]
) -> Iterator[dict[str, Any]]:
    for host in hosts:
        slots = random.choice((0, 0, 1, host["slots"], host["slots"]))
        if slots:
            yield {
                "id": f"r{host['name']}",
                "slots": slots,
                "user": random.choice("uv"),
                "queue": "lo",
                "run_limit": random.choice(("30m", "1h", "2h")),
                "start": 0,
                "allocation": f"{slots}*{host['name']}",
                **({"service_class": "g"} if some["loans"] and random.random() < 0.3 else {}),
            }


def _pending(random: Random, some: dict[str, bool]) -> Iterator[dict[str, Any]]:
    count = random.choice((2, 3, 3, 4, 5))
    for number in range(1, count + 1):
        low = random.choice((1, 1, 2, 2, 3))
        grown = some["ranges"] and random.random() < 0.4
        words = [f"-n {low},{low + random.randint(1, 3)}" if grown else f"-n {low}"]
        words.append(f"-q {random.choice(('hi', 'lo'))}")
        words.append(f"-W {random.choice((5, 30, 60, 90))}")
        if some["loans"] and random.random() < 0.35:
            words.append("-sla g")
        if some["gpus"] and random.random() < 0.5:
            shared = ":j_exclusive=yes" if random.random() < 0.3 else ""
            words.append(f"-gpu num={random.choice((1, 2, 2, 5))}{shared}")
        if some["groups"] and random.random() < 0.5:
            words.append("-g /g")
        if some["unheeded"] and random.random() < 0.4:
            words.append(
                random.choice(("-data f", "-R 'affinity[core(1)]'", "-R 'span[stripe]'", "-x"))
            )
        if some["reserved"] and random.random() < 0.3:
            words.append("-U ar")
        if some["waiting"] and number > 1 and random.random() < 0.3:
            words.append(f"-w 'ended(p{random.randint(1, number - 1)})'")
        job: dict[str, Any] = {"id": f"p{number}", "user": random.choice("uv")}
        if some["begins"] and random.random() < 0.3:
            job["begin"] = 1200
        if some["arrays"] and random.random() < 0.3:
            job["id"] = f"{900 + number}"
            words.append(f"-J 'x[1-3]%{random.choice((1, 2))}'")
        yield {**job, "bsub": " ".join(words).strip()}


def by_the_whole(instance: sw.Instance) -> dict[str, Said]:
    """What the outlook of all pending jobs says of each."""
    found = sw.outlook(instance, effort=EFFORT)
    return {item.job: said_of(item) for item in found.jobs}


def said_of(item: Any) -> Said:
    """What an outlook says of a job."""
    return (item.as_configured, item.possible, item.proved, item.proved_if, item.state)


def differences(instance: sw.Instance) -> Iterator[str]:
    """Yield where a plan of the first jobs alone, or the explanation of one, says something else
    than the plan of all.

    A job of a range of slots has more of them where fewer jobs are behind it: with the hosts of
    other jobs that may move, a part may say "proved if" of a start that is proved in the whole.
    """
    has_range = any(job.max_slots for job in instance.pending)
    whole = by_the_whole(instance)
    for name, of_all in whole.items():
        said = said_of(sw.explain(instance, name, effort=EFFORT).outlook)
        if said != of_all and not (has_range and _on_condition(said[1:4]) == of_all[1:4]):
            yield f"explain {name}: {said}, of all jobs {of_all}"
    every = sw.plan(instance, effort=EFFORT)
    starts = _starts(every)
    for name, start in starts.items():
        if start[:3] != (shown := whole[name][1:4]):
            yield f"outlook {name}: {shown}, the plan of all jobs {start}"
    for first in range(1, len(instance.pending)):
        part = _starts(sw.plan(instance, first=first, effort=EFFORT))
        for name, said in part.items():
            if said != starts[name] and not (has_range and _on_condition(said) == starts[name]):
                yield f"first {first}, {name}: {said}, of all jobs {starts[name]}"
    late = [_later_than_it_happens(item) for item in whole.values()]
    if next(filter(None, late), 0) > 0:
        yield f"worse than what happens: {whole}"
    if any(note.startswith("a bug") for note in every.notes):
        yield f"judge: {[note for note in every.notes if note.startswith('a bug')]}"


def _on_condition(said: Said) -> Said:
    """Return a start that is proved on a condition as proved without; others as they are."""
    return (said[0], True, ()) if said[2] else said


def _starts(plan: sw.Plan) -> dict[str, Said]:
    found: dict[str, Said] = {item.job: (None, False, ()) for item in plan.unplaced}
    return found | {item.job: (item.start, item.proved, item.proved_if) for item in plan}


def _later_than_it_happens(said: Said) -> float:
    """Return by how many seconds a possible start is after the one as configured."""
    configured, possible = said[:2]
    ends = [float("inf") if time is None else float(str(time)) for time in (possible, configured)]
    return 0.0 if ends[0] == ends[1] else ends[0] - ends[1]
