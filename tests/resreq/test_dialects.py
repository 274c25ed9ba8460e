"""The languages of LSF 7 and of LSF 10.1: what each takes, and how it says no."""

from __future__ import annotations

import pytest
from slotwise import Cluster, Host, InputError, Instance, Job, Params, Queue
from slotwise.model.resreq import (
    HostTable,
    ResreqError,
    effective_requirement,
    order_hosts,
    parse,
    print_requirement,
    select_mask,
)
from slotwise.model.resreq.syntax import Simple

TWICE = [
    ("select[a] select[b]", "select"),
    ("select[a] && select[b]", "select"),
    ("select[a] order[ut] select[b]", "select"),
    ("mem<5 select[a]", "select"),
    ("mem<5 && select[a]", "select"),
    ("select[a] && b", "&& b"),
    ("2*{select[a] select[b]} + {c}", "select"),
]


@pytest.mark.behaviour("REQ-21")
@pytest.mark.parametrize(("text", "token"), TWICE)
def test_10_takes_one_selection_and_lsf_7_joins_them(text: str, token: str) -> None:
    with pytest.raises(ResreqError) as caught:
        parse(text)
    assert caught.value.what == "select[] is given a second time"
    assert caught.value.token == token
    parse(text, dialect="7")


@pytest.mark.behaviour("REQ-21")
def test_maxslots_are_all_slots_of_a_host_whatever_is_free() -> None:
    cluster = Cluster((Host("a", 2), Host("b", 8), Host("c", 4)))
    free = {"slots": [2.0, 0.0, 4.0]}
    table = HostTable(cluster, values=free)  # type: ignore[arg-type]
    requirement = parse("select[maxslots>2] order[maxslots]", vocabulary=table.vocabulary)
    assert isinstance(requirement, Simple)
    mask = select_mask(requirement.select, table)
    assert mask.tolist() == [False, True, True]
    assert order_hosts(requirement.order, table, mask).tolist() == [1, 2]


def merged(job: str, queue: str, **cluster: Params) -> str:
    instance = Instance(
        Cluster((Host("a", 8),)), queues=(Queue("default", res_req=queue),), **cluster
    )
    found = effective_requirement(instance, Job("1", 4, res_req=(job,) if job else ()))
    return print_requirement(found.requirement)


@pytest.mark.behaviour("REQ-22", "REQ-16")
def test_what_a_queue_reserves_once_a_job_goes_to_the_first_term() -> None:
    compound = "1*{select[mem>0]} + 3*{order[ut]}"
    assert merged(compound, "rusage[x=1/job,y=2/task]") == (
        "1*{select[mem>0] rusage[x=1/job,y=2/task]} + 3*{order[ut] rusage[y=2/task]}"
    )


@pytest.mark.behaviour("PLC-15", "REQ-18")
def test_the_span_of_the_job_replaces_blocks_of_the_queue() -> None:
    assert merged("span[ptile=2]", "span[block=4]") == "span[ptile=2]"
    assert merged("span[hosts=-1]", "span[block=4]") == ""
    assert merged("", "span[block=4] affinity[core(1)]") == "span[block=4] affinity[core(1)]"
    assert merged("affinity[core(2)]", "affinity[core(1)]") == "affinity[core(2)]"


@pytest.mark.behaviour("PLC-18")
@pytest.mark.parametrize(
    ("job", "says"),
    [
        (Job("1", 7, extsched="RMS[nodes=3]"), "-n 6 would be right"),
        (Job("1", 2, extsched="RMS[nodes=3]"), "-n 3 would be right"),
        (Job("1", 6, extsched="RMS[nodes=3;ptile=3]"), "-n 9 would be right"),
        (Job("1", 6, max_slots=9, extsched="RMS[nodes=3]"), "-n must be one number"),
        (Job("1", 6, extsched="RMS[nodes=0]"), "1 or more"),
        (Job("1", 6, extsched="RMS[node=3]"), "did you mean 'nodes'"),
        (Job("1", 6, extsched="RMS[nodes=3;nodes=2]"), "second time"),
        (Job("1", 6, extsched="RMS nodes=3"), "RMS[nodes=3]"),
        (Job("1", 6, extsched="RMS[nodes=3]", res_req=("span[ptile=2]",)), "one of the two"),
        (Job("1", 6, extsched="RMS[nodes=3]", res_req=("3*{a} + 3*{b}",)), "compound"),
    ],
)
def test_what_rms_cannot_do_is_refused(job: Job, says: str) -> None:
    instance = Instance(Cluster((Host("a", 8),)))
    with pytest.raises(InputError) as caught:
        effective_requirement(instance, job)
    assert says in str(caught.value)
