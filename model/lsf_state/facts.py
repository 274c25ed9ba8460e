"""What a cluster tells of its configuration: parameters, groups, limits of users, machines.

``bparams -l``, ``bugroup``, ``bmgroup``, ``busers all`` and ``lshosts -w`` stand in for the files
of a site where nobody has these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..cluster import Cluster, Host, HostGroup, ResourceDefinition
from ..configuration import Params, User, UserGroup
from ..errors import InputError, Problem
from ..facts import known_fields
from ..formats.document import ParamsEntry
from ..formats.fields import given
from ..formats.lsf.lines import Line, Problems
from ..formats.lsf.shared import HostFacts, read_lshosts
from ..formats.sniff import kind_of_text
from ..formats.units import parse_size
from ..instance import Instance
from .values import Remarks, Text, json_records

#: The commands that tell of it.
COMMANDS = ("bparams", "bugroup", "bmgroup", "busers", "lshosts")
_PARAMETER = re.compile(r"^\s*([A-Z][A-Z_0-9]+)\s*=\s*(.*?)\s*(?:\(([^()]*)\))?\s*$")
#: Lines of plain bparams, and the parameter that each tells in seconds.
_SENTENCES = {
    "Default Queues": "DEFAULT_QUEUE",
    "Job Dispatch Interval": "MBD_SLEEP_TIME",
    "MBD_SLEEP_TIME used for calculations": "MBD_SLEEP_TIME",
    "Job Accepting Interval": "JOB_ACCEPT_INTERVAL",
}
_FLAGS = {"TRUE": "Y", "FALSE": "N"}


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """What the commands told; empty where nobody asked."""

    params: Params | None = None
    groups: tuple[UserGroup, ...] = ()
    host_groups: tuple[HostGroup, ...] = ()
    users: tuple[User, ...] = ()
    machines: Mapping[str, HostFacts] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """Whether they told anything."""
        return self != SiteFacts()

    def site(self, hosts: Iterable[str], origin: str, notes: Remarks) -> Instance:
        """A site of what is told, without hosts and queues, which other commands list.

        hosts: that there are; a group has no others.
        """
        known = {*hosts, *(group.name for group in self.host_groups), "all"}
        groups = []
        for group in self.host_groups:
            there = tuple(name for name in group.members if name.lstrip("~") in known)
            if gone := [name for name in group.members if name not in there]:
                notes.append(f"host group {group.name}: {', '.join(gone)} is no host: left out")
            if there:
                groups.append(replace(group, members=there))
        return Instance(
            Cluster((), groups=tuple(groups)),
            queues=(),
            users=self.users,
            groups=self.groups,
            params=self.params or Params(),
            origin=origin,
        )


def read_facts(texts: Iterable[Text]) -> SiteFacts:
    """The facts of all texts; InputError with everything that is wrong with them."""
    found, problems = SiteFacts(), []
    for text in texts:
        try:
            found = _READERS[kind_of_text(text.content[:65536]) or ""](text, found)
        except KeyError:
            problems.append(Problem(f"is no output of {', '.join(COMMANDS)}", text.source))
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    return found


def _params(text: Text, facts: SiteFacts) -> SiteFacts:
    told = dict(_parameters(text.content.splitlines()))
    known = {
        name: (item.key, item.fact.kind)
        for item in known_fields(Params).values()
        for name in (item.key, *item.fact.aka)
        if name.isupper()
    }
    cycle = told.get("MBD_SLEEP_TIME", "")
    values: dict[str, Any] = {}
    for name, value in told.items():
        if name not in known or not value:
            continue
        key, kind = known[name]
        if name == "DEFAULT_QUEUE":
            value = value.split()[0]
        if name == "JOB_ACCEPT_INTERVAL" and value.endswith(" s") and cycle.isdigit():
            value = str(round(int(value[:-2]) / max(1, int(cycle))))
        value = _FLAGS.get(value.upper(), value) if kind == "flag" else value
        values[key] = value
    return replace(facts, params=_of_entries(values))


def _parameters(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Parameters and their values as text; seconds of an interval end in " s"."""
    for line in lines:
        if found := _PARAMETER.match(line):
            yield found[1], found[2].split(" (")[0].strip()
            continue
        sentence, colon, value = line.partition(":")
        name = _SENTENCES.get(sentence.strip()) if colon else None
        if name == "DEFAULT_QUEUE":
            yield name, value.strip()
        elif name and (number := re.search(r"\d+", value)):
            yield name, number[0] + (" s" if name == "JOB_ACCEPT_INTERVAL" else "")


def _of_entries(values: Mapping[str, Any]) -> Params:
    """The parameters that can be read; one that cannot is as if it were not told."""
    params: dict[str, Any] = {}
    for key, value in values.items():
        numbers = [_number(value), value] if _number(value) is not None else [value]
        for text in numbers:
            try:
                params |= _known(ParamsEntry.model_validate({key: text}))
            except ValueError:
                continue
            break
    return Params(**params)


def _known(entry: ParamsEntry) -> dict[str, Any]:
    fields = given(Params, entry)
    usual = given(Params, ParamsEntry())
    return {name: value for name, value in fields.items() if value != usual.get(name)}


def _number(text: str) -> float | int | None:
    if re.fullmatch(r"\d{1,15}", text):
        return int(text)
    return float(text) if re.fullmatch(r"\d{1,15}\.\d{1,15}", text) else None


def _groups(text: Text, members: str) -> Iterator[tuple[str, list[str], str]]:
    """Name, members and shares of each group of bugroup and bmgroup, short or long form."""
    name, words, shares, into = "", [""][:0], "", ""
    titles: list[str] = []
    for line in text.content.splitlines():
        label, colon, rest = line.partition(":")
        label = label.strip()
        if colon and label.isupper():
            if label == "GROUP_NAME":
                if name:
                    yield name, words, shares
                name, words, shares = rest.strip(), [], ""
            elif label == members:
                words = rest.split()
            elif label == "SHARES":
                shares = rest.strip()
            into = label
        elif line.split()[:2] == ["GROUP_NAME", members]:
            titles, into = line.split(), members
        elif titles and line.strip() and not line[:1].isspace():
            if name:
                yield name, words, shares
            name, *words = line.split()
            shares = ""
        elif name and line.strip():
            if into == "SHARES":
                shares += " " + line.strip()
            elif into == members:
                words += line.split()
    if name:
        yield name, words, shares


_SHARE = re.compile(r"[\[(]\s*([^\s,\[\]()]+)\s*,\s*(\d+)\s*[\])]")


def _user_groups(text: Text, facts: SiteFacts) -> SiteFacts:
    found = {group.name: group for group in facts.groups}
    for name, words, shares in _groups(text, "USERS"):
        plain = [word for word in words if not set(word) & set("[](),") and word != "-"]
        shares = shares or " ".join(words)
        pairs = tuple((who.rstrip("/"), int(share)) for who, share in _SHARE.findall(shares))
        members = ("all",) if plain[:1] == ["all"] else tuple(word.rstrip("/") for word in plain)
        found[name] = UserGroup(name, members or tuple(who for who, _ in pairs), pairs)
    return replace(facts, groups=tuple(found.values()))


def _host_groups(text: Text, facts: SiteFacts) -> SiteFacts:
    found = {group.name: group for group in facts.host_groups}
    for name, words, _ in _groups(text, "HOSTS"):
        # "all hosts used by the batch system"
        plain = words[:1] if words[:1] == ["all"] else words
        members = tuple(word.rstrip("/") for word in plain if word != "-")
        found[name] = HostGroup(name, members)
    return replace(facts, host_groups=tuple(found.values()))


def _users(text: Text, facts: SiteFacts) -> SiteFacts:
    found = {user.name: user for user in facts.users}
    for row in _rows(text):
        name = row.get("USER/GROUP", "").rstrip("/")
        most, each = _number(row.get("MAX", "-")), _number(row.get("JL/P", "-"))
        if name and (most is not None or each is not None):
            found[name] = User(name, None if most is None else int(most), each)
    return replace(facts, users=tuple(found.values()))


def _rows(text: Text) -> Iterator[dict[str, str]]:
    """The rows of busers by column."""
    if text.is_json:
        yield from (row for _, row in json_records(text))
        return
    titles: list[str] = []
    for line in text.content.splitlines():
        words = line.split()
        if words[:1] == ["USER/GROUP"]:
            titles = words
        elif titles and len(words) >= len(titles):
            yield dict(zip(titles, words, strict=False))


def _machines(text: Text, facts: SiteFacts) -> SiteFacts:
    problems = Problems()
    lines = [
        Line(line, text.source, ((0, number),))
        for number, line in enumerate(text.content.splitlines(), start=1)
        if line.strip()
    ]
    found = read_lshosts(lines, problems, text.source)
    if problems.found:
        raise InputError(problems.found)
    return replace(facts, machines={**facts.machines, **(found or {})})


_READERS: dict[str, Callable[[Text, SiteFacts], SiteFacts]] = {
    "bparams": _params,
    "bugroup": _user_groups,
    "bmgroup": _host_groups,
    "busers": _users,
    "lshosts": _machines,
}


def with_machines(cluster: Cluster, machines: Mapping[str, HostFacts]) -> Cluster:
    """The hosts with what lshosts tells of them and nothing else did."""
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
