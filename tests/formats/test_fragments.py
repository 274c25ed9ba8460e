"""Fragments of LSF's files, copied into an instance as they stand in the documents."""

from __future__ import annotations

import pytest
import slotwise as sw
from slotwise import Instance, dump, loads

HEAD = """format: slotwise/1
hosts: [{HOST_NAME: "host[A-D]", MXJ: 4}]
"""


def of(rest: str) -> Instance:
    found = loads(HEAD + rest)
    assert loads(dump(found)) == found
    return found


@pytest.mark.behaviour("CFG-01", "FSH-01")
def test_a_user_group_section() -> None:
    found = of(
        """user_groups:
  - GROUP_NAME: GroupB
    GROUP_MEMBER: (User1 User2)
    USER_SHARES: ()
  - GROUP_NAME: GroupC
    GROUP_MEMBER: (User3 User4)
    USER_SHARES: ([User3,3] [User4,4])
  - GROUP_NAME: GroupA
    GROUP_MEMBER: (GroupB GroupC User5)
    USER_SHARES: ([User5, 1] [default, 10])
"""
    )
    assert [group.user_shares for group in found.groups] == [
        (),
        (("User3", 3), ("User4", 4)),
        (("User5", 1), ("default", 10)),
    ]


@pytest.mark.behaviour("CFG-01", "FSH-08")
@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ("[groupA@, 3] [groupB, 7] [default, 1]", {"groupA@": 3, "groupB": 7, "default": 1}),
        ("[default, 1]", {"default": 1}),
        ("([groupB, 7] [default, 1])  # two", {"groupB": 7, "default": 1}),
        ("[[groupB, 7], [default, 1]]", {"groupB": 7, "default": 1}),
        ("[groupB,7][default,1]", {"groupB": 7, "default": 1}),
    ],
)
def test_a_host_partition_section(shares: str, expected: dict[str, int]) -> None:
    found = of(
        f"""user_groups:
  - {{GROUP_NAME: groupA, GROUP_MEMBER: (ann bob)}}
  - {{GROUP_NAME: groupB, GROUP_MEMBER: (cid dan)}}
host_partitions:
  - HPART_NAME: Partition1
    HOSTS: hostA hostB ~hostC
    USER_SHARES: {shares}
"""
    )
    assert dict(found.partitions[0].user_shares) == expected
    assert found.partitions[0].hosts == ("hostA", "hostB")


@pytest.mark.behaviour("CFG-01")
def test_queue_host_group_unit_and_limit_sections() -> None:
    found = of(
        """params: {COMPUTE_UNIT_TYPES: enclosure!, RESOURCE_RESERVE_PER_TASK: Y}
host_groups:
  - {GROUP_NAME: groupA, GROUP_MEMBER: (hostA hostB)}
  - {GROUP_NAME: groupB, GROUP_MEMBER: (all ~hostA)}
compute_units:
  - {NAME: encl1, MEMBER: (hostA groupB), TYPE: enclosure}
shared_resources: [{name: licenseZ, amount: 3}]
reservation_usage: {licenseZ: PER_TASK}
limits:
  - NAME: limit1
    USERS: ()
    PER_HOST: -
    SLOTS: 5
queues:
  - QUEUE_NAME: queue1
    PRIORITY: 30
    HOSTS: ()
    TASKLIMIT: 1 2 8
    RES_REQ: ()
    RUNLIMIT: -
    FAIRSHARE: USER_SHARES[[user1,100] [default,1]]
users:
  - {USER_NAME: user1, MAX_JOBS: 4}
"""
    )
    assert found.cluster.expand("groupB") == ("hostB", "hostC", "hostD")
    assert found.cluster.units[0].hosts == ("hostA", "hostB", "hostC", "hostD")
    assert found.params.reserve_per_slot
    assert found.reservation_usage[0].method == "PER_SLOT"
    assert found.queues[0].slots == (1, 2, 8)
    assert found.queues[0].run_limit_max is None
    assert found.limits[0].amounts == {"slots": 5}
    assert found.limits[0].hosts is None


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (
            "host_partitions:\n  - HPART_NAME: P\n    HOSTS: all\n    USER_SHARES: [a, 3] [b]\n",
            6,
            "",
        ),
        ("queues:\n  - QUEUE_NAME: q\n    HOSTS: [a, b] and [c\n", 5, "not YAML"),
        ("host_groups:\n  - {GROUP_NAME: g, GROUP_MEMBER: (hostA)}\n  - {GROUP_NAME: g}\n", 3, ""),
    ],
)
def test_what_is_wrong_with_a_fragment_is_said_with_its_line(
    text: str, line: int, says: str
) -> None:
    with pytest.raises(sw.InputError) as caught:
        loads(HEAD + text)
    assert caught.value.problems[0].line == line
    assert says in str(caught.value)


@pytest.mark.behaviour("PLC-12")
@pytest.mark.parametrize("method", ["time-based", "optimal", "milp"])
@pytest.mark.parametrize(
    ("hosts", "slots", "expected"),
    [
        ("hostA+2 hostB+5 others", 6, {"hostB": 4, "hostA": 2}),
        ("hostA+2 hostB+5 others", 10, {"hostB": 4, "hostA": 4, "hostC": 2}),
        ("hostD hostC+1 others+2", 9, {"hostA": 4, "hostB": 4, "hostC": 1}),
        ("others hostA+", 5, {"hostA": 4, "hostB": 1}),
        ("hostD+1 hostC", 8, {"hostD": 4, "hostC": 4}),
    ],
)
def test_levels_of_preference_and_all_others(
    hosts: str, slots: int, expected: dict[str, int], method: str
) -> None:
    found = of(f'pending: [{{id: 1, bsub: -n {slots} -m "{hosts}" -W 10}}]\n')
    planned = sw.plan(found, method)["1"]
    assert planned.start == 0
    assert sw.validate(found, sw.plan(found, method)) == []
    if method == "time-based":
        assert dict(planned.allocation) == expected
        assert list(planned.allocation) == list(expected)
