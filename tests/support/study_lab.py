"""Workloads for studies: weeks of jobs on a small cluster with two queues."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import slotwise as sw

WEEK = 7 * 86400


def weeks_of_jobs(weeks: int = 6, each: int = 40, seed: int = 1) -> sw.Instance:
    """Small jobs in `short`, and in `wide` jobs over several hosts that wait for room."""
    rng = np.random.default_rng(seed)
    jobs = []
    for week in range(weeks):
        for number in range(each):
            wide = number % 5 == 0
            run = int(rng.integers(1, 9)) * 3600
            jobs.append(
                sw.Job(
                    f"{week}-{number}",
                    int(rng.integers(9, 16)) if wide else int(rng.integers(1, 5)),
                    user=f"u{rng.integers(3)}",
                    queue="wide" if wide else "short",
                    run_limit=run * 2,
                    run_time=run,
                    submit=week * WEEK + int(rng.integers(0, 86400)),
                )
            )
    jobs.sort(key=lambda job: job.submit)
    return sw.instance(
        tuple(sw.Host(f"h{n}", 4) for n in range(4)),
        queues=(
            sw.Queue("wide", 30, slot_reserve=100_000),
            sw.Queue("short", 20, backfill=True),
        ),
        future=jobs,
        params=sw.Params(default_queue="short", mbd_sleep_time=600),
        name="weeks",
    )


def site_file(folder: Path, **how: int) -> Path:
    """The same as a file."""
    file = folder / "site.yaml"
    file.write_text(sw.dump(weeks_of_jobs(**how)), encoding="utf-8")
    return file
