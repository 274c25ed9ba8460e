"""Small clusters and reports for the tests of the report."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

from slotwise import Cluster, ComputeUnit, Host, Instance, Job, RunningJob
from slotwise.cli.report.data import Report, report_of_comparison
from slotwise.solver.advice.comparison import compare
from slotwise.solver.advice.explain import explain

HOUR = 3600
#: Names that break out of whatever does not take them for text.
HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(2)>",
    "<!--<script>",
    "a&b;c$title${data}",
    "\u202egnp\u2028x",
)


def racks(enclosures: int = 2, hosts: int = 2, slots: int = 4) -> Cluster:
    """One rack of enclosures of hosts n1, n2, …, and a host that is in none of them."""
    names = [f"n{number + 1}" for number in range(enclosures * hosts)]
    units = [ComputeUnit("rack1", "rack", tuple(names))]
    units += [
        ComputeUnit(f"enc{n + 1}", "enclosure", tuple(names[n * hosts : (n + 1) * hosts]), "rack1")
        for n in range(enclosures)
    ]
    return Cluster(
        tuple(Host(name, slots) for name in (*names, "alone")),
        unit_types=("enclosure", "rack"),
        default_unit_type="enclosure",
        units=tuple(units),
    )


def hostile_instance() -> Instance:
    """A host, a user, jobs and a title with names of :data:`HOSTILE`."""
    bad, other, comment, template, unseen = HOSTILE
    return Instance(
        Cluster((Host(bad, 2), Host(other, 2))),
        running=(RunningJob(Job(comment, 3, run_limit=HOUR, user=bad), 0, {bad: 2, other: 1}),),
        pending=(
            Job(bad, 2, run_limit=HOUR, user=other),
            Job(template, 4, run_limit=HOUR, user=unseen),
            Job(unseen, 1, run_limit=HOUR),
        ),
        name=bad,
        description=other,
    )


def compared(instance: Instance, explained: int = 0) -> Report:
    """The report that `slotwise report` makes of an instance, with some jobs explained."""
    comparison = compare(instance, effort=2.0, methods=True)
    waiting = [row.job for row in comparison if row.time_based_estimate != instance.now]
    advice = {job: explain(instance, job) for job in waiting[:explained]}
    return report_of_comparison("lab.yaml", instance, comparison, advice)


def data_of(page: str) -> Any:
    """The data that a page carries."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the cells of its tables by table id."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.cells: dict[str, list[list[tuple[str, str | None]]]] = {}
        self._table = ""
        self._text: list[str] | None = None
        self._order: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.found.append((tag, values))
        if tag == "table":
            self._table = values.get("id") or ""
            self.cells[self._table] = []
        elif tag == "tr" and self._table:
            self.cells[self._table].append([])
        elif tag == "td" and self._table:
            self._text, self._order = [], values.get("data-order")

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "td" and self._text is not None:
            self.cells[self._table][-1].append(("".join(self._text), self._order))
            self._text = None
        elif tag == "table":
            self._table = ""
