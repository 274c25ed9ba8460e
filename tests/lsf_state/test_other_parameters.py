"""Parameters that a listing prints and no reader knows by name: taken over, named, or inert."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from printed_listings import snapshot
from slotwise.model.formats.lsf import site_document

NOW = datetime(2026, 4, 12, tzinfo=UTC)
LONG = """
QUEUE: q
  -- NOTE: a description with a colon

PARAMETERS/STATISTICS
PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV
 30    0  Open:Active       -    -    -    -     0     0     0     0     0    0
Interval for a host to accept two jobs is 0 seconds
SCHEDULING POLICIES:  BACKFILL
USERS: all
HOSTS:  all
{more}
"""


@pytest.mark.behaviour("CFG-04")
def test_parameters_of_instance_files_are_taken_over(tmp_path: Path) -> None:
    """As import lsf reads the same keys of lsb.queues."""
    keys = {"RESRSV_LIMIT": "[mem=30,100]", "MAX_SLOTS_IN_POOL": "4", "GPU_REQ": "num=1"}
    keys |= {"SLA_GUARANTEES_IGNORE": "Y", "USE_PRIORITY_IN_POOL": "Y"}
    more = "\n".join(f"{key}:  {value}" for key, value in keys.items())
    hosts = "HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\nh ok - 4 0 0 0 0 0\n"
    gpus = "HOST_NAME GPU_ID MODEL MUSED MRSV NJOBS RUN SUSP RSV\nh 0 X 0M 0M 0 0 0 0\n"
    found = snapshot(NOW, bhosts=[hosts, gpus], bqueues=LONG.format(more=more))
    assert [item.mark for item in found.omissions] == ["no amounts"]
    (queue,) = found.queues
    (tmp_path / "lsf.conf").write_text("")
    shared = "Begin Cluster\nClusterName\nc\nEnd Cluster\n"
    (tmp_path / "lsf.shared").write_text(shared)
    host = "Begin Host\nHOSTNAME model type server RESOURCES\nh ! ! 1 ()\nEnd Host\n"
    (tmp_path / "lsf.cluster.c").write_text(host)
    lines = "\n".join(f"{key} = {value}" for key, value in keys.items())
    (tmp_path / "lsb.queues").write_text(f"Begin Queue\nQUEUE_NAME = q\n{lines}\nEnd Queue\n")
    (filed,) = site_document(tmp_path, ncpus={"": 4}).instance()[0].queues
    for name in ("resrsv_limit", "max_slots_in_pool", "gpu_req", "ignores_guarantees"):
        assert getattr(queue, name) == getattr(filed, name)
    assert queue.use_priority_in_pool
