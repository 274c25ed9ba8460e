"""Option --cpu-seconds: what each test of a run takes of the processor, its commands included."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

NAME = "cpu_seconds"


def spent() -> float:
    """Seconds of the processor that this process and its children that ended have taken."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class CpuSeconds:
    """A pytest plugin: the seconds of each test, what is shared with the first that needs it."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.of_test: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        item.stash[BEGUN] = spent()
        return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Iterator[None]:
        report = yield
        if call.when == "teardown":
            report.user_properties.append((NAME, round(spent() - item.stash[BEGUN], 3)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self.of_test[report.nodeid] = dict(report.user_properties)[NAME]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput"):  # the one that started it writes
            return
        self.output.write_text(self.table(), encoding="utf-8")

    def table(self) -> str:
        """Seconds in all, then of folders, files and tests, the dearest first, parted by tabs."""
        of_folder: dict[str, float] = defaultdict(float)
        of_file: dict[str, float] = defaultdict(float)
        for name, seconds in self.of_test.items():
            path = name.partition("::")[0]
            of_folder[os.path.dirname(path)] += seconds
            of_file[path] += seconds
        rows = [
            (spent(), f"all processes, {len(self.of_test)} tests"),
            (sum(self.of_test.values()), "the tests alone"),
        ]
        for part in (of_folder, of_file, self.of_test):
            rows += sorted(((seconds, name) for name, seconds in part.items()), reverse=True)
        return "".join(f"{seconds:.2f}\t{name}\n" for seconds, name in rows)


BEGUN = pytest.StashKey[float]()
