"""``slotwise show VIEW``: an instance, or an instant of its simulation, in LSF's own forms."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..model.errors import InputError, Problem, nearest
from ..model.escaping import printable
from ..model.omissions import Omission, sentences
from ..model.slurm_words import family_text
from .declare import argument, command, option, spelled, taking
from .options import print_note
from .selection import ViewOptions
from .source import Source

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.job import Job
    from ..solver.scheduler.history import Snapshot

Alloc = Literal["lsf", "rms"]
ViewFormat = Literal["text", "json", "csv", "lsf-json"]
#: The views, and the switches that mean something to each.
VIEWS: dict[str, Sequence[str]] = {
    "bhist": "luqm",
    "bhosts": ("l", "s", "gpu"),
    "bhpart": "r",
    "bjgroup": "",
    "bjobs": (*"lparsduqmA", "aps"),
    "blimits": "acuqm",
    "bmgroup": "r",
    "bqueues": "lrum",
    "bresources": "sgl",
    "brsvs": "l",
    "bsla": "",
    "bugroup": "lr",
    "busers": "",
    "sshare": "l",
}
#: Views of jobs, hosts, users and limits show the state after the cycle, other views the state
#: before.
AFTER = ("bjgroup", "bjobs", "bhosts", "brsvs", "bsla", "busers", "blimits")


@dataclass(frozen=True, slots=True)
class RunOfView:
    """The instant of a view: now, or a time of the simulation that --at looks into."""

    cycle: bool | None = option(
        None,
        "After or before the scheduling cycle at the instance's now. Default: after for "
        "bjgroup, bjobs, bhosts, bresources -g, brsvs, bsla, busers and blimits, before for the "
        "others.",
        "--cycle/--no-cycle",
    )
    at: str | None = option(
        None,
        "An instant of the simulation: +2h from now, seconds, or an ISO 8601 time. "
        "bhist without it: the end.",
        metavar="TIME",
    )
    reservation: str | None = option(None, "With --at: as in simulate.", metavar="METHOD")
    top: int | None = option(None, "With --at: as in simulate.", "--reservations", min=1)

    @property
    def given(self) -> list[str]:
        """Return the options of the simulation that were given."""
        names = ("--reservation", "--reservations")
        return [name for name in names if spelled(self)[name] is not None]

    def settings(self) -> dict[str, Any]:
        """Return the settings for the simulation."""
        reservation = self.reservation or "configured"
        return {"reservation": reservation, "top": self.top}


@command
def show(
    view: str = argument(
        ...,
        f"Command whose output is shown: {', '.join(VIEWS)}. On Slurm also squeue and sinfo "
        "in Slurm's format, nodes, partitions, reservations and sacct.",
        show_default=False,
    ),
    words: list[str] | None = argument(
        None,
        "Instance file, YAML or JSON, - for standard input (none with --example, --cluster); then "
        "only these jobs, hosts, queues, groups, …",
        metavar="[FILE] [NAME]...",
        show_default=False,
    ),
    *,
    source: Annotated[Source, taking("example live timeout")],
    name: list[str] | None = option(
        None, "Only this job, host, queue, …, as after FILE; repeatable."
    ),
    switches: ViewOptions,
    wide: bool = option(False, "Accepted for compatibility: names are never truncated.", "-w"),
    run: RunOfView,
    alloc: Alloc = option("lsf", "bjobs -l: form of a future allocation."),
    format: ViewFormat = option(
        "text", "lsf-json: as bjobs, bhosts, bqueues and busers print -json."
    ),
) -> None:
    """Show jobs, hosts, queues, users, limits, groups or partitions, now or in a simulation."""
    word, view = view, SLURM_VIEWS.get(view, view)
    _check_view(view, switches.given)
    _check_times(view, run)
    source, names = source.behind_file(words or ())
    instance = source.read()
    asked = _asked(view, instance, switches, (*names, *(name or ())), alloc)
    of_slurm = instance.params.scheduler.has_own_words and word in _SLURM_TABLES
    if of_slurm and format == "text" and not set(switches.given) - {"-u", "-q", "-m"}:
        from .views.slurm import sinfo, squeue

        shown = replace(instance, lsf_says=()) if run.at is not None else instance
        found = _snapshot_of_view(view, shown, asked, run)
        sys.stdout.write(printable({"squeue": squeue, "sinfo": sinfo}[word](found, asked)))
        return
    text = _text(view, instance, asked, format, run)
    if format == "text" and (asked.long or asked.pending):  # lines, of which no column is aligned
        lines = text.splitlines(keepends=True)  # those of jobs are cells, without a sentence
        text = "".join(line if line[0].isdigit() else family_text(instance, line) for line in lines)
    sys.stdout.write(printable(text) if format == "text" else text)


def _asked(
    view: str, instance: Instance, switches: ViewOptions, names: Sequence[str], alloc: Alloc
) -> ViewOptions:
    """Return the content of the view. Raises InputError for unknown names."""
    jobs, recursive, shared = view == "bjobs", switches.recursive, switches.shared
    return replace(
        switches,
        names=_names(instance, view, list(names), shared=shared, guarantees=switches.guarantees),
        long=switches.long or (recursive and view == "bugroup"),
        recursive=recursive and not jobs,
        running=recursive and jobs,
        suspended=shared and jobs,
        shared=shared and not jobs,
        users=_users(instance, switches.users),
        queues=_queues(instance, switches.queues),
        hosts=_hosts(instance, switches.hosts),
        alloc=alloc,
    )


def _text(
    view: str, instance: Instance, asked: ViewOptions, format: ViewFormat, run: RunOfView
) -> str:
    if view == "bhist":
        from ..solver.scheduler.history import follow
        from .views.jobs import bhist
        from .views.lsf_json import no_json

        if format == "lsf-json":
            raise no_json(view)
        time = None if run.at is None else _second(instance, run.at)
        told, how = asked.long or format == "json", run.settings()
        followed, until = follow(instance, asked.names, time=time, reasons=told, **how)
        chosen = [
            item
            for item in followed
            if asked.wants_job(item.job.id, item.job.user, item.job.queue, item.hosts)
        ]
        return bhist(instance, until, chosen, asked, format)
    moment = _snapshot_of_view(view, instance, asked, run)
    if view == "brsvs":  # recurring ones as they are configured
        seen = replace(moment.instance, advance_reservations=instance.advance_reservations)
        moment = replace(moment, instance=seen)
    if asked.absolute:
        from .views.jobs import bjobs_aps

        return bjobs_aps(moment, asked, format)
    if view != "bjobs":
        return _rendered(view, moment, asked, format)
    from .views.jobs import bjobs

    long = (asked.long or format != "text") and not asked.arrays
    cautions = told_cautions(instance, asked) if long else {}
    if format == "lsf-json":
        return _rendered(view, moment, asked, format)
    return bjobs(moment, asked, format, cautions)


def _snapshot_of_view(
    view: str, instance: Instance, asked: ViewOptions, run: RunOfView
) -> Snapshot:
    """Return the state that a view shows: at a time of the simulation, or now."""
    from ..solver.scheduler.history import snapshot_at, snapshot_of

    if run.at is not None:
        return snapshot_at(instance, _second(instance, run.at), **run.settings())
    with_hosts = view in AFTER or asked.guarantees
    after = with_hosts if run.cycle is None else run.cycle
    return snapshot_of(instance, after_cycle=after, hosts=with_hosts)


def told_cautions(instance: Instance, asked: ViewOptions) -> dict[str, list[Omission]]:
    """Print and return the omissions of the jobs whose starts and estimates are shown."""
    from ..solver.outlook.outlook import by_job, not_simulated

    nowhere: frozenset[str] = frozenset()
    jobs = (*instance.pending, *instance.future)
    wanted = [job for job in jobs if asked.wants_job(job.id, job.user, job.queue, nowhere)]
    found = not_simulated(instance, wanted) if wanted else ()
    print_note(*sentences(found))
    return by_job(found, wanted)


def _rendered(view: str, moment: Snapshot, asked: ViewOptions, format: ViewFormat) -> str:
    from .views import hosts, jobs, limits, queues, reservations, slurm

    if format == "lsf-json":
        from .views.lsf_json import lsf_json

        return lsf_json(view, moment, asked)
    render = {
        "bhosts": hosts.bhosts,
        "bhpart": queues.bhpart,
        "bjgroup": jobs.bjgroup,
        "blimits": limits.blimits,
        "bmgroup": hosts.bmgroup,
        "bqueues": queues.bqueues,
        "bresources": limits.guaranteed_pools if asked.guarantees else limits.bresources,
        "bsla": limits.bsla,
        "brsvs": reservations.brsvs,
        "bugroup": queues.bugroup,
        "busers": queues.busers,
        "sshare": slurm.sshare,
    }[view]
    return render(moment, asked, format)


def _second(instance: Instance, text: str) -> int:
    """Return the second of --at.

    Raises InputError for a text that is not a time, and a stamp where the instance has no origin.
    """
    from datetime import datetime

    from ..model.formats.units import parse_duration, parse_instant

    word = text.strip()
    try:
        if word.isdecimal():
            return int(word)
        if not word.startswith("+") and isinstance(stamp := parse_instant(word), datetime):
            if instance.origin is None:
                raise ValueError("the instance has no origin: give a time from now, as in +2h")
            zero = datetime.fromisoformat(instance.origin)
            return int((stamp - zero).total_seconds())
        return instance.now + parse_duration(word.removeprefix("+"))
    except ValueError as error:
        raise InputError(f"--at: {error}") from error


#: Names of views on a Slurm cluster: what its commands list.
SLURM_VIEWS = {
    "squeue": "bjobs", "jobs": "bjobs", "nodes": "bhosts", "sinfo": "bhosts",
    "partitions": "bqueues", "reservations": "brsvs", "sacct": "bhist",
}  # fmt: skip
#: Names of views that have a form of their own, the default one of the command.
_SLURM_TABLES = ("squeue", "sinfo")
#: Other commands of Slurm, and the nearest view.
_NEAREST_VIEWS = {"sprio": "bjobs", "scontrol": "bjobs", "sstat": "bjobs"}


def _check_view(view: str, switches: list[str]) -> None:

    if view not in VIEWS:
        hint = nearest(view, [*VIEWS, *SLURM_VIEWS])
        if view in _NEAREST_VIEWS:
            hint = f" (did you mean '{_NEAREST_VIEWS[view]}'?)"
        known = f"{', '.join(VIEWS)} (of Slurm: {', '.join(SLURM_VIEWS)})"
        raise InputError(f"unknown view '{view}'{hint}: use one of {known}")
    idle = [switch for switch in switches if switch[1:] not in VIEWS[view]]
    if idle:
        known = ", ".join(f"-{letter}" for letter in VIEWS[view]) or "none"
        raise InputError(f"{', '.join(idle)}: does not apply to {view}, which has {known}")


def _check_times(view: str, run: RunOfView) -> None:
    if run.cycle is not None and (run.at is not None or view == "bhist"):
        raise InputError("--cycle and --no-cycle apply only to the instance's now: remove them")
    if run.given and run.at is None and view != "bhist":
        raise InputError(f"{', '.join(run.given)} needs --at, the time of the simulation to show")


def _ids(jobs: Sequence[Job]) -> list[str]:
    """Return the ids of jobs, and of their arrays."""
    return list(
        dict.fromkeys([*(job.id for job in jobs), *(job.array_id or job.id for job in jobs)])
    )


def _accounts(instance: Instance) -> list[str]:
    """Return the accounts and users of Slurm's accounting."""
    items = instance.associations
    return list(dict.fromkeys([*(i.account for i in items), *(i.user for i in items if i.user)]))


def _names(
    instance: Instance, view: str, names: list[str], *, shared: bool, guarantees: bool = False
) -> tuple[str, ...]:
    """Return the requested names; groups and units become hosts, ``all`` becomes no name."""
    from .views.jobs import known_job_groups
    from .views.queues import known_users

    cluster = instance.cluster
    jobs = instance.jobs
    known: dict[str, tuple[str, Iterable[str]]] = {
        "bhist": ("job", _ids(jobs)),
        "bhosts": ("host", [host.name for host in cluster.hosts]),
        "bhpart": ("host partition", [partition.name for partition in instance.partitions]),
        "bjgroup": ("job group", known_job_groups(instance)),
        "bjobs": ("job", _ids(jobs)),
        "blimits": ("limit", [limit.name for limit in instance.limits]),
        "bmgroup": ("host group", [group.name for group in cluster.groups]),
        "bqueues": ("queue", [queue.name for queue in instance.queues]),
        "bresources": ("reservation usage of", [u.resource for u in instance.reservation_usage]),
        "brsvs": ("advance reservation", [item.name for item in instance.advance_reservations]),
        "bsla": ("service class", [item.name for item in instance.service_classes]),
        "bugroup": ("user group", [group.name for group in instance.groups]),
        "busers": ("user", known_users(instance)),
        "sshare": ("account or user", _accounts(instance)),
    }
    kind, choices = known[view]
    if guarantees:
        kind, choices = "guaranteed pool", [pool.name for pool in instance.guaranteed_pools]
    if view == "bhosts" and shared:
        kind, choices = "shared resource", [item.name for item in cluster.shared]
    elif view == "bhosts":
        names = _expanded(instance, names)
    if "all" in names and view in ("bhosts", "bqueues", "busers"):
        return ()
    _check(kind, names, choices)
    return tuple(dict.fromkeys(names))


def _expanded(instance: Instance, names: Iterable[str]) -> list[str]:
    """Return host groups and units as their hosts; unknown names stay."""
    return [host for name in names for host in instance.cluster.expand(name) or (name,)]


def _check(kind: str, names: Iterable[str], known: Iterable[str]) -> None:

    choices = list(known)
    problems = [
        Problem(f"unknown {kind} '{name}'{nearest(name, choices)}")
        for name in names
        if name not in choices
    ]
    if problems:
        raise InputError(problems)


def _users(instance: Instance, names: Sequence[str]) -> tuple[str, ...]:
    from .views.queues import known_users, members_of

    if "all" in names:
        return ()
    _check("user", names, known_users(instance))
    return tuple(member for name in names for member in members_of(instance, name))


def _queues(instance: Instance, names: tuple[str, ...]) -> tuple[str, ...]:
    _check("queue", names, [queue.name for queue in instance.queues])
    return names


def _hosts(instance: Instance, names: Sequence[str]) -> tuple[str, ...]:
    if "all" in names:
        return ()
    hosts = _expanded(instance, names)
    _check("host", hosts, [host.name for host in instance.cluster.hosts])
    return tuple(hosts)
