"""LSF's own parameter texts: what stands to the right of ``RUNLIMIT``, ``FAIRSHARE`` and the like.

Every function takes the value as read (text or number) and raises ValueError with a sentence that
says what would be right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..absolute_priority import AbsolutePriority, StatedPriority
from ..cluster import MAX_GPUS, Gpus, Thresholds
from ..configuration import Scope
from ..display import MINUTE
from ..gpu_request import plain_model
from ..input_limits import check_length
from ..job import NO_RUN_LIMIT, HostRequest
from .names import counted, expand_range, tokens
from .units import (
    LONGEST,
    LimitOnHost,
    format_duration,
    format_size,
    parse_duration,
    parse_size,
    size_text,
)

_SHARE = re.compile(r"\[\s*([^\s,\[\]]+)\s*,\s*(\d{1,9})\s*\]")
_BOUND = re.compile(r"\[\s*([^\s=\[\]]+)\s*=\s*([^\s,\[\]]+)\s*(?:,\s*([^\s,\[\]]+)\s*)?\]")
_PAIR = re.compile(r"\[\s*([^\s,\[\]]+)\s*,\s*([^\s,\[\]]+)\s*\]")
_PLACE = re.compile(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*@\s*(?:\[|([^\s\[\]@]+(?=\s|$)))")
_PREEMPTION = re.compile(r"(PREEMPTIVE|PREEMPTABLE)(?:\[([^\[\]]*)\])?")


def _check_length(value: object) -> None:
    if isinstance(value, str):
        check_length(value)


def yes_no(value: object) -> bool:
    """Parse ``Y`` or ``N``, or true or false."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("y", "yes", "n", "no"):
        return value.strip().lower().startswith("y")
    raise ValueError(f"must be Y or N, not {value!r}")


def run_limit(value: object) -> tuple[int | None, int | None]:
    """Parse RUNLIMIT ``[default] maximum`` (minutes or h:mm) to seconds; ``-``: no maximum."""
    words = value.split() if isinstance(value, str) else [value]
    if not 1 <= len(words) <= 2:
        raise ValueError(f"must be one limit or 'default maximum', not {value!r}")
    if words[1:] == ["-"]:
        return positive_duration(words[0], MINUTE), None
    limits = [positive_duration(word, MINUTE) for word in words]
    if len(limits) == 1:
        return None, limits[0]
    if limits[0] > limits[1]:
        raise ValueError(f"the default in {value!r} must be at most the maximum")
    return limits[0], limits[1]


def own_run_limit(value: object) -> int:
    """Parse the run limit of a job to seconds; ``unlimited``: none, not even its queue's."""
    if isinstance(value, str) and value.strip().lower() == "unlimited":
        return NO_RUN_LIMIT
    return positive_duration(value)


def own_run_limit_text(seconds: int | None) -> int | str | None:
    """Return the run limit of a job as a file has it."""
    return "unlimited" if seconds == NO_RUN_LIMIT else seconds


def positive_duration(value: object, unit: int = 1) -> int:
    """Parse a duration above zero to seconds; ``8:00/hostA`` is a :class:`LimitOnHost`."""
    if type(value) is int and 0 < value * unit <= LONGEST:
        return value * unit
    duration, slash, host = value.partition("/") if isinstance(value, str) else (value, "", "")
    seconds = parse_duration(duration, unit)
    if seconds <= 0:
        raise ValueError(f"must be more than 0, not {value!r}")
    if slash and not host.strip():
        raise ValueError(
            f"needs a host or model after the slash, such as 8:00/hostA, not {value!r}"
        )
    return LimitOnHost(seconds, host.strip()) if slash else seconds


def processor_limit(value: object) -> tuple[int, int | None, int | None]:
    """Parse PROCLIMIT ``[minimum [default]] maximum`` to three numbers; ``-``: no maximum."""
    words = tokens(value)
    limited = words[-1:] != ("-",)
    counts = words if limited else words[:-1]
    right = all(word.isascii() and word.isdigit() and len(word) < 10 for word in counts)
    if not right or not counts or len(words) > 3:
        raise ValueError(f"must be 'maximum', 'min max' or 'min default max', not {value!r}")
    numbers = [int(word) for word in counts]
    if numbers[0] < 1 or numbers != sorted(numbers):
        raise ValueError(f"the numbers in {value!r} must be 1 or more, in ascending order")
    if len(words) == 1:
        return 1, None, numbers[0]
    return numbers[0], numbers[1] if len(words) == 3 else None, numbers[-1] if limited else None


def gpus(value: object) -> Gpus | None:
    """Parse the GPUs of a host: a number, or ``{count: 4, model: NVIDIAA100, mem: 40G}``."""
    given = dict(value) if isinstance(value, Mapping) else {"count": value}
    count = given.pop("count", None)
    model, mem = given.pop("model", ""), given.pop("mem", None)
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MAX_GPUS:
        raise ValueError(
            f"must be a number of GPUs or {{count: 4, model: A100, mem: 40G}}, not {value!r}"
        )
    if given:
        raise ValueError(f"unknown key {next(iter(given))!r}: use count, model or mem")
    if not isinstance(model, str) or model != plain_model(model):
        raise ValueError(f"a GPU model must not contain a blank, slash or hyphen: {model!r}")
    size = None if mem is None else parse_size(mem)
    return Gpus(count, model, size) if count else None


def gpu_syntax(value: object) -> str:
    """Parse LSB_GPU_NEW_SYNTAX: Y, N or extend."""
    plain = "NY"[value] if isinstance(value, bool) else value
    found = {"y": "Y", "n": "N", "extend": "extend"}.get(str(plain).lower())
    if found is None:
        raise ValueError(f"must be Y, N or extend, not {value!r}")
    return found


def reserve_time(value: object) -> int:
    """Parse the dispatch cycles of ``MAX_RESERVE_TIME[n]``."""
    match = re.fullmatch(r"MAX_RESERVE_TIME\s*\[\s*(\d{1,9})\s*\]", str(value).strip())
    if match is None or int(match[1]) < 1:
        raise ValueError(f"must be MAX_RESERVE_TIME[n] with n of 1 or more cycles, not {value!r}")
    return int(match[1])


def exclusive(value: object) -> str:
    """Parse EXCLUSIVE: ``Y``, ``N``, ``CU[type]`` or ``CU`` (of the default type)."""
    if isinstance(value, bool):
        return "Y" if value else "N"
    text = str(value).strip()
    if text.upper() in ("Y", "N"):
        return text.upper()
    match = re.fullmatch(r"CU\s*(?:\[\s*([^\s\[\]]*)\s*\])?", text, re.IGNORECASE)
    if match is None:
        raise ValueError(f"must be Y, N or CU[type], not {value!r}")
    return f"CU[{match[1] or ''}]"


def user_shares(value: object) -> tuple[tuple[str, int], ...]:
    """Parse ``USER_SHARES[[user1,10] [group@,3]]``, ``([user1,10])``, ``()``, a mapping or a
    list to pairs.
    """
    _check_length(value)
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("(") and text.endswith(")"):  # syntax of a cell of lsb.users
            text = text[1:-1].strip()
            if not text:
                return ()
        if match := re.fullmatch(r"(?:USER_SHARES)?\s*\[(\s*\[.*\]\s*)\]", text):
            text = match[1]
        shares = [(name, int(count)) for name, count in _SHARE.findall(text)]
        if not shares or _SHARE.sub("", text).strip(" ,"):
            raise ValueError(
                "must be pairs such as [user,3] [group@,2] [default,1], in a queue as "
                f"USER_SHARES[[user,3] [default,1]], not {value!r}"
            )
        return _positive_shares(shares)
    if isinstance(value, Mapping):
        return _positive_shares(list(value.items()))
    if isinstance(value, (list, tuple)) and [type(item) for item in value] == [str, int]:
        value = [value]  # [default, 1] alone
    if isinstance(value, (list, tuple)) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in value
    ):
        return _positive_shares([(pair[0], pair[1]) for pair in value])
    raise ValueError(
        f"must be USER_SHARES[[user,n] …] or a mapping of names to shares, not {value!r}"
    )


def _positive_shares(pairs: Iterable[tuple[object, object]]) -> tuple[tuple[str, int], ...]:
    seen: dict[str, int] = {}
    for name, count in pairs:
        number = counted(f"the shares of {name}", count)
        if not isinstance(name, (str, int)):
            raise ValueError(f"must give shares to names, not to {name!r}")
        if str(name) in seen:
            raise ValueError(f"gives shares to {name} twice: give each name one number of shares")
        seen[str(name)] = number
    return tuple(seen.items())


def write_user_shares(shares: tuple[tuple[str, int], ...]) -> str:
    """Return the text of share pairs."""
    pairs = " ".join(f"[{name},{count}]" for name, count in shares)
    return f"USER_SHARES[{pairs}]"


def absolute_priority(value: object) -> AbsolutePriority:
    """Parse APS_PRIORITY: ``WEIGHT[[JPRIORITY, 1] …] LIMIT[…]``, or a mapping of its sections."""
    if isinstance(value, Mapping):
        value = " ".join(
            f"{name}[{' '.join(f'[{factor}, {number}]' for factor, number in pairs.items())}]"
            for name, pairs in value.items()
            if isinstance(pairs, Mapping)
        )
    if not isinstance(value, str):
        raise ValueError(f"must be WEIGHT[[factor, value] …], not {value!r}")
    _check_length(value)
    return AbsolutePriority.parse(value)


def stated_priority(value: object) -> StatedPriority:
    """Parse the argument of bmod -aps: ``system=10`` or ``admin=2.5``."""
    if not isinstance(value, str):
        raise ValueError(f"must be system=value or admin=value, not {value!r}")
    return StatedPriority.parse(value)


def priority_growth(value: object) -> tuple[int, int]:
    """Parse JOB_PRIORITY_OVER_TIME: ``3/20`` is growth by 3 every 20 minutes."""
    match = re.fullmatch(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*", str(value), re.ASCII)
    if match is None or not int(match[1]) or not int(match[2]):
        raise ValueError(f"must be increment/minutes such as 3/20, both 1 or more, not {value!r}")
    return int(match[1]), int(match[2])


def priority_growth_text(growth: tuple[int, int]) -> str:
    """Return the text that :func:`priority_growth` parses."""
    return f"{growth[0]}/{growth[1]}"


def thresholds(value: object) -> Thresholds:
    """Parse ``loadSched/loadStop`` by index, either optional: ``{mem: 100/50, ut: /0.9}``."""
    if not isinstance(value, Mapping):
        raise ValueError(f"must map load indices to 'loadSched/loadStop', not {value!r}")
    sched: dict[str, float] = {}
    stop: dict[str, float] = {}
    for index, text in value.items():
        before, _, after = str(text).partition("/")
        try:
            if before.strip() not in ("", "-"):
                sched[str(index)] = _finite(before)
            if after.strip() not in ("", "-"):
                stop[str(index)] = _finite(after)
        except ValueError:
            raise ValueError(
                f"{index} must be loadSched/loadStop such as 0.7/2.0, not {text!r}"
            ) from None
    return Thresholds(sched, stop)


def _finite(text: str) -> float:
    number = float(text)
    if not -1e15 < number < 1e15:
        raise ValueError(text)
    return number


def write_thresholds(value: Thresholds) -> dict[str, str]:
    """Return the mapping that :func:`thresholds` parses."""

    def side(found: Mapping[str, float], index: str) -> str:
        return repr(found[index]).removesuffix(".0") if index in found else ""

    return {
        i: side(value.sched, i) + (f"/{side(value.stop, i)}" if i in value.stop else "")
        for i in sorted({*value.sched, *value.stop})
    }


def reservation_limits(value: object) -> dict[str, tuple[float, float]]:
    """Parse RESRSV_LIMIT ``[mem=30,100]`` to (minimum, maximum) by resource; sizes in MB."""
    _check_length(value)
    text = str(value).strip()
    found: dict[str, tuple[float, float]] = {}
    for name, first, second in _BOUND.findall(text):
        low, high = (parse_size(first), parse_size(second)) if second else (0.0, parse_size(first))
        if low > high:
            raise ValueError(
                f"the minimum of {name} in {value!r} is above its maximum: write [{name}=min,max]"
            )
        if name in found:
            raise ValueError(f"limits {name} twice in {value!r}: give each resource one range")
        found[name] = (low, high)
    if not found or _BOUND.sub("", text).strip():
        raise ValueError(f"must be [resource=min,max] or [resource=max], not {value!r}")
    return found


def resource_amounts(value: object) -> dict[str, float]:
    """Parse RESOURCE ``[licence,3] [other,2]``, or a mapping, to amounts by resource."""
    _check_length(value)
    if isinstance(value, Mapping):
        pairs = [(str(name), amount) for name, amount in value.items()]
    else:
        text = str(value).strip()
        pairs = list(_PAIR.findall(text))
        if not pairs or _PAIR.sub("", text).strip():
            raise ValueError(f"must be [resource,amount] … or a mapping, not {value!r}")
    return {name: parse_size(amount) for name, amount in pairs}


def resource_map(value: str) -> tuple[tuple[float, tuple[str, ...]], ...]:
    """Parse ResourceMap ``5@[hostA hostB] 9@[others]`` to amounts and host words."""
    check_length(value)
    found: list[tuple[float, tuple[str, ...]]] = []
    place = 0
    while match := _PLACE.match(value, place):
        place = match.end()
        words: tuple[str, ...] = (match[2],) if match[2] else ()
        if not words:
            close = _closing(value, place)
            place, words = close + 1, tokens(value[place:close])
        if not words or place > len(value):
            break
        if "default" in words:
            raise ValueError(
                f"{value!r} has [default], an amount for each host: give each host its "
                "amount under amounts"
            )
        found.append((float(match[1]), words))
    if not found or value[place:].strip():
        raise ValueError(f"must be a number or amounts such as 5@[a b] 9@[c], not {value!r}")
    return tuple(found)


def _closing(value: str, place: int) -> int:
    """Return the position of the bracket that closes the one before `place`, else the length."""
    depth = 1
    for index in range(place, len(value)):
        depth += (value[index] == "[") - (value[index] == "]")
        if depth == 0:
            return index
    return len(value)


def scope(value: object, each: bool) -> Scope:
    """Parse the members of a limit: ``all ~user1``, names, ranges; `each` for PER_USER and the
    like.
    """
    found = tokens(value)
    wanted = [name for word in found if not word.startswith("~") for name in expand_range(word)]
    excluded = [name for word in found if word.startswith("~") for name in expand_range(word[1:])]
    if not wanted:
        raise ValueError(f"must name members such as 'all ~user1', not {value!r}")
    return Scope(tuple(wanted), each, tuple(excluded))


def preemption(value: object) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """Parse PREEMPTION ``PREEMPTIVE[low1 low2] PREEMPTABLE[high]`` to two lists; ("*",): all."""
    _check_length(value)
    text = str(value).strip()
    found: dict[str, tuple[str, ...]] = {}
    for word, names in _PREEMPTION.findall(text):
        if word in found:
            raise ValueError(f"has {word} twice in {value!r}: write all its queues in one list")
        found[word] = tuple(names.replace(",", " ").split()) or ("*",)
    if not found or _PREEMPTION.sub("", text).strip(" ,"):
        raise ValueError(f"must be PREEMPTIVE[queues] or PREEMPTABLE[queues], not {value!r}")
    if any("+" in name for names in found.values() for name in names):
        raise ValueError(f"preference levels (+n) in {value!r} are not supported: remove them")
    return found.get("PREEMPTIVE"), found.get("PREEMPTABLE")


def unit_types(value: object) -> tuple[tuple[str, ...], str | None]:
    """Parse COMPUTE_UNIT_TYPES ``enclosure! rack``: the types, finest first, and the default."""
    types: list[str] = []
    default: str | None = None
    for word in tokens(value):
        name = word.removesuffix("!")
        if name in types:
            raise ValueError(f"has the type {name} twice in {value!r}: write each type once")
        if word.endswith("!"):
            if default is not None:
                raise ValueError(f"marks two default types with '!' in {value!r}: mark one")
            default = name
        types.append(name)
    return tuple(types), default or (types[0] if types else None)


def requests(hosts: Iterable[HostRequest], excluded: Iterable[str] = ()) -> str | None:
    """Return -m or HOSTS as text: ``hostA+2 hg1! ~hostB``."""
    words = [
        f"{host.name}{'!' * host.first}{f'+{host.preference}' if host.preference else ''}"
        for host in hosts
    ]
    return " ".join([*words, *(f"~{name}" for name in excluded)]) or None


def bounds(limits: Mapping[str, tuple[float, float]]) -> str | None:
    """Return RESRSV_LIMIT as text: ``[mem=30,100]``, in MB for sizes."""
    pairs = ((name, *limits[name]) for name in sorted(limits))
    return " ".join(f"[{n}={bound(low)},{bound(high)}]" for n, low, high in pairs) or None


def bound(megabytes: float) -> str:
    """Return one bound of RESRSV_LIMIT as exact text."""
    whole = megabytes == int(megabytes) and megabytes < 1e15
    return str(int(megabytes)) if whole else size_text(megabytes)


def run_limit_text(default: int | None, most: int | None) -> str | None:
    """Return RUNLIMIT as text ``[default] maximum``, from seconds."""
    longest = minutes(most)
    return longest if default is None else f"{minutes(default)} {longest or '-'}"


def processor_limit_text(slots: tuple[int, int | None, int | None] | None) -> str | None:
    """Return PROCLIMIT as text ``[minimum [default]] maximum``."""
    if slots is None:
        return None
    least, default, most = slots
    numbers = (least, default, most or "-")
    return " ".join(str(number) for number in numbers if number is not None)


def gpus_text(gpus: Gpus | None) -> Any:
    """Return the GPUs of a host, as a number if only the number is known."""
    if gpus is None or not (gpus.model or gpus.mem is not None):
        return None if gpus is None else gpus.count
    found = {"count": gpus.count, "model": gpus.model or None, "mem": gpus.mem}
    if gpus.mem is not None:
        found["mem"] = format_size(gpus.mem)
    return {name: value for name, value in found.items() if value is not None}


def cycles(cycles: int | None) -> str | None:
    """Return a number of dispatch cycles as ``MAX_RESERVE_TIME[n]``."""
    return None if cycles is None else f"MAX_RESERVE_TIME[{cycles}]"


def preemption_text(
    preemptive: tuple[str, ...] | None, preemptable: tuple[str, ...] | None
) -> str | None:
    """Return PREEMPTION of a queue as text."""
    lists = (("PREEMPTIVE", preemptive), ("PREEMPTABLE", preemptable))
    words = [
        word if names == ("*",) else f"{word}[{' '.join(names)}]"
        for word, names in lists
        if names is not None
    ]
    return " ".join(words) or None


def requirements(texts: tuple[str, ...]) -> str | list[str] | None:
    """Return a requirement string unchanged, even if empty."""
    return texts[0] if len(texts) == 1 else list(texts) or None


def minutes(seconds: int | None) -> str | None:
    """Return a duration with its unit, since LSF's parameters count in minutes."""
    return None if seconds is None else format_duration(seconds)
