"""The pictures of what-ifs: a scale of round values, no width of their own."""

from __future__ import annotations

import itertools
import re

import pytest
import slotwise as sw
from slotwise.cli.report.study_pages import _scale, whatif_page


@pytest.mark.parametrize("ends", [(0, 0), (-40, 7000), (0, 3600), (-3e6, 20), (-1, 0), (5e6, 9e6)])
def test_the_scale_holds_everything_in_few_equal_steps(ends: tuple[float, float]) -> None:
    low, high = min(0.0, *ends), max(0.0, *ends)
    scale = _scale(low, high)
    assert scale[0] <= low <= high <= scale[-1]
    assert 0 in scale
    assert len({b - a for a, b in itertools.pairwise(scale)}) == 1
    assert 2 <= len(scale) <= 5


def test_the_picture_has_its_scale_and_fits_any_width() -> None:
    found = sw.whatif(sw.load(sw.example("backfill")), ["queues.*.BACKFILL=N"])
    picture = re.search(r'<svg class="intervals".*?</svg>', whatif_page(found, "x"), re.DOTALL)
    assert picture is not None
    assert "viewBox" not in picture[0]
    assert "as today" in picture[0]
    words = re.findall(r'fill="var\(--soft\)">([^<]+)</text>', picture[0])
    assert any(word.startswith(("+", "-")) for word in words)
    places = [float(each) for each in re.findall(r'x1?="([\d.]+)%"', picture[0])]
    assert all(0 <= place <= 100 for place in places)
