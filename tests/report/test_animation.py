"""``slotwise report --animate``: both plans as configured and as possible, SVG without script."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import slotwise as sw
from forked import slotwise
from report.lab import HOSTILE, compared, hostile_instance
from slotwise import InputError
from slotwise.cli.report.animation import MAX_HOSTS, animation_svg
from slotwise.cli.report.data import report_of_plan
from slotwise.model.generate import generate

SVG = "{http://www.w3.org/2000/svg}"


def drawn(text: str) -> ElementTree.Element:
    root = ElementTree.fromstring(text)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "rect", "g", "path", "text"}
    assert not [key for element in root.iter() for key in element.attrib if key.startswith("on")]
    return root


def words(root: ElementTree.Element) -> list[str]:
    return ["".join(item.itertext()) for item in root.iter(f"{SVG}text")]


def test_the_same_jobs_slide_from_where_they_are_to_where_they_could_be() -> None:
    """joint-wins: `small` goes to b1, then `large` from 2h to now on a1 and a2 together."""
    text = animation_svg(compared(sw.load(sw.example("joint-wins"))))
    root = drawn(text)
    said = words(root)
    assert {"Scheduler today", "large starts in 2h"} <= set(said)
    assert {"Possible", "large starts now, 2h earlier"} <= set(said)
    assert "small runs on hosts where large could run" in said
    assert "Both starts are proved the earliest." in said
    assert said.count("large") == said.count("small") == 2
    parts = {
        group.attrib["class"]: "".join(group.itertext())
        for group in root.iter(f"{SVG}g")
        if "class" in group.attrib
    }
    away = dict(re.findall(r"@keyframes (m\d+)\{0%,\d+%\{transform:(translate[^}]+)\}", text))
    moves = {parts[name]: move for name, move in away.items()}
    assert moves == {"large": "translate(136.0px,0.0px)", "small": "translate(0.0px,-127.0px)"}
    # Without motion the picture is its result; light and dark follow the reader.
    assert text.count("transform:none") == 2
    assert "@media(prefers-reduced-motion:no-preference)" in text
    assert "@media(prefers-color-scheme:dark)" in text


def test_names_are_text_and_nothing_is_loaded() -> None:
    text = animation_svg(compared(hostile_instance()))
    root = drawn(text)
    assert any(HOSTILE[0].startswith(word.rstrip("…")) for word in words(root) if word)
    assert not re.search(r"url\(|@import|href", text)


def test_of_many_hosts_those_with_jobs_that_move_are_drawn() -> None:
    report = compared(generate(hosts=24, running=40, pending=4, seed=7))
    root = drawn(animation_svg(report))
    names = {host.name for host in report.instance.cluster.hosts}
    assert len(names & set(words(root))) == MAX_HOSTS


def test_one_plan_is_refused(tmp_path: Path) -> None:
    instance = sw.load(sw.example("headline"))
    report = report_of_plan("x", instance, sw.plan(instance, "time-based"), {})
    with pytest.raises(InputError, match="shows two plans"):
        animation_svg(report)
    path = tmp_path / "x.svg"
    done = slotwise("report", "--example", "headline", "--method", "greedy", "--animate", str(path))
    assert done.returncode == 2
    assert "two plans" in done.stderr
    assert not path.exists()
