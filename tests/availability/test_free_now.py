"""The present: what is taken and given back, what a report changes, and the residual of one job."""

from __future__ import annotations

from availability_cases import MEM, amount, table, takes
from slotwise import Host, SharedResource
from slotwise.solver.availability.resources import (
    SLOTS,
    Amounts,
    Per,
    ResourceTable,
    Use,
    flat,
)
from slotwise.solver.availability.running_profile import FreeNow, Residual

LICENCE = Use(0, Per.SLOT, flat("lic", 1.0))


def two_hosts() -> ResourceTable:
    hosts = (Host("A", 4, amounts={"mem": 100.0}), Host("B", 4, amounts={"mem": 50.0}))
    return table(*hosts, shared=(SharedResource("lic", 6, frozenset({"A"})),))


def amounts(free: FreeNow) -> tuple[list[float], list[float], float]:
    """Free slots, memory and licences."""
    return free.host(SLOTS).tolist(), free.host(MEM).tolist(), free.pool(0)


def test_a_copy_is_independent() -> None:
    free = FreeNow(two_hosts())
    free.host(MEM), free.pool(0)
    twin = free.copy()
    twin.take(takes(amount(10), pools=(LICENCE,)), {0: 1})
    assert amounts(free) == ([4, 4], [100, 50], 6)
    assert amounts(twin) == ([3, 4], [90, 50], 5)


def residual(held: Amounts | None = None, now: int = 40) -> Residual:
    return Residual(FreeNow(two_hosts()), now, held or Amounts())
