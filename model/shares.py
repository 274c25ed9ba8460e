"""Share assignments and share trees (FSH-01, FSH-10, FSH-13).

A policy (a queue, a cross-queue set, a host partition) names its share accounts in a
``USER_SHARES`` list; a user group may divide what it gets by a list of its own. Together they make
a tree of :class:`ShareNode`. The tree is plain data: what the accounts have used is kept by
``solver/fairshare/accounts.py``.

Decisions where the documents are silent:

* Below a group, ``default`` gives every *direct* member that is not named an account of its own, a
  subgroup as a whole with its own tree; ``others`` gives all of them together one account. At the
  top, and in a group whose members are ``all``, both speak of users.
* Who is named alone and is also in a ``group@`` of the same list has only the account of his name;
  who is in two ``group@`` has the account of the first.
* Who is named alone and is in a group that shares collectively has both (FSH-13).

Fairshare policies of an instance: queue sets, host partitions, slot pools (FSH-07 … QBF-01). Their
validity rules are in ``share_rules.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .absolute_priority import AbsolutePriority
from .cluster import Cluster, NamedHosts
from .configuration import HostPartition, Queue, User, UserGroup
from .instance import Instance

Assignments = Sequence[tuple[str, int]]

DEFAULT = "default"
OTHERS = "others"
EVERYONE = "all"


@dataclass(frozen=True, slots=True)
class ShareNode:
    """One share account of a tree, or its root."""

    #: Name of the account.
    name: str
    #: Number of shares (0 for the root).
    shares: int
    #: Users of the account; None: all users not in `named`.
    users: frozenset[str] | None = None
    #: Accounts below it, in order of the list; jobs of a leaf are first come, first served.
    children: tuple[ShareNode, ...] = ()
    #: Shares of a user who gets an account on first submission, None if there is no ``default``.
    default: int | None = None
    #: Users with their own share, whom `default` and `others` of this level do not cover.
    named: frozenset[str] = frozenset()
    #: Groups by which ``bsub -G`` selects this account.
    groups: frozenset[str] = frozenset()

    @property
    def is_leaf(self) -> bool:
        """Return whether jobs are charged here (a user, or a group without a share tree)."""
        return not self.children and self.default is None

    def serves(self, user: str) -> bool:
        """Return whether a user is a member of the account."""
        return user in self.users if self.users is not None else user not in self.named


class Groups:
    """Membership of users in user groups, subgroups included.

    A member ``~name`` is excluded, even if something else lists it. Groups that contain themselves
    are reported by ``model/shares.py``; here each is read once.
    """

    def __init__(self, groups: Iterable[UserGroup]) -> None:
        self.by_name: Mapping[str, UserGroup] = {group.name: group for group in groups}
        self._users: dict[str, frozenset[str] | None] = {}
        self._subgroups: dict[str, tuple[str, ...]] = {}
        self._within: dict[str, tuple[str, ...]] = {}
        self._lists: dict[tuple[str, ...], tuple[tuple[Any, frozenset[str] | None], ...]] = {}

    def __contains__(self, name: object) -> bool:
        return name in self.by_name

    def subgroups(self, name: str) -> tuple[str, ...]:
        """Return the groups among the direct members of `name`."""
        if name not in self._subgroups:
            members = self.by_name[name].members
            self._subgroups[name] = tuple(item for item in members if item in self.by_name)
        return self._subgroups[name]

    def within(self, name: str) -> tuple[str, ...]:
        """Return `name` and every group below it, each once."""
        if name not in self._within:
            found = {name: None}
            waiting = [name]
            for group in waiting:
                new = [sub for sub in self.subgroups(group) if sub not in found]
                found.update(dict.fromkeys(new))
                waiting += dict.fromkeys(new)
            self._within[name] = tuple(found)
        return self._within[name]

    def users(self, name: str) -> frozenset[str] | None:
        """Return every user of group `name` and its subgroups; None if ``all`` is a member."""
        # An explicit stack, because groups may exclude each other (``~``) to any depth.
        waiting = [] if name in self._users else [name]
        while waiting:
            group = waiting[-1]
            excepted = {item[1:] for item in self.by_name[group].members if item.startswith("~")}
            ahead = (excepted & self.by_name.keys()) - self._users.keys()
            # Until they are computed they count as empty, and so they do within a cycle of groups.
            self._users.update(dict.fromkeys({group, *ahead}, frozenset()))
            waiting += sorted(ahead)
            if not ahead:
                self._users[waiting.pop()] = self._members_of(group)
        return self._users[name]

    def _members_of(self, name: str) -> frozenset[str] | None:
        """Return the users of a group whose exceptions are known."""
        members = {item for group in self.within(name) for item in self.by_name[group].members}
        found = self.members_users(members - self.by_name.keys())
        return None if found is None else found - self.left_out(name)

    def left_out(self, name: str) -> frozenset[str]:
        """Return the users that group `name` excludes with ``~``."""
        excepted = [item[1:] for item in self.by_name[name].members if item.startswith("~")]
        return self.members_users(excepted) or frozenset() if excepted else frozenset()

    def members_users(self, members: Iterable[str]) -> frozenset[str] | None:
        """Return the users in a list of users and groups; None if ``all`` is among them."""
        found: set[str] = set()
        for member in members:
            if member == EVERYONE:
                return None
            if member in self.by_name:
                inner = self.users(member) if member not in self._users else self._users[member]
                if inner is None:
                    return None
                found |= inner
            elif not member.startswith("~"):
                found.add(member)
        return frozenset(found)

    def ordered_users(self, name: str) -> tuple[str, ...]:
        """Return the users of a group in the order in which its members are listed."""
        members = (item for group in self.within(name) for item in self.by_name[group].members)
        users = self.users(name) or frozenset()
        return tuple(dict.fromkeys(member for member in members if member in users))

    def contains_user(self, name: str, user: str) -> bool:
        """Return whether `user` is a member of group `name`, recursively."""
        users = self.users(name)
        return user not in self.left_out(name) if users is None else user in users

    def includes(self, name: str, user: str) -> bool:
        """Return whether a name is that of a user, of a group with the user, or ``all``."""
        return name in (user, EVERYONE) or (name in self and self.contains_user(name, user))

    def admits(self, names: tuple[str, ...], user: str) -> bool:
        """Return whether a list includes a user; ``~`` marks exceptions, from all if alone."""
        if names not in self._lists:
            listed = tuple(name for name in names if name[0] != "~") or (EVERYONE,)
            excepted = tuple(name[1:] for name in names if name[0] == "~")
            each = tuple((part, self.members_users(part)) for part in (listed, excepted))
            self._lists[names] = each
        wanted, excluded = (
            any(self.includes(name, user) for name in part) if found is None else user in found
            for part, found in self._lists[names]
        )
        return wanted and not excluded

    def served(self, name: str, user: str) -> frozenset[str]:
        """Return `name` and those groups below it that contain `user`."""
        return frozenset(
            group for group in self.within(name) if group == name or self.contains_user(group, user)
        )


def entries_of(users: Sequence[User], user: str, groups: Groups) -> Iterator[tuple[User, bool]]:
    """Yield the entries of lsb.users for a user, and whether each counts the user alone."""
    listed = any(user == entry.name for entry in users)
    for entry in users:
        name = entry.name.rstrip("@")
        default = name == "default" and not listed
        if default or groups.includes(name, user):
            yield entry, default or entry.name.endswith("@") or name == user


def share_tree(name: str, assignments: Assignments, groups: Groups) -> ShareNode:
    """Return the share tree of one policy.

    name: of the policy. assignments: its USER_SHARES. Unknown names count as users; the rules of
    ``model/shares.py`` report errors before a tree is built.
    """
    return _Level(assignments, (EVERYONE,), groups, frozenset()).node(name, 0)


#: Names of the accounts from below the root down to one account.
Path = tuple[str, ...]


class ShareLookup:
    """Look-up of the accounts of a tree to which a user's jobs belong (FSH-13)."""

    def __init__(self, tree: ShareNode) -> None:
        #: Accounts by user, and accounts of several users, each with its number in the walk.
        self._own: dict[str, list[tuple[int, Path, ShareNode]]] = {}
        self._common: list[tuple[int, Path, ShareNode]] = []
        self._open: list[tuple[Path, ShareNode]] = []
        self._count = 0
        self._walk(tree, ())

    def _walk(self, node: ShareNode, path: Path) -> None:
        for child in node.children:
            self._walk(child, (*path, child.name))
        if node.default is not None or (node.is_leaf and node.users is None):
            self._open.append((path, node))
        elif node.is_leaf:
            self._count += 1
            place = (self._count, path, node)
            users = node.users or frozenset()
            if len(users) == 1:
                self._own.setdefault(next(iter(users)), []).append(place)
            else:
                self._common.append(place)

    def accounts(self, user: str, group: str = "") -> tuple[Path, ...]:
        """Return the paths of the accounts of `user`; with `group` only those under ``-G group``.

        Empty if the user has no share. An account of ``default`` is named by the user.
        """
        common = (place for place in self._common if place[2].users and user in place[2].users)
        places = sorted([*self._own.get(user, ()), *common], key=lambda place: place[0])
        found = [path for _, path, node in places if not group or group in node.groups]
        for path, node in self._open:
            if node.serves(user) and (not group or group in node.groups):
                found.append((*path, user) if node.default is not None else path)
        return tuple(found)


class _Level:
    """One USER_SHARES list, applied to the members it divides."""

    def __init__(
        self,
        assignments: Assignments,
        members: Sequence[str],
        groups: Groups,
        above: frozenset[str],
        left_out: frozenset[str] = frozenset(),
    ) -> None:
        self.members = members
        self.groups = groups
        self.above = above
        self.shares = dict(assignments)
        self.open = EVERYONE in members
        self.alone = frozenset(
            name for name in self.shares if name not in (DEFAULT, OTHERS) and not self._group(name)
        )
        self.named_groups = frozenset(filter(None, map(self._group, self.shares)))
        named_users = [groups.users(group) for group in self.named_groups]
        self.anyone_left = None not in named_users
        named = [self.alone, left_out, *filter(None, named_users)]
        large = [users for users in named if users]
        self.named = large[0] if len(large) == 1 else frozenset[str]().union(*large)

    def _group(self, name: str) -> str:
        """Return the group that the name in an assignment denotes, "" if none."""
        bare = name.removesuffix("@")
        return bare if bare in self.groups else ""

    def _takes_the_rest(self, name: str) -> bool:
        """Return whether all users without another share count as members, as these are unknown."""
        group = self._group(name)
        unknown = not group or not self.groups.by_name[group].members
        return unknown and self.open and self.shares.keys().isdisjoint((DEFAULT, OTHERS))

    def node(self, name: str, shares: int) -> ShareNode:
        """Return the account `name`, whose shares this list divides."""
        children: dict[str, ShareNode] = {}
        default: int | None = None
        for assigned, number in self.shares.items():
            if assigned in (DEFAULT, OTHERS) and not self.anyone_left:
                continue
            if assigned == DEFAULT and self.open:
                default = number
            elif assigned == DEFAULT:
                for member in self._left():
                    children.setdefault(member, self._account(member, number))
            elif assigned == OTHERS:
                children[OTHERS] = self._others(number)
            elif assigned.endswith("@") and self._takes_the_rest(assigned):
                default = number
            elif assigned.endswith("@") and self._group(assigned):
                default = self._members_of(self._group(assigned), number, children) or default
            else:
                children[assigned] = self._account(assigned, number)
        return ShareNode(
            name,
            shares,
            children=tuple(children.values()),
            default=default,
            named=self.named,
            groups=self.above,
        )

    def _left(self) -> tuple[str, ...]:
        """Return the direct members that no other assignment of the list covers."""
        return tuple(
            member
            for member in self.members
            if member not in self.named
            and member not in self.named_groups
            and not member.startswith("~")
        )

    def _others(self, shares: int) -> ShareNode:
        if self.open:
            return ShareNode(OTHERS, shares, named=self.named, groups=self.above)
        left = self._left()
        inner = (
            name for member in left if member in self.groups for name in self.groups.within(member)
        )
        users = self.groups.members_users(left)
        assert users is not None, "a closed level has no open member"
        return ShareNode(
            OTHERS, shares, users=users - self.named, groups=self.above | frozenset(inner)
        )

    def _members_of(self, group: str, shares: int, children: dict[str, ShareNode]) -> int | None:
        """Add the accounts of ``group@``, one for each user; ``all`` users get theirs on
        submission.
        """
        if self.groups.users(group) is None:
            return shares
        for user in self.groups.ordered_users(group):
            if user not in self.alone:
                served = self.above | self.groups.served(group, user)
                children.setdefault(
                    user, ShareNode(user, shares, users=frozenset({user}), groups=served)
                )
        return None

    def _account(self, name: str, shares: int) -> ShareNode:
        """Return the account of one user, or of a group as a whole."""
        if name not in self.groups:
            return ShareNode(name, shares, users=frozenset({name}), groups=self.above)
        group = self.groups.by_name[name]
        within = frozenset(self.groups.within(name))
        left_out = self.groups.left_out(name)
        if not group.user_shares:
            users = self.groups.users(name)
            return ShareNode(name, shares, users=users, named=left_out, groups=within)
        level = _Level(group.user_shares, group.members, self.groups, frozenset({name}), left_out)
        return level.node(name, shares)


@dataclass(frozen=True, slots=True)
class QueueSet:
    """Queues that share one policy: a fairshare queue alone, or a cross-queue set (FSH-09)."""

    #: Names of the queues: the master first, then FAIRSHARE_QUEUES in their order.
    queues: tuple[str, ...]
    #: Pairs of a name and its shares.
    shares: tuple[tuple[str, int], ...]
    #: Whether DISPATCH_ORDER=QUEUE.
    ordered: bool = False

    @property
    def master(self) -> str:
        """Return the queue that defines the policy and gives it its name."""
        return self.queues[0]


@dataclass(frozen=True, slots=True)
class SlotPool:
    """A pool of queues (QBF-01)."""

    #: Name of the pool.
    name: str
    #: Names of the queues in order of priority, equal ones as configured.
    queues: tuple[str, ...]
    #: SLOT_SHARE of each queue, in percent.
    shares: tuple[float, ...]
    #: Hosts that the queues share.
    hosts: tuple[str, ...]
    #: Maximum number of slots of the pool that its queues may use, as its first queue says.
    max_slots: int | None = None
    #: Whether queue priorities count in the pool, as its first queue says.
    use_priority: bool = False


def queue_sets(instance: Instance) -> tuple[QueueSet, ...]:
    """Return every queue-level policy, in the order of the queues that define them.

    FAIRSHARE of a queue that another one lists is ignored, as documented. In a queue with absolute
    priority QUEUE_GROUP counts instead of FAIRSHARE_QUEUES.
    """
    listed = {name for queue in instance.queues for name in _sharing(queue)}
    return tuple(
        QueueSet(
            (queue.name, *_sharing(queue)),
            queue.user_shares,
            queue.dispatch_order.upper() == "QUEUE",
        )
        for queue in instance.queues
        if queue.user_shares and (queue.name not in listed or _sharing(queue))
    )


def _sharing(queue: Queue) -> tuple[str, ...]:
    """Return the queues whose jobs a queue orders together with its own."""
    return queue.fairshare_queues if queue.aps_priority is None else queue.queue_group


@dataclass(frozen=True, slots=True)
class ApsGroup:
    """Queues whose pending jobs are ordered together by absolute priority."""

    #: Names of the queues: the one with APS_PRIORITY, then those of its QUEUE_GROUP.
    queues: tuple[str, ...]
    #: Formula of the priority.
    formula: AbsolutePriority

    @property
    def parent(self) -> str:
        """Return the queue that has the formula."""
        return self.queues[0]


def aps_groups(instance: Instance) -> tuple[ApsGroup, ...]:
    """Return every APS group, in the order of the queues that define them.

    APS_PRIORITY of a queue that another one lists is ignored: the parent's counts.
    """
    listed = {name for queue in instance.queues for name in grouped_queues(queue)}
    return tuple(
        ApsGroup((queue.name, *grouped_queues(queue)), queue.aps_priority)
        for queue in instance.queues
        if queue.aps_priority is not None and queue.name not in listed
    )


def grouped_queues(queue: Queue) -> tuple[str, ...]:
    """Return the queues whose jobs are ordered with those of a queue; () without absolute
    priority.
    """
    return queue.queue_group if queue.aps_priority is not None else ()


def queue_hosts(known: Cluster | NamedHosts, queue: Queue) -> tuple[str, ...]:
    """Return the hosts of HOSTS of a queue, in the cluster's order; all if it is empty."""
    return expand_hosts(known, queue_host_names(queue))


def queue_host_names(queue: Queue) -> tuple[str, ...]:
    """Return HOSTS of a queue as a list of names; ``all`` if it is empty."""
    names = [request.name for request in queue.hosts] or [EVERYONE]
    return (*names, *(f"~{name}" for name in queue.excluded_hosts))


def partition_hosts(known: Cluster | NamedHosts, partition: HostPartition) -> tuple[str, ...]:
    """Return the hosts of a partition: names, groups and ``all``, without ``~`` names (FSH-08)."""
    return expand_hosts(known, partition.hosts)


def hosts_beside(instance: Instance, held: Iterable[str]) -> frozenset[str]:
    """Return the hosts that a job may use together with `held`: of one partition, or of none
    (FSH-08).
    """
    known, own = NamedHosts(instance.cluster), frozenset(held)
    sides = [frozenset(partition_hosts(known, each)) for each in instance.partitions]
    around = [side for side in sides if own <= side]
    everywhere = frozenset(known.all)
    return everywhere.intersection(*around) if around else everywhere.difference(*sides)


def expand_hosts(known: Cluster | NamedHosts, names: Iterable[str]) -> tuple[str, ...]:
    """Return the hosts of a list of hosts, groups, ``all``, ``others`` and ``~`` exceptions."""
    return (known if isinstance(known, NamedHosts) else NamedHosts(known)).listed(names)


def pools(instance: Instance) -> tuple[SlotPool, ...]:
    """Return the pools of queues, in the order in which their first queue is configured."""
    members: dict[str, list[Queue]] = {}
    for queue in instance.queues:
        if queue.slot_pool:
            members.setdefault(queue.slot_pool, []).append(queue)
    known = NamedHosts(instance.cluster) if members else instance.cluster
    return tuple(
        SlotPool(
            name,
            queues=tuple(queue.name for queue in ranked),
            shares=tuple(queue.slot_share or 0.0 for queue in ranked),
            hosts=queue_hosts(known, queues[0]),
            max_slots=queues[0].max_slots_in_pool,
            use_priority=queues[0].use_priority_in_pool,
        )
        for name, queues in members.items()
        for ranked in [sorted(queues, key=lambda queue: -queue.priority)]
    )
