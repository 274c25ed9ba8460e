"""Limits of QOS and associations, as limits of the model.

The model knows no QOS: if one has limits, the project of every job is ``account/qos``.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from operator import itemgetter

from ... import slurm_values as values
from ...configuration import Limit, Scope
from ...errors import InputError, Problem
from ...instance import Instance
from ...slurm_fairshare import SlurmLimit
from ...slurm_limits import HOLDING, MODELLED, OF_ONE_JOB, ON_SUBMISSION, READERS, column_name
from ...slurm_partitions import SEVERAL
from ..lsf_state.values import Remarks, Text
from .priorities import enforces_limits
from .records import rows_of, with_parents
from .requests import licence_counts
from .seen import SlurmJob, SlurmPartition, SlurmState
from .site import licence_name

_LIMITING = frozenset(column for tres, jobs, _ in MODELLED for column in (tres, jobs))
#: Fields of jobs that share a limit of these columns within a row.
_SHARED_BY: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("grptres", "grpjobs"), ()),
    **dict.fromkeys(("maxtrespu", "maxjobspu", "maxjobs"), ("user",)),
    **dict.fromkeys(("maxtrespa", "maxjobspa"), ("account",)),
}
#: TRES that a job without an amount of them does not request.
_COUNTED = ("gres/", "license/")
#: Flags of a QOS without a say in a start.
_IDLE_FLAGS = frozenset({"denyonlimit", "nodecay", "usagefactorsafe"})
#: Parts of the names of columns as Slurm writes them, by the parts in lower case.
_WORDS = {
    word.lower(): word
    for word in ("Grp", "Max", "Min", "TRES", "Run", "Jobs", "Submit", "Wall", "PU", "PA", "PN")
}


#: Head of a table of limits.
HEAD = re.compile(
    r"(?!.*\bRawShares\b)(?=.*\b(?:(?:Grp|Max|Min)(?:TRES|Jobs|Wall|Submit|Prio)\w*|"
    r"Usage(?:Thres|Factor)|LimitFactor)\b)(?:\w[\w ]*\|)*(?:Name|Account)(?:\||$)",
    re.IGNORECASE,
)
_KNOWN = re.compile(
    r"(?<![\w/])((?:Grp|Max|Min)\w+|ParentAccount|Account|UserName|Partition)=(\S*)"
)


def read_limits(text: Text) -> list[SlurmLimit]:
    """Return limits of ``sacctmgr -P show qos``, ``show assoc`` or ``scontrol show assoc_mgr``."""
    if "Association Manager" in text.content[:4096]:
        return list(_of_manager(text))
    printed = list(rows_of(text, HEAD.match))
    _check(printed)
    rows = [{column_name(name): cell for name, cell in row.items()} for _, row in printed]
    kinds = [row for row in rows if row.get("name", "").strip() and "account" not in row]
    found = [SlurmLimit("qos", name=row["name"].strip(), values=_set(row)) for row in kinds]
    return [*found, *_associations([row for row in rows if "account" in row])]


def of_cluster(limits: Sequence[SlurmLimit], name: str) -> list[SlurmLimit]:
    """Return the limits without associations of other clusters, which slurmdbd lists too.

    name: of the cluster, "" if unknown. Raises InputError if it is and several are listed.
    """
    named = {limit.values.get("cluster", "").lower() for limit in limits} - {""}
    if not name and len(named) > 1:
        wrong = f"the associations are of several clusters ({', '.join(sorted(named))})"
        raise InputError(f"{wrong}, but no input names one: give scontrol show config")
    wanted = ("", name.lower() or next(iter(named), ""))
    return [limit for limit in limits if limit.values.get("cluster", "").lower() in wanted]


def _set(row: Mapping[str, str]) -> dict[str, str]:
    return {name: cell.strip() for name, cell in row.items() if cell.strip()}


def _check(rows: Iterable[tuple[str, Mapping[str, str]]]) -> None:
    """Raise InputError with every cell that cannot be read."""
    problems = []
    for where, row in rows:
        for name, cell in row.items():
            try:
                READERS.get(column_name(name), str)(cell)
            except ValueError as error:
                problems.append(Problem(f"{name}: {error}", where))
    if problems:
        raise InputError(problems)


def _associations(rows: Sequence[Mapping[str, str]]) -> Iterator[SlurmLimit]:
    """Yield associations; with ``tree`` accounts are indented by their level."""
    for above, row in with_parents(rows, "account", "user"):
        parent = row.get("parentname", row.get("parname", "")).strip() or above
        name, user = row["account"].strip(), row.get("user", "").strip()
        yield SlurmLimit(of="association", account=name, user=user, parent=parent, values=_set(row))


def _of_manager(text: Text) -> Iterator[SlurmLimit]:
    for block in re.split(r"(?m)^(?=ClusterName=|QOS=)", text.content):
        head = block.split("\n", 1)[0]
        found: dict[str, str] = {}
        for name, cell in _KNOWN.findall(re.split(r"\n\s+(?:User|Account) Limits", block)[0]):
            found.setdefault(column_name(name), cell)
        # A limit is printed with its use: cpu=8(2).
        limits = {key: re.sub(r"\([^)]*\)", "", cell) for key, cell in found.items()}
        _check([(f"{text.source}, {head[:80]}", limits)])
        if head.startswith("QOS="):
            yield SlurmLimit("qos", name=re.sub(r"\(.*", "", head[4:]).strip(), values=limits)
        elif head.startswith("ClusterName="):
            bare = {key: re.sub(r"\(.*?\)", "", found.get(key, "")) for key in found}
            yield SlurmLimit(
                of="association", account=bare.get("account", ""), user=bare.get("username", ""),
                parent=bare.get("parentaccount", ""), values=limits,
            )  # fmt: skip


@dataclass(slots=True)
class Binding:
    """Limits of the model that were made, and the projects of the jobs."""

    #: Limits of the instance.
    limits: list[Limit] = field(default_factory=list)
    #: Whether the project of a job has its QOS.
    by_qos: bool = False
    #: Rows of the limits that Slurm enforces, None if it enforces none.
    rows: LimitRows | None = None
    #: Those rows, for jobs that are submitted later.
    for_new: tuple[SlurmLimit, ...] = ()

    def project(self, job: SlurmJob) -> str:
        """Return the project of a job: its account, with its QOS if that has limits."""
        account = job.account or "default"
        return f"{account}/{job.qos or 'none'}" if self.by_qos else account


class LimitRows:
    """Rows of limits, and the jobs that each covers."""

    def __init__(
        self,
        limits: Iterable[SlurmLimit],
        jobs: Iterable[SlurmJob] = (),
        partitions: Iterable[SlurmPartition] = (),
    ) -> None:
        inside: defaultdict[str, list[str]] = defaultdict(list)
        for item in partitions:
            inside[item.qos].append(item.name)
        #: Rows by their names; that of the QOS of a partition has the partitions in a cell.
        self.rows: dict[str, SlurmLimit] = {}
        for row in limits:
            known = self.rows.get(_titled(row), row).values
            of_qos = inside.get(row.name) if row.of == "qos" else None
            own = {"partition": ",".join(of_qos)} if of_qos else {}
            self.rows[_titled(row)] = replace(row, values={**known, **row.values, **own})
        self.running = [job for job in jobs if job.allocation]
        self._qos = [row for row in self.rows.values() if row.of == "qos"]
        #: Associations by account, user and partition.
        self._associations = {
            (row.account, row.user, name): row
            for row in self.rows.values()
            if row.of != "qos"
            for name in partitions_of(row) or ("",)
        }
        #: Partitions for which a user has another association with an account.
        self.apart: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for account, user, name in filter(itemgetter(2), self._associations):
            self.apart[account, user].append(name)
        self.has_users = any(user for _, user, _ in self._associations)
        self._known: dict[object, dict[str, SlurmLimit]] = {}

    def chain(self, account: str) -> list[SlurmLimit]:
        """Return the rows of an account and of those above it, the nearest first."""
        found: list[SlurmLimit] = []
        while (row := self._associations.get((account, "", ""))) and row not in found:
            found.append(row)  # a listing may have a circle
            account = row.parent or ("root" if account != "root" else "")
        root = self._associations.get(("root", "", ""))
        return found if root is None or root in found else [*found, root]

    def whole(self, row: SlurmLimit) -> SlurmLimit:
        """Return an association with the limits of each user and of each job that it inherits."""
        cells = dict(row.values)
        for above in self.chain(row.account):
            for column in filter(lambda column: column.startswith("max"), above.values):
                cells[column] = _inherited(cells.get(column, ""), above.values[column], column)
        return replace(row, values=cells)

    def of(self, job: SlurmJob, *, surely: bool = True) -> Collection[SlurmLimit]:
        """Return the rows whose limits count for a job, each with those that do; not surely: a QOS
        or account that the job does not name may be any.
        """
        return self._counting(job, surely=surely).values()

    def covers(self, row: SlurmLimit, job: SlurmJob) -> bool:
        """Whether limits of a row count for a job."""
        return _titled(row) in self._counting(job, surely=True)

    def _counting(self, job: SlurmJob, *, surely: bool) -> Mapping[str, SlurmLimit]:
        """Return the rows that count for a job, by their names.

        Slurm counts the association of the partition, else that of the user, else that of the
        account (assoc_mgr_fill_in_assoc); of the accounts above, only limits of groups.
        """
        key = (job.account, job.qos, job.user, job.partitions, surely)
        if key in self._known:
            return self._known[key]
        found = self._known[key] = {}
        for row in self._qos:
            named = row.name == job.qos or not (surely or job.qos)
            if named or not set(partitions_of(row)).isdisjoint(job.partitions):
                found[_titled(row)] = row
        accounts = {job.account or "default"}
        if not (surely or job.account):
            accounts = {account for account, _, _ in self._associations}
        for account, name in product(sorted(accounts), job.partitions or ("",)):
            own = self.association(account, job.user, name)
            if own is not None:
                found[_titled(own)] = self.whole(own)
            for row in self.chain(account):
                group = {key: cell for key, cell in row.values.items() if not key.startswith("max")}
                found.setdefault(_titled(row), replace(row, values=group))
        return found

    def association(self, account: str, user: str, partition: str) -> SlurmLimit | None:
        """Return the row of a user in a partition, None if no listing has one."""
        keys = ((account, user, partition), (account, user, ""), (account, "", ""))
        return next(filter(None, map(self._associations.get, keys)), None)

    def refusals(self, job: SlurmJob, others: Sequence[SlurmJob], count: int) -> Iterator[str]:
        """Yield why sbatch rejects a new job. others: submitted before; count: of its elements."""
        own = [key for key in self._associations if key[1] == job.user]
        own = [
            key for key in own if job.account in ("", key[0]) and key[2] in ("", *job.partitions)
        ]
        if job.user and not own and self.has_users:
            to = f" with account {job.account}" if job.account else ""
            yield f"no listing has an association of user {job.user}{to}"
        rows = self.of(job)
        for row in filter(lambda row: row.user and is_set(row, "qos"), rows):
            names = row.values["qos"].split(",")
            if not {*job.qos.split(",")} <= {"", *names}:
                yield f"{_titled(row)} has only QOS {row.values['qos']}"
        limited = [(row, key) for row, key in product(rows, ON_SUBMISSION) if is_set(row, key)]
        of_qos = {key[:3] for row, key in limited if row.of == "qos"}
        for row, column in limited:
            if row.of == "qos" or column[:3] not in of_qos:
                used = sum(
                    self.covers(row, other)
                    and all(getattr(other, of) == getattr(job, of) for of in ON_SUBMISSION[column])
                    for other in others
                )
                if used + count > (values.number(row.values[column]) or 0):
                    yield f"{_named(row, column)}: {used} are submitted"

    def overridden(self, jobs: Iterable[SlurmJob]) -> set[tuple[str, ...]]:
        """Return the limits that jobs count for and others bind: title, name, and who share it."""
        alike = {(job.account, job.qos, job.user, job.partitions): job for job in jobs}
        return {
            key
            for job in alike.values()
            for name, rows in _things(self.of(job)).items()
            if (rows[0].of == "qos" and len(rows) > 1)
            or any(is_set(row, "limitfactor") for row in self.of(job))
            for key in _keys(name, rows, job)
        }

    def left_of(
        self, job: SlurmJob, exclusive: Collection[str], overridden: Collection[tuple[str, ...]]
    ) -> Iterator[str]:
        """Yield what no method obeys of the limits for a job. exclusive: titles of the rows that
        count for pending jobs on whole nodes. overridden: as :meth:`overridden` returns them.
        """
        for row in self.of(job, surely=False):
            yield from _not_modelled(row, job, exclusive)
        yield from (text for text, _ in self.exceeded(job))
        for name, rows in () if job.allocation else _things(self.of(job)).items():
            of = dict.fromkeys(_titled(r) if r.of == "qos" else "its association" for r in rows)
            if len(of) > 1:
                yield f"{name} of {' and '.join(of)}: Slurm counts one of them"
            elif found := [key for key in _keys(name, rows, job) if key in overridden]:
                yield f"{name} of {found[0][0]}: jobs that another limit binds are not counted"

    def max_nodes(self, job: SlurmJob) -> int | None:
        """Return the nodes that limits on nodes allow a job, None if there are none.

        Those of its QOS precede those of its account (acct_policy_get_max_nodes).
        """
        for kind in ("qos", "association"):
            cells = [
                values.tres(row.values[column])
                for row in self.of(job)
                for column in ("grptres", "maxtres", "maxtrespu", "maxtrespa")
                if row.of == kind and is_set(row, column)
            ]
            if found := [int(cell["node"]) for cell in cells if "node" in cell]:
                return min(found)
        return None

    def within_nodes(self, job: SlurmJob) -> SlurmJob:
        """Return a pending job on no more nodes than limits allow, if it needs no more."""
        fewest, wanted = _node_range(job)
        most = min(wanted, max(fewest, self.max_nodes(job) or wanted))
        for column in ("maxtres", "maxtresmins"):
            cells = [row.values[column] for row in self.of(job) if is_set(row, column)]
            beyond = [_is_beyond(job, column, cell, fewest) for cell in cells]
            if beyond == [False]:  # of several Slurm counts one
                key = partial(_is_beyond, job, column, cells[0])
                most = bisect_left(range(most + 1), 1, fewest, key=lambda n: bool(key(n))) - 1
        return job if most == wanted else replace(job, size=replace(job.size, max_nodes=most))

    def exceeded(self, job: SlurmJob) -> Iterator[tuple[str, bool]]:
        """Yield the limits of each job that a job exceeds, and the minima that it is below, each
        with whether it does on any number of nodes that it may have.
        """
        job = self.within_nodes(job)
        for row in self.of(job, surely=False):
            for column in filter(partial(is_set, row), OF_ONE_JOB):
                cell, named = row.values[column], _named(row, column)
                found = {_is_beyond(job, column, cell, nodes) for nodes in _node_range(job)}
                is_minimum = column == "mintres"
                if found == {True}:
                    beyond = "is below" if is_minimum else "exceeds"
                    yield f"{named}: Slurm starts no job that {beyond} it", True
                elif found != {False}:
                    yield f"{named}: the job may {'be below' if is_minimum else 'exceed'} it", False

    def may_hold(self, row: SlurmLimit, column: str, tres: str, job: SlurmJob) -> bool:
        """Whether a limit of a row may hold back a job that it covers: one that methods obey only
        if running jobs leave too little. tres: start of the names of the limited TRES.
        """
        if not is_set(row, column):
            return False
        cell = row.values[column]
        if column not in _SHARED_BY:
            return has_tres(cell, tres)
        runs = [
            _amounts(other)
            for other in self.running
            if self.covers(row, other)
            and all(getattr(other, name) == getattr(job, name) for name in _SHARED_BY[column])
        ]
        asked = _amounts(job)
        limits = values.tres(cell) if "tres" in column else {"jobs": values.number(cell) or 0.0}
        return any(
            (name != "jobs" and not _amount_name(name))
            or sum(run.get(name, 0.0) for run in runs) + asked.get(name, 0.0) > limit
            for name, limit in limits.items()
            if name.startswith(tres) or name == "jobs"
        )


def partitions_of(row: SlurmLimit) -> tuple[str, ...]:
    """Return the partitions of an association, or those that have a QOS; () for none."""
    return tuple(row.values["partition"].split(",")) if is_set(row, "partition") else ()


def _amounts(job: SlurmJob, nodes: int = 0) -> dict[str, float]:
    """Return the amounts of a job that limits count: by TRES, and its number as "jobs".

    nodes: that it has, 0 for those of its request. What its record has no sum of is that of its
    request; memory that is not known is missing.
    """
    size = job.size
    fewest, nodes = max(1, size.nodes), nodes or max(1, size.nodes)
    cpus = max(size.cpus, sum(job.allocation.values()))
    counted: Counter[str] = Counter()
    for asked, times in (
        (size.gres_per_node, nodes), (size.gres_per_job, 1), (size.gres_per_task, size.tasks)
    ):  # fmt: skip
        for name, count in asked.items():
            counted.update({f"gres/{part}": count * times for part in {name, name.split(":")[0]}})
    counted.update({f"license/{name}": count for name, count in licence_counts(job.licences)})
    memory = (size.memory_per_node or 0) * nodes or (size.memory_per_cpu or 0) * cpus
    known = {"mem": memory} if memory and not size.memory_per_gpu else {}
    fixed = {"cpu", *(["mem"] if size.memory_per_cpu else [])}
    fixed |= {name for name in counted if name.startswith("license/") or not size.gres_per_node}
    printed = {
        name: amount if name in fixed else amount * nodes / fewest
        for name, amount in size.requested.items()
    }
    return {**counted, **known, **printed, "node": nodes, "jobs": 1.0, "cpu": cpus}


def _inherited(own: str, above: str, column: str) -> str:
    """Return a limit of an association: its own, else that above it, for each TRES by itself."""
    if "tres" not in column:
        return own if own not in ("", "N", "-1") else above
    parts = (part.partition("=") for part in f"{above},{own}".split(","))
    found = {name: amount for name, _, amount in parts if amount not in ("", "N")}
    return ",".join(f"{name}={amount}" for name, amount in found.items())


def has_tres(cell: str, tres: str) -> bool:
    """Whether a cell limits a TRES whose name begins so."""
    return not tres or any(name.startswith(tres) for name in values.tres(cell))


def is_set(row: SlurmLimit, column: str) -> bool:
    """Return whether a cell has a value: ``cpu=N,mem=N`` and ``N`` have none."""
    cell = row.values.get(column, "")
    if values.blank(cell) or cell in ("N", "-1"):
        return False
    return any(part.partition("=")[2] not in ("N", "") for part in cell.split(",")) or (
        "=" not in cell
    )


def limits_of(seen: SlurmState, notes: Remarks) -> Binding:
    """Return the limits that bind jobs, and notes about limits that are not modelled."""
    bound = Binding()
    if not enforces_limits(seen.settings):
        return bound
    bound.rows = listed = LimitRows(seen.limits, seen.jobs, seen.partitions)
    has_qos = re.search("qos|all", seen.settings.get("accountingstorageenforce", "qos").lower())
    bound.for_new = tuple(_for_new(listed.rows.values(), "qos$|defqos" if has_qos else "defqos"))
    bound.by_qos = any(
        row.of == "qos" and row.values and not partitions_of(row) for row in bound.for_new
    )
    bound.limits += _made(listed, seen.jobs, by_qos=bound.by_qos)
    several: defaultdict[str, list[str]] = defaultdict(list)
    exclusive = {
        _titled(row)
        for job in seen.jobs
        if job.sharing == "none" and not job.allocation
        for row in listed.of(job, surely=False)
    }
    overridden = listed.overridden(seen.jobs)
    for job in seen.jobs:
        for text in listed.left_of(job, exclusive, overridden):
            several[text].append(job.full_id)
    for text, jobs in several.items():
        notes.touch(text, jobs)
    for text, touched in _unlisted(seen, listed):
        notes.touch(text, touched)
    known = {row.name for row in seen.limits if row.of == "qos"}
    for item in seen.partitions if "accountingstorageenforce" in seen.settings else ():
        if item.qos and item.qos not in known:
            lists = {
                SEVERAL.join(job.partitions) for job in seen.jobs if item.name in job.partitions
            }
            notes.touch(_unlisted_text("qos", item.qos), queues=sorted({item.name, *lists}))
    return bound


def _things(
    rows: Iterable[SlurmLimit], columns: Iterable[str] = _LIMITING
) -> dict[str, list[SlurmLimit]]:
    """Return the rows that set each limit of the model: ``GrpTRES cpu``, ``MaxJobsPU``."""
    found: defaultdict[str, list[SlurmLimit]] = defaultdict(list)
    for row in rows:
        for column in (column for column in columns if is_set(row, column)):
            name = spelt({"maxjobs": "maxjobspu"}.get(column, column))
            for tres in values.tres(row.values[column]) if "tres" in column else ("",):
                found[f"{name} {tres}".strip()].append(row)
    return found


def _keys(name: str, rows: Iterable[SlurmLimit], job: SlurmJob) -> Iterator[tuple[str, ...]]:
    """Yield a limit of each row, with the user or the account whose jobs share it with a job."""
    shared = _SHARED_BY[name.partition(" ")[0].lower()]
    yield from ((_titled(row), name, *(getattr(job, of) for of in shared)) for row in rows)


def _precedes_partition(row: SlurmLimit) -> bool:
    """Whether a QOS of jobs is counted before that of their partition."""
    return "overpartqos" in row.values.get("flags", "").lower()


def _for_new(rows: Iterable[SlurmLimit], more: str) -> Iterator[SlurmLimit]:
    """Yield each row with its limits, for new jobs. more: pattern of other columns that count."""
    counted = re.compile(rf"partition|flags|{more}|(grp|max)submit|{HOLDING.pattern}")
    for row in rows:
        kept = {name: row.values[name] for name in row.values if counted.match(name)}
        yield replace(row, values={name: kept[name] for name in kept if is_set(row, name)})


def left_of_limits(
    instance: Instance, job: SlurmJob, project: str, others: Sequence[SlurmJob], count: int
) -> tuple[str, ...]:
    """Return what no method obeys of the limits of Slurm for a new job: what may hold it back, why
    sbatch rejects it, and what no listing has of the QOS and the account that it names.

    project: of the job in limits of the model. others, count: as of LimitRows.refusals.
    """
    listed = rows_of_instance(instance)
    kinds = {row.name for row in listed.rows.values() if row.of == "qos"}
    accounts = {row.account for row in listed.rows.values() if row.of != "qos"}
    found = [
        _unlisted_text(kind, name)
        for kind, name, known in (("qos", job.qos, kinds), ("association", job.account, accounts))
        if name and known and name not in known
    ]
    bound = {
        limit.name
        for limit in instance.limits
        if limit.projects is None or {project, "all"} & {*limit.projects.names}
    }
    found += (f"sbatch rejects it: {why}" for why in listed.refusals(job, others, count))
    behind = listed.rows if any(item.exclusive for item in instance.pending) else ()
    found += listed.left_of(job, behind, listed.overridden(others))
    found += [
        _named(row, column)
        for row in listed.of(job, surely=False)
        for tres, number, word in MODELLED
        for column in (tres, number)
        if is_set(row, column) and f"{_label(row)}_{word}" not in bound
    ]
    return tuple(dict.fromkeys(found))


def rows_of_instance(instance: Instance) -> LimitRows:
    """Return the limits of an instance that was made from Slurm's output."""
    rows = [
        replace(row, values={column_name(name): cell for name, cell in row.values.items()})
        for row in instance.slurm_limits
    ]
    return LimitRows(rows)


def _unlisted(seen: SlurmState, listed: LimitRows) -> Iterator[tuple[str, list[str] | None]]:
    """Yield each QOS, account and user that enforced limits may bind and that no row is of, with
    the jobs it touches: None, any job, if no row is of its kind.
    """
    if "accountingstorageenforce" not in seen.settings:
        return
    known = {(row.of, row.name if row.of == "qos" else row.account) for row in seen.limits}
    kinds = {kind for kind, _ in known}
    accounts = [row for row in seen.limits if row.account not in ("", "root") and not row.user]
    limited = any(is_set(row, key) for row in accounts for key in filter(HOLDING.match, row.values))
    if limited and len(accounts) > 1 and not any(row.parent for row in accounts):
        kinds.discard("association")
    touched: defaultdict[str, list[str]] = defaultdict(list)
    for job in seen.jobs:
        for key in (("qos", job.qos), ("association", job.account)):
            if key[1] and key[0] in kinds and key not in known:
                touched[_unlisted_text(*key)].append(job.full_id)
        own = (listed.association(job.account, job.user, name) for name in job.partitions or ("",))
        if listed.has_users and job.user and job.account and not any(r and r.user for r in own):
            text = _unlisted_text("user", f"{job.user} in account {job.account}")
            touched[text].append(job.full_id)
    yield from touched.items()
    for kind, what in (
        ("qos", "QOS: give sacctmgr show qos"),
        ("association", "accounts: give sacctmgr show assoc tree"),
    ):
        if kind not in kinds:
            yield f"limits of {what}", None


def _unlisted_text(kind: str, name: str) -> str:
    what = {"qos": "QOS", "association": "account", "user": "user"}[kind]
    return f"limits of {what} {name}: no listing contains it"


def _label(row: SlurmLimit) -> str:
    return _titled(row).replace(" ", "_", 1)


def _titled(row: SlurmLimit) -> str:
    """Return the name of a row: ``qos normal``, ``assoc lab/ann/night``."""
    names = (row.account, row.user, ",".join(partitions_of(row)))
    return f"qos {row.name}" if row.of == "qos" else f"assoc {'/'.join(names).rstrip('/')}"


def _named(row: SlurmLimit, column: str) -> str:
    return f"{spelt(column)} of {_titled(row)} ({row.values[column]})"


def _made(listed: LimitRows, jobs: Iterable[SlurmJob], *, by_qos: bool) -> Iterator[Limit]:
    """Yield the limits of the model for these jobs. by_qos: whether their projects have a QOS."""
    everyone = Scope(("all",), each=True)
    accounts = dict.fromkeys(job.account or "default" for job in jobs)
    kinds = list(dict.fromkeys(job.qos or "none" for job in jobs)) if by_qos else []
    below = {name: set(map(_titled, listed.chain(name))) for name in accounts}
    #: Users whose jobs Slurm does not count with a limit of each user of their account.
    apart = {
        (row.account, row.user)
        for row in listed.rows.values()
        if row.user and (is_set(row, "maxjobs") or partitions_of(row))
    }
    #: What each QOS sets that other rows do not count for its jobs; LimitFactor multiplies limits.
    sets = [
        (row, {*_things([row]), *(["limitfactor group"] if is_set(row, "limitfactor") else [])})
        for row in listed.rows.values()
        if row.of == "qos"
    ]
    for row in listed.rows.values():
        of_qos, inside = row.of == "qos", partitions_of(row)
        own = row if of_qos else listed.whole(row)
        is_user = row.user and not of_qos and not inside
        others = listed.apart[row.account, row.user] if is_user else ()
        for tres, count, word in MODELLED:
            names = [name for name in accounts if of_qos or _titled(row) in below[name]]
            users = everyone if word in ("user", "jobs") else None
            if row.user or (word == "jobs" and not of_qos):
                names = [row.account] if row.account in accounts else []
                but = tuple(user for account, user in apart if account == row.account)
                users = Scope((row.user,)) if row.user else replace(everyone, excluded=but)
            if word == "jobs" and row.user and (row.account, row.user) not in apart:
                continue
            amounts = _amounts_of(own, tres, count)
            if not amounts:
                continue
            same = {*_things([own], (tres, count)), *([] if of_qos else [f"limitfactor {word}"])}
            over = [qos for qos, found in sets if qos is not row and found & same]
            lost = {qos.name for qos in over if not of_qos or _precedes_partition(qos)}
            pairs = [row.name] if of_qos else [qos for qos in kinds if qos not in lost]
            first = () if of_qos and (inside or _precedes_partition(row)) else over
            away = {*others, *(name for qos in first for name in partitions_of(qos))}
            left = tuple(name for name in inside if name not in away)
            queues = Scope(left or ("all",), excluded=() if left else tuple(sorted(away)))
            listed_names = tuple(f"{name}/{qos}" for name in names for qos in pairs)
            projects: Scope | None = Scope(listed_names or tuple(names), each=word == "account")
            if of_qos and inside:
                few = tuple(f"{name}/{qos}" for name in names for qos in kinds if qos in lost)
                projects = Scope(("all",), excluded=few) if few else None
            if names and (pairs or not kinds) and (left or not inside):
                yield Limit(
                    f"{_label(row)}_{word}", amounts, users=users,
                    queues=queues if left or away else None, projects=projects,
                )  # fmt: skip


def _amounts_of(row: SlurmLimit, tres: str, count: str) -> dict[str, float]:
    """Return the amounts of a limit of the model. tres, count: columns of the row."""
    amounts = {
        name: amount
        for of, amount in values.tres(row.values.get(tres, "")).items()
        if (name := _amount_name(of))
    }
    number = values.number(row.values.get(count) or None)
    if number is not None and math.isfinite(number) and number >= 0:
        amounts["jobs"] = number
    return amounts


def _amount_name(tres: str) -> str:
    """Return the name of a TRES in limits of the model, "" if these cannot have it."""
    if tres.startswith("license/"):
        return licence_name(tres.removeprefix("license/"))
    return {"cpu": "slots", "mem": "mem"}.get(tres, "")


def _not_modelled(row: SlurmLimit, job: SlurmJob, exclusive: Collection[str]) -> Iterator[str]:
    """Yield what no method obeys of a row and may hold back a job. exclusive: as of left_of."""
    of = _titled(row)
    takes_nodes = of in exclusive or (job.sharing == "none" and not job.allocation)
    for column, cell in row.values.items():
        if not is_set(row, column):
            continue
        named = _named(row, column)
        if column in _LIMITING:
            for tres in values.tres(cell):
                if not _amount_name(tres):
                    yield f"limit of {tres} of {of}"
                elif tres == "cpu" and takes_nodes:
                    yield f"{named}: here exclusive jobs count as requested, not whole nodes"
        elif column == "flags":
            if flags := [word for word in cell.split(",") if word.lower() not in _IDLE_FLAGS]:
                yield f"flags {', '.join(flags)} of {of}"
        elif HOLDING.match(column) and column not in OF_ONE_JOB:
            yield named


def spelt(column: str) -> str:
    """Return the name of a column as sacctmgr prints it: ``GrpTRESMins``."""
    return re.sub("|".join(_WORDS), lambda found: _WORDS[found[0]], column)


def _is_beyond(job: SlurmJob, column: str, cell: str, nodes: int) -> bool | None:
    """Return whether a job requests more than a limit of each job, or less than a minimum, on
    this number of nodes; None if that is not known.
    """
    if job.limit is None and column in ("maxwall", "maxtresmins"):
        return None
    minutes = (job.limit or 0) / 60
    if column == "maxwall":
        return minutes > (values.seconds(cell) or 0) / 60
    each = {"maxtrespn": 1 / nodes, "maxtresmins": minutes}.get(column, 1)
    asked, is_minimum = _amounts(job, nodes), column == "mintres"
    takes_nodes = job.sharing == "none" and not job.allocation
    found: set[bool | None] = set()
    for tres, bound in values.tres(cell).items():
        is_known = tres in asked or job.size.requested or tres.startswith(_COUNTED)
        amount = asked.get(tres, 0) * each
        is_beyond = amount < bound if is_minimum else amount > bound
        is_least = not is_known or (tres == "cpu" and takes_nodes)
        found.add(None if is_least and is_beyond == is_minimum else is_beyond)
    return True in found or (None if None in found else False)


def _node_range(job: SlurmJob) -> tuple[int, int]:
    """Return the fewest and the most nodes that a job may have."""
    size = job.size
    if job.allocation:
        return len(job.allocation), len(job.allocation)
    fewest = max(1, size.nodes, math.ceil(size.tasks / (size.tasks_per_node or max(1, size.tasks))))
    return fewest, max(fewest, size.max_nodes or size.tasks)
