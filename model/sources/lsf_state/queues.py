"""Queues, shares and partitions of an instance as bqueues and bhpart show them.

A printed parameter that no reader knows by name is taken over if instance files have it. Any other
is named if it may change answers, as `import lsf` names it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from ...cluster import Thresholds
from ...configuration import HostPartition, Queue, UserGroup
from ...facts import known_fields
from ...formats.document import QueueEntry
from ...formats.fields import given
from ...formats.lsf.draft import number
from ...formats.lsf.params import CHANGES_ANSWERS, FAIRSHARE, effects_of, is_inert, lsf_keys
from ...formats.names import host_requests
from ...formats.text import processor_limit
from ...instance import Instance
from ...job import HostRequest
from ...omissions import Omission
from .bqueues import PrintedAccount, SeenPartition, SeenQueue
from .values import Remarks

#: Words of SCHEDULING POLICIES that are read, or that have no effect on starts.
_POLICIES = frozenset(
    {"FAIRSHARE", "APS_PRIORITY", "BACKFILL", "EXCLUSIVE", "IGNORE_DEADLINE", "PREEMPTIVE"}
    | {"PREEMPTABLE", "INTERACTIVE"}
    | {"FAIRSAHRE"}  # as volclava spells it
)
#: Parameters of a queue that an instance has as they are printed.
_OWN = lsf_keys(Queue) - {"PREEMPTION", "CHUNK_JOB_SIZE"}
#: Numbers that set nothing.
_UNSET = re.compile(r"-\d+(?:\.\d+)?|unlimited|infinit\w*", re.IGNORECASE)
#: Parameters of the cluster that `bparams -a` prints with a value also if they are not set.
_WITH_DEFAULT = frozenset(
    {"DEFAULT_HOST_SPEC", "JOB_SCHEDULING_INTERVAL", "NEW_JOB_SCHED_DELAY", "USE_SUSP_SLOTS"}
)
#: Characters of a value that are shown.
_SHOWN = 60


def own_fields(seen: SeenQueue, notes: Remarks) -> dict[str, Any]:
    """Return the fields of a queue by its further parameters; name those that have none."""
    found: dict[str, Any] = {}
    shared = "FAIRSHARE" in seen.policies
    for name, text in seen.others.items():
        fields = _as_in_a_file(name, text)
        if fields is None:
            _tell_of_other_parameters(name, text, seen.name, notes, shared=shared)
        else:
            found |= fields
    for word in sorted({*seen.policies}):
        name = re.split(r"[(\[:]", word)[0]
        if name in CHANGES_ANSWERS or name.endswith("_INTERACTIVE"):
            _tell_of_other_parameters(name, "Y", seen.name, notes, shared=shared)
        elif name not in _POLICIES and re.fullmatch(r"[A-Z][A-Z_]{3,}", name):
            text = f"policy {name} (queue {seen.name}) is not known"
            notes.touch(text, queues=(seen.name,))
    return found


def tell_parameters(given: Mapping[str, str], notes: Remarks) -> None:
    """Name the parameters of the cluster that may change answers and that no method obeys."""
    for name, text in given.items():
        if name in CHANGES_ANSWERS and name not in _WITH_DEFAULT:
            _tell_of_other_parameters(name, text, "", notes, shared=True)


def _as_in_a_file(name: str, text: str) -> dict[str, Any] | None:
    """Return the fields of a queue that a parameter sets, None if files have no such parameter."""
    if name not in _OWN:
        return None
    try:
        entry = QueueEntry.model_validate({"name": "q", name: number(text)})
    except ValidationError:
        return None
    (field,) = (item for item in known_fields(Queue).values() if name in (item.key, *item.fact.aka))
    fields = given(Queue, entry)
    return {key: fields[key] for key in field.names if key in fields}


def _tell_of_other_parameters(
    name: str, text: str, queue: str, notes: Remarks, *, shared: bool
) -> None:
    """Name a parameter that may change answers.

    queue: which has it, "" if the cluster. shared: whether shares order the jobs.
    """
    queues = (queue,) if queue else ()
    where = f"queue {queue}" if queue else "bparams"
    if _UNSET.fullmatch(text) or (name, text) == ("CHUNK_JOB_SIZE", "1"):
        return
    if name not in CHANGES_ANSWERS and not is_inert(name):
        notes.touch(f"{name} = {text[:_SHOWN]} ({where}) is not known", queues=queues)
        return
    for reason, concerned in effects_of(name, text, {"queues": queues} if queues else {}):
        # Preemption is named by the policies of the queues.
        if concerned.only not in ("", *((FAIRSHARE,) if shared else ())):
            continue
        what = f"{name} ({where}): {reason}"
        if not concerned.is_of_option:
            notes.append(f"answers may differ because of {what}")
        scope: dict[str, Any] = {**concerned.scope}
        notes.omissions.append(Omission(what, changes=concerned.changes, **scope))


def merged_queues(
    base: Instance,
    seen: Sequence[SeenQueue] | None,
    partitions: Sequence[SeenPartition] | None,
    used: Collection[str],
    notes: Remarks,
) -> Instance:
    """Return the instance with the queues that bqueues printed and those that only jobs name.

    used: names of the jobs' queues. A queue that `base` has stays as configured; if bqueues prints
    other values, `notes` gets a remark.
    """
    shown = {queue.name: queue for queue in seen or ()}
    known = {queue.name for queue in base.queues}
    for queue in base.queues:
        if queue.name in shown:
            notes += _differences(queue, shown[queue.name])
    new_queues = [queue for queue in shown.values() if queue.name not in known]
    bare = sorted(set(used) - known - set(shown) - {""})
    if bare and (known or shown):
        notes.touch(
            f"jobs name {', '.join(bare)}, which no input describes: added without parameters",
            queues=bare,
        )
    queues = (
        *(
            replace(queue, active=not state.inactive, open=not state.closed)
            if (state := shown.get(queue.name))
            else queue
            for queue in base.queues
        ),
        *(
            _queue(base, _with_known_set(queue, known | set(shown), notes), notes)
            for queue in new_queues
        ),
        *(Queue(name, exclusive="Y") for name in bare),  # no input excludes exclusive jobs
    )
    if not queues or ("" in used and not known and not shown):
        queues = (*queues, Queue("default"))
    for item in new_queues:
        if "APS_PRIORITY" in item.policies and item.absolute is None and not _is_grouped(item):
            notes.touch(
                f"queue {item.name} has APS_PRIORITY, but no input gives the formula: its jobs "
                f"are ordered first come, first served (lsb.queues contains it)"
            )
        if words := sorted({"PREEMPTIVE", "PREEMPTABLE"}.intersection(item.policies)):
            notes.touch(
                f"queue {item.name} is {' and '.join(words)}: answers may differ, since bqueues "
                f"does not name the other queues: no preemption is assumed (lsb.queues names them)"
            )
    _tell(queues, new_queues, shown, notes)
    names = {queue.name for queue in queues}
    default = base.params.default_queue
    params = replace(base.params, default_queue=default if default in names else queues[0].name)
    printed = [account for queue in new_queues for account in queue.accounts]
    found = _partitions(base, partitions or (), notes)
    if not base.partitions:
        printed += [account for partition in partitions or () for account in partition.accounts]
    groups = _with_shares(base.groups, _groups(printed))
    return replace(base, queues=queues, params=params, partitions=found, groups=groups)


def _with_shares(known: Sequence[UserGroup], printed: Sequence[UserGroup]) -> tuple[UserGroup, ...]:
    """Return the groups; those without shares get the shares printed for them."""
    shares = {group.name: group.user_shares for group in printed}
    names = {group.name for group in known}
    return (
        *(
            replace(group, user_shares=shares.get(group.name, ()))
            if not group.user_shares
            else group
            for group in known
        ),
        *(group for group in printed if group.name not in names),
    )


def _tell(
    queues: Sequence[Queue],
    new_queues: Sequence[SeenQueue],
    shown: Mapping[str, SeenQueue],
    notes: Remarks,
) -> None:
    """Note missing facts of queues, and their printed states."""
    if short := [queue.name for queue in new_queues if not queue.long]:
        notes.touch(
            f"bqueues gives no limits, policies, users and hosts of {', '.join(short)}: no "
            f"limits and policies, all users and hosts are assumed (bqueues -l shows them)",
            count=len(short),
        )
    for item in shown.values():
        if item.inactive:
            notes.append(f"queue {item.name} is {item.status}: none of its jobs starts")
        if item.closed:
            others = "" if item.inactive else "; its pending jobs still start"
            notes.append(f"queue {item.name} is {item.status}: it accepts no new jobs{others}")
    for queue in queues:
        state = shown.get(queue.name)
        if (
            state is not None
            and state.outside_window
            and not (queue.dispatch_window or queue.run_window)
        ):
            notes.touch(
                f"queue {queue.name} is {state.status}: none of its jobs starts now, and no "
                f"input gives its windows (bqueues -l shows them)",
                queues=(queue.name,),
            )


def _with_known_set(queue: SeenQueue, known: set[str], notes: Remarks) -> SeenQueue:
    """Return the queue without undefined queues of its cross-queue set."""
    unknown = [name for name in queue.queue_group if name not in known]
    if unknown and not _is_grouped(queue):
        notes.append(
            f"queue {queue.name}: QUEUE_GROUP names {', '.join(unknown)}, which no input "
            f"describes: omitted from the group"
        )
    kept = tuple(name for name in queue.queue_group if name in known)
    queue = replace(queue, queue_group=kept)
    unknown = [name for name in queue.fairshare_queues if name not in known]
    if not unknown or _is_listed(queue):
        return queue
    notes.append(
        f"queue {queue.name}: FAIRSHARE_QUEUES names {', '.join(unknown)}, which no input "
        f"describes: omitted from the set"
    )
    kept = tuple(name for name in queue.fairshare_queues if name in known)
    return replace(queue, fairshare_queues=kept)


def _differences(queue: Queue, seen: SeenQueue) -> list[str]:
    pairs = (
        ("PRIO", queue.priority, seen.priority),
        ("MAX", queue.queue_slots, seen.queue_slots),
        ("JL/U", queue.user_slots, seen.user_slots),
    )
    return [
        f"queue {queue.name}: bqueues reports {name} {now}, the site {configured}: the value of "
        f"the site is used"
        for name, configured, now in pairs
        if now is not None and now != configured
    ]


#: Fields of a queue that are as they were seen, and limits of which 0 sets none.
_AS_SEEN = (
    *("res_req", "queue_slots", "user_slots", "processor_slots", "host_slots", "description"),
    *("dispatch_window", "run_window"),
)
_LIMITS = ("run_limit", "run_limit_max", "cpu_limit")


def _queue(base: Instance, seen: SeenQueue, notes: Remarks) -> Queue:
    wanted: tuple[HostRequest, ...] = ()
    excluded: tuple[str, ...] = ()
    if seen.hosts:
        wanted, excluded = host_requests(_without_rest(base, seen.hosts))
        unknown = [r.name for r in wanted if base.cluster.expand(r.name) is None]
        unknown += [name for name in excluded if base.cluster.expand(name) is None]
        if unknown:
            notes.touch(
                f"queue {seen.name}: HOSTS names {', '.join(unknown)}, which no input "
                f"describes: all hosts are assumed",
                queues=(seen.name,),
                mark="fit",
            )
            wanted, excluded = (), ()
    users = tuple(name.rstrip("/") for name in seen.users.split())
    if any(name.endswith("/") for name in seen.users.split()) and not base.groups:
        text = f"queue {seen.name}: USERS names groups, which no input describes: not checked"
        notes.touch(text, queues=(seen.name,))
        users = ()
    unit = next((word[10:-1] for word in seen.policies if word.startswith("EXCLUSIVE(")), "")
    exclusive = unit or ("Y" if "EXCLUSIVE" in seen.policies or not seen.long else "N")
    held = seen.reservation
    cycles = None if held is None else max(1, round(held / base.params.mbd_sleep_time))
    printed: dict[str, Any] = {name: getattr(seen, name) for name in _AS_SEEN}
    printed |= {name: getattr(seen, name) or None for name in _LIMITS}
    queue = Queue(
        seen.name,
        priority=1 if seen.priority is None else seen.priority,
        hosts=wanted,
        excluded_hosts=excluded,
        users=users,
        **printed,
        slots=processor_limit(" ".join(map(str, seen.tasks))) if seen.tasks else None,
        backfill="BACKFILL" in seen.policies,
        slot_reserve=None if seen.resource_reserve else cycles,
        resource_reserve=cycles if seen.resource_reserve else None,
        exclusive=exclusive,
        thresholds=Thresholds(seen.sched, seen.stop),
        ignore_deadline="IGNORE_DEADLINE" in seen.policies,
        job_accept_interval=None
        if seen.accept_interval is None
        else round(seen.accept_interval / base.params.mbd_sleep_time),
        user_shares=_shares(base, seen, notes),
        fairshare_queues=_others(seen),
        dispatch_order="QUEUE" if seen.dispatch_order.upper() == "QUEUE" else "",
        **_absolute(seen),
        slot_share=seen.slot_share if seen.slot_pool else None,
        slot_pool=seen.slot_pool if seen.slot_share is not None else "",
        active=not seen.inactive,
        open=not seen.closed,
    )
    return replace(queue, **own_fields(seen, notes))


_REST = re.compile(r"others((?:\+\d{1,9})?)")


def _without_rest(base: Instance, text: str) -> str:
    """Return HOSTS without marks of groups, with ``others`` as the hosts that it does not name."""
    words = re.sub(r"/(?=[\s+!]|$)", "", text).split()
    if not any(map(_REST.fullmatch, words)):
        return " ".join(words)
    plain = [word for word in words if not _REST.fullmatch(word)]
    named, away = host_requests(" ".join(plain))
    listed = {
        host
        for name in (*(item.name for item in named), *away)
        for host in base.cluster.expand(name) or ()
    }
    rest = [host.name for host in base.cluster.hosts if host.name not in listed]
    found = []
    for word in words:
        match = _REST.fullmatch(word)
        found += [word] if match is None else [name + match[1] for name in rest]
    return " ".join(found)


def _is_listed(seen: SeenQueue) -> bool:
    """Return whether the queue shows the policy of another one, its master (which comes first)."""
    return bool(seen.fairshare_queues) and seen.fairshare_queues[0] != seen.name


def _is_grouped(seen: SeenQueue) -> bool:
    """Return whether the queue shows the APS group of another one, its parent (which comes
    first).
    """
    return bool(seen.queue_group) and seen.queue_group[0] != seen.name


def _absolute(seen: SeenQueue) -> dict[str, Any]:
    """Return the formula of the parent queue of an APS group, and the other queues of the group."""
    if seen.absolute is None or _is_grouped(seen):
        return {}
    others = tuple(name for name in seen.queue_group if name != seen.name)
    return {"aps_priority": seen.absolute, "queue_group": others}


def _others(seen: SeenQueue) -> tuple[str, ...]:
    return () if _is_listed(seen) else tuple(n for n in seen.fairshare_queues if n != seen.name)


def _shares(base: Instance, seen: SeenQueue, notes: Remarks) -> tuple[tuple[str, int], ...] | None:
    """Return USER_SHARES; a share for each member of an undefined group becomes the group's."""
    if _is_listed(seen) or _is_grouped(seen):
        return None
    shares = seen.shares or _top(seen.name, seen.accounts)
    groups = {group.name for group in base.groups if group.members}
    unknown = [name for name, _ in shares if name.endswith("@") and name[:-1] not in groups]
    if unknown:
        notes.append(
            f"queue {seen.name}: USER_SHARES names {', '.join(unknown)}, whose members no input "
            "gives: users without another share count as members, unless others or default has "
            "a share"
        )
    return tuple(shares) or None


def _top(name: str, accounts: Sequence[PrintedAccount]) -> tuple[tuple[str, int], ...]:
    """Return USER_SHARES as far as the printed accounts of the top level show them."""
    return tuple((item.account, item.shares) for item in accounts if item.path == name)


def _partitions(
    base: Instance, seen: Sequence[SeenPartition], notes: Remarks
) -> tuple[HostPartition, ...]:
    if base.partitions:
        for name in sorted({item.name for item in seen} - {item.name for item in base.partitions}):
            notes.append(f"the site has no host partition {name}: omitted")
        return base.partitions
    return tuple(
        HostPartition(
            item.name,
            tuple(word.rstrip("/") for word in item.hosts) or ("all",),
            item.shares or _top(item.name, item.accounts),
        )
        for item in seen
    )


def _groups(accounts: Sequence[PrintedAccount]) -> tuple[UserGroup, ...]:
    """Return user groups with the accounts that -r prints below them, innermost groups first."""
    levels: dict[str, dict[str, int]] = {}
    for account in accounts:
        above, _, group = account.path.rpartition("/")
        if above:
            levels.setdefault(group, {})[account.account] = account.shares
    groups = {
        name: UserGroup(
            name,
            tuple(m for m in members if m not in ("others", "default")),
            tuple(members.items()),
        )
        for name, members in levels.items()
    }
    ordered: dict[str, UserGroup] = {}
    while len(ordered) < len(groups):
        ready = [
            item
            for name, item in groups.items()
            if name not in ordered
            and all(m in ordered or m not in groups or m == name for m in item.members)
        ]
        for item in ready or [g for n, g in groups.items() if n not in ordered]:
            ordered[item.name] = item
    return tuple(ordered.values())
