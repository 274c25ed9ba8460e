"""Limits of QOS and associations, as limits of the model.

The model knows no QOS: if one has limits, the project of every job is ``account/qos``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...configuration import Limit, Scope
from ...errors import InputError, Problem
from .. import slurm_values as values
from ..lsf_state.values import Remarks, Text
from .records import rows_of
from .seen import SlurmJob, SlurmLimit, SlurmState
from .site import licence_name

#: Keys of a limit in sacctmgr and in ``scontrol show assoc_mgr``, in small letters.
_GROUP_TRES, _GROUP_JOBS = ("grptres",), ("grpjobs",)
_USER_TRES, _USER_JOBS = ("maxtrespu", "maxtresperuser"), ("maxjobspu", "maxjobsperuser")
_ACCOUNT_TRES = ("maxtrespa", "maxtresperaccount")
_ACCOUNT_JOBS = ("maxjobspa", "maxjobsperaccount")
_OWN_JOBS = ("maxjobs",)
#: Limits that hold jobs back, and that no method obeys.
_NOT_MODELLED = {
    "grptresmins": "GrpTRESMins",
    "grptresrunmins": "GrpTRESRunMins",
    "grpwall": "GrpWall",
    "maxtresrunminspu": "MaxTRESRunMinsPU",
    "maxtresrunminspa": "MaxTRESRunMinsPA",
}
#: Columns that are read, in small letters, each with its reader.
_READERS: Mapping[str, Callable[[str], object]] = {
    **dict.fromkeys((*_GROUP_TRES, *_USER_TRES, *_ACCOUNT_TRES), values.tres),
    **dict.fromkeys((*_GROUP_JOBS, *_USER_JOBS, *_ACCOUNT_JOBS, *_OWN_JOBS), values.number),
    **dict.fromkeys(("priority", "usagefactor"), values.number),
}
#: Head of a table of limits.
HEAD = re.compile(
    r"(?=.*\b(?:GrpTRES|MaxTRES|GrpJobs)\b)(?:\w[\w ]*\|)*(?:Name|Account)(?:\||$)", re.IGNORECASE
)
_KNOWN = re.compile(
    r"(?<![\w/])(Grp(?:TRES|Jobs|Wall|TRESMins|TRESRunMins)|Max(?:Jobs|TRES|Wall)P?[UAJN]*|"
    r"MaxTRESRunMinsP[UA]|ParentAccount|Account|UserName|Partition)=(\S*)"
)


def read_limits(text: Text) -> list[SlurmLimit]:
    """Return limits of ``sacctmgr -P show qos``, ``show assoc`` or ``scontrol show assoc_mgr``."""
    if "Association Manager" in text.content[:4096]:
        return list(_of_manager(text))
    printed = list(rows_of(text, HEAD.match))
    _check(printed)
    rows = [{_key(name): cell for name, cell in row.items()} for _, row in printed]
    kinds = [row for row in rows if row.get("name", "").strip() and "account" not in row]
    found = [SlurmLimit("qos", name=row["name"].strip(), values=_set(row)) for row in kinds]
    return [*found, *_associations([row for row in rows if "account" in row])]


def of_cluster(limits: Sequence[SlurmLimit], name: str) -> list[SlurmLimit]:
    """Return the limits without associations of other clusters, which slurmdbd lists too.

    name: of the cluster, "" if unknown. Raises InputError if it is and several are listed.
    """
    named = {limit.values.get("cluster", "").lower() for limit in limits} - {""}
    if not name and len(named) > 1:
        wrong = f"associations of clusters {', '.join(sorted(named))}"
        raise InputError(f"{wrong}, and no input names the cluster: give scontrol show config")
    wanted = ("", name.lower() or next(iter(named), ""))
    return [limit for limit in limits if limit.values.get("cluster", "").lower() in wanted]


def _key(name: str) -> str:
    """Return the name of a column in small letters."""
    return name.replace(" ", "").lower()


def _set(row: Mapping[str, str]) -> dict[str, str]:
    return {name: cell.strip() for name, cell in row.items() if cell.strip()}


def _check(rows: Iterable[tuple[str, Mapping[str, str]]]) -> None:
    """Raise InputError with every cell that cannot be read."""
    problems = []
    for where, row in rows:
        for name, cell in row.items():
            try:
                _READERS.get(_key(name), str)(cell)
            except ValueError as error:
                problems.append(Problem(f"{name}: {error}", where))
    if problems:
        raise InputError(problems)


def _associations(rows: Sequence[Mapping[str, str]]) -> Iterator[SlurmLimit]:
    """Yield associations; with ``tree`` accounts are indented by their level."""
    above: list[tuple[int, str]] = []
    for row in rows:
        written = row["account"]
        level, name = len(written) - len(written.lstrip()), written.strip()
        user = row.get("user", "").strip()
        parent = row.get("parentname", row.get("parname", "")).strip()
        if not user:
            while above and above[-1][0] >= level:
                above.pop()
            parent = parent or (above[-1][1] if above and level else "")
            above.append((level, name))
        yield SlurmLimit("association", "", name, user, parent, _set(row))


def _of_manager(text: Text) -> Iterator[SlurmLimit]:
    blocks = re.split(r"(?m)^(?=ClusterName=|QOS=)", text.content)
    for block in blocks:
        head = block.split("\n", 1)[0]
        found: dict[str, str] = {}
        for name, cell in _KNOWN.findall(re.split(r"\n\s+(?:User|Account) Limits", block)[0]):
            key = name.lower().removesuffix("pj") if name.endswith("PJ") else name.lower()
            found.setdefault(key, cell)
        limits = {key: _in_use_removed(cell) for key, cell in found.items()}
        _check([(f"{text.source}, {head[:80]}", limits)])
        if head.startswith("QOS="):
            yield SlurmLimit("qos", name=re.sub(r"\(.*", "", head[4:]).strip(), values=limits)
        elif head.startswith("ClusterName="):
            bare = {key: re.sub(r"\(.*?\)", "", found.get(key, "")) for key in found}
            yield SlurmLimit(
                "association", "", bare.get("account", ""), bare.get("username", ""),
                bare.get("parentaccount", ""), limits,
            )  # fmt: skip


def _in_use_removed(cell: str) -> str:
    """Return limits without use: ``cpu=8,mem=N`` of ``cpu=8(2),mem=N(0)``."""
    return re.sub(r"\([^)]*\)", "", cell)


@dataclass(slots=True)
class Binding:
    """Limits of the model that were made, and the projects of the jobs."""

    #: Limits of the instance.
    limits: list[Limit] = field(default_factory=list)
    #: Whether the project of a job has its QOS.
    by_qos: bool = False

    def project(self, job: SlurmJob) -> str:
        """Return the project of a job: its account, with its QOS if that has limits."""
        account = job.account or "default"
        return f"{account}/{job.qos or 'none'}" if self.by_qos else account


def limits_of(seen: SlurmState, notes: Remarks) -> Binding:
    """Return the limits that bind jobs, and notes about limits that are not modelled."""
    enforced = seen.settings.get("AccountingStorageEnforce", "limits").lower()
    bound = Binding()
    if not any(word in enforced for word in ("limits", "safe", "all", "qos")):
        return bound
    partitions = {item.qos: item.name for item in seen.partitions if item.qos}
    rows = [row for row in seen.limits if _binding(row)]
    bound.by_qos = any(row.of == "qos" and row.name not in partitions for row in rows)
    accounts = dict.fromkeys(job.account or "default" for job in seen.jobs)
    kinds = list(dict.fromkeys(job.qos or "none" for job in seen.jobs))
    below = _accounts_below(seen.limits)
    for row in rows:
        if row.of == "qos":
            if row.name in partitions:
                scope = {"queues": Scope((partitions[row.name],))}
                projects = [bound.project(job) for job in seen.jobs]
            else:
                projects = [f"{account}/{row.name}" for account in accounts]
                scope = {"projects": Scope(tuple(projects))}
        else:
            inside = [name for name in accounts if name in below.get(row.account, {row.account})]
            if row.account == "root":
                inside = list(accounts)
            projects = [
                f"{account}/{qos}" if bound.by_qos else account
                for account in inside
                for qos in (kinds if bound.by_qos else ("",))
            ]
            scope = {"projects": Scope(tuple(projects))} if projects else {}
            if row.user:
                scope["users"] = Scope((row.user,))
        if projects:
            _add(row, scope, projects, bound, seen, notes)
    return bound


def _binding(row: SlurmLimit) -> bool:
    modelled = (_GROUP_TRES, _GROUP_JOBS, _USER_TRES, _USER_JOBS, _ACCOUNT_TRES, _ACCOUNT_JOBS)
    names = {name for group in (*modelled, _OWN_JOBS, tuple(_NOT_MODELLED)) for name in group}
    return any(_is_set(row.values.get(name, "")) for name in names)


def _is_set(cell: str) -> bool:
    """Return whether a limit has a value: ``cpu=N,mem=N`` and ``N`` have none."""
    if values.blank(cell) or cell in ("N", "-1"):
        return False
    return any(part.partition("=")[2] not in ("N", "") for part in cell.split(",")) or (
        "=" not in cell
    )


def _accounts_below(rows: Iterable[SlurmLimit]) -> dict[str, set[str]]:
    """Return the descendants of each account, including itself."""
    children: dict[str, set[str]] = {}
    for row in rows:
        if row.of == "association" and not row.user and row.account:
            children.setdefault(row.account, set())
            if row.parent:
                children.setdefault(row.parent, set()).add(row.account)
    found: dict[str, set[str]] = {}
    for name in children:
        inside, todo = {name}, [name]
        while todo:
            for child in children.get(todo.pop(), ()):
                if child not in inside:
                    inside.add(child)
                    todo.append(child)
        found[name] = inside
    return found


def _add(
    row: SlurmLimit,
    scope: Mapping[str, Scope],
    projects: Sequence[str],
    bound: Binding,
    seen: SlurmState,
    notes: Remarks,
) -> None:
    """Add the limits of one row of a listing."""
    label = f"qos_{row.name}" if row.of == "qos" else f"assoc_{row.account}_{row.user}".rstrip("_")
    jobs = [
        job.full_id
        for job in seen.jobs
        if bound.project(job) in projects and (not row.user or row.user == job.user)
    ]
    everyone = Scope(("all",), each=True)
    own = {} if row.user else {"users": everyone}
    each_account = {"projects": Scope(tuple(projects), each=True)}
    kinds: tuple[tuple[tuple[str, ...], tuple[str, ...], Mapping[str, Scope], str], ...] = (
        (_GROUP_TRES, _GROUP_JOBS, {}, "group"),
        (_USER_TRES, _USER_JOBS, {"users": everyone}, "user"),
        (_ACCOUNT_TRES, _ACCOUNT_JOBS, each_account, "account"),
        ((), _OWN_JOBS if row.of == "association" else (), own, "jobs"),
    )
    for tres_names, job_names, more, word in kinds:
        amounts, left = _amounts(row, tres_names, job_names)
        if amounts:
            bound.limits.append(Limit(f"{label}_{word}", amounts, **{**scope, **more}))  # type: ignore[arg-type]
        for name in left:
            notes.touch(f"limit of {name} of {label.replace('_', ' ', 1)}", jobs)
    for key, name in _NOT_MODELLED.items():
        if _is_set(row.values.get(key, "")):
            notes.touch(f"{name} of {label.replace('_', ' ', 1)} ({row.values[key]})", jobs)


def _amounts(
    row: SlurmLimit, tres_names: Iterable[str], job_names: Iterable[str]
) -> tuple[dict[str, float], list[str]]:
    """Return amounts by the names of the model, and resources whose limits are not modelled."""
    found: dict[str, float] = {}
    left: list[str] = []
    for key in tres_names:
        for name, amount in values.tres(row.values.get(key, "")).items():
            if name == "cpu":
                found["slots"] = amount
            elif name == "mem":
                found["mem"] = amount
            elif name.startswith("license/"):
                found[licence_name(name.removeprefix("license/"))] = amount
            else:
                left.append(name)
    for key in job_names:
        count = values.number(row.values.get(key, "") or None)
        if count is not None and math.isfinite(count) and count >= 0:
            found["jobs"] = count
    return found, left
