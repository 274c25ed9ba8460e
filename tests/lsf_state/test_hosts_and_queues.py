"""bhosts, bqueues and bhpart as LSF prints them, and as `show` does."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from slotwise.model.sources.lsf_state.assemble import assemble
from slotwise.model.sources.lsf_state.bhosts import read_bhosts
from slotwise.model.sources.lsf_state.bqueues import read_bhpart, read_bqueues
from slotwise.model.sources.lsf_state.seen import Seen
from slotwise.model.sources.lsf_state.values import Text, read_text

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
