"""Multifactor priorities: what the settings, sshare and sprio say of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...instance import Instance
from ...job import Job
from ...slurm_fairshare import (
    HALF_LIFE,
    Association,
    AssociationTree,
    FairshareRule,
    association_of,
    fairshare_rule,
    shares_of,
)
from ...slurm_priority import CALC_PERIOD, MAX_AGE, WEIGHED_TRES, AgeFactor, SizeAndPartition
from .. import slurm_values as values
from .seen import SlurmState
from .select_words import amounts_of, amounts_text, words_of

#: Weights that :func:`size_and_partition` needs.
_OWN_WEIGHTS = ("PriorityWeightJobSize", "PriorityWeightPartition")
#: TRES of a job by which its usage is billed here.
BILLED_TRES = (*WEIGHED_TRES, "gres/gpu")
_NAME = re.compile(r"[\w.@-]+")


def _lower(seen: SlurmState) -> dict[str, str]:
    return {name.lower(): value for name, value in seen.settings.items()}


def is_multifactor(settings: Mapping[str, str]) -> bool:
    """Return whether priorities have several parts; settings: by names in small letters."""
    return settings.get("prioritytype", "").lower().endswith("/multifactor")


def is_accounted(settings: Mapping[str, str]) -> bool:
    """Return whether there is the accounting without which age and fairshare do not count."""
    stored = settings.get("accountingstoragetype", "").lower()
    return not values.blank(stored) and not stored.endswith("/none")


def enforces_limits(settings: Mapping[str, str]) -> bool:
    """Return whether limits of associations are enforced; without the setting: yes."""
    enforced = settings.get("accountingstorageenforce", "limits").lower().split(",")
    return not {"limits", "safe", "all", "2"}.isdisjoint(word.strip() for word in enforced)


def weighs_fairshare(settings: Mapping[str, str]) -> bool:
    """Return whether fairshare is a part of priorities."""
    weight = values.whole(settings.get("priorityweightfairshare")) or 0
    return is_multifactor(settings) and is_accounted(settings) and weight > 0


def priority_text(seen: SlurmState) -> str:
    """Return the words of ``select_parameters`` for the parts of priorities, "" without parts."""
    settings = _lower(seen)
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
        yield AgeFactor(weight, known[0] or MAX_AGE, known[1] or CALC_PERIOD).text()
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
    own = words_of(instance).get("", {})
    if "PriorityUnknown" in own:
        return None
    return request_parts(instance)


def request_parts(instance: Instance) -> SizeAndPartition | None:
    """Return the parts that a request decides, None if priorities have none.

    Those of which something is unknown have the weight 0.
    """
    words = words_of(instance)
    own = words.get("", {})
    if any(name not in own for name in _OWN_WEIGHTS):
        return None
    hosts = instance.cluster.hosts
    factors = {
        name: int(given["PriorityJobFactor"])
        for name, given in words.items()
        if "PriorityJobFactor" in given
    }
    rule_flags = frozenset(filter(None, own.get("PriorityFlags", "").split("+")))
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
        rule_flags,
    )


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
    """Return the associations, () if fairshare is no part of priorities."""
    if not weighs_fairshare(_lower(seen)):
        return ()
    return tuple(
        Association(
            item.account,
            item.user,
            item.parent,
            item.partition,
            item.shares,
            item.usage,
            item.factor,
        )
        for item in seen.shares
    )


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
