"""Search for better plans of a pool: over orders of jobs, within a budget, in two processes.

The orchestrator: a first plan, then proof and improvement in alternation, until proved or stopped.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import IO, Any, Self

import numpy as np

from ...processes import begin_process, die_with
from .bounds import Incumbent
from .problem import (
    RULES,
    Decoder,
    Ints,
    PoolProblem,
    PoolProgress,
    PoolResult,
    Status,
    StepProfile,
    best_rule,
    rule_order,
)
from .prover import prove, prove_makespan

MEMORY = 5
PATIENCE = 300
WANDER = 0.75


class OrderSearch:
    """A resumable local search that begins with one order; ``best`` and ``best_order`` are the best
    result so far.

    ``weights`` of the objective are used as they are; for makespan the last end is minimised, ties
    by the sum of starts.

    A step moves or swaps jobs in the order and decodes the result. The acceptance rule is late
    acceptance (Burke & Bykov 2017): a candidate is accepted if it is no worse than the current
    order was a few steps ago. The rule has one parameter and no temperature. Only jobs behind the
    first changed position are decoded again, and only while the cost can still be accepted.
    """

    def __init__(self, problem: PoolProblem, order: Sequence[int], seed: int) -> None:
        self.problem = problem
        self._random = Random(seed)
        self._sizes = problem.sizes.tolist()
        self._durations = problem.durations.tolist()
        self._earliest = problem.earliest.tolist()
        self._weights = problem.weights.tolist()
        self._due = problem.due.tolist()
        self._sum = problem.objective == "starts"
        late = np.maximum(0, problem.alone - problem.due)
        self._least: list[int] = (problem.weights * late).tolist()
        self._kind = {job: kind for kind, g in enumerate(problem.groups) for job in g.members}
        self.decoded = 0
        self._restart(list(order))
        self.best = self._cost
        self.best_order = self._order.copy()

    def _restart(self, order: list[int]) -> None:
        self._order = order
        self._profiles = [self.problem.profile()]
        self._partial = [0]
        self._starts: list[int] = []
        cost = self._decode(order, 0, len(order), None)
        assert cost is not None
        self._commit(order, 0)
        self._memory = [self._cost] * MEMORY
        self._step = 0
        self._last_gain = 0

    def _decode(self, order: list[int], keep: int, same: int, limit: int | None) -> int | None:
        """Return the cost of an order that equals the current one before ``keep`` and from ``same``
        on; None above ``limit``.

        Stops where nothing differs any more: at or after ``same``, with the same processors free.
        Leaves starts, profiles and partial costs up to there in the ``_new`` lists for _commit.
        """
        profile = self._profiles[keep].copy()
        cost = self._partial[keep]
        rest = sum(self._least[job] for job in order[keep:]) if self._sum else 0
        self._new_starts: list[int] = []
        self._new_partial: list[int] = []
        self._new_profiles: list[StepProfile] = []
        sizes, durations, earliest = self._sizes, self._durations, self._earliest
        for position in range(keep, len(order)):
            if self._sum and position >= same and profile.equals(self._profiles[position]):
                self.decoded += position - keep
                cost += self._partial[-1] - self._partial[position]
                return None if limit is not None and cost > limit else cost
            job = order[position]
            start = profile.place(sizes[job], durations[job], earliest[job])
            self._new_starts.append(start)
            if self._sum:
                cost += self._weights[job] * max(0, start - self._due[job])
                rest -= self._least[job]
            else:
                cost = max(cost, start + durations[job])
            if limit is not None and cost + rest > limit:
                return None
            self._new_partial.append(cost)
            self._new_profiles.append(profile)
            profile = profile.copy()
        self.decoded += len(order) - keep
        return cost

    def _commit(self, order: list[int], keep: int) -> None:
        """Make the order that was decoded last the current one."""
        self._order = order
        stop = keep + len(self._new_starts)
        saved = self._partial[stop] - self._new_partial[-1] if stop < len(order) else 0
        self._starts[keep:stop] = self._new_starts
        self._profiles[keep + 1 : stop + 1] = self._new_profiles
        self._partial[keep + 1 : stop + 1] = self._new_partial
        if saved:
            self._partial[stop + 1 :] = [cost - saved for cost in self._partial[stop + 1 :]]
        self._cost = self._partial[-1]

    def run(self, steps: int) -> bool:
        """Try this number of moves; return True if the best value improved."""
        before = self.best
        if len(self._order) > 1:
            for _ in range(steps):
                self._try_move()
        return self.best < before

    @property
    def stuck(self) -> bool:
        """Whether the search has gone without improvement for many moves."""
        return self._step - self._last_gain > PATIENCE

    def kick(self) -> None:
        """Shuffle a section of the current order, or now and then of the best order, to leave a
        local optimum.
        """
        order = (self._order if self._random.random() < WANDER else self.best_order).copy()
        length = min(len(order), self._random.randint(4, 12))
        first = self._random.randrange(len(order) - length + 1)
        stretch = order[first : first + length]
        self._random.shuffle(stretch)
        order[first : first + length] = stretch
        self._restart(order)

    def adopt(self, starts: Ints | Iterable[int]) -> None:
        """Replace the current order by the order of a plan from another search."""
        begin = list(map(int, starts))
        self._restart(sorted(range(len(begin)), key=lambda job: (begin[job], job)))
        self._keep_best()

    def _try_move(self) -> None:
        self._step += 1
        order, keep, same = self._candidate()
        limit = max(self._cost, self._memory[self._step % MEMORY])
        cost = None if keep < 0 else self._decode(order, keep, same, limit)
        if cost is not None and cost <= limit:
            self._commit(order, keep)
            self._keep_best()
        self._memory[self._step % MEMORY] = self._cost

    def _keep_best(self) -> None:
        if self._cost < self.best:
            self.best = self._cost
            self._last_gain = self._step
            # The plan is decoded in order of its starts: decoding can only move jobs earlier, and
            # moves in this order change the plan more.
            starts = dict(zip(self._order, self._starts, strict=True))
            order = sorted(self._order, key=lambda job: starts[job])
            self._decode(order, 0, len(order), None)
            self._commit(order, 0)
            self.best = self._cost
            self.best_order = order.copy()

    def _candidate(self) -> tuple[list[int], int, int]:
        """Return a changed order, the number of unchanged jobs at its front (-1 if nothing
        changed), and the position from which the jobs are unchanged again.
        """
        count = len(self._order)
        order = self._order.copy()
        source = self._random.randrange(count)
        if self._random.random() < 0.7:
            reach = max(3, count // 6)
            target = min(count - 1, max(0, source + self._random.randint(-reach, reach)))
        else:
            target = self._random.randrange(count)
        if self._kind[order[source]] == self._kind[order[target]]:
            return order, -1, -1
        low, high = min(source, target), max(source, target)
        roll = self._random.random()
        if roll < 0.6:
            order.insert(target, order.pop(source))
        elif roll < 0.85:
            order[source], order[target] = order[target], order[source]
        else:
            length = min(self._random.randint(2, 4), high - low, count - high)
            if length < 1:
                return order, -1, -1
            block = order[high : high + length]
            del order[high : high + length]
            order[low:low] = block
            return order, low, high + length
        return order, low, high + 1


def by_start(starts: Sequence[int] | Ints) -> list[int]:
    """Return the jobs in order of their start, ties by index."""
    return [int(job) for job in np.argsort(np.asarray(starts), kind="stable")]


#: Number of orders tried in one step.
STEPS = 40
#: Number of group positions that are decoded for each rule, and number of orders that compete.
POSITIONS = 30
RIVALS = 8
#: Number of moves of each competing order in a round, per job.
ROUND = 5


def grouped_orders(problem: PoolProblem) -> list[list[int]]:
    """Return the best orders by a rule in which the jobs larger than half of the pool are
    consecutive, each order with these jobs at another position; empty if fewer than two jobs are
    that large.

    No two jobs that take more than half of the processors run side by side, and the pool must be
    drained for each of these jobs. It is cheapest to drain the pool once, for all of them, but
    moves of single jobs do not find the right time: a move of any job but the last makes the plan
    worse. So orders with the group in different positions compete: each is improved a little, then
    the better half a little more.
    """
    large = np.array(problem.large, dtype=np.int64)
    if len(large) < 2 or len(large) == len(problem) or problem.objective != "starts":
        return []
    weights = np.maximum(problem.weights[large], 1e-9)
    group = large[np.argsort(problem.durations[large] / weights, kind="stable")].tolist()
    count = len(problem) - len(group)
    step = -(-count // POSITIONS)
    decoder, found = Decoder(problem), []
    for rule in RULES:
        rest = [job for job in rule_order(problem, rule) if job not in set(group)]
        for before in range(0, count + 1, step):
            order = rest[:before] + group + rest[before:]
            found.append((problem.value(decoder.plan(order)), before, order))
    chosen: dict[int, list[int]] = {}
    for _, before, order in sorted(found, key=lambda candidate: candidate[0]):
        if all(abs(before - other) >= 2 * step for other in chosen):
            chosen[before] = order
    return list(chosen.values())[:RIVALS]


def improve(incumbent: Incumbent, seed: int) -> Iterator[None]:
    """Offer better plans to the incumbent, and continue from better plans of other searches.

    A generator, like the prover: each step is a small piece of work.
    """
    problem = incumbent.problem
    if len(problem) < 2:
        return
    decoder = Decoder(problem)

    def searched(orders: OrderSearch) -> None:
        if orders.run(STEPS):
            incumbent.offer(decoder.plan(orders.best_order))

    orders = OrderSearch(problem, by_start(incumbent.starts), seed)
    rivals = [orders, *(OrderSearch(problem, o, seed) for o in grouped_orders(problem))]
    rounds = ROUND * len(problem) // STEPS
    while len(rivals) > 1:
        for rival in rivals:
            for _ in range(rounds):
                searched(rival)
                if rival.stuck:
                    rival.kick()
                yield
        rivals = sorted(rivals, key=lambda rival: rival.best)[: len(rivals) // 2]
        rounds *= 2
        orders = rivals[0]
    while True:
        while not orders.stuck:
            searched(orders)
            yield
            if incumbent.value < orders.best:
                orders.adopt(incumbent.starts)
        orders.kick()


#: Code that loads this package under any folder name and starts the helper process.
_BOOTSTRAP = """\
import sys
from importlib import import_module, util
package, root, module, *folders = sys.argv[1:]
sys.path += folders
spec = util.spec_from_file_location(package, root + "/__init__.py",
                                    submodule_search_locations=[root])
sys.modules[package] = util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[package])
import_module(module).main()
"""


def _command() -> list[str]:
    """Return the command line of the helper process; -I ignores code in the current folder and in
    PYTHONPATH, so the locations of this package and of numpy are arguments.
    """
    package = __name__.partition(".")[0]
    root = Path(__file__).resolve().parents[__name__.count(".") - 1]
    numpy = Path(np.__file__).resolve().parents[1]
    return [sys.executable, "-I", "-c", _BOOTSTRAP, package, str(root), __name__, str(numpy)]


class Helper:
    """The caller's side of the helper process, a context manager that ends the process at its exit.

    The helper is a process, not a thread, because the LP solver and the order search both hold the
    interpreter's lock. It is started as a command, so callers need no ``__main__`` guard. It reads
    a pickled (problem, starts, seed) and writes pickled plans to its standard output.
    """

    def __init__(self, problem: PoolProblem, starts: Ints, seed: int) -> None:
        self._process = begin_process(_command())
        self._plans: queue.SimpleQueue[Ints] = queue.SimpleQueue()
        self._send((problem, starts, seed))
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def wait(self, seconds: float) -> None:
        """Wait until the process ends, at most ``seconds``."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def plans(self) -> list[Ints]:
        """Return the plans that have arrived since the last call."""
        found = []
        while not self._plans.empty():
            found.append(self._plans.get())
        return found

    def tell(self, starts: Ints) -> None:
        """Send a better plan to the helper process."""
        self._send(starts)

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while True:
                self._plans.put(pickle.load(self._process.stdout))


def serve(source: IO[bytes], target: IO[bytes]) -> None:
    """Improve plans in the helper process until the caller closes the connection."""
    problem, starts, seed = pickle.load(source)
    heard: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def listen() -> None:
        with contextlib.suppress(Exception):
            while True:
                heard.put(pickle.load(source))
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    incumbent = Incumbent(problem, starts, 0)
    told = incumbent.value
    for _ in improve(incumbent, seed):
        while not heard.empty():
            incumbent.offer(heard.get())
            told = min(told, incumbent.value)
        if incumbent.value < told:
            told = incumbent.value
            pickle.dump(incumbent.starts, target)
            target.flush()


def main() -> None:
    """Serve over the standard streams; a running linear program delays the detection of the end of
    the input.
    """
    die_with(os.getppid())  # If the caller has already exited, the input is already at its end.
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        serve(sys.stdin.buffer, sys.stdout.buffer)


DEFAULT_LIMIT = 10.0
HEAD_START = 0.4
#: Seed of the search for better plans.
SEED = 1


def optimise(
    problem: PoolProblem,
    *,
    time_limit: float | None = None,
    effort: int | None = None,
    workers: int = 1,
    progress: Callable[[PoolProgress], None] | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> PoolResult:
    """Return the best plan of a pool found within the budget, either proved optimal or with a
    bound.

    Stops when proved, after ``time_limit`` seconds, after ``effort`` rounds of work (no clock
    decides anything then: the same plan and bound on every run and machine; one worker), or when
    ``cancelled()`` says so (asked between pieces of work). With none of the limits, 10 seconds.
    ``workers`` 2: a second process improves plans while this one proves. ``progress`` is called
    with every better plan or bound.
    """
    begun = time.monotonic()
    if time_limit is None and effort is None:
        time_limit = DEFAULT_LIMIT
    core, jobs = _core(problem)
    if not len(core):
        return _finish(problem, np.zeros(0, np.int64), jobs, 0, [])
    alone = problem.alone[jobs]
    incumbent = Incumbent(core, Decoder(core).plan(best_rule(core)[1]), core.value(alone))
    history: list[PoolProgress] = []

    def record() -> None:
        history.append(PoolProgress(time.monotonic() - begun, incumbent.value, incumbent.bound))
        if progress is not None:
            progress(history[-1])

    record()
    incumbent.changed = record
    deadline = None if time_limit is None else begun + time_limit

    def stop() -> bool:
        late = deadline is not None and time.monotonic() >= deadline
        return incumbent.proved or late or cancelled()

    if effort is not None:
        _in_turn(incumbent, stop, effort)
    else:
        _by_clock(incumbent, stop, workers)
    return _finish(problem, incumbent.starts, jobs, incumbent.bound, history)


def _core(problem: PoolProblem) -> tuple[PoolProblem, Ints]:
    """Return the subproblem of the jobs whose start affects the objective, and the indices of these
    jobs.
    """
    if problem.objective == "makespan" or problem.weights.all():
        return problem, np.arange(len(problem))
    jobs = np.flatnonzero(problem.weights > 0)
    return problem.select(jobs), jobs


def _finish(
    problem: PoolProblem, starts: Ints, jobs: Ints, bound: int, history: list[PoolProgress]
) -> PoolResult:
    """Add the jobs without effect on the objective, each at its earliest start given the other
    jobs.
    """
    every = np.zeros(len(problem), dtype=np.int64)
    if len(jobs) == len(problem):
        every[jobs] = starts
    else:
        rest = np.setdiff1d(np.arange(len(problem)), jobs)
        every = Decoder(problem).plan([*jobs[by_start(starts)].tolist(), *rest.tolist()])
    value = problem.value(every)
    status: Status = "proved" if bound >= value else "gap"
    return PoolResult(every, value, bound, problem.alone, status, tuple(history))


def _prover(incumbent: Incumbent) -> Iterator[None]:
    return (
        prove_makespan(incumbent) if incumbent.problem.objective == "makespan" else prove(incumbent)
    )


def _in_turn(incumbent: Incumbent, should_stop: Callable[[], bool], effort: int) -> None:
    """Run the tasks in rounds of one step each."""
    tasks = [improve(incumbent, SEED), _prover(incumbent)]
    for _ in range(effort):
        for task in tasks.copy():
            if should_stop():
                return
            if next(task, task) is task:
                tasks.remove(task)


def _by_clock(incumbent: Incumbent, should_stop: Callable[[], bool], workers: int) -> None:
    """Run the task with the least time so far; improvement gets a head start, because proofs need
    good plans.

    With a helper, this process improves only until the head start is over or the proof is at its
    end.
    """
    improver, prover = improve(incumbent, SEED), _prover(incumbent)
    tasks = {improver: -HEAD_START, prover: 0.0}
    with ExitStack() as stack:
        helper = None
        if workers > 1:
            helper = stack.enter_context(Helper(incumbent.problem, incumbent.starts, SEED + 1))
        told = incumbent.value
        while tasks and not should_stop():
            if helper is not None:
                for plan in helper.plans():
                    if incumbent.offer(plan):
                        told = incumbent.value
                if incumbent.value < told:
                    told = incumbent.value
                    helper.tell(incumbent.starts)
            alone = helper is None or not helper.alive
            task = min(tasks, key=lambda task: tasks[task])
            if not alone and prover in tasks and tasks.get(improver, 0.0) >= 0:
                task = prover
            start = time.monotonic()
            if next(task, task) is task:
                del tasks[task]
            else:
                tasks[task] += time.monotonic() - start
