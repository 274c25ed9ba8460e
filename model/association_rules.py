"""Rules of the associations of Slurm's accounting."""

from __future__ import annotations

from collections.abc import Iterator

from .errors import Problem, nearest
from .instance import Instance

#: Maximum depth of nested accounts.
_DEEPEST = 100


def association_problems(instance: Instance) -> Iterator[Problem]:
    """Yield duplicates, unknown accounts, accounts in a circle and accounts nested too deep."""
    items = instance.associations
    parents = {item.account: item.parent for item in items if not item.user}
    seen: set[tuple[str, str, str]] = set()
    for number, item in enumerate(items):
        place = f"associations[{number}]"
        key = item.account, item.user, item.partition
        if key in seen:
            yield Problem(f"{item.title} is given already", path=f"{place}.account")
        seen.add(key)
        if item.user and item.account not in parents:
            known = nearest(item.account, parents)
            message = f"no association is of account {item.account!r} itself{known}"
            yield Problem(message, path=f"{place}.account")
        if item.user:
            if item.parent:
                yield Problem("is of accounts: a user has its account", path=f"{place}.parent")
            continue
        if item.parent and item.parent not in parents:
            message = f"unknown account {item.parent!r}{nearest(item.parent, parents)}"
            yield Problem(message, path=f"{place}.parent")
        elif (depth := _depth(item.account, parents)) is None:
            yield Problem(f"account {item.account} is below itself", path=f"{place}.parent")
        elif depth > _DEEPEST:
            message = f"account {item.account} is below more than {_DEEPEST} others"
            yield Problem(message, path=f"{place}.parent")


def _depth(account: str, parents: dict[str, str]) -> int | None:
    """Return the number of accounts above an account, None if they are a circle."""
    depth = 0
    at = parents[account]
    while at in parents and depth <= _DEEPEST + 1:
        if at == account:
            return None
        at = parents[at]
        depth += 1
    return depth


def association_warnings(instance: Instance) -> Iterator[Problem]:
    """Yield associations that have no effect."""
    if instance.associations and not instance.params.of_slurm:
        yield Problem("have no effect: the scheduler is not Slurm", path="associations")
