"""Hosts whose GPUs suit a request, and in words those whose do not (GPU-02)."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.cluster import Gpus, Host
from ...model.gpu_request import GpuRequest

#: Hosts that a sentence names.
_SHOWN = 3


def suits(request: GpuRequest, host: Host) -> bool | None:
    """Whether the GPUs of a host suit a request, None where the host does not say enough."""
    if host.gpu_count is None:
        return False
    return request.suited(host.gpus or Gpus(int(host.gpu_count)))


def unsuitable(request: GpuRequest, hosts: Sequence[Host]) -> str:
    """Which GPUs are wanted, and what hosts have instead."""
    wrong = [host for host in hosts if host.gpus and suits(request, host) is False]
    kinds = dict.fromkeys(_kind(host.gpus) for host in wrong if host.gpus)
    if not kinds:
        bare = [host.name for host in hosts if host.gpu_count is None]
        some = ", ".join(bare[:_SHOWN]) + (f" and {len(bare) - _SHOWN} more" * (len(bare) > _SHOWN))
        none = "no host has GPUs" if len(bare) == len(hosts) else f"{some} have no GPUs"
        return f"wants {request.wanted()}: {none}"
    more = f" and {len(kinds) - _SHOWN} other kinds" if len(kinds) > _SHOWN else ""
    return f"wants {request.wanted()}: hosts have {', '.join(list(kinds)[:_SHOWN])}{more}"


def _kind(gpus: Gpus) -> str:
    mem = "" if gpus.mem is None else f" ({gpus.mem / 1024:g}G)"
    return f"{gpus.model or 'GPUs'}{mem}"
