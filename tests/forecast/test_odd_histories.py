"""Histories that are odd: a sensible answer, or a message that says what is wrong."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import slotwise as sw
from sampling import some

SLOTS, NOW = 8, 90_000


def _line(number, submit, *, wait=0, run=600, procs=2, limit=3_600, user=1):
    return f"{number} {submit} {wait} {run} {procs} -1 -1 {procs} {limit} -1 1 {user}" + " -1" * 6


def _lines(count=120, **columns):
    """Jobs 450 s apart; of each column what it is called with the place for."""
    jobs = range(1, count + 1)
    return [_line(n, 450 * n, **{key: value(n) for key, value in columns.items()}) for n in jobs]


def _shuffled():
    lines = _lines(run=lambda n: 1 + 29 * n)
    random.Random(1).shuffle(lines)
    return lines


ANSWERED = {
    "one job": _lines(1),
    "three jobs": _lines(3),
    "nobody has a name": _lines(user=lambda n: -1),
    "no limits": _lines(limit=lambda n: -1),
    "limits of some": _lines(limit=lambda n: 3_600 if n % 2 else -1),
    "all at their limits": _lines(run=lambda n: 3_600),
    "all of one ratio": _lines(run=lambda n: 1_800),
    "run longer than their limits": _lines(run=lambda n: 9_000),
    "limits of a second": _lines(limit=lambda n: 1, run=lambda n: 1),
    "negative waits": _lines(wait=lambda n: -n),
    "most did not run": _lines(run=lambda n: 600 if n % 10 == 0 else -(n % 2)),
    "of a cluster ten times as large": _lines(procs=lambda n: 80),
    "not in the order of submission": _shuffled(),
    "all at one second": [_line(n, 100) for n in range(1, 120)],
}
REFUSED = {
    "nothing": ([], "no job of this log has ended"),
    "nobody ran": (_lines(run=lambda n: 0), "no job of this log has ended"),
    "all twice": (_lines(3) + _lines(3), "job number 1 is already used"),
}


def _instance():
    """A full pool, behind which two jobs wait."""
    running = sw.RunningJob(
        sw.Job("900", SLOTS, user="user1", run_limit=3_600, submit=NOW - 700),
        NOW - 500,
        {"pool": SLOTS},
    )
    waiting = [
        sw.Job(name, 2, user=user, run_limit=limit, submit=NOW - 60)
        for name, user, limit in (("901", "user1", 3_600), ("902", "user7", 900))
    ]
    pool = sw.Cluster((sw.Host("pool", SLOTS),))
    return sw.Instance(pool, running=(running,), pending=tuple(waiting), now=NOW)


def _log(folder: Path, lines: list[str]) -> Path:
    path = folder / "log.swf"
    path.write_text("\n".join(["; MaxProcs: 80", *lines, ""]))
    return path


@pytest.mark.parametrize("odd", some(ANSWERED, 10))
def test_an_odd_history_gives_a_sensible_answer(tmp_path, odd):
    found = sw.forecast(_instance(), _log(tmp_path, ANSWERED[odd]), samples=20, calibrate=20)
    early, late = found.bounds
    assert (found.likely > NOW).all()
    assert np.isfinite(found.likely).all()
    assert (early <= found.likely).all()
    assert (found.likely <= late).all()
    # Whoever comes later, the running job and the two leave room as plans say, or sooner.
    assert (found.likely <= found.by_limits).all()


@pytest.mark.parametrize("odd", REFUSED)
def test_a_history_that_says_nothing_is_refused(tmp_path, odd):
    lines, wrong = REFUSED[odd]
    with pytest.raises(sw.InputError, match=wrong):
        sw.forecast(_instance(), _log(tmp_path, lines), samples=5)
