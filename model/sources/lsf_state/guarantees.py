"""Service classes and guaranteed pools, as bsla and bresources -g -l print them (GUA-02)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...formats import guarantee_text
from ...service_class import ALL, GUARANTEE, GuaranteedPool, LoanPolicy, ServiceClass
from .reading import Reading, Touched
from .values import Remarks, Text

_CLASS = "SERVICE CLASS NAME"
_POOL = "GUARANTEED RESOURCE POOL"
#: Title of the current use of a pool, which ends its fields.
_SUMMARY = "RESOURCE SUMMARY"


def read_bsla(text: Text, reading: Reading) -> Iterator[ServiceClass]:
    """Yield the service classes of bsla."""
    for name, fields, line in _blocks(text, _CLASS):
        reading.at(f"service class {name}", line, Touched())
        words = fields.get("ACCESS CONTROL", "")
        access = reading.value("ACCESS CONTROL", words, guarantee_text.access) if words else None
        goals = reading.value("GOAL", fields.get("GOAL", GUARANTEE), _goal)
        if not reading.names:
            attach = fields.get("AUTO ATTACH", "N").upper() == "Y"
            yield ServiceClass(name, goals or (GUARANTEE,), access or {}, attach)


def _goal(text: str) -> tuple[str, ...]:
    """Return the goal of a class, which bsla prints without brackets."""
    return guarantee_text.goals([text])


def read_pools(text: Text, reading: Reading) -> Iterator[GuaranteedPool]:
    """Yield the pools of bresources -g -l."""
    for name, fields, line in _blocks(text, _POOL):
        reading.at(f"guaranteed pool {name}", line, Touched())
        kind = reading.value("TYPE", fields.get("TYPE", ""), guarantee_text.pool_type)
        shares = reading.value(
            "DISTRIBUTION", fields.get("DISTRIBUTION", ""), guarantee_text.distribution
        )
        policy = fields.get("LOAN_POLICIES", "")
        loans = reading.value("LOAN_POLICIES", policy, guarantee_text.loans) if policy else None
        per_host = fields.get("SLOTS_PER_HOST", "")
        slots = reading.value("SLOTS_PER_HOST", per_host, int) if per_host else None
        if kind is None or shares is None or reading.names:
            continue
        hosts = tuple(fields.get("HOSTS", "").replace(",", " ").split())
        if hosts == ("all",):
            hosts = ()
        yield GuaranteedPool(name, kind, shares, hosts, fields.get("RES_SELECT", ""), loans, slots)


def tell_short(reading: Reading) -> None:
    """Note that a table with one line per pool lacks the guarantees by class."""
    reading.at("bresources -g", None, Touched())
    reading.unknown(
        "guaranteed pools, of which it does not print the guarantees (give bresources -g -l)"
    )


def _blocks(text: Text, head: str) -> Iterator[tuple[str, dict[str, str], int]]:
    """Name, fields and first line of each block that begins with this word."""
    name, fields, first, summed = "", dict[str, str](), 0, False
    for number, line in enumerate(text.content.splitlines(), start=1):
        key, colon, value = (part.strip() for part in line.partition(":"))
        if colon and key == head:
            if name:
                yield name, fields, first
            name, fields, first, summed = value, {}, number, False
        elif key == _SUMMARY:
            summed = True
        elif colon and not summed:
            fields.setdefault(key, value)
    if name:
        yield name, fields, first


def classes_and_pools(
    classes: Iterable[ServiceClass],
    pools: Iterable[GuaranteedPool],
    hosts: Iterable[str],
    queues: Iterable[str],
    notes: Remarks,
) -> tuple[tuple[ServiceClass, ...], tuple[GuaranteedPool, ...]]:
    """Return the classes and pools that are completely known; others are noted.

    hosts: names of hosts and groups. queues: existing queues; others have no jobs.
    """
    known, here = {*hosts, ALL}, {*queues, ALL}
    listed = {item.name: _class_of_queues(item, here) for item in classes}
    kept = []
    for pool in pools:
        gone = [name for name in pool.hosts if name.removeprefix("~") not in known]
        if gone or pool.res_select or not pool.has_hosts:
            why = f"{', '.join(gone)} is no host" if gone else "what it has only files say"
            notes.touch(f"guaranteed pool {pool.name} is not read: {why}", where="bresources -g")
            continue
        for share in pool.distribution:
            if share.service_class not in listed:
                text = f"who is in service class {share.service_class} only bsla says"
                notes.touch(text, where="bresources -g")
                listed[share.service_class] = ServiceClass(share.service_class)
        kept.append(replace(pool, loans=_loans_of_queues(pool.loans, here)))
    return tuple(listed.values()), tuple(kept)


def _class_of_queues(item: ServiceClass, queues: set[str]) -> ServiceClass:
    """Return a class without unknown queues, which have no jobs; None if no other queue remains."""
    if "QUEUES" not in item.access:
        return item
    rest = {part: names for part, names in item.access.items() if part != "QUEUES"}
    there = tuple(name for name in item.access["QUEUES"] if name in queues)
    if there:
        return replace(item, access={"QUEUES": there, **rest})
    return replace(item, access=rest, auto_attach=False)


def _loans_of_queues(policy: LoanPolicy | None, queues: set[str]) -> LoanPolicy | None:
    """Return a loan policy without unknown queues; None if no queue remains."""
    if policy is None:
        return None
    taken = tuple(name for name in policy.queues if name in queues)
    exempt = tuple(name for name in policy.exempt if name in queues)
    return replace(policy, queues=taken, exempt=exempt) if taken or exempt else None
