"""``slotwise import``: other formats as instance files; ``slotwise snapshot``: the cluster now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.main import get_command

from ..model.errors import InputError, Problem, report
from .declare import argument, command, option, taking, values_of
from .import_snapshot import SITE, Listings, print_notes
from .options import RUSAGE_HELP, LogReading, Rusage, from_stdin, print_note, read_source
from .output import Written, check_apart
from .panels import CommandGroup, PanelledCommand
from .replay import POLICIES, known_policy, policies
from .scheduler import TIMEOUT, Asking, NoAnswer, Scheduler
from .slurm_programs import slurm_files

if TYPE_CHECKING:
    from ..model.formats.file_format import FileFormat, ReadOptions
    from ..model.instance import Instance
    from ..model.job import Job
    from ..model.sources.finished_jobs import FinishedJob
    from ..model.sources.log_lines import BadRecords
    from ..model.sources.lsf_state.event_log import Moment
    from ..model.sources.lsf_state.log_records import LogRecord
    from ..model.sources.swf import SwfLog
    from ..model.workload import Workload


def schedulers() -> tuple[Scheduler, ...]:
    """Return the known schedulers; the first one with all its programs is used."""
    from .lsf_programs import LSF
    from .slurm_programs import SLURM

    return (LSF, SLURM)


def scheduler_here() -> tuple[Scheduler, dict[str, str]]:
    """Return the scheduler of this machine, and its programs by name.

    Raises InputError if there is none, or a part of one.
    """
    from ..solver.processes import path_of

    partly: list[Problem] = []
    known = schedulers()
    for scheduler in known:
        found = {name: path for name in scheduler.programs if (path := path_of(name)) is not None}
        missing = [name for name in scheduler.needed if name not in found]
        if not missing:
            return scheduler, found
        if found:
            wrong = f"is not on the PATH: {scheduler.hint}"
            partly += [Problem(wrong, name) for name in missing]
    if partly:
        raise InputError(partly)
    wanted = "; ".join(f"no {', '.join(one.needed)} ({one.name}): {one.hint}" for one in known)
    raise InputError(f"no scheduler is on the PATH: {wanted}")


def cluster_now(asking: Asking) -> Instance:
    """Return the cluster of this machine as it is now; notes go to stderr.

    What was not read is an omission of the instance as well. Raises InputError if there is no
    scheduler, if it does not answer, or if what it prints makes no instance.
    """
    scheduler, programs = scheduler_here()
    try:
        return scheduler.ask(programs, asking)
    except NoAnswer as error:
        wrong = f"the {scheduler.name} of this machine does not answer: {error}"
        raise InputError(wrong, hint=scheduler.down) from None


def printed_instance(how: Listings) -> Instance:
    """Return the instance of what the commands of either scheduler printed; notes go to stderr."""
    from ..model.sources.lsf_state.folder import NoListingError
    from .slurm_programs import instance_of_folder

    try:
        return how.instance(how.site)
    except NoListingError:
        if how.folder is None or how.files:
            raise
        return instance_of_folder(how.folder, how.now)


@command
def snapshot(
    how: Listings,
    *,
    timeout: float | None = option(
        None, "Seconds to wait for each of the scheduler's commands; default 120.", min=1.0
    ),
    written: Written,
) -> None:
    """Write an instance of the cluster of this machine, or of saved output of its commands.

    Without files, run the scheduler's commands. LSF: bjobs, bhosts, bqueues and, if available,
    bhpart, lsid, bparams, bugroup, bmgroup, busers, lshosts, blimits, bjgroup, brsvs, bsla,
    bresources -g -l, bhosts -aff, bjobs -aps and bjobs -A. Slurm: squeue, scontrol, sinfo, sdiag,
    sacctmgr, sshare and sprio. Other commands do the same with --cluster in place of FILE.

    With files, run no command. Each file is JSON or text as printed by the command; options may
    be repeated. Printed priorities are checked against the formula, and differences are reported.
    --from also takes the output of Slurm's commands.

    Exit codes: 0 done, 2 bad input, a missing command, or output that gives no instance.
    """
    if how.is_given:
        if timeout is not None:
            raise InputError([Problem("needs a live scheduler: remove --timeout", "--timeout")])
        folder = () if how.folder is None else how.folder.glob("*")
        check_apart({"--output": written.output}, [*how.files, *filter(Path.is_file, folder)])
        written.write(printed_instance(how))
        return
    if how.now is not None:
        raise InputError([Problem("applies only to saved output: give --from or --bjobs", "--now")])
    written.write(cluster_now(Asking(timeout or TIMEOUT, how.site, how.rusage or "")))


@dataclass(frozen=True, slots=True)
class ConfigurationReading:
    """Facts that LSF's files leave open; fields of ``model.formats.lsf.site_document``."""

    cluster: str = option(
        "", "Name of the cluster, if the directory has several.", show_default=False
    )
    at: str | None = option(
        None,
        "Time for #if time(…), ISO 8601 with zone; it becomes `now`. Default: the current time, "
        "for conditions only.",
    )
    user: str = option("", "User for #if user(…).", show_default=False)
    lshosts: Path | None = option(
        None,
        "Output of `lshosts -w`: processors and memory of hosts. Default: CONFDIR/lshosts, if "
        "it exists.",
    )
    ncpus: tuple[str, ...] = option(
        (),
        "Processors of hosts for which no file gives them: N for all, or HOST=N; repeatable.",
        metavar="[HOST=]N",
    )
    rusage: Rusage | None = option(None, RUSAGE_HELP)

    def options(self) -> dict[str, Any]:
        """Return the options for the reader. Raises InputError for invalid values."""
        from ..model.formats.units import parse_stamp

        try:
            moment = None if self.at is None else parse_stamp(self.at)
        except ValueError as error:
            raise InputError(f"--at: {error}") from None
        ncpus, rusage = _processors(self.ncpus), self.rusage or ""
        return values_of(self) | {"at": moment, "ncpus": ncpus, "rusage": rusage}


@command
def lsf(
    confdir: Path | None = argument(
        None, "Directory with lsf.conf, lsf.cluster.NAME, lsb.queues and similar files."
    ),
    *,
    example: str | None = option(
        None, "A bundled configuration instead: site or tutorial.", metavar="NAME"
    ),
    reading: ConfigurationReading,
    written: Written,
) -> None:
    """Turn a directory of LSF configuration into an instance (docs/import.md).

    Settings without a counterpart, and settings that may change answers, are listed on stderr.

    Exit codes: 0 done, 2 bad input.
    """
    from ..model.formats.lsf import site_document

    if confdir is None and example is not None:
        from ..instances import site

        confdir = site(example)
    elif confdir is None or example is not None:
        raise InputError("give either a configuration directory or --example NAME")
    found = site_document(confdir, present=datetime.now().astimezone(), **reading.options())
    print_note(*(f"note: {note}" for note in found.notes))
    instance, warnings = found.instance()
    print_note(*(f"warning: {warning}" for warning in warnings))
    written.write(instance)


def _processors(words: Iterable[str]) -> dict[str, int]:
    """Return the processors of texts ``16`` or ``hostA=16``; raise InputError for other texts."""
    from ..model.formats.names import expand_range

    found: dict[str, int] = {}
    for word in words:
        host, _, count = word.rpartition("=")
        if not (count.isascii() and count.isdigit() and 0 < len(count) < 7 and int(count)):
            raise InputError(f"--ncpus: must be N or HOST=N with N of 1 or more, not {word!r}")
        try:
            names = expand_range(host) if host else ("",)
        except ValueError as error:
            raise InputError(f"--ncpus: {error}") from None
        found.update(dict.fromkeys(names, int(count)))
    return found


AT = option(
    "end",
    "Time of the snapshot: an ISO 8601 time with zone, seconds of the log, a time from its "
    "start (2d, 90m), or end.",
    metavar="TIME",
)
LATER = option(
    False, "Include the jobs submitted after that time, for a simulation from it.", "--with-future"
)
KEEP_GOING = option(False, "Report malformed records and read the rest.")


def _log(what: str) -> Any:
    """Return the argument for one or several log files."""
    text = f"{what}; plain or gzipped, - for standard input."
    return argument(..., text, callback=from_stdin, show_default=False)


#: Second 0 of the times of lsb.acct and lsb.events.
EPOCH = datetime.fromtimestamp(0, UTC)
#: Value of --policy that keeps the starts of the log.
RECORDED = "recorded"


def _recorded_or_known(policy: str) -> str:
    return policy if policy == RECORDED else known_policy(policy) or RECORDED


def _recorded_or_policies(incomplete: str) -> list[str]:
    return [name for name in (RECORDED,) if name.startswith(incomplete)] + policies(incomplete)


@command
def events(
    files: list[Path] = _log("lsb.events, older ones first"),
    at: str = AT,
    site: Path | None = SITE,
    later: bool = LATER,
    keep_going: bool = KEEP_GOING,
    *,
    written: Written,
) -> None:
    """Read one instant of LSF's event log: the jobs that were running and pending then.

    The log is read as a stream; later records give the real run times of the jobs.

    Exit codes: 0 done, 2 bad input.
    """
    from ..model.sources.log_lines import BadRecords
    from ..model.sources.lsf_state.event_log import cut
    from ..model.sources.lsf_state.log_records import read_events

    check_apart({"--output": written.output}, files)
    bad = BadRecords()
    kinds: dict[str, int] = {}

    def records() -> Iterator[LogRecord]:
        for path in files:
            yield from read_events(path, bad, kinds)

    first = None
    if not re.fullmatch(r"end|-?\d+|.*T.*", at):
        first = next((record.time for record in records()), None)
        bad, kinds = BadRecords(), {}
    moment = cut(records(), None if at == "end" else _seconds(at, first or 0), later=later)
    _refuse(bad, keep_going)
    notes = []
    if moment.first is not None and moment.time > moment.last:
        end = datetime.fromtimestamp(moment.last, UTC).isoformat()
        notes.append(f"--at {at}: the log ends earlier, at {end}: it has no later events")
    if moment.unknown:
        notes.append(f"{moment.unknown} records are of jobs submitted before the log begins")
    for name in moment.idle_queues:
        notes.append(f"queue {name} was inactive: none of its jobs starts")
    for name in moment.closed_queues:
        notes.append(
            f"queue {name} was closed: it accepts no new jobs; its pending jobs still start"
        )
    instance = _instance(moment, site, notes, bad)
    idle, shut = moment.idle_queues, moment.closed_queues
    queues = (
        replace(q, active=q.active and q.name not in idle, open=q.open and q.name not in shut)
        for q in instance.queues
    )
    written.write(replace(instance, queues=tuple(queues)))


@command
def acct(
    files: list[Path] = _log("lsb.acct, older ones first"),
    at: str = AT,
    site: Path | None = SITE,
    usage_for: Path | None = option(
        None,
        "Instance whose share accounts and slot pools get the usage of the log's jobs up to its "
        "now (or --at); its jobs are kept.",
    ),
    later: bool = LATER,
    keep_going: bool = KEEP_GOING,
    *,
    written: Written,
) -> None:
    """Read one instant of LSF's accounting log, or add its past usage to an instance.

    The log contains no jobs that were unfinished when it was written.

    Exit codes: 0 done, 2 bad input.
    """
    from ..model.sources.log_lines import BadRecords
    from ..model.sources.lsf_state.event_log import moment_of_acct

    check_apart({"--output": written.output}, files)
    bad = BadRecords()
    if usage_for is not None:
        if site is not None or later:
            raise InputError("--usage-for has its own hosts and jobs: remove --site and "
            "--with-future")  # fmt: skip
        instance = _used(usage_for, files, at, bad)
        _refuse(bad, keep_going)
        print_notes(bad.told_cells())
        written.write(instance)
        return
    time = _acct_time(at, files)
    moment = moment_of_acct(_finished(files, bad), time, later=later, hosts=site is None)
    _refuse(bad, keep_going)
    if moment.first is not None:
        _require_within(at, time, moment.first, moment.last, EPOCH)
    notes: list[str] = []
    instance = _instance(moment, site, notes, bad)
    if _has_accounts(instance):
        from ..solver.fairshare.reports import PastUsage

        past = PastUsage(instance, _zero(instance))
        for job in _finished(files, BadRecords()):
            past.add(job)
        instance = past.instance_with_usage()
    written.write(instance)


@command
def swf(
    file: Path = _log("SWF log"),
    at: str = AT,
    policy: str = option(
        RECORDED,
        f"Source of the starts: recorded, or a replay by one of {POLICIES}.",
        metavar="NAME",
        callback=_recorded_or_known,
        autocompletion=_recorded_or_policies,
    ),
    procs: int | None = option(None, "Processors. Default: the log's MaxProcs.", min=1),
    hosts: int = option(1, "Spread the processors over N hosts.", min=1),
    later: bool = LATER,
    keep_going: bool = KEEP_GOING,
    *,
    reading: Annotated[LogReading, taking("default_limit")],
    written: Written,
) -> None:
    """Read one instant of an SWF log: the jobs that were running and pending then.

    Exit codes: 0 done, 2 bad input.
    """
    from ..model.sources.lsf_state.event_log import moment_of_swf
    from ..model.sources.swf import read_swf
    from ..model.sources.trace import nothing_to_replay, plain_hosts, remarks_on
    from ..model.workload import canonical, machine_size

    check_apart({"--output": written.output}, [file])
    found = read_swf(file, keep_going=keep_going, default_limit=reading.limit)
    _tell_problems(found.problems)
    size = machine_size(found.workload, procs)
    log = canonical(found.workload, size)
    if not len(log):
        raise nothing_to_replay(log)
    queues = len({int(number) for number in log.queue if number >= 0})
    print_notes([*remarks_on(log), *[f"the {queues} queues become one queue"] * (queues > 1)])
    if policy == RECORDED:
        starts = {
            number: submit + found.waits[number]
            for number, submit in zip(log.job.tolist(), log.submit.tolist(), strict=True)
            if number in found.waits
        }
        if missing := len(log) - len(starts):
            raise InputError(
                f"{file}: {missing} of {len(log)} jobs have no recorded wait: give a policy "
                f"such as --policy easy, and the snapshot is taken from a replay"
            )
    else:
        from ..solver.replay import replay

        result = replay(log, policy=policy, procs=size)
        starts = dict(zip(log.job.tolist(), result.start.tolist(), strict=True))
    base = plain_hosts(hosts, size)
    first = int(log.submit[0])
    last = max(starts[int(n)] + int(run) for n, run in zip(log.job, log.run_time, strict=True))
    time = last if at == "end" else _second_of_log(at, found, first, last)
    moment = moment_of_swf(log, starts, time, base.cluster.hosts, later=later)
    origin = None if found.origin is None else found.origin.isoformat()
    instance = replace(_of_pool(moment, base), origin=origin)
    written.write(_with_precedences(instance, log, starts))


def _second_of_log(at: str, log: SwfLog, first: int, last: int) -> int:
    """Return the second of --at. Raises InputError if it is outside the log or has no date."""

    zero = 0
    if "T" in at:
        if log.origin is None:
            raise InputError(
                f"--at: the log has no date (UnixStartTime): give seconds of the log ({first} to "
                f"{last}), or a time from its beginning (2d)"
            )
        zero = int(log.origin.timestamp())
    time = _seconds(at, first) - zero
    _require_within(at, time, first, last, log.origin)
    return time


def _require_within(at: str, time: int, first: int, last: int, origin: datetime | None) -> None:
    """Raise InputError for an instant outside a log; origin: of its seconds, if known."""
    if first <= time <= last:
        return
    span = f"{first} to {last}"
    if origin is not None:
        begin, end = (origin + timedelta(seconds=second) for second in (first, last))
        span += f", {begin.isoformat()} to {end.isoformat()}"
    raise InputError(f"--at {at}: is outside the log, which covers seconds {span}")


def _with_precedences(instance: Instance, log: Workload, starts: Mapping[int, int]) -> Instance:
    """Return the instance with the dependencies of its jobs (DEP-06) and the delays behind them.

    starts: of the log's jobs (seconds).
    """
    if log.preceding is None or log.think is None:
        return instance
    run = dict(zip(log.job.tolist(), log.run_time.tolist(), strict=True))
    follows = {
        str(number): (before, think)
        for number, before, think in zip(
            log.job.tolist(), log.preceding.tolist(), log.think.tolist(), strict=True
        )
        if before >= 0
    }
    here = {item.job.id for item in instance.running}
    here |= {job.id for job in (*instance.pending, *instance.future)}

    def waits(job: Job) -> Job:
        if job.id not in follows:
            return job
        before, think = follows[job.id]
        if str(before) in here:
            return replace(job, dependency=f"ended({before})", think_time=think)
        begin = starts[before] + run[before] + think
        return replace(job, begin=begin) if begin > instance.now else job

    pending, future = tuple(map(waits, instance.pending)), tuple(map(waits, instance.future))
    return replace(instance, pending=pending, future=future)


def _of_pool(moment: Moment, base: Instance) -> Instance:
    """Return the instant on equal hosts; second 0 is that of the log."""
    from ..model.sources.lsf_state.assemble import assemble
    from ..model.sources.lsf_state.seen import Seen

    stamped = replace(base, origin=datetime.fromtimestamp(0, UTC).isoformat())
    for job in (*moment.jobs, *moment.later):
        job.queue = base.params.default_queue
    seen = Seen(moment.jobs, moment.later, gone=True)
    made = assemble(seen, datetime.fromtimestamp(moment.time, UTC), stamped)
    print_notes(made.notes)
    return made.instance


def _instance(moment: Moment, site: Path | None, notes: list[str], bad: BadRecords) -> Instance:
    from ..model.sources.lsf_state.assemble import assemble
    from ..model.sources.lsf_state.event_log import settle_limits, tell_unread
    from ..model.sources.lsf_state.seen import Seen
    from ..model.sources.trace import GPUS_OF_LOGS

    if moment.first is None:
        raise InputError("the log contains no job records: give a log with JOB_NEW records")
    if moment.time < moment.first:
        begin = datetime.fromtimestamp(moment.first, UTC).isoformat()
        raise InputError(f"--at must be {begin} ({moment.first}) or later, not {moment.time}")
    base = None if site is None else read_source(site)
    hosts = moment.hosts
    if base is not None:
        known = {host.name for host in base.cluster.hosts}
        hosts = [host for host in hosts if host.name not in known or host.status != "ok"]
        for host in hosts:
            host.slots = None if host.name in known else host.slots
    if base is None and not hosts:
        raise InputError("no job of the log ran: give the hosts with --site")
    seen = Seen(moment.jobs, moment.later, hosts, all_hosts=False, gone=True)
    settle_limits(moment, base, seen.notes)
    tell_unread(moment, bad, seen.notes)
    if base is not None and any(host.gpu_count for host in base.cluster.hosts):
        seen.notes.touch(GPUS_OF_LOGS)
    zone = UTC
    if base is not None and base.origin is not None:
        zone = datetime.fromisoformat(base.origin).tzinfo or zone  # type: ignore[assignment]
    made = assemble(seen, datetime.fromtimestamp(moment.time, zone), base)
    print_notes([*notes, *made.notes])
    return made.instance


def _used(usage_for: Path, files: list[Path], at: str, bad: BadRecords) -> Instance:
    """Return the instance with the usage of the log's jobs until its now, or until --at."""
    from ..solver.fairshare.reports import PastUsage

    instance = read_source(usage_for)
    if not _has_accounts(instance):
        raise InputError(f"{usage_for}: has no fairshare queue, host partition or slot pool, "
                         "so no past usage counts")  # fmt: skip
    if instance.origin is None:
        time = _acct_time(at, files)
        origin = datetime.fromtimestamp(time - instance.now, UTC)
        instance = replace(instance, origin=origin.isoformat())
    elif at != "end":
        time = _acct_time(at, files)
        instance = replace(instance, now=time - _zero(instance))
    past = PastUsage(instance, _zero(instance))
    first, last = None, 0
    for job in _finished(files, bad):
        first = job.submit if first is None else min(first, job.submit)
        last = max(last, job.end)
        past.add(job)
    if at != "end" and first is not None:
        _require_within(at, instance.now + _zero(instance), first, last, EPOCH)
    print_notes([f"{past.counted} finished jobs count for {usage_for}"])
    return past.instance_with_usage()


def _has_accounts(instance: Instance) -> bool:
    from ..solver.fairshare.waiting_jobs import has_policy

    return has_policy(instance)


def _zero(instance: Instance) -> int:
    """Return the seconds since 1970 of an instance's second 0."""
    return int(datetime.fromisoformat(instance.origin or "1970-01-01T00:00:00+00:00").timestamp())


def _finished(files: list[Path], bad: BadRecords) -> Iterator[FinishedJob]:
    from ..model.formats.reading import refuse_other
    from ..model.sources.acct import SKEWED, finished_jobs
    from ..model.sources.log_lines import log_lines

    for path in files:
        refuse_other(path, "acct")
        others: dict[str, int] = {}
        yield from finished_jobs(log_lines(path), bad, others, str(path))
        bad.repaired = others.get(SKEWED, 0)


def _acct_time(at: str, files: list[Path]) -> int:
    """Return the instant of --at; read the log if --at counts from its begin or end."""
    from ..model.sources.log_lines import BadRecords

    if re.fullmatch(r"-?\d+|.*T.*", at):
        return _seconds(at, 0)
    first, last = None, 0
    bad = BadRecords()
    for job in _finished(files, bad):
        first = job.submit if first is None else min(first, job.submit)
        last = max(last, job.end)
    if first is None:
        _refuse(bad, keep_going=False)
        raise InputError(
            f"--at {at} needs a finished job in the log: give seconds, or a time such as "
            f"2026-03-01T08:00:00"
        )
    return last if at == "end" else _seconds(at, first)


def _seconds(at: str, first: int) -> int:
    """Return the second of --at; first: the first second of the log."""
    from ..model.formats.units import parse_duration, parse_stamp

    try:
        if "T" in at:
            return int(parse_stamp(at).timestamp())
        if re.fullmatch(r"\d{1,12}", at):
            return int(at)
        return first + parse_duration(at)
    except ValueError as error:
        raise InputError(f"--at: {error}") from None


def _refuse(bad: BadRecords, keep_going: bool) -> None:
    """Raise InputError for malformed records; with --keep-going print warnings."""
    from ..model.sources.acct import SKEWED
    from ..model.sources.log_lines import refused_records

    if bad.count and not keep_going:
        raise refused_records(bad.report())
    _tell_problems(bad.report())
    if bad.repaired:
        print_note(f"{bad.repaired} × {SKEWED}")


def _tell_problems(problems: list[Problem] | tuple[Problem, ...]) -> None:
    print_note(*(f"warning: {line}" for line in report(problems)))


EXITS = "Exit codes: 0 done, 2 bad input."

FILE = argument(..., "File to read; - for standard input.", callback=from_stdin, show_default=False)


@dataclass(frozen=True, slots=True)
class FormatReading(LogReading):
    """The options that a format may take; fields as of ``ReadOptions``."""

    hosts: int | None = option(None, "Spread the processors of the log over N hosts.", min=1)
    cluster: Path | None = option(None, "Instance whose hosts and queues are used.")

    def options(self) -> ReadOptions:
        """Return the options as a format takes them. Raises InputError for an invalid cluster."""
        from ..model.formats.file_format import ReadOptions

        cluster = None if self.cluster is None else read_source(self.cluster)
        return ReadOptions(self.hosts, cluster, self.keep_going, self.limit)


#: Panel of the help for the formats that studies use.
STUDIES = "Study and simulate"


class FormatGroup(CommandGroup):
    """The commands that are written by hand, and one for every other format of the registry."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands in the order of the registry."""
        own = super().list_commands(ctx)
        return own + [item.name for item in _importable() if item.name not in own]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name, None if the name is unknown."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        return next((_command(item) for item in _importable() if item.name == cmd_name), None)


app = typer.Typer(
    cls=FormatGroup, help="Turn other formats into instance files.", no_args_is_help=True
)
app.command("snapshot", cls=PanelledCommand, hidden=True)(snapshot)  # `slotwise snapshot`
app.command("slurm", cls=PanelledCommand)(slurm_files)
for each in (lsf, events, acct):
    app.command(cls=PanelledCommand)(each)
app.command(cls=PanelledCommand, rich_help_panel=STUDIES)(swf)


@app.callback()
def _formats() -> None:
    """Turn other formats into instance files."""


def _importable() -> list[FileFormat]:
    from ..model.sources.registry import file_formats

    return [item for item in file_formats() if item.name != "instance"]


def _command(found: FileFormat) -> Any:
    """Return ``slotwise import NAME FILE`` with the options that apply to the format."""

    known = ("hosts", "cluster", "keep_going", "default_limit")
    taken = taking(" ".join(name for name in known if name in found.takes))

    def run(file: Path = FILE, *, written: Written, reading: FormatReading) -> None:
        check_apart({"--output": written.output}, [file])
        contents = found.read(file, reading.options())
        print_note(*contents.remarks)
        written.write(contents.instance)

    run.__annotations__["reading"] = Annotated[FormatReading, taken]
    alone = typer.Typer(add_completion=False)
    words = f"Turn {found.kind}, into an instance.\n\n{EXITS}"
    alone.command(found.name, cls=PanelledCommand, help=words)(command(run))
    return get_command(alone)
