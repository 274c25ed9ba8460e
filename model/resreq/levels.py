"""Requirements of job, application and queue, merged to one (REQ-14 … REQ-17, RSV-05, RSV-06)."""

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
    every,
    joined,
    simples,
)
from .vocabulary import Vocabulary

#: An alternative of rusage: usage strings that are reserved together.
Alternative: TypeAlias = tuple[UsageString, ...]


def amounts(alternative: Alternative) -> dict[str, tuple[Amount, UsageString]]:
    """Return each resource of an alternative with its amount and its usage string."""
    return {amount.resource: (amount, usage) for usage in alternative for amount in usage.amounts}


def alternatives(rusage: Rusage | None) -> tuple[Alternative, ...]:
    """Return the alternatives of a section; an absent section has one empty alternative."""
    return ((),) if rusage is None else rusage.alternatives


def combined_usages(first: Rusage | None, second: Rusage | None, text: str) -> Rusage | None:
    """Return rusage of two -R options of one level, joined by commas; alternatives are
    multiplied.
    """
    if first is None or second is None:
        return first or second
    for one in first.alternatives:
        for other in second.alternatives:
            twice = sorted(amounts(one).keys() & amounts(other).keys())
            if twice:
                raise ResreqError(
                    f"{twice[0]} is reserved in two -R options: remove it from {text}"
                )
    return Rusage(tuple(a + b for a in first.alternatives for b in second.alternatives))


def without(alternative: Alternative, names: Collection[str]) -> Alternative:
    """Return an alternative without the resources of `names` and without empty usage strings."""
    kept = (
        replace(usage, amounts=tuple(a for a in usage.amounts if a.resource not in names))
        for usage in alternative
    )
    return tuple(usage for usage in kept if usage.amounts)


def overridden(upper: Alternative, lower: Alternative, *, joint: bool) -> Alternative:
    """Return rusage `upper` (job) merged over `lower` (queue): resources of `upper` replace equal
    ones.

    joint: neither level has alternatives. Then the usage strings become one, as in the examples of
    LSF's documentation: if `upper` sets no duration or decay, it takes those of `lower` for all its
    resources. Otherwise the strings stay separate, and a string of `upper` without a duration takes
    that of the string of `lower` whose resource it replaces. Phases are never mixed. An amount
    without a unit counts as in `lower`.
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
    """Return `upper`, whose amounts count per host, task or job as in `lower` if they do not
    say.
    """
    per = {name: amount.per for name, (amount, _) in amounts(lower).items()}

    def counted(amount: Amount) -> Amount:
        return replace(amount, per=amount.per or per.get(amount.resource, ""))

    return tuple(replace(usage, amounts=tuple(map(counted, usage.amounts))) for usage in upper)


def _keeps_apart(upper: UsageString, lower: UsageString, more: bool) -> bool:
    """Return whether one string cannot hold both: phases, or a short duration over a lasting
    amount.
    """
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
    """Ranges of RESRSV_LIMIT: lowest and highest value by resource, MB for sizes."""

    #: Lowest and highest value by resource.
    bounds: Mapping[str, tuple[float, float]]
    #: Unit of mem and swp in sentences (LSF_UNIT_FOR_LIMITS).
    unit: str = "MB"

    def shown(self, resource: str, value: float) -> str:
        """Return an amount as text in the unit of LSF_UNIT_FOR_LIMITS."""
        return in_own_unit(resource, value, self.unit)


def exceeding(
    upper: Alternative, lower: Alternative, ranges: Ranges, level: str, *, joint: bool
) -> tuple[str, ...]:
    """Return a sentence for each request of `upper` beyond `lower`, the rusage of `level`.

    Internal indices may not exceed it, unless RESRSV_LIMIT gives the resource its own range; of
    phases the first counts. Durations of any resource may not exceed it, without phases. joint:
    both are one usage string, so that their durations are compared even over different resources.
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
    """Return a sentence for each amount of an alternative outside RESRSV_LIMIT."""
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
    """A requirement merged from several, with warnings for the user."""

    requirement: Requirement
    #: Parts that are ignored, a sentence each.
    warnings: tuple[str, ...] = ()


def combine(strings: Sequence[str], options: Options = ORDINARY) -> Merged:
    """Return the requirement of the -R options of one level; without any an empty requirement.

    Selections are joined by ``&&``; order, same and rusage are concatenated; span, cu and affinity
    may occur once. Raises ResreqError for a compound or multi-phase string among several and for a
    resource that is reserved twice.
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
    if (
        isinstance(requirement, Compound)
        or requirement.later
        or (requirement.rusage is not None and requirement.rusage.phased)
    ):
        raise ResreqError(f"{text} has alternatives, terms or phases: make it the only -R option")
    return requirement


def _added(first: Simple, second: Simple, text: str) -> Simple:
    for section in ("span", "cu", "affinity"):
        if all(getattr(item, section) not in (None, "") for item in (first, second)):
            raise ResreqError(f"{section}[] is in two -R options: remove it from {text}")
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
    """Return the selections of all levels joined by ``&&``."""
    parts = [level.select for level in levels if level.select is not None]
    return joined("&&", parts) if parts else None


def all_same(*levels: Simple) -> tuple[str, ...]:
    """Return the names of all same sections, each once."""
    return tuple(dict.fromkeys(name for level in levels for name in level.same))


def _joined_order(
    first: tuple[OrderKey, ...] | None, second: tuple[OrderKey, ...] | None
) -> tuple[OrderKey, ...] | None:
    """Return the keys of two orders; a key that is repeated further right has no effect and is
    removed.
    """
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
    """Return the requirement by which a job is scheduled; None or an empty requirement is "not
    defined".

    resrsv_limit: RESRSV_LIMIT of the queue, (lowest, highest) by resource. job_based: resources
    reserved once for each job; those of the queue go to the first term of a compound requirement.
    unit: LSF_UNIT_FOR_LIMITS, in which refusals give mem and swp. Raises InputError with one
    problem for each request beyond the queue's limits. Parts that compound requirements ignore are
    named in the warnings. Among levels with alternatives in braces, the highest replaces the
    others, and each of its alternatives is merged with the other levels.
    """
    ranges = Ranges(resrsv_limit or {}, unit)
    warnings: list[str] = []
    levels = [job, application, queue]
    several = [place for place, level in enumerate(levels) if level is not None and level.later]
    for place in several[1:]:
        levels[place] = None
        warnings.append(
            f"the alternatives of the {_LEVELS[place]} are ignored: a higher level has some"
        )
    if not several:
        return _merged(levels, ranges, job_based, warnings)
    found: list[Requirement] = []
    given = levels[several[0]]
    assert given is not None
    for each in (replace(given, later=()), *(item.requirement for item in given.later)):
        levels[several[0]] = each
        found.append(_merged(levels, ranges, job_based, warnings).requirement)
    later = (replace(o, requirement=m) for o, m in zip(given.later, found[1:], strict=True))
    return Merged(replace(found[0], later=tuple(later)), tuple(dict.fromkeys(warnings)))


#: Names of the levels of requirements, highest first.
_LEVELS = ("job", "application", "queue")


def _merged(
    levels: Sequence[Requirement | None],
    ranges: Ranges,
    job_based: frozenset[str],
    warnings: list[str],
) -> Merged:
    """Return the requirement merged from those of three levels without alternatives in braces."""
    job, application, queue = (None if level == Simple() else level for level in levels)
    if queue is not None and (problems := _out_of_range(queue, ranges)):
        warnings += [f"RES_REQ of the queue is ignored: {problem}" for problem in problems]
        queue = None
    own, above = _own(job, application, warnings)
    if own is not None and (problems := _out_of_range(own, ranges)):
        raise InputError(Problem(f"{problem} of the queue") for problem in problems)
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
    """Return job merged over application, and the application if its amounts still limit the
    terms.
    """
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


def _over(upper: Simple, queue: Simple, ranges: Ranges, warnings: list[str]) -> Simple:
    return _override(upper, queue, _allowed(upper.rusage, queue.rusage, ranges, warnings))


def _override(upper: Simple, lower: Simple, rusage: Rusage | None) -> Simple:
    """Return `upper` merged over `lower`: selections and same names of both, other sections of
    one.
    """
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
    """Return the product of the alternatives of two rusage sections (REQ-17)."""
    pairs = [(a, b) for a in alternatives(upper) for b in alternatives(lower)]
    joint = len(pairs) == 1
    return _section([overridden(a, b, joint=joint) for a, b in pairs])


def _section(found: list[Alternative]) -> Rusage | None:
    kept = tuple(dict.fromkeys(found))
    return Rusage(kept) if any(kept) else None


def _allowed(
    upper: Rusage | None, queue: Rusage | None, ranges: Ranges, warnings: list[str]
) -> Rusage | None:
    """Return the product without combinations beyond the queue's; raises an error if none is
    left.
    """
    pairs = [(a, b) for a in alternatives(upper) for b in alternatives(queue)]
    joint = len(pairs) == 1
    problems = [exceeding(a, b, ranges, "queue", joint=joint) for a, b in pairs]
    if all(problems):
        _refuse([text for texts in problems for text in texts])
    for texts in problems:
        warnings += [f"an alternative is ignored: {text}" for text in texts]
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
    """Return the requirement without span[hosts=-1], which only cancels a span when merging
    (REQ-18).
    """
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
    """Return a compound requirement with a simple queue requirement merged into every term
    (REQ-16).
    """
    problems = _exceeding_application(own, application, ranges) if application else []
    if not isinstance(queue, Simple):
        if problems:
            _refuse(problems)
        return _cancelled(own)
    if len(alternatives(queue.rusage)) > 1:
        raise ResreqError(
            "rusage[] of the queue has alternatives (||): give the job a requirement without "
            "terms, because a compound requirement cannot be merged with alternatives"
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
    """Return the queue's rusage for one term; job-based resources go to the first term only."""
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
    """Return violations of the application's amounts, which limit compound jobs too (004)."""
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
    """Return the requirement with the count of its last term, checked against -n (REQ-14).

    slots: -n, None if not given; then a last term without a count takes the rest of PROCLIMIT's
    default (1 if not set), at least 0. A term without slots is removed. Raises ResreqError if the
    counts do not add up to -n.
    """
    given = sum(term.count or 0 for term in compound.terms)
    *first, last = compound.terms
    if slots is not None and slots != given and (slots < given or last.count is not None):
        raise ResreqError(f"the terms request {given} slots, but -n is {slots}: give -n {given}")
    if last.count is not None:
        return compound
    rest = max(0, (proclimit_default or 1) - given) if slots is None else slots - given
    if rest == 0 and first:
        return Compound(tuple(first))
    return Compound((*first, replace(last, count=max(1, rest))))


@dataclass(frozen=True, slots=True)
class RequirementMerging:
    """Settings and caches for merging the requirements of the jobs of one instance."""

    instance: Instance
    #: Settings for reading requirement strings.
    options: Options
    #: Resources that count once for each job (RSV-08).
    job_based: frozenset[str]

    @classmethod
    def of(cls, instance: Instance) -> RequirementMerging:
        """Return the merging of an instance."""
        known = Vocabulary.of_definitions(instance.cluster.resources)
        return cls(instance, requirement_options(instance.params, known), _job_based(instance))

    def requirement(self, job: Job) -> Merged:
        """Return the requirement of a job, as :func:`effective_requirement` does."""
        found, chosen = self.merged(job, (job.slots, job.most_slots)), job.requirement_alternative
        if chosen is None:
            return found
        choices = every(found.requirement)
        if chosen >= len(choices):
            text = f"requirement_alternative must be 0 to {len(choices) - 1}, not {chosen}"
            raise InputError(f"{text}: the job has {len(choices)} alternatives")
        return replace(found, requirement=replace(choices[chosen], later=()))

    def merged(self, job: Job, slots: tuple[int, int] | None) -> Merged:
        """Return the requirement of a job; slots: minimum and maximum of -n, None if not given."""
        queue = self.instance.queue(job.queue)
        application = self.instance.application(job.application) if job.application else None
        limits = _processor_limit(self.instance, job)
        asked = _Asked(
            (job.res_req, application.res_req if application else "", queue.res_req),
            tuple(sorted(queue.resrsv_limit.items())),
            slots,
            limits[1] if limits is not None else None,
            job.extsched,
            self.gpus_asked(job),
        )
        return _effective(asked, self.job_based, self.options)

    def asks_for_units(self, job: Job) -> bool:
        """Return whether -R of the job or RES_REQ of its application has cu[].

        A resizable job may not (004); with cu[] of its queue it is accepted and does not grow.
        Raises as :meth:`requirement` does.
        """
        application = self.instance.application(job.application) if job.application else None
        above = (application.res_req,) if application and application.res_req else ()
        return any(
            simple.cu is not None
            for text in (*job.res_req, *above)
            for one in every(parse_with_notes(text, self.options).requirement)
            for simple in simples(one)
        )

    def gpus_asked(self, job: Job) -> GpuRequest | None:
        """Return the request of -gpu and GPU_REQ, None if there is neither (GPU-02)."""
        application = self.instance.application(job.application) if job.application else None
        above = (application.gpu_req if application else "", self.instance.queue(job.queue).gpu_req)
        params = self.instance.params
        if job.gpu:
            syntax = params.gpu_syntax if params.scheduler.shares_gpus else ""
            gpu_options(job.gpu.removeprefix(NOTHING_OF_ITS_OWN), syntax)
        return self._gpus((job.gpu, *above)) if any((job.gpu, *above)) else None

    def gpus(self, job: Job) -> GpuRequest | None:
        """Return the GPUs that a job needs by -gpu, GPU_REQ or rusage, None if none (GPU-02).

        Raises as :meth:`requirement` does.
        """
        names = gpus_reserved(self.requirement(job).requirement)
        if not names:
            return None
        found = self.gpus_asked(job) or self._gpus(())
        return replace(found, shares=found.shares and not names & OLD_EXCLUSIVE)

    def gpu_text(self, job: Job) -> str:
        """Return the GPU requirement of a job as bjobs -l prints it, "" if none.

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
        """Return the number of GPUs on a host where a job has this number of slots.

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
    """Return the names under which a requirement reserves GPUs."""
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
    """Return the merged requirement of job, application and queue, with the counts of all terms.

    Equal strings under equal parameters are merged once. Raises InputError (ResreqError for a
    string that cannot be read) if the job must be refused, KeyError if the queue is unknown.
    """
    return RequirementMerging.of(instance).requirement(job)


def slots_without_n(instance: Instance, job: Job) -> int:
    """Return the number of slots of a job without -n: the sum of a compound requirement's terms.

    For any other requirement the default of PROCLIMIT, the application's before the queue's, else
    1. Raises as :func:`effective_requirement` does.
    """
    requirement = RequirementMerging.of(instance).merged(job, None).requirement
    if isinstance(requirement, Compound):
        return sum(term.count or 0 for term in requirement.terms)
    limit = _processor_limit(instance, job)
    return 1 if limit is None else limit[1] or limit[0]


def requirement_options(params: Params, vocabulary: Vocabulary) -> Options:
    """Return the settings for requirement strings under the parameters of a cluster."""
    return Options(
        strict=params.strict_resreq,
        lenient=params.lenient,
        unit=params.unit_for_limits,
        vocabulary=vocabulary,
        dialect=params.dialect,
    )


def requested(instance: Instance, job: Job) -> str:
    """Return -R of a job for views: one string, several options merged (004).

    Raises InputError if they cannot be merged.
    """
    if len(job.res_req) < 2:
        return " ".join(job.res_req)
    options = requirement_options(instance.params, Vocabulary())
    return print_requirement(combine(job.res_req, options).requirement, options.unit)


def _processor_limit(instance: Instance, job: Job) -> tuple[int, int | None, int | None] | None:
    """Return PROCLIMIT of a job, the application's before the queue's."""
    application = instance.application(job.application) if job.application else None
    return (application and application.slots) or instance.queue(job.queue).slots


def _job_based(instance: Instance) -> frozenset[str]:
    """Return resources that count once for each job (RSV-08): by ReservationUsage, else shared
    ones.
    """
    stated = {usage.resource: usage.method for usage in instance.reservation_usage}
    if not instance.params.reserve_per_slot:
        for shared in instance.cluster.shared:
            stated.setdefault(shared.name, "PER_JOB")
    return frozenset(name for name, method in stated.items() if method == "PER_JOB")


class _Asked(NamedTuple):
    """Key of the cache of requirements: all inputs except the cluster's settings."""

    #: -R of the job, RES_REQ of its application and of its queue.
    levels: tuple[tuple[str, ...], str, str]
    #: RESRSV_LIMIT of the queue: resource, lowest and highest value.
    resrsv_limit: tuple[tuple[str, tuple[float, float]], ...]
    #: Minimum and maximum of -n, None if not given.
    slots: tuple[int, int] | None
    #: Number of slots of a job without -n.
    proclimit_default: int | None
    #: Text of bsub -extsched.
    extsched: str
    #: GPU request of the job.
    gpus: GpuRequest | None


@lru_cache(maxsize=16384)
def _effective(asked: _Asked, job_based: frozenset[str], options: Options) -> Merged:
    own = combine(asked.levels[0], options).requirement
    # Jobs of many numbers of slots have one text.
    merged = _merged_levels(asked.levels, asked.resrsv_limit, job_based, options)
    later = tuple(
        replace(item, requirement=_complete(item.requirement, own, asked))
        for item in merged.requirement.later
    )
    first = replace(merged.requirement, later=())
    return Merged(replace(_complete(first, own, asked), later=later), merged.warnings)


@lru_cache(maxsize=4096)
def _merged_levels(
    levels: tuple[tuple[str, ...], str, str],
    resrsv_limit: tuple[tuple[str, tuple[float, float]], ...],
    job_based: frozenset[str],
    options: Options,
) -> Merged:
    """Return the requirement merged from the texts of its levels, with all warnings."""
    job, application, queue = levels
    read = [combine(job, options), combine((application,), options), combine((queue,), options)]
    merged = merge_levels(
        *(level.requirement for level in read),
        resrsv_limit=dict(resrsv_limit),
        job_based=job_based,
        unit=options.unit,
    )
    warnings = [warning for level in read for warning in level.warnings]
    return Merged(merged.requirement, tuple(dict.fromkeys([*warnings, *merged.warnings])))


def _complete(requirement: Requirement, own: Requirement, asked: _Asked) -> Requirement:
    """Return a merged requirement with the counts of its terms, the layout of -extsched and GPUs.

    own: the requirement of the job itself.
    """
    requirement = _counted(requirement, asked.slots, asked.proclimit_default)
    if asked.extsched:
        requirement = laid_out(requirement, own, asked.extsched, asked.slots)
    if asked.gpus is not None and not gpus_reserved(requirement):
        requirement = _with_gpus(requirement, asked.gpus)
    return requirement


def _with_gpus(requirement: Requirement, gpus: GpuRequest) -> Requirement:
    """Return the requirement with GPUs added to its rusage, in each term if it is compound."""
    if isinstance(requirement, Compound):
        terms = (replace(t, requirement=_reserving(t.requirement, gpus)) for t in requirement.terms)
        return Compound(tuple(terms))
    return _reserving(requirement, gpus)


def _reserving(simple: Simple, gpus: GpuRequest) -> Simple:
    per = "host" if gpus.per == "job" else gpus.per
    usage = UsageString((Amount(PHYSICAL, (float(gpus.num),), per=per),))
    found = tuple((*alternative, usage) for alternative in alternatives(simple.rusage))
    return replace(simple, rusage=Rusage(found))


def _counted(
    requirement: Requirement, slots: tuple[int, int] | None, proclimit_default: int | None
) -> Requirement:
    """Return the requirement with the counts of its terms; None and one slot mean a job without
    -n.
    """
    if not isinstance(requirement, Compound):
        return requirement
    asked = None if slots in (None, (1, 1)) else slots
    return resolve_counts(requirement, asked and asked[1], proclimit_default)
