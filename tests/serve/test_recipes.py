"""The recipes of docs/serve.md: they ask for what the service has."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from importlib.util import module_from_spec, spec_from_file_location
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from asgi_client import get
from serve.service_lab import Lab, joint_wins, lab
from slotwise.cli.main import app
from typer.main import get_command

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "serve"


@pytest.fixture(scope="module")
def here() -> Lab:
    return lab(joint_wins())


def test_the_dashboard_asks_for_metrics_that_there_are(here: Lab) -> None:
    known = set(re.findall(r"^# TYPE (\w+)", get(here.app, "/metrics").body.decode(), re.M))
    record = json.loads((EXAMPLES / "grafana-dashboard.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in record["panels"] for target in panel["targets"]]
    names = {name for text in asked for name in re.findall(r"slotwise_\w+", text)}
    assert names
    assert names <= known
    assert len({panel["id"] for panel in record["panels"]}) == len(record["panels"])


def test_the_card_reads_keys_that_there_are(here: Lab) -> None:
    text = (EXAMPLES / "ondemand-card.html.erb").read_text(encoding="utf-8")
    record = get(here.app, "/jobs?user=user").data
    row = record["jobs"][0]
    keys = re.findall(r'job\["(\w+)"\]', text)
    assert {"job", "slots", "state", "waits_for"} == set(keys)
    assert row.keys() >= set(keys) | {"as_configured_time", "possible_time"}
    assert 'found["state"]["stale"]' in text
    # Whatever comes from the service is escaped.
    shown = re.findall(r"<%= (.*?) %>", text)
    assert all(each.startswith("ERB::Util.html_escape(") or ".to_i" in each for each in shown)


@pytest.mark.parametrize("name", ["slotwise.service", "Containerfile"])
def test_the_units_use_options_that_there_are(name: str) -> None:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    serve: Any = get_command(app).get_command(None, "serve")  # type: ignore[attr-defined,arg-type]
    known = {option for each in serve.params for option in each.opts}
    (line,) = re.findall(r"^(?:ExecStart|ENTRYPOINT).*", text, re.M)
    assert set(re.findall(r"--[a-z-]+", line)) <= known


@pytest.fixture
def starts_at() -> ModuleType:
    spec = spec_from_file_location("starts_at", EXAMPLES / "jupyterhub_starts_at.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_notebook_says_when_it_starts(
    here: Lab, starts_at: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a spawner that has the methods of batchspawner's."""

    def asked(request: Any, timeout: float) -> BytesIO:
        answer = get(here.app, request.full_url.removeprefix("http://127.0.0.1:8642"))
        if answer.status != 200:
            raise OSError
        return BytesIO(answer.body)

    monkeypatch.setattr("urllib.request.urlopen", asked)
    assert starts_at.start_text("large") == "Job large starts about 2026-03-02 11:00"
    assert starts_at.start_text("gone/1") == ""
    monkeypatch.setattr(starts_at, "EVERY", 0.0)

    class Spawner:
        job_id, polls = "large", 0

        async def query_job_status(self) -> None:
            self.polls += 1

        def state_ispending(self) -> bool:
            return self.polls < 3

        async def progress(self) -> AsyncIterator[dict[str, str]]:
            yield {"message": "started"}

    async def messages() -> list[str]:
        spawner = starts_at.with_starts(Spawner)()
        return [found["message"] async for found in spawner.progress()]

    said = asyncio.run(messages())
    assert said == ["Job large starts about 2026-03-02 11:00"] * 2 + ["started"]
