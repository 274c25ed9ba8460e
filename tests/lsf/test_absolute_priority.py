"""APS_PRIORITY, QUEUE_GROUP and JOB_PRIORITY_OVER_TIME of a site's files (APS-01)."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsf.lab import complaints, instance, params, queue, read
from slotwise.model.absolute_priority import AbsolutePriority

pytestmark = pytest.mark.behaviour("APS-01")

#: As the manual has it, in the spellings of its editions.
WEIGHTS = "WEIGHT [[JPRIORITY, 1] [QPRIORITY, 10]] LIMIT[[WORK,900]] GRACE_PERIOD[[JPRIORITY,10]]"
USERS = """
Begin UserGroup
GROUP_NAME GROUP_MEMBER PRIORITY
staff      (ann bob)    7
End UserGroup
Begin User
USER_NAME MAX_JOBS PRIORITY
ann       10       5
End User
"""


def test_the_files_say_all_of_it(tmp_path: Path) -> None:
    files = {
        "lsb.queues": queue(
            QUEUE_NAME="normal", PRIORITY=30, APS_PRIORITY=WEIGHTS, QUEUE_GROUP="short owners"
        )
        + queue(QUEUE_NAME="short", PRIORITY=20)
        + queue(QUEUE_NAME="owners", PRIORITY=43),
        "lsb.params": params(MAX_USER_PRIORITY=100, JOB_PRIORITY_OVER_TIME="3/20"),
        "lsb.users": USERS,
        "lsb.applications": "Begin Application\nNAME = fluent\nPRIORITY = 3\nEnd Application\n",
    }
    found = instance(tmp_path, files)
    normal = found.queue("normal")
    assert normal.aps_priority == AbsolutePriority(
        {"JPRIORITY": 1.0, "QPRIORITY": 10.0}, {"WORK": 900.0}, {"JPRIORITY": 36_000}
    )
    assert normal.queue_group == ("short", "owners")
    assert found.params.job_priority_over_time == (3, 20)
    assert [user.priority for user in found.users] == [5]
    assert [group.priority for group in found.groups] == [7]
    assert [profile.priority for profile in found.applications] == [3]


def test_what_is_wrong_has_its_line(tmp_path: Path) -> None:
    text = queue(APS_PRIORITY="WEIGHT[[MEM, 0]]")
    told = " ".join(complaints(tmp_path, {"lsb.queues": text}))
    assert "lsb.queues:" in told
    assert "WEIGHT of MEM must be a number other than 0" in told
    told = " ".join(complaints(tmp_path, {"lsb.params": params(JOB_PRIORITY_OVER_TIME="3 per 20")}))
    assert "must be increment/minutes such as 3/20" in told


def test_priorities_that_grow_by_eligible_time_are_named(tmp_path: Path) -> None:
    both = params(MAX_USER_PRIORITY=100, JOB_PRIORITY_OVER_TIME="3/20", TRACK_ELIGIBLE_PENDINFO="Y")
    named = "because of TRACK_ELIGIBLE_PENDINFO"
    assert named in " ".join(read(tmp_path, {"lsb.params": both}).notes)
    alone = params(TRACK_ELIGIBLE_PENDINFO="Y")
    assert named not in " ".join(read(tmp_path, {"lsb.params": alone}).notes)
