"""``slotwise explain``: why a job does not start earlier, and what would help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..model.display import (
    WrittenTimes,
    clock_text,
    duration_text,
    smallest_difference,
    with_stamps,
)
from ..model.plan import PlannedArray, array_name, profile_text, starts_text
from ..model.slurm_words import change_text
from .declare import argument, command, option, taking
from .options import FORMAT, OF_EACH_PLAN, Format, Search, pending_jobs
from .outlook_text import (
    MAX_JOBS,
    brief_text,
    caution_lines,
    is_small,
    placed_text,
    start_lines,
    start_times,
)
from .process import cancel_on_signal, give, left_of
from .selection import Selection
from .source import Source
from .tables import Column, ListingRow, csv_text, hosts_text, json_text, listing_text, paragraph

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.advice.explain import Explanation, Obstacle
    from ..solver.advice.suggestions import Suggestion

#: Hosts of a pending reason that are named; of more, their number.
MAX_HOSTS = 8
Explained = Literal["configured", "time-based", "optimal"]
EXPLAINED = option(
    "configured",
    "Which start is explained: the one that the simulated scheduler reaches, the one in "
    "its next cycle by time-based reservation, or the possible one.",
)

_OBSTACLES = (Column("FROM", label=""), Column("UNTIL"), Column("WHY NOT", line=1, label=""))
_SUGGESTIONS = (
    *(Column("START", marked=True, label=""), Column("EARLIER", marked=True, label="earlier by")),
    *(Column("WHAT WOULD HELP", line=1, label=""), Column("HOSTS", line=1, label="on")),
)


@command
def explain(
    instance_file: str | None = argument(
        None, "Instance file; omitted with --example and --cluster.", metavar="FILE"
    ),
    job: str | None = argument(
        None,
        "Identifier of a pending job; without it, all are listed.",
        metavar="JOB",
        autocompletion=pending_jobs,
    ),
    *,
    source: Annotated[Source, taking("example live timeout")],
    method: Explained = EXPLAINED,
    search: Annotated[Search, taking("time_limit effort", time_limit=OF_EACH_PLAN)],
    configuration: bool | None = option(
        None,
        f"Also try changes of the configuration, by simulation. Default: up to {MAX_JOBS} jobs.",
    ),
    brief: bool | None = option(
        None,
        "Two sentences and one line to paste; the default with --cluster.",
        "--brief/--no-brief",
    ),
    selection: Annotated[Selection, taking("wide")],
    format: Format = FORMAT,
) -> None:
    """Explain why a pending job does not start earlier, and which changes would help.

    Every suggestion is planned before it is shown, and every change of the configuration is
    simulated.

    Exit codes: 0 done, 2 bad input, 3 stopped early.
    """
    from ..solver.advice.explain import explain as explain_job

    words = [word for word in (instance_file, job) if word is not None]
    source, words = source.behind_file(words, 1)
    instance = source.read(search.time_limit)
    if not words:
        give(pending_output(instance, format))
        return
    with cancel_on_signal() as cancel:
        found = explain_job(
            instance,
            words[0],
            method=method,
            time_limit=left_of(search.time_limit),
            effort=search.effort,
            configuration=is_small(instance) if configuration is None else configuration,
            cancel=cancel,
        )
    if format == "text" and (source.live if brief is None else brief):
        text = _brief(instance, found)
    else:
        text = explanation_output(instance, found, format, selection.wide)
    give(text, is_partial=cancel.is_set() or found.cut or found.answer.cut)


def pending_output(instance: Instance, format: str) -> str:
    """Return the pending jobs in one of the output formats, with a final newline."""
    import json

    keys = ("job", "user", "queue", "slots", "submit")
    rows = [
        dict(zip(keys, (j.id, j.user, j.queue, j.slots, j.submit), strict=True))
        for j in instance.pending
    ]
    if format == "json":
        return json.dumps({"now": instance.now, "origin": instance.origin, "pending": rows}) + "\n"
    if format == "csv":
        return csv_text(keys, rows)
    clock = WrittenTimes.of(instance, (job.submit for job in instance.pending))
    lines = [
        ListingRow((j.id, j.user, j.queue, str(j.slots), clock.text(j.submit)))
        for j in instance.pending
    ]
    columns = (Column("JOB"), Column("USER"), Column("QUEUE"), Column("SLOTS"), Column("SUBMITTED"))
    if not rows:
        return "no job is pending\n"
    return listing_text(columns, lines, instance=instance) + paragraph(
        "Next: slotwise explain FILE JOB."
    )


def explanation_output(
    instance: Instance, found: Explanation, format: str, wide: bool = False
) -> str:
    """Return an explanation in one of the output formats, with a final newline."""

    record = found.to_dict()
    if format == "json":
        return json_text(record)
    if format == "csv":
        columns = ("part", "from", "until", "reason", "start", "gain", "change", "allocation")
        stamped = with_stamps(dict.fromkeys(columns), found.origin, ("from", "until", "start"))
        return csv_text(list(stamped), _rows(record))
    return _text(instance, found, wide)


def _rows(record: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [{"part": "obstacle", **item} for item in record["obstacles"]]
    rows += [{"part": "suggestion", **item} for item in record["suggestions"]]
    rows += [
        {"part": "pending", "reason": item["reason"], "allocation": " ".join(item["hosts"])}
        for item in record["pending_reasons"]
    ]
    rows += [
        {
            "part": "configuration",
            "reason": item["cause"],
            "change": f"{item['where']}: {item['setting']}",
            **{name: item[name] for name in ("start", "start_time", "gain") if name in item},
        }
        for item in record.get("configuration", ())
    ]
    if found := record.get("lsf_says"):
        rows.append({"part": "LSF says", **found})
    if "exact_fit" in record:
        rows.append({"part": "exact fit", "reason": record["exact_fit"]})
    if found := record.get("absolute"):
        reason = f"rank {found['rank']} of {found['of']}, {found['value']}"
        behind = f", behind {found['behind']} with {found['value_before']}" * bool(found["behind"])
        rows.append({"part": "absolute priority", "reason": reason + behind})
    if found := record.get("multifactor"):
        reason = f"rank {found['rank']} of {found['of']} in partition {found['partition']}, "
        reason += f"priority {found['priority']}"
        behind = f", behind {found['behind']} with {found['priority_before']}"
        rows.append(
            {"part": "multifactor priority", "reason": reason + behind * bool(found["behind"])}
        )
    return rows + [
        {
            "part": "contest",
            "from": item["ahead_from"],
            "from_time": item.get("ahead_from_time"),
            "reason": f"{item['level']}: {item['account']} {item['priority']:.3f} behind "
            f"{item['rival']} {item['rival_priority']:.3f}",
        }
        for item in record["contests"]
    ]


def _text(instance: Instance, found: Explanation, wide: bool) -> str:
    from ..solver.pending_reasons import counted

    clock = _clock(instance, found)
    told = [] if found.array is None else [_array_text(clock, found.array)]
    job = found.answer.job.id
    if found.outlook is not None:
        told += start_lines(clock, job, found.outlook, wide)
    if found.outlook is None or found.method != "configured":
        told += [placed_text(clock, job, found.answer, found.method, wide)]
        if found.answer.start is None:
            told.append(found.answer.waits_for)
    if found.answer.exact_fit:
        told.append(f"{found.answer.job.id} {found.answer.exact_fit}")
    told += _beside_lsf(clock, found)
    told += [f"requirement: {text}" for text in found.requirement]
    told += _chain(instance, found)
    if found.outlook is not None:
        told += caution_lines(found.outlook, found.method, found.answer.omissions)
    told += _said(clock, found)
    text = "".join(paragraph(line, instance=instance) for line in told) + "\n"
    if found.obstacles:
        rows = [_obstacle(clock, item) for item in found.obstacles]
        text += listing_text(_OBSTACLES, rows, instance=instance)
    if found.suggestions:
        rows = [_suggestion(clock, item, wide) for item in found.suggestions]
        text += listing_text(_SUGGESTIONS, rows, instance=instance)
    if found.cut:
        text += paragraph("truncated by the limit: more obstacles and more remedies may exist")
    elif not found.suggestions and found.answer.start != instance.now:
        tried = counted(found.tried, "change")
        text += paragraph(f"no change that was tried starts it earlier ({tried})")
    if remedies := _configuration(instance, found):
        text = text.rstrip("\n") + "\n" + remedies
    if clock.day is not None:
        text += paragraph(clock.note)
    return text.rstrip("\n") + "\n"


def _brief(instance: Instance, found: Explanation) -> str:
    clock = _clock(instance, found)
    answer, method, outlook = found.answer, found.method, found.outlook
    cautions = () if outlook is None else caution_lines(outlook, method, answer.omissions)
    if outlook is not None and method == "configured":
        start = next(start_lines(clock, answer.job.id, outlook))
    else:
        start = placed_text(clock, answer.job.id, answer, method)
    return brief_text(clock, found, start, cautions)


def _configuration(instance: Instance, found: Explanation) -> str:
    """Return the effects of changes of the configuration, in the sentences of `diagnose`."""
    from ..solver.advice.diagnosis.records import page_of
    from .diagnose import remedies_text

    if found.diagnosis is None:
        return ""
    text = ""
    for verdict in page_of(instance, found.diagnosis).verdicts:
        text += "\n" + paragraph(f"Cause as configured: {verdict.cause}")
        if verdict.remedies:
            text += "An administrator could make one of these changes:\n" + remedies_text(verdict)
    return f"{text}\n" if text else ""


def _beside_lsf(clock: WrittenTimes, found: Explanation) -> Iterator[str]:
    """Yield ``LSF says …; we say …, because …`` if the instance has LSF's own estimate."""
    if found.lsf is None:
        return
    says = [f'"{found.lsf.reason}"'] if found.lsf.reason else []
    if found.lsf.start is not None:
        says.append(f"that it starts {clock.text(found.lsf.start)}")
    answer = found.answer
    ours = "it has no start" if answer.start is None else f"it starts {clock.text(answer.start)}"
    agree = None not in (answer.start, found.lsf.start) and says[-1] == f"that {ours}"
    last = found.obstacles[-1].reason if found.obstacles else ""
    why = answer.waits_for or last or "all its requested resources are free"
    we_say = "Slotwise computes the same" if agree else f"Slotwise computes that {ours}"
    name = clock.instance.params.scheduler.name
    yield f"{name} reports {' and '.join(says)}; {we_say}, because: {why}"


def _clock(instance: Instance, found: Explanation) -> WrittenTimes:

    answer = found.answer
    times = [answer.start, answer.finish, answer.earliest_known]
    times += [time for item in found.obstacles for time in (item.first, item.until)]
    times += [item.start for item in found.suggestions]
    times += [item.ahead_from for item in found.contests]
    times += [None if found.lsf is None else found.lsf.start]
    times += start_times(found.outlook)
    times += [] if found.array is None else [item.start for item in found.array.elements]
    return WrittenTimes.of(instance, times)


def _array_text(clock: WrittenTimes, whole: PlannedArray) -> str:

    name = array_name(whole.job, [item.job for item in whole.elements])
    parts = [starts_text(clock, whole), profile_text(clock, whole)]
    return f"job array {name}: {'; '.join(filter(None, parts))}"


def _chain(instance: Instance, found: Explanation) -> Iterator[str]:
    """Yield the events that the job waits for, and the jobs that decide them, one after
    another.
    """

    job = found.answer.job
    if not job.dependency:
        return
    yield f"waits for: {job.dependency}" + (f", then {job.think_time} s" * bool(job.think_time))
    parts = []
    for link in found.chain:
        start = "no start" if link.start is None else clock_text(instance, link.start)
        end = "no known end" if link.finish is None else clock_text(instance, link.finish)
        parts.append(f"job {link.job} ({start} to {end})")
    if parts:
        yield f"critical path: {', then '.join(parts)}, then job {job.id}"


def _obstacle(clock: WrittenTimes, item: Obstacle) -> ListingRow:

    beside = smallest_difference((item.first, item.until))
    until = "" if item.until is None else clock.text(item.until, beside)
    return ListingRow((clock.text(item.first, beside), until, item.reason))


def _suggestion(clock: WrittenTimes, item: Suggestion, wide: bool) -> ListingRow:

    gain = "" if item.gain is None else duration_text(item.gain)
    start = clock.text(item.start, item.gain or 0)
    where = hosts_text(item.allocation, wide)
    change = change_text(clock.instance, item.change)
    return ListingRow(
        (start, gain, change, where), "now" if item.start == clock.instance.now else "later"
    )


def _said(clock: WrittenTimes, found: Explanation) -> Iterator[str]:
    """Yield the pending reasons that bjobs would print, and the accounts that come first."""
    from ..model.pending import bjobs_text
    from ..solver.advice.explain import ASSUMED

    if found.reasons and not clock.instance.params.scheduler.has_own_words:
        said = (bjobs_text(i, counted=len(i.hosts) > MAX_HOSTS) for i in found.reasons)
        yield f"bjobs would print: {'; '.join(said)}"
    if found.absolute is not None:
        yield str(found.absolute)
    if found.multifactor is not None:
        yield str(found.multifactor)
    for item in found.contests:
        time = item.ahead_from
        ahead = "not ahead within 30d" if time is None else f"ahead from {clock.text(time)}"
        yield (
            f"{item.path}: {item.account} {item.priority:.3f} behind {item.rival} "
            f"{item.rival_priority:.3f}; {ahead}"
        )
    if found.contests:
        yield f"({ASSUMED})"
