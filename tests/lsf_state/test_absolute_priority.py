"""Absolute priorities as commands print them (APS-01)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from printed_listings import snapshot
from slotwise import Instance, dump, loads
from slotwise.model.absolute_priority import StatedPriority
from slotwise.solver.fairshare.priority_order import priority_order
from slotwise.solver.planning import plan

pytestmark = pytest.mark.behaviour("APS-01")

NOW = datetime(2026, 11, 27, 0, 34, tzinfo=UTC)
BLOCK = """APS_PRIORITY:
                WEIGHT FACTORS     LIMIT FACTORS      GRACE PERIOD
FAIRSHARE                     -                -                 -
RESOURCE                      -                -                 -
 MEMORY                       -                -                3h
WORK                       1.00           900.00                 -
 JOB PRIORITY              1.00                -                 -
 QUEUE PRIORITY           10.00                -                 -
"""


def queue(name: str, priority: int, policies: str) -> str:
    return f"""QUEUE: {name}
  -- No description provided.

PARAMETERS/STATISTICS
PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV
 {priority}    0  Open:Active       -    -    -    -     0     0     0     0     0    0

{policies}
USERS: all
HOSTS:  all
"""


QUEUES = (
    queue("normal", 30, f"SCHEDULING POLICIES:  APS_PRIORITY\n{BLOCK}QUEUE_GROUP:  normal short\n")
    + "-" * 78
    + "\n"
    + queue("short", 20, "SCHEDULING POLICIES:  APS_PRIORITY\nQUEUE_GROUP:  normal short\n")
)
HOSTS = """HOST_NAME          STATUS       JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV
hostA              ok              -      1      0      0      0      0      0
"""


def jobs(*more: str) -> str:
    """Three jobs; more: what else the first line says of each."""
    text = ""
    for number, queue, rest in zip("123", ("short", "normal", "short"), more, strict=True):
        who = f"Job <{number}>, User <ann>, Project <default>, Status <PEND>, Queue <{queue}>"
        text += f"\n{who}, Job Priority <50>{rest}, Command <x>\n"
        text += "Fri Nov 27 00:30:00: Submitted from host <hostA>, CWD </>;\n"
    return text


APS = """JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME    APS
3       ann     PEND  short      hostA       -           x          Nov 27 00:30   (10)
2       ann     PEND  normal     hostA       -           x          Nov 27 00:30  350.00
1       ann     PEND  short      hostA       -           x          Nov 27 00:30  250.00
"""


def made(bjobs: str, *aps: str, queues: str = QUEUES) -> Instance:
    return snapshot(NOW, bjobs=bjobs, bhosts=HOSTS, bqueues=queues, aps=aps)


def test_bjobs_aps_tells_system_priorities_and_is_compared_with_the_formula(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = made(jobs("", "", ""), APS)
    assert [job.aps for job in found.pending] == [None, None, StatedPriority("system", 10.0)]
    assert not [item for item in found.omissions if "aps" in item.what]
    other = made(jobs("", "", ""), APS.replace("350.00", "340.00"))
    (omission,) = [item for item in other.omissions if "aps" in item.what]
    assert "bjobs -aps shows 340.00 for job 2, by the formula of queue normal" in omission.what
    assert "contradicts itself: bjobs -aps shows 340.00" in capsys.readouterr().err


def test_an_order_whose_formula_nothing_says_is_named_and_proves_nothing() -> None:
    bare = QUEUES.replace(BLOCK, "")
    for found in (made(jobs("", "", ""), queues=bare), made(jobs("", "", ""), APS, queues=bare)):
        assert any("no input gives the formula" in item.what for item in found.omissions)
    plain = queue("normal", 30, "") + "-" * 78 + "\n" + queue("short", 20, "")
    found = made(jobs("", "", ""), APS, queues=plain)
    (omission,) = [item for item in found.omissions if "aps" in item.what]
    assert "bjobs -aps shows absolute priorities in short, normal" in omission.what
    assert "in the printed order" in omission.what
    assert found == loads(dump(found))
    for method in ("greedy", "time-based", "optimal"):
        assert not any(item.proved for item in plan(found, method))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("printed", "order"),
    [
        (("5.00", "7.50", "6.00"), "231"),
        (("(1)", "900.00", "-3.25"), "123"),
        (("-", "1", "2"), "321"),
    ],
)
def test_without_a_formula_jobs_go_in_the_printed_order(
    printed: tuple[str, ...], order: str
) -> None:
    rows = [
        f"{number} ann PEND normal hostA - x Nov 27 00:30 {value}"
        for number, value in enumerate(printed, start=1)
    ]
    found = made(
        jobs("", "", "").replace("<short>", "<normal>"),
        "\n".join([APS.splitlines()[0], *rows]),
        queues=queue("normal", 30, ""),
    )
    assert "".join(job.id for job in priority_order(found)) == order
