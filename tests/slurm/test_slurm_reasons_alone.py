"""Method slurm names what a single pending job waits for, and no other jobs."""

from __future__ import annotations

from pathlib import Path

import pytest
import slotwise as sw
from forked import slotwise

PARAMS = sw.Params(family="Slurm")
JOB = sw.Job("7", 2, run_limit=3600)


def test_a_reservation_says_itself() -> None:
    """It said that the nodes are planned for other jobs, of which there are none."""
    hosts = [sw.Host("n1", 4), sw.Host("n2", 4)]
    maintenance = sw.AdvanceReservation("maint", 1800, 7200, {"n1": 4, "n2": 4})
    instance = sw.instance(hosts, pending=[JOB], advance_reservations=[maintenance], params=PARAMS)
    (planned,) = sw.plan(instance, "slurm").reservations
    assert planned.start is not None
    assert planned.start >= 7200
    assert planned.waits_for == "advance reservation maint has nodes until then"


def test_a_licence_in_use_says_what_is_needed() -> None:
    """It said `Slurm skips it: matlab available`."""
    cluster = sw.Cluster((sw.Host("n1", 8),), shared=(sw.SharedResource("matlab", 1),))
    asked = ("rusage[matlab=1]",)
    holder = sw.RunningJob(sw.Job("6", 1, run_limit=3600, res_req=asked), 0, {"n1": 1})
    waiting = sw.Job("7", 1, run_limit=3600, res_req=asked)
    instance = sw.instance(cluster, running=[holder], pending=[waiting], params=PARAMS)
    (planned,) = sw.plan(instance, "slurm").reservations
    assert planned.waits_for == "Slurm skips it: needs 1 matlab available (has 0)"


def test_what_only_lsf_has_is_named() -> None:
    """Two compute units for maxcus=1, which the validator rejected as a defect."""
    hosts = tuple(sw.Host(name, 4) for name in ("a", "b"))
    units = tuple(sw.ComputeUnit(f"r{host.name}", "rack", (host.name,)) for host in hosts)
    cluster = sw.Cluster(hosts, units=units, unit_types=("rack",), default_unit_type="rack")
    wanted = sw.Job("7", 8, run_limit=3600, res_req=("cu[type=rack:maxcus=1]",))
    for instance in (
        sw.instance(cluster, pending=[wanted]),
        sw.instance(cluster, pending=[sw.Job("8", 2, run_limit=60, res_req=("same[model]",))]),
    ):
        (planned,) = sw.plan(instance, "slurm").reservations
        assert planned.start is None
        assert planned.waits_for == "not modelled: cu[] and same[], compound requirements"


@pytest.mark.parametrize("command", [("solve",), ("explain", "7")])
def test_a_partition_that_is_down_names_slurms_command(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    """It was `badmin qact down`."""
    queues = [sw.Queue("down", active=False)]
    waiting = sw.Job("7", 2, queue="down", run_limit=60)
    instance = sw.instance([sw.Host("n1", 4)], queues=queues, pending=[waiting], params=PARAMS)
    file = tmp_path / "s.yaml"
    file.write_text(sw.dump(instance))
    done = slotwise(command[0], str(file), *command[1:])
    text = " ".join(done.stdout.split())
    assert "scontrol update PartitionName=down State=UP" in text
    assert "badmin" not in text
