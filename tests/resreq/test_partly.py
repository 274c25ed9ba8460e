"""The part of a requirement that can be heeded."""

from __future__ import annotations

import pytest
from slotwise.model.resreq import Options, ResreqError, heeded_part


def test_what_is_no_requirement_is_refused() -> None:
    with pytest.raises(ResreqError):
        heeded_part("select[mem>", Options(), lambda part: True)
    with pytest.raises(ResreqError):
        heeded_part("2*{select[mem>?]} + {span[hosts=1]}", Options(), lambda part: True)
