"""bhosts, bqueues and bhpart as LSF prints them, and as `show` does."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from slotwise import Cluster, Host, InputError, Instance, Queue
from slotwise.model.sources.lsf_state.assemble import assemble
from slotwise.model.sources.lsf_state.bhosts import SeenHost, read_bhosts
from slotwise.model.sources.lsf_state.bhpart import read_bhpart
from slotwise.model.sources.lsf_state.bjobs import SeenJob
from slotwise.model.sources.lsf_state.bqueues import read_bqueues
from slotwise.model.sources.lsf_state.seen import Seen
from slotwise.model.sources.lsf_state.values import Remarks, Text, read_text

NOW = datetime(2026, 4, 12, tzinfo=UTC)
DATA = Path(__file__).parents[1] / "data" / "lsf"

#: The documents' host (seed 000), and one with an index of the site's own and percent thresholds.
BHOSTS = """\
HOST  hostA
STATUS           CPUF  JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV DISPATCH_WINDOW
ok              20.00     -      4      2      1      0      0      1      -

 CURRENT LOAD USED FOR SCHEDULING:
              r15s   r1m  r15m    ut    pg    io   ls    it   tmp   swp   mem
 Total         1.5   1.2   2.0   91%   2.5     7   49     0  911M  915M    0M
 Reserved      0.0   0.0   0.0    0%   0.0     0    0     0    0M    0M  143M


 LOAD THRESHOLD USED FOR SCHEDULING:
           r15s   r1m  r15m   ut      pg    io   ls    it    tmp    swp    mem
 loadSched   -   0.7     -   70%      -     -    -     -      -      -    10M
 loadStop    -   2.0     -     -      -     -    -     -      -      -      -

HOST  hostB
STATUS           CPUF  JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV DISPATCH_WINDOW
closed_Adm      12.50     2      -      3      1      1      1      0 (19:00-7:00) (20:00-21:00)

 CURRENT LOAD USED FOR SCHEDULING:
              r15s   r1m  r15m    ut    pg    io   ls    it   tmp   swp   mem slots
 Total         0.0   0.0*  0.0    0%   0.0     0    0  1000  178G  683G  1.5T     8
 Reserved      0.0   0.0   0.0    0%   0.0     0    0     0    0M    0M    0M     -

            scratch
 Total        512.0
 Reserved       0.0
"""


@pytest.mark.behaviour("CFG-04")
def test_bhosts_in_the_long_form() -> None:
    one, two = read_bhosts(Text(BHOSTS, "bhosts.txt"))
    assert (one.name, one.status, one.cpu_factor, one.slots) == ("hostA", "ok", 20.0, 4)
    assert (one.user_slots, one.used, one.windows) == (None, 1, "")
    assert one.total["mem"] == 0
    assert one.reserved["mem"] == 143
    assert one.total["ut"] == pytest.approx(0.91)
    assert (one.total["tmp"], one.total["r1m"]) == (911, 1.2)
    assert one.sched == {"r1m": 0.7, "ut": pytest.approx(0.7), "mem": 10}
    assert one.stop == {"r1m": 2.0}
    assert (two.status, two.slots, two.user_slots, two.used) == ("closed_Adm", None, 2, 3)
    assert two.windows == "(19:00-7:00) (20:00-21:00)"
    assert (two.total["mem"], two.total["scratch"]) == (1.5 * 1024**2, 512)


def test_bhosts_as_json_and_as_a_table() -> None:
    (host,) = read_bhosts(read_text(DATA / "bhosts.json", "bhosts"))
    assert (host.name, host.status, host.slots, host.used) == (
        *("ip-10-30-9-105", "closed_Full"),
        *(4, 4),
    )
    table = "HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\na ok - 8 3 3 0 0 0\n"
    (host,) = read_bhosts(Text(table, "x"))
    assert (host.name, host.slots, host.user_slots, host.used) == ("a", 8, None, 3)
    again = read_bhosts(Text(f"Cluster of the second floor\n\n{table}\n\n", "x"))
    assert again == [host]


def test_hosts_that_cannot_be_read_are_told_with_their_lines() -> None:
    text = BHOSTS.replace("1.5   1.2", "1.5   warm").replace("12.50     2 ", "12.50     two ")
    notes = Remarks()
    first, second = read_bhosts(Text(text, "b.txt"), notes)
    assert notes == [
        "b.txt:7: host hostA: Total r1m: must be a number such as 1.5, not 'warm': not known",
        "b.txt:18: host hostB: JL/U: must be a whole number such as 4, not 'two': not known",
    ]
    assert [(item.hosts, item.resources) for item in notes.omissions] == [
        (("hostA",), ("r1m",)),
        (("hostB",), ()),
    ]
    assert "r1m" not in first.total
    assert (second.user_slots, second.cpu_factor) == (None, 12.5)


def test_a_dash_beside_a_number_says_that_nothing_is_reserved() -> None:
    """As LSF prints the slots of a host: a number free, and "-" of them reserved."""
    first, *rest = BHOSTS.splitlines()
    lines = [
        line + ("  slots" if "r15s" in line else "     4" if "Total" in line else "     -")
        if any(word in line for word in ("r15s", "Total", "Reserved"))
        else line
        for line in rest
    ]
    notes = Remarks()
    read_bhosts(Text("\n".join([first, *lines]), "b.txt"), notes)
    assert notes == []


#: After the documents (seeds 000, 001), with LSF 10's way of printing limits.
BQUEUES = """\
QUEUE: normal
  -- For normal low priority jobs, running only if hosts are lightly loaded.

PARAMETERS/STATISTICS
PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV
 30   20  Open:Inact_Win   10    -  1.5    -     1     1     0     0     0    0
Interval for a host to accept two jobs is 120 seconds

DEFAULT LIMITS:
 RUNLIMIT
 60.0 min

MAXIMUM LIMITS:
 RUNLIMIT
 1440.0 min of hostA
 TASKLIMIT
 2 4 64

SCHEDULING PARAMETERS
           r15s   r1m  r15m   ut      pg    io   ls    it    tmp    swp    mem
 loadSched   -   0.7    -     -       -     -    -     -      -      -      -
 loadStop    -   2.0    -     -       -     -    -     -      -      -      -

SCHEDULING POLICIES:  FAIRSHARE  BACKFILL  EXCLUSIVE
FAIRSHARE_QUEUES:  normal short license
DISPATCH_ORDER:  QUEUE
USER_SHARES:  [user1, 100] [default, 1]

SHARE_INFO_FOR: normal/
 USER/GROUP   SHARES  PRIORITY  STARTED  RESERVED  CPU_TIME  RUN_TIME   ADJUST
user1          100       9.645      2        0         0.2     7034       0.000

USERS: all users
HOSTS:  all
RES_REQ:  select[type==any] rusage[mem=10]
Maximum slot reservation time: 600 seconds

QUEUE: short

PARAMETERS/STATISTICS
PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV
 40   20  Open:Active      -    4    2    -     1     0     1     0     0    0

SCHEDULING POLICIES:  FAIRSHARE
FAIRSHARE_QUEUES:  normal short license
USER_SHARES:  [user1, 100] [default, 1]

SHARE_INFO_FOR: short/
 USER/GROUP   SHARES  PRIORITY  STARTED  RESERVED  CPU_TIME  RUN_TIME
user1          100       9.645      2        0         0.2     7034

USERS:  ann bob
HOSTS:  hostA+2 hostB
"""


@pytest.mark.behaviour("CFG-04")
def test_bqueues_in_the_long_form() -> None:
    normal, short = read_bqueues(Text(BQUEUES, "bqueues.txt"))
    assert (normal.name, normal.priority, normal.queue_slots) == ("normal", 30, 10)
    assert normal.description.startswith("For normal low priority jobs")
    assert (normal.processor_slots, normal.user_slots) == (1.5, None)
    assert (normal.run_limit, normal.run_limit_max, normal.tasks) == (3600, 86400, (2, 4, 64))
    assert (normal.accept_interval, normal.reservation) == (120, 600)
    assert not normal.resource_reserve
    assert (normal.sched, normal.stop) == ({"r1m": 0.7}, {"r1m": 2.0})
    assert normal.policies == {"FAIRSHARE", "BACKFILL", "EXCLUSIVE"}
    assert normal.shares == (("user1", 100), ("default", 1))
    assert (normal.fairshare_queues, normal.by_queue) == (("normal", "short", "license"), True)
    assert (normal.users, normal.hosts) == ("", "")
    assert normal.res_req == "select[type==any] rusage[mem=10]"
    (account,) = normal.accounts
    assert (account.path, account.account, account.shares) == ("normal", "user1", 100)
    assert (account.priority, account.started, account.cpu_time) == ("9.645", 2, 0.2)
    assert (account.run_time, account.adjust, account.line) == (7034, 0.0, 31)
    assert (short.users, short.hosts, short.user_slots) == ("ann bob", "hostA+2 hostB", 4)
    assert short.accounts[0].adjust is None


def test_bqueues_as_json_and_as_a_table() -> None:
    (queue,) = read_bqueues(read_text(DATA / "bqueues.json", "bqueues"))
    assert (queue.name, queue.queue_slots) == ("b2_beast", 200)
    table = (
        "QUEUE_NAME PRIO STATUS MAX JL/U JL/P JL/H NJOBS PEND RUN SUSP\n"
        "license 50 Open:Active 10 1 1 - 1 0 1 0\n"
    )
    (queue,) = read_bqueues(Text(table, "x"))
    assert (queue.name, queue.priority, queue.queue_slots, queue.user_slots) == (
        *("license", 50),
        *(10, 1),
    )


#: The documents' partition (seed 001).
BHPART = """\
HOST_PARTITION_NAME: Partition1
HOSTS: HostA

SHARE_INFO_FOR: Partition1/
USER/GROUP  SHARES  PRIORITY  STARTED  RESERVED  CPU_TIME  RUN_TIME
group1         40     1.867       5        0       48.4     17618
group2         20     0.775       6        0      607.7     24664

SHARE_INFO_FOR: Partition1/group2/
USER/GROUP  SHARES  PRIORITY  STARTED  RESERVED  CPU_TIME  RUN_TIME
user1           8     1.144       1        0        9.6      5108
user2           2     0.667       0        0        0.0         0
others          1     0.046       5        0      598.1     19556
"""


def test_bhpart() -> None:
    (partition,) = read_bhpart(Text(BHPART, "bhpart.txt"))
    assert (partition.name, partition.hosts) == ("Partition1", ("HostA",))
    assert [(item.path, item.account) for item in partition.accounts] == [
        ("Partition1", "group1"),
        ("Partition1", "group2"),
        ("Partition1/group2", "user1"),
        ("Partition1/group2", "user2"),
        ("Partition1/group2", "others"),
    ]
    assert partition.accounts[-1].cpu_time == 598.1


def test_accounts_that_cannot_be_read() -> None:
    text = BHPART.replace("1.144", "high").replace("48.4     17618", "48.4")
    notes = Remarks()
    (partition,) = read_bhpart(Text(text, "p"), notes)
    assert notes == [
        "p:6: Partition1/group1: has 6 of 7 columns of a share account: not known",
        "p:11: Partition1/group2/user1: PRIORITY: must be a number such as 1.5, not 'high': "
        "not known",
    ]
    assert [item.account for item in partition.accounts] == ["group2", "user2", "others"]


def test_one_queue_of_a_set_alone_and_a_host_without_a_slot_limit() -> None:
    seen = Seen(hosts=read_bhosts(Text(BHOSTS, "x")), queues=read_bqueues(Text(BQUEUES, "x")))
    made = assemble(seen, datetime(2026, 4, 12, tzinfo=UTC))
    normal, short = made.instance.queues
    assert (normal.fairshare_queues, short.user_shares) == (("short",), None)
    assert normal.dispatch_order == "QUEUE"
    assert [(host.slots, host.mxj_defined) for host in made.instance.cluster.hosts] == [
        (4, True),
        (3 + 8, False),
    ]
    assert any("license" in note for note in made.notes)
    assert any("MAX of hostB is not set" in note for note in made.notes)


def test_groups_of_a_partition_come_behind_those_in_them_and_its_hosts_are_kept() -> None:
    """group1 holds group2, which is printed behind it and holds a user."""
    text = BHPART.replace("group2/", "group1/group2/").replace(
        "SHARE_INFO_FOR: Partition1/group1/group2/",
        """SHARE_INFO_FOR: Partition1/group1/
USER/GROUP  SHARES  PRIORITY  STARTED  RESERVED  CPU_TIME  RUN_TIME
group2          9     1.144       1        0        9.6      5108

SHARE_INFO_FOR: Partition1/group1/group2/""",
    )
    text = "\n".join(line for line in text.splitlines() if not line.startswith("group2         20"))
    partitions = read_bhpart(Text(text, "bhpart.txt"))
    seen = Seen(hosts=[SeenHost("HostA", slots=4), SeenHost("B", slots=4)], partitions=partitions)
    made = assemble(seen, datetime(2026, 4, 12, tzinfo=UTC)).instance
    assert [group.name for group in made.groups] == ["group2", "group1"]
    (partition,) = made.partitions
    assert (partition.name, partition.hosts) == ("Partition1", ("HostA",))


def test_memory_of_hosts_in_json_with_and_without_what_is_reserved() -> None:
    records = [
        {"HOST_NAME": "a", "STATUS": "ok", "MAX": "4", "AVAILABLE_MEM": "10G",
         "RESERVED_MEM": "512M"},
        {"HOST_NAME": "b", "STATUS": "ok", "MAX": "4", "AVAILABLE_MEM": "2G"},
        {"HOST_NAME": "c", "STATUS": "ok", "MAX": "4"},
    ]  # fmt: skip
    content = json.dumps({"COMMAND": "bhosts", "HOSTS": 3, "RECORDS": records})
    one, two, three = read_bhosts(Text(content, "x.json"))
    assert (one.total, one.reserved) == ({"mem": 10240.0}, {"mem": 512.0})
    assert (two.total, two.reserved) == ({"mem": 2048.0}, {"mem": 0.0})
    assert (three.total, three.reserved) == ({}, {})


def test_what_bqueues_says_otherwise_than_the_site_is_told() -> None:
    base = Instance(Cluster((Host("hostA", 4),)), queues=(Queue("night", 30, queue_slots=8),))
    table = "QUEUE_NAME PRIO STATUS MAX JL/U JL/P JL/H NJOBS PEND RUN SUSP RSV\n"
    queues = read_bqueues(Text(table + "night 40 Open:Active 8 - - - 0 0 0 0 0\n", "x"))
    made = assemble(Seen(queues=queues), datetime(2026, 4, 12, tzinfo=UTC), base)
    told = [note for note in made.notes if note.startswith("queue night")]
    assert told == ["queue night: bqueues says PRIO 40, the site 30: left as it is"]


def test_records_and_lines_that_are_wrong_are_named() -> None:
    host = {"HOST_NAME": "a", "STATUS": "ok", "MAX": "4"}
    content = json.dumps({"COMMAND": "bhosts", "RECORDS": [host, 5]})
    notes = Remarks()
    assert [item.name for item in read_bhosts(Text(content, "x.json"), notes)] == ["a"]
    assert "RECORDS[1]: must be an object" in notes[0]
    with pytest.raises(InputError, match="must be an object"):
        read_bhosts(Text(json.dumps({"COMMAND": "bhosts", "RECORDS": [5]}), "x.json"))
    lines = ["QUEUE: night", "  -- at night", "", "PARAMETERS/STATISTICS",
             "PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV",
             " 40"]  # fmt: skip
    (queue,) = read_bqueues(Text("\n".join(lines), "q.txt"), notes)
    assert "q.txt:6: queue night: has 1 of 13 columns" in notes[-1]
    assert (queue.name, queue.priority) == ("night", None)


def test_slots_of_jobs_follow_their_hosts_or_are_one() -> None:
    running = SeenJob("1", "RUN", slots=2, start=1_700_000_000, allocation={"A": 4})
    waiting = SeenJob("2", "PEND")
    seen = Seen([running, waiting], hosts=[SeenHost("A", slots=8)])
    made = assemble(seen, datetime(2026, 4, 12, tzinfo=UTC)).instance
    assert [(item.job.slots, item.allocation) for item in made.running] == [(4, {"A": 4})]
    assert [job.slots for job in made.pending] == [1]


def test_hosts_that_are_closed_without_a_reason_are_taken_by_their_numbers() -> None:
    """As plain bhosts prints them: full where all slots are in use or reserved."""
    table = (
        "HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\n"
        "full closed - 4 4 3 0 0 1\n"
        "shut closed - 4 2 2 0 0 0\n"
        "none closed - 0 0 0 0 0 0\n"
    )
    made = assemble(Seen(hosts=read_bhosts(Text(table, "x"))), NOW)
    status = {host.name: host.status for host in made.instance.cluster.hosts}
    assert status == {"full": "ok", "shut": "closed", "none": "closed"}
    assert made.notes[:2] == [
        "bhosts says closed and not why: all slots of full are in use: taken as closed_Full "
        "(bhosts -l has the reason)",
        "bhosts says closed and not why: shut, none: taken as closed by the administrator "
        "(bhosts -l has the reason)",
    ]


def test_a_share_for_each_member_of_a_group_that_nothing_describes() -> None:
    text = (
        "QUEUE: q\n\nPARAMETERS/STATISTICS\n"
        "PRIO NICE STATUS MAX JL/U JL/P JL/H NJOBS PEND RUN SSUSP USUSP RSV\n"
        " 30 0 Open:Active - - - - 0 0 0 0 0 0\n\n"
        "SCHEDULING POLICIES:  FAIRSHARE\nUSER_SHARES:  [app, 5] [bio@, 2] [default, 1]\n"
    )
    made = assemble(Seen(hosts=[SeenHost("h", slots=2)], queues=read_bqueues(Text(text, "x"))), NOW)
    (queue,) = made.instance.queues
    assert queue.user_shares == (("app", 5), ("bio@", 2), ("default", 1))
    assert any("USER_SHARES names bio@" in note for note in made.notes)
