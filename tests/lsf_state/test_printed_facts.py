"""Every form tells the same: the table of facts, and random clusters printed in each form."""

from __future__ import annotations

from dataclasses import fields

import pytest
from slotwise.model.sources.lsf_state.bhosts import SeenHost
from slotwise.model.sources.lsf_state.bjobs import SeenJob
from slotwise.model.sources.lsf_state.bqueues import SeenQueue
from slotwise.model.sources.lsf_state.printed_facts import (
    FACTS,
    FORMS,
    HOSTS,
    JOBS,
    JSON,
    LONG,
    PLAIN,
    QUEUES,
)

pytestmark = pytest.mark.behaviour("CFG-04")
KINDS = {"job": (SeenJob, JOBS), "host": (SeenHost, HOSTS), "queue": (SeenQueue, QUEUES)}


def test_each_fact_is_of_a_field_and_each_field_of_a_fact() -> None:
    """What was seen and is no fact of a listing comes from logs, or says how it was read."""
    own = {"job": {"line", "unknown", "from_limit", "real_run_time", "dependent", "queued_as"}}
    own["job"] |= {"shows_license_project"}
    own |= {"host": {"stop", "truncated", "unknown"}, "queue": {"stop", "cut", "long"}}
    own["queue"] |= {"run_limit_max", "resource_reserve", "others"}
    for name, (kind, facts) in KINDS.items():
        known = {item.name for item in fields(kind)}
        assert known - {fact.field for fact in facts} == own[name]
        assert {fact.field for fact in facts} <= known


def test_forms_are_named() -> None:
    assert {form for fact in FACTS for form in fact.cells} == set(FORMS) == {LONG, JSON, PLAIN}
