"""Starts of method slurm beside those that Slurm itself printed, and how many starts are proved.

    python benchmarks/slurm_starts.py [QUEUES] [--forms text json] [--names 26.05-gpu] [--proofs]

QUEUES is a folder or an archive of recorded queues (tests/data/slurm/versions.tar.xz), a folder
each, whose name begins with the version of Slurm: ``start.txt`` is what ``squeue --start`` printed,
every folder in it a form of the listings of that moment; what a form lacks comes from ``text``. A
start is equal within 8 s, by which a cycle may be older than the listing; no start is equal to
none. A time that ``--begin`` gives is no planned start. --proofs: those of the optimal method in a
short effort.
"""

from __future__ import annotations

import argparse
import re
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import slotwise as sw
from slotwise.model.sources.lsf_state.values import Text
from slotwise.model.sources.slurm.assemble import assemble
from slotwise.model.sources.slurm.folder import printed_at, read_texts

RECORDED = Path(__file__).parents[1] / "tests" / "data" / "slurm" / "versions.tar.xz"
#: Seconds by which a cycle may be older than the listing.
NEAR = 8
#: Units of the solver for a plan.
EFFORT = 0.05


def printed(text: str, *, has_first: bool = True) -> dict[str, str]:
    """Start by job, that of an array its first; without arrays, if Slurm prints their last."""
    found: dict[str, str] = {}
    for line in text.splitlines()[1:]:
        job, start, *rest = line.split()
        name = job.partition("_")[0]
        if "BeginTime" not in rest and (has_first or name == job):
            found[name] = min(start, found.get(name, "N/A"))
    return found


def instance_of(queue: Path, form: str) -> sw.Instance:
    """The queue by a form, and by text where the form has no file."""
    files = {path.stem: path for name in ("text", form) for path in (queue / name).iterdir()}
    seen = read_texts([Text(path.read_text(), path.name) for path in files.values()], str(queue))
    instant = printed_at(seen)
    assert instant is not None
    return assemble(seen, datetime.fromtimestamp(instant, UTC)).instance


def starts(instance: sw.Instance) -> Mapping[str, str | None]:
    found: dict[str, str | None] = {}
    for item in sw.plan(instance, "slurm").to_dict()["reservations"]:
        name = item["job"].partition("[")[0]
        found[name] = min(filter(None, (item["start_time"], found.get(name))), default=None)
    return found


def different(says: Mapping[str, str], ours: Mapping[str, str | None]) -> Iterator[str]:
    """The jobs whose start is another one than Slurm printed, with both."""
    for job, said in says.items():
        start = ours.get(job)
        if said == "N/A" or start is None:
            if said != "N/A" or start is not None:
                yield f"{job}: {start and start[11:19]} for {said[11:]}"
            continue
        at = datetime.fromisoformat(start).replace(tzinfo=None)
        if abs((at - datetime.fromisoformat(said)).total_seconds()) > NEAR:
            yield f"{job}: {start[11:19]} for {said[11:]}"


def proved(instance: sw.Instance) -> int:
    return sum(item.proved for item in sw.plan(instance, effort=EFFORT, workers=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("queues", type=Path, nargs="?", default=RECORDED)
    parser.add_argument("--forms", nargs="*", default=["text", "snap", "json", "json42"])
    parser.add_argument("--names", default="", help="queues whose name has this in it")
    parser.add_argument("--proofs", action="store_true")
    given = parser.parse_args()
    sums: Counter[tuple[str, str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        root = given.queues
        if root.is_file():
            with tarfile.open(root) as archive:
                archive.extractall(folder, filter="data")
            root = Path(folder)
        for queue in sorted(path for path in root.iterdir() if given.names in path.name):
            of_first = not queue.name.startswith("22.05")
            says = printed((queue / "start.txt").read_text(), has_first=of_first)
            version = re.sub(r"-.*", "", queue.name)
            for form in (name for name in given.forms if (queue / name).is_dir()):
                instance = instance_of(queue, form)
                odd = list(different(says, starts(instance)))
                sums[version, form, "starts"] += len(says)
                sums[version, form, "equal"] += len(says) - len(odd)
                if given.proofs:
                    sums[version, form, "jobs"] += len(instance.pending)
                    sums[version, form, "proved"] += proved(instance)
                if odd:
                    print(f"{queue.name} {form}: {'; '.join(odd)}", flush=True)
    for version, form in dict.fromkeys(key[:2] for key in sums):
        row = {what: count for (*of, what), count in sums.items() if of == [version, form]}
        proofs = f", {row['proved']} of {row['jobs']} jobs proved" if given.proofs else ""
        print(f"{version} {form}: {row['equal']} of {row['starts']} starts equal{proofs}")


if __name__ == "__main__":
    main()
