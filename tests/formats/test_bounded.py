"""An error of any kind inside a reader is one clear message: no input ends in exit code 70."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import slotwise as sw
from slotwise.cli.import_snapshot import _seen
from slotwise.model.errors import bounded
from slotwise.model.formats.lsf.site import site_document
from slotwise.model.sources.lsf_state import assemble as lsf
from slotwise.model.sources.lsf_state.facts import read_facts
from slotwise.model.sources.registry import file_formats
from slotwise.model.sources.slurm import assemble as slurm
from slotwise.model.sources.slurm.folder import read_texts

DOORS: dict[str, Callable[..., Any]] = {
    **{f"format {item.name}": item.read for item in file_formats()},
    "texts of Slurm": read_texts,
    "Slurm": slurm.assemble,
    "texts of LSF": _seen,
    "facts of LSF": read_facts,
    "LSF": lsf.assemble,
    "site": site_document,
}


class Broken:
    """Anything that is asked of it fails."""

    def __getattr__(self, name: str) -> Any:
        raise ZeroDivisionError(name)

    def __iter__(self) -> Any:
        raise ZeroDivisionError("iter")


@pytest.mark.parametrize("name", DOORS)
def test_whatever_is_raised_in_a_reader_is_one_message(name: str) -> None:
    """Slurm's assembly was outside: a fault in it was exit code 70."""
    with pytest.raises(sw.InputError):
        DOORS[name](Broken(), Broken())


@pytest.mark.parametrize(
    "error", [sw.InputError("x"), OSError("x"), MemoryError(), KeyboardInterrupt()]
)
def test_errors_with_a_meaning_of_their_own_pass(error: BaseException) -> None:
    def read() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        bounded("the file")(read)()
    assert caught.value is error
