"""Jobs as columns: running and waiting jobs, and finished jobs; random numbers per job and
sample.

Random numbers per job and sample, independent of the order of calls. A number is a hash of seed,
stream, key and sample (SplitMix64: Steele, Lea, Flood 2014). It is equal on all machines, with any
number of workers and together with any other jobs, so that two forecasts differ by their requests
only (common random numbers).

Numbers for run times and arrivals are stratified: in each BLOCK of samples of a key, one number
falls into each of BLOCK equal parts of [0, 1), in an order of that key (Latin hypercube: McKay,
Beckman, Conover 1979). Sums over many jobs then have quantiles nearer to those of infinitely many
samples than with independent numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from ...model.workload import Ints
from ..accuracy.measures import Columns

Keys = NDArray[np.uint64]
Floats = NDArray[np.float64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_UNUSED = np.uint64(11)  # a float64 has 53 of the 64 bits
#: Number of consecutive samples that are stratified.
BLOCK = 50
_BELOW_ONE = np.nextafter(1.0, 0.0)


def keys_of(names: Iterable[str]) -> Keys:
    """Return a uint64 key for each name, of shape (n,); equal names have equal keys."""
    digests = (blake2b(name.encode(), digest_size=8).digest() for name in names)
    return np.array([int.from_bytes(digest, "little") for digest in digests], dtype=np.uint64)


def uniforms(seed: int, stream: str, keys: Keys, samples: int) -> Floats:
    """Return numbers in [0, 1) of shape (keys, samples).

    stream: name of their purpose. The numbers of a key do not depend on other keys, those of a
    sample not on the number of samples.
    """
    base = keys_of([f"{seed} {stream}"])[0]
    rows = _mixed(_mixed(keys ^ base) + _GOLDEN)
    columns = _GOLDEN * np.arange(1, samples + 1, dtype=np.uint64)
    bits = _mixed(rows[:, None] + columns[None, :])
    return (bits >> _UNUSED).astype(np.float64) * 2.0**-53


def spread(seed: int, stream: str, keys: Keys, samples: int) -> Floats:
    """Return numbers like :func:`uniforms`, stratified in each BLOCK of the samples of a key."""
    blocks = -(-samples // BLOCK)
    shape = (len(keys), blocks, BLOCK)
    chance = uniforms(seed, stream, keys, blocks * BLOCK).reshape(shape)
    part = np.argsort(np.argsort(chance, kind="stable"), kind="stable")
    inside = uniforms(seed, f"{stream}, inside", keys, blocks * BLOCK).reshape(shape)
    found = np.minimum((part + inside) / BLOCK, _BELOW_ONE)  # rounding could give 1
    return found.reshape(len(keys), blocks * BLOCK)[:, :samples]


def _mixed(bits: Keys) -> Keys:
    """Return each number with its bits mixed by the SplitMix64 finaliser, modulo 2**64."""
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
    """Jobs with an unknown run time; int64 arrays of shape (n,), times in seconds."""

    #: Keys of the random numbers (:func:`uniforms`).
    key: Keys
    #: Number of the user in the history, below 0 for an unknown user.
    user: Ints
    #: Planned run time, NO_LIMIT without one.
    limit: Ints
    #: Requested slots.
    slots: Ints
    #: Submission on the cluster's clock.
    submit: Ints
    #: Elapsed run time of a running job, -1 for a waiting job.
    elapsed: Ints


@dataclass(frozen=True, slots=True, eq=False)
class PastJobs(Columns):
    """Finished jobs in the order of their ends; int64 arrays of shape (n,), times in seconds."""

    #: Key, user, limit and slots as in :class:`AskedJobs`.
    key: Keys
    user: Ints
    limit: Ints
    slots: Ints
    #: Submission, start and end on the cluster's clock.
    submit: Ints
    start: Ints
    end: Ints

    @property
    def run_time(self) -> Ints:
        """Return the seconds from start to end, at least 1."""
        ran: Ints = np.maximum(1, self.end - self.start)
        return ran

    def known_at(self, time: int) -> int:
        """Return the number of jobs that ended by a time; they are the first rows."""
        return int(np.searchsorted(self.end, time, side="right"))


def ints(values: Sequence[int] | Ints) -> Ints:
    """Return the values as an int64 array."""
    return np.asarray(values, dtype=np.int64)
