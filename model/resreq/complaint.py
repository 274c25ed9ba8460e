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
#: ``linux==type``: the grammar takes the resource for the beginning of another comparison.
_STRING_RIGHT = re.compile(
    r"('[^']*'|\"[^\"]*\"|(?<![\w.])[\w.]+)\s*(==|!=|<=|>=|<|>|=)\s*(type|model|status|hname)$"
)
_UNEQUAL = re.compile(r"<\s*>")
#: ``mem:100``, ``mem 100`` and ``mem>100`` in a usage string.
_AMOUNT = re.compile(r"(?<!\w)([A-Za-z_]\w*)\s*(?:(:|[<>]=?)\s*)?([0-9.][\w.]*)")
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def complaint(error: UnexpectedInput, body: str, start: str) -> ResreqError:
    """The error to raise for one that lark raised over `body`, read by the rule `start`."""
    position = len(body.rstrip()) if _at_end(error) else min(error.pos_in_stream or 0, len(body))
    slip = _slip(body, position, start)
    if slip is not None:
        return slip
    token = _piece(body, position)
    name = "the selection" if start in _SELECT else f"{start}[]"
    what = f"{name} cannot go on with '{token}' here" if token else f"{name} stops too early"
    return ResreqError(
        what, text=body, position=position, token=token, expected=_expected(error, body, start)
    )


def _slip(body: str, position: int, start: str) -> ResreqError | None:
    """The error for a slip that shows more than the place at which lark stops."""
    if start in _SELECT:
        turned = _STRING_RIGHT.search(body[:position].rstrip())
        if turned is not None:
            value, sign, name = turned.groups()
            what = f"the string {name} stands on the right"
            right = f"{name}{_MIRRORED.get(sign, sign)}{value}"
            return _error(what, body, turned.start(3), name, right)
        unequal = next((m for m in _UNEQUAL.finditer(body) if m.end() == position + 1), None)
        if unequal is not None:
            what = f"'{unequal.group()}' is no comparison"
            return _error(what, body, unequal.start(), unequal.group(), "'!='")
    for amount in _AMOUNT.finditer(body) if start == "rusage" else ():
        name, sign, number = amount.groups()
        if position in (amount.start(2), amount.start(3)):
            at, token = (amount.start(2), sign) if sign else (amount.start(3), number)
            what = f"{name} stands apart from its amount"
            return _error(what, body, at, token, f"'=': {name}={number}")
    return None


def _error(what: str, body: str, at: int, token: str, expected: str) -> ResreqError:
    return ResreqError(what, text=body, position=at, token=token, expected=expected)


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
