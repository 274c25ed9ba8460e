"""From the plan's side: order search and windows planned anew, in turn, for as long as one likes.

A generator like the prover: a step is a small piece of work.
"""

from __future__ import annotations

from collections.abc import Iterator

from .decoder import Decoder
from .incumbent import Incumbent
from .order_search import OrderSearch
from .window import WindowSearch, by_start

STEPS = 40
KICKS = 10
WINDOWS = 4


def improve(incumbent: Incumbent, seed: int) -> Iterator[None]:
    """Offer better plans to the incumbent; take up those that others offer."""
    problem = incumbent.problem
    if len(problem) < 2:
        return
    decoder = Decoder(problem)
    orders = OrderSearch(problem, by_start(incumbent.starts), seed)
    windows = WindowSearch(problem, seed)
    while True:
        for _ in range(KICKS):
            while not orders.stuck:
                if orders.run(STEPS):
                    incumbent.offer(decoder.plan(orders.best_order))
                yield
                if incumbent.value < orders.best:
                    orders.adopt(incumbent.starts)
            orders.kick()
        if problem.objective == "starts":
            for _ in range(WINDOWS):
                starts = yield from windows.step(incumbent.starts)
                incumbent.offer(starts)
                yield
        if incumbent.value < orders.best:
            orders.adopt(incumbent.starts)
