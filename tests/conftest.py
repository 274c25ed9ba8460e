"""Option --behaviours: which rows of docs/behaviours.yaml the collected tests carry as marks."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

# Listings are as wide and as long as the terminal: the same one for every test and its commands.
os.environ.update(COLUMNS="160", LINES="50")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--behaviours",
        metavar="FILE",
        help="write the number of test functions that carry each behaviour mark, as JSON",
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    output = session.config.getoption("--behaviours")
    if output is None:
        return
    marked: dict[str, set[str]] = defaultdict(set)
    for item in session.items:
        for mark in item.iter_markers("behaviour"):
            for name in mark.args:
                marked[name].add(item.nodeid.partition("[")[0])
    counts = {name: len(tests) for name, tests in sorted(marked.items())}
    Path(output).write_text(json.dumps(counts, indent=1), encoding="utf-8")
