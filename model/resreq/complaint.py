"""What lark could not read, said for people: the place, what stands there, what would be right."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .errors import ResreqError

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedInput

_VALUES = {"NUMBER", "NAME", "LPAR"}
#: Terminals in the order in which they are offered, each with its words.
_WORDS = {
    "NAME": "a resource name",
    "NUMBER": "a number",
    "VALUE": "a number",
    "WORD": "a value",
    "QUOTED": "a quoted string",
    "ASSIGN": "'='",
    "LPAR": "'('",
    "RPAR": "')'",
    "COLON": "':'",
    "COMMA": "','",
    "AND": "'&&'",
    "OR": "'||'",
    "MINUS": "'-'",
    "$END": "the end",
}
#: Mistakes with a usual cause: what stands at the place, in which sections, and the advice.
_SELECT = frozenset({"ordinary", "strict", "restricted"})
_HINTS = (
    (re.compile(r"&(?!&)"), _SELECT, "'&&' for and"),
    (re.compile(r"\|(?!\|)"), _SELECT, "'||' for or"),
    (re.compile(r"and\b"), _SELECT, "'&&' for and"),
    (re.compile(r"or\b"), _SELECT, "'||' for or"),
    (re.compile(r"not\b"), _SELECT, "'!' for not"),
    (re.compile(r"[KMGTPE]i?B?\b"), _SELECT, "no unit: mem and swp are in MB"),
    (re.compile(r","), _SELECT, "'&&' or '||' between conditions"),
    (re.compile(r";"), _SELECT, "'&&' or '||' between conditions, or the end"),
    (re.compile(r"!"), frozenset({"strict"}), "!(!…) instead of a second '!'"),
    (re.compile(r":"), frozenset({"strict"}), "'&&' between conditions: strict syntax has no ':'"),
    (re.compile(r","), frozenset({"order", "same"}), "':' between names"),
    (re.compile(r","), frozenset({"cu"}), "':' between keywords"),
    (re.compile(r"!"), frozenset({"span"}), "'!' in quotes: ptile='!'"),
    (re.compile(r"="), frozenset({"rusage", "span", "cu"}), "a single '='"),
    (re.compile(r"\["), _SELECT, "no section inside a section"),
)
_TURNED = re.compile(r"=[<>]")


def complaint(error: UnexpectedInput, body: str, start: str) -> ResreqError:
    """The error to raise for one that lark raised over `body`, read by the rule `start`."""
    position = len(body.rstrip()) if _at_end(error) else min(error.pos_in_stream or 0, len(body))
    token = _piece(body, position)
    name = "the selection" if start in _SELECT else f"{start}[]"
    what = f"{name} cannot go on with '{token}' here" if token else f"{name} stops too early"
    return ResreqError(
        what, text=body, position=position, token=token, expected=_expected(error, body, start)
    )


def _at_end(error: UnexpectedInput) -> bool:
    return getattr(getattr(error, "token", None), "type", "") == "$END"


def _piece(body: str, position: int) -> str:
    match = re.match(r"\w+|[^\w\s]{1,2}", body[position:])
    return match.group() if match else body[position : position + 1]


def _expected(error: UnexpectedInput, body: str, start: str) -> str:
    position = error.pos_in_stream or 0
    before = body[max(0, position - 1) : position + 1]
    if start in _SELECT and _TURNED.fullmatch(before):
        return f"'{before[::-1]}'"
    if not _at_end(error):
        for pattern, starts, advice in _HINTS:
            if start in starts and pattern.match(body, position):
                return advice
    if start == "restricted":
        return "name, -name or name=value between colons; '&&' joins full conditions"
    return _listed(_accepted(error), start)


def _accepted(error: UnexpectedInput) -> set[str]:
    """Terminals the parser would really take here, not only those its state lists."""
    parser = getattr(error, "interactive_parser", None)
    if parser is not None:
        return set(parser.accepts())
    return set(getattr(error, "accepts", None) or getattr(error, "allowed", None) or ())


def _listed(terminals: set[str], start: str) -> str:
    if terminals >= _VALUES:
        return "a value: a resource, a number or '('"
    if "EQUALITY" in terminals and "AND" in terminals:
        close = "')'" if "RPAR" in terminals else "the end"
        return f"an operator (&& || == != < <= > >= + - * /) or {close}"
    if "EQUALITY" in terminals:
        return "a comparison (== != < <= > >=)"
    if "AND" in terminals:
        close = "')'" if "RPAR" in terminals else "the end"
        return f"'&&', '||' or {close}"
    words = [word for terminal, word in _WORDS.items() if terminal in terminals]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} or {words[-1]}"
