"""The packaged traces and what another simulator made of them (tests/data/traces/README.md)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from slotwise.model.sources.swf import read_swf
from slotwise.model.workload import Workload

FOLDER = Path(__file__).parent.parent / "data" / "traces"


def log_path(name: str) -> Path:
    return FOLDER / f"{name}.swf.gz"


@lru_cache
def log(name: str) -> Workload:
    return read_swf(log_path(name)).workload
