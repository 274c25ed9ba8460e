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
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .absolute_priority import AbsolutePriority
from .cluster import Cluster, NamedHosts
from .configuration import HostPartition, Queue, UserGroup
from .instance import Instance

Assignments = Sequence[tuple[str, int]]

DEFAULT = "default"
OTHERS = "others"
EVERYONE = "all"


@dataclass(frozen=True, slots=True)
class ShareNode:
    """One share account of a tree, or its root."""

    name: str
    #: number_shares (0 for the root).
    shares: int
    #: Whom the account serves, None for everyone whom `named` leaves over.
    users: frozenset[str] | None = None
    #: Its accounts in the order of the list; a leaf's jobs are first come, first served.
    children: tuple[ShareNode, ...] = ()
    #: Shares of each user who gets an account as he comes, else None.
    default: int | None = None
    #: Users who are named beside an open account, whom `default` and `others` do not cover.
    named: frozenset[str] = frozenset()
    #: What ``bsub -G`` may name to mean this account.
    groups: frozenset[str] = frozenset()

    @property
    def is_leaf(self) -> bool:
        """Whether jobs wait here (a user, or a group without a share tree)."""
        return not self.children and self.default is None

    def serves(self, user: str) -> bool:
        """Whether the account is `user`'s as far as membership goes."""
        return user in self.users if self.users is not None else user not in self.named


class Groups:
    """Who is in which user group, subgroups included.

    A member ``~name`` is left out, whatever else lists it. Groups that contain themselves are
    reported by ``model/shares.py``; here each is read once.
    """

    def __init__(self, groups: Iterable[UserGroup]) -> None:
        self.by_name: Mapping[str, UserGroup] = {group.name: group for group in groups}
        self._users: dict[str, frozenset[str] | None] = {}
        self._subgroups: dict[str, tuple[str, ...]] = {}
        self._within: dict[str, tuple[str, ...]] = {}

    def __contains__(self, name: object) -> bool:
        return name in self.by_name

    def subgroups(self, name: str) -> tuple[str, ...]:
        """The groups among the direct members of `name`."""
        if name not in self._subgroups:
            members = self.by_name[name].members
            self._subgroups[name] = tuple(item for item in members if item in self.by_name)
        return self._subgroups[name]

    def within(self, name: str) -> tuple[str, ...]:
        """`name` and every group below it, each once."""
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
        """Every user of group `name`, of subgroups too; None where ``all`` is a member."""
        # No recursion: groups may except each other (``~``) to any depth.
        waiting = [] if name in self._users else [name]
        while waiting:
            group = waiting[-1]
            excepted = {item[1:] for item in self.by_name[group].members if item.startswith("~")}
            ahead = (excepted & self.by_name.keys()) - self._users.keys()
            # Until they are known they count as empty, which they stay within a ring.
            self._users.update(dict.fromkeys({group, *ahead}, frozenset()))
            waiting += sorted(ahead)
            if not ahead:
                self._users[waiting.pop()] = self._members_of(group)
        return self._users[name]

    def _members_of(self, name: str) -> frozenset[str] | None:
        """The users of a group whose exceptions are known."""
        members = {item for group in self.within(name) for item in self.by_name[group].members}
        found = self.members_users(members - self.by_name.keys())
        return None if found is None else found - self.left_out(name)

    def left_out(self, name: str) -> frozenset[str]:
        """Users whom group `name` excepts with ``~``."""
        excepted = [item[1:] for item in self.by_name[name].members if item.startswith("~")]
        return self.members_users(excepted) or frozenset() if excepted else frozenset()

    def members_users(self, members: Iterable[str]) -> frozenset[str] | None:
        """Users that a list of users and groups stands for; None where ``all`` is among them."""
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
        """Users of a group in the order in which its members are listed."""
        members = (item for group in self.within(name) for item in self.by_name[group].members)
        users = self.users(name) or frozenset()
        return tuple(dict.fromkeys(member for member in members if member in users))

    def contains_user(self, name: str, user: str) -> bool:
        """Whether `user` is a member of group `name`, recursively."""
        users = self.users(name)
        return user not in self.left_out(name) if users is None else user in users

    def served(self, name: str, user: str) -> frozenset[str]:
        """`name` and those groups below it that contain `user`."""
        return frozenset(
            group for group in self.within(name) if group == name or self.contains_user(group, user)
        )


def share_tree(name: str, assignments: Assignments, groups: Groups) -> ShareNode:
    """The share tree of one policy.

    name: of the policy. assignments: its USER_SHARES. Unknown names count as users; the rules of
    ``model/shares.py`` report what is wrong before anything is built from it.
    """
    level = _Level(assignments, (EVERYONE,), groups, frozenset())
    return level.node(name, 0)


#: Names from below the root down to an account.
Path = tuple[str, ...]


class ShareLookup:
    """Under which accounts of a tree a user's jobs are considered (FSH-13)."""

    def __init__(self, tree: ShareNode) -> None:
        #: Accounts of one user and of several, each with its number in the walk.
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
        """Paths of the accounts of `user`, of those under ``-G group`` alone where it is given.

        Empty when he has no share. An account of ``default`` is named by the user.
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
        """The group that an assignment's name stands for, "" if none."""
        bare = name.removesuffix("@")
        return bare if bare in self.groups else ""

    def _takes_the_rest(self, name: str) -> bool:
        """Whether users without another share are taken for the members, whom nothing names."""
        group = self._group(name)
        unknown = not group or not self.groups.by_name[group].members
        return unknown and self.open and self.shares.keys().isdisjoint((DEFAULT, OTHERS))

    def node(self, name: str, shares: int) -> ShareNode:
        """The account `name` whose shares this list divides."""
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
        """Direct members whom no other assignment of the list covers."""
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
        """``group@``: an account for each user; for ``all`` users, as they come."""
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
        """The account of one user, or of a group as a whole."""
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


# Fairshare policies of an instance: queue sets, host partitions, slot pools (FSH-07 … QBF-01).
#
# What they must not be is stated by ``share_rules.py``.


@dataclass(frozen=True, slots=True)
class QueueSet:
    """Queues that share one policy: a fairshare queue alone, or a cross-queue set (FSH-09)."""

    #: The master first, then FAIRSHARE_QUEUES in their order.
    queues: tuple[str, ...]
    shares: tuple[tuple[str, int], ...]
    #: DISPATCH_ORDER=QUEUE.
    ordered: bool = False

    @property
    def master(self) -> str:
        """The queue that defines the policy; the set goes by its name."""
        return self.queues[0]


@dataclass(frozen=True, slots=True)
class SlotPool:
    """A pool of queues (QBF-01)."""

    name: str
    #: In order of priority, equal ones as configured.
    queues: tuple[str, ...]
    #: SLOT_SHARE of each, in percent.
    shares: tuple[float, ...]
    #: Which they share.
    hosts: tuple[str, ...]
    #: The most slots of the pool that its queues may use, as the first queue says.
    max_slots: int | None = None
    #: Whether the priorities of the queues count in it, as the first queue says.
    use_priority: bool = False


def queue_sets(instance: Instance) -> tuple[QueueSet, ...]:
    """Every queue-level policy, in the order of the queues that define them.

    A FAIRSHARE of its own in a queue that another one lists is ignored, as documented. In a queue
    with absolute priority QUEUE_GROUP counts in the place of FAIRSHARE_QUEUES.
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
    """The queues whose jobs a queue orders with its own."""
    return queue.fairshare_queues if queue.aps_priority is None else queue.queue_group


@dataclass(frozen=True, slots=True)
class ApsGroup:
    """Queues whose pending jobs stand in one order by absolute priority."""

    #: The queue with APS_PRIORITY, then those of its QUEUE_GROUP.
    queues: tuple[str, ...]
    formula: AbsolutePriority

    @property
    def parent(self) -> str:
        """The queue that has the formula."""
        return self.queues[0]


def aps_groups(instance: Instance) -> tuple[ApsGroup, ...]:
    """Every group, in the order of the queues that define them.

    An APS_PRIORITY of its own in a queue that another one lists is ignored: the parent's counts.
    """
    listed = {name for queue in instance.queues for name in grouped_queues(queue)}
    return tuple(
        ApsGroup((queue.name, *grouped_queues(queue)), queue.aps_priority)
        for queue in instance.queues
        if queue.aps_priority is not None and queue.name not in listed
    )


def grouped_queues(queue: Queue) -> tuple[str, ...]:
    """Queues whose jobs stand in one order with its own; () without absolute priority."""
    return queue.queue_group if queue.aps_priority is not None else ()


def queue_hosts(known: Cluster | NamedHosts, queue: Queue) -> tuple[str, ...]:
    """Hosts that HOSTS of a queue stands for, in the cluster's order; all where it is empty."""
    return expand_hosts(known, queue_host_names(queue))


def queue_host_names(queue: Queue) -> tuple[str, ...]:
    """HOSTS of a queue as a list of names; ``all`` where it is empty."""
    names = [request.name for request in queue.hosts] or [EVERYONE]
    return (*names, *(f"~{name}" for name in queue.excluded_hosts))


def partition_hosts(known: Cluster | NamedHosts, partition: HostPartition) -> tuple[str, ...]:
    """Hosts of a partition: names, groups and ``all``, without those marked ``~`` (FSH-08)."""
    return expand_hosts(known, partition.hosts)


def hosts_beside(instance: Instance, held: Iterable[str]) -> frozenset[str]:
    """Hosts that a job with these may have beside them: of its partitions, or of none (FSH-08)."""
    known, own = NamedHosts(instance.cluster), frozenset(held)
    sides = [frozenset(partition_hosts(known, each)) for each in instance.partitions]
    around = [side for side in sides if own <= side]
    everywhere = frozenset(known.all)
    return everywhere.intersection(*around) if around else everywhere.difference(*sides)


def expand_hosts(known: Cluster | NamedHosts, names: Iterable[str]) -> tuple[str, ...]:
    """Hosts that a list of hosts, groups, ``all``, ``others`` and ``~`` exceptions stands for."""
    return (known if isinstance(known, NamedHosts) else NamedHosts(known)).listed(names)


def pools(instance: Instance) -> tuple[SlotPool, ...]:
    """The pools of queues, in the order in which their first queue is configured."""
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
