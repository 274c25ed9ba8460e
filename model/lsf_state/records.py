"""The JSON of bjobs, bhosts and bqueues: records of texts under the names of the fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..errors import InputError, Problem
from ..formats.sniff import KINDS, kind_of_text, other_kind
from ..formats.source_text import file_bytes

T = TypeVar("T")

#: The forms of each command that are read.
_FORMS = {
    "bjobs": "bjobs -u all -l, -UF or -json -o '…'",
    "bhosts": "bhosts -l, -w or -json -o '…'",
    "bqueues": "bqueues -l, -r, -w or -json -o '…'",
    "bhpart": "bhpart -r",
}
#: Kinds that are read beside another one, under the same option.
_ALSO = {"bhosts": ("bhosts -gpu", "lshosts -gpu", "lsload -gpu")}


@dataclass(frozen=True, slots=True)
class Text:
    """What a command has printed. source: file name or command line, for messages."""

    content: str
    source: str

    @property
    def is_json(self) -> bool:
        """Whether it is JSON."""
        return self.content.lstrip("\ufeff \t\r\n").startswith("{")


def read_text(path: str | Path, kind: str) -> Text:
    """The text of a file; InputError where it cannot be read, or is of another kind."""
    content = file_bytes(Path(path)).decode("utf-8", errors="replace")
    text = Text(content, str(path))
    check_kind(text, kind)
    return text


def check_kind(text: Text, kind: str) -> None:
    """InputError with one line where a text is not of the kind that is wanted."""
    found = kind_of_text(text.content[:65536])
    if wrong := other_kind(found, kind, *_ALSO.get(kind, ())):
        raise InputError([Problem(wrong, text.source)])
    if not found and text.content.strip() and not _says_nothing(text.content):
        give = f" in a form that is read: give {_FORMS[kind]}" if kind in _FORMS else ""
        raise InputError([Problem(f"is not {KINDS[kind].text}{give}", text.source)])


def _says_nothing(content: str) -> bool:
    """``No unfinished job found`` and the like: there is nothing of the kind."""
    first = content.strip().splitlines()[0]
    return first.startswith("No ") or first.endswith(("not found", "not found."))


class Reading:
    """Collects what is wrong with the records of one text, so that all is reported at once."""

    def __init__(self, text: Text) -> None:
        self.source = text.source
        self.problems: list[Problem] = []
        self.line: int | None = None
        self.where = ""

    def at(self, where: str, line: int | None = None) -> None:
        """The record that is read now."""
        self.where, self.line = where, line

    def value(self, name: str, text: str, read: Callable[[str], T | None]) -> T | None:
        """The value of a field, None where it is absent or wrong."""
        try:
            return read(text)
        except (ValueError, OverflowError) as error:
            self.wrong(f"{name}: {error}")
            return None

    def wrong(self, message: str) -> None:
        """Report about the record at hand."""
        self.problems.append(Problem(message, self.source, self.line, self.where))

    def once(self, kind: str, records: Iterable[tuple[str, int | None]]) -> None:
        """Report each record (name, line) whose name stands before; then raise as :meth:`done`."""
        seen: set[str] = set()
        for name, line in records:
            self.at(f"{kind} {name}", line)
            if name in seen:
                self.wrong("is listed twice")
            seen.add(name)
        self.done()

    def done(self) -> None:
        """Raise InputError with everything that was wrong."""
        if self.problems:
            raise InputError(self.problems)


def json_records(text: Text) -> Iterator[tuple[int, dict[str, str]]]:
    """Number (from 1) and fields of each record; names in capitals, values as texts.

    Raises InputError where the text is no JSON of this form.
    """
    try:
        data = json.loads(text.content.lstrip("\ufeff"))
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg} (column {error.colno})"
        raise InputError([Problem(message, text.source, error.lineno)]) from None
    except (RecursionError, ValueError) as error:
        raise InputError([Problem(f"not JSON: {error}", text.source)]) from None
    records = data.get("RECORDS") if isinstance(data, dict) else None
    if not isinstance(records, list):
        message = "has no list RECORDS, as the output of -json has"
        raise InputError([Problem(message, text.source)])
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            message = f"must be an object with the fields of -o, not {record!r:.60}"
            raise InputError([Problem(message, text.source, path=f"RECORDS[{number - 1}]")])
        yield number, {str(name).upper(): _text(value) for name, value in record.items()}


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def lacks(record: Mapping[str, str], *names: str) -> str:
    """What to say of a record or a row without columns that every host or queue has, "" if all."""
    missing = [name for name in names if name not in record]
    return f"has no column {', '.join(missing)}: give them to -o" if missing else ""


def field(record: dict[str, str], *names: str) -> str:
    """The first of these fields that says something, "" if none does."""
    return next(
        (record[name] for name in names if record.get(name, "").strip() not in ("", "-")), ""
    )
