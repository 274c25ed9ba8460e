"""Conversion of parse trees of select sections to expressions, with checks (REQ-02 … REQ-08)."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn

from .errors import ResreqError
from .syntax import LSF_7, Binary, Defined, Expression, Name, Number, Options, String, Unary, joined
from .vocabulary import BUILTIN_STRINGS, BUILTINS, PRODUCTS, SCALED, UNITS, canonical

if TYPE_CHECKING:
    from lark import Token, Tree


COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
#: Maximum depth of nesting; it keeps the recursion over expressions shallow.
MAX_DEPTH = 100
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
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
            raise ResreqError(
                f"the selection is nested more than {MAX_DEPTH} levels deep: use fewer"
            )
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
            self._fail(token, f"the number {text[:30]} has more than 300 digits: use fewer")
        odd = text[0] == "." or (text[0] == "0" and text[1:2].isdigit()) or "e" in text.lower()
        if odd and self._options.strict:
            self._fail(token, f"'{text}' is not a number in strict syntax", "a number such as 0.5")
        return self._place(Number(float(text), literal(text)), token)

    def _size(self, token: Token, beside: Expression | None) -> Expression:
        """Return the number of a size such as ``8GB``, in MB or in the default unit (REQ-13)."""
        size = _SIZE.fullmatch(str(token))
        assert size is not None
        name = beside.value if isinstance(beside, Name) else ""
        if name not in _SIZED or self._options.dialect == LSF_7:
            self._fail(
                token,
                f"'{token}' is not a number",
                "a number without a unit (only mem, swp and tmp accept units)",
            )
        value = float(size["number"]) * UNITS[f"{size['unit'].upper()}B"]
        if name in SCALED:
            value /= UNITS[self._options.unit]
        return self._place(Number(value, literal(plain(value))), token)

    def _string(self, token: Token) -> Expression:
        text = str(token)[1:-1]
        if self._options.strict and ("\\" in text or not (text.isascii() and text.isprintable())):
            self._fail(token, f"strict syntax accepts only printable ASCII without \\, not {token}")
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
            self._fail(name, f"defined( {name} ) has blanks", f"defined({name}) in strict syntax")
        if resource in PRODUCTS:
            return Defined(resource)
        if canonical(resource) in BUILTINS:
            self._fail(
                name,
                f"defined() does not accept the built-in {resource}",
                "a resource of lsf.shared",
            )
        self._known(name)
        if resource in self._options.vocabulary.dynamic:
            self._fail(
                name,
                f"defined() does not accept the dynamic resource {resource}",
                "a static resource, a Boolean or a string",
            )
        return Defined(resource)

    def _text_test(self, resource: Token, sign: Token, word: Token) -> Expression:
        left = self._place(Name(str(resource)), resource)
        return Binary(_sign(sign), left, self._text_value(str(resource), word))

    def _unary(self, sign: Token, operand: Expression) -> Expression:
        kind = self._kind(operand)
        if kind in ("string", "text"):
            self._fail_string(operand, sign)
        if kind == "boolean" and str(sign) == "-":
            if self._options.strict:
                self._fail_boolean(operand, sign, sign)
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
            wrong = f"the string {_word(left)} must be on the right of the comparison"
            self._fail(self._blame(left, token), wrong)
        if kind == "string":
            if not isinstance(right, Name | String | Number):
                self._fail(
                    token,
                    f"the string {_word(left)} is compared with an expression",
                    "a value, in quotes if it has special characters",
                )
            return
        if other == "string" and isinstance(left, Name | Number):
            value = left.value if isinstance(left, Name) else left.text or plain(left.value)
            turned = f"{_word(right)}{mirrored(str(token))}{value}"
            blamed = self._blame(right, token)
            self._fail(blamed, f"the resource {_word(right)} must be on the left", turned)
        if kind is not None and other == "text":
            self._fail(
                self._blame(right, token),
                f"{_word(left)} is {kind}, so it cannot be compared with {_word(right)!r}",
                "a number",
            )
        for part, other_side in ((left, right), (right, left)):
            self._check_fraction(part, other_side)
        self._check_number(left, token, unsure=True)
        self._check_number(right, token, unsure=isinstance(left, Name))

    def _check_number(self, part: Expression, token: Token, *, unsure: bool = False) -> None:
        """Raise an error unless `part` is a number; unsure: it may be a string resource's value."""
        kind = self._kind(part)
        if kind == "string" or (kind == "text" and not unsure):
            self._fail_string(part, token)
        if kind == "boolean" and self._options.strict:
            self._fail_boolean(part, token, self._blame(part, token))

    def _fail_string(self, part: Expression, fallback: Token) -> NoReturn:
        token = self._blame(part, fallback)
        self._fail(token, f"{token} must be compared", "a comparison such as type==any")

    def _fail_boolean(self, part: Expression, sign: Token, token: Token) -> NoReturn:
        self._fail(token, f"'{sign}' does not apply to the Boolean {_word(part)}", "!, && or ||")

    def _check_fraction(self, part: Expression, value: Expression) -> None:
        """Raise an error for ut above 1, which is probably a percentage."""
        if part == Name("ut") and isinstance(value, Number) and value.value > 1:
            beyond = plain(value.value)
            self._notes.append(f"ut is a fraction from 0 to 1: {beyond} is beyond it")

    def _check_truth(self, part: Expression) -> None:
        """Raise an error if `part` is a string alone, which is neither true nor false."""
        if self._kind(part) in ("string", "text"):
            self._fail_string(part, self._at[id(part)][1])

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
                self._fail(name, f"string resource {resource} has no value", f"{resource}=value")
            return Unary("!", Name(resource)) if minus else Name(resource)
        word = value[1]
        if minus:
            self._fail(parts[0], f"-{resource} has the value {word}", f"{resource}={word}")
        if kind == "boolean":
            self._fail(word, f"the Boolean resource {resource} takes no value: remove '={word}'")
        text = str(word)
        readable = _NUMBER.fullmatch(text) is not None and len(text) < 300
        if kind != "string" and readable and abs(float(text)) < 1e300:
            sign = "<=" if self._options.vocabulary.rises(resource) else ">="
            bare = text.lstrip("+-")
            number = Number(float(bare), literal(bare))
            self._check_fraction(Name(resource), number)
            return Binary(sign, Name(resource), Unary("-", number) if text[0] == "-" else number)
        if _SIZE.fullmatch(text) and resource in _SIZED:
            return Binary(">=", Name(resource), self._size(word, Name(resource)))
        if kind == "numeric":
            self._fail(word, f"{resource} must be a number, not '{text}'")
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

    An exponent is written out, because strict syntax has none; a number with one is not an integer
    in C.
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
