"""The programs in examples/ run, and do what they say."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import importlib.util
import io
import json
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import slotwise as sw
from forked import program

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def test_every_program_is_tested_and_told_of() -> None:
    programs = {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ipynb")}
    assert programs == {
        "planner_loop.py",
        "portal.py",
        "notebook.ipynb",
        "easy_against_conservative.py",
    }
    told = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in told for name in programs)


def loop(*arguments: str) -> subprocess.CompletedProcess[str]:
    return program((EXAMPLES / "planner_loop.py").read_text("utf-8"), *arguments)


def test_the_planner_loop_starts_every_job_when_the_plan_says() -> None:
    done = loop("--example", "headline")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "second 0: start nothing; then job5 at 10800 (optimal)",
        "second 3600: start nothing; then job5 at 10800 (optimal)",
        "second 7200: start nothing; then job5 at 10800 (optimal)",
        "second 10800: start job5; then nothing (optimal)",
    ]
    assert loop().stdout == "second 0: start small, large; then nothing (optimal)\n"


def test_the_planner_loop_ends_where_a_job_can_never_start(tmp_path: Path) -> None:
    file = tmp_path / "huge.yaml"
    text = "format: slotwise/1\nhosts: [{name: a, slots: 1}]\npending: [{id: x, slots: 9}]\n"
    file.write_text(text, encoding="utf-8")
    done = loop(str(file))
    assert "x never starts: " in done.stdout
    file.write_text(text.replace("slots: 9", "slots: -9"), encoding="utf-8")
    done = loop(str(file))
    assert done.returncode == 1
    assert done.stderr == f"{file}:3: pending[0].slots: must be 1 slot or more, not -9\n"


@pytest.fixture(scope="module")
def portal() -> ModuleType:
    spec = importlib.util.spec_from_file_location("portal", EXAMPLES / "portal.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["portal"] = module
    spec.loader.exec_module(module)
    return module


class Client:
    """An ASGI client that can hang up."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.gone = asyncio.Event()
        self.sent: list[dict[str, Any]] = []
        self.given = False

    async def receive(self) -> dict[str, Any]:
        if not self.given:
            self.given = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)

    async def post(self, app: Any, path: str, query: str = "") -> tuple[int, Any]:
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
            "path": path, "raw_path": path.encode(), "root_path": "", "scheme": "http",
            "query_string": query.encode(), "headers": [], "client": ("c", 1), "server": ("s", 80),
        }  # fmt: skip
        await app(scope, self.receive, self.send)
        status = next(m["status"] for m in self.sent if m["type"] == "http.response.start")
        body = b"".join(m.get("body", b"") for m in self.sent if m["type"] == "http.response.body")
        return status, json.loads(body)


def text_of(name: str) -> bytes:
    return sw.example(name).read_bytes()


def test_the_portal_plans_and_answers(portal: ModuleType) -> None:
    async def talk() -> None:
        body = text_of("headline")
        status, plan = await Client(body).post(portal.app, "/plan", "method=time-based")
        assert status == 200
        assert plan == json.loads(
            json.dumps(sw.plan(sw.loads(body.decode()), "time-based").to_dict())
        )
        status, answer = await Client(body).post(portal.app, "/ask", "line=-n+2+-W+1:00")
        assert status == 200
        assert answer["line"]["start"] is not None

    asyncio.run(talk())


@pytest.mark.parametrize(
    ("body", "path", "query", "message"),
    [
        (b"format: slotwise/1\nhosts: [{name: a, slots: -1}]\n", "/plan", "", "must be 0 or more"),
        (b"\xff\xfe", "/plan", "", "must be a mapping"),
        (text_of("headline"), "/ask", "line=-n+-4", "-n"),
        (text_of("headline"), "/plan", "seconds=-3", "time_limit must be None"),
        (text_of("headline"), "/plan", "method=greddy", "greedy"),
    ],
)
def test_the_portal_refuses_bad_input(
    portal: ModuleType, body: bytes, path: str, query: str, message: str
) -> None:
    status, told = asyncio.run(Client(body).post(portal.app, path, query))
    assert status == 422
    assert message in json.dumps(told["detail"])


def test_a_client_that_hangs_up_ends_the_search(portal: ModuleType) -> None:
    """The call ends since its event is set: nothing else would let it return."""
    seen: list[bool] = []

    def work(cancel: threading.Event) -> str:
        seen.append(cancel.wait(300))
        return "the best plan so far"

    async def talk() -> int:
        client = Client(b"")

        async def app(scope: Any, receive: Any, send: Any) -> None:
            from fastapi import HTTPException, Request

            request = Request(scope, receive)
            await request.body()
            try:
                await portal.while_connected(request, work)
            except HTTPException as error:
                await send({"type": "http.response.start", "status": error.status_code})
                await send({"type": "http.response.body", "body": b"null"})

        asyncio.get_running_loop().call_later(0.2, client.gone.set)
        status, _ = await client.post(app, "/plan")
        return status

    assert asyncio.run(talk()) == portal.CLIENT_GONE == 499
    assert seen == [True]


def test_a_real_search_ends_when_its_client_hangs_up(portal: ModuleType) -> None:
    async def talk() -> int:
        client = Client(text_of("theta-queue-50"))
        asyncio.get_running_loop().call_later(0.5, client.gone.set)
        status, _ = await client.post(portal.app, "/plan", "seconds=1000")
        return status

    portal.LONGEST = 1000.0
    assert asyncio.run(talk()) in (200, 499)  # 200: the machine was quicker than the client


PAGE = (ROOT / "docs" / "replay.md").read_text(encoding="utf-8")


def study(*logs: str) -> list[str]:
    """The lines that the notebook of the two policies prints, blanks apart."""
    done = program(
        (EXAMPLES / "easy_against_conservative.py")
        .read_text("utf-8")
        .replace("Path(__file__).resolve().parents[1]", f"Path({str(ROOT)!r})"),
        *logs,
    )
    assert done.returncode == 0, done.stderr
    return [" ".join(line.split()) for line in done.stdout.splitlines()]


def test_easy_against_conservative_on_one_log_prints_what_the_page_shows() -> None:
    """Waits and slowdowns are those of pyss, and the difference is beyond chance."""
    page = [" ".join(line.split()) for line in PAGE.splitlines()]
    printed = study("KTH-SP2")
    figures = [line for line in printed if line.startswith("KTH-SP2")]
    assert len(figures) == 5
    assert set(figures) <= set(page)
    for line in figures[:4]:
        *_, ours, low, high, pyss = line.split()
        assert float(low) < float(ours) == float(pyss) < float(high)
    assert "4 of 4 figures of pyss lie within the interval" in printed


@pytest.mark.slow
def test_easy_against_conservative_prints_what_the_page_shows() -> None:
    page = [" ".join(line.split()) for line in PAGE.splitlines()]
    printed = study()
    assert set(printed) <= set(page)
    assert "8 of 8 figures of pyss lie within the interval" in printed


CELLS = json.loads((EXAMPLES / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]


def outputs(cell: dict[str, Any], space: dict[str, Any]) -> list[Any]:
    """What a cell gives as Jupyter would keep it: its text, and its last value as it shows."""
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    found: list[Any] = []
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "notebook", "exec"), space)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "notebook", "eval"), space)
    if printed.getvalue():
        found.append(printed.getvalue())
    if value is not None:
        found.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
    return found


def test_the_notebook_runs_and_its_outputs_are_those_it_shows() -> None:
    space: dict[str, Any] = {}
    shown = 0
    for cell in CELLS:
        if cell["cell_type"] != "code":
            continue
        kept = []
        for output in cell["outputs"]:
            data = output.get("data", {})
            kept.append("".join(data.get("text/html") or data.get("text/plain") or output["text"]))
        assert outputs(cell, space) == kept
        shown += len(kept)
    assert shown >= 8
