"""Requirements of job, application and queue as one (REQ-14 … REQ-17, RSV-05, RSV-06)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from ..cluster import BUILTIN_INDICES
from ..configuration import Params
from ..errors import InputError, Problem
from ..gpu_request import (
    GPU_NAMES,
    NOTHING_OF_ITS_OWN,
    OLD_EXCLUSIVE,
    PHYSICAL,
    GpuRequest,
    gpu_options,
    gpu_request,
)
from ..instance import Instance
from ..job import Job
from .errors import ResreqError
from .extsched import laid_out
from .parser import check_together, parse_with_notes
from .printer import in_own_unit, print_requirement
from .syntax import (
    ORDINARY,
    Amount,
    Compound,
    Expression,
    Options,
    OrderKey,
    Requirement,
    Rusage,
    Simple,
    Term,
    UsageString,
    joined,
    simples,
)
from .vocabulary import Vocabulary

#: One alternative: usage strings that are reserved together.
Alternative: TypeAlias = tuple[UsageString, ...]


def amounts(alternative: Alternative) -> dict[str, tuple[Amount, UsageString]]:
    """Each resource of an alternative with its amount and the usage string it stands in."""
    return {amount.resource: (amount, usage) for usage in alternative for amount in usage.amounts}


def alternatives(rusage: Rusage | None) -> tuple[Alternative, ...]:
    """The alternatives of a section; an absent one has one empty alternative."""
    return ((),) if rusage is None else rusage.alternatives


def combined_usages(first: Rusage | None, second: Rusage | None, text: str) -> Rusage | None:
    """The sections of two -R options of one level joined by commas, alternatives multiplied."""
    if first is None or second is None:
        return first or second
    for one in first.alternatives:
        for other in second.alternatives:
            twice = sorted(amounts(one).keys() & amounts(other).keys())
            if twice:
                raise ResreqError(f"{twice[0]} is reserved by two -R options; the second is {text}")
    return Rusage(tuple(a + b for a in first.alternatives for b in second.alternatives))


def without(alternative: Alternative, names: Collection[str]) -> Alternative:
    """An alternative less the resources of `names`; usage strings left empty go too."""
    kept = (
        replace(usage, amounts=tuple(a for a in usage.amounts if a.resource not in names))
        for usage in alternative
    )
    return tuple(usage for usage in kept if usage.amounts)


def overridden(upper: Alternative, lower: Alternative, *, joint: bool) -> Alternative:
    """`upper` (job) over `lower` (queue): resources named above win, the others are kept.

    joint: neither level has alternatives. Then one usage string over another gives one string, as
    in the documents' examples: where the upper one sets no duration or decay it takes the lower
    one's, for all its resources. Otherwise the strings stay apart, and an upper string without a
    duration takes that of the lower string whose resource it overrides. Phases are never mixed.
    An amount that does not say per what it counts counts as the lower one's.
    """
    if not upper or not lower:
        return upper or lower
    upper = _counted_as(upper, lower)
    rest = without(lower, amounts(upper).keys())
    one_each = joint and len(upper) == 1 and len(lower) == 1
    if one_each and not _keeps_apart(upper[0], lower[0], bool(rest)):
        kept = rest[0].amounts if rest else ()
        return (_inheriting(replace(upper[0], amounts=upper[0].amounts + kept), lower[0]),)
    return tuple(_overriding(usage, lower) for usage in upper) + rest


def _counted_as(upper: Alternative, lower: Alternative) -> Alternative:
    """`upper`, its amounts per host, task or job as `lower` has them where it does not say."""
    per = {name: amount.per for name, (amount, _) in amounts(lower).items()}

    def counted(amount: Amount) -> Amount:
        return replace(amount, per=amount.per or per.get(amount.resource, ""))

    return tuple(replace(usage, amounts=tuple(map(counted, usage.amounts))) for usage in upper)


def _keeps_apart(upper: UsageString, lower: UsageString, more: bool) -> bool:
    """One string cannot hold both: phases, or a short job-level duration over a lasting amount."""
    return upper.phased or lower.phased or (more and bool(upper.durations) and not lower.durations)


def _overriding(usage: UsageString, lower: Alternative) -> UsageString:
    below = amounts(lower)
    for amount in usage.amounts:
        if amount.resource in below:
            return _inheriting(usage, below[amount.resource][1])
    return usage


def _inheriting(usage: UsageString, lower: UsageString) -> UsageString:
    if usage.phased or lower.phased:
        return usage
    return replace(
        usage,
        durations=usage.durations or lower.durations,
        decays=usage.decays or lower.decays,
    )


@dataclass(frozen=True, slots=True)
class Ranges:
    """RESRSV_LIMIT, resource to least and greatest value, MB for sizes."""

    bounds: Mapping[str, tuple[float, float]]
    #: LSF_UNIT_FOR_LIMITS, in which sentences give mem and swp.
    unit: str = "MB"

    def shown(self, resource: str, value: float) -> str:
        """An amount as people write it here."""
        return in_own_unit(resource, value, self.unit)


def exceeding(
    upper: Alternative, lower: Alternative, ranges: Ranges, level: str, *, joint: bool
) -> tuple[str, ...]:
    """What `upper` asks beyond `lower`, the rusage of `level`, a sentence each; () if nothing.

    Internal indices may not exceed it, unless RESRSV_LIMIT gives the resource a range of its own;
    with phases the first one counts. Durations of any resource may not exceed it, phases aside.
    joint: both are one usage string, so that their durations meet even over different resources.
    """
    below = amounts(lower)
    problems = []
    for resource, (amount, usage) in amounts(upper).items():
        if resource not in below:
            continue
        most, held = below[resource]
        limited = resource in BUILTIN_INDICES and resource not in ranges.bounds
        if limited and amount.values and most.values and amount.values[0] > most.values[0]:
            asked, given = (ranges.shown(resource, each.values[0]) for each in (amount, most))
            problems.append(f"rusage {resource}={asked} exceeds {resource}={given} of the {level}")
        alone = joint and len(upper) == 1 and len(lower) == 1
        if not alone:
            problems += _longer(resource, usage, held, level)
    if joint and len(upper) == 1 and len(lower) == 1:
        problems += _longer("rusage", upper[0], lower[0], level)
    return tuple(dict.fromkeys(problems))


def _longer(what: str, usage: UsageString, held: UsageString, level: str) -> list[str]:
    single = not (usage.phased or held.phased)
    if single and usage.durations and held.durations and usage.durations[0] > held.durations[0]:
        return [
            f"{what}: duration {_minutes(usage.durations[0])} exceeds "
            f"{_minutes(held.durations[0])} of the {level}"
        ]
    return []


def _minutes(seconds: int) -> str:
    return f"{seconds} s" if seconds % 60 else f"{seconds // 60} min"


def outside(alternative: Alternative, ranges: Ranges) -> tuple[str, ...]:
    """The amounts of an alternative that lie outside RESRSV_LIMIT, a sentence each."""
    found = []
    for resource, (amount, _) in amounts(alternative).items():
        for value in amount.values if resource in ranges.bounds else ():
            least, most = ranges.bounds[resource]
            if not least <= value <= most:
                low, asked, high = (ranges.shown(resource, n) for n in (least, value, most))
                limit = f"RESRSV_LIMIT [{resource}={low},{high}]"
                found.append(f"rusage {resource}={asked} is outside {limit}")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Merged:
    """One requirement out of several, and what a reader should know about it, a sentence each."""

    requirement: Requirement
    warnings: tuple[str, ...] = ()


def combine(strings: Sequence[str], options: Options = ORDINARY) -> Merged:
    """The requirement of the -R options of one level; none at all is an empty requirement.

    Selections are and-ed, order, same and rusage joined; span, cu and affinity may stand once.
    Raises ResreqError for a compound or multi-phase string beside others and a resource that is
    reserved twice.
    """
    texts = [text for text in strings if text.strip()]
    if not texts:
        return Merged(Simple())
    if len(texts) == 1:
        alone = parse_with_notes(texts[0], options)
        return Merged(alone.requirement, alone.notes)
    apart = replace(options, together=False)
    parsed = [(text, parse_with_notes(text, apart)) for text in texts]
    notes = tuple(note for _, item in parsed for note in item.notes)
    result = Simple()
    for text, item in parsed:
        result = _added(result, _alone(item.requirement, text), text)
    if options.together:
        check_together(result, " ".join(texts))
    return Merged(result, notes)


def _alone(requirement: Requirement, text: str) -> Simple:
    if isinstance(requirement, Compound):
        raise ResreqError(f"the compound requirement {text} cannot be one of several -R options")
    if requirement.rusage is not None and requirement.rusage.phased:
        raise ResreqError(f"{text} has mem in phases: it cannot be one of several -R options")
    return requirement


def _added(first: Simple, second: Simple, text: str) -> Simple:
    for section in ("span", "cu", "affinity"):
        if all(getattr(item, section) not in (None, "") for item in (first, second)):
            raise ResreqError(f"{section}[] stands in two -R options; the second is {text}")
    return Simple(
        select=all_selected(first, second),
        order=_joined_order(first.order, second.order),
        rusage=combined_usages(first.rusage, second.rusage, text),
        span=first.span or second.span,
        same=all_same(first, second),
        cu=first.cu or second.cu,
        affinity=first.affinity or second.affinity,
        tiling=first.tiling or second.tiling,
    )


def all_selected(*levels: Simple) -> Expression | None:
    """The selections of all levels, and-ed."""
    parts = [level.select for level in levels if level.select is not None]
    return joined("&&", parts) if parts else None


def all_same(*levels: Simple) -> tuple[str, ...]:
    """The names of all same sections, each once."""
    return tuple(dict.fromkeys(name for level in levels for name in level.same))


def _joined_order(
    first: tuple[OrderKey, ...] | None, second: tuple[OrderKey, ...] | None
) -> tuple[OrderKey, ...] | None:
    """A key that comes again further right sorts nothing any more, so it is left out."""
    keys: dict[str, OrderKey] = {}
    for key in (first or ()) + (second or ()):
        keys.setdefault(key.resource, key)
    return tuple(keys.values()) or None


def merge_levels(
    job: Requirement | None,
    application: Requirement | None,
    queue: Requirement | None,
    *,
    resrsv_limit: Mapping[str, tuple[float, float]] | None = None,
    job_based: frozenset[str] = frozenset(),
    unit: str = "MB",
) -> Merged:
    """The requirement a job is scheduled by; None or an empty requirement is "not defined".

    resrsv_limit: RESRSV_LIMIT of the queue, resource to (least, greatest). job_based: resources
    reserved once a job: from the queue they go to the first term of a compound requirement.
    unit: LSF_UNIT_FOR_LIMITS, in which refusals give mem and swp.
    Raises InputError with one problem for each thing that exceeds what the queue allows. What is
    ignored by the rules for compound requirements stands in the warnings.
    """
    ranges = Ranges(resrsv_limit or {}, unit)
    warnings: list[str] = []
    job, application, queue = (
        None if level == Simple() else level for level in (job, application, queue)
    )
    queue = _within_ranges(queue, ranges, warnings)
    own, above = _own(job, application, warnings)
    if own is not None:
        _check_ranges(own, ranges)
    if isinstance(queue, Compound) and own is not None:
        warnings.append("the compound requirement of the queue is ignored: the job has its own")
        queue = None
    if isinstance(own, Compound):
        result: Requirement = _over_terms(own, queue, above, ranges, job_based, warnings)
    elif isinstance(queue, Compound):
        result = _cancelled(queue)
    else:
        result = _cancelled(_over(own or Simple(), queue or Simple(), ranges, warnings))
    return Merged(result, tuple(dict.fromkeys(warnings)))


def _own(
    job: Requirement | None, application: Requirement | None, warnings: list[str]
) -> tuple[Requirement | None, Simple | None]:
    """Job over application, and an application whose amounts are still a ceiling for the terms."""
    if job is None or application is None:
        return job or application, None
    if isinstance(job, Simple) and isinstance(application, Simple):
        return _override(job, application, _product(job.rusage, application.rusage)), None
    kind = "compound " if isinstance(application, Compound) else ""
    warnings.append(f"the {kind}requirement of the application is ignored: the job has its own")
    return job, application if isinstance(application, Simple) else None


def _out_of_range(requirement: Requirement, ranges: Ranges) -> list[str]:
    found = (
        problem
        for simple in simples(requirement)
        for alternative in alternatives(simple.rusage)
        for problem in outside(alternative, ranges)
    )
    return list(dict.fromkeys(found))


def _within_ranges(
    queue: Requirement | None, ranges: Ranges, warnings: list[str]
) -> Requirement | None:
    problems = _out_of_range(queue, ranges) if queue is not None else []
    warnings += [f"RES_REQ of the queue is ignored: {problem}" for problem in problems]
    return None if problems else queue


def _check_ranges(own: Requirement, ranges: Ranges) -> None:
    problems = _out_of_range(own, ranges)
    if problems:
        raise InputError(Problem(f"{problem} of the queue") for problem in problems)


def _over(upper: Simple, queue: Simple, ranges: Ranges, warnings: list[str]) -> Simple:
    rusage = _allowed(upper.rusage, queue.rusage, ranges, warnings)
    return _override(upper, queue, rusage)


def _override(upper: Simple, lower: Simple, rusage: Rusage | None) -> Simple:
    """All selections and same names count; of the other sections that of the narrower level."""
    return Simple(
        select=all_selected(upper, lower),
        order=upper.order or lower.order,
        rusage=rusage,
        span=upper.span or lower.span,
        same=all_same(upper, lower),
        cu=upper.cu or lower.cu,
        affinity=upper.affinity or lower.affinity,
        tiling=upper.tiling or lower.tiling,
    )


def _product(upper: Rusage | None, lower: Rusage | None) -> Rusage | None:
    """Alternatives multiplied out (REQ-17)."""
    pairs = [(a, b) for a in alternatives(upper) for b in alternatives(lower)]
    joint = len(pairs) == 1
    return _section([overridden(a, b, joint=joint) for a, b in pairs])


def _section(found: list[Alternative]) -> Rusage | None:
    kept = tuple(dict.fromkeys(found))
    return Rusage(kept) if any(kept) else None


def _allowed(
    upper: Rusage | None, queue: Rusage | None, ranges: Ranges, warnings: list[str]
) -> Rusage | None:
    """The product less the combinations that exceed the queue's; all of them is a refusal."""
    pairs = [(a, b) for a in alternatives(upper) for b in alternatives(queue)]
    joint = len(pairs) == 1
    problems = [exceeding(a, b, ranges, "queue", joint=joint) for a, b in pairs]
    if all(problems):
        _refuse([text for texts in problems for text in texts])
    for texts in problems:
        warnings += [f"an alternative is left out: {text}" for text in texts]
    return _section(
        [
            overridden(a, b, joint=joint)
            for (a, b), texts in zip(pairs, problems, strict=True)
            if not texts
        ]
    )


def _refuse(problems: list[str]) -> None:
    raise InputError(Problem(text) for text in dict.fromkeys(problems))


def _cancelled(requirement: Requirement) -> Requirement:
    """span[hosts=-1] has done its work once the levels are merged: no span is left (REQ-18)."""
    if isinstance(requirement, Compound):
        return Compound(
            tuple(replace(t, requirement=_no_span(t.requirement)) for t in requirement.terms)
        )
    return _no_span(requirement)


def _no_span(simple: Simple) -> Simple:
    gone = simple.span is not None and simple.span.hosts == -1
    return replace(simple, span=None) if gone else simple


def _over_terms(
    own: Compound,
    queue: Simple | Compound | None,
    application: Simple | None,
    ranges: Ranges,
    job_based: Collection[str],
    warnings: list[str],
) -> Requirement:
    """A simple queue requirement merged into every term of a compound one (REQ-16)."""
    problems = _exceeding_application(own, application, ranges) if application else []
    if not isinstance(queue, Simple):
        if problems:
            _refuse(problems)
        return _cancelled(own)
    if len(alternatives(queue.rusage)) > 1:
        raise ResreqError(
            "the queue reserves alternatives (||), which no compound requirement can be merged with"
        )
    if queue.same:
        warnings.append("same[] of the queue is ignored: the requirement is compound")
    if queue.cu is not None:
        warnings.append("cu[] of the queue is ignored: the requirement is compound")
    below = replace(queue, same=(), cu=None)
    terms: list[Term] = []
    for position, term in enumerate(own.terms):
        rusage = _for_term(own, queue.rusage, position, frozenset(job_based))
        try:
            merged = _over(term.requirement, replace(below, rusage=rusage), ranges, warnings)
            terms.append(replace(term, requirement=merged))
        except InputError as error:
            problems += [f"term {position + 1}: {item.message}" for item in error.problems]
    if problems:
        _refuse(problems)
    return _cancelled(Compound(tuple(terms)))


def _for_term(
    own: Compound, queue: Rusage | None, position: int, job_based: frozenset[str]
) -> Rusage | None:
    """What a term takes of the queue's rusage: job-based resources go to the first one only."""
    named = {
        name
        for simple in simples(own)
        for alternative in alternatives(simple.rusage)
        for name in amounts(alternative)
    }
    found = []
    for alternative in alternatives(queue):
        once = {
            name
            for name, (amount, _) in amounts(alternative).items()
            if amount.per == "job" or (not amount.per and name in job_based)
        }
        found.append(without(alternative, once if position else once & named))
    return _section(found)


def _exceeding_application(own: Compound, application: Simple, ranges: Ranges) -> list[str]:
    """A compound job leaves the application's requirement aside, but not its amounts (004)."""
    below = alternatives(application.rusage)
    problems: list[str] = []
    for position, simple in enumerate(simples(own)):
        over = [
            exceeding(alternative, limit, ranges, "application", joint=len(below) == 1)
            for alternative in alternatives(simple.rusage)
            for limit in below
        ]
        if all(over):
            problems += [f"term {position + 1}: {text}" for texts in over for text in texts]
    return problems


def resolve_counts(
    compound: Compound, slots: int | None, proclimit_default: int | None = None
) -> Compound:
    """Give the last term its count and check the total against -n (REQ-14).

    slots: -n, None where the job gives none; then a last term without a count takes what the
    default of PROCLIMIT (1 where there is none) leaves, at least 0. Left with no slot, it goes.
    Raises ResreqError when the counts do not add up to -n.
    """
    given = sum(term.count or 0 for term in compound.terms)
    *first, last = compound.terms
    if last.count is not None:
        if slots is not None and slots != given:
            raise ResreqError(f"the terms ask for {given} slots, -n for {slots}: they must agree")
        return compound
    if slots is not None and slots < given:
        raise ResreqError(f"the terms ask for {given} slots already, -n for {slots} only")
    rest = max(0, (proclimit_default or 1) - given) if slots is None else slots - given
    if rest == 0 and first:
        return Compound(tuple(first))
    return Compound((*first, replace(last, count=max(1, rest))))


@dataclass(frozen=True, slots=True)
class RequirementMerging:
    """What decides how the requirements of an instance's jobs are merged, put together once."""

    instance: Instance
    options: Options
    #: Resources that count once a job (RSV-08).
    job_based: frozenset[str]

    @classmethod
    def of(cls, instance: Instance) -> RequirementMerging:
        """Of an instance."""
        known = Vocabulary.of_definitions(instance.cluster.resources)
        options = requirement_options(instance.params, known)
        return cls(instance, options, _job_based(instance))

    def requirement(self, job: Job) -> Merged:
        """As :func:`effective_requirement`."""
        return self.merged(job, (job.slots, job.most_slots))

    def merged(self, job: Job, slots: tuple[int, int] | None) -> Merged:
        """The same; slots: -n min and max, None where the job gives no -n."""
        queue = self.instance.queue(job.queue)
        application = self.instance.application(job.application) if job.application else None
        limits = _processor_limit(self.instance, job)
        levels = (job.res_req, application.res_req if application else "", queue.res_req)
        asked = _Asked(
            levels,
            tuple(sorted(queue.resrsv_limit.items())),
            slots,
            limits[1] if limits is not None else None,
            job.extsched,
            self.gpus_asked(job),
        )
        return _effective(asked, self.job_based, self.options)

    def asks_for_units(self, job: Job) -> bool:
        """Whether the -R of the job or the RES_REQ of its application has cu[].

        A resizable job may not (004); one of a queue with cu[] is taken and does not grow. Raises
        as :meth:`requirement` does.
        """
        application = self.instance.application(job.application) if job.application else None
        above = (application.res_req,) if application and application.res_req else ()
        return any(
            simple.cu is not None
            for text in (*job.res_req, *above)
            for simple in simples(parse_with_notes(text, self.options).requirement)
        )

    def gpus_asked(self, job: Job) -> GpuRequest | None:
        """What -gpu and GPU_REQ ask for, None where there is neither (GPU-02)."""
        application = self.instance.application(job.application) if job.application else None
        above = (application.gpu_req if application else "", self.instance.queue(job.queue).gpu_req)
        params = self.instance.params
        if job.gpu:
            gpu_options(job.gpu.removeprefix(NOTHING_OF_ITS_OWN), params.gpu_syntax)
        return self._gpus((job.gpu, *above)) if any((job.gpu, *above)) else None

    def gpus(self, job: Job) -> GpuRequest | None:
        """The GPUs that a job needs by -gpu, GPU_REQ or its rusage, None for none (GPU-02).

        Raises as :meth:`requirement` does.
        """
        names = gpus_reserved(self.requirement(job).requirement)
        if not names:
            return None
        found = self.gpus_asked(job) or self._gpus(())
        return replace(found, shares=found.shares and not names & OLD_EXCLUSIVE)

    def gpu_text(self, job: Job) -> str:
        """The GPU requirement of a job as bjobs -l prints it, "" for none.

        Raises as :meth:`requirement` does.
        """
        found = self.gpus(job)
        if found is None:
            return ""
        asked = self.gpus_asked(job)
        number = f"num={found.num}{f'/{found.per}' if found.per else ''}:" if asked else ""
        mode = "exclusive_process" if found.process else "shared"
        own = "no" if found.shares else "yes"
        kind = "".join(f":{text}" for text in found.kind_options())
        return f"{number}mode={mode}:mps={found.mps}:j_exclusive={own}{kind}"

    def gpus_held(self, job: Job, slots: int) -> int:
        """GPUs that a job with so many slots on a host has there.

        Raises as :meth:`requirement` does.
        """
        params, usages = self.instance.params, self.instance.reservation_usage
        stated = {usage.resource: usage.method for usage in usages}
        total = 0.0
        for simple in simples(self.requirement(job).requirement)[:1]:
            for name, (amount, _) in amounts(alternatives(simple.rusage)[0]).items():
                usual = "PER_SLOT" if params.reserve_per_slot else "PER_HOST"
                said = {"task": "PER_SLOT", "host": "PER_HOST", "job": "PER_JOB"}
                method = said.get(amount.per) or stated.get(name, usual)
                if name in GPU_NAMES:
                    times = slots if method == "PER_SLOT" else 1
                    total += max(amount.values, default=0.0) * times
        return round(total)

    def _gpus(self, levels: tuple[str, ...]) -> GpuRequest:
        params = self.instance.params
        return gpu_request(
            levels,
            cluster=params.gpu_req,
            unit=params.unit_for_limits,
            separately=params.gpu_req_merge,
        )


def gpus_reserved(requirement: Requirement) -> frozenset[str]:
    """The names under which a requirement reserves GPUs."""
    return (
        frozenset(
            name
            for simple in simples(requirement)
            for alternative in alternatives(simple.rusage)
            for name in amounts(alternative)
        )
        & GPU_NAMES
    )


def effective_requirement(instance: Instance, job: Job) -> Merged:
    """Job, application and queue level merged, counts of a compound requirement resolved.

    Equal strings under equal parameters are merged once. Raises InputError (ResreqError for a
    string that cannot be read) when the job must be refused. KeyError if the queue is unknown.
    """
    return RequirementMerging.of(instance).requirement(job)


def slots_without_n(instance: Instance, job: Job) -> int:
    """Slots of a job that gives no -n: what the terms of a compound requirement add up to.

    Without one the default of PROCLIMIT, the application's before the queue's, else 1. Raises as
    :func:`effective_requirement` does.
    """
    requirement = RequirementMerging.of(instance).merged(job, None).requirement
    if isinstance(requirement, Compound):
        return sum(term.count or 0 for term in requirement.terms)
    limit = _processor_limit(instance, job)
    return 1 if limit is None else limit[1] or limit[0]


def requirement_options(params: Params, vocabulary: Vocabulary) -> Options:
    """How requirement strings are read under the parameters of a cluster."""
    return Options(
        strict=params.strict_resreq,
        lenient=params.lenient,
        unit=params.unit_for_limits,
        vocabulary=vocabulary,
        dialect=params.dialect,
    )


def requested(instance: Instance, job: Job) -> str:
    """The -R of a job as views show it: one string, several options merged into one (004).

    Raises InputError where they cannot be merged.
    """
    if len(job.res_req) < 2:
        return " ".join(job.res_req)
    options = requirement_options(instance.params, Vocabulary())
    return print_requirement(combine(job.res_req, options).requirement, options.unit)


def _processor_limit(instance: Instance, job: Job) -> tuple[int, int | None, int | None] | None:
    """PROCLIMIT, the application's before the queue's."""
    application = instance.application(job.application) if job.application else None
    return (application and application.slots) or instance.queue(job.queue).slots


def _job_based(instance: Instance) -> frozenset[str]:
    """Resources that count once a job (RSV-08): as ReservationUsage says, else the shared ones."""
    stated = {usage.resource: usage.method for usage in instance.reservation_usage}
    if not instance.params.reserve_per_slot:
        for shared in instance.cluster.shared:
            stated.setdefault(shared.name, "PER_JOB")
    return frozenset(name for name, method in stated.items() if method == "PER_JOB")


class _Asked(NamedTuple):
    """What the effective requirement of a job follows from, beside the cluster's settings."""

    #: -R of the job, RES_REQ of its application and its queue.
    levels: tuple[tuple[str, ...], str, str]
    resrsv_limit: tuple[tuple[str, tuple[float, float]], ...]
    #: -n min and max, None where the job gives no -n.
    slots: tuple[int, int] | None
    #: The slots of a job without -n.
    proclimit_default: int | None
    #: bsub -extsched.
    extsched: str
    gpus: GpuRequest | None


@lru_cache(maxsize=16384)
def _effective(asked: _Asked, job_based: frozenset[str], options: Options) -> Merged:
    job, application, queue = asked.levels
    levels = [combine(job, options), combine((application,), options), combine((queue,), options)]
    merged = merge_levels(
        levels[0].requirement,
        levels[1].requirement,
        levels[2].requirement,
        resrsv_limit=dict(asked.resrsv_limit),
        job_based=job_based,
        unit=options.unit,
    )
    warnings = [warning for level in levels for warning in level.warnings]
    requirement = _counted(merged.requirement, asked.slots, asked.proclimit_default)
    if asked.extsched:
        requirement = laid_out(requirement, levels[0].requirement, asked.extsched, asked.slots)
    if asked.gpus is not None and not gpus_reserved(requirement):
        requirement = _with_gpus(requirement, asked.gpus)
    return Merged(requirement, tuple(dict.fromkeys([*warnings, *merged.warnings])))


def _with_gpus(requirement: Requirement, gpus: GpuRequest) -> Requirement:
    """The requirement with the GPUs of -gpu in its rusage, of a compound one in each term."""
    if isinstance(requirement, Compound):
        terms = (replace(t, requirement=_reserving(t.requirement, gpus)) for t in requirement.terms)
        return Compound(tuple(terms))
    return _reserving(requirement, gpus)


def _reserving(simple: Simple, gpus: GpuRequest) -> Simple:
    usage = UsageString((Amount(PHYSICAL, (float(gpus.num),), per=gpus.per),))
    found = tuple((*alternative, usage) for alternative in alternatives(simple.rusage))
    return replace(simple, rusage=Rusage(found))


def _counted(
    requirement: Requirement, slots: tuple[int, int] | None, proclimit_default: int | None
) -> Requirement:
    """Counts of a compound requirement; None and a single slot are a job that gave no -n."""
    if not isinstance(requirement, Compound):
        return requirement
    asked = None if slots in (None, (1, 1)) else slots
    return resolve_counts(requirement, asked and asked[1], proclimit_default)
