"""SWF logs: what is read, what is malformed, and that nothing is dropped without a word."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from slotwise.model.sources.swf import COLUMNS, parse_swf
from slotwise.model.workload import Workload, canonical

GOOD = "7 100 -1 50 4 -1 -1 4 60 -1 1 12 3 -1 2 -1 -1 -1"


def record(**changed: str) -> str:
    """GOOD with columns replaced, as ``c4="x"`` (columns count from 1)."""
    words = GOOD.split()
    for name, word in changed.items():
        words[int(name[1:]) - 1] = word
    return " ".join(words)


MALFORMED = [
    *(record(**{f"c{column}": "x"}) for column in range(1, COLUMNS + 1)),
    *(" ".join(GOOD.split()[:count]) for count in range(1, COLUMNS, 2)),
    *(record(**{f"c{column}": "nan"}) for column in (2, 4, 6, 8, 9)),
    *(record(**{f"c{column}": "-7"}) for column in (1, 2, 4, 8, 9)),
    *(record(**{f"c{column}": "1.5"}) for column in (1, 8, 12, 15)),
    record(c2="-1"),
    record(c2="-1.5"),
    record(c4="inf"),
    record(c9="1e999"),
    record(c8="99999999999999999999"),
    record(c4="1_000"),
    record(c9="0x10"),
    record(c2="12:30"),
    GOOD.replace(" ", ","),
]


def test_there_are_fifty_malformed_records():
    assert len(MALFORMED) == len(set(MALFORMED)) == 50


@given(st.text(max_size=200))
def test_any_text_is_either_read_or_reported(text):
    found = parse_swf(text.splitlines())
    spoken = [line for line in text.splitlines() if line.split()]
    records = [line for line in spoken if not line.split()[0].startswith(";")]
    assert len(found.workload) + len(found.problems) == len(records)


@given(st.lists(st.tuples(*[st.integers(-1, 12)] * 3, st.integers(0, 9)), max_size=12))
def test_canonical_form_is_complete_and_stable(rows):
    run, request, size, submit = (
        (list(column) for column in zip(*rows, strict=True)) if rows else [[]] * 4
    )
    once = canonical(Workload.of(submit, run, request, size), 8)
    assert len(once) + sum(once.left_out.values()) == len(rows)
    assert np.all((once.run_time >= 1) & (once.run_time <= once.req_time))
    assert np.all((once.procs >= 1) & (once.procs <= 8))
    keys = list(zip(once.submit.tolist(), once.job.tolist(), strict=True))
    assert keys == sorted(keys)
    assert canonical(once, 8).digest() == once.digest()
