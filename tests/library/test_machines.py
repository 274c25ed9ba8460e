"""Machines of several nodes, made in memory: the rules of files, and the groups that files give."""

from __future__ import annotations

import pytest
import slotwise as sw
from slotwise import Cluster, Host, HostGroup, HostRequest, Job, dump, loads


def nodes(machine: str) -> list[Host]:
    return [Host("h1", 4, node_of=machine), Host("h2", 4)]


def test_a_machine_is_a_group_and_comes_back_from_a_file() -> None:
    on_it = Job("p", 2, hosts=(HostRequest("M"),), run_limit=60)
    made = sw.instance(nodes("M"), pending=[on_it])
    assert made.cluster.groups == (HostGroup("M", ("h1",)),)
    assert dict(sw.plan(made, "time-based")["p"].allocation) == {"h1": 2}
    assert loads(dump(made)) == made
    again = sw.instance(made.cluster, pending=[on_it])
    assert again == made


@pytest.mark.parametrize(
    ("cluster", "what"),
    [
        (Cluster(tuple(nodes("h2"))), "h2 is already a host: give the machine another name"),
        (
            Cluster(tuple(nodes("M")), groups=(HostGroup("M", ("h2",)),)),
            "M is already a host group: give the machine another name",
        ),
    ],
)
def test_a_machine_has_a_name_of_its_own(cluster: Cluster, what: str) -> None:
    with pytest.raises(sw.InputError) as refused:
        sw.instance(cluster)
    (problem,) = refused.value.problems
    assert (problem.path, problem.message) == ("cluster.hosts[0].node_of", what)


def test_a_file_says_it_once() -> None:
    text = (
        "format: slotwise/1\nhosts:\n- {name: h1, slots: 4, node_of: h2}\n- {name: h2, slots: 4}\n"
    )
    with pytest.raises(sw.InputError) as refused:
        loads(text)
    (problem,) = refused.value.problems
    assert problem.message == "h2 is already a host: give the machine another name"
