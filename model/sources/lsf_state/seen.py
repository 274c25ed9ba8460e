"""Everything that the commands of a cluster printed at one instant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...formats.lsf.shared import HostFacts
from .bhosts import SeenGpus, SeenHost, SeenShared
from .bjobs import SeenJob
from .bqueues import SeenPartition, SeenQueue
from .limits import SeenLimit, SeenUse
from .values import Remarks


@dataclass(slots=True)
class Seen:
    """Output of the commands; None for a command that was not run."""

    #: Jobs of bjobs or of a log.
    jobs: list[SeenJob] = field(default_factory=list)
    #: Jobs submitted after the snapshot.
    later: list[SeenJob] = field(default_factory=list)
    #: Hosts of bhosts, None if not given.
    hosts: list[SeenHost] | None = None
    #: GPUs of hosts, from lists of GPUs.
    gpus: list[SeenGpus] = field(default_factory=list)
    #: Shared resources, from bhosts -s.
    shared: list[SeenShared] = field(default_factory=list)
    #: Queues of bqueues, None if not given.
    queues: list[SeenQueue] | None = None
    #: Host partitions of bhpart, None if not given.
    partitions: list[SeenPartition] | None = None
    #: Rows of blimits.
    limits: Sequence[SeenLimit] = ()
    #: Amounts in use by the jobs of job groups, service classes and advance reservations.
    uses: Sequence[SeenUse] = ()
    #: Absolute priority as bjobs -aps prints it, by job id.
    absolute: Mapping[str, str] = field(default_factory=dict)
    #: Machines, from lshosts.
    machines: Mapping[str, HostFacts] = field(default_factory=dict)
    #: Whether a host that is not listed is missing.
    all_hosts: bool = True
    #: Whether a job that is not listed has ended.
    gone: bool = False
    #: Further messages of the commands, a sentence each.
    notes: Remarks = field(default_factory=Remarks)
