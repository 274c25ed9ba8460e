"""How long it takes to read requirement strings and try them on 1,000 hosts.

Run: python benchmarks/resreq.py [--strings 100000] [--hosts 1000]. Every string differs, so the
cache of whole strings never helps; the last line reads one string as often, which is all cache. The
parts are measured one by one over the same strings, in seconds and in microseconds a string.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Iterator

import numpy as np
from slotwise.model.cluster import Cluster, Host
from slotwise.model.resreq import HostTable, Simple, order_hosts, parse, select_mask

SEED = 7
TYPES, MODELS = ("LINUX64", "AIX", "SOL7"), ("fast", "slow")


def cluster(hosts: int) -> Cluster:
    """Hosts of three types with random amounts and loads."""
    draw = np.random.default_rng(SEED)
    return Cluster(
        tuple(
            Host(
                f"n{index:04d}",
                slots=16,
                type=TYPES[index % 3],
                model=MODELS[index % 2],
                cpu_factor=float(draw.integers(1, 9)),
                amounts={"mem": float(draw.integers(1000, 64000)), "swp": 8000.0, "tmp": 9000.0},
                strings={"os": f"{index % 5}.0"},
                booleans=frozenset({"gpu"} if index % 7 == 0 else {"cs"}),
                load={"r1m": float(draw.random() * 16), "ut": float(draw.random())},
            )
            for index in range(hosts)
        )
    )


def strings(count: int) -> list[str]:
    """Different strings of five everyday kinds."""
    kinds: tuple[Callable[[int], str], ...] = (
        lambda n: f"mem>{n} order[-mem] rusage[mem={n}]",
        lambda n: f"select[type==LINUX64 && mem>{n} && !gpu] order[r1m:ut] span[ptile=4]",
        lambda n: f"(2*r1m+ut)/3<{n / 1000} || os=='4.0' rusage[mem={n}:duration=1h:decay=1]",
        lambda n: f"select[hname!=n{n % 1000:04d} && swp+tmp>={n}] same[model] rusage[tmp={n}]",
        lambda n: f"rusage[mem={n}:lic=1||mem={n // 2}:swp={n}] select[cs && cpuf>2] span[hosts=1]",
    )
    return [kinds[number % 5](number) for number in range(1, count + 1)]


def timed(what: str, steps: Iterator[None], count: int) -> None:
    """Run all steps and print the time they took."""
    start = time.perf_counter()
    for _ in steps:
        pass
    taken = time.perf_counter() - start
    print(f"{what:<32}{taken:8.1f} s{taken / count * 1e6:9.0f} us")


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--strings", type=int, default=100_000)
    options.add_argument("--hosts", type=int, default=1_000)
    chosen = options.parse_args()
    texts, table = strings(chosen.strings), HostTable(cluster(chosen.hosts))
    assert len(set(texts)) == chosen.strings
    print(f"{chosen.strings:,} strings, {chosen.hosts:,} hosts, Python {platform.python_version()}")
    parse("mem>1")  # builds the parser
    read: list[Simple] = []

    def parsing() -> Iterator[None]:
        for text in texts:
            requirement = parse(text)
            assert isinstance(requirement, Simple)
            read.append(requirement)
            yield

    def choosing() -> Iterator[None]:
        for requirement in read:
            order_hosts(requirement.order, table, select_mask(requirement.select, table))
            yield

    def again() -> Iterator[None]:
        for _ in texts:
            parse(texts[-1])
            yield

    timed("read different strings", parsing(), chosen.strings)
    timed("select and order the hosts", choosing(), chosen.strings)
    timed("read one string again", again(), chosen.strings)


if __name__ == "__main__":
    main()
