"""Line numbers of places in a YAML or JSON text; used only once something is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import yaml

from .finding import Finding, Location

#: Key and value of each mapping that has been looked into, by the key's text.
_Keys: TypeAlias = dict[int, dict[str, tuple[yaml.Node, yaml.Node]]]


def compose(text: str) -> yaml.Node | None:
    """The node tree of a text that is known to parse; None where YAML cannot read the JSON."""
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        node: yaml.Node | None = yaml.compose(text, Loader=loader)
    except (yaml.YAMLError, RecursionError):
        return None
    return node


def lines(root: yaml.Node | None, places: Iterable[Location]) -> dict[Location, int]:
    """Line (from 1) of each place: of its key or list item, else of the nearest place around it."""
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
    """Every key that stands twice in one mapping, with the line of the second one."""
    stack: list[tuple[Location, yaml.Node]] = [((), root)] if root is not None else []
    while stack:
        place, node = stack.pop()
        if isinstance(node, yaml.MappingNode):
            seen: dict[object, int] = {}
            for key, value in node.value:
                name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
                if name in seen:
                    first = f"the key {name!r} stands here twice, first in line {seen[name] + 1}"
                    finding = Finding((*place, name), f"{first}: keep one")
                    yield finding, key.start_mark.line + 1
                seen.setdefault(name, key.start_mark.line)
                stack.append(((*place, name), value))
        elif isinstance(node, yaml.SequenceNode):
            stack += [((*place, index), item) for index, item in enumerate(node.value)]
