"""Parts of the multifactor priority: every row that `sprio -l` printed for the recorded cluster."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import slotwise as sw
from slotwise.model.slurm_priority import PriorityRequest, SizeAndPartition
from slotwise.model.sources.slurm.priorities import size_and_partition
from submitted import submission

from tests.slurm.test_import import instance_of, texts_of

pytestmark = pytest.mark.behaviour("SLU-02")
#: Job, partition, PRIORITY, JOBSIZE, PARTITION and NICE of `sprio -l`, Slurm 22.05.8; all other
#: parts were 0.
SPRIO = (
    ("5", "main", 1078, 78, 1000, 0),
    ("6", "main", 1093, 94, 1000, 0),
    ("7", "main", 1070, 70, 1000, 0),
    ("9", "main", 1218, 219, 1000, 0),
    ("10", "main", 1093, 94, 1000, 0),
    ("11", "main", 1093, 94, 1000, 0),
    ("12", "main", 1281, 281, 1000, 0),
    ("13", "main", 1250, 250, 1000, 0),
    ("14", "main", 1125, 125, 1000, 0),
    ("15", "main", 1070, 70, 1000, 0),
    ("17", "main", 1070, 70, 1000, 0),
    ("18", "main", 1070, 70, 1000, 0),
    ("19", "share", 225, 125, 100, 0),
    ("20", "main", 1093, 94, 1000, 0),
    ("21", "main", 1093, 94, 1000, 0),
    ("22", "main", 1093, 94, 1000, 0),
    ("23", "main", 1250, 250, 1000, 0),
    ("24", "main", 1125, 125, 1000, 0),
    ("25", "main", 1125, 125, 1000, 0),
    ("26", "main", 1125, 125, 1000, 0),
    ("31", "main", 1125, 125, 1000, 0),
    ("33", "main", 925, 125, 1000, 200),
    ("34", "hi", 2125, 125, 2000, 0),
    ("34", "main", 1125, 125, 1000, 0),
    ("35", "main", 1125, 125, 1000, 0),
    ("36", "main", 1101, 102, 1000, 0),
    ("37", "main", 1500, 500, 1000, 0),
)
#: Four nodes of eight CPUs; weights and factors of the recorded cluster.
PARTS = SizeAndPartition(500, 2000, {"main": 10, "hi": 20, "share": 1}, 4, 32)


def requested() -> dict[str, tuple[int, int]]:
    """Nodes and CPUs that each job requested, as squeue printed them."""
    jobs = json.loads(texts_of("probes")["squeue.json"])["jobs"]
    found = {}
    for job in jobs:
        tres = dict(part.split("=") for part in job["tres_req_str"].split(","))
        found[str(job.get("array_job_id") or job["job_id"])] = (int(tres["node"]), int(tres["cpu"]))
    return found


def test_every_row_of_sprio_is_computed_exactly() -> None:
    sizes = requested()
    for job, partition, priority, size_part, partition_part, nice in SPRIO:
        nodes, cpus = sizes[job]
        assert round(PARTS.size_part(nodes, cpus) + 1e-9) == size_part, job
        assert round(PARTS.partition_part(partition)) == partition_part, job
        request = PriorityRequest(nodes, cpus, partition, nice=nice)
        assert PARTS.priority_of(request) == priority, job


def test_small_jobs_may_be_favoured() -> None:
    parts = SizeAndPartition(500, 0, {}, 4, 32, favours_small=True)
    assert parts.priority_of(PriorityRequest(4, 32, "main")) == 1
    assert parts.priority_of(PriorityRequest(1, 2, "main")) == 421  # 500 × (3/4 + 30/32) / 2


@pytest.mark.parametrize(
    "line",
    ["PriorityWeightQOS = 10", "PriorityWeightAssoc = 1", "PriorityWeightTRES = GRES/gpu=10",
     "PrioritySiteFactorPlugin = site/own", "PriorityType = priority/basic",
     "AccountingStorageType = accounting_storage/slurmdbd"],
)  # fmt: skip
def test_another_part_leaves_the_priority_unknown(line: str) -> None:
    texts = texts_of("probes")
    name = line.partition(" ")[0]
    kept = [row for row in texts["config.txt"].splitlines() if not row.startswith(f"{name} ")]
    problem = instance_of({**texts, "config.txt": "\n".join([*kept, line]) + "\n"})
    assert size_and_partition(problem) is None
    found = submission(problem, "sbatch -n1 --mem=50 -t10")
    assert "lowest priority" in found.assumed[0]
    assert sw.loads(sw.dump(problem)).params == problem.params


def test_size_relative_to_time_weights_and_plain_factors() -> None:
    """Row 8 of a live `sprio -l` with SMALL_RELATIVE_TO_TIME and PriorityFavorSmall: 446.

    Three of four nodes, 24 of 32 CPUs, seven minutes; job 6 of the same: two nodes, 20 minutes.
    """
    flags = frozenset({"SMALL_RELATIVE_TO_TIME"})
    small = SizeAndPartition(500, 0, {}, 4, 32, favours_small=True, flags=flags)
    assert round(small.size_part(3, 24, 7)) == 446
    assert round(small.size_part(2, 16, 20)) == 488
    assert SizeAndPartition(500, 0, {}, 4, 32, flags=flags).size_part(4, 32, 1) == 500
    plain = SizeAndPartition(
        0, 3, {"main": 10, "hi": 20}, 4, 32, qos_weight=2, qos={"a": 5, "b": 10},
        tres_weights={"cpu": 2.0}, totals={"main": {"cpu": 8.0}},
        flags=frozenset({"NO_NORMAL_PART", "NO_NORMAL_QOS", "NO_NORMAL_TRES"}),
    )  # fmt: skip
    request = PriorityRequest(1, 4, "main", qos="a")
    assert plain.parts(request) == {"JOBSIZE": 0, "PARTITION": 30, "QOS": 10, "TRES": 8}
    normal = replace(plain, flags=frozenset())
    assert [float(part) for part in normal.parts(request).values()] == [0, 1.5, 1, 1]
