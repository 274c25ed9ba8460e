"""How long, and how much memory, it takes to cut a moment out of a long lsb.events.

python benchmarks/import_events.py [GB]      (default 1; the log is made in a temporary folder)
"""

from __future__ import annotations

import re
import resource
import sys
import tempfile
import time
from pathlib import Path

from slotwise.model.sources.log_lines import BadRecords
from slotwise.model.sources.lsf_state.event_log import cut
from slotwise.model.sources.lsf_state.log_records import read_events

SOURCE = Path(__file__).resolve().parents[1] / "tests" / "data" / "lsf" / "lsb.events"
_JOB = re.compile(r'("JOB_\w+" "[\d.]+" )(\d+) (\d+) ')
#: Seconds and job numbers by which each copy of the real log is later than the one before.
LATER, MORE = 10_000, 1000


def write_log(path: Path, size: float) -> None:
    """The real log again and again, each time with later jobs, until the file has `size` bytes."""
    lines = [line for line in SOURCE.read_text().splitlines(keepends=True) if _JOB.match(line)]
    with path.open("w") as file:
        copy = 0
        while file.tell() < size:
            for line in lines:
                found = _JOB.match(line)
                assert found is not None
                time_, job = int(found[2]) + copy * LATER, int(found[3]) + copy * MORE
                file.write(f"{found[1]}{time_} {job} {line[found.end() :]}")
            copy += 1


def main(gigabytes: float) -> None:
    """Write, read, report."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lsb.events"
        write_log(path, gigabytes * 1e9)
        kinds: dict[str, int] = {}
        begin = time.process_time()
        moment = cut(read_events(path, BadRecords(), kinds), None)
        seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{gigabytes:g} GB, {sum(kinds.values()):,} records, {kinds['JOB_NEW']:,} jobs, of which")
    print(f"{len(moment.jobs)} are unfinished: {seconds:.1f} s CPU, at most {peak:.0f} MB")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
