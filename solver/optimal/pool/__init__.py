"""The time-only optimiser: pending jobs on one pool of identical processors."""

from .problem import PoolProblem, PoolResult, Progress
from .search import optimise

__all__ = ["PoolProblem", "PoolResult", "Progress", "optimise"]
