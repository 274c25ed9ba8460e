"""Keys that the bytes of a terminal denote."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

#: Byte sequences of keys that write no character.
_SEQUENCES = {
    **{"\x1b[A": "up", "\x1b[B": "down", "\x1b[C": "right", "\x1b[D": "left"},
    **{"\x1bOA": "up", "\x1bOB": "down", "\x1bOC": "right", "\x1bOD": "left"},
    **{"\x1b[5~": "page up", "\x1b[6~": "page down"},
    **{"\x1b[H": "home", "\x1bOH": "home", "\x1b[1~": "home", "\x1b[7~": "home"},
    **{"\x1b[F": "end", "\x1bOF": "end", "\x1b[4~": "end", "\x1b[8~": "end"},
}
_CONTROLS = {
    **{"\r": "enter", "\n": "enter", "\x7f": "backspace", "\b": "backspace", "\x15": "clear"},
    **{"\x02": "page up", "\x06": "page down", "\x10": "up", "\x0e": "down", "\x0c": "repaint"},
    **{" ": "page down", "\x03": "quit", "\x04": "quit", "\x1b": "escape"},
}
_WHOLE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1bO[ -~]|\x1b(?=\x1b)|\x1b[^\[O\x1b]|[^\x1b]")
_BEGUN = re.compile(r"\x1b(\[[0-?]*[ -/]*|O)?$")


@dataclass(slots=True)
class KeyReader:
    """Bytes in, names of keys out; a character that can be printed is its own name.

    A sequence may come in several parts. ESC alone is a key once nothing follows it.
    """

    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("ignore")
    )
    _rest: str = ""

    @property
    def is_within(self) -> bool:
        """Whether what came may be the beginning of a sequence."""
        return bool(self._rest)

    def feed(self, data: bytes) -> Iterator[str]:
        """Yield the keys that these bytes denote, without unknown sequences."""
        text = self._rest + self._decoder.decode(data)
        self._rest = ""
        at = 0
        while at < len(text):
            if _BEGUN.match(text, at):
                self._rest = text[at:]
                return
            found = _WHOLE.match(text, at)
            if found is None:  # ESC before something that is no part of a sequence
                at += 1
                continue
            at = found.end()
            if key := _key(found.group()):
                yield key

    def flush(self) -> Iterator[str]:
        """Yield the key ESC if no further character has come."""
        if self._rest:
            self._rest = ""
            yield "escape"


def _key(text: str) -> str:
    known = _SEQUENCES.get(text) or _CONTROLS.get(text)
    if known:
        return known
    return text if len(text) == 1 and text.isprintable() else ""
