"""What the documents forbid is reported at load, all of it at once."""

from dataclasses import replace

import pytest
import slotwise as sw
from fairshare.lab import cluster
from slotwise import (
    Cluster,
    Host,
    HostGroup,
    HostPartition,
    HostRequest,
    InputError,
    Instance,
    Job,
    Limit,
    Params,
    Queue,
    RunningJob,
    Scope,
    UserGroup,
    dump,
    from_document,
    load,
    loads,
    to_document,
)
from slotwise.model.formats import loads_with_warnings
from slotwise.model.shares import Groups, partition_hosts, share_tree

ALL = (("default", 1),)


def instance(*queues: Queue, **fields) -> Instance:
    return replace(Instance(cluster(4, 4, 4), queues or (Queue("default"),)), **fields)


def messages(problem: Instance) -> list[str]:
    try:
        from_document(to_document(problem))
    except InputError as error:
        return [f"{found.path}: {found.message}" for found in error.problems]
    return []


def warnings(problem: Instance) -> list[str]:
    warned = loads_with_warnings(dump(problem))[1]
    return [f"{found.path}: {found.message}" for found in warned]


def only(problem: Instance) -> str:
    (message,) = messages(problem)
    return message


@pytest.mark.behaviour("FSH-07")
def test_a_user_without_a_share_cannot_submit_or_run():
    problem = instance(
        Queue("normal", user_shares=(("ann", 3),)),
        Queue("open"),
        pending=(Job("1", user="ann", queue="normal"), Job("2", user="root", queue="normal")),
        future=(Job("3", user="bob", queue="open"), Job("4", user="bob", queue="normal")),
        running=(RunningJob(Job("5", user="eve", queue="normal"), 0, {"h1": 1}),),
    )
    assert messages(problem) == [
        "running[0]: eve has no share in the fairshare policy of queue normal: "
        "add [eve, number_shares]",
        "pending[1]: root has no share in the fairshare policy of queue normal: "
        "add [root, number_shares]",
        "future[1]: bob has no share in the fairshare policy of queue normal: "
        "add [bob, number_shares]",
    ]


@pytest.mark.behaviour("FSH-08", "CFG-02")
def test_host_partitions_exclude_queue_level_fairshare():
    message = only(
        instance(Queue("normal", user_shares=ALL), partitions=(HostPartition("P", ("h1",), ALL),))
    )
    assert message == (
        "queues[0].FAIRSHARE: queue normal has FAIRSHARE and host partition P is defined: "
        "a cluster uses either queue-level or host-partition fairshare"
    )


@pytest.mark.behaviour("FSH-08", "CFG-02")
def test_a_host_belongs_to_one_partition():
    message = only(
        instance(
            partitions=(HostPartition("P", ("h1", "h2"), ALL), HostPartition("Q", ("h2",), ALL))
        )
    )
    assert message.startswith("host_partitions[1].HOSTS: host h2 is already in partition P")
    with pytest.raises(InputError, match="HOSTS: unknown host or host group 'h9'"):
        loads(
            "format: slotwise/1\nhosts: [{name: h1, slots: 4}]\n"
            "host_partitions: [{HPART_NAME: P, HOSTS: h9 h1, USER_SHARES: '[default, 1]'}]\n"
        )


@pytest.mark.behaviour("FSH-08")
def test_hosts_of_a_partition():
    machines = Cluster(tuple(Host(f"h{i}", 1) for i in range(4)), (HostGroup("g", ("h1", "h2")),))

    def hosts(*names):
        return partition_hosts(machines, HostPartition("P", names, ALL))

    assert hosts("all") == ("h0", "h1", "h2", "h3")
    assert hosts("all", "~h2") == ("h0", "h1", "h3")
    assert hosts("h3", "g", "~h1") == ("h2", "h3")
    assert hosts("~g") == ("h0", "h3")


@pytest.mark.behaviour("FSH-08", "QBF-01", "CFG-02")
def test_hosts_of_a_pool_belong_to_no_partition():
    message = only(
        instance(
            Queue("a", slot_pool="P", slot_share=50),
            partitions=(HostPartition("part", ("h2",), ALL),),
        )
    )
    assert message.endswith(
        "host h2 of slot pool P is in host partition part: "
        "hosts of queue-based fairshare cannot be in a partition"
    )


def cross_queue(priority: int, order: str = "") -> Instance:
    return instance(
        Queue(
            "queue1", 30, user_shares=ALL, fairshare_queues=("queue2", "queue3"),
            dispatch_order=order,
        ),
        Queue("queue2", 40),
        Queue("queue3", 50),
        Queue("queue4", priority),
    )  # fmt: skip


@pytest.mark.behaviour("FSH-09", "CFG-02")
@pytest.mark.parametrize("priority", [29, 51, 1])
def test_other_queues_stay_outside_the_range(priority):
    assert messages(cross_queue(priority)) == []


@pytest.mark.behaviour("FSH-09", "CFG-02")
@pytest.mark.parametrize("priority", [30, 35, 50])
def test_a_priority_inside_the_range_is_refused_unless_ordered(priority):
    assert only(cross_queue(priority)) == (
        f"queues[0].FAIRSHARE_QUEUES: priority {priority} of queue queue4 falls inside 30-50, the "
        "range of the cross-queue set of queue1: move it outside or set DISPATCH_ORDER=QUEUE"
    )
    assert messages(cross_queue(priority, "QUEUE")) == []


@pytest.mark.behaviour("FSH-09", "CFG-02")
def test_a_queue_is_in_one_set():
    problem = instance(
        Queue("normal", 1, user_shares=ALL, fairshare_queues=("short",)),
        Queue("short", 2),
        Queue("priority", 5, user_shares=ALL, fairshare_queues=("night", "normal")),
        Queue("night", 6),
        Queue("bare", 9, fairshare_queues=("last",)),
        Queue("last", 9),
    )
    assert messages(problem) == [
        "queues[2].FAIRSHARE_QUEUES: queue normal is already in the cross-queue set of normal: "
        "a queue belongs to one set",
        "queues[2].FAIRSHARE_QUEUES: priority 2 of queue short falls inside 1-6, the range of the "
        "cross-queue set of priority: move it outside or set DISPATCH_ORDER=QUEUE",
        "queues[4].FAIRSHARE_QUEUES: queue bare has FAIRSHARE_QUEUES: also set "
        "FAIRSHARE in the queue",
    ]


@pytest.mark.behaviour("FSH-09")
def test_fairshare_of_a_listed_queue_is_ignored_with_a_warning():
    problem = instance(
        Queue("normal", 1, user_shares=ALL, fairshare_queues=("short",)),
        Queue("short", 2, user_shares=(("ann", 5),)),
    )
    assert messages(problem) == []
    assert warnings(problem) == [
        "queues[1].FAIRSHARE: queue short: FAIRSHARE is ignored, FAIRSHARE of queue normal applies"
    ]


@pytest.mark.behaviour("FSH-01", "FSH-10", "CFG-02")
def test_lists_of_shares():
    problem = instance(
        Queue("both", user_shares=(("default", 1), ("others", 2), ("grp@", 1))),
        groups=(
            UserGroup("outer", ("inner", "x"), (("inner", 1), ("y", 1))),
            UserGroup("inner", ("a", "b")),
            UserGroup("inner", ("c",)),
        ),
    )
    assert messages(problem) == [
        "user_groups[0].members: group 'inner' must be defined before 'outer', which has it as a "
        "member",
        "user_groups[0].USER_SHARES: 'y' is not a member of the group",
        "user_groups[2]: user group 'inner' is defined twice: define each group once",
        "queues[0].FAIRSHARE: 'default' and 'others' both denote the remaining users: keep one",
    ]
    empty = Queue("empty", user_shares=())
    with pytest.raises(InputError) as caught:
        sw.check(instance(empty, Queue("none", user_shares=(("ann", 0),))))
    assert [str(found) for found in caught.value.problems] == [
        "queues[0].user_shares: FAIRSHARE of queue empty needs a share assignment such as "
        "[default,1]",
        "queues[1].user_shares: the shares of ann must be a whole number of 1 or more, not 0",
    ]


@pytest.mark.behaviour("FSH-10")
def test_a_group_that_contains_itself_is_reported_not_followed():
    problem = instance(
        Queue("q", user_shares=(("a", 1),)),
        groups=(UserGroup("a", ("b", "u")), UserGroup("b", ("a",))),
        pending=(Job("1", user="u", queue="q"),),
    )
    assert "user groups contain each other: 'a' and 'b'" in only(problem)


@pytest.mark.behaviour("FSH-10")
def test_groups_within_groups_are_followed_to_any_depth():
    """And exceptions within exceptions; a share tree has a hundred levels at most."""
    count = 900
    nested = [UserGroup("g0", ("u",)), UserGroup("e0", ("u",))]
    nested += [UserGroup(f"g{i}", (f"g{i - 1}",)) for i in range(1, count)]
    nested += [UserGroup(f"e{i}", ("u", f"~e{i - 1}")) for i in range(1, count)]
    groups = Groups(nested)
    assert groups.users(f"g{count - 1}") == {"u"}
    assert [len(groups.users(f"e{i}") or ()) for i in (count - 1, count - 2)] == [0, 1]
    problem = instance(
        Queue("q", user_shares=((f"g{count - 1}", 1),)),
        groups=tuple(nested),
        pending=(Job("1", user="u", queue="q"),),
    )
    assert messages(problem) == []
    trees = (
        UserGroup("g0", ("u",), (("u", 1),)),
        *(UserGroup(f"g{i}", (f"g{i - 1}",), ((f"g{i - 1}", 1),)) for i in range(1, count)),
    )
    assert "share trees are nested more than 100 levels deep" in only(
        replace(problem, groups=trees)
    )


def test_groups_that_except_each_other_end():
    groups = Groups([UserGroup("a", ("u", "~b")), UserGroup("b", ("v", "~a"))])
    assert groups.users("a") == {"u"}


@pytest.mark.behaviour("FSH-13", "CFG-02")
@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("groupA", None),
        ("groupB", "user User1 is not a member of group groupB that -G names"),
        ("outer", "-G outer has subgroups (groupA): name one that has none"),
        ("groopA", "unknown user group 'groopA' (did you mean 'groupA'?)"),
        ("third", "group third has no share in the fairshare policy of queue q: "
                  "add [third, number_shares]"),
    ],
)  # fmt: skip
def test_the_group_of_a_job(group, expected):
    problem = instance(
        Queue("q", user_shares=(("User1", 1), ("groupA", 1), ("groupB", 1))),
        groups=(
            UserGroup("groupA", ("User1",)),
            UserGroup("groupB", ("User2",)),
            UserGroup("outer", ("groupA", "User1")),
            UserGroup("third", ("User1",)),
        ),
        pending=(Job("1", user="User1", queue="q", group=group),),
    )
    assert messages(problem) == ([] if expected is None else [f"pending[0]: {expected}"])


def pool(name: str, share: float | None = 30, **fields) -> Queue:
    return Queue(name, slot_pool="P", slot_share=share, **fields)


@pytest.mark.behaviour("QBF-01", "CFG-02")
@pytest.mark.parametrize(
    ("queues", "expected"),
    [
        ((pool("a", 0),), "SLOT_SHARE 0 of queue a must be above 0 and at most 100"),
        ((pool("a", 101),), "SLOT_SHARE 101 of queue a must be above 0 and at most 100"),
        ((pool("a", None),), "queue a also needs SLOT_SHARE"),
        ((Queue("a", slot_share=5),), "queue a also needs SLOT_POOL"),
        ((Queue("a", slot_share=5, slot_pool="P Q"),), "a queue belongs to one"),
        ((pool("a"), pool("b", hosts=(HostRequest("h1"),))),
         "queue b uses other hosts than the first queue of slot pool P"),
        ((pool("a", preemptive=("*",)),), "cannot be preemptive or preemptable"),
        ((pool("a", preemptable=("*",)),), "cannot be preemptive or preemptable"),
        ((pool("a"), Queue("b", preemptive=("a",))), "cannot be preemptive or preemptable"),
        ((pool("a", user_shares=ALL, fairshare_queues=("b",)), Queue("b", 2)),
         "cannot take part in cross-queue fairshare"),
        ((pool("a", priority=2), Queue("b", user_shares=ALL, fairshare_queues=("a",))),
         "cannot take part in cross-queue fairshare"),
    ],
)  # fmt: skip
def test_what_a_pool_refuses(queues, expected):
    assert expected in only(instance(*queues))


@pytest.mark.behaviour("QBF-01")
def test_what_a_pool_allows():
    assert messages(instance(pool("a", 100), pool("b", 100, user_shares=ALL), pool("c", 0.5))) == []
    assert warnings(instance(pool("a", slot_reserve=5))) == [
        "queues[0].SLOT_RESERVE: queue a is in slot pool P: remove SLOT_RESERVE"
    ]
    (warning,) = warnings(instance(pool("a"), pool("b", max_slots_in_pool=3)))
    assert "apply only in the first queue of slot pool P" in warning


@pytest.mark.behaviour("QBF-01", "CFG-02")
def test_each_host_of_a_pool_needs_a_slot_limit():
    machines = Cluster((Host("h1", 4, mxj_defined=False), Host("h2", 4)))
    bare = Instance(machines, (pool("a"),))
    assert "host h1 of slot pool P has no slot limit: set MXJ, or SLOTS in a Limit" in only(bare)
    limited = Limit("L", {"slots": 4}, hosts=Scope(("h1",), each=True))
    assert messages(replace(bare, limits=(limited,))) == []


@pytest.mark.behaviour("FSH-02", "CFG-02")
def test_factors_out_of_range():
    problem = instance(
        Queue("q", user_shares=ALL, factors={"COMMITTED_RUN_TIME_FACTOR": 2.0, "HIST_HOURS": 1.0}),
        params=Params(cpu_time_factor=-1, run_job_factor=0, committed_run_time_factor=0.5),
    )
    assert messages(problem) == [
        "params.CPU_TIME_FACTOR: CPU_TIME_FACTOR must be 0 or more, not -1",
        "queues[0].COMMITTED_RUN_TIME_FACTOR: COMMITTED_RUN_TIME_FACTOR must be between 0 and 1, "
        "not 2",
    ]


@pytest.mark.behaviour("FSH-02", "FSH-05", "FSH-09", "CFG-02")
def test_factors_without_effect_are_warned_of():
    master = Queue("m", 1, user_shares=ALL, fairshare_queues=("s",), factors={"HIST_HOURS": 9.0})
    listed = Queue("s", 2, factors={"RUN_JOB_FACTOR": 1.0, "HIST_HOURS": 1.0})
    plain = Queue("p", 9, factors={"CPU_TIME_FACTOR": 0.0})
    assert warnings(instance(master, listed, plain)) == [
        "queues[1].RUN_JOB_FACTOR: queue s: RUN_JOB_FACTOR, HIST_HOURS has no effect: its "
        "priorities are those of m",
        "queues[2].CPU_TIME_FACTOR: queue p: CPU_TIME_FACTOR has no effect: it has no FAIRSHARE",
    ]
    assert warnings(instance(params=Params(fairshare_adjustment_factor=2))) == [
        "params.FAIRSHARE_ADJUSTMENT_FACTOR: FAIRSHARE_ADJUSTMENT_FACTOR has no effect: "
        "fairshare_adjustment names no plug-in"
    ]
    assert warnings(instance(params=Params(fairshare_adjustment="memory"))) == [
        "params.fairshare_adjustment: adjustment 'memory' has no effect: "
        "FAIRSHARE_ADJUSTMENT_FACTOR is 0"
    ]
    rising = Params(committed_run_time_factor=0.9)
    (warning,) = warnings(instance(params=rising))
    assert warning.startswith(
        "params.COMMITTED_RUN_TIME_FACTOR: COMMITTED_RUN_TIME_FACTOR is above RUN_TIME_FACTOR"
    )
    assert warnings(instance(params=replace(rising, run_time_factor=0.9))) == []


SLIPS = """\
format: slotwise/1
params:
  COMMITTED_RUN_TIME_FACTOR: 7
  fairshare_adjustment: memroy
hosts:
  - {name: "host[A-C]", slots: 2}
user_groups:
  - {name: outer, members: ann inner}
  - {name: inner, members: bob, USER_SHARES: "[cat, 1]"}
queues:
  - {name: normal, PRIORITY: 30, FAIRSHARE: "USER_SHARES[[ann, 3]]", FAIRSHARE_QUEUES: shrt}
  - {name: short, PRIORITY: 40, HOSTS: hostX}
  - {name: one, SLOT_SHARE: 120, SLOT_POOL: P}
  - {name: two, SLOT_SHARE: 20, SLOT_POOL: P, HOSTS: hostA, PREEMPTION: PREEMPTIVE}
host_partitions:
  - {name: part, HOSTS: hostB, USER_SHARES: "[default, 1]"}
pending:
  - {id: "1", queue: short, run_limit: 1h, user: dan, group: outer}
"""


@pytest.mark.behaviour("FSH-08", "FSH-09", "FSH-10", "QBF-01", "CFG-02")
def test_a_file_with_many_slips_is_told_all_of_them_by_line(tmp_path):
    file = tmp_path / "slips.yaml"
    file.write_text(SLIPS)
    with pytest.raises(InputError) as caught:
        load(file)
    found = [(p.line, p.path, p.message.split(":")[0]) for p in caught.value.problems]
    assert found == [
        (3, "params.COMMITTED_RUN_TIME_FACTOR",
         "COMMITTED_RUN_TIME_FACTOR must be between 0 and 1, not 7"),
        (4, "params.fairshare_adjustment",
         "no fairshare adjustment 'memroy' is installed (did you mean 'memory'?)"),
        (8, "user_groups[0].members",
         "group 'inner' must be defined before 'outer', which has it as a member"),
        (9, "user_groups[1].USER_SHARES", "'cat' is not a member of the group"),
        (11, "queues[0].FAIRSHARE_QUEUES", "unknown queue 'shrt' (did you mean 'short'?)"),
        (11, "queues[0].FAIRSHARE",
         "queue normal has FAIRSHARE and host partition part is defined"),
        (12, "queues[1].HOSTS", "unknown host or host group 'hostX' (did you mean 'hostC'?)"),
        (13, "queues[2].SLOT_SHARE",
         "SLOT_SHARE 120 of queue one must be above 0 and at most 100"),
        (14, "queues[3]", "queue two of slot pool P cannot be preemptive or preemptable"),
        (14, "queues[3].HOSTS", "queue two uses other hosts than the first queue of slot pool P"),
        (15, "host_partitions",
         "host hostB of slot pool P is in host partition part"),
    ]  # fmt: skip


STRANGERS = """
format: slotwise/1
hosts: [{name: n, slots: 1}]
GROUPS
queues: [{name: q, FAIRSHARE: "USER_SHARES[SHARES]"}, {name: other}]
pending:
  - {id: 1, user: ann, queue: q, slots: 1, run_limit: 1h}
  - {id: 2, user: eve, queue: q, slots: 1, run_limit: 1h}
  - {id: 3, user: eve, queue: other, slots: 1, run_limit: 1h}
"""


@pytest.mark.parametrize("groups", ["", "user_groups: [{name: staff, members: []}]"])
@pytest.mark.parametrize("shares", ["[staff@,2]", "[staff@,2] [others,1]", "[staff@,2] [ann,1]"])
def test_a_share_for_members_that_nothing_names_is_told(shares: str, groups: str) -> None:
    text = STRANGERS.replace("SHARES]", f"{shares}]").replace("GROUPS", groups)
    instance = loads(text)
    assert any("no input gives the members of 'staff@'" in text for text in warnings(instance))
    found = sw.plan(instance, effort=1)
    (told,) = (item for item in found.omissions if "'staff@'" in item.what)
    assert sorted(told.jobs or ()) == ["1", "2"]
    assert not found["1"].proved
    assert 0 in [item.start for item in sw.plan(instance, "greedy")]


def test_users_without_another_share_are_taken_for_the_members() -> None:
    text = STRANGERS.replace("SHARES]", "[staff@,2]]").replace("GROUPS", "")
    instance = loads(text)
    tree = share_tree("q", instance.queues[0].user_shares or (), Groups(()))
    assert tree.default == 2
    with_others = share_tree("q", (("staff@", 2), ("others", 1)), Groups(()))
    assert with_others.default is None
