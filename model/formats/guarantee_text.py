"""The texts of lsb.serviceclasses and GuaranteedResourcePool sections, read and written (GUA-01).

Every reader takes a text and raises ValueError with a sentence that says what would be right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..display import MINUTE
from ..errors import nearest
from ..input_limits import check_length
from ..service_class import ACCESS, GOALS, Guarantee, GuaranteedAmount, LoanPolicy
from .names import tokens
from .units import parse_size

_PART = re.compile(r"([A-Z_]+)\s*(?:\[([^\[\]]*)\])?\s*")
_PAIR = re.compile(r"\[\s*([^\s,\[\]]+)\s*,\s*([^\s,\[\]]+)\s*\]")
_GOAL = re.compile(r"\[([^\[\]]+)\]")
_AMOUNT = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*(%?)")
_KINDS = "slots, hosts, package[slots=n:mem=m] or resource[name]"


def goals(value: object) -> tuple[str, ...]:
    """Parse GOALS such as ``[GUARANTEE]``; time-based goals are kept as text."""
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return tuple(_goal(item) for item in value)
    text = _checked(value).strip()
    if text.startswith("[[") and text.endswith("]]"):
        text = text[1:-1]
    found = _GOAL.findall(text)
    rest = _GOAL.sub("", text).strip()
    words = [*found, *([] if "[" in text or "]" in text else tokens(rest))]
    if not words or (found and rest):
        raise ValueError(f"must be a goal such as [GUARANTEE], not {value!r}")
    return tuple(map(_goal, words))


def _goal(text: str) -> str:
    """Return one goal: GUARANTEE, or a time-based goal with its amount and times."""
    word, _, rest = text.strip().partition(" ")
    if word.upper() not in GOALS:
        known = ", ".join(f"[{name}]" for name in GOALS)
        raise ValueError(f"unknown goal {text!r}{nearest(word, GOALS)}: use {known}")
    return " ".join(filter(None, (word.upper(), rest.strip())))


def goals_text(value: Iterable[str]) -> str:
    """Return the text of goals."""
    return " ".join(f"[{item}]" for item in value)


def access(value: object) -> dict[str, tuple[str, ...]]:
    """Parse ACCESS_CONTROL ``QUEUES[a b] USERS[u]``, or a mapping."""
    found = dict(value) if isinstance(value, Mapping) else dict(_parts(value))
    for part in found:
        if part not in ACCESS:
            known = ", ".join(ACCESS)
            raise ValueError(f"unknown part {part!r}: use {known}, as in QUEUES[a b]")
    return {part: _named(part, names) for part, names in found.items()}


def access_text(value: Mapping[str, tuple[str, ...]]) -> str | None:
    """Return the text of ACCESS_CONTROL."""
    return " ".join(f"{part}[{' '.join(names)}]" for part, names in value.items()) or None


def pool_type(value: object) -> str:
    """Parse TYPE: slots, hosts, a package of slots and memory on one host, or a shared resource."""
    kind, bracket, rest = _checked(value).strip().partition("[")
    inner = rest.rstrip().removesuffix("]").strip()
    kind = {"resources": "resource"}.get(kind.strip(), kind.strip())
    closed = not bracket or rest.rstrip().endswith("]")
    if kind in ("slots", "hosts") and not bracket:
        return kind
    if kind == "resource" and closed and re.fullmatch(r"[^\s\[\],:=]+", inner):
        return f"resource[{inner}]"
    if kind == "package" and closed and bracket:
        return f"package[{_package(inner, value)}]"
    raise ValueError(f"must be {_KINDS}, not {value!r}")


def _package(inner: str, value: object) -> str:
    amounts: dict[str, str] = {}
    for part in inner.split(":"):
        name, sign, amount = (word.strip() for word in part.partition("="))
        if name not in ("slots", "mem") or not sign or name in amounts:
            raise ValueError(f"must be {_KINDS}, not {value!r}")
        if name == "slots" and not (amount.isascii() and amount.isdigit() and int(amount) > 0):
            raise ValueError(
                f"the slots of a package must be a whole number of 1 or more, not {amount!r}"
            )
        amounts[name] = amount if name == "slots" else f"{parse_size(amount):.10g}"
        if name == "mem" and parse_size(amount) <= 0:
            raise ValueError(f"the memory of a package must be more than 0, not {amount!r}")
    return ":".join(f"{name}={amounts[name]}" for name in ("slots", "mem") if name in amounts)


def distribution(value: object) -> tuple[Guarantee, ...]:
    """Parse DISTRIBUTION ``[class, 5] [other, 10%]``, in brackets or not, a mapping or a list."""
    if isinstance(value, Mapping):
        pairs = [(str(name), str(amount)) for name, amount in value.items()]
    elif isinstance(value, (list, tuple)) and value:
        each = value if all(isinstance(item, (list, tuple)) for item in value) else [value]
        if any(len(item) != 2 for item in each):
            raise ValueError(f"must be pairs [class, amount] or [class, n%], not {value!r}")
        pairs = [(str(name), str(amount)) for name, amount in each]
    else:
        text = _checked(value).strip()
        bare = text[1:-1] if text.startswith("(") and text.endswith(")") else text
        pairs = list(_PAIR.findall(bare))
        if not pairs or _PAIR.sub("", bare).strip():
            raise ValueError(f"must be pairs [class, amount] or [class, n%], not {value!r}")
    found = [Guarantee(name, share(amount)) for name, amount in pairs]
    names = [item.service_class for item in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"has {name} twice in {value!r}: give each service class one amount")
    return tuple(found)


def distribution_text(value: Iterable[Guarantee]) -> str | None:
    """Return the text of DISTRIBUTION."""
    pairs = (f"[{item.service_class}, {share_text(item.share)}]" for item in value)
    return " ".join(pairs) or None


def share(text: str) -> GuaranteedAmount:
    """Parse an amount such as ``5`` or ``10%``."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or (match[2] and float(match[1]) > 100):
        raise ValueError(f"must be an amount such as 5, or 10%, not {text!r}")
    return GuaranteedAmount(float(match[1]), bool(match[2]))


def share_text(value: GuaranteedAmount) -> str:
    """Return the text of an amount or a percentage."""
    return f"{value.amount:.10g}{'%' * value.percent}"


def loans(value: object) -> LoanPolicy:
    """Parse LOAN_POLICIES ``QUEUES[all] DURATION[10] CLOSE_ON_DEMAND RETAIN[5]
    IDLE_BUFFER[10%]``.
    """
    found = dict(_parts(value))
    known = ("QUEUES", "DURATION", "CLOSE_ON_DEMAND", "RETAIN", "IDLE_BUFFER")
    for word in found:
        if word not in known:
            raise ValueError(f"must be one of {', '.join(known)}, not {word!r}")
    queues = tokens(found.get("QUEUES") or "")
    if not queues:
        raise ValueError(f"needs QUEUES[all] or QUEUES[names], not {value!r}")
    if found.get("CLOSE_ON_DEMAND") is not None:
        raise ValueError(f"CLOSE_ON_DEMAND takes no value: remove [{found['CLOSE_ON_DEMAND']}]")
    listed = tuple(name for name in queues if not name.startswith("!"))
    exempt = tuple(name[1:] for name in queues if name.startswith("!"))
    retain, buffer = found.get("RETAIN"), found.get("IDLE_BUFFER")
    return LoanPolicy(
        listed,
        exempt,
        _duration(found["DURATION"]) if "DURATION" in found else None,
        "CLOSE_ON_DEMAND" in found,
        share(retain or "") if "RETAIN" in found else None,
        share(buffer or "") if "IDLE_BUFFER" in found else None,
    )


def _duration(text: str | None) -> int | None:
    """Return the seconds of a number of minutes, None if ``forever``."""
    word = (text or "").strip()
    if word == "forever":
        return None
    if not (word.isascii() and word.isdigit() and 0 < int(word) < 10**8):
        raise ValueError(f"DURATION must be whole minutes, 1 or more, not {word!r}")
    return int(word) * MINUTE


def loans_text(value: LoanPolicy | None) -> str | None:
    """Return the text of LOAN_POLICIES."""
    if value is None:
        return None
    queues = " ".join([*value.queues, *(f"!{name}" for name in value.exempt)])
    words = [f"QUEUES[{queues}]"]
    words += ["CLOSE_ON_DEMAND"] if value.close_on_demand else []
    words += [f"DURATION[{value.duration // MINUTE}]"] if value.duration is not None else []
    for word, amount in (("RETAIN", value.retain), ("IDLE_BUFFER", value.idle_buffer)):
        words += [f"{word}[{share_text(amount)}]"] if amount is not None else []
    return " ".join(words)


def _checked(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a string, not {value!r}")
    check_length(value)
    return value


def _parts(value: object) -> list[tuple[str, str | None]]:
    """Return the words of a text, each with its content in brackets."""
    text = _checked(value).strip()
    found = [(match[1], match[2]) for match in _PART.finditer(text)]
    words = [word for word, _ in found]
    if not found or _PART.sub("", text).strip():
        raise ValueError(f"must be words such as QUEUES[all], not {value!r}")
    for word in words:
        if words.count(word) > 1:
            raise ValueError(f"has {word} twice in {value!r}: write it once")
    return found


def _named(part: str, names: object) -> tuple[str, ...]:
    found = tokens(names or "")
    if not found:
        raise ValueError(f"{part}[] is empty: write one name or more, such as {part}[a b]")
    return found
