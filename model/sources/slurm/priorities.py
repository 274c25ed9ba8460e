"""Multifactor priorities as the settings, sshare and sprio give them, compared with ours.

Contradictions become notes.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields

from ... import slurm_values as values
from ...display import some
from ...instance import Instance
from ...job import Job
from ...slurm_fairshare import (
    HALF_LIFE,
    Association,
    AssociationTree,
    FairshareRule,
    Shares,
    association_of,
    fairshare_rule,
    shares_of,
)
from ...slurm_priority import (
    AGE_WORDS,
    CALC_PERIOD,
    MAX_AGE,
    WEIGHED_TRES,
    PriorityRequest,
    SizeAndPartition,
    age_factor,
)
from ...slurm_select import amounts_of, amounts_text, flags_of, words_of
from ..lsf_state.values import Remarks
from .seen import SlurmJob, SlurmJobSize, SlurmPriority, SlurmShare, SlurmState

#: Weights that :func:`size_and_partition` needs.
_OWN_WEIGHTS = ("PriorityWeightJobSize", "PriorityWeightPartition")
#: TRES of a job by which its usage is billed here.
BILLED_TRES = (*WEIGHED_TRES, "gres/gpu")
_NAME = re.compile(r"[\w.@-]+")


def is_multifactor(settings: Mapping[str, str]) -> bool:
    """Return whether priorities have several parts; settings: by names in small letters."""
    return settings.get("prioritytype", "").lower().endswith("/multifactor")


def is_accounted(settings: Mapping[str, str]) -> bool:
    """Return whether there is the accounting without which age and fairshare do not count."""
    stored = settings.get("accountingstoragetype", "").lower()
    return not values.blank(stored) and not stored.endswith("/none")


def enforces_limits(settings: Mapping[str, str]) -> bool:
    """Return whether limits are enforced; ``qos`` alone enforces none, no setting all."""
    enforced = settings.get("accountingstorageenforce", "limits").lower().split(",")
    return not {"limits", "safe", "all", "2"}.isdisjoint(word.strip() for word in enforced)


def weighs_fairshare(settings: Mapping[str, str]) -> bool:
    """Return whether fairshare is a part of priorities."""
    weight = values.whole(settings.get("priorityweightfairshare")) or 0
    return is_multifactor(settings) and is_accounted(settings) and weight > 0


def priority_text(seen: SlurmState) -> str:
    """Return the words of ``select_parameters`` for the parts of priorities, "" without parts."""
    settings = seen.settings
    if not is_multifactor(settings):
        return ""
    return "".join(f",{word}" for word in [*_moving(seen, settings), *_static(seen, settings)])


def _moving(seen: SlurmState, settings: Mapping[str, str]) -> Iterator[str]:
    """Yield the words for age and fairshare, which need the accounting of slurmdbd."""
    flags = frozenset(values.text(settings.get("priorityflags")).upper().split(",")) - {""}
    weight = values.whole(settings.get("priorityweightage")) or 0
    shares = weighs_fairshare(settings) and bool(seen.shares)
    if is_accounted(settings) and (weight or shares):
        times = [settings.get(name, "") for name in ("prioritymaxage", "prioritycalcperiod")]
        known = [values.clock_seconds(text) if text else 0 for text in times]
        numbers = (weight, known[0] or MAX_AGE, known[1] or CALC_PERIOD)
        yield from map("{}={}".format, AGE_WORDS, numbers)
    if shares:
        half_life = settings.get("prioritydecayhalflife", "")
        yield FairshareRule(
            values.whole(settings["priorityweightfairshare"]) or 0,
            values.clock_seconds(half_life) if half_life else HALF_LIFE,
            damping=values.whole(settings.get("fairsharedampeningfactor")) or 1,
            flags=flags,
            counts_ends=enforces_limits(settings),
        ).text()
    elif flags:
        yield f"PriorityFlags={'+'.join(sorted(flags))}"
    for item in seen.partitions if shares else ():
        if item.billing:
            yield f"{item.name}:TRESBillingWeights={amounts_text(dict(item.billing))}"


def _static(seen: SlurmState, settings: Mapping[str, str]) -> Iterator[str]:
    """Yield the words for the parts that a request decides."""
    for name in _OWN_WEIGHTS:
        yield f"{name}={values.whole(settings.get(name.lower())) or 0}"
    if values.truth(settings.get("priorityfavorsmall", "no")):
        yield "PriorityFavorSmall=1"
    for item in seen.partitions:
        yield f"{item.name}:PriorityJobFactor={item.job_factor}"
    unknown = ["FAIRSHARE"] if weighs_fairshare(settings) and not seen.shares else []
    if values.whole(settings.get("priorityweightqos")):
        known = _qos_priorities(seen)
        if known:
            yield f"PriorityWeightQOS={values.whole(settings['priorityweightqos'])}"
            yield f"PriorityQOS={amounts_text(known)}"
        else:
            unknown.append("QOS")
    weights = settings.get("priorityweighttres", "")
    if not values.blank(weights):
        found = values.tres_weights(weights)
        # A weight without a unit is that of a part of 1: of memory too.
        if set(found) <= set(WEIGHED_TRES):
            yield f"PriorityWeightTRES={amounts_text(found)}"
        else:
            unknown.append("TRES")
    if values.whole(settings.get("priorityweightassoc")):
        unknown.append("ASSOC")
    if not values.blank(settings.get("prioritysitefactorplugin")):
        unknown.append("SITE")
    if unknown:
        yield f"PriorityUnknown={'+'.join(unknown)}"


def _qos_priorities(seen: SlurmState) -> dict[str, float]:
    """Return Priority by QOS, {} if no input has it or a name cannot be written."""
    found = {
        row.name: values.number(row.values.get("priority")) or 0.0
        for row in seen.limits
        if row.of == "qos"
    }
    printed = any("priority" in row.values for row in seen.limits if row.of == "qos")
    return found if printed and all(map(_NAME.fullmatch, found)) else {}


def size_and_partition(instance: Instance) -> SizeAndPartition | None:
    """Return the parts that a request decides, None if priorities have unknown parts or none."""
    if "PriorityUnknown" in words_of(instance.params.select_parameters)[""]:
        return None
    return request_parts(instance)


def request_parts(instance: Instance) -> SizeAndPartition | None:
    """Return the parts that a request decides, None if priorities have none.

    Those of which something is unknown have the weight 0.
    """
    words = words_of(instance.params.select_parameters)
    own = words[""]
    if any(name not in own for name in _OWN_WEIGHTS):
        return None
    hosts = instance.cluster.hosts
    factors = {
        name: int(given["PriorityJobFactor"])
        for name, given in words.items()
        if "PriorityJobFactor" in given
    }
    qos = amounts_of(own.get("PriorityQOS", ""))
    return SizeAndPartition(
        int(own["PriorityWeightJobSize"]),
        int(own["PriorityWeightPartition"]),
        factors,
        len(hosts),
        sum(host.slots for host in hosts),
        "PriorityFavorSmall" in own,
        int(own.get("PriorityWeightQOS", "0")),
        {name: int(priority) for name, priority in qos.items()},
        weights := amounts_of(own.get("PriorityWeightTRES", "")),
        _totals(instance) if weights else {},
        flags_of(own),
    )


def request_of(
    size: SlurmJobSize, partition: str, minutes: int | None, qos: str, nice: int = 0
) -> PriorityRequest:
    """Return what the priority of a job measures."""
    memory = (size.memory_per_node or 0.0) * size.nodes or (size.memory_per_cpu or 0.0) * size.cpus
    return PriorityRequest(size.nodes, size.cpus, partition, memory, minutes, qos, nice)


def _totals(instance: Instance) -> dict[str, dict[str, float]]:
    """Return nodes, CPUs and MB of each partition."""
    found = {}
    for queue in instance.queues:
        names = {request.name for request in queue.hosts}
        inside = [host for host in instance.cluster.hosts if not names or host.name in names]
        found[queue.name] = {
            "cpu": float(sum(host.slots for host in inside)),
            "node": float(len(inside)),
            "mem": sum(host.amounts.get("mem", 0.0) for host in inside),
        }
    return found


def associations_of(seen: SlurmState) -> tuple[Association, ...]:
    """Return the associations, () if fairshare is not part of priorities."""
    if not weighs_fairshare(seen.settings):
        return ()
    names = [item.name for item in fields(Association)]
    return tuple(Association(*(getattr(row, name) for name in names)) for row in seen.shares)


def fairshare_part(instance: Instance, job: Job) -> float | None:
    """Return the fairshare part of a new job, 0.0 if there is none, None if it is not known."""
    rule = fairshare_rule(instance.params.select_parameters)
    if rule is None or not instance.associations:
        return 0.0
    tree = AssociationTree.of(instance.associations)
    number = association_of(tree, job)
    if number is None:
        return None
    stated = instance.associations[number].factor
    if stated is not None:
        return rule.weight * stated
    usage = [item.usage for item in instance.associations]
    return rule.weight * (shares_of(tree, usage, rule)[number].factor or 0.0)


#: Tolerance of fractions that are printed with six digits.
_DIGITS = 1.5e-6
#: Difference of a printed part that rounding and the age of a listing explain.
_ROUNDING = 1
#: Flags of priorities that move otherwise than here.
_INCREASE_ONLY = "INCR_ONLY"


def set_directly(rows: Iterable[SlurmPriority]) -> frozenset[str]:
    """Return the jobs whose priority an administrator has set: sprio has no parts of it."""
    return frozenset(
        row.job
        for row in rows
        if (row.priority or 0) > 1
        and len(row.parts) > 1
        and not any(row.parts.values())
        and not row.nice
        and not row.tres
    )


class PriorityCheck:
    """Comparison of an instance with the priorities that Slurm printed."""

    def __init__(self, instance: Instance, seen: SlurmState, notes: Remarks) -> None:
        self.instance, self.seen, self.notes = instance, seen, notes
        text = instance.params.select_parameters
        self.rule, self.age, self.parts = (
            fairshare_rule(text), age_factor(text), request_parts(instance),
        )  # fmt: skip
        self.tree = AssociationTree.of(instance.associations)
        self.usage = [item.usage for item in instance.associations]
        #: Shares of each association by RawUsage, () if fairshare does not count.
        self.by_usage: Sequence[Shares] = (
            shares_of(self.tree, self.usage, self.rule) if self.rule and self.usage else ()
        )

    def run(self) -> None:
        """Add a note for each contradiction, and for each part that does not move as in Slurm."""
        self._settings()
        self._shares()
        self._parts()

    def _ids(self) -> dict[str, list[str]]:
        """Return the pending jobs of each record: the elements of an array, else the job itself."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for item in self.instance.pending:
            found[item.id].append(item.id)
            if item.array_id and item.array_id != item.id:
                found[item.array_id].append(item.id)
        return found

    def _settings(self) -> None:
        """Name the settings that no method obeys, where priorities move."""
        settings, touch = self.seen.settings, self.notes.touch
        if not self.instance.pending:
            return
        if weighs_fairshare(settings) and not self.seen.shares:
            touch("PriorityWeightFairshare: the component of each job stays unchanged "
                  "(give sshare -a -l -P)")  # fmt: skip
        flags = values.text(settings.get("priorityflags")).upper()
        if _INCREASE_ONLY in flags and self.instance.params.grows_priorities:
            touch("PriorityFlags=INCR_ONLY: priorities also fall with fairshare")
        if not values.blank(settings.get("prioritysitefactorplugin")):
            touch("PrioritySiteFactorPlugin: the site factor of each job stays unchanged")
        if self.rule is None:
            return
        if "DEPTH_OBLIVIOUS" in self.rule.flags and not self.rule.is_fair_tree:
            touch("PriorityFlags=DEPTH_OBLIVIOUS: factors are computed without it")
        reset = values.text(settings.get("priorityusageresetperiod")).upper()
        if reset not in ("", "NONE"):
            touch(f"PriorityUsageResetPeriod={reset}: the periodic reset is not simulated")
        self._billing()
        for row in self.seen.shares:
            if row.minutes:
                jobs = self._below([row])
                if jobs:
                    touch(f"GrpTRESMins of {_title(row)}: {row.minutes} is not applied", jobs)

    def _billing(self) -> None:
        """Name factors of usage that are not applied: of a QOS, and of other TRES."""
        kinds = {job.qos for job in self.seen.jobs}
        for limit in self.seen.limits:
            if limit.of != "qos" or limit.name not in kinds:
                continue
            factor = values.number(limit.values.get("usagefactor") or None)
            if factor is not None and factor != 1:
                self.notes.touch(f"UsageFactor={factor:g} of QOS {limit.name}: not applied")
        used = {name for job in self.seen.jobs for name in job.partitions}
        for item in self.seen.partitions:
            others = sorted(set(item.billing) - {*BILLED_TRES, "billing", "energy"})
            if others and item.name in used:
                self.notes.touch(
                    f"TRESBillingWeights of {', '.join(others)} of partition {item.name}: not "
                    "billed"
                )

    def _below(self, rows: Sequence[SlurmShare]) -> list[str]:
        """Return the pending jobs that one of these associations bills."""
        numbers = {self.tree.find(row.account, row.user, row.partition) for row in rows}
        return [
            job.id
            for job in self.instance.pending
            if (own := association_of(self.tree, job)) is not None
            and not numbers.isdisjoint(self.tree.chain(own))
        ]

    def _shares(self) -> None:
        """Compare sshare with what its own shares and usage give."""
        rule, tree, usage = self.rule, self.tree, self.usage
        if rule is None or not usage:
            return
        computed = shares_of(tree, usage, rule, _printed_accounts(self.seen.shares, rule))
        alone = [job.id for job in self.instance.pending if association_of(tree, job) is None]
        if alone:
            self.notes.touch(
                f"sshare has no row for the user and account of {some(alone)}: fairshare stays as "
                "it is now", alone,
            )  # fmt: skip
        wrong = []
        for number, row in enumerate(self.seen.shares):
            above = tree.compared_under[number]
            late = self._late(rule, 0.0 if above is None else usage[above])
            text = _contradiction(row, computed[number], self.by_usage[number], rule, late)
            if text:
                wrong.append((row, text))
        if not wrong:
            return
        jobs = self._below([row for row, _ in wrong])
        if jobs or any(not row.user for row, _ in wrong):
            first, text = wrong[0]
            self.notes.touch(
                f"sshare contradicts itself in {len(wrong)} row(s): {text} of {_title(first)} "
                "(give sshare -a -l -P of one instant)", jobs,
            )  # fmt: skip

    def _late(self, rule: FairshareRule, usage: float) -> float:
        """Return the use that may have come since the last computation, as a part of `usage`."""
        weights = [weight for item in self.seen.partitions for weight in item.billing.values()]
        slots = sum(host.slots for host in self.instance.cluster.hosts)
        used = slots * max([1.0, *weights]) * rule.period + 2
        return used / usage if usage else 0.0

    def _parts(self) -> None:
        """Compare sprio with squeue, and its parts with those computed."""
        rows: defaultdict[str, list[SlurmPriority]] = defaultdict(list)
        for row in self.seen.priorities:
            rows[row.job].append(row)
        found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        by_id = {job.id: job for job in self.instance.pending}
        fixed = set_directly(self.seen.priorities)
        ids_of = self._ids()
        for job in self.seen.jobs:
            ids = ids_of.get(job.full_id, []) if "pending" in job.state else []
            for row in rows.get(job.id, ()) if ids else ():
                sums = () if job.id in fixed else self._differences(job, by_id[ids[0]], row)
                for column, text in (*_of_total(job, row, is_set=job.id in fixed), *sums):
                    found[column] += [(name, text) for name in ids]
        for column, items in found.items():
            jobs = list(dict.fromkeys(name for name, _ in items))
            self.notes.touch(
                f"sprio contradicts {column} of {some(jobs)}: {items[0][1]}", jobs, count=len(jobs)
            )

    def _differences(
        self, job: SlurmJob, own: Job, row: SlurmPriority
    ) -> Iterator[tuple[str, str]]:
        """Yield the columns whose printed part is not the computed one."""
        partition = row.partition or (job.partitions[0] if job.partitions else "")
        computed = dict(self._of_request(job, partition))
        if self.by_usage and self.rule is not None:
            number = self.tree.find(own.project.partition("/")[0], own.user, partition)
            if number is not None:
                # sshare has been compared with the formula; the classic one lags behind usage.
                printed_factor = self.seen.shares[number].factor
                factor = self.by_usage[number].factor if printed_factor is None else printed_factor
                computed["FAIRSHARE"] = self.rule.weight * (factor or 0.0)
        for column, value in computed.items():
            printed = row.tres if column == "TRES" else row.parts.get(column)
            if printed is not None and abs(printed - value) > _ROUNDING:
                yield column, f"{column} {printed}, computed {round(value)}"
        yield from self._of_age(own, row)

    def _of_request(self, job: SlurmJob, partition: str) -> Iterator[tuple[str, float]]:
        if self.parts is None or (job.size.all_memory and self.parts.tres_weights):
            return
        minutes = int(job.limit / 60) if job.limit and math.isfinite(job.limit) else None
        request = request_of(job.size, partition, minutes, job.qos)
        for column, part in self.parts.parts(request).items():
            if column == "QOS" and job.qos not in self.parts.qos:
                continue
            if column == "TRES" and not self.parts.tres_weights:
                continue
            yield column, float(part)

    def _of_age(self, job: Job, row: SlurmPriority) -> Iterator[tuple[str, str]]:
        """Yield an AGE that no instant within a PriorityCalcPeriod before now explains."""
        printed = row.parts.get("AGE")
        if self.age is None or printed is None or job.dependency:
            return
        most = self.age.part(job, 0) + _ROUNDING
        least = self.age.part(job, -self.age.period) - _ROUNDING
        if not least <= printed <= most:
            yield "AGE", f"AGE {printed}, computed {most - _ROUNDING}"


def _printed_accounts(rows: Sequence[SlurmShare], rule: FairshareRule) -> dict[int, float]:
    """Return the effective usage that sshare prints, by number: of accounts, in Fair Tree of all.

    It is that of the last computation; RawUsage has the use of jobs that finished since.
    """
    return {
        number: row.effective_usage
        for number, row in enumerate(rows)
        if row.effective_usage is not None and (rule.is_fair_tree or not row.user)
    }


def _title(row: SlurmShare) -> str:
    return f"user {row.user} of account {row.account}" if row.user else f"account {row.account}"


def _contradiction(
    row: SlurmShare, own: Shares, by_usage: Shares, rule: FairshareRule, late: float
) -> str:
    """Return a printed value that differs from the computed one, "" if none does.

    own: by the printed effective usage, by_usage: by RawUsage. late: use since the last computation
    as a part of that of the account above.
    """
    if row.norm_shares is not None and abs(row.norm_shares - own.norm_shares) > _DIGITS:
        return f"NormShares {row.norm_shares:g}, computed {own.norm_shares:.6f},"
    if row.factor is not None:
        known = [(own.factor or 0.0, _DIGITS), (by_usage.factor or 0.0, _DIGITS)]
        known += [] if rule.is_fair_tree else [_by_printed(row, own, rule)]
        if all(abs(row.factor - factor) > digits for factor, digits in known):
            return f"FairShare {row.factor:g}, computed {known[-1][0]:.6f},"
    printed = row.effective_usage
    if printed is not None and abs(printed - by_usage.effective_usage) > _DIGITS + late:
        return f"EffectvUsage {printed:g}, computed {by_usage.effective_usage:.6f},"
    if row.level and math.isfinite(row.level) and printed:
        # LevelFS is NormShares / EffectvUsage, each printed with six digits.
        computed = own.norm_shares / printed
        if abs(row.level - computed) > _DIGITS * (1 + (1 + computed) / printed):
            return f"LevelFS {row.level:g}, computed {computed:.6f},"
    return ""


def _by_printed(row: SlurmShare, own: Shares, rule: FairshareRule) -> tuple[float, float]:
    """Return the classic factor by the printed effective usage, and the tolerance of its digits."""
    used, norm = row.effective_usage, own.norm_shares
    if used is None or not norm:
        return own.factor or 0.0, _DIGITS
    return float(2.0 ** -(used / norm / rule.damping)), _DIGITS * (1 + 1 / (norm * rule.damping))


def _of_total(job: SlurmJob, row: SlurmPriority, *, is_set: bool) -> Iterator[tuple[str, str]]:
    """Yield how PRIORITY differs from the sum of its parts, and from squeue."""
    if row.priority is None:
        return
    whole = {"AGE", "FAIRSHARE", "JOBSIZE", "PARTITION", "QOS", "SITE", "ASSOC"} <= set(row.parts)
    if whole and row.tres is not None and not is_set:
        total = max(1, sum(row.parts.values()) + row.tres - row.nice)
        if abs(total - row.priority) > len(row.parts) / 2 + _ROUNDING:
            yield "itself in PRIORITY", f"PRIORITY {row.priority}, its components add up to {total}"
    if len(job.partitions) == 1 and job.priority and abs(job.priority - row.priority) > _ROUNDING:
        yield "squeue in the priority", f"PRIORITY {row.priority}, squeue prints {job.priority}"
