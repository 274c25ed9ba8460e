"""bhosts and bqueues as LSF prints them, together."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from printed_listings import snapshot

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
def test_one_queue_of_a_set_alone_and_a_host_without_a_slot_limit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = snapshot(datetime(2026, 4, 12, tzinfo=UTC), bhosts=BHOSTS, bqueues=BQUEUES)
    normal, short = found.queues
    assert (normal.fairshare_queues, short.user_shares) == (("short",), None)
    assert normal.dispatch_order == "QUEUE"
    assert [(host.slots, host.mxj_defined) for host in found.cluster.hosts] == [
        (4, True),
        (3 + 8, False),
    ]
    told = capsys.readouterr().err
    assert "license" in told
    assert "MAX of hostB is not set" in told
