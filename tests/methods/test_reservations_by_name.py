"""Jobs of an advance reservation (-U) run on its slots while it is active (ARV-01)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
import slotwise as sw
from reserved_enumerator import earliest_starts, reserved_instance
from sampling import some
from slotwise import AdvanceReservation, Cluster, Host, Instance, Job, RunningJob
from slotwise.cli.main import app
from slotwise.solver.rules.omitted import (
    AFTER_OPEN,
    BY_RUN_LIMIT,
    EXCLUSIVE,
    SUSPENDED,
    UNDESCRIBED,
    WITHOUT_LIMIT,
)
from slotwise.solver.validate import validate, validate_schedule
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("ARV-01")

METHODS = ("greedy", "time-based", "optimal", "milp")
BOOKED = AdvanceReservation("u#0", 100, 200, {"A": 2}, users=("u", "team"))


def job(name: str, **fields: Any) -> Job:
    return Job(name, **{"run_limit": 60, "user": "u", **fields})


def in_it(name: str, **fields: Any) -> Job:
    return job(name, reservation="u#0", **fields)


def site(*pending: Job, item: AdvanceReservation = BOOKED, **more: Any) -> Instance:
    return Instance(
        Cluster((Host("A", 4), Host("B", 2))),
        pending=pending,
        advance_reservations=(item,),
        **more,
    )


def starts(found: sw.Plan, *names: str) -> list[int | None]:
    return [None if (item := found.get(name)) is None else item.start for name in names]


@pytest.mark.parametrize("method", METHODS)
def test_its_jobs_run_on_its_slots_in_its_window_and_others_keep_off(method: str) -> None:
    wanted = site(
        job("large", slots=4, run_limit=150, user="x"),
        in_it("first", slots=2),
        in_it("second", slots=2),
        job("no", user="x", reservation="u#0"),
        job("small", slots=2, run_limit=90, user="x"),
    )
    found = sw.plan(wanted, method=method)
    assert starts(found, "large", "first", "second", "small") == [0, 100, 160, 0]
    assert set(found["first"].allocation) == set(found["second"].allocation) == {"A"}
    assert found["second"].finish == 200  # it is killed as the reservation ends
    assert found["first"].waits_for == "advance reservation u#0 (-U) is not active"
    assert [item.reason for item in found.unplaced] == [
        "advance reservation u#0 is for u, team: bsub rejects user x"
    ]
    assert not validate(wanted, found, as_lsf=method in ("greedy", "time-based"))
    assert not any("bug" in note for note in found.notes)


def test_the_documents_numbers() -> None:
    """10 slots, 9 jobs, 5 reserved, one job in it: 4 are suspended; a run may be cut short."""
    nine = tuple(RunningJob(Job(f"r{n}", run_limit=500), 0, {"A": 1}) for n in range(9))
    item = AdvanceReservation("u#0", 100, 200, {"A": 5}, users=("u",))
    wanted = Instance(
        Cluster((Host("A", 10),)),
        running=nine,
        pending=(in_it("1", run_limit=3600, begin=140),),
        advance_reservations=(item,),
    )
    found = sw.simulate(wanted, cycle=0)
    suspended = [each.job for each in found.jobs if each.held[0][1] == 140]
    assert suspended == ["r5", "r6", "r7", "r8"]
    assert (found["1"].start, found["1"].end, found["1"].status) == (140, 200, "killed")
    assert all(found[name].held[1][0] == 200 for name in suspended)  # and they go on after it
    assert not validate_schedule(wanted, found)
    planned = sw.plan(wanted)
    assert any(SUSPENDED in note for note in planned.notes)
    kept = replace(wanted, advance_reservations=(replace(item, suspends=False),))
    assert not any(each.held[0][1] == 140 for each in sw.simulate(kept, cycle=0).jobs)


@pytest.mark.parametrize("method", METHODS)
def test_a_recurring_one_is_active_again_and_again(method: str) -> None:
    """Two slots each day from 1 to 2 o'clock; the third job has to wait for the next day."""
    item = AdvanceReservation("u#0", slots={"A": 1}, users=("team",), windows="1:00-2:00")
    groups = (sw.UserGroup("team", ("u",)),)
    jobs = (in_it("1", run_limit=3600), in_it("2", run_limit=3600), job("3", slots=6))
    wanted = site(*jobs, item=item, groups=groups)
    found = sw.plan(wanted, method=method)
    assert starts(found, "1", "2", "3") == [3600, 25 * 3600, 0]
    assert not any("bug" in note for note in found.notes)
    run = sw.simulate(wanted, cycle=0)
    assert [run[name].start for name in "123"] == [3600, 25 * 3600, 0]
    assert not validate_schedule(wanted, run)


def test_what_is_left_out_is_named_to_the_jobs_it_touches() -> None:
    def named(wanted: Instance) -> set[str]:
        return {note for note in sw.plan(wanted, "optimal").notes if "not modelled" in note}

    cases = {
        AFTER_OPEN: site(in_it("1"), item=replace(BOOKED, open=True)),
        BY_RUN_LIMIT: site(job("1", slots=6, estimated_run_time=30, run_limit=120)),
        WITHOUT_LIMIT: site(job("1", slots=6, run_limit=None)),
        UNDESCRIBED: replace(site(in_it("1")), advance_reservations=()),
        EXCLUSIVE: site(in_it("1", exclusive=True), queues=(sw.Queue("default", exclusive="Y"),)),
    }
    for rule, wanted in cases.items():
        assert any(rule in note for note in named(wanted)), rule
        assert not any(item.proved for item in sw.plan(wanted, "optimal"))
    whole = replace(BOOKED, slots={"A": 4})
    alone = site(
        in_it("1", exclusive=True), item=whole, queues=(sw.Queue("default", exclusive="Y"),)
    )
    assert not named(alone)
    assert sw.plan(alone, "optimal")["1"].proved


def in_order(times: Iterable[int | None]) -> list[float]:
    """Starts to compare in priority order: a job without one is the last."""
    return [math.inf if time is None else time for time in times]


@pytest.mark.parametrize("part", some(range(80), 1))
def test_starts_are_those_of_the_enumerator_and_nothing_false_is_proved(part: int) -> None:
    for seed in range(25 * part, 25 * part + 25):
        wanted = reserved_instance(seed)
        right = earliest_starts(wanted)
        method = "milp" if seed % 4 == 0 else "optimal"
        found = sw.plan(wanted, method=method, effort=5)
        if found.suspended:  # The enumerator suspends no running job: in order it is no earlier.
            assert in_order(starts(found, *right)) <= in_order(right.values()), seed
        else:
            assert starts(found, *right) == list(right.values()), seed
        assert not any("bug" in note for note in found.notes), seed
        estimate = sw.plan(wanted, method=("greedy", "time-based")[seed % 2])
        assert not any("bug" in note for note in estimate.notes), seed
        method = ("none", "greedy", "time-based", "optimal")[seed % 4]
        run = sw.simulate(wanted, reservation=method, cycle=0, keep_log=True)
        assert not validate_schedule(wanted, run), seed


DOCUMENT = """
format: slotwise/1
origin: 2026-11-27T08:00:00+00:00
hosts: [{name: A, slots: 4}]
advance_reservations:
  - {name: "u#0", start: 1h, end: 3h, allocation: 2*A, users: u}
  - {name: "w#1", windows: "5:9:00-5:10:30", allocation: 1*A, users: u, open: Y}
running: [{id: 9, user: u, run_limit: 3h, start: 0, allocation: 1*A}]
pending: [{id: 1, user: u, bsub: "-U u#0 -n 2 -W 30"}]
"""


def test_brsvs_shows_slots_times_and_jobs() -> None:
    table = CliRunner().invoke(app, ["show", "brsvs", "-"], input=DOCUMENT).stdout.splitlines()
    assert [line.split() for line in table] == [
        ["RSVID", "TYPE", "USER", "NCPUS", "RSV_HOSTS", "TIME_WINDOW"],
        ["u#0", "user", "u", "0/2", "A:0/2", "11/27/9/0-11/27/11/0"],
        ["w#1", "user", "u", "0/1", "A:0/1", "5:9:00-5:10:30", "*"],
    ]
    asked = ["show", "brsvs", "-", "--at", "70m", "--format", "json"]
    (first, second) = json.loads(CliRunner().invoke(app, asked, input=DOCUMENT).stdout)
    assert (first["NCPUS"], first["RUN"], first["STATUS"]) == ("2/2", "1", "Active")
    assert (second["RESERVATION_TYPE"], second["NEXT_ACTIVE_PERIOD"][:19]) == (
        *("OPEN", "2026-11-27 09:00:00"),
    )
    shown = CliRunner().invoke(app, ["show", "bjobs", "-l", "-", "1"], input=DOCUMENT).stdout
    assert "Reservation <u#0>" in shown
    assert "The advance reservation of the job is not active" in shown


def test_what_helps_a_job_in_a_reservation_and_one_outside() -> None:
    shown = CliRunner().invoke(app, ["explain", "-", "1"], input=DOCUMENT).stdout
    assert "advance reservation u#0 (-U) is not active" in shown
    assert "without -U" in shown
    refused = CliRunner().invoke(app, ["ask", "-", "bsub -U v#7 -W 5 x"], input=DOCUMENT)
    assert "unknown advance reservation 'v#7'" in str(refused.exception)


def test_files_have_both_forms_or_say_what_is_right() -> None:
    wanted = sw.loads(DOCUMENT)
    assert sw.loads(sw.dump(wanted)) == wanted
    for old, new in (("start: 1h, ", ""), ('windows: "5:9', 'end: 9h, windows: "5:9')):
        with pytest.raises(sw.InputError, match="give either start and end, or windows"):
            sw.loads(DOCUMENT.replace(old, new))


LISTED = """\
RSVID    TYPE   USER    NCPUS   RSV_HOSTS      TIME_WINDOW
u#0      user   u       0/3     hA:0/2         11/27/9/0-11/27/11/0
                                hB:0/1
 Reservation Status: Inactive
 Reservation Type: OPEN

RSVID    TYPE   USER    NCPUS   RSV_HOSTS      TIME_WINDOW
g#0      group  g1 g2   -/16    hA:-/1         3:0:0-3:3:0 *
system#0 sys    system  4       hA:0/2         12/31/23/0-1/1/1/0
"""


def test_brsvs_is_read() -> None:
    from slotwise.model.sources.lsf_state.reading import Reading
    from slotwise.model.sources.lsf_state.reservations import (
        SeenReservation,
        read_brsvs,
        with_reservations,
    )
    from slotwise.model.sources.lsf_state.values import Remarks, Text

    notes = Remarks()
    found = read_brsvs(text := Text(LISTED, "brsvs"), Reading(text, notes))
    seen = [item for item in found if isinstance(item, SeenReservation)]
    hosts = (Host("hA", 4), Host("hB", 2))
    jobs = (
        job("1", reservation="u#0"),
        job("2", reservation="gone#1"),
        job("3", reservation="g#0"),
    )
    plain = Instance(Cluster(hosts), pending=jobs, origin="2026-11-27T08:00:00+00:00")
    found = with_reservations(plain, seen, notes)
    first, second, third = found.advance_reservations
    assert (first.start, first.end, first.slots) == (3600, 3 * 3600, {"hA": 2, "hB": 1})
    assert (first.open, first.users) == (True, ("u",))
    assert (second.users, second.windows, second.slots) == (
        ("g1", "g2"),
        "3:0:00-3:3:00",
        {"hA": 1},
    )
    assert (third.users, third.end - third.start) == ((), 7200)
    assert [each.reservation for each in found.pending] == ["u#0", "", "g#0"]
    unlisted, unknown = notes.omissions
    assert unlisted.jobs == ("2",)
    assert "gone#1 is not listed" in unlisted.what
    assert unknown.jobs == ("3",)
    assert "only brsvs -l shows" in unknown.what
