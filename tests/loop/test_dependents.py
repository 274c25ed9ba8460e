"""The loop with dependency conditions (bsub -w): looked at as they stand, cycle by cycle."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from every_start import conditions, holds
from sampling import some
from slotwise import Cluster, Host, Instance, Job, Kill, Modification, Params, RunningJob
from slotwise.model.pending import Pending
from slotwise.solver.scheduler import checkpoints
from slotwise.solver.scheduler.history import snapshot_at, snapshot_of
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session, simulate

pytestmark = pytest.mark.behaviour("DEP-04")


def site(*jobs: Job, slots: int = 8, **more: Any) -> Instance:
    return Instance(Cluster((Host("a", slots),)), pending=jobs, **more)


def starts(instance: Instance, **how: Any) -> dict[str, int | None]:
    found = simulate(instance, **{"cycle": 0, **how})
    return {record.job: record.start for record in found.jobs}


@pytest.mark.behaviour("DEP-03")
@pytest.mark.parametrize("seed", some(range(40), 12))
def test_nobody_starts_before_his_condition_holds(seed: int) -> None:
    given = conditions(seed, jobs=5)
    thinks = {job.id: job.think_time for job in given.instance.pending}
    for how in ({"cycle": 0}, {"cycle": 3}, {"cycle": 0, "reservation": "time-based", "top": 5}):
        found = simulate(given.instance, **how)  # type: ignore[arg-type]
        begun = {item.job: item.start for item in found.jobs if item.start is not None}
        ended = {item.job: item.end for item in found.jobs if item.end is not None}
        assert len(ended) == len(given.instance.pending) + len(given.instance.running)
        for name, tree in given.trees.items():
            assert holds(tree, begun[name] - thinks[name], begun, ended), (seed, how, name)


@pytest.mark.behaviour("DEP-01")
def test_a_job_that_fails_lets_others_wait_in_vain() -> None:
    fails = Job("1", 1, run_limit=50, run_time=80)  # killed by its limit
    done = Job("2", 1, run_limit=5, dependency="done(1)")
    ended = Job("3", 1, run_limit=5, dependency="ended(1)")
    failed = Job("4", 1, run_limit=5, dependency="exit(1)")
    code = Job("5", 1, run_limit=5, dependency="exit(1, 140)")
    other = Job("6", 1, run_limit=5, dependency="exit(1, 3)")
    found = starts(site(fails, done, ended, failed, code, other))
    assert found == {"1": 0, "2": None, "3": 50, "4": 50, "5": 50, "6": None}


@pytest.mark.behaviour("DEP-03")
def test_not_and_or() -> None:
    one = Job("1", 1, run_limit=50)
    jobs = [
        Job("2", 1, run_limit=5, dependency="!done(1)"),
        Job("3", 1, run_limit=5, dependency="done(1) || started(1)"),
        Job("4", 1, run_limit=5, dependency="!started(1) && done(1)"),
        Job("5", 1, run_limit=5, dependency="exit(1) || done(1)"),
        Job("6", 1, run_limit=5, dependency='external(1, "x")'),
    ]
    assert starts(site(one, *jobs)) == {"1": 0, "2": 0, "3": 0, "4": None, "5": 50, "6": 0}


@pytest.mark.behaviour("DEP-02")
def test_counts_as_they_stand() -> None:
    array = [Job(f"7[{n}]", 4, run_limit=10 * n, name="a") for n in (1, 2, 3)]
    jobs = [
        Job("8", 1, run_limit=5, dependency="numdone(a, 2)"),
        Job("9", 1, run_limit=5, dependency="numpend(7, 0) && numended(7, *)"),
        Job("10", 1, run_limit=5, dependency="numexit(7, > 0)"),
    ]
    found = starts(site(*array, *jobs))
    assert [found[name] for name in ("7[1]", "7[2]", "7[3]")] == [0, 0, 10]
    assert (found["8"], found["9"], found["10"]) == (20, 40, None)


def reasons(instance: Instance) -> dict[str, list[Pending]]:
    moment = snapshot_of(instance, after_cycle=True)
    return {name: [item.kind for item in said.reasons] for name, said in moment.waiting.items()}


def test_the_words_of_lsf() -> None:
    instance = site(
        Job("2", 1, run_limit=5, dependency="done(1)"),
        Job("3", 1, run_limit=5, dependency="exit(2) && !done(1)"),
        running=(RunningJob(Job("1", 1, run_limit=100), 0, {"a": 1}),),
    )
    assert reasons(instance) == {"2": [Pending.DEPENDENCY], "3": [Pending.DEPENDENCY]}
    assert Pending.DEPENDENCY.words == "Job dependency condition not satisfied"
    later = snapshot_at(instance, 100, cycle=0)
    assert [item.kind for item in later.waiting["3"].reasons] == [Pending.DEPENDENCY_NEVER]
    assert Pending.DEPENDENCY_NEVER.words == "Dependency condition invalid or never satisfied"


def test_orphans_are_killed() -> None:
    fails = Job("1", 1, run_limit=50, run_time=80)
    waits = Job("2", 1, run_limit=5, dependency="done(1)")
    behind = Job("3", 1, run_limit=5, dependency="done(2)")

    def ends(instance: Instance) -> dict[str, tuple[str, int | None]]:
        found = simulate(instance, cycle=0, until=1000)
        return {record.job: (record.status, record.end) for record in found.jobs}

    assert ends(site(fails, waits, behind))["2"] == ("pending", None)
    term = replace(waits, orphan_term=True)
    assert ends(site(fails, term, behind)) == {
        "1": ("killed", 50),
        "2": ("killed", 50),
        "3": ("pending", None),
    }
    found = ends(site(fails, waits, behind, params=Params(orphan_grace=90)))
    assert (found["2"], found["3"]) == (("killed", 140), ("killed", 230))


def test_bkill_and_bmod() -> None:
    one, two = Job("1", 8, run_limit=100), Job("2", 8, run_limit=5, dependency="done(1)")
    killed = starts(site(one, two), changes=[Kill(20, "1")])
    assert killed == {"1": 0, "2": None}
    changed = starts(site(one, two), changes=[Modification(20, "2", {"dependency": "ended(1)"})])
    assert changed["2"] == 100
    freed = starts(site(one, two, slots=16), changes=[Modification(20, "2", {"dependency": ""})])
    assert freed["2"] == 20
    waits = Job("3", 8, run_limit=5)
    late = starts(
        site(one, waits), changes=[Modification(20, "3", {"dependency": "done(1)", "begin": 300})]
    )
    assert late["3"] == 300


def test_a_checkpoint_knows_who_waits() -> None:
    instance = site(
        Job("1", 8, run_limit=100),
        Job("2", 8, run_limit=10, dependency="done(1)", think_time=7),
        Job("3", 1, run_limit=5, dependency="exit(1)"),
        Job("4", 8, run_limit=10, dependency="started(2)"),
    )

    def session() -> Session:
        made = Session(instance, settings_for(instance, cycle=0))
        made.begin()
        return made

    whole = session()
    texts = []
    while whole.advance():
        texts.append(checkpoints.save(whole))
    right = [record.to_dict() for record in whole.result().jobs]
    assert [record["start"] for record in right] == [0, 107, None, 117]
    for text in texts:
        assert json.loads(text)
        again = checkpoints.load(text, instance)
        while again.advance():
            pass
        assert [record.to_dict() for record in again.result().jobs] == right


def test_a_checkpoint_keeps_since_when_a_job_waits() -> None:
    given = site(
        Job("1", 8, run_limit=100),
        Job("2", 8, run_limit=100, dependency="ended(1)"),
        Job("3", 8, run_limit=100, dependency="ended(2)"),
    )
    whole = simulate(given, cycle=0)
    session = Session(given, settings_for(given, cycle=0), until=None)
    while session.world.now < 200 and session.advance():
        pass
    resumed = checkpoints.load(checkpoints.save(session), given)
    while resumed.advance():
        pass
    assert [record.wait for record in resumed.result().jobs] == [0, 0, 0]
    assert [record.wait for record in whole.jobs] == [0, 0, 0]
