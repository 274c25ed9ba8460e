"""Syntax tree of a resource requirement, the result of parsing a -R string (REQ-01 … REQ-20).

Conversion of parse trees of select sections to expressions, with checks (REQ-02 … REQ-08).

The error of the requirement language, with position, complaint and expectation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from ..errors import InputError, Problem
from ..reservation import Reservation, reservation
from .vocabulary import (
    ANY,
    BUILTIN_STRINGS,
    BUILTINS,
    PRODUCTS,
    SCALED,
    UNITS,
    Vocabulary,
    canonical,
)

if TYPE_CHECKING:
    from lark import Token, Tree


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


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric literal."""

    #: The value of the literal.
    value: float
    #: The literal as written, "" if the value says all. Comparisons with string resources need it
    #: (``5.0``), and an integer literal divides like integers in C.
    text: str = ""

    @property
    def whole(self) -> bool:
        """Return whether the literal was written as an integer."""
        return not self.text and self.value == int(self.value)


@dataclass(frozen=True, slots=True)
class String:
    """A quoted string literal."""

    #: The text without its quotes.
    value: str


@dataclass(frozen=True, slots=True)
class Name:
    """A bare word: a resource, or a string value on one side of a comparison."""

    #: The name as written.
    value: str


@dataclass(frozen=True, slots=True)
class Defined:
    """``defined(resource)``."""

    #: Name of the resource.
    resource: str


@dataclass(frozen=True, slots=True)
class Unary:
    """``!x`` or ``-x``."""

    #: ``!`` or ``-``.
    operator: str
    #: The operand.
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic, comparison or logic; `=` is stored as `==`."""

    #: The operator.
    operator: str
    #: The left operand.
    left: Expression
    #: The right operand.
    right: Expression


Expression: TypeAlias = Number | String | Name | Defined | Unary | Binary


def operands(expression: Expression, operator: str) -> tuple[Expression, ...]:
    """Return the operands of `operator` (``&&`` or ``||``) at the top, in order."""
    if isinstance(expression, Binary) and expression.operator == operator:
        return operands(expression.left, operator) + operands(expression.right, operator)
    return (expression,)


def joined(operator: str, parts: Sequence[Expression]) -> Expression:
    """Return all parts joined by ``&&`` or ``||`` as one balanced tree; nested joins are merged.

    Balance keeps the depth logarithmic, so that a list of a thousand hosts needs no deep recursion.
    """
    return _balanced(operator, [leaf for part in parts for leaf in operands(part, operator)])


def _balanced(operator: str, parts: Sequence[Expression]) -> Expression:
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    left, right = _balanced(operator, parts[:middle]), _balanced(operator, parts[middle:])
    return Binary(operator, left, right)


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One key of order[]; `reverse` is the leading minus."""

    #: Name of the resource or load index.
    resource: str
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Amount:
    """``mem=50`` or ``mem=(400 300)``; `phased` keeps the parenthesised form for printing."""

    #: Name of the resource.
    resource: str
    #: Amount of each phase, MB for mem and swp; empty for a name without a value, which reserves
    #: nothing.
    values: tuple[float, ...]
    phased: bool = False
    #: ``host``, ``task`` or ``job`` of ``mem=50/task``; "" if the requirement does not say.
    per: str = ""


@dataclass(frozen=True, slots=True)
class UsageString:
    """Resources that share one duration and decay; durations in seconds."""

    #: Amounts, one for each resource.
    amounts: tuple[Amount, ...]
    #: Duration of each phase in seconds, () without durations.
    durations: tuple[int, ...] = ()
    #: Decay of each phase, 0 (none) or 1 (linear).
    decays: tuple[float, ...] = ()

    @property
    def phased(self) -> bool:
        """Return whether the string is written in the multi-phase form, or has no other."""
        return any(amount.phased or len(amount.values) > 1 for amount in self.amounts)

    def reservations(self) -> tuple[Reservation, ...]:
        """Return one reservation for each resource; errors as in :func:`reservation`."""
        return tuple(
            reservation(amount.resource, amount.values, self.durations, self.decays, per=amount.per)
            for amount in self.amounts
            if amount.values
        )


@dataclass(frozen=True, slots=True)
class Rusage:
    """Alternatives (``||``) of usage strings (``,``), tried in order (RSV-07)."""

    #: The alternatives; each has one or more usage strings.
    alternatives: tuple[tuple[UsageString, ...], ...]

    @property
    def phased(self) -> bool:
        """Return whether any usage string is multi-phase."""
        return any(usage.phased for strings in self.alternatives for usage in strings)

    def reservations(self, alternative: int = 0) -> tuple[Reservation, ...]:
        """Return the reservations of one alternative."""
        return tuple(
            item for usage in self.alternatives[alternative] for item in usage.reservations()
        )


@dataclass(frozen=True, slots=True)
class Span:
    """span[]: hosts=1, hosts=-1, block=n, ptile=n, ptile='!', ptile per type or model (REQ-18)."""

    #: Value of ``hosts=``, None if absent.
    hosts: int | None = None
    #: Default number of slots on each host; None: not set.
    ptile: int | None = None
    #: Whether it is ptile='!': MXJ of the host, 1 if MXJ is undefined.
    ptile_max: bool = False
    #: Pairs of a host type or model and its number of slots on each host.
    ptile_by: tuple[tuple[str, int], ...] = ()
    #: Size of the blocks in which slots come, None: not set. A host may hold several blocks.
    block: int | None = None


@dataclass(frozen=True, slots=True)
class Cu:
    """cu[]: compute units (PLC-05 … PLC-11). type None means the cluster's default type."""

    #: Type of the compute units; None: the default type.
    type: str | None = None
    #: Preference among units: config, maxavail or minavail.
    pref: str = "config"
    #: Maximum number of units of the job, None: no limit.
    maxcus: int | None = None
    #: Minimum number of free slots of a unit that may be used, None: no minimum.
    usablecuslots: int | None = None
    #: Whether slots are spread evenly over as few units as possible.
    balance: bool = False
    #: Whether the job has its units to itself.
    excl: bool = False


#: Processor units as affinity[] names them, and what they are.
UNITS = {"core": "core", "thread": "thread", "cpu": "thread", "socket": "socket"} | dict.fromkeys(
    ("numa", "mcm"), "numa"
)
_UNIT = rf"\s*({'|'.join(UNITS)})"
#: ``core``, ``thread(2)``, ``core(2)*3``; ``distribute=any`` is LSF's default.
_NUMBER = rf"{_UNIT}\s*(?:\(\s*(\d+)\s*\))?\s*(?:\*\s*(\d+)\s*)?"
_COUNTED = re.compile(rf"{_NUMBER}(?::\s*distribute\s*=\s*any\s*)?")
#: Start of an affinity request with more conditions: ``core(2,same=socket):membind=localonly``.
_AT_LEAST = re.compile(rf"{_UNIT}\s*(?:\(\s*(\d+))?")


def counts_units(affinity: str) -> bool:
    """Return whether the text of an affinity[] requests only a number of processor units."""
    return _COUNTED.fullmatch(affinity) is not None


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple requirement. An absent section is None (same and affinity: empty)."""

    #: Expression that a host has to fulfil.
    select: Expression | None = None
    #: Keys by which hosts are sorted, the most significant first.
    order: tuple[OrderKey, ...] | None = None
    #: Resources that the job reserves.
    rusage: Rusage | None = None
    #: Distribution of slots over hosts.
    span: Span | None = None
    #: Resources of same[].
    same: tuple[str, ...] = ()
    #: Compute units of the job.
    cu: Cu | None = None
    #: Text of affinity[]; plans obey only its number of processor units.
    affinity: str = ""
    #: Text of stripe and gtile of span[], which no plan obeys.
    tiling: str = ""
    #: Alternatives in braces that follow it.
    later: tuple[Later, ...] = ()

    @property
    def units_of_a_slot(self) -> tuple[str, int]:
        """Return the processor unit that affinity[] takes for each slot, and the minimum (AFF-01).

        ``core``, ``thread``, ``socket`` or ``numa``; ``""`` and 0 without the section.
        """
        found = _COUNTED.fullmatch(self.affinity)
        if found:
            return UNITS[found[1]], int(found[2] or 1) * int(found[3] or 1)
        least = _AT_LEAST.match(self.affinity)
        return (UNITS[least[1]], int(least[2] or 1)) if least else ("", 0)

    @property
    def asks_for_a_number_of_units(self) -> bool:
        """Return whether affinity[] requests only a number of units, without their location."""
        return counts_units(self.affinity)


@dataclass(frozen=True, slots=True)
class Term:
    """A term ``count*{requirement}`` of a compound requirement; the last count may be None."""

    #: Number of slots; None: the rest of -n.
    count: int | None
    #: Requirement of the term.
    requirement: Simple


@dataclass(frozen=True, slots=True)
class Compound:
    """``n1*{…} + n2*{…}`` (REQ-14)."""

    #: The terms in order.
    terms: tuple[Term, ...]
    #: Alternatives in braces that follow it.
    later: tuple[Later, ...] = ()


@dataclass(frozen=True, slots=True)
class Later:
    """An alternative ``|| {requirement}@delay`` after the first one (REQ-21)."""

    #: Requirement of the alternative.
    requirement: Simple | Compound
    #: Minutes of pending time from which it may be used, None: not given.
    delay: int | None = None


Requirement: TypeAlias = Simple | Compound


def simples(requirement: Requirement) -> tuple[Simple, ...]:
    """Return the requirement of each term; a simple requirement is returned alone."""
    if isinstance(requirement, Simple):
        return (requirement,)
    return tuple(term.requirement for term in requirement.terms)


def every(requirement: Requirement) -> tuple[Requirement, ...]:
    """Return the first and all later alternatives; a requirement without any is returned alone."""
    return (requirement, *(item.requirement for item in requirement.later))


def may_have_alternatives(texts: Iterable[str]) -> bool:
    """Return whether one of these requirements may have alternatives in braces."""
    return any("||" in text and "{" in text for text in texts)


def openings(requirement: Requirement) -> tuple[int, ...]:
    """Return the seconds after the submission from which each alternative may be used."""
    minutes = [0]
    for item in requirement.later:
        minutes.append(max(minutes[-1], item.delay or 0))
    return tuple(60 * each for each in minutes)


#: Versions of the requirement language (docs/resreq.md has the differences).
LSF_7 = "7"
LSF_10 = "10.1"
DIALECTS = (LSF_7, LSF_10)


@dataclass(frozen=True, slots=True)
class Options:
    """Settings for reading a requirement string."""

    #: Whether strict syntax applies (LSF_STRICT_RESREQ=Y, REQ-08).
    strict: bool = False
    #: Whether cu[balance] may be combined with usablecuslots (PLC-08).
    lenient: bool = False
    #: Unit of bare numbers for mem and swp (LSF_UNIT_FOR_LIMITS, REQ-13).
    unit: str = "MB"
    #: Names of the known resources.
    vocabulary: Vocabulary = ANY
    #: Whether checks that need the whole requirement are made (ptile by type needs same[]).
    together: bool = True
    #: Version of the language, one of DIALECTS.
    dialect: str = LSF_10


#: Default settings: LSF's ordinary syntax.
ORDINARY = Options()


COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
#: Maximum depth of nesting; it keeps the recursion over expressions shallow.
MAX_DEPTH = 100
_NUMBER_of_selection = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_SIZE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?P<unit>[KMGTPE])B?", re.IGNORECASE)
#: Resources that may be compared with a size (``8GB``): those of LSF_UNIT_FOR_LIMITS, and in MB.
_SIZED = SCALED | {"tmp", "maxmem", "maxswp", "maxtmp"}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class SelectionBuilder:
    """Converter from the parse tree of one selection to an expression."""

    def __init__(
        self, body: str, options: Options, known: Callable[[Token], str], notes: list[str]
    ) -> None:
        self._body = body
        self._options = options
        self._known = known
        self._notes = notes
        # Token of each part of the expression, by id; expressions themselves have no positions.
        self._at: dict[int, tuple[Expression, Token]] = {}

    def _fail(self, token: Token, what: str, expected: str = "") -> NoReturn:
        raise ResreqError(
            what, text=self._body, position=token.start_pos, token=str(token), expected=expected
        )

    def _blame(self, part: Expression, fallback: Token) -> Token:
        return self._at[id(part)][1] if id(part) in self._at else fallback

    def _kind(self, part: Expression) -> str | None:
        """Return the kind of the resource that `part` names; "text" for a literal; else None."""
        if isinstance(part, String):
            return "text"
        if isinstance(part, Name):
            return self._options.vocabulary.kind(part.value)
        return None

    def expression(self, tree: Tree[Any] | Token) -> Expression:
        """Return the expression of a selection in ordinary or strict syntax."""
        built = self._build(tree)
        self._check_truth(built)
        return self._scaled(built)

    def _build(self, tree: Any, depth: int = 0, beside: Expression | None = None) -> Expression:
        """Return the expression of a part.

        beside: left operand, if the part is the right operand of a comparison.
        """
        rule: str = tree.data
        parts = tree.children
        if depth > MAX_DEPTH:
            raise ResreqError(f"the selection is nested more than {MAX_DEPTH} levels deep")
        if rule == "group":
            return self._build(parts[1], depth + 1)
        if rule == "unary":
            return self._unary(parts[0], self._build(parts[1], depth + 1))
        if rule == "number":
            return self._number(parts[0])
        if rule == "size":
            return self._size(parts[0], beside)
        if rule == "name":
            return self._name(parts[0], beside)
        if rule == "string":
            return self._string(parts[0])
        if rule == "defined":
            return self._defined(parts)
        if rule == "text_test":
            return self._text_test(*parts)
        if rule in ("disjunction", "conjunction"):
            terms = [self._build(part, depth + 1) for part in parts[::2]]
            for term in terms:
                self._check_truth(term)
            return joined(str(parts[1]), terms)
        # A size on the left has the unit of the resource on the right.
        right = parts[2] if parts[0].data == "size" and parts[2].data == "name" else None
        named = None if right is None else self._build(right, depth + 1)
        result = self._build(parts[0], depth + len(parts) // 2, named)
        for sign, part in zip(parts[1::2], parts[2::2], strict=True):
            compares = sign.type in ("EQUALITY", "RELATION")
            right = self._build(part, depth + 1, result if compares else None)
            result = self._binary(sign, result, right)
        return result

    def _place(self, node: Expression, token: Token) -> Expression:
        self._at[id(node)] = (node, token)
        return node

    def _number(self, token: Token) -> Expression:
        text = str(token)
        if len(text) > 300 or not float(text) < 1e300 or len(plain(float(text))) > 300:
            self._fail(token, "this number is too long", "at most 300 digits")
        odd = text[0] == "." or (text[0] == "0" and text[1:2].isdigit()) or "e" in text.lower()
        if odd and self._options.strict:
            self._fail(token, f"'{text}' is no number in strict syntax", "a number such as 0.5")
        return self._place(Number(float(text), literal(text)), token)

    def _size(self, token: Token, beside: Expression | None) -> Expression:
        """Return the number of a size such as ``8GB``, in MB or in the default unit (REQ-13)."""
        size = _SIZE.fullmatch(str(token))
        assert size is not None
        name = beside.value if isinstance(beside, Name) else ""
        if name not in _SIZED or self._options.dialect == LSF_7:
            self._fail(token, f"'{token}' is no number", "a size beside mem, swp or tmp alone")
        value = float(size["number"]) * UNITS[f"{size['unit'].upper()}B"]
        if name in SCALED:
            value /= UNITS[self._options.unit]
        return self._place(Number(value, literal(plain(value))), token)

    def _string(self, token: Token) -> Expression:
        text = str(token)[1:-1]
        if self._options.strict and ("\\" in text or not (text.isascii() and text.isprintable())):
            self._fail(
                token, "strict syntax has no escapes in strings", "printable ASCII without \\"
            )
        return self._place(String(text), token)

    def _name(self, token: Token, beside: Expression | None) -> Expression:
        vocabulary = self._options.vocabulary
        if isinstance(beside, Name):
            kind = vocabulary.kind(beside.value)
            unknown = vocabulary.kind(canonical(str(token))) is None
            if kind == "string" or (kind is None and unknown):
                # An unknown name is taken for the value of a string resource while names are
                # incomplete.
                return self._place(Name(str(token)), token)
        return self._place(Name(self._known(token)), token)

    def _defined(self, parts: list[Token]) -> Expression:
        name = parts[2]
        resource = str(name)
        spaced = (parts[0].end_pos, parts[1].end_pos, name.end_pos) != (
            parts[1].start_pos,
            name.start_pos,
            parts[3].start_pos,
        )
        if self._options.strict and spaced:
            self._fail(name, "there are blanks inside defined( )", f"defined({resource})")
        if resource in PRODUCTS:
            return Defined(resource)
        if canonical(resource) in BUILTINS:
            self._fail(
                name,
                f"defined() does not take the built-in {resource}",
                "a resource of lsf.shared",
            )
        self._known(name)
        if resource in self._options.vocabulary.dynamic:
            self._fail(
                name,
                f"defined() does not take {resource}, a number collected at an interval",
                "a static resource, a Boolean or a string",
            )
        return Defined(resource)

    def _text_test(self, resource: Token, sign: Token, word: Token) -> Expression:
        left = self._place(Name(str(resource)), resource)
        return Binary(_sign(sign), left, self._text_value(str(resource), word))

    def _unary(self, sign: Token, operand: Expression) -> Expression:
        kind = self._kind(operand)
        if kind == "string" or (kind == "text"):
            self._fail(self._blame(operand, sign), "a string can only be compared", "a comparison")
        if kind == "boolean" and str(sign) == "-":
            if self._options.strict:
                self._fail(sign, "a Boolean takes no '-'", "!, && or ||")
            name = _word(operand)
            self._notes.append(f"-{name} is true where {name} is: write !{name} for not")
        return Unary(str(sign), operand)

    def _binary(self, token: Token, left: Expression, right: Expression) -> Expression:
        sign = _sign(token)
        if sign in COMPARISONS:
            self._check_comparison(token, left, right)
        else:
            for part in (left, right):
                self._check_number(part, token)
        return Binary(sign, left, right)

    def _check_comparison(self, token: Token, left: Expression, right: Expression) -> None:
        kind, other = self._kind(left), self._kind(right)
        if kind == "text":
            self._fail(
                self._blame(left, token),
                "a string is on the left of a comparison",
                "the resource there and the string on the right",
            )
        if kind == "string":
            if not isinstance(right, Name | String | Number):
                self._fail(
                    token, f"{_word(left)} is a string", "a value, in quotes if it has signs"
                )
            return
        if other == "string" and isinstance(left, Name | Number):
            value = left.value if isinstance(left, Name) else left.text or plain(left.value)
            turned = f"{_word(right)}{mirrored(str(token))}{value}"
            blamed = self._blame(right, token)
            self._fail(blamed, f"the string {_word(right)} is on the right", turned)
        if kind is not None and other == "text":
            self._fail(self._blame(right, token), f"{_word(left)} is no string", "a number")
        for part, other_side in ((left, right), (right, left)):
            self._check_fraction(part, other_side)
        self._check_number(left, token, unsure=True)
        self._check_number(right, token, unsure=isinstance(left, Name))

    def _check_number(self, part: Expression, token: Token, *, unsure: bool = False) -> None:
        """Raise an error unless `part` is a number; unsure: it may be a string resource's value."""
        kind = self._kind(part)
        if kind == "string" or (kind == "text" and not unsure):
            self._fail(self._blame(part, token), "a string can only be compared", "a number")
        if kind == "boolean" and self._options.strict:
            self._fail(
                self._blame(part, token),
                f"{_word(part)} is a Boolean: '{token}' does not apply to it",
                "!, && or ||",
            )

    def _check_fraction(self, part: Expression, value: Expression) -> None:
        """Raise an error for ut above 1, which is probably a percentage."""
        if part == Name("ut") and isinstance(value, Number) and value.value > 1:
            beyond = plain(value.value)
            self._notes.append(f"ut is a fraction from 0 to 1: {beyond} is beyond it")

    def _check_truth(self, part: Expression) -> None:
        """Raise an error if `part` is a string alone, which is neither true nor false."""
        if self._kind(part) in ("string", "text"):
            place = self._at[id(part)][1]
            self._fail(place, f"the string {place} is neither true nor false", "a comparison")

    def restricted(self, tree: Any) -> Expression:
        """Return the conjunction of ``name``, ``-name`` and ``name=value`` joined by colons.

        A value is a minimum; for an index that grows with load it is a maximum.
        """
        items = [item.children for item in tree.children if not isinstance(item, str)]
        return self._scaled(joined("&&", [self._item(item) for item in items]))

    def _item(self, parts: list[Token]) -> Expression:
        minus = parts[0].type == "MINUS"
        name, *value = parts[minus:]
        resource = self._known(name)
        kind = self._options.vocabulary.kind(resource)
        if not value:
            if kind == "string":
                self._fail(name, f"{resource} is a string", f"{resource}=value")
            return Unary("!", Name(resource)) if minus else Name(resource)
        word = value[1]
        if minus:
            self._fail(parts[0], "'-' and a value exclude each other", f"{resource}={word}")
        if kind == "boolean":
            self._fail(word, f"the Boolean {resource} takes no value", resource)
        text = str(word)
        readable = _NUMBER_of_selection.fullmatch(text) is not None and len(text) < 300
        if kind != "string" and readable and abs(float(text)) < 1e300:
            sign = "<=" if self._options.vocabulary.rises(resource) else ">="
            bare = text.lstrip("+-")
            number = Number(float(bare), literal(bare))
            self._check_fraction(Name(resource), number)
            return Binary(sign, Name(resource), Unary("-", number) if text[0] == "-" else number)
        if _SIZE.fullmatch(text) and resource in _SIZED:
            return Binary(">=", Name(resource), self._size(word, Name(resource)))
        if kind == "numeric":
            self._fail(word, f"{resource} is a number, '{text}' is not", "a number")
        return Binary("==", Name(resource), self._text_value(resource, word))

    def _text_value(self, resource: str, word: Token) -> Expression:
        """Return the right operand of a comparison with a string, quoted where necessary."""
        text = str(word)
        if text[0] in "'\"":
            return self._string(word)
        bare = resource in BUILTIN_STRINGS or text.isidentifier()
        return self._place(Name(text) if bare else String(text), word)

    def _scaled(self, part: Expression) -> Expression:
        """Return mem and swp converted from the unit of LSF_UNIT_FOR_LIMITS to MB (REQ-13)."""
        factor = UNITS[self._options.unit]
        return part if factor == 1 else _scale(part, factor)


def _scale(part: Expression, factor: float) -> Expression:
    match part:
        case Name(name) if name in SCALED:
            return Binary("/", part, _plain(factor))
        case Binary(sign, Name(name), Number(value)) if sign in COMPARISONS and name in SCALED:
            return Binary(sign, Name(name), _plain(value * factor))
        case Binary(sign, Number(value), Name(name)) if sign in COMPARISONS and name in SCALED:
            return Binary(sign, _plain(value * factor), Name(name))
        case Unary("!", Name(_)):
            return part
        case Binary(sign, left, right):
            return Binary(sign, _scale(left, factor), _scale(right, factor))
        case Unary(sign, operand):
            return Unary(sign, _scale(operand, factor))
    return part


def in_unit(part: Expression, factor: float) -> Expression:
    """Return an expression converted from MB to a unit of `factor` MB."""
    match part if factor != 1 else None:
        case Binary("/", Name(name), Number(value)) if name in SCALED and value == factor:
            return Name(name)
        case Binary(sign, Name(name), Number(value)) if sign in COMPARISONS and name in SCALED:
            return Binary(sign, Name(name), _plain(value / factor))
        case Binary(sign, Number(value), Name(name)) if sign in COMPARISONS and name in SCALED:
            return Binary(sign, _plain(value / factor), Name(name))
        case Binary(sign, left, right):
            return Binary(sign, in_unit(left, factor), in_unit(right, factor))
        case Unary(sign, operand):
            return Unary(sign, in_unit(operand, factor))
    return part


def _plain(value: float) -> Number:
    return Number(value)


def plain(value: float) -> str:
    """Return the shortest decimal text of a number, without an exponent."""
    if value == int(value):
        return str(int(value))
    return format(Decimal(repr(value)), "f")


def literal(text: str) -> str:
    """Return the text of a literal if printing or string comparison needs it, else "".

    An exponent is written out, because strict syntax has none; a number with one is no integer in
    C.
    """
    exact = plain(float(text))
    if "e" in text.lower():
        return "" if "." in exact else f"{exact}.0"
    return "" if exact == text else text


def mirrored(sign: str) -> str:
    """Return the comparison operator with its operands exchanged."""
    return _MIRRORED.get(sign, sign)


def _sign(token: Token) -> str:
    return "==" if str(token) == "=" else str(token)


def _word(part: Expression) -> str:
    return part.value if isinstance(part, Name | String) else "this"
