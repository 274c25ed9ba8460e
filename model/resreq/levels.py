"""Requirements of job, application and queue as one (REQ-14 … REQ-17, RSV-05, RSV-06)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ..errors import InputError, Problem
from .ceiling import Ranges, exceeding, outside
from .combine import Merged, all_same, all_selected
from .errors import ResreqError
from .rusage import Alternative, alternatives, amounts, overridden, without
from .syntax import Compound, Requirement, Rusage, Simple, Term, simples


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


# --- RESRSV_LIMIT -----------------------------------------------------------------------------


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


# --- simple over simple -----------------------------------------------------------------------


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


# --- compound over simple ---------------------------------------------------------------------


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


# --- counts -----------------------------------------------------------------------------------


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
