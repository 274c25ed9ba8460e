"""Tables of sshare and sprio: usage of associations, and the parts of priorities."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ... import slurm_values as values
from ...errors import InputError, Problem
from ..lsf_state.values import Text
from .fields import FIELDS, SlurmRecord
from .records import with_parents
from .seen import SlurmPriority, SlurmShare

#: Heads of the two tables, with or without -P.
SHARE_HEAD = re.compile(
    r"^\s*(?=[^\n]*\bAccount\b)"
    r"(?=[^\n]*\b(?:RawUsage|RawShares|NormShares|EffectvUsage|FairShare|LevelFS)\b)[^\n]*$",
    re.MULTILINE,
)
#: Columns of sshare without which there is no association.
_NEEDED = ("Account", "User", "RawShares", "RawUsage")
PRIORITY_HEAD = re.compile(
    r"^\s*(?=[^\n]*\bJOBID\b)(?=[^\n]*\b(?:PRIORITY|FAIRSHARE|JOBSIZE)\b)(?![^\n]*\bNAME\b)[^\n]*$",
    re.MULTILINE,
)
#: Weighted parts of a priority; NICE is subtracted, TRES is a list.
PARTS = ("SITE", "AGE", "ASSOC", "FAIRSHARE", "JOBSIZE", "PARTITION", "QOS")
#: Width at which sprio -l truncates its list of TRES.
_WIDTH_OF_TRES = 20
#: A part of ``sprio -n``, which is between 0 and 1.
NORMALISED = re.compile(r"\s\d\.\d{7,}(?:\s|$)")
#: RawShares of an association that takes its parent's (JSON).
_OF_PARENT = 0x7FFFFFFF
_DASHES = re.compile(r"-+")
_COLUMNS = tuple(name for row in FIELDS if row.of == "share" for name in row.text)


def shares_of_text(text: Text) -> Iterator[SlurmRecord]:
    """Yield the rows of ``sshare -a``, with -P or without; raises InputError for a truncated
    name."""
    lines = [line for line in text.content.splitlines() if line.strip()]
    at = next(n for n, line in enumerate(lines) if SHARE_HEAD.fullmatch(line))
    if "|" in lines[at]:
        names = [name.strip() for name in lines[at].rstrip("|").split("|")]
        rows = [(n, line.split("|")) for n, line in enumerate(lines[at + 1 :], start=at + 2)]
    else:
        rule = lines[at + 1] if len(lines) > at + 1 else ""
        spans = [found.span() for found in _DASHES.finditer(rule)]
        names = lines[at].split()
        if len(spans) != len(names):
            wrong = "has no line of dashes below its header: give sshare -a -P"
            raise InputError([Problem(wrong, f"{text.source}:{at + 2}")])
        rows = [(n, _cells(line, spans)) for n, line in enumerate(lines[at + 2 :], start=at + 3)]
    named = [_column(name) for name in names]
    missing = [name for name in _NEEDED if name not in named]
    if missing:
        wrong = f"has no column {', '.join(missing)}"
        raise InputError([Problem(f"{wrong}: give sshare -a -l -P", f"{text.source}:{at + 1}")])
    tables, places = [], []
    for number, cells in rows:
        where = f"{text.source}:{number}"
        if len(cells) < len(named):
            wrong = f"must have {len(named)} columns, not {len(cells)}: give sshare -a -P"
            raise InputError([Problem(wrong, where)])
        fields = dict(zip(named, cells, strict=False))
        for column in ("Account", "User"):
            if fields[column].rstrip().endswith("+"):
                wrong = f"{column} {fields[column].strip()!r} is truncated: give sshare -a -P"
                raise InputError([Problem(wrong, where)])
        tables.append(fields)
        places.append(where)
    for where, (parent, row) in zip(places, with_parents(tables, "Account", "User"), strict=True):
        found: dict[str, Any] = {key: cell.strip() for key, cell in row.items()}
        found |= {"Parent": parent} if parent else {}
        yield SlurmRecord("share", found, is_text=True, where=where)


def _column(name: str) -> str:
    """Return the full name of a column of sshare."""
    return next((full for full in _COLUMNS if full.lower() == name.lower()), name)


def _cells(line: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    ends = [end for _, end in spans]
    if any(len(line) > end and line[end] != " " for end in ends[:-1]):
        return []
    return [line[begin:end] for begin, end in spans]


def shares_of_json(document: Mapping[str, Any], source: str) -> Iterator[SlurmRecord]:
    """Yield the associations of ``sshare --json`` (23.11 and later)."""
    outer = document.get("shares")
    listed = outer.get("shares") if isinstance(outer, Mapping) else None
    for place, item in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(item, Mapping):
            yield SlurmRecord("share", item, is_text=False, where=f"{source}, share {place + 1}")


def check_accounts(rows: Sequence[SlurmShare]) -> None:
    """Raise InputError for a user whose account has no row of its own (sshare -U)."""
    accounts = {row.account for row in rows if not row.user}
    for row in rows:
        if row.account not in accounts:
            wrong = f"account {row.account!r} of user {row.user!r} has no row of its own"
            raise InputError([Problem(f"{wrong}: give sshare -a -l -P", row.where)])


def share_of(record: SlurmRecord) -> SlurmShare:
    """Return one association; raises ValueError for an unreadable value."""
    get = record.get
    if record.is_text:
        account, user = values.text(get("account")), values.text(get("user"))
        parent = "" if user else values.text(get("parent"))
    else:
        is_user = "USER" in [word.upper() for word in values.words(get("kind"))]
        name, above = values.text(get("name")), values.text(get("parent"))
        account, user, parent = (above, name, "") if is_user else (name, "", above)
    if not account:
        raise ValueError("the row has no account: give sshare -a -P")
    factor = values.number(get("factor"))
    return SlurmShare(
        **record.facts(),
        account=account,
        user=user,
        parent=parent,
        shares=_shares(get("shares"), is_root=account == "root" and not user),
        factor=factor if user else None,
        minutes=_minutes(get("GrpTRESMins")),
        where=record.where,
    )


def _shares(value: Any, *, is_root: bool) -> int | None:
    """Return RawShares, None if they are the parent's (``parent``)."""
    if is_root:
        return 1
    if isinstance(value, str) and value.strip().lower() == "parent":
        return None
    found = values.whole(value)
    return None if found == _OF_PARENT else found or 0


def _minutes(value: Any) -> str:
    """Return the limit of TRES minutes as text, "" without one."""
    if isinstance(value, str):
        return "" if values.blank(value) else value.strip()
    listed = value if isinstance(value, list) else ()
    found = [
        (str(item.get("name") or item.get("type")), item.get("value", item.get("count")))
        for item in listed
        if isinstance(item, Mapping)
    ]
    known = [(name, values.number(amount)) for name, amount in found]
    return ",".join(
        f"{name}={amount:g}" for name, amount in known if amount and math.isfinite(amount)
    )


def priorities_of_text(text: Text) -> Iterator[SlurmRecord]:
    """Yield the rows of ``sprio -l`` or of ``sprio -o`` with heads; without the weights."""
    lines = text.content.splitlines()
    at = next(n for n, line in enumerate(lines) if PRIORITY_HEAD.fullmatch(line))
    parted = "|" if "|" in lines[at] else None
    names = [name.strip() for name in lines[at].split(parted)]
    rows = [
        (f"{text.source}:{n}", [cell.strip() for cell in line.split(parted)])
        for n, line in enumerate(lines[at + 1 :], start=at + 2)
        if line.strip()
    ]
    rows = [row for row in rows if row[1][0] != "Weights"]
    names = _with_factor(names, [cells for _, cells in rows])
    for where, cells in rows:
        # TRES is blank if no weight is set, also for a priority that is set directly.
        short = len(names) - len(cells)
        if short == 1 and names[-1] == "TRES":
            cells = [*cells, ""]
        elif short:
            wrong = f"must have {len(names)} columns, not {len(cells)}: give sprio -l"
            raise InputError([Problem(wrong, where)])
        yield SlurmRecord("priority", dict(zip(names, cells, strict=True)), True, where)


def _with_factor(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the heads, with another name for the part of the partition.

    Its head is PARTITION, like that of the name: the first is the name, unless it has numbers and
    a second has not.
    """
    places = [n for n, name in enumerate(names) if name == "PARTITION"]
    numeric = [
        place
        for place in places
        if all(place < len(row) and row[place].lstrip("-").isdigit() for row in rows)
    ]
    factors = numeric[1:] if numeric == places and len(places) > 1 else numeric
    return [f"{name}_factor" if n in factors and rows else name for n, name in enumerate(names)]


def priority_of(record: SlurmRecord) -> SlurmPriority:
    """Return one row of sprio; raises ValueError for an unreadable value."""
    get = record.get
    printed = {name: _part(value) for name in PARTS if (value := get(name)) is not None}
    listed = values.text(get("TRES"))
    priority, nice = get("priority"), get("NICE")
    return SlurmPriority(
        job=values.text(get("job")),
        partition=values.text(get("partition")),
        priority=None if priority is None else _part(priority),
        parts=printed,
        nice=0 if nice is None else _part(nice),
        tres=None if len(listed) >= _WIDTH_OF_TRES else _sum(listed),
        where=record.where,
    )


def _sum(listed: str) -> int:
    """Return the sum of the parts of TRES: 525 of ``cpu=500,mem=25``."""
    return sum(_part(word.partition("=")[2]) for word in listed.split(",") if "=" in word)


def _part(text: str) -> int:
    """Return a weighted part; raises ValueError for a text that is none."""
    if not re.fullmatch(r"-?\d{1,12}", text.strip()):
        raise ValueError(f"must be a whole number such as 1000, not {text!r}")
    return int(text)
