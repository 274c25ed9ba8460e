"""Parser from a requirement string to its syntax tree (REQ-01 … REQ-20).

The scanner splits the string into terms and sections, a lark grammar reads each section, and the
builders turn its parse tree into the syntax tree. Positions in errors refer to the whole string.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NoReturn

from ..cluster import BUILTIN_AMOUNTS
from ..display import HOUR, MINUTE, strange_character
from ..errors import nearest
from ..input_limits import check_length
from .errors import ResreqError
from .scanner import (
    SectionText,
    alternatives,
    is_compound,
    is_linked,
    joined_selections,
    sections,
    terms,
    unquoted,
)
from .selection import SelectionBuilder, mirrored
from .syntax import (
    LSF_7,
    LSF_10,
    Amount,
    Compound,
    Cu,
    Expression,
    Later,
    Options,
    OrderKey,
    Requirement,
    Rusage,
    Simple,
    Span,
    Term,
    UsageString,
    counts_units,
    joined,
)
from .vocabulary import ANY, BUILTIN_STATIC, CHANGING, SCALED, UNITS, Vocabulary, canonical

if TYPE_CHECKING:
    from lark import Lark, Token, Tree
    from lark.exceptions import UnexpectedInput


_RESTRICTED = re.compile(
    r"\s*-\s*[A-Za-z_]\w*\s*|\s*-?\s*[A-Za-z_]\w*\s*=\s*('[^']*'|\"[^\"]*\"|[\w.@+-]+)\s*"
)
_QUOTES = re.compile(r"'[^']*'|\"[^\"]*\"")
_VALUE = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)([A-Za-z]*)")
_SECONDS = {"": MINUTE, "s": 1, "m": MINUTE, "h": HOUR}
_PREFERENCES = ("config", "maxavail", "minavail", "bestfit")
_PER = ("host", "task", "job")
_PER_WAYS = "/host, /task or /job"
_SPANS = ("hosts", "ptile", "block")
_CU_IN_TERMS = "type, pref, maxcus or usablecuslots"


class Builder:
    """Builder of the sections found in `body`; adds to `notes`, raises ResreqError."""

    def __init__(
        self, body: str, options: Options, notes: list[str], *, in_term: bool = False
    ) -> None:
        self._body = body
        self._options = options
        self._notes = notes
        self._in_term = in_term

    def fail(self, token: Token | None, what: str, expected: str = "") -> NoReturn:
        """Raise the error with the position of `token`."""
        position = 0 if token is None else token.start_pos
        word = "" if token is None else str(token)
        raise ResreqError(what, text=self._body, position=position, token=word, expected=expected)

    def _known(self, token: Token, *words: str) -> str:
        """Return the resource that a token names; a name outside a complete vocabulary is an error.

        words: other words that may occur there, for the hint.
        """
        name = canonical(str(token))
        vocabulary = self._options.vocabulary
        if name == "maxslots":
            self._needs_newer(token, "maxslots")
        if vocabulary.complete and vocabulary.kind(name) is None:
            raise ResreqError(
                f"unknown resource '{token}'{nearest(name, (*vocabulary.names(), *words))}",
                text=self._body,
                position=token.start_pos,
                token=str(token),
                undefined=True,
            )
        return name

    def _needs_newer(self, token: Token, what: str) -> None:
        """Raise an error for syntax that LSF 7 does not know, if the cluster has its language."""
        if self._options.dialect == LSF_7:
            self.fail(token, f"LSF 7 has no {what}", "dialect: 10.1, or a requirement of LSF 7")

    def select_form(self) -> str:
        """Return the name of the grammar for a selection; the restricted one only if no other
        fits (004).
        """
        bare = _QUOTES.sub("", self._body)
        return "restricted" if ":" in bare or _RESTRICTED.fullmatch(self._body) else "ordinary"

    def select(self, tree: Tree[Any] | Token, start: str) -> Expression:
        """Return the expression of a select section."""
        selection = SelectionBuilder(self._body, self._options, self._known, self._notes)
        return selection.restricted(tree) if start == "restricted" else selection.expression(tree)

    def order(self, tree: Tree[Any]) -> tuple[OrderKey, ...] | None:
        """Return the keys of an order section, leftmost first; None if it has none."""
        keys = []
        for key in _subtrees(tree):
            *minus, name = key.children
            resource = self._known(name)
            if self._options.vocabulary.kind(resource) in ("string", "boolean"):
                self.fail(name, f"order[] must name numeric resources, not {resource}")
            keys.append(OrderKey(resource, bool(minus)))
        return tuple(keys) or None

    def same(self, tree: Tree[Any]) -> tuple[str, ...]:
        """Return the names of a same section, each once."""
        names = tuple(dict.fromkeys(self._known(token) for token in _tokens(tree, "NAME")))
        for name in names:
            if name in CHANGING or name in self._options.vocabulary.dynamic:
                self._notes.append(
                    f"same[{name}]: {name} is not static, hosts may differ in it at any time"
                )
        return names

    def rusage(self, tree: Tree[Any]) -> Rusage | None:
        """Return the alternatives of usage strings of an rusage section (REQ-11)."""
        alternatives = []
        bars = _tokens(tree, "OR")
        if bars and self._in_term:
            self.fail(bars[0], "rusage[] in braces must be one usage string without '||'")
        for place, alternative in enumerate(_subtrees(tree)):
            seen: set[str] = set()
            commas = _tokens(alternative, "COMMA")
            usages = [self._usage(usage, seen) for usage in _subtrees(alternative)]
            if UsageString(()) in usages and (bars or commas):
                # Blame the comma without a usage string: the one before it, at the start the one
                # after it.
                signs, empty = (commas, usages.index(UsageString(()))) if commas else (bars, place)
                sign = signs[max(0, empty - 1)]
                if commas and 0 < empty == len(usages) - 1:
                    usages.pop()  # bsub accepts a comma at the end.
                    alternatives.append(tuple(usages))
                    continue
                self.fail(
                    sign,
                    f"a usage string next to '{sign}' is empty",
                    f"a resource on both sides of '{sign}'",
                )
            alternatives.append(tuple(usage for usage in usages if usage != UsageString(())))
        return Rusage(tuple(alternatives)) if any(alternatives) else None

    def _usage(self, tree: Tree[Any], seen: set[str]) -> UsageString:
        amounts: list[Amount] = []
        durations: tuple[int, ...] = ()
        decays: tuple[float, ...] = ()
        own: set[str] = set()
        first: Token | None = None
        for item in _subtrees(tree):
            name, *rest = item.children
            values = [token for token in rest if token.type == "VALUE"]
            word = str(name)
            if word in ("duration", "decay"):
                if per := _named(rest):
                    self.fail(per, f"{word} cannot have '/{per}': remove '/{per}'")
                if word in own:
                    self.fail(name, f"{word} is given twice: give it once")
                own.add(word)
                if not values:
                    self.fail(name, f"{word} must have a value, as in {word}=1")
                if word == "duration":
                    durations = tuple(self._duration(value) for value in values)
                else:
                    decays = tuple(self._decay(value) for value in values)
                continue
            first = first or name
            amounts.append(self._amount(name, rest, seen))
        if own and not amounts:
            self._notes.append("duration and decay without a resource reserve nothing")
        static = self._options.vocabulary.static_shared
        for amount in amounts:
            if own and amount.resource in static:
                self._notes.append(
                    f"{amount.resource} is a static shared resource: duration and decay do not "
                    f"apply"
                )
        usage = UsageString(tuple(amounts), durations, decays)
        self._check_phases(first, usage)
        return usage

    def _amount(self, name: Token, rest: Sequence[Token], seen: set[str]) -> Amount:
        values = [token for token in rest if token.type == "VALUE"]
        phased = any(token.type == "LPAR" for token in rest)
        resource = self._known(name, "duration", "decay")
        # An unknown name may be a misspelled duration or decay.
        hint = nearest(str(name), ("duration", "decay"))
        if hint and self._options.vocabulary.kind(canonical(str(name))) is None:
            self._notes.append(f"{name} is assumed to be a resource{hint}")
        if resource in seen:
            self.fail(name, f"{resource} is given twice in one usage string: give it once")
        seen.add(resource)
        if phased and resource != "mem":
            self.fail(name, f"only mem can have phases, not {resource}", f"{resource}=1")
        amounts = tuple(self._number(resource, value) for value in values)
        why = self._not_consumed(resource)
        if not why:
            return Amount(resource, amounts, phased, self._per(_named(rest)))
        if self._options.strict:
            self.fail(name, f"{resource} cannot be reserved: it {why}", "a consumable resource")
        self._notes.append(f"{resource} {why}: rusage of it reserves nothing")
        return Amount(resource, ())

    def _per(self, token: Token | None) -> str:
        """Return ``host``, ``task`` or ``job`` after an amount; "" if there is none."""
        if token is None:
            return ""
        self._needs_newer(token, f"'/{token}' behind an amount")
        if str(token) not in _PER:
            self.fail(
                token, f"unknown unit '{token}' of an amount{nearest(str(token), _PER)}", _PER_WAYS
            )
        return str(token)

    def _not_consumed(self, resource: str) -> str:
        """Return why jobs cannot reserve the resource, "" if they can (REQ-08)."""
        vocabulary = self._options.vocabulary
        kind = vocabulary.kind(resource)
        if kind == "string":
            return "is a string"
        inert = resource in BUILTIN_STATIC or resource in vocabulary.inert
        return "is not consumed by jobs" if kind == "boolean" or inert else ""

    def _number(self, resource: str, token: Token) -> float:
        number, suffix = self._split(token)
        megabytes = self._unit(resource, suffix)
        if suffix and not megabytes:
            self.fail(
                token,
                f"the amount of {resource} cannot have a unit, as in '{token}'",
                f"a plain number ({self._options.unit}, set by LSF_UNIT_FOR_LIMITS)"
                if resource in SCALED
                else "a plain number",
            )
        if number < 0:
            self.fail(token, f"{resource} must be 0 or more, not {token}")
        if megabytes:
            return number * megabytes
        return number * UNITS[self._options.unit] if resource in SCALED else number

    def _unit(self, resource: str, suffix: str) -> float:
        """Return the MB of a unit after an amount (``mem=5GB``, not in LSF 7), 0 if none is
        allowed.
        """
        unit = suffix.upper() if len(suffix) > 1 else f"{suffix.upper()}B"
        sized = resource in BUILTIN_AMOUNTS and self._options.dialect != LSF_7
        return UNITS.get(unit, 0) if suffix and sized else 0

    def _duration(self, token: Token) -> int:
        number, suffix = self._split(token)
        if suffix not in _SECONDS:
            self.fail(token, f"duration must be in minutes, or end in s, m or h, not '{token}'")
        seconds = round(number * _SECONDS[suffix])
        if seconds < 1:
            self.fail(token, f"duration must be 1s or more, not {token}")
        return seconds

    def _decay(self, token: Token) -> float:
        number, suffix = self._split(token)
        if suffix:
            self.fail(token, f"decay must be 0 or 1, not '{token}'")
        if number not in (0, 1):
            self._notes.append(f"decay={token} counts as 0: only 0 and 1 are supported")
            return 0.0
        return number

    def _split(self, token: Token) -> tuple[float, str]:
        match = _VALUE.fullmatch(str(token))
        if match is None or not float(match.group(1)) < 1e300:
            self.fail(token, f"'{token}' is not a number such as 100 or 2.5")
        return float(match.group(1)), match.group(2)

    def _check_phases(self, name: Token | None, usage: UsageString) -> None:
        """Raise an error if phases do not fit their durations or rise (RSV-09)."""
        phases = max((len(amount.values) for amount in usage.amounts), default=1)
        if len(usage.amounts) > 1 and (phases > 1 or len(usage.durations) > 1):
            self.fail(
                name,
                "a usage string with phases must have only one resource",
                "a comma between the resources: mem=(…):duration=(…),other=…",
            )
        try:
            usage.reservations()
        except ValueError as error:
            self.fail(name, str(error))

    def span(self, tree: Tree[Any]) -> Span | None:
        """Return the span section: hosts, block, ptile, or ptile for types or models (REQ-18)."""
        result: Span | None = None
        seen: dict[str, Token] = {}
        for item in _subtrees(tree):
            name, *rest = item.children
            word = str(name)
            if word not in _SPANS:
                hint = nearest(word, _SPANS)
                self.fail(
                    name,
                    f"unknown keyword '{word}' in span[]{hint}",
                    "hosts=1, hosts=-1 or ptile=…",
                )
            if word == "block":
                self._needs_newer(name, "span[block]")
            if word in seen:
                self.fail(name, f"{word} is given twice: give it once")
            if seen:
                self._notes.append(f"span: {next(iter(seen))} is replaced by {word}, which is last")
            seen[word] = name
            values = [token for token in rest if token.type == "WORD"]
            if not values:
                self.fail(name, f"{word} must have a value, as in {word}=1")
            result = {"hosts": self._hosts, "ptile": self._ptile, "block": self._block}[word](
                values
            )
        return result

    def _hosts(self, values: Sequence[Token]) -> Span:
        if str(values[0]) not in ("1", "-1") or len(values) > 1:
            self.fail(values[0], f"hosts must be 1 or -1, not {values[0]}")
        return Span(hosts=int(values[0]))

    def _ptile(self, values: Sequence[Token]) -> Span:
        default, *pairs = values
        own_limit = str(default) in ("'!'", '"!"')
        by_name: dict[str, int] = {}
        for name, count in zip(pairs[::2], pairs[1::2], strict=True):
            if str(name) in by_name:
                self.fail(name, f"ptile of {name} is given twice: give it once")
            by_name[_unquote(str(name))] = self._positive(count, f"ptile of {name}")
        ptile = None if own_limit else self._positive(default, "ptile", ", or '!' in quotes")
        return Span(ptile=ptile, ptile_max=own_limit, ptile_by=tuple(by_name.items()))

    def _block(self, values: Sequence[Token]) -> Span:
        if len(values) > 1:
            self.fail(values[1], f"block takes one number, not {len(values)}", "block=4")
        return Span(block=self._positive(values[0], "block"))

    def _positive(self, token: Token, what: str, more: str = "") -> int:
        word = str(token)
        if not re.fullmatch(r"[0-9]{1,9}", word) or int(word) < 1:
            self.fail(token, f"{what} must be a whole number of 1 or more{more}, not {word}")
        return int(word)

    def cu(self, tree: Tree[Any]) -> Cu:
        """Return the cu section; balance excludes usablecuslots unless lenient (PLC-08)."""
        found: dict[str, Any] = {}
        places: dict[str, Token] = {}
        for item in _subtrees(tree):
            name, *rest = item.children
            word = str(name)
            if word in found:
                self.fail(name, f"{word} is given twice: give it once")
            value = next((token for token in rest if token.type == "WORD"), None)
            places[word] = name
            if self._in_term and word in ("balance", "excl"):
                self.fail(name, f"cu[{word}] cannot be used in braces", _CU_IN_TERMS)
            found[word] = self._cu_value(name, value)
        if "balance" in found and found.get("pref") == "bestfit":
            place = max((places["balance"], places["pref"]), key=lambda t: t.start_pos or 0)
            self.fail(place, "pref=bestfit and balance are both given: give one of them")
        if {"balance", "usablecuslots"} <= found.keys() and not self._options.lenient:
            place = max(
                (places["balance"], places["usablecuslots"]), key=lambda t: t.start_pos or 0
            )
            self.fail(place, "balance and usablecuslots are both given: give one of them")
        return Cu(**found)

    def _cu_value(self, name: Token, value: Token | None) -> Any:
        word = str(name)
        if word in ("balance", "excl"):
            if value is not None:
                self.fail(value, f"{word} takes no value: remove '{value}'")
            return True
        keys = ("type", "pref", "maxcus", "usablecuslots", "balance", "excl")
        if word not in keys:
            self.fail(
                name, f"unknown keyword '{word}' in cu[]{nearest(word, keys)}", ", ".join(keys)
            )
        if value is None:
            counts = word in ("maxcus", "usablecuslots")
            self.fail(name, f"{word} has no value", f"{word}={'number' if counts else '…'}")
        if word == "type":
            return _unquote(str(value))
        if word == "pref":
            if str(value) not in _PREFERENCES:
                self.fail(value, f"unknown pref '{value}'", "config, maxavail, minavail or bestfit")
            if str(value) == "bestfit":
                self._needs_newer(value, "pref=bestfit")
            return str(value)
        if word == "usablecuslots":
            return 0 if str(value) == "0" else self._positive(value, word, ", or 0 for no minimum")
        return self._positive(value, word)


def _named(tokens: Sequence[Token]) -> Token | None:
    """Return the name after an amount and its slash."""
    return next((token for token in tokens if token.type == "NAME"), None)


def _unquote(word: str) -> str:
    return word[1:-1] if word[:1] in "'\"" and word[:1] else word


def _subtrees(tree: Tree[Any]) -> list[Any]:
    from lark import Tree

    return [child for child in tree.children if isinstance(child, Tree)]


def _tokens(tree: Tree[Any], kind: str) -> list[Any]:
    from lark import Token

    return [c for c in tree.children if isinstance(c, Token) and c.type == kind]


_VALUES = {"NUMBER", "NAME", "LPAR"}
#: Terminals in the order in which messages offer them, each with its words.
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
#: Mistakes with a frequent cause: text at the position, sections, and the advice.
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
#: ``linux==type``: the grammar reads the resource as the start of another comparison.
_STRING_RIGHT = re.compile(
    r"('[^']*'|\"[^\"]*\"|(?<![\w.])[\w.]+)\s*(==|!=|<=|>=|<|>|=)\s*(type|model|status|hname)$"
)
_UNEQUAL = re.compile(r"<\s*>")
#: ``mem:100``, ``mem 100`` and ``mem>100`` in a usage string.
_AMOUNT = re.compile(r"(?<!\w)([A-Za-z_]\w*)\s*(?:(:|[<>]=?)\s*)?([0-9.][\w.]*)")


def complaint(error: UnexpectedInput, body: str, start: str) -> ResreqError:
    """Return the error for one that lark raised over `body`, parsed by the rule `start`."""
    position = len(body.rstrip()) if _at_end(error) else min(error.pos_in_stream or 0, len(body))
    slip = _slip(body, position, start)
    if slip is not None:
        return slip
    match = re.match(r"\w+|[^\w\s]{1,2}", body[position:])
    token = match.group() if match else body[position : position + 1]
    name = "the selection" if start in _SELECT else f"{start}[]"
    what = f"{name} cannot be followed by '{token}'" if token else f"{name} is incomplete"
    return ResreqError(
        what, text=body, position=position, token=token, expected=_expected(error, body, start)
    )


def _slip(body: str, position: int, start: str) -> ResreqError | None:
    """Return the error for a known typing error, which says more than the position where lark
    stops.
    """
    if start in _SELECT:
        turned = _STRING_RIGHT.search(body[:position].rstrip())
        if turned is not None:
            value, sign, name = turned.groups()
            what = f"the resource {name} must be on the left"
            return _error(what, body, turned.start(3), name, f"{name}{mirrored(sign)}{value}")
        unequal = next((m for m in _UNEQUAL.finditer(body) if m.end() == position + 1), None)
        if unequal is not None:
            what = f"unknown comparison '{unequal.group()}'"
            return _error(what, body, unequal.start(), unequal.group(), "'!='")
    for amount in _AMOUNT.finditer(body) if start == "rusage" else ():
        name, sign, number = amount.groups()
        if position in (amount.start(2), amount.start(3)):
            at, token = (amount.start(2), sign) if sign else (amount.start(3), number)
            what = f"{name} is separated from its amount"
            return _error(what, body, at, token, f"'=': {name}={number}")
    return None


def _error(what: str, body: str, at: int, token: str, expected: str) -> ResreqError:
    return ResreqError(what, text=body, position=at, token=token, expected=expected)


def _at_end(error: UnexpectedInput) -> bool:
    return getattr(getattr(error, "token", None), "type", "") == "$END"


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
    """Return the terminals that the parser would accept here, fewer than its state lists."""
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


_STARTS = ["ordinary", "strict", "restricted", "order", "rusage", "span", "same", "cu"]
#: Items of span[] that distribute tasks over hosts or GPUs: stripe, stripe=n, gtile=n, gtile='!'.
_TILING = re.compile(
    r"(?:(?<=:)|^)\s*(?:stripe(?:\s*=\s*[0-9]+)?|gtile\s*=\s*(?:[0-9]+|'!'|\"!\"))\s*(?=:|\Z)"
)
_NOT_TILED = "stripe and gtile of span[] are read but not modelled"
#: Text of the note about an affinity[] that requests more than a number of processor units.
_AFFINITY = (
    "affinity[]: plans count the processor units; their location, sharing and binding are read "
    "but not modelled"
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A requirement and notes on what was accepted but has no effect, a sentence each."""

    #: The parsed requirement.
    requirement: Requirement
    #: Notes on ignored or changed parts, one sentence each.
    notes: tuple[str, ...] = ()


def parse(
    text: str,
    *,
    strict: bool = False,
    lenient: bool = False,
    unit: str = "MB",
    vocabulary: Vocabulary = ANY,
    dialect: str = LSF_10,
) -> Requirement:
    """Return the requirement of a -R string or RES_REQ; "" is an empty requirement.

    strict: the rules of LSF_STRICT_RESREQ=Y. lenient: also accept cu[balance] with usablecuslots.
    unit: the unit of a number for mem or swp (KB … EB); the tree always holds MB. vocabulary: known
    names; names outside a complete one are errors. dialect: the language of LSF "7" or "10.1".
    Raises ResreqError with the position of the first mistake. Results are cached.
    """
    options = Options(strict, lenient, unit, vocabulary, dialect=dialect)
    return parse_with_notes(text, options).requirement


@lru_cache(maxsize=16384)
def parse_with_notes(text: str, options: Options) -> Parsed:
    """Return the requirement with notes on text and values that LSF accepts and ignores."""
    if options.unit not in UNITS:
        raise ResreqError(f"unknown unit of memory '{options.unit}'", expected=", ".join(UNITS))
    try:
        check_length(text)
    except ValueError as error:
        raise ResreqError(f"the requirement {error}") from None
    if wrong := strange_character(text, "\n\t\r"):
        raise ResreqError(f"the requirement {wrong}", text=text)
    inner, offset = unquoted(text)
    try:
        requirement, notes = _requirement(inner, options)
    except ResreqError as error:
        raise error.shifted(text, offset) from None
    return Parsed(requirement, tuple(notes))


def _requirement(text: str, options: Options) -> tuple[Requirement, list[str]]:
    parts = alternatives(text)
    if not parts:
        return _alone(text, options)
    if options.dialect == LSF_7:
        raise ResreqError(
            "LSF 7 has no alternatives in braces",
            text=text,
            position=parts[-1].start - 1,
            token="{",
            expected="dialect: 10.1, or one requirement",
        )
    found: list[Later] = []
    notes: list[str] = []
    for part in parts:
        try:
            requirement, own = _alone(part.body, options, in_braces=True)
        except ResreqError as error:
            raise error.shifted(text, part.start) from None
        found.append(Later(requirement, part.delay))
        notes += own
    if found[0].delay:
        notes.append(f"the delay @{found[0].delay} of the first alternative is ignored")
    delays = [item.delay for item in found[1:] if item.delay is not None]
    if delays != sorted(delays):
        notes.append("a delay is shorter than the one before it")
    return replace(found[0].requirement, later=tuple(found[1:])), notes


def _alone(
    text: str, options: Options, *, in_braces: bool = False
) -> tuple[Requirement, list[str]]:
    """Return a requirement without alternatives; in_braces: it is one of several."""
    notes: list[str] = []
    if not is_compound(text):
        return _simple(text, options, notes, in_term=in_braces), notes
    found = []
    for term in terms(text):
        if term.count == 0:
            raise ResreqError(
                "a term of the compound requirement has a count of 0",
                text=text,
                position=term.at,
                token="0",
                expected="1 or more",
            )
        try:
            simple = _simple(term.body, options, notes, in_term=True)
        except ResreqError as error:
            raise error.shifted(text, term.start) from None
        found.append(Term(term.count, simple))
    return Compound(tuple(found)), notes


def _simple(text: str, options: Options, notes: list[str], *, in_term: bool = False) -> Simple:

    found, stray = sections(text)
    parts: dict[str, Any] = {}
    seen: dict[str, SectionText] = {}
    selections: list[Expression] = []
    found, stray = _with_leading(text, found, stray, options, notes)
    for section in stray:
        _judge_stray(text, section, options, notes)
    for section in found:
        keyword = section.keyword or "select"
        if keyword in seen and (keyword != "select" or options.strict or options.dialect != LSF_7):
            raise _second(text, section, keyword)
        if options.dialect == LSF_7:
            _judge_by_7(text, section, in_term)
        seen[keyword] = section
        try:
            if keyword == "affinity":
                parts[keyword] = body = " ".join(section.body.split())
                if not counts_units(body):
                    notes.append(_AFFINITY)
            elif keyword != "select":
                body = section.body
                if keyword == "span" and (tiling := _TILING.findall(body)):
                    parts["tiling"] = ":".join("".join(item.split()) for item in tiling)
                    notes.append(_NOT_TILED)
                    body = _TILING.sub(lambda item: " " * len(item[0]), body)
                    body = body if body.strip(" :") else ""
                if body.strip() or keyword == "cu":
                    parts[keyword], found_notes = _section(keyword, body, options, in_term)
                    notes += found_notes
            elif section.body.strip():
                builder = Builder(section.body, options, notes, in_term=in_term)
                start = "strict" if options.strict else builder.select_form()
                selections.append(builder.select(_tree(section.body, start), start))
        except ResreqError as error:
            raise error.shifted(text, section.start) from None
    if selections:
        parts["select"] = selections[0] if len(selections) == 1 else joined("&&", selections)
    result = Simple(**parts)
    if options.together:
        check_together(result, text, seen.get("span"))
    return result


def _with_leading(
    text: str,
    found: tuple[SectionText, ...],
    stray: tuple[SectionText, ...],
    options: Options,
    notes: list[str],
) -> tuple[tuple[SectionText, ...], tuple[SectionText, ...]]:
    """Merge selections outside select[]: in LSF 7 they apply too, unless the syntax is strict
    (004).
    """
    if options.dialect != LSF_7 and not options.strict:
        selections = [section for section in found if section.keyword in ("", "select")]
        if selections:
            selections += [section for section in stray if is_linked(section)]
        if len(selections) > 1:
            raise _second(text, selections[1], "select")
    elif not options.strict:
        found, stray = joined_selections(text, found, stray)
    explicit = any(section.keyword == "select" for section in found)
    if not (found and not found[0].keyword and explicit):
        return found, stray
    if options.strict:
        return found[1:], (found[0], *stray)
    notes.append(f"'{found[0].body}' precedes select[…]: both must hold")
    return found, stray


def _second(text: str, section: SectionText, keyword: str) -> ResreqError:
    also = ", its conditions joined by && or ||" if keyword == "select" else ""
    return ResreqError(
        f"section {keyword}[] is given twice",
        text=text,
        position=section.at,
        token=section.keyword or section.body,
        expected=f"one {keyword}[] section{also}",
    )


def _judge_by_7(text: str, section: SectionText, in_term: bool) -> None:
    """Raise an error for sections that LSF 7 does not know, or not at this position."""
    what = "affinity[]" if section.keyword == "affinity" else ""
    if in_term and section.keyword == "cu":
        what = "cu[] in compound requirements"
    if what:
        raise ResreqError(
            f"LSF 7 has no {what}",
            text=text,
            position=section.at,
            token=section.keyword,
            expected="dialect: 10.1, or select[], order[], rusage[], span[] or same[]",
        )


def check_together(simple: Simple, text: str = "", span: SectionText | None = None) -> None:
    """Raise ResreqError when ptile names host types or models without same[type] or same[model]."""
    by_name = simple.span is not None and simple.span.ptile_by
    if by_name and not {"type", "model"} & set(simple.same):
        raise ResreqError(
            f"ptile of {by_name[0][0]} needs same[type] or same[model]",
            text=text,
            position=span.at if span else None,
            token="span",
        )


def _judge_stray(text: str, section: SectionText, options: Options, notes: list[str]) -> None:
    """Raise an error for text outside the sections under strict syntax, else add a note (004)."""
    if options.strict:
        raise ResreqError(
            f"'{section.body}' is outside the sections",
            text=text,
            position=section.start,
            token=section.body,
            expected="the selection first, or all of it inside one select[…]",
        )
    notes.append(f"'{section.body}' is outside the sections and is ignored, as LSF does")


@lru_cache(maxsize=16384)
def _section(
    keyword: str, body: str, options: Options, in_term: bool
) -> tuple[Any, tuple[str, ...]]:
    """Return the value of a section and its notes; cached, because different strings share
    sections.
    """

    notes: list[str] = []
    builder = Builder(body, options, notes, in_term=in_term)
    return getattr(builder, keyword)(_tree(body, keyword)), tuple(notes)


@lru_cache(maxsize=1)
def _lark() -> Lark:
    from lark import Lark

    grammar = resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", start=_STARTS, maybe_placeholders=False)


@lru_cache(maxsize=16384)
def _tree(body: str, start: str) -> Tree[Any]:
    """Return the parse tree of one section; cached, so it must not be changed."""
    from lark.exceptions import UnexpectedInput

    try:
        return _lark().parse(body, start=start)
    except UnexpectedInput as error:
        raise complaint(error, body, start) from None
