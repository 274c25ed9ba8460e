"""Options of every command as they are declared."""

from __future__ import annotations

import click
import pytest
from all_commands import all_commands
from slotwise.cli.main import app
from typer.main import get_command


@pytest.mark.parametrize("words", list(all_commands()), ids=" ".join)
def test_a_switch_that_is_usually_off_has_no_negative(words: tuple[str, ...]) -> None:
    command = get_command(app)
    for word in words:
        command = command.get_command(None, word)  # type: ignore[attr-defined]
    for option in command.params:
        if isinstance(option, click.Option) and option.is_flag and option.default is False:
            assert option.secondary_opts == []
