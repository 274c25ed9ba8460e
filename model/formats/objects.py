"""An instance made in memory, held to the rules of instance files.

Values are asked of the types that read them in a file (:mod:`.field_rules`), what must hold between
them of the same rules (:mod:`.rules`, :class:`.HostBuilder`). Paths lead from the instance to what
is wrong: ``pending[3].slots``, ``cluster.hosts[0].amounts``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, field, replace
from typing import Any

from ..cluster import Cluster, ComputeUnit, Host, HostGroup, ResourceDefinition, SharedResource
from ..collection import no_collection
from ..errors import InputError, Problem
from ..instance import (
    AdvanceReservation,
    BorrowedSlots,
    HeldHosts,
    Instance,
    PoolUsage,
    SaidByLsf,
    ShareUsage,
)
from ..job import Application, Job, RunningJob
from ..limits import Limit, ReservationUsage
from ..omissions import Omission
from ..on_demand import OnDemand
from ..params import Params, with_default_queue
from ..polling import Poll, never, polled
from ..queue import Queue
from ..user import HostPartition, User, UserGroup
from .field_rules import FieldRule, class_rules
from .fields import MOST
from .finding import Finding, Location, path_text
from .jobs import default_slots
from .machines import read_machines
from .places import attribute_place
from .rules import check

#: What stands in each tuple of a cluster and of an instance.
_OF_CLUSTER: dict[str, type] = {
    "hosts": Host,
    "groups": HostGroup,
    "units": ComputeUnit,
    "resources": ResourceDefinition,
    "shared": SharedResource,
}
_OF_INSTANCE: dict[str, type] = {
    "queues": Queue,
    "running": RunningJob,
    "pending": Job,
    "future": Job,
    "applications": Application,
    "users": User,
    "groups": UserGroup,
    "partitions": HostPartition,
    "limits": Limit,
    "reservation_usage": ReservationUsage,
    "advance_reservations": AdvanceReservation,
    "share_usage": ShareUsage,
    "pool_usage": PoolUsage,
    "held": HeldHosts,
    "borrowed": BorrowedSlots,
    "lsf_says": SaidByLsf,
    "omissions": Omission,
}
#: Sections that others refer to by name, and fields whose value decides over other objects.
_DEFINING = frozenset({"cluster", "queues", "applications", "users", "groups", "params"})
_DECIDING = frozenset({"slots", "ncpus", "priority", "user_shares", "hosts"})


def examine_objects(
    instance: object, poll: Poll = never
) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """What is wrong with an instance in memory, and what is odd but no error.

    poll: called now and then; what it raises ends the look.
    """
    if not isinstance(instance, Instance):
        raise InputError(f"must be an Instance, not {type(instance).__name__}")
    survey = _Survey(poll)
    with no_collection():
        sound = survey.instance(instance)
        found = [*survey.findings, *survey.related(sound)]
    unique = sorted(dict.fromkeys(found), key=_rank)
    problems, warnings = (
        tuple(
            Problem(finding.message, path=path_text(finding.place))
            for finding in unique
            if finding.warning == odd
        )
        for odd in (False, True)
    )
    return problems, warnings


def require_sound(instance: Instance, poll: Poll = never) -> None:
    """Raise InputError with everything that is wrong with an instance made in memory."""
    problems, _ = examine_objects(instance, poll)
    if problems:
        raise InputError(problems)


def _rank(finding: Finding) -> tuple[int, int]:
    """Machines first, then the sections in their order; within one by number."""
    order = ["cluster", "params", *_OF_INSTANCE]
    place = finding.place
    first = order.index(str(place[0])) if place and place[0] in order else -1
    number = next((part for part in place if isinstance(part, int)), -1)
    return first, number


@dataclass(slots=True)
class _Survey:
    """Looks at every object by itself, and leaves an instance of what is right.

    poll: called now and then. kept: for every tuple the numbers of the objects that are left.
    defining, deciding: whether something is gone that others refer to or that decides over others.
    sound: values found right.
    """

    poll: Poll
    findings: list[Finding] = field(default_factory=list)
    kept: dict[Location, tuple[int, ...]] = field(default_factory=dict)
    defining: bool = False
    deciding: bool = False
    sound: set[tuple[FieldRule, type, Any]] = field(default_factory=set)

    def instance(self, given: Instance) -> Instance:
        """The instance without what is broken."""
        parts: dict[str, Any] = {
            name: self._objects((name,), getattr(given, name), kind)
            for name, kind in _OF_INSTANCE.items()
        }
        params = self._object(("params",), given.params, Params) or Params()
        names = [queue.name for queue in parts["queues"]]
        cluster = self._cluster(given.cluster)
        parts |= self._own((), given) | {"params": with_default_queue(params, names)}
        return self._with_slots(Instance(cluster, **parts))

    def related(self, sound: Instance) -> Iterator[Finding]:
        """What does not fit together in what is right by itself."""
        read, found = read_machines(sound, self.poll)
        found += [attribute_place(finding, sound) for finding in check(read, self.poll)]
        # A complaint about a whole object may only be due to the part that is gone.
        broken = {f.place[:n] for f in self.findings for n in range(1, len(f.place) + 1)}
        for finding in found:
            if (finding.undefined and self.defining) or (finding.undecided and self.deciding):
                continue
            place = self._original(finding.place)
            if place not in broken:
                yield replace(finding, place=place)

    # --- objects by themselves ----------------------------------------------------------------

    def _cluster(self, given: Any) -> Cluster:
        if not isinstance(given, Cluster):
            self._complain(("cluster",), f"must be a Cluster, not {given!r}")
            return Cluster(())
        parts: dict[str, Any] = {
            name: self._objects(("cluster", name), getattr(given, name), kind)
            for name, kind in _OF_CLUSTER.items()
        }
        if given.hosts == ():
            self._complain(("cluster", "hosts"), _no_hosts())
        for index, host in enumerate(parts["hosts"]):
            for name in sorted(host.exclusive - host.booleans):
                place = self._original(("cluster", "hosts", index, "exclusive"))
                message = f"{name} is exclusive and not among the booleans of {host.name}"
                self.findings.append(Finding(place, message))
        parts |= self._own(("cluster",), given)
        return Cluster(**parts)

    def _objects(self, place: Location, given: Any, kind: type) -> tuple[Any, ...]:
        """The objects of a tuple that are right, as far as they are."""
        if not isinstance(given, (tuple, OnDemand)):
            name = kind.__name__
            self._complain(place, f"must be a tuple of {name}, not {type(given).__name__}")
            return ()
        found: list[Any] = []
        for index, item in enumerate(polled(given, self.poll)):
            found.append(self._object((*place, index), item, kind))
        right = tuple(item for item in found if item is not None)
        if len(right) < len(found):
            self.kept[place] = tuple(i for i, item in enumerate(found) if item is not None)
        return right

    def _object(self, place: Location, item: Any, kind: type[Any]) -> Any:
        """The object with what is wrong put right, None where that cannot be done."""
        if not isinstance(item, kind):
            self._complain(place, f"must be a {kind.__name__}, not {type(item).__name__}")
            return None
        more: dict[str, Any] = {}
        if kind is RunningJob:
            job = self._object((*place, "job"), item.job, Job)
            if job is None:
                return None
            more["job"] = job
        wrong = self._wrong(place, item)
        if not wrong:
            return item if not more or more["job"] is item.job else replace(item, **more)
        usual = dict(class_rules(kind).usual)
        if kind is RunningJob:
            usual["allocation"] = MISSING  # a job that holds nothing does not run
        if kind is Host:
            usual["slots"] = MOST  # nothing may seem too much for a number that is missing
        if any(usual[name] is MISSING for name in wrong):
            self.defining |= place[0] in _DEFINING
            return None
        return replace(item, **{name: usual[name] for name in wrong}, **more)

    def _wrong(self, place: Location, item: Any) -> list[str]:
        """Names of the fields that hold what they may not."""
        wrong: list[str] = []
        for rule, message in class_rules(type(item)).wrong(item, self.sound).items():
            self.findings.append(Finding((*place, rule.names[0]), message))
            wrong += rule.names
            self.deciding |= rule.names[0] in _DECIDING
        return wrong

    def _own(self, place: Location, item: Any) -> dict[str, Any]:
        """The fields of a cluster or an instance that hold no objects, wrong ones left out."""
        wrong = self._wrong(place, item)
        if wrong and place:
            self.defining = True
        names = [name for rule in class_rules(type(item)).rules for name in rule.names]
        return {name: getattr(item, name) for name in names if name not in wrong}

    def _complain(self, place: Location, message: str) -> None:
        self.findings.append(Finding(place, message))
        self.defining |= place[0] in _DEFINING

    # --- what is left -------------------------------------------------------------------------

    def _with_slots(self, sound: Instance) -> Instance:
        """Jobs whose number of slots is gone have the one that a file would give them."""
        gone = {f.place for f in self.findings if f.place[-1:] == ("slots",)}
        if not gone:
            return sound
        queues = {queue.name: queue for queue in sound.queues}
        profiles = {profile.name: profile for profile in sound.applications}

        def waiting(section: str, jobs: Sequence[Job]) -> tuple[Job, ...]:
            return tuple(
                replace(
                    job, slots=default_slots(queues.get(job.queue), profiles.get(job.application))
                )
                if self._original((section, index, "slots")) in gone
                else job
                for index, job in enumerate(jobs)
            )

        running = tuple(
            replace(item, job=replace(item.job, slots=item.slots))
            if self._original(("running", index, "job", "slots")) in gone
            else item
            for index, item in enumerate(sound.running)
        )
        return replace(
            sound,
            running=running,
            pending=waiting("pending", sound.pending),
            future=waiting("future", sound.future),
        )

    def _original(self, place: Location) -> Location:
        """The place in the instance as it was given."""
        for n, part in enumerate(place):
            if isinstance(part, int) and place[:n] in self.kept:
                return (*place[:n], self.kept[place[:n]][part], *place[n + 1 :])
        return place


def _no_hosts() -> str:
    """What the reader of files says of a document without hosts."""
    from .document import FORMAT
    from .examine import examine

    _, found = examine({"format": FORMAT, "hosts": []})
    return found[0].message
