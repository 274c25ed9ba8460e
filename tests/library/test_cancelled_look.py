"""A call that is cancelled while its instance is looked at does not wait for the end of that."""

from __future__ import annotations

import threading
from functools import partial

import pytest
import slotwise as sw
from slotwise import library
from slotwise.model.errors import Cancelled
from slotwise.model.formats.objects import require_sound
from slotwise.model.formats.requirements import check_requirements
from slotwise.model.formats.rules import check_jobs, rule_findings
from slotwise.model.generate import generate
from slotwise.model.progress import EVERY


def test_other_calls_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "Patience", partial(library.Patience, seconds=0.0))
    cancel = threading.Event()
    cancel.set()
    instance = generate(hosts=2, running=2, pending=2)
    with pytest.raises(Cancelled, match="still being checked"):
        sw.simulate(instance, cancel=cancel)


def test_what_is_no_job_has_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "Patience", partial(library.Patience, seconds=0.0))
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        sw.plan(sw.Instance(sw.Cluster((sw.Host("a", 1),)), pending=(None,)), cancel=cancel)  # type: ignore[arg-type]


def test_rules_across_jobs_are_ended_too() -> None:
    """At every poll, those of the rules behind the objects among them."""
    instance = generate(hosts=300, running=600, pending=600, seed=3)
    polls = [0]

    def count() -> None:
        polls[0] += 1

    for look in (check_jobs, check_requirements, rule_findings):
        polls[0] = 0
        list(look(instance, count))
        every = polls[0]
        assert every >= 3, look
        for last in range(1, every + 1):
            left = [last]

            def end(left: list[int] = left) -> None:
                left[0] -= 1
                if left[0] == 0:
                    raise Cancelled

            with pytest.raises(Cancelled):
                list(look(instance, end))
    polls[0] = 0
    require_sound(instance, count)
    objects = (300 + 600 + 600) // EVERY + 3
    assert polls[0] > objects + 3
