"""Random instances of jobs that come before others (-w, -b) or run by estimates (-We below -W)."""

from __future__ import annotations

import random
from collections.abc import Sequence

from slotwise import Cluster, Host, Instance, Job, Params, Queue, RunningJob

#: Seconds of a step, so that nothing ends in the next second by chance.
STEP = 60
_WORDS = ("done", "done", "ended", "started", "post_done", "started")


def waiting_case(
    seed: int,
    *,
    estimates: bool = False,
    begins: bool = False,
    backfill: bool | None = True,
    fails: bool = False,
) -> Instance:
    """A small cluster where slots alone count.

    estimates: some jobs have -We below -W. begins: some have -b. backfill: of the queues, None for
    either. fails: with conditions that hold where others fail, which no plan knows.
    """
    words = (*_WORDS, "exit") if fails else _WORDS
    draw = random.Random(seed)
    hosts = tuple(Host(f"h{n}", draw.randint(1, 4)) for n in range(draw.randint(1, 3)))
    queues = tuple(
        Queue(name, priority=priority, backfill=_either(draw, backfill), exclusive=True)
        for name, priority in (("low", 10), ("high", 20))[: draw.randint(1, 2)]
    )
    running = _running(draw, hosts, queues)
    array = [f"500[{n}]" for n in range(1, draw.randint(2, 4))] if draw.random() < 0.4 else []
    names = [*array, *(str(100 + n) for n in range(draw.randint(3, 6)))]
    behind = names[:]
    draw.shuffle(behind)  # a job waits for those before it in this order: no circles
    total = sum(host.slots for host in hosts)
    jobs = []
    for place, name in enumerate(names):
        others = [*behind[: behind.index(name)], *(item.job.id for item in running)]
        asks = others and not name.startswith("500") and draw.random() < 0.6
        limit = STEP * draw.randint(1, 6) if draw.random() < 0.92 else None
        hurry = estimates and limit is not None and limit > STEP and draw.random() < 0.5
        jobs.append(
            Job(
                name,
                draw.randint(1, total),
                user=draw.choice("uuv"),
                queue=draw.choice(queues).name,
                submit=place - 900,
                run_limit=limit,
                estimated_run_time=STEP * draw.randint(1, (limit or 0) // STEP) if hurry else None,
                dependency=_condition(draw, others, words) if asks else "",
                begin=STEP * draw.randint(1, 5) if begins and draw.random() < 0.2 else None,
                name=("a" if name.startswith("500") else draw.choice("xy")),
            )
        )
    return Instance(
        Cluster(hosts),
        queues=queues,
        params=Params(time_reserve_numjobs=12),
        running=tuple(running),
        pending=tuple(jobs),
    )


def _either(draw: random.Random, value: bool | None) -> bool:
    return draw.random() < 0.5 if value is None else value


def _running(
    draw: random.Random, hosts: tuple[Host, ...], queues: tuple[Queue, ...]
) -> list[RunningJob]:
    found = []
    elements = draw.random() < 0.3
    for number, host in enumerate(hosts):
        if draw.random() < 0.6:
            limit = STEP * draw.randint(2, 6) if draw.random() < 0.95 else None
            name = f"90[{number + 1}]" if elements else str(90 + number)
            job = Job(
                name, draw.randint(1, host.slots), user=draw.choice("uv"), queue=queues[0].name,
                submit=-2000, run_limit=limit, name="r",
            )  # fmt: skip
            found.append(RunningJob(job, -STEP * draw.randint(0, 1), {host.name: job.slots}))
    return found


def _condition(draw: random.Random, others: list[str], words: Sequence[str], deep: int = 2) -> str:
    chance = draw.random()
    if deep and chance < 0.3:
        parts = [_condition(draw, others, words, deep - 1) for _ in range(2)]
        return f"({draw.choice((' && ', ' || ')).join(parts)})"
    name = draw.choice(others)
    if "[" in name and chance < 0.7:
        array = name.partition("[")[0]
        if sum(other.startswith(f"{array}[") for other in others) >= 1 and array == "500":
            word = draw.choice(("numdone", "numended", "numpend", "numdone", "numended"))
            count = "== 0" if word == "numpend" else f">= {draw.randint(1, 2)}"
            return f"{word}({array}, {count})"
        return f"done({array})"
    return f"{draw.choice(words)}({name})"
