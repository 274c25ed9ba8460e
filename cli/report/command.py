"""``slotwise report``: pictures and tables of an instance, a plan or a simulation in one file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ...model.errors import InputError
from ..declare import command, option, taking, values_of
from ..forecast import LikelyOptions
from ..options import Search, print_note, progress, read_source
from ..output import check_apart, check_output, write_file
from ..process import Cancel, Exit, cancel_on_signal, left_of
from ..simulate import LoopOptions, new_session, workload_of
from ..source import LIVE_ALONE, Source

if TYPE_CHECKING:
    from ...model.instance import Instance
    from ...model.plan import Plan
    from ...solver.advice.diagnosis.records import Diagnosis
    from ...solver.advice.likely import Drawing
    from .about import Advice
    from .data import Report

Wanted = Literal["all", "greedy", "time-based", "optimal", "milp"]
#: Default path of the page.
USUAL = Path("report.html")
#: The option of each form of output.
OPTIONS = {"html": "--output", "png": "--png", "svg": "--svg", "animation": "--animate"}
PICTURE_HELP = "Also draw the Gantt chart to this file, for a paper."
#: Default wall seconds for explanations and diagnosis together; each has half of them.
ADVICE_TIME = 40.0
#: Number of pending jobs from which a report without a limit has one, and its wall seconds.
MANY_PENDING, TIME_OF_MANY = 2_000, 30.0
#: Meaning of --time-limit for a report.
OF_REPORT = (
    "Wall-clock seconds of the whole command, with explanations and page. Without it and --effort, "
    f"{TIME_OF_MANY:g} if {MANY_PENDING:,} jobs are pending, else 30 for an exact plan."
)
#: Shares of the remaining time for the plans, and then for the explanations; the rest is for the
#: page, with at least this share of the limit.
PLANS_SHARE, ADVICE_SHARE, PAGE_SHARE = 0.6, 0.5, 0.15
ONLY_COMPARED = "--history needs an instance and --method all: forecasts are part of the comparison"

UNSEALED = "The plan has no checksum: it was changed, or written by another program."


@dataclass(frozen=True, slots=True)
class Pages:
    """Output files and their forms."""

    output: Path | None = option(
        None, "The page (- for standard output); default report.html.", "-o", "--output"
    )
    png: Path | None = option(None, PICTURE_HELP)
    svg: Path | None = option(None, PICTURE_HELP)
    animate: Path | None = option(None, "Also draw how jobs move to their possible starts (SVG).")
    open: bool = option(False, "Open the page in the browser.")


@dataclass(frozen=True, slots=True)
class Asked:
    """Options for the plans of a report and for its forecasts."""

    method: Wanted
    #: Number of pending jobs to explain.
    explain: int
    search: Search
    forecasts: LikelyOptions
    settings: Drawing
    cancel: Cancel
    #: Takes the progress of a search, None if it is not shown.
    show: Callable[[Any], None] | None

    @property
    def options(self) -> dict[str, Any]:
        """Return the options for every planning method."""
        return values_of(self.search, "objective", "effort", "workers", "as_lsf")

    def for_many(self, instance: Instance) -> Asked:
        """Return the options with a time limit if many jobs are pending and none is given."""
        given = self.search.time_limit is not None or self.search.effort is not None
        if given or len(instance.pending) < MANY_PENDING:
            return self
        return replace(self, search=replace(self.search, time_limit=TIME_OF_MANY))

    def for_plans(self) -> float | None:
        """Return the wall seconds for the plans, once the input is read."""
        left = left_of(self.search.time_limit, kept=0.0)
        return None if left is None else PLANS_SHARE * left

    def for_advice(self) -> float | None:
        """Return the wall seconds for all explanations, or for the diagnosis, once there are
        plans; 0 if only the page can still be made.
        """
        limit = self.search.time_limit
        left = left_of(limit, kept=0.0)
        seconds = ADVICE_TIME / 2 if self.search.effort is None else math.inf
        if left is not None:
            seconds = min(ADVICE_SHARE * left, seconds) if left > PAGE_SHARE * (limit or 0) else 0
        return None if math.isinf(seconds) else seconds


@command
def report(
    source: Annotated[Source, taking(live=LIVE_ALONE)],
    pages: Pages,
    method: Wanted = option("all", "Plan of one method, or of all methods."),
    *,
    search: Annotated[
        Search, taking("objective time_limit effort workers as_lsf", time_limit=OF_REPORT)
    ],
    explain: int = option(10, "Number of pending jobs to explain.", min=0),
    instance: Path | None = option(None, "The instance that a saved plan was made for."),
    likely: Annotated[LikelyOptions, taking("history samples")],
    simulate: bool = option(False, "Simulate the scheduler loop and report on the simulation."),
    loop: Annotated[LoopOptions, taking("reservation until cluster hosts")],
) -> None:
    """Write an HTML page: stuck jobs, what would free them, hosts over time, each job.

    FILE is an instance, or a plan saved by `solve --format json` (--instance names its instance);
    with --simulate, an instance or a log. The page works offline. Exit codes: 0 done, 2 bad input,
    3 stopped early with the best plans found, 4 a plan failed validation.
    """

    output, history = pages.output, likely.history
    given = {"html": output, "png": pages.png, "svg": pages.svg, "animation": pages.animate}
    outputs = _outputs(given, (source.file, instance, history, loop.cluster))
    _check_request(simulate, method, loop, instance)
    if history is not None and (simulate or method != "all"):
        raise InputError(ONLY_COMPARED)
    settings = likely.settings(None if history is None else search.workers)
    with cancel_on_signal() as cancel, progress() as show:
        asked = Asked(method, explain, search, likely, settings, cancel, show)
        if simulate:
            from ...solver.fairshare.reports import ShareSeries
            from .data import report_of_simulation

            with cancel.reading():
                session = new_session(workload_of(source, loop), loop)
            series = ShareSeries()
            session.recorder = lambda record, world: series.record(world.order, record.time)
            while not cancel.is_set() and session.advance():
                pass
            found = report_of_simulation(_name(source), session.result(), series.points)
        else:
            found = _planned(source, instance, asked)
        bounded = asked.for_many(found.instance)
        found = replace(found, diagnosis=_diagnosed(found, bounded))
    _write(found, outputs)
    if output is None and "html" in outputs:
        print_note(f"wrote {USUAL}" + ("" if pages.open else "; --open shows it in the browser"))
    if pages.open and str(outputs.get("html", "-")) != "-":
        _show(outputs["html"])
    if found.refused:
        raise typer.Exit(Exit.REFUSED)
    if cancel.is_set() or found.cut:
        raise typer.Exit(Exit.STOPPED)


def _outputs(given: Mapping[str, Path | None], inputs: Iterable[Path | None]) -> dict[str, Path]:
    """Return the output paths by form; the default is the page.

    Raises InputError for a path that cannot be written.
    """

    outputs = {form: path for form, path in given.items() if path is not None} or {"html": USUAL}
    if outputs.keys() & {"png", "svg"}:
        from ..pictures import check_library

        check_library()
    files = {OPTIONS[form]: path for form, path in outputs.items() if str(path) != "-"}
    for path in files.values():
        check_output(path)
    if len(outputs) - len(files) > 1:
        options = [option for option in OPTIONS.values() if option != "--output"]
        raise InputError(f"only one of -o, {' and '.join(options)} can be standard output (-)")
    check_apart(files, [path for path in inputs if path is not None])
    return outputs


def _check_request(simulate: bool, method: str, loop: LoopOptions, instance: Path | None) -> None:
    """Raise InputError for options that contradict each other."""

    of_loop = values_of(loop, "reservation", "until", "cluster", "hosts")
    given = [f"--{name}" for name, value in of_loop.items() if value is not None]
    if given and not simulate:
        raise InputError(f"{', '.join(given)} needs --simulate")
    if simulate and method != "all":
        raise InputError("--method cannot be combined with --simulate: use --reservation")
    if simulate and instance is not None:
        raise InputError("--instance cannot be combined with --simulate: no saved plan is read")


def _name(source: Source) -> str:
    """Return the name of the input as the page shows it."""
    return source.name if source.file is None else source.file.name


def _diagnosed(found: Report, asked: Asked) -> Diagnosis | None:
    """Return the diagnosis next to the comparison of all methods; --explain 0 omits it."""
    if found.comparison is None or not asked.explain or asked.cancel.is_set():
        return None
    from ...solver.advice.diagnosis.diagnose import diagnose

    seconds = asked.for_advice()
    return (
        None if seconds == 0 else diagnose(found.instance, time_limit=seconds, cancel=asked.cancel)
    )


def _planned(source: Source, beside: Path | None, asked: Asked) -> Report:
    from .data import report_of_comparison, report_of_plan
    from .page import saved_data

    file, name = source.file, _name(source)
    with asked.cancel.reading():
        saved = saved_data(file) if file is not None else None
    if saved is not None:
        assert file is not None
        if asked.forecasts.history is not None:
            raise InputError(ONLY_COMPARED)
        return _saved(file, name, saved, beside, asked)
    if beside is not None:
        raise InputError("--instance needs a plan as FILE, saved by solve --format json")
    with asked.cancel.reading():
        instance = source.read(asked.search.time_limit)
        past = asked.forecasts.past(instance)
    bounded = asked.for_many(instance)
    if bounded is not asked:
        asked = bounded
        many = f"{len(instance.pending):,} jobs are pending"
        print_note(f"{many}: the report takes {TIME_OF_MANY:g} s; --time-limit sets another limit")
    if asked.method == "all":
        from ...solver.advice.comparison import compare

        comparison = compare(
            instance,
            cancel=asked.cancel,
            on_progress=asked.show,
            methods=True,
            history=past,
            drawing=asked.settings,
            time_limit=asked.for_plans(),
            **asked.options,
        )
        print_note(*comparison.remarks)
        waiting = [row.job for row in comparison if row.as_configured != instance.now]
        advice = _advice(instance, waiting, asked)
        return report_of_comparison(name, instance, comparison, advice.found, advice.notes())
    from ...solver.planning import plan

    found = plan(
        instance,
        asked.method,
        time_limit=asked.for_plans(),
        cancel=asked.cancel,
        on_progress=asked.show,
        **asked.options,
    )
    advice = _advice(instance, _waiting(found), asked)
    return report_of_plan(name, instance, found, advice.found, advice.notes())


def _saved(file: Path, name: str, data: Any, beside: Path | None, asked: Asked) -> Report:
    """Return a report of a saved plan, with its instance or the data that it contains."""
    from ...model.formats.plan_file import bare_instance, is_sealed, read_plan
    from ...solver.planning import ESTIMATES
    from ...solver.validate import validate
    from .data import report_of_bare_plan, report_of_plan

    said = () if is_sealed(data) else (UNSEALED,)
    print_note(*(f"{file}: {line}" for line in said))
    if beside is None:
        instance = bare_instance(data)
        found = read_plan(data, instance, str(file), bare=True)
        note = (
            "Only the hosts of the plan are shown: --instance FILE adds the other hosts, the "
            "running jobs "
        )
        notes = (f"{note}and the reasons why jobs wait.", *said)
        drawn = report_of_bare_plan(name, instance, found, notes)
        return replace(drawn, cut=False)  # the author of the plan has seen the warnings
    with asked.cancel.reading():
        instance = read_source(beside)
        found = read_plan(data, instance, str(file))
    as_lsf = asked.options["as_lsf"] or found.method in ESTIMATES
    violations = validate(instance, found, as_lsf=as_lsf)
    broken = [f"The plan breaks a rule: {violation}" for violation in violations]
    print_note(*broken)
    found = replace(found, refused=bool(broken))
    advice = _advice(instance, _waiting(found), asked)
    notes = (*advice.notes(), *said, *broken)
    drawn = report_of_plan(name, instance, found, advice.found, notes)
    return replace(drawn, cut=False)


def _waiting(found: Plan) -> list[str]:
    """Return the jobs that do not start now, jobs without an allocation last."""
    waiting = [item.job for item in found if item.start != found.now]
    return waiting + [item.job for item in found.unplaced]


def _advice(instance: Instance, waiting: list[str], asked: Asked) -> Advice:
    from .about import advise

    return advise(
        instance,
        waiting,
        most=asked.explain,
        seconds=asked.for_advice(),
        cancel=asked.cancel,
        on_progress=asked.show,
    )


def _write(found: Report, outputs: Mapping[str, Path]) -> None:
    """Write every output whole or not at all, the page last."""
    for form in sorted(outputs, key=lambda form: form == "html"):
        if form == "html":
            from .page import page

            content = page(found).encode()
        elif form == "animation":
            from .animation import animation_svg

            content = animation_svg(found).encode()
        else:
            from .figure import figure_bytes

            content = figure_bytes(found, form)
        if str(outputs[form]) == "-":
            typer.echo(content, nl=False)
        else:
            write_file(outputs[form], content)


def _show(path: Path) -> None:
    """Open a page in the browser, or say where it lies where there is none."""
    import webbrowser

    if not webbrowser.open(path.resolve().as_uri()):
        print_note(f"no browser found: open {path} in one")
