"""Names of hosts and users as people write them: ranges, lists, preference marks.

Every function raises ValueError with a sentence that says what would be right.
"""

from __future__ import annotations

import itertools
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ..cluster import NamedHosts
from ..errors import nearest
from ..input_limits import take_hosts, take_names
from ..job import HostRequest

#: Maximum number of names in one range; larger ranges are taken for typing errors.
MAX_NAMES = 200_000
#: Slots and shares are fewer: nine digits, as a text of them has at most.
MAX_COUNTED = 10**9
#: Length of a range up to which each name counts as one; a range of twice the length counts double.
_LONG_NAME = 100
#: Ranges in one name.
MAX_RANGES = 32

_RIGHT_RANGES = "write n[001-128], n[1,3,7-9] or host[A-D]"
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d{1,18})[-:](\d{1,18})")
_LETTERS = re.compile(r"([a-z])-([a-z])|([A-Z])-([A-Z])")
_BRACKETED = re.compile(r"[,()\[\]]")
_ONE_HOST = re.compile(r"([1-9][0-9]{0,8})\*([^\s*,()\[\]]+)")
_GROUPING = re.compile(r"[,(\[]")
_PARTED = re.compile(r"[\s,()*]")
_FORBIDDEN = re.compile(r"[\s\[\]()*~!+,|&=<>\"'{}]")
_ONE_RANGE = re.compile(r"([^\[\]]*)\[(\d{1,18})-(\d{1,18})\]([^\[\]]*)")
_NUMBERED = re.compile(r"(.*?)(\d{1,9})([^\d]*)")


def expand_range(text: str) -> tuple[str, ...]:
    """Return the names of ``n[01-03,7]``: n01, n02, n03, n7; several brackets multiply.

    A colon is a hyphen here (``n[1:4]``), as in LSF 10.1.
    """
    if "[" not in text and "]" not in text:
        return (text,)
    if found := _one_range(text):
        return found
    *plain, last = _BRACKET.split(text)[::2]
    if any("[" in piece or "]" in piece for piece in (*plain, last)):
        raise ValueError(f"{_short(text)} has an invalid range: {_RIGHT_RANGES}")
    if len(plain) > MAX_RANGES:
        raise ValueError(f"{_short(text)} has more than {MAX_RANGES} ranges: write several names")
    if (size := range_size(text)) <= MAX_NAMES:  # else it is refused below
        take_names(size * _weight(text))
    parts: list[Sequence[str]] = []
    count = 1
    for piece, inner in zip(plain, _BRACKET.findall(text), strict=True):
        members = [name for item in inner.split(",") for name in _members(item.strip(), text)]
        parts += [(piece,), members]
        count *= len(members)
        if count > MAX_NAMES:
            raise ValueError(f"{_short(text)} expands to more than {MAX_NAMES:,} names: use fewer")
    return tuple("".join(choice) for choice in itertools.product(*parts, (last,)))


def _one_range(text: str) -> tuple[str, ...]:
    """Return the names of ``n[01-03]``, the most frequent form; () for any other form."""
    match = _ONE_RANGE.fullmatch(text)
    if match is None:
        return ()
    before, low, high, after = match.groups()
    numbers = range(int(low), int(high) + 1)
    if not 0 < len(numbers) <= MAX_NAMES:
        return ()
    take_names(len(numbers) * _weight(text))
    digits = f"%0{len(low)}d" if low[0] == "0" else "%d"
    # A name made by % takes half the time of one by an f-string.
    form = f"{before.replace('%', '%%')}{digits}{after.replace('%', '%%')}"
    return tuple([form % number for number in numbers])


def _weight(text: str) -> int:
    """Return the number of names that one of a range counts for: more if it is long."""
    return 1 + len(text) // _LONG_NAME


def _short(text: str) -> str:
    return reprlib.repr(text)


def range_size(text: str) -> int:
    """Return the number of names of :func:`expand_range`, or one beyond the maximum."""
    size = 1
    for match in _BRACKET.finditer(text):
        size *= sum(_item_size(item.strip()) for item in match[1].split(","))
        if size > MAX_NAMES:
            break
    return size


def _item_size(item: str) -> int:
    if numbers := _RANGE.fullmatch(item):
        return max(0, int(numbers[2]) - int(numbers[1])) + 1
    return max(0, ord(item[2]) - ord(item[0])) + 1 if _LETTERS.fullmatch(item) else 1


def _members(item: str, text: str) -> Sequence[str]:
    match = _RANGE.fullmatch(item)
    if match is not None:
        first, last = int(match[1]), int(match[2])
        if first > last:
            raise ValueError(
                f"the range {item} in {_short(text)} is descending: write the smaller number first"
            )
        if last - first >= MAX_NAMES:
            raise ValueError(f"{_short(text)} expands to more than {MAX_NAMES:,} names: use fewer")
        width = len(match[1]) if match[1].startswith("0") else 0
        return [str(number).zfill(width) for number in range(first, last + 1)]
    letters = _LETTERS.fullmatch(item)
    if letters is not None:
        low, high = (mark for mark in letters.groups() if mark)
        return [chr(code) for code in range(ord(low), ord(high) + 1)]
    if not item.isalnum():
        raise ValueError(f"{_short(text)} has an invalid range: {_RIGHT_RANGES}")
    return [item]


def tokens(value: object) -> tuple[str, ...]:
    """Return the words of ``a b``, ``(a b)`` or a list of such texts; brackets are not split."""
    if isinstance(value, str):
        text = value.strip()
        if not _GROUPING.search(text):
            return tuple(text.split())
        if text.startswith("(") and text.endswith(")"):
            text = text[1:-1]
        return tuple(re.findall(r"(?:\[[^\[\]]*\]|[^\s,])+", text))
    if isinstance(value, int) and not isinstance(value, bool):
        return (str(value),)
    if isinstance(value, (list, tuple)):
        return tuple(word for item in value for word in _item(item, value))
    raise ValueError(f"must be names such as 'a b' or a list of names, not {value!r}")


def _item(item: object, value: object) -> tuple[str, ...]:
    if isinstance(item, (list, tuple)):
        raise ValueError(f"must be a list of names, not {value!r}")
    return tokens(item)


def names(value: object) -> tuple[str, ...]:
    """Return names with ranges expanded, in order; a leading ``~`` is kept."""
    return tuple(name for word in tokens(value) for name in expand_range(word))


def inner_first(name: str, expand: Callable[[str], Iterator[str]]) -> Iterator[list[str]]:
    """Expand nested groups with a stack, to any depth.

    expand: begins to expand a group, and hands out each group inside it that has to be expanded
    first. Gives the rings of groups that contain each other: ``[a, b, a]``.
    """
    path = {name: expand(name)}
    while path:
        group = next(reversed(path))
        inner = next(path[group], None)
        if inner is None:
            del path[group]
        elif inner in path:
            yield [*itertools.islice(path, [*path].index(inner), None), inner]
        else:
            path[inner] = expand(inner)


def plain_names(value: object) -> tuple[str, ...]:
    """Return new host names, ranges expanded; raises ValueError for LSF's special characters."""
    words = tokens(value)
    sizes = [range_size(word) for word in words]
    if max(sizes, default=0) <= MAX_NAMES:  # else the range itself is refused
        take_hosts(sum(sizes))
    found = tuple(name for word in words for name in expand_range(word))
    for name in found:
        check_name(name)
    if not found:
        raise ValueError("must be a name such as hostA or n[001-128], not an empty value")
    return found


#: Maximum length of the path of a job group: each of its parents has a name too.
_LONGEST_PATH = 4096


def check_job_group(value: object) -> str:
    """Return the name of a job group that bgadd accepts; raises ValueError."""
    if isinstance(value, str) and len(value) > _LONGEST_PATH:
        most = f"at most {_LONGEST_PATH} characters are accepted"
        raise ValueError(f"the path of the job group has {len(value)} characters: {most}")
    if isinstance(value, str) and re.fullmatch(r"(/[^/\s]+)+", value):
        return value
    raise ValueError(f"must be a job group such as /risk/daily, not {value!r}")


def check_name(name: str) -> str:
    """Return the name if it contains no special characters of LSF; raises ValueError."""
    if not name or _FORBIDDEN.search(name):
        raise ValueError(f"{name!r} is not a name: use letters, digits and . _ - @ / : #")
    return name


def host_requests(value: object) -> tuple[tuple[HostRequest, ...], tuple[str, ...]]:
    """Parse -m or HOSTS ``hostA+2 hg1! n[1-4] ~hostB`` to requests and exceptions."""
    wanted: list[HostRequest] = []
    excluded: list[str] = []
    for word in tokens(value):
        match = re.fullmatch(r"(~?)([^~!+]+)(!?)(\+\d{0,9})?(!?)", word)
        if match is None or (match[1] and (match[3] or match[4] or match[5])):
            raise ValueError(f"{word!r} is not a host: write hostA, hostA+2, hostA! or ~hostA")
        level = int(match[4][1:] or 1) if match[4] else 0
        for name in expand_range(match[2]):
            if match[1]:
                excluded.append(name)
            else:
                wanted.append(HostRequest(name, level, bool(match[3] or match[5])))
    return tuple(wanted), tuple(excluded)


def allocation(value: object) -> dict[str, int]:
    """Parse ``2*hostA 3*n[1-4] hostB``, or a mapping, to slots by host; order is kept."""
    if isinstance(value, str) and (plain := _plain_allocation(value)):
        return plain
    found: dict[str, int] = {}
    pairs: Iterable[tuple[object, object]]
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, (str, list, tuple)):
        pairs = [_counted(word) for word in tokens(value)]
    else:
        raise ValueError(f"must be slots on hosts such as '2*hostA 3*hostB', not {value!r}")
    for name, count in pairs:
        slots = counted(f"slots on {name}", count)
        for host in expand_range(str(name)):
            if host in found:
                raise ValueError(f"has {host} twice: write its slots as one number, as in 2*{host}")
            found[host] = slots
    return found


def _plain_allocation(text: str) -> dict[str, int]:
    """Return slots by host of simple words such as ``2*hostA hostB``; {} if they are not simple."""
    if one := _ONE_HOST.fullmatch(text):
        return {one[2]: int(one[1])}
    found: dict[str, int] = {}
    if _BRACKETED.search(text):
        return _allocated_range(text)
    words = text.split()
    for word in words:
        count, star, name = word.partition("*")
        if not star:
            name, count = word, "1"
        if not (count.isascii() and count.isdigit() and 0 < len(count) < 10 and name):
            return {}
        found[name] = int(count)
    return found if len(found) == len(words) and 0 not in found.values() else {}


def _allocated_range(text: str) -> dict[str, int]:
    """Return slots by host of one range such as ``2*n[01-03]``; {} if it is not one range."""
    count, star, word = text.partition("*")
    if not (star and count.isascii() and count.isdigit() and 0 < len(count) < 10 and int(count)):
        return {}
    return {} if _PARTED.search(word) else dict.fromkeys(_one_range(word), int(count))


def counted(what: str, count: object) -> int:
    """Return a number of slots or shares; raises ValueError if it is not a valid count."""
    if type(count) is not int or count < 1:
        raise ValueError(f"{what} must be a whole number of 1 or more, not {count!r}")
    if count >= MAX_COUNTED:
        raise ValueError(f"{what} must be less than {MAX_COUNTED:,}, not {count:,}")
    return count


def _counted(word: str) -> tuple[str, int]:
    count, star, name = word.partition("*")
    if not star:
        return word, 1
    if not (count.isascii() and count.isdigit() and len(count) < 10 and name):
        raise ValueError(f"must be slots on hosts such as 2*hostA, not {word!r}")
    return name, int(count)


def compress(found: Sequence[str]) -> list[str]:
    """Return names with consecutive numbers as ranges; the inverse of :func:`names`."""
    words: list[str] = []
    run: list[str] = []
    for name in found:
        if run and not _follows(run[-1], name):
            words.append(_written(run))
            run = []
        run.append(name)
    if run:
        words.append(_written(run))
    return words


def _follows(before: str, after: str) -> bool:
    left, right = _NUMBERED.fullmatch(before), _NUMBERED.fullmatch(after)
    if left is None or right is None or left[1] != right[1] or left[3] != right[3]:
        return False
    one, two = left[2], right[2]
    padded = one.startswith("0") or two.startswith("0")
    return int(two) == int(one) + 1 and (len(one) == len(two) or not padded)


def _written(run: Sequence[str]) -> str:
    if len(run) < 3:
        return " ".join(run)
    first, last = _NUMBERED.fullmatch(run[0]), _NUMBERED.fullmatch(run[-1])
    assert first is not None
    assert last is not None
    return f"{first[1]}[{first[2]}-{last[2]}]{first[3]}"


def words_text(names: Iterable[str]) -> str | list[str]:
    """Return names as one short text, or as a list."""
    words = compress(tuple(names))
    joined = " ".join(words)
    return joined if 0 < len(joined) <= 60 else words


def allocation_text(slots: Mapping[str, int]) -> str:
    """Return ``2*hostA 3*hostB``; consecutive hosts with equal slots become a range."""
    words: list[str] = []
    names = list(slots)
    first = 0
    for index in range(1, len(names) + 1):
        if index == len(names) or slots[names[index]] != slots[names[first]]:
            run = [word for part in compress(names[first:index]) for word in part.split()]
            words += [f"{slots[names[first]]}*{word}" for word in run]
            first = index
    return " ".join(words)


def unknown_host(known: NamedHosts, name: str) -> str:
    """Return the message for an unknown host name."""
    return f"unknown host or host group {name!r}{nearest(name, known)}"


def unknown_unit_type(name: str, types: Sequence[str]) -> str:
    """Return the message for a compute-unit type that COMPUTE_UNIT_TYPES lacks."""
    have = (
        f"COMPUTE_UNIT_TYPES has {', '.join(types)}" if types else "COMPUTE_UNIT_TYPES is not set"
    )
    return f"unknown compute unit type {name!r}: {have}{nearest(name, types)}"


class Domains:
    """Hosts that are known, to be found under names that differ from theirs by a domain alone."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self._hosts = set(hosts)
        self._by_short: dict[str, list[str]] = {}
        for host in sorted(self._hosts):
            self._by_short.setdefault(_without_domain(host), []).append(host)

    def known(self, name: str) -> str:
        """Return the known host that a name refers to; the name itself if none or several match.

        One of both has no domain, and no second known host begins alike: ``node1.a`` and
        ``node1.b`` are two hosts, ``node1`` is then neither. Addresses (``10.0.0.1``) have none.
        """
        short = _without_domain(name)
        alike = self._by_short.get(short, ())
        if name in self._hosts or len(alike) != 1 or short not in (name, alike[0]):
            return name
        return alike[0]


def _without_domain(name: str) -> str:
    """Return a host name without its domain."""
    first = name.split(".", 1)[0]
    return name if first.isdigit() else first
