"""What whole commands take on a large cluster: seconds of the clock and of the processor, and MB.

    python benchmarks/commands.py [--size 50000 200000 100000] [--file big.json] [--only check ask]

Makes an instance of so many hosts, running and pending jobs (or takes the file), then runs each
command on it in a process of its own, from its start to its exit code. "over" is how much longer
than its --time-limit it took; * where that is more than a tenth of it and more than 5 seconds.
simulate has none: it gets Ctrl-C after 20 seconds, and "over" counts from there. --processor: by
seconds of the processor, limits too, so that a busy machine gives the answer of an idle one.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SLOTWISE = [sys.executable, "-c", "from slotwise.cli.start import main; main()"]
#: The same by a clock that stands while others have the processor.
BY_PROCESSOR = [
    sys.executable,
    "-c",
    "import time; time.monotonic = time.process_time; from slotwise.cli.start import main; main()",
]
COMMANDS = {
    "check": "check FILE",
    "solve": "solve FILE --method time-based --reservations 100 --time-limit 20",
    "first": "solve FILE --method time-based --first 100",
    "ask-1": "ask FILE -n4 --time-limit 1",
    "ask": "ask FILE -n4 --time-limit 3",
    "ask-20": "ask FILE -n4 --time-limit 20",
    "ask-whole": "ask FILE -n4",
    "explain-whole": "explain FILE p50",
    "explore": "ask FILE -n4 --explore --time-limit 20",
    "optimal": "solve FILE --time-limit 20",
    "compare": "compare FILE --time-limit 20",
    "explain": "explain FILE p50 --time-limit 20",
    "report": "report FILE -o PAGE --time-limit 20",
    "simulate": "simulate FILE",
}


#: Seconds after which Ctrl-C comes to a command without a limit.
PATIENCE = 20
#: More than a tenth of the limit and more than this is too late.
SLACK = 5.0


def limit_of(words: list[str]) -> float | None:
    """Seconds at which a command should be over."""
    if words[0] == "simulate":
        return PATIENCE
    return float(words[words.index("--time-limit") + 1]) if "--time-limit" in words else None


def over(taken: float, limit: float | None) -> str:
    """Seconds behind the limit, marked where they are too many."""
    if limit is None:
        return ""
    late = taken - limit
    return f"{late:+.1f}{'*' if late > max(SLACK, limit / 10) else ''}"


def measured(words: list[str], by_processor: bool) -> tuple[float, float, float, int, str]:
    """Seconds of the clock, of the processor, peak MB, exit code and the first words it says."""
    begun = time.monotonic()
    with subprocess.Popen(
        [*(BY_PROCESSOR if by_processor else SLOTWISE), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as run:
        assert run.stdout is not None
        clock = threading.Timer(PATIENCE, run.send_signal, [signal.SIGINT])
        if words[0] == "simulate":
            clock.start()
        said = run.stdout.read()
        _, status, used = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
        clock.cancel()
    taken = time.monotonic() - begun
    processor = used.ru_utime + used.ru_stime
    return taken, processor, used.ru_maxrss / 1024, run.returncode, said.partition("\n")[0][:60]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, nargs=3, default=[50_000, 200_000, 100_000])
    parser.add_argument("--file", type=Path)
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = given.file or Path(folder) / "big.json"
        if given.file is None:
            counts = map(str, given.size)
            sizes = zip(("--hosts", "--running", "--pending"), counts, strict=True)
            made = [word for pair in sizes for word in pair]
            subprocess.run([*SLOTWISE, "generate", *made, "-o", str(file)], check=True)
        print("  clock  processor     MB  exit    over  command")
        for name in given.only:
            page = str(Path(folder) / "page.html")
            words = COMMANDS[name].replace("FILE", str(file)).replace("PAGE", page).split()
            taken, processor, megabytes, code, said = measured(words, given.processor)
            late = over(processor if given.processor else taken, limit_of(words))
            numbers = f"{taken:7.1f} {processor:10.1f} {megabytes:6.0f} {code:5} {late:>7}"
            print(f"{numbers}  {COMMANDS[name]}: {said}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
