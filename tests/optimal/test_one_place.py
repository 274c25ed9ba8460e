"""Jobs that have one place only: where each first fits is the optimum, without a search."""

from __future__ import annotations

import pytest
from enumerated_plans import Table
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from slotwise import Cluster, Host, Instance, Job, Queue, RunningJob
from slotwise.solver.optimal.lexicographic import JointProbe
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate


def one_host(pending: list[Job], *, busy: int = 2, slots: int = 6) -> Instance:
    running = tuple(
        RunningJob(Job(f"r{number}", slots=1, run_limit=30 * (number + 1)), 0, {"h": 1})
        for number in range(busy)
    )
    cluster = Cluster((Host("h", slots, amounts={"mem": 64.0}),))
    return Instance(cluster, queues=(Queue("default"),), running=running, pending=tuple(pending))


jobs = st.lists(
    st.builds(
        lambda slots, limit, usage, begin: (slots, limit, usage, begin),
        st.integers(1, 6),
        st.sampled_from([10, 25, 30, 40]),
        st.sampled_from(
            [
                "",
                "rusage[mem=20]",
                "rusage[mem=(40 10):duration=(5)]",
                "rusage[mem=(50 20 1):duration=(8 9)]",
                "span[hosts=1]",
                "span[ptile=6]",
            ]
        ),
        st.sampled_from([None, None, 12, 33]),
    ),
    min_size=1,
    max_size=4,
)


def pending(drawn: list[tuple[int, int, str, int | None]]) -> list[Job]:
    return [
        Job(
            f"p{number}",
            slots=slots,
            run_limit=limit,
            res_req=(usage,) if usage else (),
            begin=begin,
        )
        for number, (slots, limit, usage, begin) in enumerate(drawn)
    ]


@examples(150)
@given(jobs, st.integers(0, 5))
def test_one_host_is_proved_at_once_and_right(
    drawn: list[tuple[int, int, str, int | None]], busy: int
) -> None:
    """Memory in phases and begin times too; no question is asked."""
    instance = one_host(pending(drawn), busy=busy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JointProbe, "ask", None)
        found = plan(instance, "optimal", time_limit=30)
    assert validate(instance, found) == []
    assert {item.job: item.start for item in found} == Table(instance).lexicographic()
    assert all(item.proved for item in found)
    assert found.status == "optimal"
