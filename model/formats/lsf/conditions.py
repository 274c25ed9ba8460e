"""Conditions of ``#if`` and ``#elif``: ``time(…)``, ``user(…)`` and ``cluster(…)``.

They are joined by ``&&``, ``||``, ``!`` and brackets. Every function raises ValueError with a
sentence that says what would be right.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from ...errors import nearest
from ...windows import WEEK, parse_windows
from .source import Circumstances

_TOKEN = re.compile(r"\s*(?:(&&|\|\||!|\(|\))|([A-Za-z_]\w*)\s*\(([^()]*)\))")
#: Brackets and negations within each other; nobody writes more.
_DEEPEST = 50


def holds(text: str, circumstances: Circumstances) -> bool:
    """Whether a condition is true in these circumstances."""
    return _Condition(text, circumstances).answer()


class _Condition:
    """A recursive descent over the tokens; all parts are evaluated, so that all errors are seen."""

    def __init__(self, text: str, circumstances: Circumstances) -> None:
        self._text = text
        self._circumstances = circumstances
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def answer(self) -> bool:
        found = self._either()
        if self._at < len(self._tokens):
            raise self._broken()
        return found

    def _broken(self) -> ValueError:
        return ValueError(
            f"{self._text.strip()!r} is no condition: write #if time(18:30-8:30) or the like, "
            "joined by &&, || and !"
        )

    def _sign(self, *wanted: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at][0] in wanted:
            self._at += 1
            return True
        return False

    def _either(self) -> bool:
        found = self._both()
        while self._sign("||"):
            found = self._both() or found
        return found

    def _both(self) -> bool:
        found = self._single()
        while self._sign("&&"):
            found = self._single() and found
        return found

    def _single(self) -> bool:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("the condition is nested too deeply")
        if self._sign("!"):
            found = not self._single()
        elif self._sign("("):
            found = self._either()
            if not self._sign(")"):
                raise self._broken()
        else:
            found = self._call()
        self._depth -= 1
        return found

    def _call(self) -> bool:
        if self._at >= len(self._tokens) or not self._tokens[self._at][1]:
            raise self._broken()
        _, name, argument = self._tokens[self._at]
        self._at += 1
        if name.lower() not in _FUNCTIONS:
            known = ", ".join(f"{word}(…)" for word in _FUNCTIONS)
            raise ValueError(
                f"unknown condition {name}(…){nearest(name, _FUNCTIONS)}: there are {known}"
            )
        return _FUNCTIONS[name.lower()](argument, self._circumstances)


def _tokens(text: str) -> list[tuple[str, str, str]]:
    """(sign, function, argument) each; a text that is none of these ends the list in a token."""
    found: list[tuple[str, str, str]] = []
    at = 0
    while match := _TOKEN.match(text, at):
        found.append((match[1] or "", match[2] or "", match[3] or ""))
        at = match.end()
    if text[at:].strip():
        found.append((text[at:].strip(), "", ""))
    return found


def _time(argument: str, circumstances: Circumstances) -> bool:
    if not argument.strip():
        raise ValueError("time() needs windows such as time(18:30-8:30)")
    periods = parse_windows(argument)
    if circumstances.at is None:
        raise ValueError(f"time({argument.strip()}) needs to know the time")
    minute = _minute_of_week(circumstances.at)
    return any(
        first <= moment < last for first, last in periods for moment in (minute, minute + WEEK)
    )


def _minute_of_week(moment: datetime) -> int:
    return moment.isoweekday() % 7 * 1440 + moment.hour * 60 + moment.minute


def _listed(argument: str, name: str) -> bool:
    return name != "" and name in re.split(r"[\s,]+", argument.strip())


def _user(argument: str, circumstances: Circumstances) -> bool:
    return _listed(argument, circumstances.user)


def _cluster(argument: str, circumstances: Circumstances) -> bool:
    return _listed(argument, circumstances.cluster)


_FUNCTIONS: dict[str, Callable[[str, Circumstances], bool]] = {
    "time": _time,
    "user": _user,
    "cluster": _cluster,
}


def described(circumstances: Circumstances) -> str:
    """``at Monday 09:30, for user ann, in cluster blue``: what the conditions were asked for."""
    parts = [circumstances.at.strftime("at %A %H:%M")] if circumstances.at else []
    parts += [f"for user {circumstances.user}"] if circumstances.user else []
    parts += [f"in cluster {circumstances.cluster}"] if circumstances.cluster else []
    return ", ".join(parts)
