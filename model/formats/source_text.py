"""Files of YAML or JSON as plain data, with nothing lost on the way and within the limits.

Text to plain data: JSON by `json`, YAML by PyYAML's C loader, with nothing lost on the way. YAML
here is the plain part of YAML 1.2: no anchors and aliases, no tags, no dates, no base-60 numbers
(``2:00`` stays a text), no ``yes`` and ``no``, and no key twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from ..display import strange_character, visible
from ..errors import InputError, Problem
from ..input_limits import limits, too_many
from .document import Finding, Location, problems
from .reading import check_length, file_bytes

#: Key and value of each mapping that has been looked into, by the key's text.
_Keys: TypeAlias = dict[int, dict[str, tuple[yaml.Node, yaml.Node]]]


def compose(text: str) -> yaml.Node | None:
    """Return the node tree of a valid text, None if YAML cannot read the JSON."""
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        node: yaml.Node | None = yaml.compose(text, Loader=loader)
    except (yaml.YAMLError, RecursionError):
        return None
    return node


def lines(root: yaml.Node | None, places: Iterable[Location]) -> dict[Location, int]:
    """Return line numbers (from 1) by place: of its key or item, else of its nearest parent."""
    known: _Keys = {}
    return {} if root is None else {place: _line(root, place, known) for place in places}


def _line(node: yaml.Node, place: Location, known: _Keys) -> int:
    line: int = node.start_mark.line
    for part in place:
        step = _step(node, part, known)
        if step is None:
            break
        mark, node = step
        line = mark.start_mark.line
    return line + 1


def _step(node: yaml.Node, part: str | int, known: _Keys) -> tuple[yaml.Node, yaml.Node] | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int):
        item = node.value[part] if part < len(node.value) else None
        return None if item is None else (item, item)
    if isinstance(node, yaml.MappingNode):
        if id(node) not in known:  # once a mapping: looking through it for each place is quadratic
            pairs = [pair for pair in node.value if isinstance(pair[0], yaml.ScalarNode)]
            known[id(node)] = {pair[0].value: pair for pair in reversed(pairs)}
        return known[id(node)].get(str(part))
    return None


def duplicates(root: yaml.Node | None) -> Iterator[tuple[Finding, int]]:
    """Yield every key that occurs twice in one mapping, with the line of the second."""
    stack: list[tuple[Location, yaml.Node]] = [((), root)] if root is not None else []
    while stack:
        place, node = stack.pop()
        if isinstance(node, yaml.MappingNode):
            seen: dict[object, int] = {}
            for key, value in node.value:
                name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
                if name in seen:
                    first = f"the key {name!r} is given twice, first in line {seen[name] + 1}"
                    yield Finding((*place, name), f"{first}: keep one"), key.start_mark.line + 1
                seen.setdefault(name, key.start_mark.line)
                stack.append(((*place, name), value))
        elif isinstance(node, yaml.SequenceNode):
            stack += [((*place, index), item) for index, item in enumerate(node.value)]


_STRING_OR_CONSTANT = re.compile(r'"(?:\\.|[^"\\])*"|(-?(?:NaN|Infinity))')
_COPIED = re.compile(
    r"^( *(?:- +)?[A-Z][A-Z_/]*: +)(\[[^\[\]\n\"']*\](?: *\[[^\[\]\n\"']*\])+|-) *(?=$| #)", re.M
)
_NO_ANCHORS = "anchors and aliases (&x, *x) are not supported: write the value out"


#: Values that hold others.
_NESTED = frozenset({dict, list})
#: Marks a text that needs a closer examination instead of data.
_DOUBTFUL = object()


class _DuplicateKeyError(Exception):
    """A key stands twice in one mapping."""


class _NoNumberError(ValueError):
    """NaN or Infinity, which JSON does not have."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The safe loader with YAML 1.2's idea of plain numbers."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        if len(mapping) != len(node.value):
            raise _DuplicateKeyError
        return mapping


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:null", re.compile(r"^(?:~|null|)$"), ["~", "n", ""]
)
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?$"),
    list("-+.0123456789"),
)


def is_json(text: str) -> bool:
    """Return whether a text without a known suffix is JSON."""
    return text.lstrip("\ufeff \t\r\n").startswith("{")


def parse(text: str, source: str, *, json_text: bool) -> Any:
    """Return the plain data of a text; raises InputError with file and line."""
    try:
        return _parse_json(text) if json_text else _parse_yaml(text, source)
    except _DuplicateKeyError:
        pass  # while it is handled, what the loader has made of the text stays in memory
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg} (column {error.colno})"
        raise _broken(message, source, error.lineno) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        raise _broken(f"not YAML: {_complaint(error, text)}", source, line) from None
    except yaml.YAMLError as error:
        raise _broken(f"not YAML: {str(error).splitlines()[0]}", source, None) from None
    except RecursionError:
        raise _broken("nested too deeply", source, None) from None
    except _NoNumberError as error:
        raise _broken(f"{error} is not a number", source, _line_of_constant(text)) from None
    except (ValueError, TypeError, OverflowError, LookupError, AttributeError) as error:
        raise _broken(f"has a value that cannot be read: {error}", source, None) from None
    found = dict(duplicates(compose(text))) or {
        Finding((), "a key is given twice in one mapping"): 0
    }
    where = {finding.place: line for finding, line in found.items() if line}
    raise InputError(problems(found, source, where))


def as_copied(text: str) -> str:
    """Return the text with quotes around values of LSF files that YAML cannot read.

    ``USER_SHARES: [a, 3] [b, 4]`` and ``USERS: -``, under a key in capitals; lines stay lines.
    """
    return _COPIED.sub(r'\1"\2"', text)


def _broken(message: str, source: str, line: int | None) -> InputError:
    return InputError([Problem(message, source, line)])


def _parse_json(text: str) -> Any:
    if (plain := _plain_json(text)) is not _DOUBTFUL:
        return plain
    data = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    level, longest = [data], limits().value
    for _ in range(limits().nesting + 1):
        inner = _values(level)
        texts = [value for value in inner if type(value) is str]
        if max(map(len, texts), default=0) > longest:
            raise ValueError(too_many("characters in one value", "value"))
        level = [value for value in inner if type(value) is dict or type(value) is list]
        if not level:
            if "\\u" in text:  # an escape may stand for half a character
                json.dumps(data, ensure_ascii=False).encode()
            return data
    raise RecursionError


def _plain_json(text: str) -> Any:
    """Return the data of a large JSON text of simple values, checked fast; else _DOUBTFUL.

    No key is repeated if mappings have as many keys as the text: a colon follows each quotation
    mark that ends a key directly, and no other mark that ends a text.
    """
    before_a_colon = (space + ":" in text for space in " \t\r\n")
    if "\\" in text or any(before_a_colon) or not _short(text, limits().value):
        return _DOUBTFUL
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return _DOUBTFUL
    level, keys = [data], 0
    for _ in range(limits().nesting + 1):
        keys += sum(len(outer) for outer in level if type(outer) is dict)
        inner = _values(level)
        kinds = set(map(type, inner))
        if not kinds & _NESTED:
            return data if keys == text.count('":') else _DOUBTFUL
        level = inner if kinds <= _NESTED else [value for value in inner if type(value) in _NESTED]
    return _DOUBTFUL


def _short(text: str, longest: int) -> bool:
    """Return whether no quoted text, none of them escaped, can be longer."""
    at = 0
    while len(text) - at > longest:
        mark = text.rfind('"', at, at + longest + 1)
        if mark < 0:
            return False
        at = mark + 1
    return True


def _values(level: Iterable[Any]) -> list[Any]:
    """Return all values inside the mappings and lists of one level."""
    dicts = [outer for outer in level if type(outer) is dict]
    lists = [outer for outer in level if type(outer) is list]
    return list(chain(chain.from_iterable(map(dict.values, dicts)), chain.from_iterable(lists)))


def surely_printable(json_text: str) -> bool:
    """Return whether a text read as JSON certainly has no invalid characters.

    JSON has control characters only as escapes, ASCII has one more (DEL) and none of format.
    """
    return json_text.isascii() and "\\" not in json_text and "\x7f" not in json_text


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise _DuplicateKeyError
    return mapping


def _no_constant(name: str) -> None:
    raise _NoNumberError(name)


def _line_of_constant(text: str) -> int:
    """Return the line of the first NaN or Infinity outside strings."""
    start = next((word.start() for word in _STRING_OR_CONSTANT.finditer(text) if word[1]), 0)
    return text.count("\n", 0, start) + 1


def _complaint(error: yaml.MarkedYAMLError, text: str) -> str:
    """Return PyYAML's message, or a clearer one for frequent errors."""
    mark = error.problem_mark
    if mark is not None and text.splitlines()[mark.line : mark.line + 1]:
        rest = text.splitlines()[mark.line][mark.column :]
        if rest.startswith("\t"):
            return "a tab is used for indentation: YAML requires spaces"
    if error.problem == "found unhashable key":
        return "a list or mapping is used as a key: a key must be a word"
    return ", ".join(part for part in (error.context, error.problem) if part)


def _parse_yaml(text: str, source: str) -> Any:
    """Read in two passes: PyYAML's composer recurses in C and would crash on deep nesting."""
    depth, anchor = 0, None
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            raise _broken(_NO_ANCHORS, source, _event_line(event))
        if anchor is None and getattr(event, "anchor", None) is not None:
            anchor = event
        if getattr(event, "tag", None) is not None:
            message = "tags (!!int, !x) are not supported: write the plain value"
            raise _broken(message, source, _event_line(event))
        if isinstance(event, yaml.ScalarEvent) and len(event.value) > limits().value:
            wrong = too_many("characters in one value", "value")
            raise _broken(wrong, source, _event_line(event))
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > limits().nesting:
            raise _broken("nested too deeply", source, _event_line(event))
    if anchor is not None:
        raise _broken(_NO_ANCHORS, source, _event_line(anchor))
    return yaml.load(text, Loader=_Loader)


def strange_values(data: Any) -> Iterator[Finding]:
    """Yield every key and text that contains a control or format character."""
    stack: list[tuple[Location, Any]] = [((), data)] if _any_strange(data) else []
    while stack:
        place, value = stack.pop()
        if isinstance(value, dict):
            for key, inner in value.items():
                if isinstance(key, str) and (wrong := strange_character(key, "")):
                    yield Finding(place, f"the key {visible(key)!r} {wrong}")
                stack.append(((*place, str(key)), inner))
        elif isinstance(value, list):
            stack += [((*place, index), item) for index, item in enumerate(value)]
        elif isinstance(value, str) and (wrong := strange_character(value)):
            yield Finding(place, wrong)


def _any_strange(data: Any) -> bool:
    """Return whether there is any: a fast test, because places are needed only for errors."""
    texts: set[Any] = set()
    level = [data]
    while level:
        for outer in level:
            if type(outer) is dict:
                texts.update(outer)
        inner = _values(level)
        texts.update([value for value in inner if type(value) is str])
        level = [value for value in inner if type(value) is dict or type(value) is list]
    if type(data) is str:
        texts.add(data)
    return not all(text.isprintable() for text in texts if type(text) is str)


def _event_line(event: yaml.Event) -> int | None:
    return event.start_mark.line + 1 if event.start_mark else None


def file_content(path: Path) -> tuple[bytes, str | None]:
    """Return the bytes of a file, and its format by its suffix: "json", "yaml" or None if unknown.

    Raises InputError if it cannot be read or exceeds the limit.
    """
    suffix = path.suffix.lower()
    return file_bytes(path), {".json": "json", ".yaml": "yaml", ".yml": "yaml"}.get(suffix)


def with_script(entry: Any, folder: Path) -> Any:
    """Return a job's entry; a relative script path counts from the folder of the file."""
    name = entry.get("script") if isinstance(entry, dict) else None
    return entry | {"script": str(folder / name)} if isinstance(name, str) and name else entry


def plain_data(text: str | bytes, source: str, format: str | None) -> tuple[Any, str]:
    """Return the data of a text, and the text; bytes must be UTF-8. format: None to detect it.

    Raises InputError for invalid YAML or JSON, and beyond the limits.
    """
    check_length(text, source)
    if isinstance(text, bytes):
        text = _decoded(text, source)
    elif not text.isascii():
        _decoded(text.encode("utf-8", "surrogatepass"), source)
    json_text = is_json(text) if format is None else format == "json"
    try:
        return parse(text, source, json_text=json_text), text
    except InputError:
        copied = text if json_text else as_copied(text)
        if copied == text:
            raise
        return parse(copied, source, json_text=False), copied


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wrong = f"is not UTF-8 text: byte {error.start} is {data[error.start]:#04x}"
        raise InputError([Problem(f"{wrong}; save the file as UTF-8", source)]) from None
