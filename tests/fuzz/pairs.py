"""Commands in pairs, by seed: what one command writes, the next one reads.

``python tests/fuzz/pairs.py --pairs 1000 --seed 7`` (``make fuzz``). A pair that
fails is had again by its number: ``--first N --pairs 1``. `solve` → `report`, `import` → `check` →
`dump`, and hostile instances that are accepted → `check` → `solve` → `report`: the next command
never ends in a fault, and what a command has written is never refused.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import slotwise as sw

if __name__ == "__main__":  # Python looks beside a program, and what it uses lies elsewhere
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "support")]

from forked import slotwise
from fuzz.hostile import bent, mutated
from slotwise import InputError, dump, dump_json, from_document, loads
from slotwise.instances import site
from slotwise.model.display import iso_time

DATA = Path(__file__).parent.parent / "data"
METHODS = ("greedy", "time-based", "optimal")
OBJECTIVES = ("lexicographic", "total-start", "makespan", "weighted", "slowdown", "tardiness")
#: Seconds at which the two logs begin, and when an example is taken to be seen.
ACCT_BEGINS, EVENTS_BEGIN = 1643910037, 1643753712
ORIGIN = "2026-04-12T18:20:00+00:00"
#: Exit codes of `solve` after which there is a plan.
PLANNED = (0, 3)


def run(*words: object, codes: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
    """A command, which has to end in one of these ways."""
    done = slotwise(*words)
    said = f"{' '.join(done.args)}: exit {done.returncode}: {done.stderr[-300:]}"
    assert done.returncode in codes, said
    assert "Traceback" not in done.stderr, said
    return done


@cache
def examples() -> tuple[Path, ...]:
    """The shipped instances that take no time."""
    found = (sw.example(name) for name in sw.examples())
    return tuple(path for path in found if path.stat().st_size < 20_000)


def reported(
    rng: random.Random, source: Path, folder: Path, first: tuple[int, ...] = (0, 3)
) -> None:
    """`solve` with options, then `report` of that plan alone and beside its instance."""
    method = rng.choice(METHODS)
    options: list[object] = ["--method", method]
    if rng.random() < 0.5:
        options += ["--objective", rng.choice(OBJECTIVES)]
    if rng.random() < 0.3:
        options += ["--margin", rng.choice((60, 3600))]
    if rng.random() < 0.3:
        options += ["--first", rng.randint(1, 3)]
    if method == "time-based" and rng.random() < 0.3:
        options += ["--whole-nodes"]
    elif method == "time-based" and rng.random() < 0.3:
        options += ["--reservations", rng.randint(0, 3)]
    as_lsf = ["--as-lsf"] if method == "optimal" and rng.random() < 0.3 else []
    plan, page = folder / "plan.json", folder / "page.html"
    effort = ("--effort", "0.2")
    made = run("solve", source, *options, *as_lsf, *effort, "--format", "json", codes=first)
    if made.returncode not in PLANNED:
        return
    plan.write_text(made.stdout, encoding="utf-8")
    picture = ("--svg", folder / "x.svg") if rng.random() < 0.05 else ()
    quick = ("--explain", rng.choice((0, 0, 1)), *effort)
    run("report", plan, "-o", page, *picture, *quick)
    run("report", plan, "--instance", source, *as_lsf, "-o", page, *quick)


def solve_report(rng: random.Random, folder: Path) -> None:
    """Of a shipped example, as it is or written anew."""
    source = rng.choice(examples())
    if rng.random() < 0.5:
        instance = sw.load(source)
        source = folder / rng.choice(("again.yaml", "again.json"))
        source.write_text(dump_json(instance) if source.suffix == ".json" else dump(instance))
    reported(rng, source, folder)


def printed(rng: random.Random, folder: Path) -> list[object]:
    """Options with files of what `show` prints of an example, which are read as LSF's own."""
    made = replace(sw.load(rng.choice(examples())), origin=ORIGIN, future=())
    source = folder / "site.yaml"
    source.write_text(dump(made), encoding="utf-8")
    words: list[object] = ["--now", iso_time(ORIGIN, made.now)]
    words += ["--site", source] * (rng.random() < 0.7)
    for view in ("bjobs", "bhosts", "bqueues"):
        path = folder / f"{view}.json"
        path.write_text(run("show", view, source, "--no-cycle", "--format", "lsf-json").stdout)
        words += [f"--{view}", path]
    return words


def _importing(rng: random.Random, folder: Path) -> list[object]:
    """The words of an import, some of them of a file that is bent."""

    def given(path: Path) -> Path:
        if rng.random() < 0.6:
            return path
        lines = path.read_text(encoding="utf-8").splitlines()
        at = rng.randrange(len(lines))
        lines[at] = bent(rng, lines[at])
        copy = folder / path.name
        copy.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="replace")
        return copy

    keep = ["--keep-going"] * (rng.random() < 0.7) + ["--with-future"] * (rng.random() < 0.5)
    kind = rng.choice(("acct", "events", "swf", "pool", "lsf", "snapshot"))
    if kind == "acct":
        return [
            "acct",
            given(DATA / "acct" / "lsb.acct.small-cluster"),
            *_moment(rng, ACCT_BEGINS),
            *keep,
        ]
    if kind == "events":
        return ["events", given(DATA / "lsf" / "lsb.events"), *_moment(rng, EVENTS_BEGIN), *keep]
    if kind == "swf":
        spread = ["--hosts", rng.choice((1, 2, 4))] + ["--policy", "easy"] * (rng.random() < 0.3)
        return ["swf", given(_swf(rng, folder)), "--at", rng.randint(0, 400), *spread, *keep]
    if kind == "pool":
        return ["pool", given(rng.choice(sorted((DATA / "snapshots").glob("*.json"))))]
    if kind == "lsf":
        return ["lsf", site(), "--cluster", rng.choice(("quay", "harbour"))]
    words = printed(rng, folder)
    one = rng.choice((-1, -3, -5))
    words[one] = given(Path(str(words[one])))
    return ["snapshot", *words]


def _moment(rng: random.Random, begins: int) -> list[object]:
    """A moment within a log."""
    return ["--at", begins + rng.randint(0, 9000)]


def _swf(rng: random.Random, folder: Path) -> Path:
    lines = ["; MaxProcs: 16"]
    for number in range(1, rng.randint(2, 30)):
        request = rng.randint(1, 300)
        ran, procs = rng.randint(1, request), rng.randint(1, 16)
        times = f"{number * 7} {rng.randint(0, 50)} {ran} {procs}"
        lines.append(
            f"{number} {times} -1 -1 {procs} {request} -1 1 {rng.randint(1, 3)} 1 -1 1 1 -1 -1"
        )
    path = folder / "some.swf"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def import_check_dump(rng: random.Random, folder: Path) -> None:
    """What an import has written is checked, and dumped the same."""
    out = folder / rng.choice(("out.yaml", "out.json"))
    done = run("import", *_importing(rng, folder), "-o", out, codes=(0, 2))
    if done.returncode:
        assert not out.exists()
        assert done.stderr.startswith("slotwise: ")
        return
    run("check", out)
    instance = sw.load(out)
    for write in (dump, dump_json):
        assert loads(write(instance)) == instance


def check_solve_report(rng: random.Random, folder: Path) -> None:
    """A hostile instance that is accepted: what comes of it is not a fault of the next command."""
    try:
        instance = from_document(mutated(rng))
    except InputError:
        return
    source = folder / rng.choice(("it.yaml", "it.json"))
    source.write_text(dump_json(instance) if source.suffix == ".json" else dump(instance))
    record = json.loads(run("check", source, "--format", "json").stdout)
    assert record[0]["ok"] is True
    reported(rng, source, folder, (0, 2, 3))


TARGETS: tuple[Callable[[random.Random, Path], None], ...] = (
    solve_report,
    import_check_dump,
    check_solve_report,
)


def pairs(seed: int, first: int, count: int) -> tuple[Counter[str], list[str]]:
    """How many of each kind, and every pair that failed with what was said."""
    counts: Counter[str] = Counter()
    failed: list[str] = []
    for number in range(first, first + count):
        rng = random.Random(f"pairs {seed}/{number}")
        target: Callable[[random.Random, Path], Any] = rng.choice(TARGETS)
        with tempfile.TemporaryDirectory() as folder:
            try:
                target(rng, Path(folder))
            except Exception as error:
                what = f"{type(error).__name__}: {error}"
                failed.append(f"--seed {seed} --first {number}: {target.__name__}: {what}"[:700])
        counts[target.__name__] += 1
    return counts, failed


def main() -> None:
    """The second half of ``make fuzz``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    failures = 0
    for number in range(asked.first, asked.first + asked.pairs):
        found, failed = pairs(asked.seed, number, 1)
        counts += found
        failures += len(failed)
        sys.stdout.write("".join(f"{line}\n" for line in failed))
        sys.stdout.flush()
    sys.stdout.write(json.dumps(dict(sorted(counts.items())), indent=1) + "\n")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
