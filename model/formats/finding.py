"""Findings of a reader, before their lines in the text are known."""

from __future__ import annotations

import copy
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..display import visible
from ..errors import Problem, nearest
from .document import FORMAT, Document

#: Keys and indices from the root of a document.
Location = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """An error or warning at `place`; a warning does not stop the reader."""

    #: Keys and indices from the top of the document to the value.
    place: Location
    #: Description of the error or warning.
    message: str
    #: Whether the instance can be used although the finding exists.
    warning: bool = False
    #: Whether it reports a name without a definition; it is unreliable if definitions are
    #: unreadable.
    undefined: bool = False
    #: Whether it depends on a key in another entry; it is unreliable if that entry is unreadable.
    undecided: bool = False

    @property
    def rests_on_others(self) -> bool:
        """Return whether it is unreliable if other entries are unreadable."""
        return self.undefined or self.undecided


def unknown_name(place: Location, what: str, name: str, known: Iterable[str]) -> Finding:
    """Return the finding on a name without a definition. what: the kind of the name."""
    return Finding(place, f"unknown {what} {name!r}{nearest(name, known)}", undefined=True)


def path_text(place: Location) -> str:
    """Return a path such as ``hosts[1].slots``."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{visible(part)}" if text else visible(part)
    return text


def problems(
    findings: Iterable[Finding], source: str, lines: dict[Location, int]
) -> tuple[Problem, ...]:
    """Return the findings as problems, in document order and without repetition."""
    unique = list(dict.fromkeys(findings))
    unique.sort(key=lambda finding: lines.get(finding.place, 0))
    return tuple(
        Problem(finding.message, source, lines.get(finding.place), path_text(finding.place))
        for finding in unique
    )


#: Sections to which other sections refer by name.
_DEFINING = frozenset(
    {"hosts", "host_groups", "compute_units", "resources", "shared_resources", "queues"}
    | {"applications", "job_groups", "service_classes", "users", "user_groups", "params"}
)
#: Correct key for a frequent wrong one, by section.
_MEANT = {("resources", "type"): "kind", ("resources", "resourcename"): "name"}
#: Maximum length of an example in a message, in characters.
_SHOWN = 80
#: Keys that are required in an entry.
_NEEDED = frozenset(
    {"name", "id", "type", "members", "amount", "HOSTS", "USER_SHARES"}
) | frozenset({"start", "end", "allocation"})
#: Keys whose value affects the checks of other entries.
_DECIDING = frozenset({"MXJ", "slots", "ncpus", "PRIORITY", "FAIRSHARE", "HOSTS"})


def explain(error: ValidationError, root: type[BaseModel] = Document) -> list[Finding]:
    """Return one finding for each error; unknown keys get the nearest valid key as a hint.

    root: what the document is an instance of.
    """
    found: list[Finding] = []
    for detail in error.errors(include_url=False):
        place = _place(detail)
        found.append(Finding(place, _message(detail, place, root)))
    return found


def _place(detail: ErrorDetails) -> Location:
    """Return the place of an error; pydantic appends ``[key]`` to a wrong key."""
    loc = detail["loc"]
    marked = loc[-1:] == ("[key]",) and detail["type"] != "extra_forbidden"
    return loc[:-1] if marked else loc


def _message(detail: ErrorDetails, place: Location, root: type[BaseModel]) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    given = reprlib.repr(detail["input"])
    match kind:
        case "extra_forbidden":
            return f"unknown key {place[-1]!r}{_hint(place, root)}"
        case "missing":
            return f"the key {place[-1]!r} is missing"
        case "value_error":
            return str(context["error"])
        case "literal_error":
            return f"must be {context['expected']}, not {given}"
        case "greater_than_equal":
            return f"must be {context['ge']} or more, not {given}"
        case "less_than_equal":
            return f"must be {context['le']} or less, not {given}"
        case "list_type" | "tuple_type":
            return f"must be a list, not {given}{_as_list(place, detail['input'], root)}"
        case "too_short":
            return "must have at least one entry"
    wanted = {
        "int_type": "a whole number",
        "int_from_float": "a whole number",
        "float_type": "a number",
        "finite_number": "a number",
        "string_type": "a text",
        "bool_type": "true or false",
        "dict_type": "a mapping of keys to values",
        "model_type": "a mapping of keys to values",
    }.get(kind)
    return f"must be {wanted}, not {given}" if wanted else f"{detail['msg']}, not {given}"


def _hint(place: Location, root: type[BaseModel]) -> str:
    """Return the key that was probably intended: of equal meaning, or of similar spelling."""
    key, known = str(place[-1]), _keys(place[:-1], root)
    meant = _MEANT.get((str(place[0]), key.lower()))
    return f" (did you mean {meant!r}?)" if meant in known else nearest(key, known)


def _as_list(place: Location, given: object, root: type[BaseModel]) -> str:
    """Return the first entry of a mapping rewritten as a list entry, "" if it is no mapping."""
    first = next(iter(given.items()), None) if isinstance(given, dict) else None
    if first is None or not isinstance(first[1], dict) or "name" not in _keys(place, root):
        return ""
    meant = ((_MEANT.get((str(place[0]), str(key)), key), first[1][key]) for key in first[1])
    shown = ", ".join(f"{key}: {value}" for key, value in (("name", first[0]), *meant))
    return f": write - {{{shown}}}" if len(shown) <= _SHOWN else ""


def section_of(model: type[BaseModel], key: str) -> type[BaseModel] | None:
    """Return the section model under a key, or of each entry there; None for plain values."""
    info = next((i for n, i in model.model_fields.items() if (i.alias or n) == key), None)
    return _section(info.annotation if info else None)


def _keys(place: Location, root: type[BaseModel]) -> list[str]:
    """Return the keys that are valid at a place of the document."""
    model = root
    for part in place:
        if isinstance(part, str):
            model = section_of(model, part) or model
    return [info.alias or name for name, info in model.model_fields.items()]


def _section(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for arg in get_args(annotation) if (found := _section(arg))), None)


@dataclass(frozen=True, slots=True)
class Rest:
    """A document without its broken parts, so that the remainder can still be checked."""

    #: Document without the entries that cannot be read.
    data: Any
    #: Indices of removed entries by section.
    removed: Mapping[str, tuple[int, ...]]
    #: Whether other parts may refer to removed ones, so that a missing name proves nothing.
    defining: bool
    #: Whether removed values may affect the checks of other parts.
    deciding: bool

    def original(self, finding: Finding) -> Finding:
        """Return the finding at its place in the original document."""
        if len(finding.place) < 2 or not isinstance(finding.place[1], int):
            return finding
        index = finding.place[1]
        for gone in self.removed.get(str(finding.place[0]), ()):
            index += gone <= index
        return replace(finding, place=(finding.place[0], index, *finding.place[2:]))


def rest(data: Any, error: ValidationError) -> Rest:
    """Return the data without the parts that the error concerns."""
    data = copy.deepcopy(data)
    removed: dict[str, list[int]] = {}
    defining = deciding = False
    for detail in error.errors(include_url=False, include_context=False, include_input=False):
        place = _place(detail)
        if place == ("format",):
            data["format"] = FORMAT
            continue
        whole = len(place) <= 2 or detail["type"] == "missing" or place[2] in _NEEDED
        if whole and len(place) >= 2 and isinstance(place[1], int):
            removed.setdefault(str(place[0]), []).append(place[1])
            defining |= place[0] in _DEFINING
        elif whole:
            _remove(data, place)
            defining |= len(place) < 2 or place[0] in _DEFINING
        else:
            _remove(data, place[:3])
            deciding |= place[2] in _DECIDING
    unique = {section: tuple(sorted(set(found))) for section, found in removed.items()}
    for section, indices in unique.items():
        if isinstance(data[section], list):
            for index in reversed(indices):
                del data[section][index]
        else:  # an array or another sequence of a program
            del data[section]
    return Rest(data, unique, defining, deciding)


def _remove(data: Any, place: Location) -> None:
    """Take one key out, if it is (still) there."""
    for part in place[:-1]:
        data = data.get(part, {}) if isinstance(data, dict) else data[int(part)]
    if isinstance(data, dict) and place:
        data.pop(place[-1], None)
