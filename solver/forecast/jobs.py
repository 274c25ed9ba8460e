"""Jobs as columns: running and waiting jobs, finished jobs, and future arrivals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from ...model.workload import Ints
from ..accuracy.columns import Columns

# Random numbers that belong to a job and a sample, whoever asks for them and in whatever order.
#
# A number is a hash of seed, stream, key and sample (SplitMix64: Steele, Lea, Flood 2014), so it
# is the same on any machine, with any number of workers, and beside any other jobs: forecasts of
# two requests differ by what they ask for and not by luck (common random numbers).
#
# Those of run times and arrivals are spread evenly: of each BLOCK of samples of a key one falls
# into each of as many equal parts of [0, 1), in an order of the key's own (Latin hypercube: McKay,
# Beckman, Conover 1979). What a queue comes to is a sum over many jobs, and its quantiles are
# nearer to those of ever so many samples than with numbers that are independent.


Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_UNUSED = np.uint64(11)  # a float64 holds 53 of the 64 bits
#: Number of consecutive samples that are spread evenly.
BLOCK = 50
_BELOW_ONE = np.nextafter(1.0, 0.0)


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


def spread(seed: int, stream: str, keys: Keys, samples: int) -> Floats:
    """Return numbers like :func:`uniforms`, with each BLOCK of the samples of a key spread
    evenly.
    """
    blocks = -(-samples // BLOCK)
    shape = (len(keys), blocks, BLOCK)
    chance = uniforms(seed, stream, keys, blocks * BLOCK).reshape(shape)
    part = np.argsort(np.argsort(chance, kind="stable"), kind="stable")
    inside = uniforms(seed, f"{stream}, inside", keys, blocks * BLOCK).reshape(shape)
    found = np.minimum((part + inside) / BLOCK, _BELOW_ONE)  # 49 and nearly 1 are rounded to 50
    return found.reshape(len(keys), blocks * BLOCK)[:, :samples]


def _mixed(bits: Keys) -> Keys:
    """Each number with all its bits stirred, modulo 2**64."""
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> _SHIFTS[0])) * _FIRST
        bits = (bits ^ (bits >> _SHIFTS[1])) * _SECOND
    return bits ^ (bits >> _SHIFTS[2])


#: Value in a column of limits that denotes a job without a limit.
NO_LIMIT = -1
#: Value in a column of starts that denotes a job without a start.
NO_START = -1


@dataclass(frozen=True, slots=True, eq=False)
class AskedJobs(Columns):
    """Jobs whose run time is not known yet; int64 of shape (n,), times in seconds."""

    #: Keys of the random numbers (:func:`uniforms`).
    key: Keys
    #: Number that the history has for the user, -1 for one it does not know.
    user: Ints
    #: Planned run time, NO_LIMIT without one.
    limit: Ints
    slots: Ints
    #: Time on the cluster's clock (seconds).
    submit: Ints
    #: Seconds a running job has run, -1 for one that waits.
    elapsed: Ints


@dataclass(frozen=True, slots=True, eq=False)
class PastJobs(Columns):
    """Ended jobs, by end; int64 of shape (n,), times in seconds of the cluster's clock."""

    #: The first four as of :class:`AskedJobs`.
    key: Keys
    user: Ints
    limit: Ints
    slots: Ints
    submit: Ints
    start: Ints
    end: Ints

    @property
    def run_time(self) -> Ints:
        """Seconds from start to end, at least one."""
        ran: Ints = np.maximum(1, self.end - self.start)
        return ran

    def known_at(self, time: int) -> int:
        """Return how many jobs have ended by a time; they are the first rows."""
        return int(np.searchsorted(self.end, time, side="right"))


def ints(values: Sequence[int] | Ints) -> Ints:
    """Return the values as an int64 array."""
    return np.asarray(values, dtype=np.int64)
