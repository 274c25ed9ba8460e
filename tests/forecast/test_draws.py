"""Random numbers that belong to seed, stream, job and sample."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from slotwise.solver.forecast.jobs import keys_of, spread, uniforms

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
