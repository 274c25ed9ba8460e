"""Running jobs that may be preempted, and the pending jobs whose starts that may change.

No method preempts jobs of Slurm, so that each pair of them is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from ...display import some
from ...job import Job
from .seen import SlurmJob, SlurmState


@dataclass(frozen=True, slots=True)
class _WaitingThere:
    """A pending job and its nodes."""

    job: Job
    seen: SlurmJob
    nodes: frozenset[str]
    #: The highest tier of its partitions.
    tier: int


def preemptions(
    seen: SlurmState, nodes: Mapping[str, set[str]], pending: Iterable[Job]
) -> Iterator[tuple[str, str]]:
    """Yield (pending job, text): for which running jobs may be preempted, and who follows these.

    nodes: of each partition.
    """
    kind = seen.settings.get("preempttype", "").lower().rpartition("/")[2]
    by_qos = kind == "qos"
    modes = _modes(seen, by_qos=by_qos)
    if kind in ("none", "(null)") or not any(modes.values()):
        return
    tiers = {item.name: item.tier for item in seen.partitions}
    waiting = list(_waiting(seen, nodes, tiers, pending))
    running = [job for job in seen.jobs if job.allocation and "running" in job.state]
    for mode, victims, may in _victims(seen, running, modes, tiers, by_qos=by_qos):
        used = {name for job in victims for name in job.allocation}
        ahead = [item for item in waiting if may(item) and item.nodes & used]
        ids = some([job.full_id for job in victims])
        for item in ahead:
            yield item.job.id, f"preemption: {ids} may be preempted for it ({mode})"
        first = {item.job.id for item in ahead}
        for item in waiting if ahead else ():
            if item.job.id not in first and item.nodes & used:
                yield item.job.id, f"preemption: {ids} may be preempted for another job ({mode})"


def _modes(seen: SlurmState, *, by_qos: bool) -> dict[str, str]:
    """Return how jobs of each partition, or of each QOS if these decide, are preempted, "" if not
    at all.
    """
    of_cluster = seen.settings.get("preemptmode", "off")
    own = {item.name: item.preempt_mode for item in seen.partitions}
    if by_qos:
        own = {job.qos: "" for job in seen.jobs} | {
            row.name: row.values.get("preemptmode", "") for row in seen.limits if row.of == "qos"
        }
    found = {}
    for name, text in own.items():
        mode = (of_cluster if text.lower() in ("", "cluster", "within") else text).upper()
        words = [word for word in mode.split(",") if word not in ("OFF", "DISABLED", "WITHIN")]
        within = ["WITHIN"] if by_qos and "WITHIN" in f"{text},{of_cluster}".upper() else []
        found[name] = ",".join((*words, *within)) if {*words} - {"GANG"} else ""
    return found


def _waiting(
    seen: SlurmState,
    nodes: Mapping[str, set[str]],
    tiers: Mapping[str, int],
    pending: Iterable[Job],
) -> Iterator[_WaitingThere]:
    known = {job.full_id: job for job in seen.jobs} | {job.id: job for job in seen.jobs}
    for job in pending:
        if own := known.get(job.id) or known.get(job.array_id or ""):
            inside = frozenset().union(*(nodes.get(name, set()) for name in own.partitions))
            tier = max((tiers.get(name, 1) for name in own.partitions), default=1)
            yield _WaitingThere(job, own, inside, tier)


def _victims(
    seen: SlurmState,
    running: Iterable[SlurmJob],
    modes: Mapping[str, str],
    tiers: Mapping[str, int],
    *,
    by_qos: bool,
) -> Iterator[tuple[str, list[SlurmJob], Callable[[_WaitingThere], bool]]]:
    """Yield running jobs that are alike in this, how they are preempted, and by which jobs."""
    groups: dict[tuple[str, str, int], list[SlurmJob]] = {}
    for job in running:
        partition = job.partitions[0] if job.partitions else ""
        if mode := modes.get(job.qos if by_qos else partition):
            rank = (job.priority or 0) if mode.endswith("WITHIN") else 0
            groups.setdefault((partition, job.qos, rank), []).append(job)
    over: dict[str, set[str]] = {}
    for row in seen.limits if by_qos else ():
        for name in row.values.get("preempt", "").split(","):
            over.setdefault(name.strip(), set()).add(row.name)
    for (partition, qos, rank), jobs in groups.items():
        mode = modes[qos if by_qos else partition]
        within = (qos, rank) if mode.endswith("WITHIN") else None
        stronger = over.get(qos, set()) if by_qos else None
        yield mode, jobs, partial(_may, stronger, within, tiers.get(partition, 1))


def _may(
    stronger: set[str] | None, within: tuple[str, int] | None, tier: int, item: _WaitingThere
) -> bool:
    """Whether a pending job may preempt jobs of a tier: by these QOS if they decide, or within
    this QOS jobs of this priority.
    """
    if within and item.seen.qos == within[0] and (item.seen.priority or 0) > within[1]:
        return True
    return item.tier > tier if stronger is None else item.seen.qos in stronger
