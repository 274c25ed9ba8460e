"""The modes of fairshare in the scheduler loop itself."""

import pytest
from slotwise.model.cluster import Cluster, Host
from slotwise.model.instance import Instance
from slotwise.model.job import Job, RunningJob
from slotwise.model.queue import Queue
from slotwise.model.user import HostPartition
from slotwise.solver.loop.simulation import simulate

HOUR = 3600


@pytest.mark.behaviour("FSH-08", "TBR-12")
@pytest.mark.parametrize("method", ["greedy", "time-based"])
def test_a_job_that_starts_elsewhere_gives_up_what_it_held_in_a_partition(method):
    """It waits for both slots of h1, holds the free one, and starts on h2, in no partition."""
    busy = RunningJob(Job("r", user="bob", run_limit=HOUR), 0, {"h1": 1})
    wide = Job("wide", 2, user="ann", run_limit=600, run_time=600)
    instance = Instance(
        Cluster((Host("h1", 2), Host("h2", 2))),
        (Queue("default", slot_reserve=9),),
        partitions=(HostPartition("P", ("h1",), (("default", 1),)),),
        running=(busy,),
        pending=(wide,),
    )
    result = simulate(instance, reservation=method, keep_log=True)
    assert (result["wide"].hosts, result["wide"].start) == ({"h2": 2}, 0)
    assert result.log[0]["reservations"] == []
    assert result["wide"].estimate is None
