"""A start that hangs on the place of a job that a left-out rule may move: proved on that condition.

The reference puts such a job on every place in turn, as a running job, and plans anew: a start that
is proved without a condition is the same wherever the job is.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from slotwise import InputError, Instance, Plan, PlannedArray, PlannedJob, RunningJob, load, loads
from slotwise.cli.main import app
from slotwise.model.formats.plan_file import plan_record, read_plan
from slotwise.model.plan import proof_text
from slotwise.solver.advice.ask import ask
from slotwise.solver.advice.comparison import compare
from slotwise.solver.advice.explain import explain
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("TBR-19", "PAI-10")

TWO_HOSTS = """
format: slotwise/1
hosts: [{name: A, slots: SLOTS}, {name: B, slots: SLOTS}]
queues: [{name: q, BACKFILL: Y}]
pending:
  - {id: 100, bsub: "-q q -W 5 FIRST"}
  - {id: 101, bsub: "-q q -n 2 -W 2 -R span[hosts=1]"}
"""
#: What nobody models of a job, and a range that dispatch may fill further.
UNMODELLED = [
    "-n 2 -R span[stripe]",
    "-n 2 -R span[stripe=1]",
    "-n 2 -R span[gtile=1]",
    "-n 2 -R affinity[core(1)]",
    "-n 2 -sla gold",
    "-n 2 -data file",
    "-n 2 -hostfile f",
    "-n 2 -R '1*{span[stripe]} + 1*{type==any}'",
]


def two_hosts(first: str, slots: int = 2) -> Instance:
    return loads(TWO_HOSTS.replace("SLOTS", str(slots)).replace("FIRST", first))


def claims(found: Plan) -> dict[str, tuple[bool, tuple[str, ...]]]:
    return {item.job: (item.proved, item.proved_if) for item in found}


@pytest.mark.parametrize("first", UNMODELLED)
@pytest.mark.parametrize("method", ["optimal", "milp"])
def test_a_start_beside_such_a_job_is_proved_on_condition(first: str, method: str) -> None:
    found = plan(two_hosts(first), method, effort=1)  # type: ignore[arg-type]
    assert claims(found) == {"100": (False, ()), "101": (False, ("100",))}
    assert (found["101"].start, found["101"].bound) == (0, 0)
    assert found.status == "feasible"


@pytest.mark.parametrize("first", UNMODELLED)
def test_with_room_wherever_the_other_is_it_is_proved(first: str) -> None:
    assert claims(plan(two_hosts(first, slots=4), effort=1))["101"] == (True, ())


RANGES = "more slots of its range for a job"
RANGES_BEHIND = [("-n 3,5", 2, ("100",)), ("-n 2,4", 3, ()), ("-n 1,9", 2, ())]


@pytest.mark.parametrize(("asked", "slots", "on"), RANGES_BEHIND)
@pytest.mark.parametrize("first", ["affinity[core(1)]", "affinity[thread(1)]", "span[stripe]"])
def test_a_range_of_slots_behind_such_a_job(
    first: str, asked: str, slots: int, on: tuple[str, ...]
) -> None:
    """The judge called its proof a bug in Slotwise: it hangs on the other, or has room anyway."""
    text = TWO_HOSTS.replace("SLOTS", str(slots))
    text = text.replace("FIRST", f"-R '{first}'").replace("-n 2 -W 2 -R span[hosts=1]", asked)
    found = plan(loads(text.replace("'", "''").replace('"', "'")), effort=1)
    assert not found.refused
    assert claims(found)["101"] == (not on, on)


def test_one_that_waits_for_it_and_one_that_waits_for_that() -> None:
    text = TWO_HOSTS + (
        '  - {id: 102, bsub: "-q q -n 2 -W 2 -w started(101) -R span[hosts=1]"}\n'
        '  - {id: 103, bsub: "-q q -n 1 -W 2 -m C"}\n'
        '  - {id: 104, bsub: "-q q -n 1 -W 2 -m C -w ended(100)"}\n'
    )
    text = text.replace("slots: SLOTS}]", "slots: SLOTS}, {name: C, slots: 2}]")
    text = text.replace("-R span[hosts=1]", "-m 'A B' -R span[hosts=1]")
    text = text.replace("FIRST", "-m 'A B' -n 2 -R span[stripe]").replace("SLOTS", "2")
    found = plan(loads(text), effort=5)
    told = claims(found)
    assert [told[name] for name in ("101", "102", "103")] == [
        (False, ("100",)),
        (False, ("100",)),
        (True, ()),
    ]
    assert told["104"] == (False, ("100",)), "it starts when that ends"


def test_ranges_that_dispatch_may_fill_further() -> None:
    """Later it takes what there is: the loop has four slots for 100 then."""
    instance = loads("""
format: slotwise/1
hosts: [{name: A, slots: 4}]
queues: [{name: q, BACKFILL: Y}]
running: [{id: 1, queue: q, start: 0, run_limit: 10m, allocation: 4*A}]
pending:
  - {id: 100, bsub: '-q q -n 2,4 -W 5'}
  - {id: 101, bsub: '-q q -n 2 -W 2'}
  - {id: 102, bsub: '-q q -n 1 -W 2 -m A'}
""")
    found = plan(instance, effort=1)
    assert claims(found)["100"] == (True, ())
    assert claims(found)["101"] == (False, ("100",))
    assert [item.jobs for item in found.omissions if item.what == RANGES] == [("101", "102")]
    full = replace(instance.pending[0], max_slots=None)
    plain = plan(replace(instance, pending=(full, *instance.pending[1:])), effort=1)
    assert claims(plain)["101"] == (True, ())


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "q.yaml"
    path.write_text(TWO_HOSTS.replace("SLOTS", "2").replace("FIRST", "-n 2 -R span[stripe]"))
    return path


def printed(*arguments: str) -> str:
    found = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200", "NO_COLOR": "1"})
    assert found.exit_code == 0, found.output
    return found.stdout


def test_commands_say_the_condition(site: Path, tmp_path: Path) -> None:
    assert "proved if 100 starts where planned" in printed("solve", str(site), "--format", "text")
    rows = csv.DictReader(printed("solve", str(site), "--format", "csv").splitlines())
    assert [row["proved_if"] for row in rows] == ["", "100"]
    record = json.loads(printed("solve", str(site), "--format", "json"))
    assert [item.get("proved_if") for item in record["reservations"]] == [None, ["100"]]
    told = printed("explain", str(site), "101", "--method", "optimal", "--format", "text")
    assert "proved the earliest if 100 starts where planned" in told
    assert "if 100 starts where planned" in printed("compare", str(site), "--format", "text")
    page = tmp_path / "r.html"
    printed("report", str(site), "-o", str(page))
    assert "<td>if 100 starts where planned</td>" in page.read_text()


def test_the_library_says_the_condition(site: Path) -> None:
    instance = load(site)
    assert compare(instance, effort=1)["101"].proved_if == ("100",)
    assert explain(instance, "101", method="optimal").to_dict()["proved_if"] == ["100"]
    line = "bsub -q q -n 2 -W 2 -R span[hosts=1]"
    answer = ask(instance, line, method="optimal").to_dict()["line"]
    assert (answer["proved"], answer["proved_if"]) == (False, ["100"])


def test_a_saved_plan_keeps_it_and_a_wrong_one_is_refused(site: Path) -> None:
    instance = load(site)
    found = plan(instance, effort=1)
    record = plan_record(found.to_dict(), instance)
    assert read_plan(record, instance, "p.json") == found
    bare = {key: value for key, value in record.items() if key != "checksum"}
    for wrong, said in (
        ({"proved_if": ["7"]}, "no pending job '7'"),
        ({"proved_if": "100"}, "must be a list"),
        ({"proved": True, "bound": 0}, "is given with proved: true"),
    ):
        entries = [record["reservations"][0], record["reservations"][1] | wrong]
        with pytest.raises(InputError, match=said):
            read_plan(bare | {"reservations": entries}, instance, "p.json")


def test_in_words() -> None:
    assert proof_text(True, ()) == "proved"
    assert proof_text(False, ()) == ""
    assert proof_text(False, ("1", "2")) == "proved if 1 and 2 start where planned"
    assert proof_text(False, tuple("12345")) == "proved if 1, 2, 3 and 2 more start where planned"
    first = PlannedJob("a[1]", 0, bound=0, proved=True)
    second = PlannedJob("a[2]", 0, bound=0, proved_if=("1",))
    assert PlannedArray.of("a", (first, second)).proved_if == ("1",)
    assert PlannedArray.of("a", (first, second, PlannedJob("a[3]", 0))).proved_if == ()


def test_the_judge_objects_to_a_proof_that_hangs_on_such_a_place() -> None:
    instance = two_hosts("-n 2 -R span[stripe]")
    found = plan(instance, effort=1)
    assert validate(instance, found) == []
    last = replace(found["101"], proved=True, proved_if=())
    claimed = replace(found, reservations=(found["100"], last))
    assert [fault.check for fault in validate(instance, claimed)] == ["bound"]
    roomy = two_hosts("-n 2 -R span[stripe]", slots=4)
    assert validate(roomy, plan(roomy, effort=1)) == []


def workload(draw: random.Random) -> Instance:
    """Two or three hosts, some taken for a while, a job of span[stripe] among two to four."""
    hosts = [(name, draw.randint(1, 4)) for name in "ABC"[: draw.randint(2, 3)]]
    text = "format: slotwise/1\nhosts:\n"
    text += "".join(f"  - {{name: {name}, slots: {slots}, mem: 400}}\n" for name, slots in hosts)
    text += "queues: [{name: q, BACKFILL: Y}]\nrunning:\n"
    for name, slots in hosts:
        if draw.random() < 0.5:
            limit = draw.randint(1, 9)
            text += f"  - {{id: r{name}, queue: q, start: 0, run_limit: {limit}m, "
            text += f"allocation: {draw.randint(1, slots)}*{name}}}\n"
    text = text.replace("running:\n", "running: []\n") if text.endswith("running:\n") else text
    text += "pending:\n"
    strange = draw.randint(0, 1)
    asks = ["", "-R span[hosts=1]", "-R span[ptile=1]", "-R rusage[mem=300]", "-x"]
    for number in range(draw.randint(2, 4)):
        ask = "-R span[stripe]" if number == strange else draw.choice(asks)
        text += f"  - {{id: {number}, bsub: '-q q -n {draw.randint(1, 3)} -W "
        text += f"{draw.randint(1, 9)} {ask}'}}\n"
    return loads(text.replace("queues: [{name: q,", "queues: [{name: q, EXCLUSIVE: Y,"))


def places(instance: Instance, slots: int) -> Iterator[dict[str, int]]:
    """Every way to put so many slots on hosts, beside what runs."""
    free = {host.name: host.slots for host in instance.cluster.hosts}
    for run in instance.running:
        for name, used in run.allocation.items():
            free[name] -= used

    def put(names: tuple[str, ...], left: int) -> Iterator[dict[str, int]]:
        if not names:
            yield from [{}] if not left else []
            return
        for here in range(min(left, free[names[0]]) + 1):
            for rest in put(names[1:], left - here):
                yield ({names[0]: here} if here else {}) | rest

    yield from put(tuple(free), slots)


def pinned(instance: Instance, job: str, place: Mapping[str, int]) -> Instance:
    """The same with one of the pending jobs running, since now."""
    one = next(item for item in instance.pending if item.id == job)
    others = tuple(item for item in instance.pending if item is not one)
    run = RunningJob(replace(one, res_req=()), instance.now, dict(place))
    return replace(instance, running=(*instance.running, run), pending=others)


def check_every_place(seed: int) -> int:
    """How many conditional proofs there were; those without a condition hold on every place.

    The jobs before the strange one are where they are planned.
    """
    instance = workload(random.Random(seed))
    found = plan(instance, effort=5)
    assert not found.refused
    strange = next(job for job in instance.pending if "stripe" in "".join(job.res_req))
    if strange.id not in found:
        return 0
    first = found.reservations[: 1 + next(n for n, i in enumerate(found) if i.job == strange.id)]
    if any(item.start != instance.now for item in first):
        return 0
    for item in first[:-1]:
        instance = pinned(instance, item.job, item.allocation)
    for place in places(instance, strange.slots):
        other = plan(pinned(instance, strange.id, place), effort=5)
        for item in found.reservations[len(first) :]:
            if item.proved:
                assert other[item.job].start == item.start, (seed, item.job, place)
            if item.proved_if and place == found[strange.id].allocation:
                assert other[item.job].start == item.start, (seed, item.job, place)
    return sum(bool(item.proved_if) for item in found)


def test_a_proof_without_a_condition_holds_on_every_place() -> None:
    assert sum(map(check_every_place, range(6)))


@pytest.mark.slow
def test_the_same_of_many_more() -> None:
    assert sum(map(check_every_place, range(6, 800))) > 100
