"""``slotwise resreq``: read a requirement, print its normal form, try it on hosts (REQ-09)."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..model.display import data_of
from ..model.errors import InputError
from ..model.escaping import printable
from .declare import argument, command, option, taking
from .process import Exit
from .source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.instance import Instance
    from ..model.resreq import Options, Requirement, Simple


Format = Literal["text", "json"]

#: Said where a requirement hangs on a submission host that is not known.
NO_HOME = "type==local, also by default, keeps every host here: give --from-host"


@dataclass(frozen=True, slots=True)
class Trial:
    """Hosts that one simple requirement chooses, best first, and why the others are not chosen."""

    hosts: tuple[str, ...]
    others: tuple[tuple[str, str], ...]
    #: Whether the result depends on an unknown submission host.
    unsure: bool = False
    #: The alternative and the term that it belongs to, empty for a simple requirement.
    part: str = ""


@dataclass(frozen=True, slots=True)
class ResreqAnswer:
    """Result of the command."""

    #: Whether the requirement is valid.
    valid: bool
    #: The error, "" if it is valid.
    message: str
    #: Offset of the error from 0, None if unknown.
    position: int | None
    #: The requirement in normal form, None if it is invalid.
    normal: str | None
    #: One trial for each term (one for a simple requirement), None without hosts.
    trials: tuple[Trial, ...] | None
    #: Normal form and delay in minutes of each alternative in braces; () without any.
    alternatives: tuple[tuple[str, int | None], ...] = ()


#: Meaning of --cluster, the alternative to --against.
OF_HOSTS = (
    "Use the hosts of this machine's cluster instead of --against: runs its scheduler's commands."
)


@command
def resreq(
    text: str = argument("", "The requirement, as after bsub -R."),
    strict: bool = option(False, "Rules of LSF_STRICT_RESREQ=Y."),
    lenient: bool = option(False, "Accept balance together with usablecuslots in cu."),
    dialect: str = option("", "The language of LSF 7 or 10.1; else the instance's, or 10.1."),
    against: Path | None = option(
        None, "Instance file: show which of its hosts match, and in which order."
    ),
    *,
    source: Annotated[Source, taking("example live timeout", live=OF_HOSTS)],
    submitted_from: str | None = option(
        None, "Submission host, for type==local.", "--from-host", "--from"
    ),
    check_select: bool = option(False, "Only check the selection, as BSUB_CHK_RESREQ does."),
    output: Format = option("text", "text or json.", "--format"),
) -> None:
    """Check a resource requirement: print its normal form or errors, and matching hosts.

    Exit code 0 if it is valid, 2 if not. With --check-select 0 or 255.
    """
    from ..model.resreq import Options, ResreqError, Vocabulary, requirement_options
    from ..model.resreq.syntax import DIALECTS

    if check_select:
        raise typer.Exit(_check_select(text, output))
    source = replace(source, file=against)
    if submitted_from is not None and not source.is_given:
        raise InputError("--from-host names a host of an instance: also give --against")
    instance = source.read() if source.is_given else None
    try:
        if dialect and dialect not in DIALECTS:
            raise InputError(f"--dialect must be {' or '.join(DIALECTS)}, not {dialect!r}")
        own = Options()
        if instance is not None:
            known = Vocabulary.of_cluster(instance.cluster)
            own = requirement_options(instance.params, known)
        options = replace(
            own,
            strict=strict or own.strict,
            lenient=lenient or own.lenient,
            dialect=dialect or own.dialect,
        )
        answer = _answer(text, instance, options, submitted_from)
    except ResreqError as error:
        if output == "text":
            typer.echo(f"slotwise: {printable(str(error))}", err=True)
            raise typer.Exit(Exit.BAD_INPUT) from None
        answer = ResreqAnswer(False, error.message, error.position, None, None)
    if output == "json":
        typer.echo(json.dumps(_record(answer), ensure_ascii=False))
    else:
        typer.echo(_report(answer))
    raise typer.Exit(Exit.DONE if answer.valid else Exit.BAD_INPUT)


def _check_select(text: str, output: Format) -> int:
    from ..model.resreq.partly import check_select

    valid, sentence = check_select(text)
    record = _record(ResreqAnswer(valid, sentence, None, None, None))
    typer.echo(printable(sentence) if output == "text" else json.dumps(record))
    return 0 if valid else 255


def _answer(
    text: str, instance: Instance | None, options: Options, submitted_from: str | None
) -> ResreqAnswer:
    from ..model.resreq import parse_with_notes, print_requirement

    parsed = parse_with_notes(text, options)
    requirement = parsed.requirement
    trials = None
    if instance is not None:
        trials = tuple(
            replace(_trial(simple, instance, submitted_from), part=part)
            for part, simple in _parts(requirement)
        )
    normal = print_requirement(requirement, options.unit)
    unsure = any(trial.unsure for trial in trials or ())
    notes = (*parsed.notes, *((NO_HOME,) if unsure else ()))
    first = (print_requirement(replace(requirement, later=()), options.unit), None)
    later = tuple(
        (print_requirement(item.requirement, options.unit), item.delay)
        for item in requirement.later
    )
    several = (first, *later) if later else ()
    return ResreqAnswer(True, "; ".join(notes), None, normal, trials, several)


def _parts(requirement: Requirement) -> Iterator[tuple[str, Simple]]:
    """Yield each simple requirement with the alternative and the term that it is of."""
    from ..model.resreq import Compound
    from ..model.resreq.syntax import every, simples

    delays = (None, *(item.delay for item in requirement.later))
    for place, (one, delay) in enumerate(zip(every(requirement), delays, strict=True), start=1):
        of = [_alternative(place, delay)] if requirement.later else []
        for number, simple in enumerate(simples(one), start=1):
            term = [f"term {number}"] if isinstance(one, Compound) else []
            yield ", ".join([*of, *term]), simple


def _alternative(place: int, delay: int | None) -> str:
    return f"alternative {place}" + (f" (after {delay} min pending)" if delay else "")


def _trial(simple: Simple, instance: Instance, submitted_from: str | None) -> Trial:
    import numpy as np

    from ..model.resreq import HostTable, order_hosts, select_mask
    from ..model.resreq.evaluate import Local, reasons, unsure_of_local

    hosts = instance.cluster.hosts
    table = HostTable(
        instance.cluster, by_slot=instance.params.parallel_sched_by_slot, reported=True
    )
    local = Local()
    if submitted_from is not None:
        home = instance.cluster.host_index().get(submitted_from)
        if home is None:
            raise InputError(f"--from-host must be a host of the instance, not {submitted_from!r}")
        local = Local(hosts[home].type, hosts[home].model)
    unit = instance.params.unit_for_limits
    mask = select_mask(simple.select, table, local_type=local.type, local_model=local.model)
    outside = _outside_units(simple, instance)
    mask &= ~np.array([bool(text) for text in outside])
    order = order_hosts(simple.order, table, mask, last_first=instance.params.scheduler.is_lava)
    others = tuple(
        (
            host.name,
            "; ".join([*reasons(simple.select, table, index, local, unit), *outside[index]]),
        )
        for index, host in enumerate(hosts)
        if not mask[index] or outside[index]
    )
    unsure = unsure_of_local(simple.select, table, local)
    return Trial(tuple(hosts[index].name for index in order), others, unsure)


def _outside_units(simple: Simple, instance: Instance) -> list[list[str]]:
    """Return why cu[] excludes a host, for each host in no unit of the requested type."""
    from ..model.formats.names import unknown_unit_type

    cluster = instance.cluster
    if simple.cu is None:
        return [[] for _ in cluster.hosts]
    wanted = simple.cu.type or cluster.default_unit_type
    if wanted not in cluster.unit_types:
        raise InputError(unknown_unit_type(wanted or "default", cluster.unit_types))
    inside = {name for unit in cluster.units_of(wanted) for name in unit.hosts}
    why = f"it is in no compute unit of type {wanted}"
    return [[] if host.name in inside else [why] for host in cluster.hosts]


def _record(answer: ResreqAnswer) -> dict[str, object]:
    hosts: object = None
    if answer.trials is not None:
        lists = [list(trial.hosts) for trial in answer.trials]
        hosts = lists if answer.trials[0].part else lists[0]
    several = [{"normal": text, "delay": delay} for text, delay in answer.alternatives]
    record = data_of(answer, "valid message position normal") | {"hosts": hosts}
    return record | ({"alternatives": several} if several else {})


def _report(answer: ResreqAnswer) -> str:
    lines = [answer.normal or "(no requirement)"]
    if answer.message:
        lines.append(f"note: {answer.message}")
    for place, (text, delay) in enumerate(answer.alternatives, start=1):
        lines.append(f"{_alternative(place, delay)}: {text or 'any host'}")
    for trial in answer.trials or ():
        if trial.part:
            lines.append(trial.part)
        total = len(trial.hosts) + len(trial.others)
        ending = ", best first:" if trial.hosts else ""
        lines.append(f"{len(trial.hosts)} of {total} hosts match{ending}")
        lines += [f"  {place}. {name}" for place, name in enumerate(trial.hosts, start=1)]
        if trial.others:
            lines.append("not chosen:")
            width = max(len(name) for name, _ in trial.others)
            lines += [f"  {name:<{width}}  {why}" for name, why in trial.others]
    return printable("\n".join(lines))
