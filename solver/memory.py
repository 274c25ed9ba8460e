"""How much memory this process may still take."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

#: Bytes of a megabyte.
MB = 1 << 20
#: Where nothing is said of memory (MB).
UNKNOWN = 2000.0


def memory_available() -> float:
    """MB that may still be taken: of the machine, of a control group, of a limit on the process."""
    return max(0.0, min(_said(), default=UNKNOWN))


def _said() -> Iterator[float]:
    """What each that knows says, MB."""
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

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            yield (limit - pages * os.sysconf("SC_PAGE_SIZE")) / MB
