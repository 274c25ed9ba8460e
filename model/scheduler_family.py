"""Families of schedulers: what differs between them is asked of one object, not decided by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SchedulerFamily:
    """What answers depend on in a family of schedulers; the defaults are those of LSF."""

    #: Name in sentences, and the command that submits a job.
    name: str = "LSF"
    submit: str = "bsub"
    #: Whether messages name its own units, options and settings instead of LSF's.
    has_own_words: bool = False
    #: Whether a cycle plans starts on whole nodes (method slurm) and reserves nothing for a job
    #: without one, instead of reserving slots in the loop.
    plans_nodes: bool = False
    #: Whether priorities have parts, of which age and fairshare move.
    is_multifactor: bool = False
    #: Whether a job with several queues starts in any of them.
    starts_in_any_queue: bool = False
    #: Whether a job inside an advance reservation has to end with it.
    ends_with_reservation: bool = False
    #: Whether no two advance reservations have a slot at one time.
    separates_reservations: bool = True
    #: Whether several jobs may use one GPU.
    shares_gpus: bool = True
    #: The smallest index of an array.
    first_index: int = 1
    #: Whether it is an open descendant of LSF.
    is_lava: bool = False


FAMILIES = {
    "LSF": SchedulerFamily(),
    **dict.fromkeys(("OpenLava", "volclava"), SchedulerFamily(is_lava=True)),
    "Slurm": SchedulerFamily(
        "Slurm", "sbatch", has_own_words=True, plans_nodes=True, is_multifactor=True,
        starts_in_any_queue=True, ends_with_reservation=True, separates_reservations=False,
        shares_gpus=False, first_index=0,
    ),
}  # fmt: skip
