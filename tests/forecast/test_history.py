"""The past of an instance from a log, on the instance's clock."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from slotwise import Cluster, Host, InputError, Instance, Job, RunningJob
from slotwise.solver.forecast.of_instance import forecast

#: number, submit, wait, run time, processors, limit, user
RECORDS = ((1, 0, 5, 60, 3, 90, 7), (2, 10, 0, 30, 2, -1, 8), (3, 20, 50, 99, 1, 80, 7))


def _swf(tmp_path, records=RECORDS, header="", name="log.swf"):
    lines = [
        f"{number} {submit} {wait} {run} {procs} -1 -1 {procs} {limit} -1 1 {user} 1 1 1 1 -1 -1"
        for number, submit, wait, run, procs, limit, user in records
    ]
    path = tmp_path / name
    path.write_text("\n".join(["; MaxProcs: 4", *([header] if header else []), *lines, ""]))
    return path


@examples(40)
@given(
    st.lists(
        st.tuples(st.integers(0, 300), st.integers(1, 200), st.integers(1, 4)),
        min_size=6,
        max_size=25,
    ),
    st.integers(200, 500),
    st.integers(1, 100),
)
def test_how_long_a_job_of_the_instance_runs_by_the_log_changes_no_forecast(jobs, now, other):
    """Waits are not recorded; the jobs run one behind the other, so most have not ended by then."""
    with TemporaryDirectory() as folder:
        logs = [[], []]
        running, pending, free = [], [], 0
        for number, (submit, ran, slots) in enumerate(sorted(jobs), start=1):
            start = max(submit, free)
            free = start + ran
            known = free <= now
            for log, seconds in zip(logs, (ran, ran if known else other), strict=True):
                log.append((number, submit, -1, seconds, slots, 300, number % 3))
            job = Job(str(number), slots, user=f"user{number % 3}", run_limit=300, submit=submit)
            if not known and start < now:
                running.append(RunningJob(job, start, {"pool": slots}))
            elif not known and submit <= now:
                pending.append(job)
        here = Instance(
            Cluster((Host("pool", 4),)), running=tuple(running), pending=tuple(pending), now=now
        )
        paths = [_swf(Path(folder), log, name=f"{n}.swf") for n, log in enumerate(logs)]
        try:
            one, two = (forecast(here, path, samples=5).samples.tolist() for path in paths)
        except InputError:
            assume(False)  # nothing has ended by then
        assert one == two
