"""Inputs below a megabyte that stand for much more: `check` takes little memory and time for each.

The same text, resolved again for each use, made gigabytes of a hundred thousand hosts.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sampling import some

MEGABYTES = 300
#: The command, started by a small process: the peak of a child counts what started it.
ALONE = """
import json, os, subprocess, sys
run = subprocess.Popen([sys.executable, "-m", "slotwise", "check", sys.argv[1]], stderr=1)
_, status, usage = os.wait4(run.pid, 0)
run.returncode = os.waitstatus_to_exitcode(status)
print(json.dumps([run.returncode, usage.ru_maxrss, usage.ru_utime + usage.ru_stime]))
"""
SECONDS = 8
HOSTS = 99_999


def document(hosts: int = HOSTS, **parts: Any) -> str:
    named = {"format": "slotwise/1", "hosts": [{"name": f"n[1-{hosts}]", "slots": 1}]}
    return json.dumps({**named, **parts}, separators=(",", ":"))


def alike(**entry: Any) -> str:
    """Many hosts of one entry."""
    host = {"name": f"n[1-{HOSTS}]", "slots": 1, **entry}
    return json.dumps({"format": "slotwise/1", "hosts": [host]}, separators=(",", ":"))


def named(count: int, **entry: str) -> list[dict[str, str]]:
    """Entries of which each has its number where the text says #."""
    return [
        {"name": f"x{n}", **{key: text.replace("#", str(n + 1)) for key, text in entry.items()}}
        for n in range(count)
    ]


def groups(count: int, members: str) -> dict[str, str]:
    return {f"x{n}": members.replace("#", str(n + 1)) for n in range(count)}


def user_chain(count: int, **more: str) -> list[dict[str, str]]:
    return [
        {
            "name": f"g{n}",
            "members": f"g{n - 1} u{n}" if n else "u0",
            **{key: text.replace("#", str(n - 1)) for key, text in more.items() if n},
        }
        for n in range(count)
    ]


def two_factors(host_list: str) -> str:
    hosts = [
        {"name": f"n[1-{HOSTS}]", "slots": 1},
        {"name": "m", "slots": 1, "cpu_factor": 2},
    ]
    queues = named(15_000, HOSTS=host_list, RUNLIMIT="60/n1")
    return json.dumps(
        {"format": "slotwise/1", "hosts": hosts, "queues": queues}, separators=(",", ":")
    )


UNITS = {"COMPUTE_UNIT_TYPES": "enclosure rack"}
MANY_USERS = [{"name": "g", "members": [f"u{n}" for n in range(20_000)]}]
CASES: dict[str, Callable[[], str]] = {
    "groups of all hosts": lambda: document(host_groups=groups(50_000, "all")),
    "many amounts of many hosts": lambda: alike(amounts={f"r{n}": 1 for n in range(50_000)}),
    "queues of all hosts but one": lambda: document(queues=named(20_000, HOSTS="all ~n1")),
    "patterns": lambda: document(host_groups=groups(40_000, "n#*")),
    "ends of names": lambda: document(host_groups=groups(40_000, "*#")),
    "groups of groups": lambda: document(host_groups={"x0": "all", **groups(40_000, "x0")}),
    "groups that differ": lambda: document(host_groups=groups(35_000, "all ~n#")),
    "one word again and again": lambda: document(host_groups={"x": "all " * 200_000}),
    "unknown hosts": lambda: document(host_groups={"x": [f"y{n}" for n in range(90_000)]}),
    "strings": lambda: alike(strings={f"r{n}": "a" for n in range(50_000)}),
    "booleans": lambda: alike(RESOURCES=[f"r{n}" for n in range(50_000)]),
    "GPUs": lambda: alike(gpus={"count": 9999, "mem": 1000}, load={"r1m": 1}),
    "queues that differ": lambda: document(queues=named(20_000, HOSTS="all ~n#")),
    "unknown hosts of queues": lambda: document(queues=named(20_000, HOSTS="y#")),
    "run limits on a host": lambda: two_factors("all ~n1"),
    "run limits on a host, lists that differ": lambda: two_factors("all ~n#"),
    "limits": lambda: document(limits=named(15_000, SLOTS="1", PER_HOST="n#")),
    "units": lambda: document(
        params=UNITS, compute_units=named(15_000, type="enclosure", members="all")
    ),
    "units of units": lambda: document(
        params={"COMPUTE_UNIT_TYPES": " ".join(f"t{n}" for n in range(7_000))},
        compute_units=[
            {"name": f"x{n}", "type": f"t{n}", "members": f"x{n - 1}" if n else "all"}
            for n in range(7_000)
        ],
    ),
    "shared resources": lambda: document(
        shared_resources=named(18_000, amount="5@[all]", static="true")
    ),
    "shared by others": lambda: document(shared_resources=named(14_000, amount="5@[others n#]")),
    "partitions": lambda: document(
        host_partitions=named(14_000, HOSTS="all ~n#", USER_SHARES="[a,1]")
    ),
    "pools": lambda: document(
        queues=[{"name": f"q{n}", "SLOT_POOL": f"p{n}", "SLOT_SHARE": 10} for n in range(9_000)],
        pending=[{"id": n, "queue": f"q{n}"} for n in range(3_000)],
    ),
    "unknown submission hosts": lambda: document(
        pending=[{"id": n, "from_host": f"y{n}"} for n in range(20_000)]
    ),
    "long names": lambda: document(
        1, user_groups=[{"name": "g", "members": "u" * 5_000 + "[1-200000]"}]
    ),
    "chain of user groups": lambda: document(
        1,
        user_groups=user_chain(15_000),
        queues=[{"name": "q", "FAIRSHARE": "USER_SHARES[[g14999,1]]"}],
    ),
    "share trees in each other twice": lambda: document(
        1,
        user_groups=user_chain(99, USER_SHARES="[g#,1] [default,1]"),
        queues=named(9_000, FAIRSHARE="USER_SHARES[[g98,1]]"),
        pending=[{"id": n, "queue": f"x{n}", "user": "u3"} for n in range(2_000)],
    ),
    "shares of many users": lambda: document(
        1,
        user_groups=MANY_USERS,
        queues=[{"name": "q", "FAIRSHARE": "USER_SHARES[[g@,1]]"}],
        pending=[{"id": n, "user": f"u{n}", "queue": "q"} for n in range(12_000)],
    ),
    "users of queues": lambda: document(
        1,
        queues=[{"name": "q", "USERS": [f"u{n}" for n in range(30_000)]}],
        pending=[{"id": n, "user": f"u{n}"} for n in range(20_000)],
    ),
    "queues of sets": lambda: document(
        1, queues=named(9_000, FAIRSHARE="USER_SHARES[[default,1]]", FAIRSHARE_QUEUES="x0 x1")
    ),
    "empty jobs": lambda: document(1, pending=[{}] * 300_000),
    "numbers for jobs": lambda: document(1, pending=[1] * 480_000),
}


@pytest.mark.parametrize("case", some(CASES, 1))
def test_check_of_less_than_a_megabyte(case: str, tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    path.write_text(CASES[case]())
    assert path.stat().st_size < 10**6
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(path)], capture_output=True, text=True, timeout=120
    )
    code, peak, seconds = json.loads(done.stdout.splitlines()[-1])
    assert code in (0, 2), done.stdout[-500:]
    assert "small.json" in done.stdout
    assert peak < MEGABYTES * 1024
    assert seconds < SECONDS
