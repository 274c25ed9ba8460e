"""SWF logs: what is read, what is malformed, and that nothing is dropped without a word."""

from slotwise.model.sources.swf import COLUMNS

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
