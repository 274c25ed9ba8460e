"""The packaged traces and what another simulator made of them (tests/data/traces/README.md)."""

from __future__ import annotations

import csv
import gzip
from functools import lru_cache
from pathlib import Path

import numpy as np
from slotwise.model.sources.swf import read_swf
from slotwise.model.workload import Workload

FOLDER = Path(__file__).parent.parent / "data" / "traces"


def log_path(name: str) -> Path:
    return FOLDER / f"{name}.swf.gz"


@lru_cache
def log(name: str) -> Workload:
    return read_swf(log_path(name)).workload


@lru_cache
def waits(name: str) -> dict[str, np.ndarray]:
    """Policy, and "job", to a column."""
    with gzip.open(FOLDER / f"{name}_waits.csv.gz", "rt") as file:
        header, *rows = csv.reader(file)
    table = np.array(rows, dtype=np.int64)
    return {title: table[:, place] for place, title in enumerate(header)}
