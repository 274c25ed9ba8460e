"""Share accounts as LSF printed them: as past usage of an instance, and against the formula."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...model.fairshare import queue_sets
from ...model.instance import Instance, ShareUsage
from ...model.lsf_state.share_tables import PrintedAccount
from .accounts import Account, ShareTree
from .dispatch_order import order_policy
from .priority import Consumption, dynamic_priority

#: Seconds by which a printed run time may lag behind: daemons report now and then.
LAG = 120


class PrintedShares:
    """Printed accounts beside the share trees of an instance that has no past usage yet.

    notes: printed accounts that the instance does not have.
    """

    def __init__(self, instance: Instance, accounts: Iterable[PrintedAccount]) -> None:
        self.instance = instance
        self.order = order_policy(replace(instance, share_usage=()))
        self.notes: list[str] = []
        masters = {name: item.master for item in queue_sets(instance) for name in item.queues}
        masters |= {partition.name: partition.name for partition in instance.partitions}
        self.found: dict[Account, PrintedAccount] = {}
        for item in accounts:
            policy, *above = item.path.split("/")
            path = (*above, item.account)
            try:
                account = self.order.trees[masters[policy]].account(path)
            except KeyError:
                self.notes.append(f"{_place(item)}: the instance has no such share account")
                continue
            # Every queue of a cross-queue set prints the same accounts.
            self.found.setdefault(account, item)

    def instance_with_usage(self, *, infer: bool = False) -> Instance:
        """The instance whose accounts have used what was printed at its now.

        Run time beyond that of the running jobs is historical. infer: where that is so but nothing
        says ENABLE_HIST_RUN_TIME, it is set.
        """
        past = {account: self._past(account, item) for account, item in self.found.items()}
        params = self.instance.params
        if infer and not params.enable_hist_run_time and max(past.values(), default=0) > LAG:
            params = replace(params, enable_hist_run_time=True)
            self.notes.append(
                "RUN_TIME is more than running jobs explain: ENABLE_HIST_RUN_TIME=Y is assumed"
            )
        usage = tuple(
            ShareUsage(
                self._tree(account).name,
                "/".join(account.path),
                cpu_time=item.cpu_time,
                historical_run_time=past[account] if params.enable_hist_run_time else 0.0,
                stamp=self.instance.now,
            )
            for account, item in self.found.items()
        )
        return replace(self.instance, share_usage=usage, params=params)

    def differences(self) -> Iterator[str]:
        """Where what is printed does not follow from the formula or from the running jobs.

        A sentence each, with the line of the print.
        """
        for account, item in self.found.items():
            tree = self._tree(account)
            usage = tree.usage(account, self.instance.now)
            if item.shares != account.shares:
                yield f"{_place(item)}: SHARES {item.shares}, configured are {account.shares}"
            if item.started != usage.slots:
                yield f"{_place(item)}: STARTED {item.started}, the running jobs hold {usage.slots}"
            low, high = (_by_formula(tree, usage, item, sign) for sign in (1, -1))
            digits = len(item.priority.partition(".")[2])
            slack = 0.5 * 10.0**-digits + 1e-9
            if not low - slack <= float(item.priority) <= high + slack:
                value = _by_formula(tree, usage, item, 0)
                yield (
                    f"{_place(item)}: PRIORITY {item.priority}, the formula gives "
                    f"{value:.{digits}f} for the numbers beside it"
                )

    def _tree(self, account: Account) -> ShareTree:
        *_, root = account.chain()
        return self.order.trees[root.name]

    def _past(self, account: Account, item: PrintedAccount) -> float:
        usage = self._tree(account).usage(account, self.instance.now)
        return max(0.0, item.run_time - usage.run_time)


def _by_formula(tree: ShareTree, usage: Consumption, item: PrintedAccount, sign: int) -> float:
    """The priority of the printed numbers; sign: as low (1) or high (-1) as their digits allow."""
    run_time = max(0.0, item.run_time + sign)
    printed = Consumption(
        cpu_time=max(0.0, item.cpu_time + 0.05 * sign),
        run_time=run_time,
        # What is committed is not printed: as the running jobs have it.
        committed_run_time=run_time + usage.committed_run_time - usage.run_time,
        slots=item.started,
        reserved=item.reserved,
    )
    adjustment = item.adjust or 0.0
    return dynamic_priority(item.shares, printed, tree.factors, adjustment)


def _place(item: PrintedAccount) -> str:
    line = f"line {item.line}: " if item.line else ""
    return f"{line}{item.path}/{item.account}"
