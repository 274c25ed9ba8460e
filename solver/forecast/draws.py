"""Random numbers that belong to a job and a sample, whoever asks for them and in whatever order.

A number is a hash of seed, stream, key and sample (SplitMix64: Steele, Lea, Flood 2014), so it is
the same on any machine, with any number of workers, and beside any other jobs: forecasts of two
requests differ by what they ask for and not by luck (common random numbers).
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_UNUSED = np.uint64(11)  # a float64 holds 53 of the 64 bits


def keys_of(names: Iterable[str]) -> Keys:
    """A number for each name, uint64, shape (n,); equal names have equal ones."""
    digests = (blake2b(name.encode(), digest_size=8).digest() for name in names)
    return np.array([int.from_bytes(digest, "little") for digest in digests], dtype=np.uint64)


def uniforms(seed: int, stream: str, keys: Keys, samples: int) -> Floats:
    """Numbers in [0, 1), shape (keys, samples); stream: what they are for.

    The numbers of a key are the same whatever other keys there are, those of a sample the same
    however many there are.
    """
    base = keys_of([f"{seed} {stream}"])[0]
    rows = _mixed(_mixed(keys ^ base) + _GOLDEN)
    columns = _GOLDEN * np.arange(1, samples + 1, dtype=np.uint64)
    bits = _mixed(rows[:, None] + columns[None, :])
    return (bits >> _UNUSED).astype(np.float64) * 2.0**-53


def _mixed(bits: Keys) -> Keys:
    """Each number with all its bits stirred, modulo 2**64."""
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> _SHIFTS[0])) * _FIRST
        bits = (bits ^ (bits >> _SHIFTS[1])) * _SECOND
    return bits ^ (bits >> _SHIFTS[2])
