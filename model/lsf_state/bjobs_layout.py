"""The lines of ``bjobs -l`` as they were before they were wrapped.

bjobs breaks its lines at a fixed column, in the middle of a word where it falls there, and begins
the next one below the text behind the time stamp: 21 blanks, or 26 where LSB_BJOBS_DISPLAY_YEAR=Y
prints the year. Both are taken from the file. ``-UF`` does not wrap.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: A line that begins with a time, up to the text behind it.
TIMED = re.compile(
    r"^((?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} +\d{1,2} +\d{1,2}:\d\d(?::\d\d)?(?: \d{4})?): ?"
)
#: No other line begins with as many blanks.
_LEAST_INDENT = 15
#: Columns of text, where no line that was broken is longer.
_USUAL_WIDTH = 79
#: Blanks at the end of a line that mail programs and editors cut off; more is another layout.
_MOST_CUT = 3


@dataclass(frozen=True, slots=True)
class Wrapping:
    """indent: blanks before the rest of a wrapped line. width: columns at which lines break."""

    indent: int
    width: int

    @classmethod
    def of(cls, lines: Sequence[str]) -> Wrapping:
        """The layout of a file."""
        blanks = Counter(
            lead
            for line in lines
            if line.strip() and (lead := len(line) - len(line.lstrip(" "))) >= _LEAST_INDENT
        )
        stamps = Counter(len(found[0]) for line in lines if (found := TIMED.match(line)))
        # A rest that begins with a blank stands one column further in.
        indent = min(blanks, default=_LEAST_INDENT)
        if stamps:
            behind = stamps.most_common(1)[0][0]
            if behind in blanks or behind + 1 in blanks:
                indent = behind
        rests = [line.startswith(" " * indent) for line in lines]
        widths = Counter(
            len(line) for line, wrapped in zip(lines, rests[1:], strict=False) if wrapped
        )
        if max(widths, default=0) <= _USUAL_WIDTH:
            return cls(indent, _USUAL_WIDTH)
        return cls(indent, max(widths, key=lambda width: (widths[width], width)))

    def is_rest(self, line: str) -> bool:
        """Whether a line goes on with the one before it."""
        return line.startswith(" " * self.indent)

    def whole(self, line: str) -> str:
        """A line that was broken, with the blanks that were cut off its end."""
        cut = self.width - len(line)
        return line + " " * cut if 0 < cut <= _MOST_CUT else line


def blocks(content: str) -> Iterator[tuple[int, list[str]]]:
    """Line number (from 1) and unwrapped lines of each job."""
    lines = [line.rstrip("\r") for line in content.splitlines()]
    wrapping = Wrapping.of(lines)
    start, block = 0, list[str]()
    for number, (line, after) in enumerate(zip(lines, [*lines, ""][1:], strict=True), start=1):
        text = wrapping.whole(line) if wrapping.is_rest(after) else line
        if wrapping.is_rest(line) and block:
            block[-1] += text[wrapping.indent :]
        elif line.lstrip().startswith("Job <"):
            if block:
                yield start, block
            start, block = number, [text.lstrip()]
        elif block:
            block.append(text)
    if block:
        yield start, block
