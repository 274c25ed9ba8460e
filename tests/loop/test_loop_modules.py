"""A module that is not among the modules does no work, and the reader says so."""

from __future__ import annotations

import pytest
from slotwise import Instance, dump, loads
from slotwise.model.formats import loads_with_warnings
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate

HEAD = "format: slotwise/1\nhosts: [{name: a, slots: 1}]\n"
ALL = (
    "schmod_default schmod_fairshare schmod_fcfs schmod_limit schmod_parallel schmod_reserve "
    "schmod_preemption schmod_advrsv"
)
WORK = {
    "schmod_preemption": (
        "queues: [{name: hi, PRIORITY: 9, PREEMPTION: 'PREEMPTIVE[lo]'}, {name: lo}]\n"
        "running: [{id: r, queue: lo, start: 0, run_limit: 1h, allocation: a}]\n"
        "pending: [{id: p, queue: hi, run_limit: 60}]\n"
    ),
    "schmod_fairshare": (
        "queues: [{name: q, FAIRSHARE: 'USER_SHARES[[u,1] [v,9]]'}]\n"
        "pending: [{id: x, user: u, run_limit: 60}, {id: p, user: v, run_limit: 60}]\n"
    ),
    "schmod_limit": ("limits: [{name: l, SLOTS: 0.5}]\npending: [{id: p, run_limit: 60}]\n"),
    "schmod_advrsv": (
        "advance_reservations: [{name: r, start: 0, end: 1h, allocation: a}]\n"
        "pending: [{id: p, run_limit: 60}]\n"
    ),
}
#: Whether p starts at once with the module, and without it.
STARTS = {
    "schmod_preemption": (True, False),
    "schmod_fairshare": (True, False),
    "schmod_limit": (False, True),
    "schmod_advrsv": (False, True),
}


def text(module: str, *, without: bool) -> str:
    names = ALL.replace(module, "") if without else ALL
    return HEAD + f"params: {{modules: {names}}}\n" + WORK[module]


def starts_at_once(instance: Instance) -> bool:
    found = next(record for record in simulate(instance, until=1800).jobs if record.job == "p")
    return found.start == 0


@pytest.mark.behaviour("LOP-06", "FSH-02", "TBR-10", "TBR-19")
@pytest.mark.parametrize("module", WORK)
def test_a_missing_module_switches_its_work_off(module: str) -> None:
    with_it, without = STARTS[module]
    for text_of, at_once in (
        (text(module, without=False), with_it),
        (text(module, without=True), without),
        (HEAD + WORK[module], with_it),
    ):
        instance = loads(text_of)
        assert starts_at_once(instance) is at_once
        assert loads(dump(instance)) == instance


@pytest.mark.parametrize("module", ["schmod_fairshare", "schmod_limit", "schmod_advrsv"])
@pytest.mark.parametrize("method", ["time-based", "optimal", "milp"])
def test_plans_and_their_judge_know_it_too(module: str, method: str) -> None:
    for without, at_once in enumerate(STARTS[module]):
        instance = loads(text(module, without=bool(without)))
        found = plan(instance, method, time_limit=30)
        assert validate(instance, found, as_lsf=method == "time-based") == []
        started = "p" in found and found["p"].start == 0
        if not (module == "schmod_advrsv" and method == "time-based"):  # it never knows windows
            assert started is at_once


@pytest.mark.behaviour("CFG-02")
@pytest.mark.parametrize("module", WORK)
def test_what_has_no_effect_without_its_module_is_reported(module: str) -> None:
    assert loads_with_warnings(text(module, without=False))[1] == ()
    (told,) = loads_with_warnings(text(module, without=True))[1]
    assert told.message.endswith(f"no effect: {module} is not among the modules")


def test_an_unknown_module_is_reported() -> None:
    (told,) = loads_with_warnings(HEAD + "params: {modules: schmod_default schmod_premption}\n")[1]
    assert told.path == "params.modules"
    assert told.message == (
        "unknown LSF module 'schmod_premption' (did you mean 'schmod_preemption'?)"
    )
