"""Hosts in the words of LSF's ``bhosts`` and ``bmgroup`` (VEW-02, VEW-05)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..model.cluster import BUILTIN_INDICES
from .gpu_views import bhosts_gpu
from .plain_tables import csv_rows, json_records, plain_table

if TYPE_CHECKING:
    from ..model.cluster import Host
    from ..solver.loop.snapshot import HostLoad, Snapshot
    from .view_options import ViewOptions

COLUMNS = ("HOST_NAME", "STATUS", "JL/U", "MAX", "NJOBS", "RUN", "SSUSP", "USUSP", "RSV")
LONG_COLUMNS = (
    *("STATUS", "CPUF", "JL/U", "MAX", "NJOBS", "RUN", "SSUSP", "USUSP", "RSV"),
    *("DISPATCH_WINDOW",),
)
SIZES = frozenset({"tmp", "swp", "mem"})


def bhosts(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """Hosts with the slots that are used and reserved, and in the long form their resources."""
    if asked.shared:
        return _shared(moment, asked, format)
    if asked.gpus:
        return bhosts_gpu(moment, asked, format)
    hosts = [host for host in moment.instance.cluster.hosts if asked.wants(host.name)]
    found = {host.name: numbers(moment, host) for host in hosts}
    if format == "json":
        return json_records(
            {**found[host.name], **asdict(moment.hosts[host.name])} for host in hosts
        )
    if format == "csv" or not asked.long:
        rows = [[found[host.name][name] for name in COLUMNS] for host in hosts]
        if format == "csv":
            return csv_rows([column.lower() for column in COLUMNS], rows)
        # The short form says that a host is closed, the long one why.
        short = [[name, status.partition("_")[0], *rest] for name, status, *rest in rows]
        return plain_table(COLUMNS, short, "<<>>>>>>>")
    return "\n".join(
        f"HOST  {host.name}\n"
        + plain_table(
            LONG_COLUMNS,
            [[found[host.name][name] for name in LONG_COLUMNS]],
            "<" + ">" * 8 + "<",
        )
        + "\n CURRENT LOAD USED FOR SCHEDULING:\n"
        + _load(moment.hosts[host.name])
        for host in hosts
    )


def numbers(moment: Snapshot, host: Host) -> dict[str, Any]:
    """What the tables have in columns; counts are slots, and who suspended a job is not known."""
    run = suspended = 0
    for item in moment.instance.running:
        slots = item.allocation.get(host.name, 0)
        suspended += slots if item.suspended else 0
        run += 0 if item.suspended else slots
    reserved = moment.hosts[host.name].slots
    held = run + suspended + reserved
    return {
        "HOST_NAME": host.name,
        "STATUS": "closed_Full" if host.status == "ok" and held >= host.slots else host.status,
        "CPUF": f"{host.cpu_factor:.2f}",
        "JL/U": host.user_slots,
        "MAX": host.slots if host.mxj_defined else None,
        "NJOBS": held,
        "RUN": run,
        "SSUSP": 0,
        "USUSP": suspended,
        "RSV": reserved,
        "DISPATCH_WINDOW": host.windows or None,
    }


def _load(load: HostLoad) -> str:
    """Rows Total and Reserved: of the built-in indices, then of the resources of the site."""
    own = tuple(name for name in load.total if name not in BUILTIN_INDICES)
    tables = []
    for names in (BUILTIN_INDICES, own):
        rows = [
            ("Total", *(_amount(name, load.total[name]) for name in names)),
            ("Reserved", *(_amount(name, load.reserved[name]) for name in names)),
        ]
        if names:
            tables.append(plain_table((" ", *names), rows, "<" + ">" * len(names)))
    return "\n".join("".join(f" {line}\n" for line in table.splitlines()) for table in tables)


def _amount(name: str, value: float | None) -> str | None:
    """``1.5``, ``91%``, ``911M``."""
    if value is None:
        return None
    if name in SIZES:
        return f"{value:.0f}M"
    if name == "ut":
        return f"{value:.0%}"
    return f"{value:.0f}" if name in ("io", "ls", "it") else f"{value:.1f}"


def bmgroup(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """Host groups with their hosts; groups of groups were taken apart when the file was read."""
    groups = [group for group in moment.instance.cluster.groups if asked.wants(group.name)]
    if format == "json":
        return json_records({"name": group.name, "hosts": group.members} for group in groups)
    rows = [(group.name, " ".join(group.members)) for group in groups]
    if format == "csv":
        return csv_rows(("group", "hosts"), rows)
    if not rows:
        return "No host group is configured.\n"
    return plain_table(("GROUP_NAME", "HOSTS"), rows, "<<")


def bresources(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """How amounts of resources are reserved: for each job, host or slot."""
    usages = [item for item in moment.instance.reservation_usage if asked.wants(item.resource)]
    rows = [(item.resource, item.method) for item in usages]
    if format == "json":
        return json_records({"resource": name, "method": method} for name, method in rows)
    if format == "csv":
        return csv_rows(("resource", "method"), rows)
    if not rows:
        return "No reservation usage is configured.\n"
    table = plain_table(("RESOURCE", "METHOD"), rows, "<<")
    return f"Begin ReservationUsage\n{table}End ReservationUsage\n"


def _shared(moment: Snapshot, asked: ViewOptions, format: str) -> str:
    """Shared resources: what scheduling goes by, what is reserved, and on which hosts they are."""
    shared = [item for item in moment.shared if asked.wants(item.name)]
    if format == "json":
        return json_records(asdict(item) for item in shared)
    rows = [(item.name, item.total, item.reserved, " ".join(item.hosts)) for item in shared]
    columns = ("RESOURCE", "TOTAL", "RESERVED", "LOCATION")
    if format == "csv":
        return csv_rows([column.lower() for column in columns], rows)
    return plain_table(columns, rows, "<>><") if rows else "No shared resource is configured.\n"
