"""What a listing names or counts and no input describes: told, for the jobs that it may touch."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from slotwise import Instance
from slotwise.cli.import_snapshot import Printed, make_instance
from slotwise.model.sources.lsf_state.values import Text

NOW = datetime(2026, 3, 16, 10, tzinfo=UTC)
JOB = (
    "Job <{id}>, User <{user}>, Project <p>, {app}Status <PEND>, Queue <q>, Command <x>\n"
    "Mon Mar 16 09:20:00 2026: Submitted from host <login>, CWD <$HOME>, 2 Task(s);\n{more}\n"
    " RUNLIMIT\n 30.0 min\n"
)
QUEUE = (
    "QUEUE: q\n\nPRIO NICE STATUS MAX JL/U JL/P JL/H NJOBS PEND RUN SSUSP USUSP RSV\n"
    "30 0 {status} - - - - 4 4 0 0 0 0\n\nSCHEDULING PARAMETERS\n"
    "           r15s   r1m  r15m   ut      pg    io   ls    it    tmp    swp    mem\n"
    " loadSched   -  {r1m}   -     -       -     -    -     -     -      -      -\n"
    " loadStop    -     -     -     -       -     -    -     -     -      -      -\n"
    "USERS: all\nHOSTS: all\n{more}\n"
)
HOSTS = "HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\nn1 ok - 8 {0} 0 0 0 {0}\n"
BUSERS = "USER/GROUP JL/P MAX NJOBS PEND RUN SSUSP USUSP RSV\n{}\n"


def _made(
    app: str = "",
    reserved: str = "",
    rsv: int = 0,
    facts: str = "",
    status: str = "Open:Active",
    r1m: str = "-",
    more: str = "",
) -> Instance:
    """An instance of two jobs of users a and b."""
    jobs = JOB.format(id=1, user="a", app=app, more=reserved)
    jobs += JOB.format(id=2, user="b", app="", more="")
    queue = QUEUE.format(status=status, r1m=r1m, more=more)
    given = [Text(facts, "f")] if facts else []
    printed = Printed([Text(jobs, "j")], [Text(HOSTS.format(rsv), "h")], [Text(queue, "q")])
    printed = Printed(printed.bjobs, printed.bhosts, printed.bqueues, facts=given)
    return make_instance(printed, NOW, NOW, None)


HELD = "Mon Mar 16 09:30:00 2026: Reserved <2> job slots on host(s) <2*n1>;\n"
SHUT = "RUN_WINDOW:  (20:00-23:00)"


@pytest.mark.behaviour("CFG-04")
@pytest.mark.parametrize(
    ("given", "says", "scope"),
    [
        (
            {"app": "Application <p1>, "},
            "no input describes application profile p1",
            {"jobs": ("1",)},
        ),
        ({"rsv": 2}, "bhosts counts 2 slots reserved on n1; here no queue", {"hosts": ("n1",)}),
        ({"rsv": 2, "reserved": HELD}, "bhosts counts 2 slots reserved", {"hosts": ("n1",)}),
        ({"reserved": HELD}, "slots are reserved for job 1; here no queue", {}),
        (
            {"r1m": "0.7"},
            "no input says how much r1m hosts have: the thresholds",
            {"queues": ("q",)},
        ),
        (
            {"more": SHUT},
            "queue q is Open:Active; here its RUN_WINDOW is closed",
            {"queues": ("q",)},
        ),
        ({"more": SHUT.replace("RUN", "DISPATCH")}, "here its DISPATCH_WINDOW", {"queues": ("q",)}),
        ({"facts": BUSERS.format("lab - 10 4 4 0 0 0 0")}, "busers has a limit of lab", {}),
        ({"facts": BUSERS.format("lab/ - 10 0 0 0 0 0 0")}, "busers has a limit of lab", {}),
        ({"facts": BUSERS.format("lab 0.5 - - - - - - -")}, "busers has a limit of lab", {}),
    ],
)
def test_it_is_told(given: dict[str, str], says: str, scope: dict[str, tuple[str, ...]]) -> None:
    (told,) = (item for item in _made(**given).omissions if says in item.what)  # type: ignore[arg-type]
    found = {name: getattr(told, name) for name in ("jobs", "queues", "users", "hosts")}
    assert found == {"jobs": None, "queues": (), "users": (), "hosts": ()} | scope


@pytest.mark.behaviour("CFG-04")
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"app": "Application <->, "},
        {"rsv": 2, "more": "Maximum slot reservation time: 600 seconds"},
        {"reserved": HELD, "more": "Maximum resource reservation time: 600 seconds"},
        {"status": "Open:Inact_Win", "more": SHUT},
        {"more": SHUT.replace("20:00", "9:00")},
        {"facts": BUSERS.format("a - 10 2 2 0 0 0 0\ndefault - 5 - - - - - -")},
        {"facts": BUSERS.format("lab - 10 0 0 0 0 0 0")},
        {"facts": BUSERS.format("lab/ - - 4 4 0 0 0 0")},
    ],
)
def test_nothing_else_is(given: dict[str, str]) -> None:
    assert [item.what for item in _made(**given).omissions if item.jobs != ()] == []  # type: ignore[arg-type]
