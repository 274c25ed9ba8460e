"""``slotwise backtest``: how good forecasts would have been on a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..model.errors import InputError, Problem
from ..model.escaping import printable
from .declare import argument, command, option, taking, values_of
from .options import (
    FORMAT,
    JOBS_FILE,
    MAX_SAMPLES,
    Format,
    LogReading,
    from_stdin,
    print_note,
    progress_bar,
    study_bar,
)
from .output import check_apart, check_output, check_path, write_file, write_records
from .pictures import check_library, drawing, picture
from .process import Cancel, cancel_on_signal, give
from .replay import POLICIES, PoolOptions, read_log, tell_left_out
from .score import accuracy_text, diagram_text, of_groups
from .tables import csv_text, json_text, paragraph

if TYPE_CHECKING:
    from ..solver.forecast.backtest import PastLog, Questions
    from ..solver.forecast.logs import Backtest, RecordedLog


#: The log as it ran, and the remarks on it.
Run = tuple["PastLog", dict[str, Any]]


@dataclass(frozen=True, slots=True)
class PastOfPool:
    """A log on a pool of processors, and the options that say how it is read and run."""

    log: Path
    policy: str
    procs: int | None
    reading: LogReading

    def run(self, cancel: Cancel) -> Run:
        """Return the replayed log; warnings go to stderr."""
        from ..solver.forecast.backtest import Replayed
        from ..solver.replay import replay

        with cancel.reading():
            log = self._read()
        result = replay(
            log.workload, policy=self.policy, procs=self.procs, should_stop=cancel.is_set
        )
        if not result.complete:
            cancel.leave()  # before anything was asked
        tell_left_out(result.workload)
        replayed = Replayed.of(result, log.names)
        head = {"log": replayed.log.source, "policy": self.policy, "procs": replayed.procs}
        return replayed, head

    def _read(self) -> RecordedLog:
        from ..model.formats.reading import kind_of
        from ..solver.forecast.logs import without_preceding

        of_lsf = kind_of(self.log) in ("acct", "events")
        if of_lsf and self.reading.default_limit is not None:
            raise InputError(
                f"--default-limit: does not apply to {self.log}, which is not an SWF log"
            )
        found = read_log(self.log, self.reading)
        if of_lsf and self.procs is None:
            size = found.workload.max_procs
            print_note(
                f"{self.log}: {size} slots were in use at most, so the pool has this size "
                f"(--procs sets another)"
            )
        counted = without_preceding(found)
        print_note(*counted.remarks[len(found.remarks) :])
        return counted


def past_over_hosts(log: Path, cluster: Path, reading: LogReading, cancel: Cancel) -> Run:
    """Return a run of the log on the hosts of an instance, as by `slotwise simulate`."""
    from ..model.omissions import sentences
    from ..solver.budget import OutOfTime
    from ..solver.forecast.of_instance import SimulatedLog
    from ..solver.rules.rule_book import unheeded_in_a_run
    from .simulate import LoopOptions, cycle_of, new_session, workload

    options = LoopOptions(**values_of(reading), cluster=cluster)
    with cancel.reading():
        given = workload(log, options)
        session = new_session(given, options, cycle_of(given, options))
    total = len(session.given)
    with progress_bar(
        "simulating", total, lambda: (session.progress.started, session.world.now)
    ) as show:
        try:
            simulated = SimulatedLog.run(session, str(log), should_stop=cancel.is_set, watch=show)
        except OutOfTime:
            cancel.leave()  # before anything was asked
    hosts = len(session.instance.cluster.hosts)
    omissions = unheeded_in_a_run(session.source, session.world.requests.resolver)
    print_note(*sentences(omissions))
    head = {"log": str(log), "cluster": str(cluster), "hosts": hosts}
    return simulated, head | ({"omissions": [o.to_dict() for o in omissions]} if omissions else {})


#: Inches of either side.
SIDE = 4.0
_RAW, _CALIBRATED, _IDEAL = "#3b76e1", "#e0742c", "#97a5b7"


def diagram_bytes(
    rows: Sequence[tuple[float, float, float | None]], title: str, form: str
) -> bytes:
    """Return a chart of stated and observed probability; equal rows give equal bytes.

    rows: level, share, share after calibration or None. form: "png" or "svg".
    """
    with drawing(SIDE, SIDE) as figure:
        axis = figure.subplots()
        axis.plot([0, 1], [0, 1], color=_IDEAL, linewidth=1, label="as stated")
        axis.plot([r[0] for r in rows], [r[1] for r in rows], "o-", color=_RAW, label="forecast")
        after = [(level, share) for level, _, share in rows if share is not None]
        axis.plot(*zip(*after, strict=True), "s", color=_CALIBRATED, label="calibrated")
        axis.set(xlim=(0, 1), ylim=(0, 1), title=printable(title), aspect="equal")
        axis.set(xlabel="stated probability of a start", ylabel="observed share of starts")
        axis.legend(frameon=False)
        return picture(figure, form)


@dataclass(frozen=True, slots=True)
class Sampling:
    """Number and choice of the jobs in a backtest; fields of ``solver.forecast.backtest``."""

    questions: int = option(300, "Number of past jobs to forecast.", min=1)
    samples: int = option(100, "Number of samples for each job.", min=1, max=MAX_SAMPLES)
    seed: int = option(0, "The same seed gives the same answer on any machine.")
    workers: int = option(1, "Number of processes; the answer does not depend on it.", min=1)


#: Help texts of options that mean one thing on a pool and another on the hosts of an instance.
OF_POOL = {
    "policy": f"Policy of the pool: {POLICIES}. Default: easy.",
    "procs": "Processors. Default: the log's MaxProcs; for LSF's logs, the maximum in use.",
}
OF_HOSTS = (
    "Instance whose hosts and queues run the log (SWF, lsb.acct) in the scheduler loop, "
    "instead of a pool."
)


@command
def backtest(
    log: Path = argument(
        ...,
        "Log of finished jobs: SWF, lsb.acct or lsb.events, plain or gzipped; - for standard "
        "input.",
        callback=from_stdin,
        show_default=False,
    ),
    *,
    pool: Annotated[PoolOptions, taking("policy procs", **OF_POOL)],
    cluster: Path | None = option(None, OF_HOSTS),
    how: Sampling,
    jobs: Path | None = JOBS_FILE,
    picture: Path | None = option(None, "Write the reliability diagram: .png or .svg."),
    reading: LogReading,
    format: Format = FORMAT,
) -> None:
    """Measure how accurate forecasts would have been for past jobs of this log.

    Jobs that waited over a minute in the last three quarters of the log's replay are sampled, and
    each is forecast at its submission. Exit codes: 0 done, 2 bad input, 3 stopped early,
    130 interrupted before any answer.
    """

    from ..solver.forecast.logs import Backtest

    _one_world(cluster, pool)
    check_path(jobs)
    if picture is not None:
        if picture.suffix not in (".png", ".svg"):
            raise InputError([Problem("must be a name that ends in .png or .svg", str(picture))])
        check_library()
        check_output(picture)
    inputs = [log] if cluster is None else [log, cluster]
    check_apart({"--jobs": jobs, "--picture": picture}, inputs)
    with cancel_on_signal() as cancel:
        if cluster is None:
            past, head = PastOfPool(log, pool.policy or "easy", pool.procs, reading).run(cancel)
        else:
            past, head = past_over_hosts(log, cluster, reading, cancel)
        asked = _ask(past, cancel, how)
    found = Backtest(past, asked)
    write_records(_records(found), jobs)
    if picture is not None:
        title = Path(past.log.source).name
        content = diagram_bytes(found.reliability, title, picture.suffix.removeprefix("."))
        write_file(picture, content)
    head |= {"jobs": len(asked), **values_of(how, "samples", "seed")}
    head |= {"cut": cancel.is_set()}
    give(backtest_output(found, head, format), is_partial=head["cut"])


def _one_world(cluster: Path | None, pool: PoolOptions) -> None:
    """Raise InputError if a pool and hosts are both requested."""

    given = {"--policy": pool.policy, "--procs": pool.procs}
    wrong = [
        Problem(f"{name} {value} applies to a pool only: remove {name} or --cluster")
        for name, value in given.items()
        if cluster is not None and value is not None
    ]
    if wrong:
        raise InputError(wrong)


def _ask(replayed: PastLog, cancel: Cancel, how: Sampling) -> Questions:
    """Run the backtest with a progress bar and return it."""
    from ..solver.budget import OutOfTime
    from ..solver.forecast.backtest import backtest

    with study_bar("asking", how.questions) as step:
        options = values_of(how, "samples", "seed", "workers") | {"jobs": how.questions}
        try:
            return backtest(replayed, **options, tell=lambda _: step(), stop=cancel.is_set)
        except OutOfTime:
            cancel.leave()  # there is no limit: it was a signal


def backtest_output(found: Backtest, head: dict[str, Any], format: str) -> str:
    """Return a backtest in one of the output formats, with a final newline."""
    from ..model.formats.sealed import BACKTEST, sealed

    if format == "csv":
        rows = found.accuracy_records()
        return csv_text(list(rows[0]), rows)
    groups, diagram = found.groups, found.reliability
    if format == "json":
        names = ("level", "share", "calibrated")
        record = head | {
            "calibration": asdict(found.calibration),
            "groups": [group.to_dict() for group in groups],
            "reliability": [dict(zip(names, row, strict=True)) for row in diagram],
        }
        return json_text(sealed(BACKTEST, record))
    return "\n".join((_said(head), accuracy_text(of_groups(groups)), diagram_text(diagram)))


def _said(head: dict[str, Any]) -> str:
    stopped = "stopped early: the first " if head["cut"] else ""
    return paragraph(
        f"{stopped}{head['jobs']} jobs of {head['log']} that waited, each with a forecast at "
        f"its submission ({_where(head)}, {head['samples']} futures, seed {head['seed']}):"
    )


def _where(head: dict[str, Any]) -> str:
    if "cluster" in head:
        return f"the loop over {head['hosts']} hosts of {head['cluster']}"
    return f"{head['policy']} on {head['procs']} processors"


def _records(found: Backtest) -> list[dict[str, Any]]:
    """Return one record per job; waits in seconds, None if no start is foreseen."""
    jobs, *columns = found.columns().items()
    names = ("job", *(name for name, _ in columns))
    rows = zip(jobs[1], *(map(_whole, column.tolist()) for _, column in columns), strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _whole(seconds: float) -> int | None:
    """Return a start in whole seconds, None if no start."""
    return int(seconds) if isfinite(seconds) else None
