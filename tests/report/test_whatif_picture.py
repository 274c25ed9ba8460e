"""The pictures of what-ifs: a scale of round values, no width of their own."""

from __future__ import annotations

import re

import slotwise as sw
from slotwise.cli.report.study_pages import whatif_page


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
