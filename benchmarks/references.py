"""The scheduler's greedy and time-based plans beside the literal references: equal, or why not.

    python benchmarks/references.py [--count 5000] [--first 0]

Two draws of so many random sites each: any features together (`pairs`), and those of which the
references leave nothing out (`whole`). Each site is equal, or uses a rule of the list in
tests/support/left_out.py, or differs without one (unexplained, printed; exit 1).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from left_out import METHODS, differences, pair_case, whole_case


def main() -> int:
    """Compare and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0, help="number of the first site")
    options = parser.parse_args()
    unexplained = 0
    for name, draw in (("pairs", pair_case), ("whole", whole_case)):
        for method in METHODS:
            begun, counts = time.process_time(), Counter[str]()
            for seed in range(options.first, options.first + options.count):
                rule, lines = differences(draw(seed), method)
                counts[rule or ("unexplained" if lines else "equal")] += 1
                if lines and not rule:
                    unexplained += 1
                    print(f"{name} {seed}, {method}:", *lines, sep="\n  ")
            seconds = time.process_time() - begun
            print(f"{name}, {method}: {options.count} sites, {seconds:.0f} s of the processor")
            print(f"  {counts.pop('equal', 0):6} equal, {counts.pop('unexplained', 0)} unexplained")
            for rule, number in counts.most_common():
                print(f"  {number:6} left out: {rule}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
