"""The memory that this process may take: of the machine, a control group, a limit of its own."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

#: Bytes of a megabyte.
MB = 1 << 20
#: Assumed memory in MB if no source gives it.
UNKNOWN = 2000.0


def memory_available() -> float:
    """Return the MB that can still be used: of the machine, a control group, a limit on the
    process.
    """
    return max(0.0, min(_said(), default=UNKNOWN))


def _said() -> Iterator[float]:
    """Yield the memory in MB from each source that gives it."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        amounts = {
            name: rest.split()[0] for name, _, rest in (line.partition(":") for line in lines)
        }
        yield int(amounts["MemAvailable"]) / 1024
    with contextlib.suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        most = int((group / "memory.max").read_text(encoding="ascii"))
        yield (most - int((group / "memory.current").read_text(encoding="ascii"))) / MB
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()
        for kind, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
            limit, _ = resource.getrlimit(kind)
            if limit != resource.RLIM_INFINITY:
                yield (limit - int(used) * os.sysconf("SC_PAGE_SIZE")) / MB


def limit_memory(megabytes: int) -> bool:
    """Limit the memory of this process and its children; return False if impossible.

    Allocations beyond it raise a MemoryError. Address space without memory does not count, so that
    threads of solvers do not exceed the limit.
    """
    if sys.platform != "linux":  # On other systems the limit can be set without effect.
        return False
    try:
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = megabytes * MB if hard == resource.RLIM_INFINITY else min(megabytes * MB, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    except (ImportError, OSError, ValueError):
        return False
    return True
