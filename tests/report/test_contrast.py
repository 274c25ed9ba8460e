"""Words are readable on what they are written on, in light and dark: WCAG 2, AA, 4.5:1."""

from __future__ import annotations

import re
from functools import cache
from itertools import product

import pytest
from slotwise.cli.main import app
from typer.testing import CliRunner

AA = 4.5
THEMES = {"light": r":root \{", "dark": r':root\[data-theme="dark"\] \{'}
#: Colours of words, and what they are written on.
WORDS = ("--ink", "--soft", "--accent", "--good", "--bad", "--warn")
GROUNDS = ("--card", "--page", "--faint")
#: Words on a ground of their own.
OWN = (
    *(("--accent-ink", "--accent"), ("--good", "--good-ground"), ("--warn", "--warn-ground")),
    *(("--bad", "--bad-ground"), ("--ink", "--good-ground"), ("--ink", "--warn-ground")),
    *(("--ink", "--bad-ground"), ("--running-ink", "--running"), ("--now", "--card")),
    *(("--planned-ink", "--planned"), ("--sooner-ink", "--sooner")),
)
#: Edges by which things are told apart, and what they are seen against: 3:1.
EDGES = (
    *(("--running-edge", "--card"), ("--planned-edge", "--card"), ("--sooner-edge", "--card")),
    ("--edge", "--card"),
)


def luminance(colour: str) -> float:
    values = (int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5))
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@cache
def page() -> str:
    command = ["report", "--example", "headline", "--method", "greedy", "-o", "-"]
    return CliRunner().invoke(app, command).stdout


def colours(theme: str) -> dict[str, str]:
    found = re.search(THEMES[theme] + r"(.*?)\}", page(), flags=re.DOTALL)
    assert found is not None
    return dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})\b", found[1]))


def test_the_measure_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", THEMES)
def test_words_of_the_page_are_readable(theme: str) -> None:
    known = colours(theme)
    pairs = [*product(WORDS, GROUNDS), *OWN]
    low = {
        f"{word} on {ground}": round(contrast(known[word], known[ground]), 2)
        for word, ground in pairs
        if contrast(known[word], known[ground]) < AA
    }
    assert low == {}


@pytest.mark.parametrize("theme", THEMES)
def test_edges_of_bars_and_controls_are_seen(theme: str) -> None:
    known = colours(theme)
    low = [pair for pair in EDGES if contrast(known[pair[0]], known[pair[1]]) < 3]
    assert low == []
