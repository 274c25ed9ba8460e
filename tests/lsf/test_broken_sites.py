"""Broken variants of the shipped site: each is one message with file, line and remedy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml
from lsf.lab import MORNING
from slotwise import InputError
from slotwise.instances import site
from slotwise.model.formats.lsf import site_document

_CASES = yaml.safe_load(Path(__file__).with_name("broken_sites.yaml").read_text("utf-8"))
_BATCH = "lsbatch/harbour/configdir"


def test_there_are_many_kinds() -> None:
    assert len(_CASES) >= 70
    assert len({case["problem"].split(":", 2)[-1] for case in _CASES}) >= 65


def test_all_problems_stand_in_one_report(tmp_path: Path) -> None:
    """Of files, sections and values alike, in the order of files and lines."""
    root = Path(shutil.copytree(site(), tmp_path / "conf"))
    for name, old, new in (
        ("lsf.conf", "NUMJOBS=4", "NUMJOBS=four"),
        ("lsf.shared", "Barge      30.0", "Barge      fast"),
        (f"{_BATCH}/lsb.queues", "PRIORITY     = 62", "PRIORITY     = high"),
        (f"{_BATCH}/lsb.queues", "= [mem=1000,60000]", "= [mem=1000,60000"),
        (f"{_BATCH}/lsb.users", "students@  32        -", "students@  32"),
    ):
        file = root / name
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))
    with pytest.raises(InputError) as caught:
        site_document(root, cluster="harbour", at=MORNING).instance()
    found = [(Path(p.source).name, p.line) for p in caught.value.problems]
    assert found == [
        ("lsb.queues", 50),
        ("lsb.queues", 76),
        ("lsb.users", 14),
        ("lsf.conf", 11),
        ("lsf.shared", 17),
    ]
