"""stripe and gtile of span[], and a comma at the end of rusage[] (SUB-05)."""

from __future__ import annotations

import pytest
from slotwise.model.resreq import ResreqError, Simple, parse, print_requirement
from slotwise.model.resreq.syntax import Span

pytestmark = pytest.mark.behaviour("SUB-05")


@pytest.mark.parametrize(
    ("text", "span", "tiling"),
    [
        ("span[stripe]", None, "stripe"),
        ("span[stripe=2]", None, "stripe=2"),
        ("span[gtile='!']", None, "gtile='!'"),
        ("span[ptile=4:gtile=2]", Span(ptile=4), "gtile=2"),
        ("span[stripe:ptile=4]", Span(ptile=4), "stripe"),
    ],
)
def test_tasks_spread_over_hosts_and_gpus(text: str, span: Span | None, tiling: str) -> None:
    found = parse(text)
    assert found == Simple(span=span, tiling=tiling)
    assert parse(print_requirement(found)) == found


def test_a_comma_may_end_rusage() -> None:
    assert parse("rusage[mem=4GB,]") == parse("rusage[mem=4GB]")
    for text in ("rusage[,mem=4]", "rusage[mem=4,,]", "rusage[mem=4,,swp=1]"):
        with pytest.raises(ResreqError):
            parse(text)
