"""Everything that is wrong with a bsub line is said at once, by option (CFG-03)."""

from __future__ import annotations

import pytest
from slotwise import InputError, Instance, ask, loads
from submitted import submitted_job

INSTANCE = """format: slotwise/1
hosts: [{name: a, slots: 4}]
user_groups: [{name: g, members: ann}]
host_groups: {all_a: a}
applications: [{name: fluent}]
queues: [{name: q, RUNLIMIT: 60}]
"""


def instance() -> Instance:
    return loads(INSTANCE)


def told(line: str, *, user: str = "ann") -> list[str]:
    with pytest.raises(InputError) as caught:
        submitted_job(instance(), line, user=user)
    return [problem.message for problem in caught.value.problems]


@pytest.mark.behaviour("CFG-03")
def test_all_that_is_wrong_with_a_line_is_told_at_once() -> None:
    line = "-n 0 -q nosuch -W x -m b -R 'mem>>5' -app tool -G h -zz -x"
    found = told(line)
    begins = ("-n: ", "-W: ", "-zz: ", "-q: ", "-m: ", "-R: ", "-app: ", "-G: ")
    for begin in begins:
        assert sum(text.startswith(begin) for text in found) == 1, (begin, found)
    assert len(found) == len(begins)


@pytest.mark.behaviour("FSH-13")
def test_the_group_of_a_job_must_have_its_user_in_any_queue() -> None:
    assert submitted_job(instance(), "-G g", user="ann").group == "g"
    assert told("-G nosuch") == ["-G: unknown user group 'nosuch'"]
    assert told("-G gg") == ["-G: unknown user group 'gg' (did you mean 'g'?)"]
    assert told("-G g", user="bob") == ["-G: user bob is not a member of group g that -G names"]
    for section in ("pending", "future"):
        with pytest.raises(InputError, match="user bob is not a member of group g"):
            loads(INSTANCE + f"{section}: [{{id: p, user: bob, group: g}}]\n")


@pytest.mark.parametrize(
    ("option", "named"),
    [
        ("-G h", "-G h"),
        ("-app tool", "-app tool"),
        ("-m big", "-m big"),
        ("-m 'a big+1'", "-m big"),
        ("-m big -G h -app tool", "-app tool"),
    ],
)
def test_names_of_which_nothing_is_described_are_taken_and_named(option: str, named: str) -> None:
    """A snapshot without groups or profiles refuses what the cluster takes, or promises a start."""
    bare = loads("format: slotwise/1\nhosts: [{name: a, slots: 4}]\n")
    answer = ask(bare, f"bsub -n 2 -W 1:00 {option} ./a.out")
    assert any(item.what.startswith(f"{named}, which") for item in answer.omissions)
    assert (answer.line.start, answer.line.proved) == (0, False)
    with pytest.raises(InputError, match="unknown"):
        ask(instance(), f"bsub -n 2 -W 1:00 {option} ./a.out")
