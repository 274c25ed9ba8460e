"""CPUs that running jobs hold by node if no input lists them by node."""

from __future__ import annotations

from collections.abc import Mapping

from .seen import SlurmNode

#: CPUs of each running job by node; 0: the input names the node without a number.
Listed = Mapping[str, Mapping[str, int]]


def shared_out(
    listed: Listed, totals: Mapping[str, int], nodes: Mapping[str, SlurmNode], unit: int
) -> dict[str, dict[str, int]]:
    """Return the CPUs of each job by node, with numbers for those that have none.

    Each job gets its total. A node holds no more than it has in use, or than its CPUs if its use
    is not known: the next core goes to the node with the most CPUs left. Jobs on fewer nodes are
    first. totals: CPUs of each job. unit: CPUs that are allocated together (a core).
    """
    found = {job: dict(held) for job, held in listed.items()}
    left = {
        name: node.cpus if node.cpus_used is None else min(node.cpus, node.cpus_used)
        for name, node in nodes.items()
    }
    for held in found.values():
        for name, count in held.items():
            left[name] -= count
    open_nodes = {job: [name for name, n in held.items() if not n] for job, held in found.items()}
    for job in sorted(found, key=lambda job: len(open_nodes[job])):
        names = open_nodes[job]
        total = max(totals[job] - sum(found[job].values()), len(names))
        for name in names:  # a job has at least one core on each of its nodes
            share = min(unit, total)
            found[job][name] = max(1, share)
            left[name] -= found[job][name]
            total -= share
        while names and total > 0:
            share = min(unit, total)
            name = max(names, key=lambda name: left[name])
            found[job][name] += share
            left[name] -= share
            total -= share
    return found
