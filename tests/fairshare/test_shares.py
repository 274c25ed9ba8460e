"""Share assignments, share trees, and who is considered where."""

import pytest
from slotwise import UserGroup
from slotwise.model.shares import Groups, ShareLookup, share_tree
from slotwise.solver.fairshare.accounts import Factors, ShareTree

TEN = tuple(f"member{i}" for i in range(10))


def users(count: int) -> list[str]:
    return ["User1", "User2", *(f"other{i}" for i in range(count - 2))]


def groups(*defined: UserGroup) -> Groups:
    return Groups(defined)


@pytest.mark.behaviour("FSH-01")
@pytest.mark.parametrize(
    ("assignments", "count", "total"),
    [
        ([("User1", 1), ("GroupB", 1)], 12, 2),
        ([("User1", 10), ("GroupB@", 1)], 12, 20),
        ([("User1", 10), ("User2", 9), ("others", 8)], 12, 27),
        ([("User1", 10), ("User2", 9), ("others", 8)], 3, 27),
        ([("User1", 10), ("User2", 6), ("default", 4)], 3, 20),
        ([("User1", 10), ("User2", 6), ("default", 4)], 12, 56),
    ],
)
def test_totals_of_the_worked_examples(assignments, count, total):
    tree = share_tree("", assignments, groups(UserGroup("GroupB", TEN)))
    named = sum(child.shares for child in tree.children)
    others = set(users(count)) - tree.named
    assert named + (tree.default or 0) * len(others) == total


def documents_tree() -> Groups:
    """GroupB, GroupC and GroupA as the documents configure them."""
    return groups(
        UserGroup("GroupB", ("User1", "User2")),
        UserGroup("GroupC", ("User3", "User4"), (("User3", 3), ("User4", 4))),
        UserGroup("GroupA", ("GroupB", "GroupC", "User5"), (("User5", 1), ("default", 10))),
    )


@pytest.mark.behaviour("FSH-10")
def test_the_documents_tree():
    tree = share_tree("Engineering", [("GroupA", 1)], documents_tree())
    (top,) = tree.children
    assert [(node.name, node.shares) for node in top.children] == [
        ("User5", 1),
        ("GroupB", 10),
        ("GroupC", 10),
    ]
    group_b, group_c = top.children[1:]
    assert group_b.is_leaf
    assert group_b.users == {"User1", "User2"}
    assert [(node.name, node.shares) for node in group_c.children] == [("User3", 3), ("User4", 4)]


@pytest.mark.behaviour("FSH-10")
def test_the_groups_that_bugroup_shows():
    """group2 has others and user3; group3, whose members are all, has user2 and default."""
    known = groups(
        UserGroup("group2", ("user1", "user2", "user3"), (("others", 10), ("user3", 4))),
        UserGroup("group3", ("all",), (("user2", 10), ("default", 5))),
        UserGroup("group1", ("group2", "group3"), (("group2", 20), ("group3", 10))),
    )
    lookup = ShareLookup(share_tree("q", [("group1", 1)], known))
    assert lookup.accounts("user1") == (
        ("group1", "group2", "others"),
        ("group1", "group3", "user1"),
    )
    assert lookup.accounts("user3")[0] == ("group1", "group2", "user3")
    assert lookup.accounts("stranger") == (("group1", "group3", "stranger"),)
    tree = ShareTree(share_tree("q", [("group1", 1)], known), Factors())
    (account,) = tree.accounts("stranger")
    assert account.shares == 5
    assert tree.accounts("user2")[-1].shares == 10


def test_one_list_covers_a_user_once():
    known = groups(UserGroup("g", ("a", "b")), UserGroup("h", ("b", "c")))
    tree = share_tree("q", [("g@", 2), ("h@", 3), ("a", 7)], known)
    assert {node.name: node.shares for node in tree.children} == {"b": 2, "c": 3, "a": 7}
    everyone = groups(UserGroup("g", ("all",)))
    lookup = ShareLookup(share_tree("q", [("g", 2), ("default", 1)], everyone))
    assert lookup.accounts("anyone") == (("g",),)
    lookup = ShareLookup(share_tree("q", [("g@", 2)], everyone))
    assert lookup.accounts("anyone") == (("anyone",),)
