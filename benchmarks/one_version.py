"""One task for the package of any checkout: JSON on standard input, JSON on standard output.

    python benchmarks/one_version.py CHECKOUT < TASK

The process behind `versions.py`. It uses names only that all versions since 2026-11-26 have.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module, util
from pathlib import Path
from typing import Any

import numpy as np

POOL = "slotwise.solver.optimal.pool"


def use(checkout: Path) -> None:
    """Load the package from a folder."""
    spec = util.spec_from_file_location(
        "slotwise", checkout / "__init__.py", submodule_search_locations=[str(checkout)]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules["slotwise"] = module = util.module_from_spec(spec)
    spec.loader.exec_module(module)


def incumbent_of(task: Mapping[str, Any]) -> Any:
    """Return the incumbent of a pool: the given plan, or the plan of the best rule."""
    problems = import_module(f"{POOL}.problem")
    pool = problems.PoolProblem.build(*(task[key] for key in ("times", "free", "sizes", "lengths")))
    if task["starts"]:
        starts = np.array(task["starts"], dtype=np.int64)
    else:
        starts = problems.Decoder(pool).plan(problems.best_rule(pool)[1])
    return import_module(f"{POOL}.bounds").Incumbent(pool, starts, pool.value(pool.alone))


def work(incumbent: Any, steps: Iterator[None], seconds: float) -> dict[str, Any]:
    """Return the plan and the bound after so many seconds of the processor."""
    begun = time.process_time()
    for _ in steps:
        if incumbent.proved or time.process_time() - begun >= seconds:
            break
    spent = time.process_time() - begun
    starts = incumbent.starts.tolist()
    return {"value": incumbent.value, "bound": incumbent.bound, "starts": starts, "cpu": spent}


def improved(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return a better plan of a pool, by the search for plans alone."""
    incumbent = incumbent_of(task)
    steps = import_module(f"{POOL}.improver").improve(incumbent, 1)
    return work(incumbent, steps, task["seconds"])


def proved(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return a higher bound of a pool, by the search for proofs alone."""
    incumbent = incumbent_of(task)
    return work(incumbent, import_module(f"{POOL}.prover").prove(incumbent), task["seconds"])


def planned(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan of a cluster, within a deterministic effort."""
    plan = import_module("slotwise.solver.planning").plan
    instance = import_module("slotwise.model.formats.reader").loads(task["instance"], format="json")
    begun = time.process_time()
    found = plan(instance, objective=task["objective"], effort=task["effort"])
    cpu = time.process_time() - begun
    placed = [item for item in found if item.start is not None]
    if task["objective"] == "lexicographic":
        value = sum(item.start - instance.now for item in placed)
        bound = sum((item.bound or instance.now) - instance.now for item in placed)
        count = sum(item.proved for item in placed)
    else:
        value, bound, count = found.value, found.bound, int(found.status == "optimal")
    starts = [item.start for item in placed]
    return {"value": value, "bound": bound, "starts": starts, "cpu": cpu, "proved": count}


TASKS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "improve": improved,
    "prove": proved,
    "plan": planned,
}


def main() -> None:
    """Do one task."""
    use(Path(sys.argv[1]).resolve())
    task = json.load(sys.stdin)
    json.dump(TASKS[task["task"]](task), sys.stdout)


if __name__ == "__main__":
    main()
