"""``slotwise serve``: the options, the checks before the start, and what is said then."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import typer

from ...model.errors import InputError, Problem, SlotwiseError, missing_package
from ..declare import command, option
from ..options import interval_of, print_note, seconds_of
from ..source import Source
from .board import BoardState

if TYPE_CHECKING:
    from .access import Access
    from .notices import Deliver
    from .polls import StateSource
    from .service import Service


#: Kinds of problems: the field of a state that has the message, and the words before it.
KINDS: Final = (
    ("problem", "the cluster cannot be read"),
    ("unplanned", "a state could not be planned or stored"),
    ("not_forecast", "no likely starts"),
)


@dataclass(slots=True)
class Journal:
    """A listener of the board: each problem once, and when the cluster can be read again."""

    #: Prints one line.
    tell: Callable[[str], None]
    _known: dict[str, str] = field(default_factory=dict)

    def __call__(self, state: BoardState) -> None:
        """Print what has changed with a state."""
        for name, words in KINDS:
            problem: str = getattr(state, name)
            is_over = name == "problem" and not problem
            if problem == self._known.get(name, "") or not (problem or is_over):
                continue
            self._known[name] = problem
            self.tell("the cluster is read again" if is_over else f"{words}: {problem}")


#: Modules of the extra, each with its distribution.
_NEEDED = ("fastapi", "uvicorn", "sqlalchemy")
#: Seconds between two polls at least.
MIN_EVERY = 0.2
#: How long estimates are kept, and simulated seconds of one second.
KEPT, SPEED = "90d", 60.0


@dataclass(frozen=True, slots=True)
class ListenOptions:
    """Options on where the service listens, and to whom it answers."""

    host: str = option("127.0.0.1", "Address to listen on.", metavar="ADDRESS")
    port: int = option(8642, "Port to listen on; 0 for a free one.", min=0, max=65535)
    token_file: Path | None = option(
        None, "Requests need the token of this file, which must be readable only by you."
    )
    trust_user_header: str | None = option(
        None, "Header in which a trusted proxy names the user.", metavar="NAME"
    )


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """Options on what is kept, and for how long."""

    store: str | None = option(
        None,
        "Keep estimates in this SQLite file, or PostgreSQL database by its URL.",
        metavar="FILE|URL",
    )
    keep: str | None = option(
        None, f"With --store: time for which estimates are kept; default {KEPT}.", metavar="TIME"
    )

    def seconds(self) -> int | None:
        """Return how long estimates are kept; raise InputError for a time without a store."""
        _check_needed("--keep", self.keep, "--store", self.store)
        return seconds_of(self.keep or KEPT, "--keep")


@command
def serve(
    source: Source,
    listen: ListenOptions,
    kept: StoreOptions,
    every: str = option("10s", "Time between two polls (10s, 1m).", metavar="TIME"),
    history: Path | None = option(
        None, "Log of finished jobs (SWF, lsb.acct, lsb.events): also shows forecast starts."
    ),
    notify: str | None = option(
        None,
        "Give each moved start as a line of JSON to this command, on standard input, or POST it "
        "to this URL.",
        metavar="COMMAND|URL",
    ),
    speed: float | None = option(
        None,
        f"With --example: simulated seconds per second; default {SPEED:g}.",
        min=0.0,
        metavar="N",
    ),
    lifetime: str | None = option(None, "Stop after this time (30s, 8h).", "--for", metavar="TIME"),
) -> None:
    """A live board of pending jobs for browsers, a page for each job, and an API.

    FILE may be a folder of snapshots; the newest readable one is used. An example is a simulated
    cluster that keeps running. Ctrl-C or SIGTERM ends the service.

    The address is printed on standard output.

    Exit codes: 0 done, 2 bad input.
    """
    check_extra()
    seconds = interval_of(every, "--every")
    if seconds < MIN_EVERY:
        raise InputError([Problem(f"must be {MIN_EVERY:g} s or more, not {every!r}", "--every")])
    from .access import Access
    from .notices import delivery_to
    from .polls import state_source

    keep = kept.seconds()
    _check_needed("--speed", speed, "--example", source.example)
    life = None if lifetime is None else interval_of(lifetime, "--for")
    access = Access.of(listen.host, listen.token_file, listen.trust_user_header)
    deliver = None if notify is None else delivery_to(notify)
    polls = state_source(source, SPEED if speed is None else speed)
    with ExitStack() as stack:
        store = kept.store
        if store is None and source.example is not None:  # so that its score has something to show
            folder = stack.enter_context(TemporaryDirectory(ignore_cleanup_errors=True))
            store = str(Path(folder, "store.sqlite"))
        service = made(
            polls, access, every=seconds, store=store, keep=keep, log=history, deliver=deliver
        )
        _serve(service, source, listen, life)


def _serve(service: Service, source: Source, listen: ListenOptions, life: float | None) -> None:
    """Read the first state of a file, say where the service listens, and run it."""
    from ..importer import scheduler_here
    from .server import bound, run

    access = service.access
    if source.live:
        scheduler_here()
    else:
        service.poller.first()
        polled, forecasts = service.board.state.polled, service.planner.forecasting
        if forecasts is not None and polled is not None:
            forecasts.check(polled.instance)
    listening = bound(listen.host, listen.port)
    print_note(f"serving {service.title}: {access.notice()}")
    name = f"[{listen.host}]" if ":" in listen.host else listen.host
    typer.echo(f"http://{name}:{listening.getsockname()[1]}/")
    sys.stdout.flush()
    run(service, listening, life)


def _check_needed(name: str, value: object, other: str, needed: object) -> None:
    """Raise InputError for an option that has no effect without the other one."""
    if value is not None and needed is None:
        raise InputError([Problem(f"applies only with {other}", name)])


def check_extra() -> None:
    """Raise SlotwiseError with what to install if the extra is not there."""
    from importlib.util import find_spec

    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise SlotwiseError(missing_package(", ".join(missing), "the service", "serve"))


def made(
    polls: StateSource,
    access: Access,
    *,
    every: float,
    store: str | None = None,
    keep: int | None = None,
    log: Path | None = None,
    deliver: Deliver | None = None,
) -> Service:
    """Return a service that has not started; raise InputError if the store is not sound.

    store: file or URL of the store; keep: seconds for which jobs are kept. log: of finished jobs.
    deliver: delivers moved starts.
    """
    from ...solver.outlook.outlook import StepLimits
    from .board import Board
    from .notices import Notifier
    from .planning import Breaker, LogForecasts, PlannerThread, Poller
    from .score import StoreKeeper
    from .service import Service
    from .store import Store

    board = Board()
    board.listen(Journal(print_note))
    notifier = None if deliver is None else Notifier(deliver, print_note)
    if notifier is not None:
        board.listen(notifier)
    keeper = None if store is None else StoreKeeper(Store.open(store, keep=keep))
    forecasts = None if log is None else LogForecasts(log)
    planner = PlannerThread(board, StepLimits(), every, keeper, forecasts)
    poller = Poller(polls, board, planner.give, Breaker(every))
    return Service(polls.title, board, planner, poller, access, store=keeper, notifier=notifier)
