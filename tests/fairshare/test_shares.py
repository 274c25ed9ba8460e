"""Share assignments, share trees, and who is considered where."""

import pytest
from slotwise import UserGroup
from slotwise.model.shares import Groups, ShareLookup, share_tree
from slotwise.solver.fairshare.accounts import Change, Factors, ShareTree

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


@pytest.mark.behaviour("FSH-01")
def test_others_share_one_account_and_default_gives_each_his_own():
    tree = ShareLookup(share_tree("q", [("User1", 10), ("others", 8)], groups()))
    assert tree.accounts("a") == tree.accounts("b") == (("others",),)
    tree = ShareLookup(share_tree("q", [("User1", 10), ("default", 8)], groups()))
    assert tree.accounts("a") == (("a",),)
    assert tree.accounts("User1") == (("User1",),)
    assert ShareLookup(share_tree("q", [("User1", 10)], groups())).accounts("a") == ()


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
def test_at_cuts_the_hierarchy():
    tree = share_tree("q", [("GroupA@", 2)], documents_tree())
    assert [(node.name, node.shares) for node in tree.children] == [
        ("User5", 2),
        ("User1", 2),
        ("User2", 2),
        ("User3", 2),
        ("User4", 2),
    ]
    assert all(node.is_leaf for node in tree.children)


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


@pytest.mark.behaviour("FSH-10")
def test_consumption_is_summed_up_the_tree():
    tree = ShareTree(share_tree("q", [("GroupA", 1)], documents_tree()), Factors())
    (user3,) = tree.accounts("User3")
    (user4,) = tree.accounts("User4")
    (user1,) = tree.accounts("User1")
    tree.book(user3, 0, Change(slots=2, run_rate=1))
    tree.book(user4, 100, Change(slots=3, run_rate=1))
    tree.book(user1, 200, Change(slots=5, run_rate=1))
    group_c = tree.account(("GroupA", "GroupC"))
    assert (tree.usage(group_c, 300).slots, tree.usage(group_c, 300).run_time) == (5, 500)
    assert (tree.usage(tree.root, 300).slots, tree.usage(tree.root, 300).run_time) == (10, 600)
    assert group_c.path == ("GroupA", "GroupC")


@pytest.mark.behaviour("FSH-13")
def test_a_user_under_several_accounts_is_considered_under_each():
    known = groups(UserGroup("groupA", ("User1", "User2")))
    lookup = ShareLookup(share_tree("q", [("User1", 1), ("groupA", 1)], known))
    assert lookup.accounts("User1") == (("User1",), ("groupA",))
    assert lookup.accounts("User1", "groupA") == (("groupA",),)
    assert lookup.accounts("User2") == (("groupA",),)


@pytest.mark.behaviour("FSH-13")
def test_a_group_below_a_group_can_be_chosen():
    """User1 alone, and in GroupB and, below GroupC, in GroupD."""
    known = groups(
        UserGroup("GroupB", ("User1", "x"), (("default", 1),)),
        UserGroup("GroupD", ("User1", "y")),
        UserGroup("GroupC", ("GroupD", "z"), (("default", 1),)),
        UserGroup("GroupA", ("GroupB", "GroupC"), (("default", 1),)),
    )
    lookup = ShareLookup(share_tree("q", [("User1", 1), ("GroupA", 1)], known))
    assert lookup.accounts("User1", "GroupB") == (("GroupA", "GroupB", "User1"),)
    assert lookup.accounts("User1", "GroupD") == (("GroupA", "GroupC", "GroupD"),)
    assert len(lookup.accounts("User1")) == 3
    flat = ShareLookup(share_tree("q", [("GroupC@", 1)], known))
    assert flat.accounts("User1", "GroupD") == (("User1",),)


def test_one_list_covers_a_user_once():
    known = groups(UserGroup("g", ("a", "b")), UserGroup("h", ("b", "c")))
    tree = share_tree("q", [("g@", 2), ("h@", 3), ("a", 7)], known)
    assert {node.name: node.shares for node in tree.children} == {"b": 2, "c": 3, "a": 7}
    everyone = groups(UserGroup("g", ("all",)))
    lookup = ShareLookup(share_tree("q", [("g", 2), ("default", 1)], everyone))
    assert lookup.accounts("anyone") == (("g",),)
    lookup = ShareLookup(share_tree("q", [("g@", 2)], everyone))
    assert lookup.accounts("anyone") == (("anyone",),)


def test_members_that_are_left_out():
    known = groups(
        UserGroup("inner", ("a", "b")),
        UserGroup("most", ("all", "~b"), (("default", 2),)),
        UserGroup("some", ("inner", "c", "~b")),
    )
    lookup = ShareLookup(share_tree("q", [("most", 2), ("some@", 1)], known))
    assert lookup.accounts("b") == ()
    assert lookup.accounts("a") == (("a",), ("most", "a"))
    assert known.contains_user("most", "x")
    assert not known.contains_user("most", "b")
    flat = ShareLookup(share_tree("q", [("some", 1)], known))
    assert (flat.accounts("c"), flat.accounts("b")) == ((("some",),), ())
