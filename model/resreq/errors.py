"""The error of the requirement language, with position, complaint and expectation."""

from __future__ import annotations

from ..errors import InputError, Problem

#: Maximum length of the part of a requirement around the underlined position, in characters.
WINDOW = 90


class ResreqError(InputError):
    """Error in a requirement string.

    text: the whole string. position: offset of the error from 0 (None if there is no single
    position). token: the text there. what: the complaint. expected: the remedy, or "". undefined:
    whether a name has no definition. str() shows the complaint and the underlined position;
    `message` is the complaint on one line.
    """

    def __init__(
        self,
        what: str,
        *,
        text: str = "",
        position: int | None = None,
        token: str = "",
        expected: str = "",
        undefined: bool = False,
    ) -> None:
        self.text, self.position, self.token = text, position, token
        self.what, self.expected, self.undefined = what, expected, undefined
        self.message = f"{what}; expected {expected}" if expected else what
        place = f" (column {position + 1} of {text!r})" if position is not None else ""
        super().__init__([Problem(self.message + place, undefined=undefined)])

    def __str__(self) -> str:
        return "\n".join(part for part in (self.message, self.underlined()) if part)

    def underlined(self) -> str:
        """Return the string with carets under the position, as two indented lines; "" without a
        position.
        """
        if self.position is None:
            return ""
        shown = "".join(char if char.isprintable() else " " for char in self.text)
        left = max(0, self.position - WINDOW * 2 // 3)
        piece = shown[left : left + WINDOW]
        head, tail = "…" if left else "", "…" if left + WINDOW < len(shown) else ""
        column = self.position - left + len(head)
        room = max(1, len(piece) + len(head) - column)
        carets = "^" * max(1, min(len(self.token), room))
        return f"  {head}{piece}{tail}\n  {' ' * column}{carets}"

    def shifted(self, text: str, offset: int) -> ResreqError:
        """Return the error for `text`, in which the string of this error starts at `offset`."""
        return ResreqError(
            self.what,
            text=text,
            position=None if self.position is None else self.position + offset,
            token=self.token,
            expected=self.expected,
            undefined=self.undefined,
        )
