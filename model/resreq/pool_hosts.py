"""The hosts that a guaranteed pool names: HOSTS and RES_SELECT (GUA-01)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..instance import Instance
from ..service_class import ALL, GuaranteedPool
from .evaluate import select_mask
from .levels import requirement_options
from .parser import parse_with_notes
from .syntax import Simple
from .vocabulary import HostTable


def named_hosts(instance: Instance, pool: GuaranteedPool) -> NDArray[np.bool_]:
    """Return a mask over the hosts, [H], of those in HOSTS and RES_SELECT; raises ResreqError."""
    cluster = instance.cluster

    def expanded(name: str) -> tuple[str, ...]:
        return tuple(h.name for h in cluster.hosts) if name == ALL else cluster.expand(name) or ()

    wanted = [name for name in pool.hosts if not name.startswith("~")] or [ALL]
    inside = {host for name in wanted for host in expanded(name)}
    inside -= {h for name in pool.hosts if name.startswith("~") for h in expanded(name[1:])}
    mask = np.array([host.name in inside for host in cluster.hosts], dtype=bool)
    if not pool.res_select:
        return mask
    table = HostTable(cluster)
    options = requirement_options(instance.params, table.vocabulary)
    asked = parse_with_notes(pool.res_select, options).requirement
    assert isinstance(asked, Simple)
    mask &= select_mask(asked.select, table)
    return mask
