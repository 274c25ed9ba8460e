"""Characters that no name and no text may hold, because terminals obey them or hide them."""

from __future__ import annotations

import unicodedata

#: Control characters that a text of several lines is made of.
LAYOUT = "\n\t"
#: Categories of what terminals obey, hide, or cannot write (half a character).
_STRANGE = {"Cc": "control", "Cf": "format", "Cs": "surrogate"}


def strange_character(text: str, allowed: str = LAYOUT) -> str:
    """What is wrong with a text that holds a character of a strange category, else ""."""
    if text.isprintable():
        return ""
    for sign in text:
        category = unicodedata.category(sign)
        if category in _STRANGE and sign not in allowed:
            kind = _STRANGE[category]
            return f"holds the {kind} character U+{ord(sign):04X}: leave it out"
    return ""


def visible(text: str) -> str:
    """The text with every character that cannot be printed written as an escape."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(sign: str) -> str:
    return sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii")
