"""The pictures of what-ifs: a scale of round values, no width of their own."""

from __future__ import annotations

import re
from pathlib import Path

from slotwise.cli.main import app
from typer.testing import CliRunner


def test_the_picture_has_its_scale_and_fits_any_width(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    command = ["whatif", "--example", "backfill", "--set", "queues.*.BACKFILL=N", "-o", str(page)]
    assert CliRunner().invoke(app, command).exit_code == 0
    picture = re.search(r'<svg class="intervals".*?</svg>', page.read_text("utf-8"), re.DOTALL)
    assert picture is not None
    assert "viewBox" not in picture[0]
    assert "as today" in picture[0]
    words = re.findall(r'fill="var\(--soft\)">([^<]+)</text>', picture[0])
    assert any(word.startswith(("+", "-")) for word in words)
    places = [float(each) for each in re.findall(r'x1?="([\d.]+)%"', picture[0])]
    assert all(0 <= place <= 100 for place in places)
