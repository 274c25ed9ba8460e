"""The part of a requirement that can be heeded."""

from __future__ import annotations

import pytest
from slotwise.model.resreq import Options, ResreqError, Vocabulary, heeded_part, parse, readable

KNOWN = Vocabulary(numbers=frozenset({"lic"}), booleans=frozenset({"cs"}), complete=True)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("select[cs && x>1 && mem>5]", "select[cs && mem>5]"),
        ("select[x>1 || cs]", ""),
        ("select[type==X86] order[x:-mem]", "select[type==X86] order[-mem]"),
        ("rusage[x=1:mem=5:duration=10m,lic=2]", "rusage[mem=5:duration=10,lic=2]"),
        ("rusage[x=1||mem=5]", ""),  # the first alternative would ask for nothing
        ("rusage[x=1] span[ptile=4] affinity[core(1)]", "span[ptile=4] affinity[core(1)]"),
        ("same[type:x] span[ptile='!',X86:2]", "span[ptile='!',X86:2] same[type]"),
        ("2*{select[x]} + 3*{rusage[mem=5:x=1]}", "2*{} + 3*{rusage[mem=5]}"),
        (
            "{select[cs] rusage[x=1]} || {select[mem>1 && x>1]}@60",
            "{select[cs]} || {select[mem>1]}@60",
        ),
        ("{select[cs] rusage[x=1]} || {select[mem>]}@60", "select[cs]"),
        # What cannot be read at all goes alone too.
        (
            "select[mem>5 && cs>1?2] rusage[mem=5] span[hosts=1]",
            "select[mem>5] rusage[mem=5] span[hosts=1]",
        ),
        ("rusage[mem=5:lic=?] span[stripe]", "rusage[mem=5] span[stripe]"),
        ("rusage[mem=5:lic=?] span[stripes]", "rusage[mem=5]"),
        ("queue[3] cu[maxcus=2] same[type]", "same[type] cu[maxcus=2]"),
    ],
)
def test_parts_go_alone(text: str, part: str) -> None:
    options = Options(vocabulary=KNOWN)
    found = heeded_part(text, options, readable(options))
    assert found == part
    if found:
        parse(found, vocabulary=KNOWN)


def test_what_is_no_requirement_is_refused() -> None:
    with pytest.raises(ResreqError):
        heeded_part("select[mem>", Options(), lambda part: True)
    with pytest.raises(ResreqError):
        heeded_part("2*{select[mem>?]} + {span[hosts=1]}", Options(), lambda part: True)
