"""Options of public job headers, each read whole and none read as another (SUB-02).

tests/data/bsub-lines.txt: the options of job scripts in public repositories, names shortened.
"""

from __future__ import annotations

import pytest
from slotwise.model.formats.bsub import bsub_line


@pytest.mark.behaviour("SUB-03")
def test_requirements_add_up_and_other_options_stand_once() -> None:
    found = bsub_line("-R 'select[mem>1]' -R 'rusage[mem=1]' -o a -o b -n 2")
    assert (found.problems, len(found.fields["res_req"])) == ([], 2)
    assert bsub_line("-n 2 -n 4").notes
