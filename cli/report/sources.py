"""Whether the file of a report is a saved plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...model.confined import check_inside
from ...model.errors import unreadable
from ...model.formats.source_text import plain_data
from ...model.input_limits import limits


def saved_data(path: Path) -> Any:
    """The plain data of a JSON file that may hold a saved plan; None for anything else.

    Standard input and devices are not looked at: they can be read only once.
    """
    if str(path) == "-":
        return None
    check_inside(path)
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            head = file.read(1 << 16).lstrip()
            if not head.startswith(b"{") or b'"reservations"' not in head:
                return None
            file.seek(0)
            data = file.read(limits().text + 1)
    except OSError as error:
        raise unreadable(path, error) from None
    return plain_data(data, str(path), "json")[0]
