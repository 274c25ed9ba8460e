"""Features of nodes: any name is the name of a feature, and of nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import slotwise as sw
from slotwise.cli.main import app
from slotwise.model.resreq import Vocabulary
from submitted import submission
from typer.testing import CliRunner

from tests.slurm.test_import import instance_of
from tests.slurm.test_matching_or import CLUSTER

pytestmark = pytest.mark.behaviour("SLU-01")

#: Built-in resources, words of requirements, and names that the import gives to other resources.
NAMES = sorted(
    Vocabulary().names() | {"ngpus", "ngpus_physical", "ngpus_shared", "select", "cu", "affinity"}
    | {"weight", "defined", "CPU", "1g"}
    | {"intel-2020", "intel_2020", "intel.2020", "f_cpu", "gpu_a100", "lic_m", "gres_nic"}
    | {"any_a_or_b", "of_main_hi", "others", "and", "a__b", "zwölf"}
)  # fmt: skip


def test_a_feature_is_no_other_resource(tmp_path: Path) -> None:
    """Node n2 alone has the features, and a licence and a generic resource have like names."""
    nodes = CLUSTER["nodes.txt"].replace("ActiveFeatures=a,x", f"ActiveFeatures={','.join(NAMES)}")
    jobs = [
        f"JobId={n} UserId=a(1) Priority=9 Partition=main JobState=PENDING TimeLimit=10 "
        f"NumNodes=1-1 NumCPUs=1 NumTasks=1 TRES=cpu=1,node=1 Features={name}\n"
        for n, name in enumerate([*NAMES, "absent", "[mem|absent-1]"], start=1)
    ]
    jobs[-1] = jobs[-1].replace("NumNodes=1-1", "NumNodes=1-2")
    nodes = nodes.replace("State=", "Gres=nic:1 State=")
    texts = {**CLUSTER, "nodes.txt": nodes, "jobs.txt": "".join(jobs)}
    texts["licences.txt"] = "LicenseName=m Total=1 Used=0 Free=1 Reserved=0 Remote=no\n"
    found = instance_of(texts)
    table = {host.name: host.booleans for host in found.cluster.hosts}
    plan = sw.plan(found, "time-based")
    inner = list[str]()
    nowhere = {item.job for item in plan.unplaced}
    assert nowhere == {str(len(NAMES) + 1)}
    for job, name in zip(found.pending, NAMES, strict=False):
        assert set(plan[job.id].allocation) == {"n2"}, name
        new = submission(found, f"sbatch -n1 -C {name}").job
        assert new.res_req[0].split()[0] == job.res_req[0].split()[0], name
        (inside,) = (item for item in table["n2"] if f"select[{item}]" in job.res_req[0])
        inner.append(inside)
    assert len(set(inner)) == len(NAMES)
    assert "hname" in NAMES
    (tmp_path / "s.yaml").write_text(sw.dump(found))
    words = ["ask", str(tmp_path / "s.yaml"), "sbatch -N2 -C intel-2020"]
    assert ": intel-2020 holds on 1 of 4 nodes" in CliRunner().invoke(app, words).stdout
    (part,) = sw.ask(found, words[-1]).requirement
    assert part.startswith("intel-2020 holds on 1 of 4 ")
    assert len(table["n2"]) == len(NAMES)
