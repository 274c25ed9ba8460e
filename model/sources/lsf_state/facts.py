"""Configuration that commands print: parameters, groups, limits of users, machines.

``bparams -l``, ``bugroup``, ``bmgroup``, ``busers all`` and ``lshosts -w`` replace the files of a
site if these are not available; so do bsla and ``bresources -g -l`` for service classes and pools
(GUA-02), ``lshosts -T`` and ``bhosts -aff`` for processor units (AFF-01).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from pydantic import ValidationError

from ...cluster import Cluster, Host, HostGroup, ResourceDefinition
from ...configuration import Limit, Params, User, UserGroup
from ...errors import InputError, Problem, bounded
from ...facts import known_fields
from ...formats import guarantee_text
from ...formats.document import ParamsEntry
from ...formats.fields import given
from ...formats.lsf.lines import Line, Place, Problems
from ...formats.lsf.shared import HostFacts, read_lshosts
from ...formats.names import Domains
from ...formats.reading import kind_of_text
from ...formats.units import parse_size
from ...instance import Instance
from ...job import JobGroup
from ...omissions import AFFINITY
from ...service_class import ALL, GUARANTEE, GuaranteedPool, LoanPolicy, ServiceClass
from . import values
from .bqueues import read_aps
from .limits import (
    SeenLimit,
    SeenUse,
    limits_as_configured,
    limits_of_rows,
    read_bjgroup,
    read_blimits,
    without_strangers,
)
from .printed_facts import TOPOLOGY, columns
from .queues import tell_parameters
from .reading import Cells, Reading, Touched, json_records
from .reservations import SeenReservation, read_brsvs
from .values import Remarks, Text, is_name

_HOST = re.compile(r"\s*Host\[[^\]]*\]\s+(\S+)\s*$")
#: One unit of each level, as it stands in a line; a core has its threads, ``*`` marks one in use.
_UNITS = {
    "Socket": re.compile(r"Socket(\d+)"),
    "NUMA": re.compile(r"NUMA\[(\d+)\s*:[^\[\]]*\]"),
    "core": re.compile(r"core(\d+)\(([^()]*)\)"),
}
#: Memory of a NUMA node in use, or a thread in use.
_USE = re.compile(r"NUMA\[[^\[\]]*/|\([^()]*\*")
#: Fields that each level of the tree counts.
_FIELDS = {
    level: tuple(fact.field for fact in TOPOLOGY if level in columns(fact.what, "units"))
    for level in _UNITS
}
#: ``AFFINITY: Enabled`` and the like.
_LABEL = re.compile(r"\s*[A-Za-z][A-Za-z ]*:")


@dataclass(slots=True)
class _Tree:
    """The units of one host."""

    #: Numbers of sockets and NUMA nodes: a socket may stand under each of its nodes.
    numbers: dict[str, set[str]] = field(default_factory=dict)
    cores: int = 0
    threads: int = 0
    #: Whether the tree shows the use of units and memory, as that of bhosts -aff does.
    shows_use: bool = False
    #: Fields of which a line cannot be read.
    unread: set[str] = field(default_factory=set)

    def counts(self) -> dict[str, int]:
        """Return the number of each known kind."""
        found = {name: len(numbers) for name, numbers in self.numbers.items()}
        found |= {"cores": self.cores, "threads": self.threads}
        return {name: n for name, n in found.items() if n and name not in self.unread}


def read_topology(text: Text, reading: Reading) -> tuple[dict[str, dict[str, int]], frozenset[str]]:
    """Return the numbers of cores, threads, sockets and NUMA nodes by host, and hosts without use.

    A tree of lshosts -T does not show the use.
    """
    trees: dict[str, _Tree] = {}
    tree: _Tree | None = None
    for number, line in enumerate(text.content.splitlines(), start=1):
        if found := _HOST.match(line):
            tree = _Tree()
            if not is_name(found[1]):
                reading.at("host", number)
                reading.lost(f"{found[1]!r} is not a host name")
                continue
            trees[found[1]] = tree
            reading.at(f"host {found[1]}", number, Touched(hosts=(found[1],)))
        elif tree is not None and line.strip() and not _LABEL.match(line):
            reading.line = number
            tree.shows_use |= _USE.search(line) is not None
            _add_of_topology(tree, line.strip(), reading)
    counted = {name: counts for name, tree in trees.items() if (counts := tree.counts())}
    return counted, frozenset(name for name in counted if not trees[name].shows_use)


def _add_of_topology(tree: _Tree, line: str, reading: Reading) -> None:
    """Count the units of one line."""
    level = next((level for level in _UNITS if line.startswith(level)), "")
    form = _UNITS.get(level)
    if form is None or form.sub("", line).strip():
        tree.unread.update(
            _FIELDS.get(level) or [name for names in _FIELDS.values() for name in names]
        )
        reading.unknown(f"{level or 'a line of the tree'}: {line!r} is not a unit of a host")
        return
    for unit in form.finditer(line):
        if level != "core":
            tree.numbers.setdefault(_FIELDS[level][0], set()).add(unit[1])
            continue
        tree.cores += 1
        threads = unit[2].replace("*", " ").split()
        tree.threads += len(threads)
        if not threads or not all(thread.isdecimal() for thread in threads):
            tree.unread.add("threads")
            reading.unknown(f"core{unit[1]}: {unit[2]!r} are not numbers of threads")


def with_units(
    instance: Instance,
    units: Mapping[str, Mapping[str, int]],
    without_use: Collection[str],
    notes: Remarks,
) -> Instance:
    """Return the hosts with units from trees that no other input has.

    without_use: hosts with trees of lshosts -T, which do not show whether jobs may be bound there.
    """
    hosts = instance.cluster.hosts
    domains = Domains(host.name for host in hosts)
    known = {domains.known(name): counts for name, counts in units.items()}
    silent = {domains.known(name) for name in without_use}
    counted, unsure = [], []
    for host in hosts:
        counts = known.get(host.name, {})
        new: dict[str, Any] = {name: n for name, n in counts.items() if getattr(host, name) is None}
        counted.append(replace(host, **new) if new else host)
        if new and host.name in silent:
            unsure.append(host.name)
    if unsure:
        text = (
            "whether jobs may be bound to processors (AFFINITY of lsb.hosts) is not printed: it "
            "is assumed (give bhosts -aff)"
        )
        notes.touch(text, where="lshosts -T", hosts=unsure, resources=[AFFINITY])
    return replace(instance, cluster=replace(instance.cluster, hosts=tuple(counted)))


_CLASS = "SERVICE CLASS NAME"
_POOL = "GUARANTEED RESOURCE POOL"
#: Title of the current use of a pool, which ends its fields.
_SUMMARY = "RESOURCE SUMMARY"


def read_bsla(text: Text, reading: Reading) -> Iterator[ServiceClass | SeenUse]:
    """Yield the service classes of bsla, and what they use of pools."""
    for name, fields, line, rows in _blocks(text, _CLASS):
        for pool, *_, used in rows:
            yield SeenUse("bsla", "service_class", name, pool, float(used))
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


def read_pools(text: Text, reading: Reading) -> Iterator[GuaranteedPool | SeenUse]:
    """Yield the pools of bresources -g -l, and what classes use of them."""
    for name, fields, line, rows in _blocks(text, _POOL):
        for consumer, *_, used in rows:
            yield SeenUse("bresources -g -l", "service_class", consumer, name, float(used))
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
    reading.unknown("guaranteed pools without their guarantees (give bresources -g -l)")


def _blocks(text: Text, head: str) -> Iterator[tuple[str, dict[str, str], int, list[list[str]]]]:
    """Name, fields, first line and rows of amounts of each block that begins with this word."""
    name, fields, first, summed = "", dict[str, str](), 0, False
    rows: list[list[str]] = []
    for number, line in enumerate(text.content.splitlines(), start=1):
        key, colon, value = (part.strip() for part in line.partition(":"))
        if colon and key == head:
            if name:
                yield name, fields, first, rows
            name, fields, first, summed, rows = value, {}, number, False, []
        elif key == _SUMMARY:
            summed = True
        elif colon and not summed:
            fields.setdefault(key, value)
        elif len(words := line.split()) > 3 and re.fullmatch(r"\d+(\.\d+)?", words[-1]):
            rows.append(words)
    if name:
        yield name, fields, first, rows


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
            why = (
                f"{', '.join(gone)} is not a host"
                if gone
                else "its amounts are only in LSF's files"
            )
            notes.touch(
                f"guaranteed pool {pool.name} is not modelled: {why}", where="bresources -g"
            )
            continue
        for share in pool.distribution:
            if share.service_class not in listed:
                text = (
                    f"the members of service class {share.service_class} are only in the "
                    "output of bsla"
                )
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


#: The commands that tell of it.
COMMANDS = (
    *("bparams", "bugroup", "bmgroup", "busers", "lshosts", "blimits", "bjgroup", "brsvs"),
    *("bsla", "bresources -g -l", "lshosts -T"),
    "bjobs -aps",
)
_PARAMETER = re.compile(r"^\s*([A-Z][A-Z_0-9]+)\s*=\s*(.*?)\s*(?:\(([^()]*)\))?\s*$")
#: Sentences of plain bparams, and the parameter (in seconds) that each contains.
_SENTENCES = {
    "Default Queues": "DEFAULT_QUEUE",
    "Job Dispatch Interval": "MBD_SLEEP_TIME",
    "MBD_SLEEP_TIME used for calculations": "MBD_SLEEP_TIME",
    "Job Accepting Interval": "JOB_ACCEPT_INTERVAL",
}
_FLAGS = {"TRUE": "Y", "FALSE": "N"}


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """Configuration read from commands; empty for commands that were not run."""

    #: Parameters of the cluster, None if not given.
    params: Params | None = None
    #: User groups.
    groups: tuple[UserGroup, ...] = ()
    #: Host groups.
    host_groups: tuple[HostGroup, ...] = ()
    #: Users with their limits.
    users: tuple[User, ...] = ()
    #: Jobs of the users and groups that have a limit, by name as printed.
    limited: Mapping[str, int] = field(default_factory=dict)
    #: Properties of hosts from lshosts, by host name.
    machines: Mapping[str, HostFacts] = field(default_factory=dict)
    #: Limits in the form of sections, and the rows of blimits.
    limits: tuple[Limit, ...] = ()
    #: Rows of blimits.
    limit_rows: tuple[SeenLimit, ...] = ()
    #: Amounts in use by the jobs of job groups, service classes and advance reservations.
    uses: tuple[SeenUse, ...] = ()
    #: Job groups of bjgroup.
    job_groups: tuple[JobGroup, ...] = ()
    #: Advance reservations of brsvs.
    reservations: tuple[SeenReservation, ...] = ()
    #: Service classes of bsla.
    service_classes: tuple[ServiceClass, ...] = ()
    #: Guaranteed pools of bresources.
    pools: tuple[GuaranteedPool, ...] = ()
    #: Processor units by host and field, as lshosts -T prints them.
    units: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    #: Hosts whose units are printed without their use, so only by lshosts -T.
    units_without_use: frozenset[str] = frozenset()
    #: Absolute priority as bjobs -aps prints it, by job id.
    absolute: Mapping[str, str] = field(default_factory=dict)

    def tell_unknown_groups(self, users: Collection[str], notes: Remarks) -> None:
        """Note limits of groups whose members no input gives. users: of the jobs."""
        known = {*users, *(group.name for group in self.groups), "default"}
        for printed, jobs in self.limited.items():
            name = printed.rstrip("/")
            if name not in known and (jobs or printed != name):
                notes.touch(
                    f"busers lists a limit of {name}, which is not the user of any job; if it is "
                    f"a group, no input gives its members (bugroup -l does): "
                    "the limit is not applied"
                )

    @property
    def any(self) -> bool:
        """Return whether any command printed configuration."""
        return self != SiteFacts()

    @property
    def of_files(self) -> SiteFacts:
        """Return only what the configuration files of a site say too."""
        without = replace(self, units={}, units_without_use=frozenset(), absolute={})
        return replace(without, job_groups=(), reservations=(), uses=())

    def site(
        self, hosts: Iterable[str], origin: str, notes: Remarks, queues: Iterable[str] = ()
    ) -> Instance:
        """Return a site of these facts, without hosts and queues, which other commands list.

        hosts, queues: existing names; groups have no other members.
        """
        known = {*hosts, *(group.name for group in self.host_groups), "all"}
        groups = []
        for group in self.host_groups:
            there = tuple(name for name in group.members if name.lstrip("~") in known)
            if gone := [name for name in group.members if name not in there]:
                notes.append(f"host group {group.name}: {', '.join(gone)} is not a host: omitted")
            if there:
                groups.append(replace(group, members=there))
        listed = self.service_classes, self.pools
        classes, pools = classes_and_pools(*listed, known, queues, notes)
        return Instance(
            Cluster((), groups=tuple(groups)),
            service_classes=classes,
            guaranteed_pools=pools,
            queues=(),
            users=self.users,
            groups=self.groups,
            limits=without_strangers(self.limits or limits_of_rows(self.limit_rows), known, notes),
            params=self.params or Params(),
            origin=origin,
        )


@bounded("what LSF printed")
def read_facts(texts: Iterable[Text], notes: Remarks | None = None) -> SiteFacts:
    """Return the facts of all texts; raises InputError with every error that makes them unusable.

    notes: collects unreadable values.
    """
    found, problems = SiteFacts(), []
    for text in texts:
        kind, reading = kind_of_text(text.content[:65536]) or "", Reading(text, notes)
        try:
            if kind in _READERS:
                found = _READERS[kind](text, found, reading)
                reading.done()
            elif not values.says_nothing(text.content):
                problems.append(Problem(f"is not the output of {', '.join(COMMANDS)}", text.source))
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    return found


def _params(text: Text, facts: SiteFacts, reading: Reading) -> SiteFacts:
    lines: dict[str, int] = {}
    told: dict[str, str] = {}
    for number, name, value in _parameters(text.content.splitlines()):
        told[name], lines[name] = value, number
    known = {
        name: (item.key, item.fact.kind)
        for item in known_fields(Params).values()
        for name in (item.key, *item.fact.aka)
        if name.isupper()
    }
    cycle = told.get("MBD_SLEEP_TIME", "")
    params: dict[str, Any] = {}
    for name, value in told.items():
        if name not in known or value in ("", "-1"):  # -1: not set
            continue
        key, kind = known[name]
        if name == "DEFAULT_QUEUE":
            value = value.split()[0]
        interval = name == "JOB_ACCEPT_INTERVAL" and re.fullmatch(r"\d+ s", value)
        if interval and cycle.isdigit():
            value = str(round(int(value[:-2]) / max(1, int(cycle))))
        value = _FLAGS.get(value.upper(), value) if kind == "flag" else value
        reading.at(f"parameter {name}", lines[name], Touched())
        params |= reading.value(name, value, partial(_entry, key)) or {}
    tell_parameters({name: text for name, text in told.items() if name not in known}, reading.notes)
    return replace(facts, params=Params(**params))


def _parameters(lines: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield line, name and text of each parameter; seconds of an interval end in " s"."""
    for place, line in enumerate(lines, start=1):
        if found := _PARAMETER.match(line):
            yield place, found[1], found[2].split(" (")[0].strip()
            continue
        sentence, colon, value = line.partition(":")
        name = _SENTENCES.get(sentence.strip()) if colon else None
        if name == "DEFAULT_QUEUE":
            yield place, name, value.strip()
        elif name:
            number = re.search(r"\d+", value)
            if number is None:
                yield place, name, value.strip()
            else:
                yield place, name, number[0] + (" s" if name == "JOB_ACCEPT_INTERVAL" else "")


def _entry(key: str, value: str) -> dict[str, Any]:
    """Return a parameter by its field; raises ValueError for an unreadable value."""
    number = _number(value)
    wrong = ""
    for text in (value,) if number is None else (number, value):
        try:
            return _known(ParamsEntry.model_validate({key: text}))
        except ValidationError as error:
            wrong = error.errors()[0]["msg"].removeprefix("Value error, ")
    raise ValueError(f"{value!r} is not a valid value of {key}: {wrong}")


def _known(entry: ParamsEntry) -> dict[str, Any]:
    fields = given(Params, entry)
    usual = given(Params, ParamsEntry())
    return {name: value for name, value in fields.items() if value != usual.get(name)}


def _number(text: str) -> float | int | None:
    if re.fullmatch(r"\d{1,15}", text):
        return int(text)
    return float(text) if re.fullmatch(r"\d{1,15}\.\d{1,15}", text) else None


@dataclass(slots=True)
class _Group:
    """A group as it is printed."""

    name: str
    line: int
    words: list[str] = field(default_factory=list)
    shares: str = ""
    #: Line numbers of `words` and `shares`, by label.
    lines: dict[str, int] = field(default_factory=dict)


def _named(text: Text, members: str, reading: Reading) -> Iterator[_Group]:
    """Yield the groups that have a name; members without a name are reported and omitted."""
    for group in _groups(text, members):
        of_users = members == "USERS"
        touched = Touched(users=(group.name,)) if of_users else Touched(hosts=(group.name,))
        reading.at(f"group {group.name}", group.lines.get(members, group.line), touched)
        if not values.is_name(group.name):
            reading.lost(f"{group.name!r} is not a group name")
            continue
        for word in [word for word in group.words if not set(word) & set("[](),")]:
            reading.value(members, word.lstrip("~").rstrip("/"), values.name)
        known = [w for w in group.words if values.is_name(w.strip("~/[](),") or "x") or w == "-"]
        group.words = known
        reading.line = group.lines.get("SHARES", reading.line)
        yield group


def _groups(text: Text, members: str) -> Iterator[_Group]:
    """Yield the groups of bugroup and bmgroup, short or long form."""
    group: _Group | None = None
    into, in_table = "", False
    for number, line in enumerate(text.content.splitlines(), start=1):
        label, colon, rest = line.partition(":")
        label = label.strip()
        begins = in_table and line.strip() and not line[:1].isspace()
        if line.split()[:2] == ["GROUP_NAME", members]:
            into, in_table = members, True
        elif (colon and label == "GROUP_NAME") or (begins and not (colon and label.isupper())):
            if group is not None:
                yield group
            name, *words = (rest if colon and label == "GROUP_NAME" else line).split() or [""]
            group = _Group(name, number, words)
        elif colon and label.isupper():
            into = label
            if group is not None:
                group.lines[label] = number
                _add(group, into, members, rest)
        elif group is not None:
            _add(group, into, members, line)
    if group is not None:
        yield group


def _add(group: _Group, label: str, members: str, text: str) -> None:
    """Add values under a label."""
    if label == "SHARES":
        group.shares = f"{group.shares} {text.strip()}".strip()
    elif label == members:
        group.words += text.split()


def _user_groups(text: Text, facts: SiteFacts, reading: Reading) -> SiteFacts:
    found = {group.name: group for group in facts.groups}
    for group in _named(text, "USERS", reading):
        words = [word for word in group.words if word != "-"]
        plain = [word for word in words if not set(word) & set("[](),")]
        shares = group.shares or " ".join(word for word in words if word not in plain)
        pairs = reading.value("SHARES", shares, values.shares) or ()
        pairs = tuple((who.rstrip("/"), share) for who, share in pairs)
        members = ("all",) if plain[:1] == ["all"] else tuple(word.rstrip("/") for word in plain)
        if not members or reading.names:  # a user with an own share is a member of the group
            known = (who for who, _ in pairs if who not in (*members, "others", "default"))
            members = (*members, *known)
        found[group.name] = UserGroup(group.name, members, pairs)
    return replace(facts, groups=tuple(found.values()))


def _host_groups(text: Text, facts: SiteFacts, reading: Reading) -> SiteFacts:
    found = {group.name: group for group in facts.host_groups}
    for group in _named(text, "HOSTS", reading):
        # "all hosts used by the batch system"
        plain = group.words[:1] if group.words[:1] == ["all"] else group.words
        members = tuple(word.rstrip("/") for word in plain if word != "-")
        found[group.name] = HostGroup(group.name, members)
    return replace(facts, host_groups=tuple(found.values()))


def _users(text: Text, facts: SiteFacts, reading: Reading) -> SiteFacts:
    found = {user.name: user for user in facts.users}
    limited = dict(facts.limited)
    for line, row in _rows(text, reading):
        printed = values.pick(row, *columns("name", "user"))
        name = printed.rstrip("/")
        reading.at(f"user {name}", line, Touched(users=(name,)))
        if not name:
            reading.lost("has no USER/GROUP")
            continue
        cells = Cells(row, reading, "user")
        most = cells.value("slots", values.whole)
        each = cells.value("slots per processor", values.number)
        if most is not None or each is not None:
            found[name] = User(name, most, each)
            count = reading.value("NJOBS", row.get("NJOBS", ""), values.whole)
            limited[printed] = 1 if count is None else count  # unknown: it may have some
    return replace(facts, users=tuple(found.values()), limited=limited)


def _rows(text: Text, reading: Reading) -> Iterator[tuple[int | None, dict[str, str]]]:
    """Yield the rows of busers by column, each with its line number."""
    if text.is_json:
        yield from ((None, row) for _, row in json_records(text, reading))
        return
    titles: list[str] = []
    for number, line in enumerate(text.content.splitlines(), start=1):
        words = line.split()
        if words[:1] == ["USER/GROUP"]:
            titles = words
        elif titles and words:
            if len(words) < len(titles):
                reading.at(f"user {words[0]}", number, Touched(users=(words[0],)))
                reading.unknown(f"has {len(words)} of {len(titles)} columns")
                continue
            yield number, dict(zip(titles, words, strict=False))


def _machines(text: Text, facts: SiteFacts, reading: Reading) -> SiteFacts:
    problems = Problems()
    lines = [
        Line(line, text.source, ((0, number),))
        for number, line in enumerate(text.content.splitlines(), start=1)
        if line.strip()
    ]

    def unread(place: Place, host: str, what: str) -> None:
        reading.at(f"host {host}", place.line, Touched(hosts=(host,)))
        reading.unknown(what)

    found = read_lshosts(lines, problems, text.source, unread)
    if problems.found:
        raise InputError(problems.found)
    return replace(facts, machines={**facts.machines, **(found or {})})


_Reader: TypeAlias = Callable[[Text, SiteFacts, Reading], SiteFacts]


def _more(
    field: str, read: Callable[[Text, Reading], Iterable[Any]], *, unique: bool = True
) -> _Reader:
    """Return the reader that adds to a list. unique: of equal names the last counts."""

    def add(text: Text, facts: SiteFacts, reading: Reading) -> SiteFacts:
        read_here = list(read(text, reading))
        uses = [item for item in read_here if isinstance(item, SeenUse)]
        found: Any = (*getattr(facts, field), *(it for it in read_here if it not in uses))
        if unique:
            found = tuple({item.name: item for item in found}.values())
        return replace(facts, **{field: found}, uses=(*facts.uses, *uses))

    return add


def _short_pools(text: Text, facts: SiteFacts, reading: Reading) -> SiteFacts:
    tell_short(reading)
    return facts


def _units(text: Text, facts: SiteFacts, reading: Reading) -> SiteFacts:
    units, without_use = read_topology(text, reading)
    silent = (facts.units_without_use - units.keys()) | without_use
    return replace(facts, units={**facts.units, **units}, units_without_use=silent)


def _absolute(text: Text, facts: SiteFacts, reading: Reading) -> SiteFacts:
    return replace(facts, absolute={**facts.absolute, **read_aps(text, reading)})


_READERS: dict[str, _Reader] = {
    "bparams": _params,
    "bugroup": _user_groups,
    "bmgroup": _host_groups,
    "busers": _users,
    "lshosts": _machines,
    "blimits": _more("limit_rows", read_blimits, unique=False),
    "configuration": _more("limits", limits_as_configured, unique=False),
    "bjgroup": _more("job_groups", read_bjgroup),
    "brsvs": _more("reservations", read_brsvs),
    "bsla": _more("service_classes", read_bsla),
    "bresources -g -l": _more("pools", read_pools),
    "bresources": _short_pools,
    "lshosts -T": _units,
    "bjobs -aps": _absolute,
}


def with_machines(cluster: Cluster, machines: Mapping[str, HostFacts]) -> Cluster:
    """Return the hosts with facts of lshosts that no other input has."""
    names = {name for facts in machines.values() for name in facts.resources}
    names -= {item.name for item in cluster.resources}
    plain = {name for name in names if re.fullmatch(r"[A-Za-z]\w*", name)}
    defined = tuple(ResourceDefinition(name, kind="boolean") for name in sorted(plain))
    hosts = tuple(_machine(host, machines.get(host.name), plain) for host in cluster.hosts)
    return replace(cluster, hosts=hosts, resources=(*cluster.resources, *defined))


def _machine(host: Host, facts: HostFacts | None, booleans: set[str]) -> Host:
    if facts is None:
        return host
    sizes = {}
    for name, text in (("mem", facts.mem), ("swp", facts.swp)):
        if name not in host.amounts and text not in ("", "-"):
            sizes[name] = parse_size(text)
    return replace(
        host,
        ncpus=host.ncpus or facts.ncpus,
        type=facts.type if host.type == "any" else host.type,
        model=facts.model if host.model == "any" else host.model,
        cpu_factor=facts.factor or host.cpu_factor,
        amounts={**host.amounts, **sizes},
        booleans=host.booleans | (booleans & set(facts.resources)),
    )
