"""The parts of a forecast, each alone: random numbers, run times, who comes."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pytest
from forecast_lab import asked_of, past_of
from hypothesis import given
from hypothesis import strategies as st
from slotwise.model.display import DAY
from slotwise.solver.forecast.arrivals import PastBlocks
from slotwise.solver.forecast.jobs import keys_of, spread, uniforms
from slotwise.solver.forecast.runtimes import LastTwo, Ratios, WeightedSample

NAMES = st.lists(st.text(max_size=8), min_size=1, max_size=6, unique=True)


@given(NAMES, st.integers(0, 2**63), st.integers(1, 120), st.randoms(), st.booleans())
def test_a_number_is_the_same_whoever_else_is_asked(names, seed, samples, random, even):
    draw = spread if even else uniforms
    shuffled = random.sample(names, len(names))
    all_of_them = dict(zip(names, draw(seed, "s", keys_of(names), samples), strict=True))
    again = draw(seed, "s", keys_of(shuffled), samples + 3)
    for name, row in zip(shuffled, again, strict=True):
        assert row[:samples].tolist() == all_of_them[name].tolist()
    assert all((row >= 0).all() and (row < 1).all() for row in all_of_them.values())


@pytest.mark.parametrize("draw", [uniforms, spread])
def test_seed_stream_name_and_sample_each_make_other_numbers(draw):
    names = keys_of(["a", "b"])
    one = draw(1, "s", names, 1000)
    assert len(np.unique(one)) == 2000
    for other in (draw(2, "s", names, 1000), draw(1, "t", names, 1000)):
        assert abs(np.corrcoef(one[0], other[0])[0, 1]) < 0.1
        assert not np.isin(other, one).any()
    assert abs(np.corrcoef(one[0], one[1])[0, 1]) < 0.1


def test_a_sum_of_many_is_nearer_to_its_mean():
    """What is gained: the mean over samples of a sum over jobs hardly depends on the seed."""
    names = keys_of(map(str, range(50)))
    means = [
        [draw(seed, "s", names, 100).sum(axis=0).mean() for seed in range(20)]
        for draw in (uniforms, spread)
    ]
    assert np.std(means[1]) < np.std(means[0]) / 10
    assert abs(np.mean(means[1]) - 25) < 0.05


def _plain(seed: int, stream: str, name: str, sample: int) -> float:
    """The same with whole numbers of any size, which no machine can round."""

    def mixed(bits: int) -> int:
        bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        bits = (bits ^ bits >> 27) * 0x94D049BB133111EB % 2**64
        return bits ^ bits >> 31

    def key(text: str) -> int:
        return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")

    golden = 0x9E3779B97F4A7C15
    row = mixed((mixed(key(name) ^ key(f"{seed} {stream}")) + golden) % 2**64)
    return (mixed((row + golden * (sample + 1)) % 2**64) >> 11) / 2**53


@given(st.integers(0, 2**70), st.text(max_size=5), st.text(max_size=5), st.integers(0, 50))
def test_the_numbers_are_those_of_any_machine(seed, stream, name, sample):
    found = uniforms(seed, stream, keys_of([name]), sample + 1)[0, sample]
    assert found == _plain(seed, stream, name, sample)


LATER = 10**6


def _job(user, limit, slots, run, end):
    return (user, limit, slots, end - run - 5, end - run, end)


PAST = st.lists(
    st.builds(
        _job,
        user=st.integers(0, 2),
        limit=st.sampled_from([-1, 100, 200]),
        slots=st.integers(1, 2),
        run=st.integers(1, 100),
        end=st.integers(200, 400),
    ),
    max_size=30,
)
ASKED = st.lists(
    st.tuples(
        st.integers(-1, 3),
        st.sampled_from([-1, 50, 100, 200]),
        st.integers(1, 2),
        st.integers(-1, 250),
    ),
    min_size=1,
    max_size=5,
)


@given(PAST, ASKED, st.integers(150, 450), st.integers(0, 9))
def test_every_model_keeps_its_promises(past, asked, known, seed):
    """Run times are possible ones, and nothing that ends later changes them."""
    jobs = asked_of(*asked)
    whole = past_of(*past)
    before = past_of(*(job for job in past if job[5] <= known))
    changed = past_of(
        *(job if job[5] <= known else (2, 100, 1, job[3], job[4], known + 9) for job in past)
    )
    for model in (Ratios, LastTwo):
        found = model(whole).draw(jobs, known, 5, seed)
        assert found.shape == (len(asked), 5)
        assert found.dtype == np.int64
        assert (found >= np.maximum(1, jobs.elapsed)[:, None]).all()
        capped = (jobs.limit > 0) & (jobs.limit >= jobs.elapsed)
        assert (found[capped] <= jobs.limit[capped][:, None]).all()
        assert found.tolist() == model(before).draw(jobs, known, 5, seed).tolist()
        assert found.tolist() == model(changed).draw(jobs, known, 5, seed).tolist()


@given(PAST, ASKED)
def test_a_draw_does_not_depend_on_who_else_waits(past, asked):
    jobs = asked_of(*asked)
    ratios = Ratios(past_of(*past))
    together = ratios.draw(jobs, LATER, 4, 3)
    runs = jobs.elapsed >= 0
    for row in range(len(jobs)):
        kept = runs.copy()
        kept[row] = True
        alone = ratios.draw(jobs.pick(kept), LATER, 7, 3)
        place = int(np.count_nonzero(kept[:row]))
        assert alone[place, :4].tolist() == together[row].tolist()


NUMBERS = st.lists(st.integers(0, 20), min_size=1, max_size=12)


def _of(numbers) -> WeightedSample:
    return WeightedSample.of(np.array(numbers, dtype=float))


@given(NUMBERS, NUMBERS)
def test_survivors_weigh_as_kaplan_and_meier_say(ended, running):
    """Their product formula, of what is known to be at least each number, in plain fractions."""
    found = _of(ended).with_survivors(np.sort(np.array(running, dtype=float)), _of([99]))
    total = float(found.weights.sum())
    assert abs(total - len(ended) - len(running)) < 1e-9
    for bound in range(22):
        survival = 1.0
        for time in sorted(set(ended)):
            if time >= bound:
                break
            # Who is seen at the very number at which others end is not counted as one of them.
            at_risk = sum(end >= time for end in ended) + sum(seen > time for seen in running)
            survival *= 1 - sum(end == time for end in ended) / at_risk
        weight = float(found.weights[found.numbers >= bound].sum())
        assert abs(weight / total - survival) < 1e-9


NOW = 40 * DAY
NO_RUN_TIMES = np.zeros((0, 50), dtype=np.int64)
NOBODY_HERE = asked_of()


def test_jobs_that_have_not_ended_come_again_too_as_long_as_the_sample_has_them():
    jobs = asked_of((1, 500, 2, 30), submit=NOW - 40)
    run_times = np.array([[100, 200]])
    coming = PastBlocks(past_of(), days=(1,)).after(NOW, NOW, jobs, run_times, 0)
    for sample, run_time in enumerate((100, 200)):
        found = coming(sample, NOW + DAY)
        assert (found.submit - NOW).tolist() == [DAY - 40]
        assert found.run_time.tolist() == [run_time]
        assert found.row.tolist() == [-1]


@given(
    st.lists(st.tuples(st.integers(1, 30 * DAY), st.integers(0, 5 * DAY), st.integers(1, 5 * DAY))),
    st.integers(0, 5),
)
def test_what_had_not_ended_then_changes_nobody_who_comes(times, seed):
    jobs = [
        (1, 9, 1, NOW - ago, NOW - ago + wait, NOW - ago + wait + run) for ago, wait, run in times
    ]
    known = past_of(*(job for job in jobs if job[5] <= NOW))
    found = PastBlocks(past_of(*jobs)).after(NOW, NOW, NOBODY_HERE, NO_RUN_TIMES, seed)
    expected = PastBlocks(known).after(NOW, NOW, NOBODY_HERE, NO_RUN_TIMES, seed)
    for sample in range(5):
        one, other = (model(sample, NOW + 20 * DAY) for model in (found, expected))
        assert one.submit.tolist() == other.submit.tolist()
        assert one.run_time.tolist() == other.run_time.tolist()
        assert (np.diff(one.submit) >= 0).all()
        assert ((one.submit > NOW) & (one.submit <= NOW + 20 * DAY)).all()
