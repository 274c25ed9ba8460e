"""Switches of topology.yaml, topology.conf or ``scontrol show topology``, as compute units."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...cluster import ComputeUnit
from ...formats.source_text import parse
from .. import slurm_values as values
from ..lsf_state.values import Remarks, Text
from .seen import SlurmState, SlurmSwitch

#: Type of the units that are leaf switches.
LEAF = "leaf"
SWITCHES = re.compile(r"^\s*SwitchName=", re.MULTILINE | re.IGNORECASE)
#: topology.yaml, in whose place Slurm does not read topology.conf.
OF_YAML = re.compile(r"^\s*-\s*[\"']?topology[\"']?\s*:", re.MULTILINE)
NETWORKS = re.compile(
    rf"{SWITCHES.pattern}|^\s*BlockName=|{OF_YAML.pattern}", re.MULTILINE | re.IGNORECASE
)
_FACT = re.compile(r"(\w+)=(\S*)")
#: Kinds of networks in topology.yaml; those but the first two restrict the nodes of a job.
_KINDS = ("flat", "tree", "block", "ring", "torus3d")


def read_networks(text: Text, seen: SlurmState) -> None:
    """Read kinds of networks by name, and the switches of that of the cluster.

    Raises ValueError with what is wrong.
    """
    if not OF_YAML.search(text.content):
        seen.switches = _switches(text)
        seen.networks[""] = "tree" if seen.switches else "block"
        return
    listed = parse(text.content, text.source, json_text=False)
    if not all(isinstance(item, Mapping) and item.get("topology") for item in listed):
        raise ValueError("each item of topology.yaml is a mapping that begins with topology")
    default = next((item for item in listed if item.get("cluster_default") is True), listed[0])
    for item in listed:
        kind = next((kind for kind in _KINDS if item.get(kind)), "unknown")
        seen.networks[str(item["topology"])] = kind
    seen.network = str(default["topology"])
    tree = default.get("tree")
    for item in tree.get("switches") or () if isinstance(tree, Mapping) else ():
        lists = [values.host_list(item.get(what) or "") for what in ("nodes", "children")]
        seen.switches += [SlurmSwitch(name, *lists) for name in values.host_list(item["switch"])]


def _switches(text: Text) -> list[SlurmSwitch]:
    found = []
    for number, line in enumerate(text.content.splitlines(), start=1):
        facts = {name.lower(): value for name, value in _FACT.findall(line.partition("#")[0])}
        if not SWITCHES.match(line):
            continue
        try:
            lists = [values.host_list(facts.get(what, "")) for what in ("nodes", "switches")]
            for name in values.host_list(facts["switchname"]):
                found.append(SlurmSwitch(name, *lists))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return found


def units_of(seen: SlurmState, notes: Remarks) -> tuple[tuple[str, ...], tuple[ComputeUnit, ...]]:
    """Return unit types, finest first (``leaf``, ``level1`` …), and units with known nodes.

    If the switches do not form a regular tree, only the leaf switches become units.
    """
    switches = {item.name: item for item in seen.switches}
    nodes = {node.name for node in seen.nodes}
    heights = {name: _height(name, switches) for name in switches}
    regular = _is_regular(switches, heights)
    parents = {child: item.name for item in seen.switches for child in item.switches}
    names = {name: f"switch_{name}" if name in nodes else name for name in switches}
    hosts: dict[str, tuple[str, ...]] = {}
    home: dict[str, str] = {}
    units = []
    for name in sorted(switches, key=lambda name: heights[name]):
        item, height = switches[name], heights[name]
        if height and not regular:
            continue
        if height:
            inside = [host for child in item.switches for host in hosts.get(child, ())]
        else:
            inside = [host for host in item.nodes if host in nodes]
            inside = [host for host in inside if home.setdefault(host, name) == name]
        hosts[name] = tuple(dict.fromkeys(inside))
        if inside:
            above = parents.get(name) if regular else None
            units.append(
                ComputeUnit(names[name], _type(height), hosts[name], names.get(above or ""))
            )
    if not regular:
        notes.append("switches are no regular tree: the lowest are read alone")
    return tuple(dict.fromkeys(unit.type for unit in units)), tuple(units)


def _type(height: int) -> str:
    return f"level{height}" if height else LEAF


def _height(name: str, switches: Mapping[str, SlurmSwitch], above: Sequence[str] = ()) -> int:
    """Return the number of levels below a switch; switches above it do not count again."""
    below = [child for child in switches[name].switches if child in switches and child not in above]
    return max((1 + _height(child, switches, (*above, name)) for child in below), default=0)


def _is_regular(switches: Mapping[str, SlurmSwitch], heights: Mapping[str, int]) -> bool:
    """Return whether each switch is known and has at most one parent, one level above it."""
    children = [child for item in switches.values() for child in item.switches]
    return len(children) == len(set(children)) and all(
        heights.get(child) == heights[item.name] - 1
        for item in switches.values()
        for child in item.switches
    )
