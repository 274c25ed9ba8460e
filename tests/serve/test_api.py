"""The interface of the service: what it answers, to whom, and what it refuses."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
from asgi_client import LOCAL, Answer, get, post, request, sent
from sampling import some
from serve.service_lab import Lab, joint_wins, lab
from slotwise import Host, Instance, Job
from slotwise.cli.serve.access import Access, Denied, Viewer, is_loopback
from slotwise.cli.serve.guard import HEADERS, MAX_BODY
from slotwise.cli.serve.service import MAX_OF_ONE, QuestionQueue, TooManyQuestions
from slotwise.model.errors import InputError, Problem
from slotwise.solver.outlook.outlook import outlook


@pytest.fixture(scope="module")
def quiet() -> Lab:
    """A service of one state; its tests change nothing."""
    return lab(joint_wins())


@pytest.fixture
def asking(quiet: Lab) -> Iterator[Lab]:
    """The same with the worker for questions."""
    quiet.service.questions = QuestionQueue()
    quiet.service.questions.start()
    yield quiet
    quiet.service.questions.stop()


def test_the_board_says_what_the_outlook_says(quiet: Lab) -> None:
    found = get(quiet.app, "/jobs")
    assert found.status == 200
    record = found.data
    assert record["state"] == {
        "version": record["state"]["version"],
        "source": "lab",
        "time": "2026-03-02T09:00:00+01:00",
        "read_at": 1000.0,
        "stale": False,
        "problem": "",
        "planning": False,
    }
    size = {"hosts": 4, "slots": 16, "running": 1, "pending": 2}
    assert size.items() <= record["cluster"].items()
    (queue,) = record["cluster"]["queues"]
    assert (queue["running_slots"], queue["waiting_jobs"]) == (6, 2)
    (kind,) = record["cluster"]["kinds"]
    later = sw.slots(joint_wins(), until=86400).free_when
    assert [(tuple(kind["free"]), kind["capacity"])] == [(x.free, x.capacity) for x in later]
    expected = outlook(joint_wins(), time_limit=10.0)
    assert [row["job"] for row in record["jobs"]] == [item.job for item in expected]
    for row, item in zip(record["jobs"], expected, strict=True):
        assert (row["as_configured"], row["possible"]) == (item.as_configured, item.possible)
        assert row["proved"] == item.proved
    assert record["jobs"][1]["state"] == "held back"
    assert record["jobs"][1]["as_configured_time"] == "2026-03-02T11:00:00+01:00"
    plan = get(quiet.app, "/plan").data
    starts = {item["job"]: item["start"] for item in plan["plan"]["reservations"]}
    assert starts == {item.job: item.possible for item in expected}
    assert plan["plan_of"] == "2026-03-02T09:00:00+01:00"


def test_an_answer_is_known_by_its_etag_until_the_state_changes() -> None:
    here = lab(joint_wins())
    tag = get(here.app, "/jobs").headers["etag"]
    assert get(here.app, "/jobs", if_none_match=tag).status == 304
    for other in ("/jobs?user=user", "/plan"):
        assert get(here.app, other, if_none_match=tag).status == 200
    here.poll()
    again = get(here.app, "/jobs", if_none_match=tag)
    assert (again.status, again.headers["etag"] == tag) == (200, False)
    stale = again.headers["etag"]
    here.now[0] += 1000
    found = get(here.app, "/jobs", if_none_match=stale)
    assert found.status == 200
    assert found.data["state"]["stale"]


def test_an_etag_belongs_to_one_viewer() -> None:
    """A cache between the proxy and its users must not give one the jobs of another."""
    here = lab(joint_wins(), access=Access(True, header="x-user"))
    found = [get(here.app, "/jobs", x_user=user) for user in ("user", "eve")]
    tags = [item.headers["etag"] for item in found]
    assert tags[0] != tags[1]
    assert get(here.app, "/jobs", x_user="eve", if_none_match=tags[0]).data["jobs"] == []
    assert found[0].headers["cache-control"].startswith("private")
    assert "x-user" in found[0].headers["vary"].split(", ")


def after(state: Instance, seconds: int, *, starts: str = "", ends: str = "") -> Instance:
    """A later state, in which a pending job has started on its first host, or a run has ended."""
    jobs = {job.id: job for job in state.pending}
    now = state.now + seconds
    running = tuple(run for run in state.running if run.job.id != ends)
    if starts:
        run = sw.RunningJob(jobs[starts], now, {state.cluster.hosts[0].name: jobs[starts].slots})
        running = (*running, run)
    pending = tuple(job for job in state.pending if job.id != starts)
    return replace(state, now=now, running=running, pending=pending)


@pytest.mark.parametrize("seen_by", ["user", "eve"])
def test_what_was_told_of_a_job_that_has_started(seen_by: str) -> None:
    """Its start, and the starts told before with their causes; to its user alone."""
    first = two_users()
    held = sw.RunningJob(Job("9", 2, run_limit=7200, user="ben"), start=0, allocation={"a": 2})
    first = replace(first, origin=joint_wins().origin, running=(held,))
    second = after(first, 600, ends="9")
    third = after(second, 60, starts="1")
    here = lab(first, second, third, access=Access.of("127.0.0.1", None, "x-user"))
    user = "ana" if seen_by == "user" else "eve"
    here.poll()
    moves = get(here.app, "/jobs/1", x_user="ana").data["moves"]
    change = moves[0]["change"]
    assert (change["kind"], change["by"]) == ("earlier", 6600)
    assert change["because"] == "another job finished"
    here.poll()
    found = get(here.app, "/jobs/1", x_user=user)
    assert found.status == 404
    if seen_by == "eve":
        assert (found.data["run"], found.data["moves"]) == (None, [])
        return
    run = found.data["run"]
    assert (run["started"], run["until"], run["on"]) == (660, 720, {"a": 2})
    assert [move["as_configured"] for move in found.data["moves"]] == [600, 7200]
    assert found.data["moves"][0]["change"] == change


@pytest.mark.parametrize(
    "changes", [{"slots": 2}, {"run_limit": 1800}, {"slots": 4, "run_limit": 1800}]
)
def test_a_pending_job_is_asked_with_changes(asking: Lab, changes: dict[str, int]) -> None:
    """The start in its place in the queue, as `explain` has it for its suggestions."""
    found = post(asking.app, "/ask", {"job": "large", **changes})
    assert found.status == 200, found.body
    state = joint_wins()
    names = {"slots": changes.get("slots"), "run_limit": changes.get("run_limit")}
    given = {name: value for name, value in names.items() if value is not None}
    pending = tuple(replace(job, **given) if job.id == "large" else job for job in state.pending)
    expected = {row.job: row for row in sw.outlook(replace(state, pending=pending))}["large"]
    assert found.data["answer"]["start"] == expected.as_configured
    assert len(found.data["answer"]["commands"]) == len(changes)
    assert found.data["lines"][0].startswith("job large starts ")


@pytest.mark.parametrize("user", ["ben", "eve"])
def test_only_ones_own_job_is_asked_with_changes(user: str) -> None:
    here = lab(two_users(), access=Access.of("127.0.0.1", None, "x-user"))
    here.service.questions.start()
    found = post(here.app, "/ask", {"job": "1", "slots": 1}, x_user=user)
    unknown = post(here.app, "/ask", {"job": "77", "slots": 1}, x_user=user)
    assert (found.status, found.data) == (404, unknown.data)
    assert post(here.app, "/ask", {"job": "1", "slots": 1}, x_user="ana").status == 200
    here.service.questions.stop()


def test_why_and_what_would_help(asking: Lab) -> None:
    found = get(asking.app, "/jobs/large?explain=true").data
    assert found["explanation"]["job"] == "large"
    assert found["explanation"]["obstacles"]
    assert len(found["commands"]) == len(found["explanation"]["suggestions"])
    assert get(asking.app, "/jobs/large?explain=true").data["explanation"] == found["explanation"]
    assert asking.service.questions.answered == 1


def test_the_assumed_user_and_queue_are_known_and_may_be_others() -> None:
    """A question that nobody can ask as another user, or into another queue."""
    queues = (sw.Queue("first"), sw.Queue("owned", users=("ana",)))
    state = replace(joint_wins(), queues=queues, pending=(), running=())
    here = lab(replace(state, params=replace(state.params, default_queue="first")))
    here.service.questions.start()
    assumed = get(here.app, "/jobs").data["assumed"]
    assert assumed == {
        **{"user": "user", "is_fixed": False},
        **{"queue": "first", "queues": ["first", "owned"]},
    }

    def answered(**body: str) -> Any:
        return post(here.app, "/ask", body).data

    said = answered(line="bsub -n 2", queue="owned", user="ana")
    assert "in queue owned, as user ana" in said["lines"]
    assert (
        "in queue first (the default), as user ana"
        in answered(line="bsub -n 2 -q first", queue="owned", user="ana")["lines"]
    )
    assert "may not use queue owned" in answered(line="-n 2", queue="owned", user="eve")["error"]
    assert "did you mean 'owned'" in answered(line="-n 2", queue="ownd")["error"]
    here.service.questions.stop()


def test_a_question_is_answered_as_ask_does(asking: Lab) -> None:
    found = post(asking.app, "/ask", {"line": "bsub -n 2 -W 60"})
    assert found.status == 200
    expected = sw.ask(joint_wins(), "-n 2 -W 60", time_limit=10.0)
    assert found.data["answer"]["line"]["start"] == expected.line.answer.start
    assert found.data["lines"]
    script = post(asking.app, "/ask", {"script": "#!/bin/sh\n#BSUB -n 2\n#BSUB -W 60\nx\n"})
    assert script.data["answer"]["line"] == found.data["answer"]["line"]


def test_a_script_for_slurm_is_read_as_such(asking: Lab) -> None:
    text = "#!/bin/sh\n#SBATCH -n 2\n#SBATCH -t 60\nx\n"
    found = post(asking.app, "/ask", {"script": text}).data["answer"]["line"]
    expected = sw.ask(joint_wins(), text, time_limit=10.0)
    assert (found["slots"], found["limit"]) == ("2", "1:00")
    assert found["start"] == expected.line.answer.start
    assert sw.ask(joint_wins(), " ", script=text).line.answer.job.slots == 2


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/jobs?userr=x", 400, "unknown query name 'userr': use user, queue"),
        ("/jobs/large?explian=1", 400, "unknown query name 'explian': use explain"),
        ("/jobs/large?explain=maybe", 400, "explain: 'maybe': "),
        ("/plan?user=ana", 400, "unknown query name 'user': none is accepted here"),
        ("/accuracy?buy=queue", 400, "unknown query name 'buy': use by"),
        ("/nowhere", 404, "unknown path '/nowhere': /api lists the paths"),
        ("/ask", 405, "/ask does not accept GET: use POST"),
    ],
)
def test_a_request_that_means_nothing_is_told(
    quiet: Lab, path: str, status: int, message: str
) -> None:
    found = get(quiet.app, path)
    assert found.status == status
    assert found.data["error"].startswith(message)


HOSTILE: dict[str, Any] = {
    "no JSON": b"{",
    "no text": b"\xff\xfe",
    "deep": b"[" * 100_000,
    "list": [],
    "nothing": {},
    "unknown key": {"line": "-n 1", "method": "x"},
    "kind": {"line": 7},
    "long line": {"line": "x" * 5000},
    "long script": {"script": "x" * 70_000},
    "long user": {"line": "-n 1", "user": "u" * 100},
    "file": {"line": "bsub -n 1 < /etc/passwd"},
    "many elements": {"line": "bsub -J 'a[1-100000000]' true"},
    "requirement": {"line": "bsub -R '" + "(" * 3000 + "' true"},
    "queue": {"line": "bsub -q nowhere -n 1"},
    "job and line": {"line": "-n 1", "job": "large", "slots": 1},
    "job alone": {"job": "large"},
    "change alone": {"line": "-n 1", "slots": 1},
    "no slots": {"job": "large", "slots": 0},
    "truth": {"job": "large", "slots": True},
    "huge": {"job": "large", "run_limit": 10**400},
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_questions_get_one_message(asking: Lab, body: Any) -> None:
    found = post(asking.app, "/ask", body)
    assert found.status == 400, found.body
    assert found.data["error"]
    assert "Traceback" not in found.data["error"]


def test_bodies_and_addresses_are_bounded(quiet: Lab) -> None:
    big = [b"x" * 65_536] * (MAX_BODY // 65_536 + 1)
    kind = [*LOCAL, ("content-type", "application/json")]
    assert request(quiet.app, "POST", "/ask", headers=kind, body=big).status == 413
    plain = post(quiet.app, "/ask", b"line=x", content_type="text/plain")
    assert (plain.status, "application/json" in plain.data["error"]) == (415, True)
    assert get(quiet.app, "/jobs/" + "x" * 3000).status == 414
    assert get(quiet.app, "/nothing").status == 404
    assert get(quiet.app, "/assets/..%2Fboard.html").status == 404
    assert request(quiet.app, "DELETE", "/jobs").status == 405


def test_every_answer_forbids_foreign_scripts(quiet: Lab) -> None:
    for target in ("/", "/job/7%2F3", "/score", "/jobs", "/nothing", "/assets/serve.js", "/login"):
        found = get(quiet.app, target)
        assert HEADERS.items() <= found.headers.items(), target
    policy = HEADERS["content-security-policy"]
    assert "unsafe" not in policy
    for page in ("/", "/job/7", "/score", "/login"):
        text = get(quiet.app, page).body.decode()
        assert "<script>" not in text
        assert " style=" not in text
        assert "//" not in text.replace("<!DOCTYPE html>", "")
    assert 'src="../../assets/job.js"' in get(quiet.app, "/job/7%2F3").body.decode()


def test_the_interface_describes_itself(quiet: Lab, asking: Lab) -> None:
    found = get(quiet.app, "/openapi.json").data
    wanted = {
        "/jobs",
        "/jobs/{job}",
        "/plan",
        "/ask",
        "/slots",
        "/feed.atom",
        "/accuracy",
        "/events",
        "/healthz",
    }
    assert wanted | {"/metrics"} == set(found["paths"])
    schema = found["components"]["schemas"]
    bodies = {
        "JobsAnswer": get(quiet.app, "/jobs").data,
        "StateTime": get(quiet.app, "/jobs").data["state"],
        "JobAnswer": get(quiet.app, "/jobs/large").data | {"explanation": 0, "commands": 0},
        "JobLeft": get(quiet.app, "/jobs/nobody").data,
        "PlanAnswer": get(quiet.app, "/plan").data,
        "SlotsAnswer": get(asking.app, "/slots").data,
        "AccuracyAnswer": get(quiet.app, "/accuracy").data,
        "Health": get(quiet.app, "/healthz").data,
        "Refused": get(quiet.app, "/plan?x=1").data,
    }
    for name, body in bodies.items():
        assert set(schema[name]["properties"]) == body.keys(), name
    calls = {path: call for path, each in found["paths"].items() for call in each.values()}
    statuses = {path: set(map(int, call["responses"])) for path, call in calls.items()}
    assert {304, 401} <= statuses["/jobs"] & statuses["/plan"]
    assert {401, 404, 429, 503} <= statuses["/jobs/{job}"] & statuses["/ask"]
    assert {429, 503} <= statuses["/slots"]
    assert 503 in statuses["/events"] & statuses["/accuracy"] & statuses["/healthz"]
    assert not any(422 in codes for codes in statuses.values())
    for call in calls.values():
        assert re.fullmatch(r"Return [^\n]+\.", call["summary"])
        for code, answer in call["responses"].items():
            assert answer["description"].endswith(".")
            assert code == "304" or answer["content"]


def test_a_page_for_people_says_how_to_call_it(quiet: Lab) -> None:
    assert 'href="api"' in get(quiet.app, "/").body.decode()
    assert 'src="assets/api.js"' in get(quiet.app, "/api").body.decode()
    assert "openapi.json" in get(quiet.app, "/assets/api.js").body.decode()


def test_health_and_metrics(quiet: Lab) -> None:
    assert get(quiet.app, "/healthz").status == 503  # the lab has no threads
    lines = get(quiet.app, "/metrics").body.decode().splitlines()
    assert 'slotwise_pending_jobs{state="held back"} 1' in lines
    assert "slotwise_polls_total 1" in lines
    assert not any("large" in line for line in lines)
    assert get(quiet.app, "/accuracy").data["accuracy"] is None


def test_a_stream_tells_of_new_states() -> None:
    here = lab(joint_wins())

    async def followed() -> bytes:
        here.streams.begin()
        task = asyncio.create_task(sent(here.app, "GET", "/events", until=b"\nid: 6"))
        while not here.service.requests.streams:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(here.poll)
        return (await task).body

    body = asyncio.run(followed()).decode()
    assert body.startswith("retry: ")
    assert "event: state\ndata: {" in body
    assert here.service.requests.streams == 0


def texts(record: Any) -> Iterator[str]:
    """Every key and text of an answer."""
    if isinstance(record, dict):
        yield from record
    if isinstance(record, (dict, list)):
        for value in record.values() if isinstance(record, dict) else record:
            yield from texts(value)
    elif isinstance(record, str):
        yield record


@pytest.mark.parametrize(
    ("example", "own"),
    some(
        [("backfill", "job4"), ("exact-fit", "wide"), ("fairshare-priority-user", "x1"),
         ("memory-phases", "job3"), ("kth-sp2-queue-10", "153")], 4
    ),
)  # fmt: skip
def test_a_named_user_learns_no_id_of_a_job_of_others(example: str, own: str) -> None:
    """Places, reasons, remarks, problems, suggestions and their commands; bars have no id."""
    found = sw.load(sw.example(example))
    pending = tuple(replace(one, user="al" if one.id == own else "bo") for one in found.pending)
    running = tuple(replace(run, job=replace(run.job, user="bo")) for run in found.running)
    others = {job.id for job in (*pending, *(run.job for run in running))} - {own}
    secret = f"job {min(others)}: no such queue"
    state = replace(found, pending=pending, running=running)
    here = lab(
        state, replace(state, now=state.now + 1), InputError([Problem(secret, "jobs.txt")]),
        access=Access.of("127.0.0.1", None, "X-User"),
    )  # fmt: skip
    here.service.poller.source.warnings = [Problem(secret, "jobs.txt")]  # type: ignore[attr-defined]
    here.service.questions.start()
    paths = ("/jobs", f"/jobs/{own}?explain=true", "/plan", f"/jobs/{min(others)}")
    for _ in range(3):
        for path in paths:
            answer = get(here.app, path, x_user="al")
            for text in texts(answer.data):
                assert others.isdisjoint(re.findall(r"[\w\[\]-]+", text)), (path, text)
        (host, *_) = get(here.app, f"/jobs/{own}", x_user="al").data["place"]
        assert {bar["job"] for bar in host["jobs"]} == {own}
        assert host["others"]
        here.poll()
    last = get(here.app, "/jobs", x_user="al").data
    assert (last["state"]["problem"][:14], len(last["warnings"])) == ("the last state", 1)
    asked = post(here.app, "/ask", {"line": f"bsub -w 'done({min(others)}x)' x"}, x_user="al")
    assert min(others) not in re.findall(r"\w+", asked.body.decode().partition("did you mean")[2])
    here.service.questions.stop()


def test_a_burst_of_streams_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams count from their request on, not from their first event, until they end."""
    monkeypatch.setattr("slotwise.cli.serve.api.MAX_STREAMS", 3)
    here = lab(joint_wins())

    async def burst() -> list[Answer]:
        here.streams.begin()
        here.streams.closing = False
        asked = [asyncio.create_task(sent(here.app, "GET", "/events")) for _ in range(8)]
        while sum(task.done() for task in asked) < 5:
            await asyncio.sleep(0.01)
        here.streams.close()
        return await asyncio.gather(*asked)

    for _ in range(2):
        found = [answer.status for answer in asyncio.run(burst())]
        assert (found.count(200), found.count(503)) == (3, 5)
        assert here.service.requests.streams == 0


def test_questions_beyond_the_queue_are_refused() -> None:
    queue, go = QuestionQueue(max_waiting=MAX_OF_ONE + 1), threading.Event()
    for _ in range(MAX_OF_ONE):
        queue.ask(lambda _: go.wait(10), "ana")
    with pytest.raises(TooManyQuestions) as error:
        queue.ask(lambda _: None, "ana")
    assert error.value.of_one
    last = queue.ask(lambda _: 7, "ben")
    with pytest.raises(TooManyQuestions) as error:
        queue.ask(lambda _: None, "carla")
    assert not error.value.of_one
    queue.start()
    go.set()
    assert last.result(10) == 7
    queue.stop()
    assert (queue.answered, queue.refused, queue.waiting) == (MAX_OF_ONE + 1, 2, 0)


def test_refused_questions_say_so(quiet: Lab) -> None:
    quiet.service.questions = QuestionQueue(max_waiting=0)
    found = post(quiet.app, "/ask", {"line": "-n 1"})
    assert (found.status, found.headers["retry-after"]) == (503, "5")


def two_users() -> Instance:
    """A full host, and a job each of two users."""
    return Instance(
        sw.Cluster((Host("a", 2),)),
        pending=(Job("1", 2, run_limit=60, user="ana"), Job("2", 2, run_limit=60, user="ben")),
    )


def test_a_named_user_sees_own_jobs_only() -> None:
    here = lab(two_users(), access=Access.of("127.0.0.1", None, "X-Forwarded-User"))
    assert get(here.app, "/jobs").status == 403
    mine = get(here.app, "/jobs", x_forwarded_user="ana").data
    assert [row["job"] for row in mine["jobs"]] == ["1"]
    assert mine["total"] == 1
    assert get(here.app, "/jobs/2", x_forwarded_user="ana").status == 404
    assert get(here.app, "/jobs/2?explain=1", x_forwarded_user="ana").status == 404
    plan = get(here.app, "/plan", x_forwarded_user="ben").data["plan"]
    assert [item["job"] for item in plan["reservations"]] == ["2"]
    twice = [*LOCAL, ("x-forwarded-user", "ana"), ("x-forwarded-user", "ben")]
    assert request(here.app, "GET", "/jobs", headers=twice).status == 400
    assert get(here.app, "/jobs", x_forwarded_user="a b").status == 400


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("correct-horse-battery\n")
    file.chmod(0o600)
    return file


def test_a_token_is_needed_where_one_is_given(token: Path) -> None:
    here = lab(two_users(), access=Access.of("0.0.0.0", token, None))
    right = {"authorization": "Bearer correct-horse-battery", "host": "board.example"}
    assert get(here.app, "/jobs", **right).data["total"] == 2
    for wrong in ("", "Bearer ", "Bearer correct-horse", "Basic correct-horse-battery"):
        assert get(here.app, "/jobs", authorization=wrong).status == 401
    assert get(here.app, "/metrics").status == 401
    assert get(here.app, "/assets/serve.css").status == 200
    page = get(here.app, "/job/7", accept="text/html")
    assert (page.status, page.headers["location"]) == (303, "../login")
    kind = [("content-type", "application/x-www-form-urlencoded")]
    body = [b"token=correct-horse-battery"]
    signed = request(here.app, "POST", "/login", headers=kind, body=body)
    cookie = signed.headers["set-cookie"]
    assert signed.status == 303
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "horse" not in cookie
    assert get(here.app, "/jobs", cookie=cookie.partition(";")[0]).status == 200
    assert get(here.app, "/jobs", cookie="slotwise=0").status == 401


def test_other_machines_need_a_token_or_a_proxy(token: Path) -> None:
    with pytest.raises(InputError, match="--token-file FILE or --trust-user-header"):
        Access.of("0.0.0.0", None, None)
    assert Access.of("::1", None, None).is_local
    assert is_loopback("127.8.8.8")
    assert not is_loopback("board.example")
    with pytest.raises(InputError, match="not a valid HTTP header name"):
        Access.of("127.0.0.1", None, "X: Y")
    token.chmod(0o644)
    with pytest.raises(InputError, match="is readable by other users"):
        Access.of("0.0.0.0", token, None)
    token.chmod(0o600)
    token.write_text("short")
    with pytest.raises(InputError, match="one word of 16 or more"):
        Access.of("0.0.0.0", token, None)


def test_pages_of_other_sites_do_not_reach_a_local_service(quiet: Lab) -> None:
    """A name that another site has bound to the loopback address is not answered."""
    assert get(quiet.app, "/jobs", host="evil.example").status == 421
    assert get(quiet.app, "/healthz", host="evil.example:80").status == 421
    assert get(quiet.app, "/jobs", host="[::1]:8642").status == 200
    assert isinstance(Access(True).viewer({"host": ""}, ""), Denied)
    assert Access(True).viewer({"host": "localhost"}, "") == Viewer()


def test_names_of_jobs_are_data() -> None:
    bad = "</script><img src=x onerror=alert(1)>\u202e"
    base = two_users()
    here = lab(replace(base, pending=(replace(base.pending[0], id=bad, user=bad),)))
    found = get(here.app, "/jobs")
    assert found.data["jobs"][0]["job"] == bad
    assert found.headers["content-type"] == "application/json"
    assert b"\xe2\x80\xae" not in found.body
