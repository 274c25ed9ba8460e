"""The coordination of the searches of one pool, and a second process that improves plans."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from ...processes import begin_process, die_with
from .bounds import Incumbent
from .improver import by_start, improve
from .problem import Decoder, Ints, PoolProblem, PoolProgress, PoolResult, Status, best_rule
from .prover import prove, prove_makespan

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


# The orchestrator: a first plan, then proof and improvement in alternation, until proved or
# stopped.


DEFAULT_LIMIT = 10.0
HEAD_START = 0.4


def optimise(
    problem: PoolProblem,
    *,
    time_limit: float | None = None,
    effort: int | None = None,
    workers: int = 1,
    seed: int = 1,
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
        _in_turn(incumbent, seed, stop, effort)
    else:
        _by_clock(incumbent, seed, stop, workers)
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


def _in_turn(incumbent: Incumbent, seed: int, should_stop: Callable[[], bool], effort: int) -> None:
    """Run the tasks in rounds of one step each."""
    tasks = [improve(incumbent, seed), _prover(incumbent)]
    for _ in range(effort):
        for task in tasks.copy():
            if should_stop():
                return
            if next(task, task) is task:
                tasks.remove(task)


def _by_clock(
    incumbent: Incumbent, seed: int, should_stop: Callable[[], bool], workers: int
) -> None:
    """Run the task with the least time so far; improvement gets a head start, because proofs need
    good plans.

    With a helper, this process improves only until the head start is over or the proof is at its
    end.
    """
    improver, prover = improve(incumbent, seed), _prover(incumbent)
    tasks = {improver: -HEAD_START, prover: 0.0}
    with ExitStack() as stack:
        helper = None
        if workers > 1:
            helper = stack.enter_context(Helper(incumbent.problem, incumbent.starts, seed + 1))
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
