"""``show squeue`` and ``show sinfo`` on a Slurm cluster, against what Slurm itself printed."""

from __future__ import annotations

from pathlib import Path

import pytest
import slotwise as sw
from slotwise.cli.main import app
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("SLU-01")

#: Printed by Slurm 22.05.8 on the cluster of the example slurm-live. Job 521 requests two nodes by
#: name, 523 and 524 had reasons of the moment; 522 is held and no part of the instance.
SQUEUE = """
               512      main     wrap     root PD       0:00      3 (Resources)
               513      main     wrap     root PD       0:00      4 (Priority)
               515      main     wrap     root PD       0:00      2 (Priority)
               516      main     excl     root PD       0:00      2 (Priority)
             517_3      main      arr     root PD       0:00      1 (JobArrayTaskLimit)
               518      main     dep1     root PD       0:00      1 (Priority)
               519      main     dep2     root PD       0:00      1 (Dependency)
               520      main    later     root PD       0:00      1 (BeginTime)
               524      main     nice     root PD       0:00      1 (Priority)
               505      main     wrap     root  R       0:13      1 n2
               506      main     wrap     root  R       0:13      1 n3
               507      main     wrap     root  R       0:13      1 n4
               508      main     wrap     root  R       0:13      1 n4
               509      main     wrap     root  R       0:13      1 n5
               510      main     wrap     root  R       0:13      1 n6
               511      main     wrap     root  R       0:13      1 n6
               514      main     wrap     root  R       0:13      1 n1
             517_1      main      arr     root  R       0:06      1 n5
             517_2      main      arr     root  R       0:06      1 n2
"""
SINFO = """PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
main*        up 2-00:00:00      1    mix n2
main*        up 2-00:00:00      5  alloc n[1,3-6]
"""


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.strip().splitlines()]


def shown(*words: object) -> str:
    result = CliRunner().invoke(app, ["show", *map(str, words)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_tables_are_those_of_slurm() -> None:
    head, *rows = cells(shown("squeue", "--example", "slurm-live"))
    assert head == ["JOBID", "PARTITION", "NAME", "USER", "ST", "TIME", "NODES", "NODELIST(REASON)"]
    assert [row for row in rows if row[0] not in ("521", "523")] == cells(SQUEUE)
    assert cells(shown("sinfo", "--example", "slurm-live")) == cells(SINFO)


#: Two partitions of which one is closed; nodes in every state; an array with a limit.
CLUSTER = """
format: slotwise/1
origin: '2026-11-26T23:01:49+00:00'
now: 100
params: {family: Slurm, select_parameters: 'unit=1', DEFAULT_QUEUE: main}
hosts:
- {name: 'n[1-4]', slots: 4, ncpus: 4}
- {name: 'n[5-6]', slots: 4, ncpus: 4, status: closed_Adm}
- {name: n7, slots: 4, ncpus: 4, status: unavail}
queues:
- {name: main, RUNLIMIT: 1h 2h}
- {name: off, HOSTS: n1 n2, active: N}
running:
- {id: 1, slots: 2, user: ann, queue: main, run_limit: 60m, start: -90000, allocation: 2*n1}
- {id: 2, slots: 1, user: ann, queue: main, run_limit: 60m, start: 40, allocation: 1*n2,
   exclusive: Y}
- {id: 3, slots: 4, user: ann, queue: main, run_limit: 60m, start: 0, allocation: 4*n3}
- {id: 4, slots: 1, user: ann, queue: main, run_limit: 60m, start: 0, allocation: 1*n5}
pending:
- {id: 9, slots: 12, user: bob, queue: main, run_limit: 10m, res_req: 'span[ptile=4]', priority: 9}
- {id: 7, array: 1-3%2, slots: 12, user: bob, queue: main, run_limit: 10m, priority: 5}
- {id: 8, slots: 1, user: bob, queue: off, run_limit: 10m, priority: 7}
"""


def test_states_of_nodes_and_jobs(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(CLUSTER)
    assert cells(shown("sinfo", path, "--no-cycle"))[1:] == [
        ["main*", "up", "2:00:00", "1", "drain", "n6"],
        ["main*", "up", "2:00:00", "1", "drng", "n5"],
        ["main*", "up", "2:00:00", "1", "mix", "n1"],
        ["main*", "up", "2:00:00", "2", "alloc", "n[2-3]"],
        ["main*", "up", "2:00:00", "1", "idle", "n4"],
        ["main*", "up", "2:00:00", "1", "down", "n7"],
        ["off", "inact", "infinite", "1", "mix", "n1"],
        ["off", "inact", "infinite", "1", "alloc", "n2"],
    ]
    assert cells(shown("sinfo", path, "n6", "n7", "--no-cycle"))[1:] == [
        ["main*", "up", "2:00:00", "1", "drain", "n6"],
        ["main*", "up", "2:00:00", "1", "down", "n7"],
    ]
    rows = {row[0]: row[1:] for row in cells(shown("squeue", path))}
    assert rows["9"][4:] == ["0:00", "3", "(Resources)"]
    assert rows["7_[1-3%2]"][-1] == "(Priority)"
    assert rows["8"][-1] == "(PartitionInactive)"
    assert rows["1"][3:] == ["R", "1-01:01:40", "1", "n1"]
    assert cells(shown("squeue", path, "-u", "ann", "--no-cycle"))[1][0] == "1"


def test_sinfo_of_another_scheduler_is_bhosts() -> None:
    assert shown("sinfo", "--example", "site") == shown("bhosts", "--example", "site")
    assert not sw.load(sw.example("site")).params.scheduler.is_multifactor
