"""Random numbers that belong to seed, stream, job and sample."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from slotwise.solver.forecast.draws import keys_of, uniforms

NAMES = st.lists(st.text(max_size=8), min_size=1, max_size=6, unique=True)


@settings(deadline=None)
@given(NAMES, st.integers(0, 2**63), st.integers(1, 20), st.randoms())
def test_a_number_is_the_same_whoever_else_is_asked(names, seed, samples, random):
    shuffled = random.sample(names, len(names))
    all_of_them = dict(zip(names, uniforms(seed, "s", keys_of(names), samples), strict=True))
    again = uniforms(seed, "s", keys_of(shuffled), samples + 3)
    for name, row in zip(shuffled, again, strict=True):
        assert row[:samples].tolist() == all_of_them[name].tolist()
    assert all((row >= 0).all() and (row < 1).all() for row in all_of_them.values())


def test_seed_stream_name_and_sample_each_make_other_numbers():
    names = keys_of(["a", "b"])
    one = uniforms(1, "s", names, 1000)
    assert len(np.unique(one)) == 2000
    for other in (uniforms(2, "s", names, 1000), uniforms(1, "t", names, 1000)):
        assert abs(np.corrcoef(one[0], other[0])[0, 1]) < 0.1
        assert not np.isin(other, one).any()
    assert abs(np.corrcoef(one[0], one[1])[0, 1]) < 0.1


def test_the_numbers_are_evenly_spread():
    found = uniforms(7, "s", keys_of(map(str, range(200))), 500)
    counts = np.histogram(found, bins=20, range=(0, 1))[0]
    expected = found.size / 20
    assert (((counts - expected) ** 2) / expected).sum() < 60  # chi squared, 19 degrees: 1 in 10^6
    assert abs(found.mean(axis=0) - 0.5).max() < 0.1
    assert abs(found.mean(axis=1) - 0.5).max() < 0.07


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


@settings(deadline=None)
@given(st.integers(0, 2**70), st.text(max_size=5), st.text(max_size=5), st.integers(0, 50))
def test_the_numbers_are_those_of_any_machine(seed, stream, name, sample):
    found = uniforms(seed, stream, keys_of([name]), sample + 1)[0, sample]
    assert found == _plain(seed, stream, name, sample)
