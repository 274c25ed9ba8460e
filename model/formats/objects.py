"""An instance made in memory, held to the rules of instance files.

Values are asked of the types that read them in a file (:mod:`.field_rules`), what must hold between
them of the same rules (:mod:`.rules`, :class:`.HostBuilder`). Paths lead from the instance to what
is wrong: ``pending[3].slots``, ``cluster.hosts[0].amounts``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

from ..cluster import Cluster, Host, HostGroup
from ..compact import OnDemand, no_collection
from ..configuration import (
    HostPartition,
    Limit,
    Params,
    Queue,
    ReservationUsage,
    User,
    UserGroup,
    with_default_queue,
)
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
from ..omissions import Omission
from ..progress import Poll, never, polled
from ..slurm_fairshare import Association, SlurmLimit
from . import document as d
from .build import default_slots
from .document import Finding, Location, path_text
from .field_rules import FieldRule, class_rules
from .fields import MOST
from .hosts import HostBuilder
from .reader import from_document, load_with_warnings
from .rules import rule_findings

#: Sections of a file that have another name in the model.
_SECTIONS: dict[str, Location] = {
    "hosts": ("cluster", "hosts"),
    "host_groups": ("cluster", "groups"),
    "compute_units": ("cluster", "units"),
    "resources": ("cluster", "resources"),
    "shared_resources": ("cluster", "shared"),
    **{section: (name,) for section, name in d.ATTRIBUTES.items()},
}
#: Keys whose values the model keeps under another name than the reader.
_FIELDS = {
    ("hosts", "RESOURCES"): "booleans",
    ("compute_units", "members"): "hosts",
    ("limits", "RESOURCE"): "amounts",
    ("queues", "PREEMPTION"): "preemptive",
}


def attribute_place(finding: Finding, instance: Instance) -> Finding:
    """Return the finding with its location as attributes and indices from the instance on."""
    place = finding.place
    if not place:
        return finding
    section, rest = str(place[0]), place[1:]
    if section == "params":
        keys = _python_names("params")
        return replace(finding, place=("params", *(keys.get(str(key), key) for key in rest)))
    found: list[str | int] = [*_SECTIONS.get(section, (section,))]
    if rest and section in ("host_groups", "reservation_usage"):
        within = "members" if section == "host_groups" else "resource"
        rest = (_number(section, str(rest[0]), instance), within, *rest[1:])
    found += rest[:1]
    for key in rest[1:]:
        name = _FIELDS.get((section, str(key)))
        name = name or _python_names(section).get(str(key), str(key))
        if section == "limits":
            name = name if not name.startswith("per_") else f"{name.removeprefix('per_')}s"
        if section == "running" and name in d.JobEntry.model_fields:
            found.append("job")
        found.append(key if isinstance(key, int) else name)
    return replace(finding, place=tuple(found))


def _number(section: str, name: str, instance: Instance) -> int:
    names: Iterable[str] = (
        [group.name for group in instance.cluster.groups]
        if section == "host_groups"
        else [item.resource for item in instance.reservation_usage]
    )
    return list(names).index(name)


@cache
def _python_names(section: str) -> dict[str, str]:
    """Return the name of the model's field for each key of a file."""
    field = d.Document.model_fields.get(section)
    kind = None if field is None else next(iter(get_args(field.annotation)), field.annotation)
    if not isinstance(kind, type) or not issubclass(kind, d.Section):
        return {}
    return {info.alias or name: name for name, info in kind.model_fields.items()}


def read_machines(instance: Instance, poll: Poll = never) -> tuple[Instance, list[Finding]]:
    """Return the instance with machines as the reader of files makes them, and the reader's
    findings.

    Members of groups and units in memory are hosts already, which the reader must keep. poll:
    called from time to time.
    """
    cluster = instance.cluster
    names = {host.name for host in cluster.hosts}
    nodes = any(host.node_of for host in cluster.hosts)
    plain = not (nodes or cluster.groups or cluster.units or cluster.shared or instance.partitions)
    if plain and len(names) == len(cluster.hosts):
        return instance, []
    findings: list[Finding] = []
    builder = HostBuilder(_document(cluster, poll), findings)
    built = builder.cluster()
    partitions = builder.partitions(instance.partitions)
    found = [attribute_place(finding, instance) for finding in findings]
    if not findings:
        found += _without_group(cluster)
        groups = {group.name: group for group in built.groups}
        read_groups = [groups[group.name] for group in cluster.groups]
        found += _unlike(("cluster", "groups"), "members", cluster.groups, read_groups)
        found += _unlike(("cluster", "units"), "hosts", cluster.units, built.units)
        found += _unlike(("cluster", "shared"), "hosts", cluster.shared, built.shared)
        found += _unlike(("partitions",), "hosts", instance.partitions, partitions)
    parts: dict[str, Any] = {"groups": built.groups, "units": built.units, "shared": built.shared}
    return replace(instance, cluster=replace(cluster, **parts), partitions=partitions), found


def _without_group(cluster: Cluster) -> Iterator[Finding]:
    """Yield an error for each machine with nodes that has no group of its own."""
    known = {group.name for group in cluster.groups}
    machines = machine_nodes(cluster.hosts)
    for index, host in enumerate(cluster.hosts):
        if host.node_of and host.node_of not in known and machines[host.node_of][0] == host.name:
            message = f"the machine {host.node_of} needs a group of its nodes (sw.instance adds it)"
            yield Finding(("cluster", "hosts", index, "node_of"), message, undefined=True)


def machine_nodes(hosts: Iterable[Host]) -> dict[str, list[str]]:
    """Return machines of several nodes with the hosts that are their nodes, in order."""
    found: dict[str, list[str]] = {}
    for host in hosts:
        if host.node_of:
            found.setdefault(host.node_of, []).append(host.name)
    return found


def with_machine_groups(cluster: Cluster) -> Cluster:
    """Return the cluster with a group for every machine with nodes, as files have it.

    An invalid cluster is returned unchanged.
    """
    whole = isinstance(cluster.hosts, tuple) and isinstance(cluster.groups, tuple)
    hosts = whole and all(
        isinstance(host, Host) and isinstance(host.node_of, str) and isinstance(host.name, str)
        for host in cluster.hosts
    )
    if not hosts or not all(isinstance(group, HostGroup) for group in cluster.groups):
        return cluster
    taken = {host.name for host in cluster.hosts}
    known = {group.name for group in cluster.groups}
    added = tuple(
        HostGroup(name, tuple(nodes))
        for name, nodes in machine_nodes(cluster.hosts).items()
        if name not in known and name not in taken
    )
    return replace(cluster, groups=(*cluster.groups, *added)) if added else cluster


def _unlike(
    section: tuple[str, ...], key: str, given: Sequence[object], found: Sequence[object]
) -> Iterator[Finding]:
    """Yield an error for each object whose hosts are not those that the reader resolves."""
    for number, (item, other) in enumerate(zip(given, found, strict=True)):
        listed, read = getattr(item, key), getattr(other, key)
        if listed is not None and (set(listed) != set(read) or len(listed) != len(read)):
            message = "must name existing hosts, each only once; a unit includes its units' hosts"
            yield Finding((*section, number, key), message)


def _document(cluster: Cluster, poll: Poll) -> d.Document:
    """Return the machines as a document that need not be parsed."""
    inner: dict[str, list[str]] = {}
    for unit in cluster.units:
        if unit.parent is not None:
            inner.setdefault(unit.parent, []).append(unit.name)
    units = [
        d.UnitEntry.model_construct(
            name=unit.name, type=unit.type, members=tuple(inner.get(unit.name, unit.hosts))
        )
        for unit in cluster.units
    ]
    machines = machine_nodes(cluster.hosts)
    template = d.HostEntry.model_construct(name=("",), slots=0)
    types = (cluster.unit_types, cluster.default_unit_type)
    return d.Document.model_construct(
        format=d.FORMAT,
        hosts=[
            template.model_copy(
                update={"name": (host.name,), "slots": host.slots, "node_of": host.node_of}
            )
            for host in polled(cluster.hosts, poll)
        ],
        host_groups={
            group.name: group.members
            for group in cluster.groups
            if group.name not in machines or set(group.members) != set(machines[group.name])
        },
        compute_units=units,
        shared_resources=[
            d.SharedEntry.model_construct(
                name=item.name,
                amount=float(item.amount),
                hosts=None if item.hosts is None else tuple(sorted(item.hosts)),
                static=item.static,
            )
            for item in cluster.shared
        ],
        params=d.ParamsEntry.model_construct(compute_unit_types=types),
    )


@cache
def _items(kind: Hashable) -> dict[str, type]:
    """Return the class of the items of each field of a class that is a tuple of objects."""
    items = ((name, *get_args(hint)) for name, hint in get_type_hints(kind).items())
    return {
        name: args[0]
        for name, *args in items
        if args and isinstance(args[0], type) and is_dataclass(args[0])
    }


#: Sections that others refer to by name, and fields whose value decides over other objects.
_DEFINING = frozenset(
    {"cluster", "queues", "applications", "service_classes", "users", "groups", "params"}
)
_DECIDING = frozenset({"slots", "ncpus", "priority", "user_shares", "hosts"})


def examine_objects(
    instance: object, poll: Poll = never
) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """Return errors and warnings of an instance in memory.

    poll: called now and then; an exception that it raises ends the check.
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
    """Return a sort key: machines first, then the sections in order; within one by number."""
    order = ["cluster", "params", *_items(Instance)]
    place = finding.place
    first = order.index(str(place[0])) if place and place[0] in order else -1
    return first, next((part for part in place if isinstance(part, int)), -1)


@dataclass(slots=True)
class _Survey:
    """Checks every object by itself, and builds an instance of the valid ones."""

    #: Called now and then.
    poll: Poll
    findings: list[Finding] = field(default_factory=list)
    #: Indices of the remaining objects of every tuple.
    kept: dict[Location, tuple[int, ...]] = field(default_factory=dict)
    #: Whether something is gone that others refer to.
    defining: bool = False
    #: Whether something is gone that decides over others.
    deciding: bool = False
    #: Values found right.
    sound: set[tuple[FieldRule, type, Any]] = field(default_factory=set)

    def instance(self, given: Instance) -> Instance:
        """Return the instance without invalid parts."""
        parts: dict[str, Any] = {
            name: self._objects((name,), getattr(given, name), kind)
            for name, kind in _items(Instance).items()
        }
        params = self._object(("params",), given.params, Params) or Params()
        names = [queue.name for queue in parts["queues"]]
        cluster = self._cluster(given.cluster)
        parts |= self._own((), given) | {"params": with_default_queue(params, names)}
        return self._with_slots(Instance(cluster, **parts))

    def related(self, sound: Instance) -> Iterator[Finding]:
        """Yield inconsistencies among objects that are valid by themselves."""
        read, found = read_machines(sound, self.poll)
        found += [attribute_place(finding, sound) for finding in rule_findings(read, self.poll)]
        # A complaint about a whole object may only be due to the part that is gone.
        broken = {f.place[:n] for f in self.findings for n in range(1, len(f.place) + 1)}
        for finding in found:
            if (finding.undefined and self.defining) or (finding.undecided and self.deciding):
                continue
            place = self._original(finding.place)
            if place not in broken:
                yield replace(finding, place=place)

    def _cluster(self, given: Any) -> Cluster:
        if not isinstance(given, Cluster):
            self._complain(("cluster",), f"must be a Cluster, not {given!r}")
            return Cluster(())
        parts: dict[str, Any] = {
            name: self._objects(("cluster", name), getattr(given, name), kind)
            for name, kind in _items(Cluster).items()
        }
        if given.hosts == ():
            self._complain(("cluster", "hosts"), _no_hosts())
        for index, host in enumerate(parts["hosts"]):
            for name in sorted(host.exclusive - host.booleans):
                place = self._original(("cluster", "hosts", index, "exclusive"))
                message = f"{name} is exclusive but is not a Boolean resource of {host.name}"
                self.findings.append(Finding(place, message))
        parts |= self._own(("cluster",), given)
        return Cluster(**parts)

    def _objects(self, place: Location, given: Any, kind: type) -> tuple[Any, ...]:
        """Return the valid objects of a tuple."""
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
        """Return the object with invalid values replaced, None if that is impossible."""
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
        """Return the names of the fields with invalid values."""
        wrong: list[str] = []
        for rule, (name, message) in class_rules(type(item)).wrong(item, self.sound).items():
            self.findings.append(Finding((*place, name), message))
            wrong += rule.names
            self.deciding |= not _DECIDING.isdisjoint(rule.names)
        return wrong

    def _own(self, place: Location, item: Any) -> dict[str, Any]:
        """Return the fields of a cluster or an instance that are not objects, without invalid
        ones.
        """
        wrong = self._wrong(place, item)
        if wrong and place:
            self.defining = True
        names = [name for rule in class_rules(type(item)).rules for name in rule.names]
        return {name: getattr(item, name) for name in names if name not in wrong}

    def _complain(self, place: Location, message: str) -> None:
        self.findings.append(Finding(place, message))
        self.defining |= place[0] in _DEFINING

    def _with_slots(self, sound: Instance) -> Instance:
        """Return jobs; a job whose number of slots was invalid has the default of a file."""
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
        """Return the location in the original instance."""
        for n, part in enumerate(place):
            if isinstance(part, int) and place[:n] in self.kept:
                return (*place[:n], self.kept[place[:n]][part], *place[n + 1 :])
        return place


def _no_hosts() -> str:
    """Return the message of the file reader for a document without hosts."""
    from .build import examine
    from .document import FORMAT

    _, found = examine({"format": FORMAT, "hosts": []})
    return found[0].message


def instance(
    cluster: Cluster | Iterable[Host] | Mapping[str, Any] | Instance,
    *,
    pending: Iterable[Job] = (),
    running: Iterable[RunningJob] = (),
    future: Iterable[Job] = (),
    queues: Iterable[Queue] | None = None,
    applications: Iterable[Application] = (),
    users: Iterable[User] = (),
    groups: Iterable[UserGroup] = (),
    partitions: Iterable[HostPartition] = (),
    limits: Iterable[Limit] = (),
    reservation_usage: Iterable[ReservationUsage] = (),
    advance_reservations: Iterable[AdvanceReservation] = (),
    share_usage: Iterable[ShareUsage] = (),
    pool_usage: Iterable[PoolUsage] = (),
    associations: Iterable[Association] = (),
    slurm_limits: Iterable[SlurmLimit] = (),
    held: Iterable[HeldHosts] = (),
    borrowed: Iterable[BorrowedSlots] = (),
    lsf_says: Iterable[SaidByLsf] = (),
    params: Params | None = None,
    now: int = 0,
    origin: str | None = None,
    name: str = "",
    description: str = "",
    omissions: Iterable[Omission] = (),
) -> Instance:
    """Return an instance of these parts, checked like a file; fields as in :class:`Instance`.

    cluster: a cluster or its hosts; a mapping is the plain data of an instance file, and an
    Instance is checked and returned unchanged; both exclude other parts. queues: None for the one
    queue "default". now: seconds from the origin, which is an ISO 8601 stamp or None. Raises
    InputError with every error and its path: ``pending[3].slots``.
    """
    parts: dict[str, Any] = {key: value for key, value in locals().items() if key != "cluster"}
    if isinstance(cluster, (Mapping, Instance)):
        if given := [key for key, value in parts.items() if _is_given(value)]:
            raise InputError(f"remove {', '.join(given)}: a complete instance has its own parts")
        if isinstance(cluster, Mapping):
            return from_document(dict(cluster))
        require_sound(cluster)
        return cluster
    machines = cluster if isinstance(cluster, Cluster) else Cluster(_tuple("hosts", cluster))
    parts["queues"] = (Queue("default"),) if queues is None else _tuple("queues", queues)
    parts["params"] = _params(Params() if params is None else params, parts["queues"])
    plain = ("params", "now", "origin", "name", "description")
    lists = {key: _tuple(key, value) for key, value in parts.items() if key not in plain}
    lists |= _in_queues(parts["params"], lists)
    made = Instance(with_machine_groups(machines), **(parts | lists))
    require_sound(made)
    return made


def _is_given(value: Any) -> bool:
    # An array has a length and no truth value.
    return len(value) > 0 if hasattr(value, "__len__") else bool(value)


def _params(params: Any, queues: tuple[Any, ...]) -> Any:
    """Return the parameters, with the default queue of a file; an invalid value is kept."""
    sound = isinstance(params, Params) and isinstance(params.default_queue, str)
    if not sound or not all(isinstance(q, Queue) and isinstance(q.name, str) for q in queues):
        return params
    return with_default_queue(params, [queue.name for queue in queues])


def _in_queues(params: Any, lists: Mapping[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Return the jobs, with the queue of a file for jobs that name none."""

    def placed(item: Any) -> Any:
        if isinstance(item, RunningJob):
            return replace(item, job=placed(item.job))
        return in_default_queue(item, params, lists["queues"]) if isinstance(item, Job) else item

    return {name: tuple(map(placed, lists[name])) for name in ("pending", "running", "future")}


def in_default_queue(job: Job, params: Any, queues: Iterable[Any]) -> Job:
    """Return the job in DEFAULT_QUEUE, or in the only queue, if it names none and none is its
    own.
    """
    default = getattr(params, "default_queue", job.queue)
    unnamed = isinstance(job.queue, str) and job.queue == Params().default_queue
    if not unnamed or job.queue == default:
        return job
    known = {getattr(queue, "name", None) for queue in queues}
    return job if job.queue in known or default not in known else replace(job, queue=default)


def _tuple(name: str, items: Iterable[Any]) -> tuple[Any, ...]:
    if isinstance(items, (str, Mapping)) or not isinstance(items, Iterable):
        raise InputError(f"{name}: must be a list or a tuple, not {type(items).__name__}")
    return tuple(items)


def check(source: Instance | str | Path) -> tuple[Problem, ...]:
    """Return the warnings for an instance in memory or in a file.

    Raises InputError with everything that is wrong with it.
    """
    if isinstance(source, (str, Path)):
        return load_with_warnings(source)[1]
    problems, warnings = examine_objects(source)
    if problems:
        raise InputError(problems)
    return warnings
