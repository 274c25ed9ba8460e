"""Fairshare of Slurm's multifactor priority: associations, and their factors by past usage.

Fair Tree ranks the users by LevelFS from the root down; the classic formula (NO_FAIR_TREE) is
``2 ** -(usage / shares / damping)``. Read from priority/multifactor of 22.05 to 26.05.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

from .facts import Fact
from .slurm_priority import CALC_PERIOD
from .slurm_select import flags_of, number_of, words_of

if TYPE_CHECKING:
    from .job import Job

#: PriorityDecayHalfLife if it is not set (seconds).
HALF_LIFE = 7 * 86400
#: LevelFS of an account whose shares are ``parent`` (NO_VAL in Slurm): below no usage, above all
#: else.
_NO_LEVEL = 4294967294.0
#: Words of ``select_parameters`` for fairshare.
FAIRSHARE_WORDS = (
    "PriorityWeightFairshare", "PriorityDecayHalfLife", "FairShareDampeningFactor",
    "AccountingStorageEnforce",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Association:
    """An account of Slurm's accounting, or a user of an account, as sshare prints it."""

    #: Name of the account.
    account: Annotated[str, Fact("name")]
    #: Name of the user, "" if it is the account itself.
    user: Annotated[str, Fact("name")] = ""
    #: Parent account of an account, "" if it is the root; "" of a user.
    parent: Annotated[str, Fact("name")] = ""
    #: Partition of a user's association, "" if it counts for all partitions.
    partition: Annotated[str, Fact("name")] = ""
    #: Shares among its siblings (RawShares), None if they are its parent's (``parent``).
    shares: Annotated[int | None, Fact("count")] = None
    #: Decayed usage: billed TRES times seconds (RawUsage), of an account with all below it.
    usage: Annotated[float, Fact("amount")] = 0.0
    #: Fairshare factor of a user that present priorities contain (FairShare), None: by the usage.
    factor: Annotated[float | None, Fact("amount")] = None

    @property
    def title(self) -> str:
        """Return its name in messages: ``user bob of account physics``."""
        return f"user {self.user} of account {self.account}" if self.user else self.account


@dataclass(frozen=True, slots=True)
class SlurmLimit:
    """Limits of a QOS, or of an association, by Slurm's names of them (``GrpTRES`` …)."""

    #: "qos" or "association".
    of: Annotated[str, Fact("line")]
    #: Name of the QOS.
    name: Annotated[str, Fact("line")] = ""
    #: Account of the association, "" if the limit is of a QOS.
    account: Annotated[str, Fact("name")] = ""
    #: User of the association, "" if it covers the whole account.
    user: Annotated[str, Fact("name")] = ""
    #: Name of the parent account, "" if none.
    parent: Annotated[str, Fact("name")] = ""
    #: Limit as text, by its column in small letters.
    values: Annotated[Mapping[str, str], Fact("cells")] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FairshareRule:
    """The fairshare part of the priorities of pending jobs, and how usage decays."""

    #: PriorityWeightFairshare.
    weight: int
    #: PriorityDecayHalfLife (seconds), 0 without decay.
    half_life: int = HALF_LIFE
    #: PriorityCalcPeriod: seconds between two computations, counted from second 0.
    period: int = CALC_PERIOD
    #: FairShareDampeningFactor.
    damping: int = 1
    #: PriorityFlags that decide, in capitals.
    flags: frozenset[str] = frozenset()
    #: Whether the use of a job since the last computation counts at its end: without ``limits`` in
    #: AccountingStorageEnforce Slurm loses it.
    counts_ends: bool = True

    @property
    def decay(self) -> float:
        """Return the factor by which usage decays in one second, as Slurm approximates it."""
        return 1 - 0.693 / self.half_life if self.half_life else 1.0

    @property
    def is_fair_tree(self) -> bool:
        """Return whether users are ranked by Fair Tree."""
        return "NO_FAIR_TREE" not in self.flags

    def text(self) -> str:
        """Return the words of ``select_parameters`` that :func:`fairshare_rule` reads."""
        words = [
            f"PriorityWeightFairshare={self.weight}",
            f"PriorityDecayHalfLife={self.half_life}",
        ]
        words += [f"FairShareDampeningFactor={self.damping}"] if self.damping != 1 else []
        words += [f"PriorityFlags={'+'.join(sorted(self.flags))}"] if self.flags else []
        words += [] if self.counts_ends else ["AccountingStorageEnforce=associations"]
        return ",".join(words)


@lru_cache(maxsize=16)
def fairshare_rule(select_parameters: str) -> FairshareRule | None:
    """Return the fairshare part that ``select_parameters`` has, None if there is none."""
    own = words_of(select_parameters)[""]
    weight = number_of(own, "PriorityWeightFairshare", 0)
    if not weight:
        return None
    return FairshareRule(
        weight,
        number_of(own, "PriorityDecayHalfLife", HALF_LIFE),
        max(1, number_of(own, "PriorityCalcPeriod", CALC_PERIOD)),
        max(1, number_of(own, "FairShareDampeningFactor", 1)),
        flags_of(own),
        own.get("AccountingStorageEnforce", "limits") == "limits",
    )


@dataclass(slots=True)
class AssociationTree:
    """The associations by their order in the instance, and what their places in the tree decide."""

    associations: Sequence[Association]
    #: Parent of each association by number, None of the root.
    parent: list[int | None] = field(default_factory=list)
    #: Nearest account above each that has shares of its own (fs_assoc_ptr), None of the root.
    compared_under: list[int | None] = field(default_factory=list)
    #: Associations that are compared with each other, by the account above them.
    children: dict[int, list[int]] = field(default_factory=dict)
    #: Shares of all that are compared with each other, by the account above them.
    level_shares: dict[int, int] = field(default_factory=dict)
    #: Shares of each association as a part of those of its level (NormShares of Fair Tree).
    norm_shares: list[float] = field(default_factory=list)
    #: Numbers by account, user and partition.
    _known: dict[tuple[str, str, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, associations: Sequence[Association]) -> AssociationTree:
        """Return the tree of these associations; a parent that is not among them is the root."""
        tree = cls(associations)
        for number, item in enumerate(associations):
            tree._known.setdefault((item.account, item.user, item.partition), number)
        roots = (n for n, it in enumerate(associations) if it.account == "root" and not it.user)
        root = next(roots, 0)
        for number, item in enumerate(associations):
            above = tree._known.get((item.account if item.user else item.parent, "", ""), root)
            tree.parent.append(None if number == root else above)
        for number in range(len(associations)):
            above_it = tree._with_shares(tree.parent[number])
            tree.compared_under.append(above_it)
            if above_it is not None:
                tree.children.setdefault(above_it, []).append(number)
        for above, below in tree.children.items():
            tree.level_shares[above] = sum(associations[n].shares or 0 for n in below)
        for number, item in enumerate(associations):
            nearest = tree.compared_under[number]
            own = nearest if item.shares is None and nearest is not None else number
            tree.norm_shares.append(_level_part(tree, own))
        return tree

    def _with_shares(self, number: int | None) -> int | None:
        """Return the first account from `number` upwards that does not take its parent's shares."""
        steps = 0
        while number is not None and self.associations[number].shares is None:
            above = self.parent[number]
            steps += 1
            if above is None or steps > len(self.associations):
                break
            number = above
        return number

    def find(self, account: str, user: str, partition: str = "") -> int | None:
        """Return the number of the association of a job, None if there is none."""
        own = self._known.get((account, user, partition)) if partition else None
        return self._known.get((account, user, "")) if own is None else own

    def chain(self, number: int) -> list[int]:
        """Return an association and all above it, the root last."""
        found: list[int] = []
        at: int | None = number
        while at is not None and len(found) <= len(self.associations):
            found.append(at)
            at = self.parent[at]
        return found

    @property
    def root(self) -> int:
        """Return the number of the root."""
        return self.parent.index(None)

    @property
    def users(self) -> int:
        """Return the number of associations that are users."""
        return sum(bool(item.user) for item in self.associations)


def association_of(tree: AssociationTree, job: Job) -> int | None:
    """Return the number of the association that a job bills, None if it has none."""
    return tree.find(job.project.partition("/")[0], job.user, job.queue)


@dataclass(frozen=True, slots=True)
class Shares:
    """What sshare prints of one association."""

    #: Shares as a part of 1 (NormShares).
    norm_shares: float
    #: Usage as a part of that of the account above (Fair Tree), or effective usage (classic).
    effective_usage: float
    #: Fairshare factor, None of an account.
    factor: float | None
    #: LevelFS, None under the classic formula and of one whose shares are its parent's.
    level: float | None = None


def shares_of(
    tree: AssociationTree,
    usage: Sequence[float],
    rule: FairshareRule,
    accounts: Mapping[int, float] | None = None,
) -> list[Shares]:
    """Return what each association has at this usage (by number).

    accounts: effective usage of accounts by the computation before, which the classic formula
    takes; None: by this usage. (Fair Tree: effective usage of any association.)
    """
    if rule.is_fair_tree:
        return _fair_tree(tree, usage, accounts or {})
    return _classic(tree, usage, rule, accounts or {})


def factors_of(
    tree: AssociationTree,
    usage: Sequence[float],
    rule: FairshareRule,
    accounts: Mapping[int, float] | None = None,
) -> list[float]:
    """Return the fairshare factor of each user (by number, 0 of accounts), as :func:`shares_of`."""
    if rule.is_fair_tree:
        return _ranked(tree, _levels(tree, _parts_of_accounts(tree, usage, accounts or {})))
    return [item.factor or 0.0 for item in _classic(tree, usage, rule, accounts or {})]


def _fair_tree(
    tree: AssociationTree, usage: Sequence[float], given: Mapping[int, float]
) -> list[Shares]:
    effective = _parts_of_accounts(tree, usage, given)
    level = _levels(tree, effective)
    return [
        Shares(
            norm,
            used,
            factor if item.user else None,
            None if item.shares is None or above is None else own,
        )
        for item, norm, used, factor, above, own in zip(
            tree.associations, tree.norm_shares, effective, _ranked(tree, level), tree.parent,
            level, strict=True,
        )
    ]  # fmt: skip


def _parts_of_accounts(
    tree: AssociationTree, usage: Sequence[float], given: Mapping[int, float]
) -> list[float]:
    """Return the usage of each association as a part of that of the account above."""
    found = [
        1.0 if above is None else used / usage[above] if usage[above] else 0.0
        for used, above in zip(usage, tree.compared_under, strict=True)
    ]
    for number, used in given.items():
        if tree.compared_under[number] is not None:
            found[number] = used
    return found


def _levels(tree: AssociationTree, effective: Sequence[float]) -> list[float]:
    """Return LevelFS of each association."""
    return [
        (math.inf if item.user else _NO_LEVEL)
        if item.shares is None
        else 0.0
        if not norm
        else norm / used
        if used
        else math.inf
        for item, norm, used in zip(tree.associations, tree.norm_shares, effective, strict=True)
    ]


def _ranked(tree: AssociationTree, level: Sequence[float]) -> list[float]:
    """Return the factor of each user by its rank, 0 of accounts."""
    found = [0.0] * len(level)
    if level:
        ranks = _Ranks(tree, level)
        ranks.walk(tree.children.get(tree.root, []), tied=False)
        for number, factor in ranks.factors.items():
            found[number] = factor
    return found


def _level_part(tree: AssociationTree, number: int) -> float:
    """Return the shares of an association as a part of those of its level."""
    above = tree.compared_under[number]
    total = 0 if above is None else tree.level_shares[above]
    return (tree.associations[number].shares or 0) / total if total else 0.0


class _Ranks:
    """Fair Tree: users in the order of LevelFS from the root down; equal ones have one rank.

    Accounts of equal LevelFS follow each other, and the first user of a later one has the rank of
    the user before. Slurm's documents merge their users; its code, in all versions, does not.
    """

    def __init__(self, tree: AssociationTree, level: Sequence[float]) -> None:
        self._tree, self._level = tree, level
        self._users = max(1, tree.users)
        #: Rank of the user before, and the rank if no users were equal.
        self._rank = self._next = tree.users
        self.factors: dict[int, float] = {}

    def walk(self, siblings: Sequence[int], *, tied: bool) -> None:
        """Rank the users at and below these siblings; tied: the first equals the user before."""
        items, level = self._tree.associations, self._level
        ordered = sorted(siblings, key=lambda number: (-level[number], not items[number].user))
        before: float | None = None
        for place, number in enumerate(ordered):
            equal = tied if place == 0 and tied else before == level[number]
            if items[number].user:
                if not equal:
                    self._rank = self._next
                self.factors[number] = self._rank / self._users
                self._next -= 1
            else:
                self.walk(self._tree.children.get(number, ()), tied=equal)
            before = level[number]


def _classic(
    tree: AssociationTree,
    usage: Sequence[float],
    rule: FairshareRule,
    accounts: Mapping[int, float],
) -> list[Shares]:
    count = len(tree.associations)
    norm, used, effective = [1.0] * count, [0.0] * count, [1.0] * count
    total = usage[tree.root] if count else 0.0
    found: list[Shares | None] = [None] * count
    for number in _parents_first(tree):
        item, above = tree.associations[number], tree.compared_under[number]
        used[number] = min(1.0, usage[number] / total) if total else 0.0
        if above is None:
            found[number] = Shares(1.0, 1.0, None)
            continue
        if item.shares is None:
            norm[number] = norm[above]
        else:
            norm[number] = norm[above] * _level_part(tree, number)
        if number in accounts and not item.user:
            effective[number] = accounts[number]
        else:
            effective[number] = _effective_usage(tree, number, used, effective)
        own = above if item.shares is None else number
        factor = 0.0
        if norm[own] > 0:
            factor = 2.0 ** -(effective[own] / norm[own] / rule.damping)
        found[number] = Shares(norm[number], effective[number], factor if item.user else None)
    return [item for item in found if item is not None]


def _parents_first(tree: AssociationTree) -> list[int]:
    order = [tree.root] if tree.associations else []
    for number in order:
        order += tree.children.get(number, [])
    return order


def _effective_usage(
    tree: AssociationTree,
    number: int,
    used: Sequence[float],
    effective: Sequence[float],
) -> float:
    """Return the usage of an association with what its account brings to it (NO_FAIR_TREE)."""
    above, item = tree.compared_under[number], tree.associations[number]
    assert above is not None, "the root has no account above it"
    if above == tree.root:
        return used[number]
    if item.shares is None:
        return effective[above]
    total = tree.level_shares[above]
    if not total:
        return effective[above]
    return used[number] + (effective[above] - used[number]) * item.shares / total
