"""Printed parameters that no reader of a listing knows by name: of queues and of the cluster.

A parameter that instance files have is taken over. Any other is named if it may change answers, as
`import lsf` names it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from ...configuration import Queue
from ...facts import known_fields
from ...formats.document import QueueEntry
from ...formats.fields import given
from ...formats.lsf.draft import number
from ...formats.lsf.params import CHANGES_ANSWERS, FAIRSHARE, effect_of, is_inert, lsf_keys
from ...omissions import Omission
from .bqueues import SeenQueue
from .values import Remarks

#: Words of SCHEDULING POLICIES that are read, or that have no effect on starts.
_POLICIES = frozenset(
    {"FAIRSHARE", "APS_PRIORITY", "BACKFILL", "EXCLUSIVE", "IGNORE_DEADLINE", "PREEMPTIVE"}
    | {"PREEMPTABLE", "NO_INTERACTIVE", "ONLY_INTERACTIVE", "INTERACTIVE"}
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
            _tell(name, text, seen.name, notes, shared=shared)
        else:
            found |= fields
    for word in sorted(seen.policies):
        name = re.split(r"[(\[:]", word)[0]
        if name in CHANGES_ANSWERS:
            _tell(name, "Y", seen.name, notes, shared=shared)
        elif name not in _POLICIES and re.fullmatch(r"[A-Z][A-Z_]{3,}", name):
            text = f"policy {name} (queue {seen.name}) is not known here"
            notes.touch(text, queues=(seen.name,))
    return found


def tell_parameters(given: Mapping[str, str], notes: Remarks) -> None:
    """Name the parameters of the cluster that may change answers and that no method obeys."""
    for name, text in given.items():
        if name in CHANGES_ANSWERS and name not in _WITH_DEFAULT:
            _tell(name, text, "", notes, shared=True)


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


def _tell(name: str, text: str, queue: str, notes: Remarks, *, shared: bool) -> None:
    """Name a parameter that may change answers.

    queue: which has it, "" if the cluster. shared: whether shares order the jobs.
    """
    queues = (queue,) if queue else ()
    where = f"queue {queue}" if queue else "bparams"
    if is_inert(name) or _UNSET.fullmatch(text):
        return
    if name not in CHANGES_ANSWERS:
        if name != "CHUNK_JOB_SIZE" or text not in ("0", "1"):
            notes.touch(f"{name} = {text[:_SHOWN]} ({where}) is not known here", queues=queues)
        return
    effect = effect_of(name, text, {"queues": queues} if queues else {})
    # Preemption is named by the policies of the queues.
    if effect is None or effect[1].only not in ("", *((FAIRSHARE,) if shared else ())):
        return
    reason, concerned = effect
    what = f"{name} ({where}): {reason}"
    notes.append(f"answers may differ because of {what}")
    named = concerned.scope.get("queues", ())
    notes.omissions.append(Omission(what, queues=named, changes=concerned.changes))
