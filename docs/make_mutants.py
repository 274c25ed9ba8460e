"""Write docs/mutants.md: which small faults in the code the tests notice (`make mutants`).

Cosmic Ray's operators make the mutants; its own runner does not fit, as here the repository root is
the package, so a copy under .cache is mutated and tested, one mutant at a time. The sample is drawn
by seed: so many positions in each room, and at each one operator. Results are kept as they come
(.cache/mutants/SEED.jsonl); the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "mutants"
COPY = CACHE / "slotwise"
REPORT = ROOT / "docs" / "mutants.md"
COPIED = ("cli", "docs", "instances", "model", "solver", "tests", "__init__.py", "__main__.py")
#: A mutant whose tests take so many times longer than without it is in an endless loop: noticed.
PATIENCE = 5
LEAST_SECONDS = 60.0


def _swap(kind: str, *pairs: str) -> tuple[str, ...]:
    """Both directions of each pair: ``Lt_LtE``."""
    found = []
    for pair in pairs:
        one, other = pair.split("_")
        found += [f"core/Replace{kind}_{one}_{other}", f"core/Replace{kind}_{other}_{one}"]
    return tuple(found)


#: One or two faults a construct: off by one, turned round, left out.
OPERATORS = (
    *_swap("ComparisonOperator", "Lt_LtE", "Gt_GtE", "Lt_GtE", "Gt_LtE", "Eq_NotEq"),
    *_swap("ComparisonOperator", "Is_IsNot"),
    *_swap("BinaryOperator", "Add_Sub", "Mul_FloorDiv", "Div_Mul", "BitAnd_BitOr"),
    "core/ReplaceUnaryOperator_USub_UAdd",
    "core/ReplaceUnaryOperator_Delete_Not",
    "core/ReplaceUnaryOperator_Delete_Invert",
    "core/AddNot",
    "core/NumberReplacer",
    "core/ReplaceAndWithOr",
    "core/ReplaceOrWithAnd",
    "core/ReplaceTrueWithFalse",
    "core/ReplaceFalseWithTrue",
    "core/ReplaceBreakWithContinue",
    "core/ReplaceContinueWithBreak",
    "core/ZeroIterationForLoop",
)


@dataclass(frozen=True)
class Room:
    """Modules that are mutated together, and the tests that should notice; the default ones."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


ROOMS = {
    "optimal": Room(
        ("solver/optimal/*.py", "solver/optimal/pool/*.py"),
        (
            "tests/optimal",
            "tests/methods/test_joint_placement.py",
            "tests/methods/test_against_brute_force.py",
            "tests/methods/test_compound.py",
            "tests/methods/test_objectives.py",
            "tests/methods/test_neighbourhood.py",
            "tests/methods/test_effort.py",
            "tests/methods/test_windows_and_reservations.py",
        ),
    ),
    "placement": Room(
        ("solver/placement/*.py",),
        ("tests/placement", "tests/optimal/test_model_constraints.py", "tests/test_edges.py",
         "tests/methods/test_single_job.py", "tests/methods/test_compound.py",
         "tests/methods/test_time_based.py"),
    ),
    "validation": Room(
        ("solver/validation/*.py", "solver/validate.py"),
        ("tests/test_validate_capacity.py", "tests/test_validate_claims.py",
         "tests/test_validate_limits.py", "tests/test_validate_properties.py",
         "tests/test_validate_select.py", "tests/test_validate_shape.py"),
    ),
    "resolve": Room(
        ("solver/resolve.py",),
        ("tests/test_edges.py", "tests/methods", "tests/test_exclusive_units.py",
         "tests/test_semantics.py"),
    ),
    "availability": Room(
        ("solver/availability/usage.py", "solver/availability/profile.py",
         "solver/availability/running_profile.py", "solver/availability/free_now.py"),
        ("tests/test_edges.py", "tests/test_windows.py", "tests/methods", "tests/loop"),
    ),
    "fairshare": Room(
        ("solver/fairshare/*.py",),
        (*(f"tests/fairshare/test_{name}.py" for name in (
            "accounting", "adjustment", "growth", "literal_formula", "order", "order_properties",
            "policies", "pools", "priority", "reports", "rules", "shares",
        )), "tests/test_edges.py"),
    ),
    "greedy": Room(("solver/methods/greedy.py",), ("tests/methods", "tests/test_edges.py")),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One fault: the `occurrence`-th place in `module` that `operator` can change."""

    room: str
    module: str
    operator: str
    occurrence: int
    line: int


def mutants(room: str) -> list[list[Mutant]]:
    """All mutants of a room, by position."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator

    found: dict[tuple[str, object], list[Mutant]] = {}
    for path in sorted({p for glob in ROOMS[room].modules for p in ROOT.glob(glob)}):
        silent = set(_without_effect(path))
        nodes = list(ast_nodes(get_ast_from_path(path)))
        module = path.relative_to(ROOT).as_posix()
        for name in OPERATORS:
            operator = get_operator(name)()
            places = [at for node in nodes for at in operator.mutation_positions(node)]
            for occurrence, (begin, end) in enumerate(places):
                if begin[0] not in silent:
                    mutant = Mutant(room, module, name, occurrence, begin[0])
                    found.setdefault((module, (begin, end)), []).append(mutant)
    return list(found.values())


def _without_effect(path: Path) -> Iterator[int]:
    """Lines that only say types or what is imported for them: no test can tell a fault there."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            spans = [arg.annotation for arg in (*node.args.args, *node.args.kwonlyargs)]
            named: list[ast.AST | None] = [*spans, node.returns]
        elif isinstance(node, ast.AnnAssign):
            named = [node.annotation] if node.value is None else []
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            named = [node]
        elif isinstance(node, ast.ClassDef):
            named = list(node.decorator_list)
        else:
            named = []
        for item in named:
            if isinstance(item, ast.expr | ast.stmt):
                yield from range(item.lineno, (item.end_lineno or item.lineno) + 1)


def sample(rooms: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """`count` mutants shared by the rooms in proportion to the root of their size, by seed."""
    rng = random.Random(seed)
    places = {room: mutants(room) for room in rooms}
    weight = {room: len(found) ** 0.5 for room, found in places.items()}
    whole = sum(weight.values())
    chosen = []
    for room, found in places.items():
        part = min(len(found), max(1, round(count * weight[room] / whole)))
        chosen += [rng.choice(options) for options in rng.sample(found, part)]
    return chosen


def refresh_copy() -> None:
    """A fresh copy of what the tests need, named as the package is."""
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.mkdir(parents=True)
    for name in (*COPIED, "pyproject.toml", "README.md", "Makefile", "CHANGELOG.md", "py.typed"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, COPY / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, COPY / name)


def run_tests(room: str, limit: float | None) -> tuple[str, float]:
    """What the room's tests say of the copy (passed, failed or timeout), and the seconds taken."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    command += ["--hypothesis-seed=0", *(test for test in ROOMS[room].tests)]
    environment = {**os.environ, "PYTHONPATH": str(CACHE), "PYTHONDONTWRITEBYTECODE": "1"}
    begun = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=COPY, env=environment, capture_output=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return "timeout", time.monotonic() - begun
    outcome = {0: "passed", 1: "failed", 2: "failed"}.get(done.returncode)
    if outcome is None:
        raise SystemExit(f"pytest ended with {done.returncode}: {done.stdout.decode()[-2000:]}")
    return outcome, time.monotonic() - begun


def try_one(mutant: Mutant, limit: float) -> dict[str, object]:
    """Put the fault into the copy, run the tests, take it out again."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = (ROOT / mutant.module).read_text(encoding="utf-8")
    changed = mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence)
    assert changed is not None, "the position comes from the same text"
    target = COPY / mutant.module
    target.write_text(changed, encoding="utf-8")
    try:
        outcome, seconds = run_tests(mutant.room, limit)
    finally:
        target.write_text(source, encoding="utf-8")
    diff = difflib.unified_diff(source.splitlines(), changed.splitlines(), n=0, lineterm="")
    lines = [line for line in diff if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return {**asdict(mutant), "outcome": outcome, "seconds": round(seconds, 1), "diff": lines}


def check_copy() -> None:
    """Refuse to go on where the tests would import another slotwise than the copy."""
    code = "import slotwise; print(slotwise.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(CACHE)}
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=CACHE, env=environment, capture_output=True, check=True
    )
    if Path(found.stdout.decode().strip()).parent.resolve() != COPY.resolve():
        raise SystemExit(f"the tests would import {found.stdout.decode().strip()}, not the copy")


def write_report(results: Sequence[dict[str, object]], command: str) -> None:
    """docs/mutants.md: killed of each room, and every survivor with its line."""
    lines = [
        "# Mutants",
        "",
        "Small faults put into the code one at a time, and whether the tests of the default suite",
        "that belong to the module notice. Made by `docs/make_mutants.py` (`make mutants`), with",
        "the operators of Cosmic Ray; a survivor is either a missing test or a change without",
        "effect.",
        "",
        f"Command: `{command}`, {date.today().isoformat()}.",
        "",
        "| room | mutants | killed | of these by time | survived | killed, % |",
        "|---|---|---|---|---|---|",
    ]
    rooms = [room for room in ROOMS if any(item["room"] == room for item in results)]
    for name in (*rooms, "all"):
        own = [item["outcome"] for item in results if name in ("all", item["room"])]
        killed = len(own) - own.count("passed")
        share = 100 * killed / len(own) if own else 0.0
        lines.append(
            f"| {name} | {len(own)} | {killed} | {own.count('timeout')} | {own.count('passed')} "
            f"| {share:.0f} |"
        )
    survivors = [item for item in results if item["outcome"] == "passed"]
    lines += ["", "## Survivors", ""] if survivors else []
    for item in survivors:
        lines.append(f"- `{item['module']}:{item['line']}` {str(item['operator'])[5:]}")
        diff = item["diff"]
        assert isinstance(diff, list)
        lines += ["", "  ```diff", *(f"  {line}" for line in diff), "  ```", ""]
    REPORT.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def main() -> None:
    """Draw the sample, try what has not been tried, write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="mutants in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", nargs="+", choices=list(ROOMS), default=list(ROOMS))
    asked = parser.parse_args()
    refresh_copy()
    check_copy()
    kept = CACHE / f"{asked.seed}.jsonl"
    known = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    chosen = sample(asked.rooms, asked.count, asked.seed)
    limits: dict[str, float] = {}
    results = []
    for number, mutant in enumerate(chosen, 1):
        same = (item for item in known if {k: item[k] for k in asdict(mutant)} == asdict(mutant))
        result = next(same, None)
        if result is None:
            if mutant.room not in limits:
                outcome, seconds = run_tests(mutant.room, None)
                if outcome != "passed":
                    raise SystemExit(f"the tests of room {mutant.room} fail without any mutant")
                limits[mutant.room] = max(LEAST_SECONDS, PATIENCE * seconds)
            result = try_one(mutant, limits[mutant.room])
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
        results.append(result)
        print(f"{number}/{len(chosen)} {result['outcome']:8} {mutant.module}:{mutant.line}")
    rooms = "" if asked.rooms == list(ROOMS) else f" --rooms {' '.join(asked.rooms)}"
    write_report(results, f"docs/make_mutants.py --count {asked.count} --seed {asked.seed}{rooms}")


if __name__ == "__main__":
    main()
