"""The HTTP interface of the service: pages, answers as JSON, events, metrics."""

from __future__ import annotations

import asyncio
import json
import os
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from functools import lru_cache, partial
from importlib import resources
from mimetypes import types_map
from pathlib import Path
from string import Template
from typing import Any, Final, TypeAlias, get_args
from urllib.parse import parse_qs, quote

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response, StreamingResponse
from pydantic import TypeAdapter
from starlette.exceptions import HTTPException as FrameworkError
from starlette.types import Receive, Scope, Send

from ... import __version__
from ...model.errors import InputError, SlotwiseError, UnknownNameError
from ...solver.accuracy.measures import ScoreBy
from .access import COOKIE, Viewer
from .answers import (
    ATOM,
    AccuracyAnswer,
    AskAnswer,
    Health,
    JobAnswer,
    JobLeft,
    JobsAnswer,
    PlanAnswer,
    SlotsAnswer,
    answers_of,
    atom,
    dumped,
    feed_record,
    finite,
    job_record,
    jobs_record,
    left_record,
    plan_record,
    shown,
    state_record,
)
from .board import BoardState
from .guard import Guard, TooLarge, read_body
from .service import AskedJob, Service, TooManyQuestions

#: Open streams at most.
MAX_STREAMS = 500
#: Seconds between two signs of life, in which a state may become stale.
HEARTBEAT = 15.0
#: Seconds between two events of one stream at least.
MIN_GAP = 0.25


class Streams:
    """The open streams. States come from other threads, streams live in the event loop."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting: set[asyncio.Event] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.closing = False
        service.board.listen(self._tell)

    def begin(self) -> None:
        """Begin in the running event loop."""
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        """End all streams."""
        self.closing = True
        self._wake()

    def _tell(self, _state: BoardState) -> None:
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for event in self._waiting:
            event.set()

    def stream(self, last: str, viewer: Viewer) -> EventStream | None:
        """Return a stream that counts from now on, None if no further one is taken.

        last: the state that the client has, "": none.
        """
        if len(self._waiting) >= MAX_STREAMS:
            return None
        event = asyncio.Event()
        self._waiting.add(event)
        self._service.requests.streams = len(self._waiting)
        return EventStream(self._events(event, last, viewer), lambda: self._finished(event))

    def _finished(self, event: asyncio.Event) -> None:
        self._waiting.discard(event)
        self._service.requests.streams = len(self._waiting)

    async def _events(
        self, event: asyncio.Event, last: str, viewer: Viewer
    ) -> AsyncIterator[bytes]:
        sent: tuple[Any, ...] = (last, None)
        yield b"retry: 3000\n\n"
        while not self.closing:
            event.clear()
            state = self._service.board.state
            stale = self._service.is_stale(state)
            if (str(state.version), stale) != sent:
                head = state_record(state, self._service.title, viewer, stale=stale)
                sent = (str(state.version), stale)
                data = dumped(head).decode()
                yield f"id: {state.version}\nevent: state\ndata: {data}\n\n".encode()
                await asyncio.sleep(MIN_GAP)
            else:
                yield b": alive\n\n"
            with suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), HEARTBEAT)


class EventStream(StreamingResponse):
    """The response to one client; `finished` is called at its end, even if it never began."""

    def __init__(self, events: AsyncIterator[bytes], finished: Callable[[], None]) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(events, headers=headers, media_type="text/event-stream")
        self._finished = finished

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._finished()


#: Files that the pages share with the report.
SHARED: Final = ("base.css", "theme.js")
#: Files of the pages, each with its type.
ASSETS: Final = {
    "theme.js": "text/javascript",
    "base.css": "text/css",
    "serve.css": "text/css",
    "serve.js": "text/javascript",
    "board.js": "text/javascript",
    "job.js": "text/javascript",
    "score.js": "text/javascript",
    "api.js": "text/javascript",
}


@lru_cache(64)
def asset_bytes(name: str) -> bytes:
    """Return a file of the pages."""
    assert __package__ is not None
    package = f"{__package__.rpartition('.')[0]}.report" if name in SHARED else __package__
    return resources.files(package).joinpath("assets", name).read_bytes()


@lru_cache(64)
def page_bytes(name: str, up: str) -> bytes:
    """Return a page. up: the way from its address to that of the board, "" or "../" …"""
    text = resources.files(__package__).joinpath("assets", f"{name}.html").read_text("utf-8")
    return Template(text).substitute(up=up, version=__version__).encode()


_JSON = "application/json"
#: Seconds to wait for the answer to a question, with its time in the queue.
ANSWER_SECONDS = 90.0
#: What makes the groups of an answer on accuracy.
GROUPED: Final = get_args(ScoreBy)


class Answers:
    """Answers to requests, from the current state."""

    def __init__(self, service: Service, streams: Streams) -> None:
        self.service, self.streams = service, streams
        #: The last accuracy, by its grouping and the state; one is computed at a time.
        self._scored: tuple[tuple[str, int] | None, Any] = None, None
        self._scoring = asyncio.Lock()

    def head(self, state: BoardState, viewer: Viewer) -> dict[str, Any]:
        """Return the head of an answer."""
        service = self.service
        return state_record(state, service.title, viewer, stale=service.is_stale(state))

    def of_state(
        self,
        request: Request,
        name: str,
        make: Callable[[BoardState, dict[str, Any], Viewer], dict[str, Any]],
        written: Callable[[Any], bytes] = dumped,
        media_type: str = _JSON,
    ) -> Response:
        """Return an answer that depends on the state alone, with its ETag; 304 if it is known.

        name: identifies the answer among those of one state to one viewer. make: returns it from
        the state and the head of the answer. written: returns its bytes.
        """
        viewer = viewer_of(request)
        state = self.service.board.state
        key = f"{name} {viewer.user!r} {self.service.is_stale(state)}"
        tag = f'"{state.version}-{zlib.crc32(key.encode()):08x}"'
        vary = ", ".join(filter(None, ("authorization", "cookie", self.service.access.header)))
        headers = {"etag": tag, "cache-control": "private, no-cache", "vary": vary}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        body = state.answers.get(key)
        if body is None:
            body = written(shown(make(state, self.head(state, viewer), viewer), state, viewer))
            if len(state.answers) < 64:
                state.answers[key] = body
        return Response(body, media_type=media_type, headers=headers)

    async def jobs(self, request: Request, user: str = "", queue: str = "") -> Response:
        """Return the pending jobs with their predicted starts."""
        only = chosen(user, queue)
        return self.of_state(request, f"jobs {only!r}", partial(jobs_record, only=only))

    async def feed(self, request: Request, user: str = "", queue: str = "") -> Response:
        """Return the last moved starts as an Atom feed."""
        only = chosen(user, queue)
        made = partial(feed_record, only=only)
        return self.of_state(request, f"feed {only!r}", made, atom, ATOM)

    async def one_job(
        self, request: Request, job: str, explain: bool = False, left: bool = False
    ) -> Response:
        """Return one pending job; with explain=true why it waits, and what would help.

        left: whether a job that is not pending has status 200 too, as a page wants it.
        """
        viewer, state = viewer_of(request), self.service.board.state
        row = state.row(job)
        if row is None or state.polled is None or not viewer.sees(row.job.user):
            history = await self.history(job, viewer)
            text = "this job is not pending: it has started, has finished or is unknown"
            found = left_record(state, job, self.head(state, viewer), viewer)
            return problem(
                200 if left else 404, text, **shown({**found, "history": history}, state, viewer)
            )
        found = job_record(state, row, self.head(state, viewer), viewer)
        found["history"] = await self.history(job, viewer)
        if explain:
            polled = state.polled
            client = client_of(request, viewer)
            answer = await self.answered(
                lambda: self.service.explain(polled.instance, polled.number, job, client),
                state,
                viewer,
            )
            found |= answer
        return json_response(shown(found, state, viewer))

    async def history(self, job: str, viewer: Viewer) -> list[dict[str, Any]]:
        """Return how the estimates of a job moved; [] without a store."""
        store, polled = self.service.store, self.service.board.state.polled
        if store is None:
            return []
        return await asyncio.to_thread(store.history, job, viewer, polled)

    async def plan(self, request: Request) -> Response:
        """Return the plan of possible starts."""
        return self.of_state(request, "plan", plan_record)

    async def ask(self, request: Request) -> Response:
        """Return when a job would start: of a line, of a script, or one that waits, changed."""
        state, viewer = self.service.board.state, viewer_of(request)
        if request.headers.get("content-type", "").partition(";")[0].strip() != _JSON:
            return problem(415, f"content-type must be {_JSON}")
        try:
            body = await read_body(request.receive)
            asked = AskedJob.of(json.loads(body))
        except TooLarge as error:
            return problem(413, str(error))
        except InputError as error:
            return problem(400, str(error))
        except (ValueError, RecursionError):
            return problem(400, "the body must be JSON in UTF-8")
        if state.polled is None:
            return problem(503, "the cluster has not been read yet: try again later")
        instance = state.polled.instance
        client = client_of(request, viewer)
        answer = await self.answered(
            lambda: self.service.ask(instance, asked, viewer, client), state, viewer
        )
        found = {"state": self.head(state, viewer), **answer}
        return json_response(shown(found, state, viewer))

    async def slots(self, request: Request, queue: str = "", user: str = "") -> Response:
        """Return what could start now without delaying any job, and free slots over time."""
        state, viewer = self.service.board.state, viewer_of(request)
        if state.polled is None:
            return problem(503, "the cluster has not been read yet: try again later")
        polled, client = state.polled, client_of(request, viewer)
        asked = polled.instance, polled.number, queue, viewer.user or user, client
        answer = await self.answered(lambda: self.service.slots(*asked), state, viewer)
        found = {"state": self.head(state, viewer), "slots": answer}
        return json_response(shown(found, state, viewer))

    async def answered(
        self, put: Callable[[], Future[Any]], state: BoardState, viewer: Viewer
    ) -> Any:
        """Return the answer to a question of a state; raise HTTPException if there is none."""
        try:
            return await asyncio.wait_for(asyncio.wrap_future(put()), ANSWER_SECONDS)
        except TooManyQuestions as error:
            status, text, wait = 429 if error.of_one else 503, str(error), {"retry-after": "5"}
        except TimeoutError:
            text = f"no answer within {ANSWER_SECONDS:g} s: try again later"
            status, wait = 503, {"retry-after": "30"}
        except SlotwiseError as error:
            status, text = 404 if isinstance(error, UnknownNameError) else 400, str(error)
            text, wait = shown(text, state, viewer), {}
        raise HTTPException(status, text, wait)

    async def accuracy(self, request: Request, by: str = "method") -> Response:
        """Return how right the estimates were; job by job those that the viewer sees."""
        store, state, viewer = self.service.store, self.service.board.state, viewer_of(request)
        head = self.head(state, viewer)
        if store is None:
            return json_response({"state": head, "accuracy": None})
        group = next((name for name in GROUPED if name == by), None)
        if group is None:
            return problem(400, f"by must be one of {', '.join(GROUPED)}, not {by[:40]!r}")
        key = group, state.version
        if self._scored[0] != key:
            if self._scoring.locked():
                return problem(503, "figures are being computed: try again", {"retry-after": "5"})
            async with self._scoring:
                found = finite(await asyncio.to_thread(store.accuracy, group))
                self._scored = key, found
        scored = self._scored[1]
        seen = [row for row in scored["compared"] if viewer.sees(row["user"])]
        own = {**scored, "compared": shown(seen, state, viewer)}
        return json_response({"state": head, "accuracy": own})

    async def healthz(self) -> Response:
        """Return whether the service works."""
        service = self.service
        state = service.board.state
        status = "ok"
        if not (service.planner.is_alive and service.poller.is_alive):
            status = "a thread has stopped"
        elif service.store is not None and service.store.is_failing:
            status = "estimates are not stored: the store cannot be written"
        record = {"status": status, "stale": service.is_stale(state), "version": __version__}
        return json_response(record, status=200 if status == "ok" else 503)

    async def metrics(self) -> Response:
        """Return counters as Prometheus reads them."""
        return Response(metrics_text(self.service), media_type=CONTENT_TYPE)

    async def events(self, request: Request) -> Response:
        """Return server-sent events: one with the head of each new state."""
        last = request.headers.get("last-event-id", "")
        stream = self.streams.stream(last, viewer_of(request))
        if stream is None:
            return problem(503, "too many streams: try again later", headers={"retry-after": "30"})
        return stream

    async def login(self, request: Request) -> Response:
        """Take the token of the sign-in page and set the cookie."""
        try:
            form = parse_qs((await read_body(request.receive)).decode("latin-1"), max_num_fields=4)
        except (TooLarge, ValueError) as error:
            return problem(413, str(error))
        access = self.service.access
        if not access.is_token(form.get("token", [""])[0]):
            await asyncio.sleep(1.0)
            return RedirectResponse("login?wrong=1", status_code=303)
        answer = RedirectResponse("./", status_code=303)
        secure = request.url.scheme == "https" or (
            request.headers.get("x-forwarded-proto") == "https"
        )
        answer.set_cookie(COOKIE, access.cookie(), httponly=True, samesite="strict", secure=secure)
        return answer


def chosen(user: str, queue: str) -> dict[str, str]:
    """Return the values that columns must have, of a request's query."""
    return {key: value for key, value in (("user", user), ("queue", queue)) if value}


def viewer_of(request: Request) -> Viewer:
    """Return who asks, as the guard has found."""
    found: Viewer = request.scope["state"]["viewer"]
    return found


def client_of(request: Request, viewer: Viewer) -> str:
    """Return the one to whom a question counts."""
    return viewer.user or (request.client.host if request.client else "")


def json_response(record: Any, status: int = 200) -> Response:
    """Return a record as a response that no cache keeps."""
    headers = {"cache-control": "no-store"}
    return Response(dumped(record), status, headers, _JSON)


def problem(status: int, text: str, headers: dict[str, str] | None = None, **more: Any) -> Response:
    """Return an error as a response."""
    body = dumped({"error": text, **more})
    return Response(body, status, {"cache-control": "no-store", **(headers or {})}, _JSON)


def application(service: Service) -> tuple[Guard, Streams]:
    """Return the whole interface of a service, and its streams, which the caller closes."""
    streams = Streams(service)
    answers = Answers(service, streams)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        streams.begin()
        try:
            yield
        finally:
            streams.close()

    app = _Described(
        title="slotwise", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan
    )
    _add_answers(app, answers)
    _add_pages(app, answers)
    _add_errors(app)
    return Guard(app, service), streams


def _only(*known: str) -> Any:
    """Return a dependency that rejects a request with another name in its query."""

    def check(request: Request) -> None:
        for name in request.query_params:
            if name not in known:
                wanted = f"use {', '.join(known)}" if known else "none is accepted here"
                raise HTTPException(400, f"unknown query name {name[:40]!r}: {wanted}")

    return Depends(check)


def _add_errors(app: FastAPI) -> None:
    """Give the errors of the framework the form of all others."""

    @app.exception_handler(FrameworkError)
    async def refused(request: Request, error: FrameworkError) -> Response:
        text, path, headers = str(error.detail), request.url.path[:80], dict(error.headers or {})
        if error.status_code == 404 and not isinstance(error, HTTPException):
            text = f"unknown path {path!r}: /api lists the paths"
        elif error.status_code == 405:
            text = f"{path} does not accept {request.method[:10]}: use {headers.get('Allow', '')}"
        return problem(error.status_code, text, headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        return problem(400, f"{first['loc'][-1]}: {str(first['input'])[:40]!r}: {first['msg']}")


class _Described(FastAPI):
    """An application whose description has its own statuses: wrong values are 400 here."""

    def openapi(self) -> dict[str, Any]:
        """Return the description, without the status and the bodies of the framework's errors."""
        found = super().openapi()
        for call in (call for path in found["paths"].values() for call in path.values()):
            call["responses"].pop("422", None)
        for name in ("HTTPValidationError", "ValidationError"):
            found["components"]["schemas"].pop(name, None)
        return found


def _add_answers(app: FastAPI, answers: Answers) -> None:
    """Add the paths that return data."""

    def add(
        function: Callable[..., Any],
        path: str,
        described: dict[int | str, Any],
        *known: str,
        **more: Any,
    ) -> None:
        """Add a path with its answers and the names of its query."""
        app.add_api_route(
            path,
            function,
            response_class=Response,
            responses=described,
            summary=(function.__doc__ or "").partition("\n")[0],
            dependencies=[_only(*known)],
            **more,
        )

    add(answers.jobs, "/jobs", answers_of(JobsAnswer, 304), "user", "queue")
    one = answers_of(JobAnswer, 404, 429, 503, unknown=JobLeft)
    add(answers.one_job, "/jobs/{job:path}", one, "explain", "left")
    add(answers.plan, "/plan", answers_of(PlanAnswer, 304))
    question = {_JSON: {"schema": TypeAdapter(AskedJob).json_schema()}}
    add(
        answers.ask,
        "/ask",
        answers_of(AskAnswer, 404, 413, 415, 429, 503),
        methods=["POST"],
        openapi_extra={"requestBody": {"required": True, "content": question}},
    )
    add(answers.slots, "/slots", answers_of(SlotsAnswer, 429, 503), "queue", "user")
    add(answers.feed, "/feed.atom", answers_of(ATOM, 304), "user", "queue")
    add(answers.accuracy, "/accuracy", answers_of(AccuracyAnswer, 503), "by")
    add(answers.events, "/events", answers_of("text/event-stream", 503))
    add(answers.healthz, "/healthz", answers_of(Health, 503, is_open=True))
    add(answers.metrics, "/metrics", answers_of("text/plain"))


def _add_pages(app: FastAPI, answers: Answers) -> None:
    """Add the pages for people, and their scripts and styles."""

    async def page(name: str, up: str) -> Response:
        headers = {"cache-control": "no-cache"}
        return Response(page_bytes(name, up), media_type="text/html", headers=headers)

    for path, name in (("/", "board"), ("/score", "score"), ("/api", "api"), ("/login", "login")):
        app.get(path, response_class=Response, include_in_schema=False)(partial(page, name, ""))

    @app.get("/job/{job:path}", response_class=Response, include_in_schema=False)
    async def job_page(job: str) -> Response:
        return await page("job", "../" * (1 + job.count("/")))

    @app.post("/login", response_class=Response, include_in_schema=False)
    async def login(request: Request) -> Response:
        return await answers.login(request)

    @app.get("/assets/{name}", response_class=Response, include_in_schema=False)
    async def asset(name: str) -> Response:
        if name not in ASSETS:
            return problem(404, f"unknown file {quote(name)}: use one of {', '.join(ASSETS)}")
        headers = {"cache-control": "no-cache"}
        return Response(asset_bytes(name), media_type=ASSETS[name], headers=headers)


#: Content type of the text format.
CONTENT_TYPE = f"{types_map['.txt']}; version=0.0.4; charset=utf-8"


def metrics_text(service: Service) -> str:
    """Return all metrics; no name of a job, user or host is among them."""
    lines: list[str] = []
    for name, kind, what, value in _metrics(service):
        values = value if isinstance(value, Mapping) else {"": value}
        lines += [f"# HELP slotwise_{name} {what}", f"# TYPE slotwise_{name} {kind}"]
        lines += [f"slotwise_{name}{label} {number:g}" for label, number in values.items()]
    return "".join(f"{line}\n" for line in lines)


#: A metric: its name, kind, meaning, and its value or values by label.
Metric: TypeAlias = tuple[str, str, str, float | Mapping[str, float]]


def _metrics(service: Service) -> Iterator[Metric]:
    state, poller, plans = service.board.state, service.poller, service.planner.counters
    polled, questions, requests = state.polled, service.questions, service.requests
    age = -1.0 if polled is None else service.clock() - polled.read_at
    yield "state_age_seconds", "gauge", "Time since the last successful poll.", age
    yield "stale", "gauge", "1 if the state is stale.", service.is_stale(state)
    yield "polls_total", "counter", "Polls.", poller.polls
    yield "poll_failures_total", "counter", "Failed polls.", poller.failures
    is_open = poller.breaker.is_open
    yield "breaker_open", "gauge", "1 if polls are made less often.", is_open
    yield "plans_total", "counter", "States planned as a whole.", plans.plans
    yield "plan_failures_total", "counter", "Failed plans.", plans.failures
    yield "plan_seconds", "gauge", "Seconds of the last plan.", plans.seconds
    yield "first_starts_seconds", "gauge", "From a poll to its first starts.", plans.first
    yield "plan_delay_seconds", "gauge", "From a poll to its plan.", plans.delay
    running = 0 if polled is None else len(polled.instance.running)
    yield "running_jobs", "gauge", "Running jobs.", running
    states = Counter(
        "not examined" if row.planned is None else row.planned.listed.state for row in state.rows
    )
    by_state = {f'{{state="{name}"}}': count for name, count in sorted(states.items())}
    yield "pending_jobs", "gauge", "Pending jobs by state.", by_state
    yield "questions_waiting", "gauge", "Questions waiting.", questions.waiting
    yield "questions_total", "counter", "Questions done.", questions.answered
    yield "questions_refused_total", "counter", "Refused questions.", questions.refused
    by_status = {f'{{status="{code}"}}': n for code, n in sorted(requests.by_status.items())}
    yield "requests_total", "counter", "Requests by status.", by_status
    yield "request_seconds_total", "counter", "Seconds of all requests.", requests.seconds
    yield "streams", "gauge", "Open event streams.", requests.streams
    if (notices := service.notifier) is not None:
        yield "notices_total", "counter", "Moved starts delivered.", notices.sent
        yield "notices_lost_total", "counter", "Moved starts not delivered.", notices.lost
    yield "resident_bytes", "gauge", "Resident memory.", resident_bytes()


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 if the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
