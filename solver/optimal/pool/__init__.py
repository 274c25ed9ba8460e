"""The time-only optimiser: pending jobs on one pool of identical processors."""

from .problem import PoolProblem, PoolProgress, PoolResult
from .search import optimise

__all__ = ["PoolProblem", "PoolProgress", "PoolResult", "optimise"]
