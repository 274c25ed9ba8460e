"""Changes read every option and limit that an instance file reads, with the same meaning."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from parsed_bsub import parse_bsub
from slotwise import Change, InputError, Modification, NewJob, dump_changes, from_document
from slotwise.model.formats import bsub
from slotwise.model.formats.bsub import read_bsub
from slotwise.model.formats.changes import ModifyEntry, loads_changes
from slotwise.model.formats.units import Clock

SITE: dict[str, Any] = {
    "format": "slotwise/1",
    "hosts": [
        {"name": "fast", "slots": 4, "cpu_factor": 2.0},
        {"name": "slow", "slots": 4, "cpu_factor": 1.0},
    ],
    "queues": [{"name": "default"}, {"name": "night", "HOSTS": "fast"}],
    "running": [
        {"id": "r", "start": 0, "allocation": "slow", "run_limit": 7200},
    ],
    "pending": [
        {"id": "p", "slots": 2, "hosts": "slow", "run_limit": 60},
        {"id": "anywhere", "run_limit": 60},
    ],
}
INSTANCE = from_document(SITE)


def read(**entry: Any) -> Change:
    document = {"format": "slotwise-changes/1", "changes": [{"at": 10, **entry}]}
    (change,) = loads_changes(json.dumps(document), INSTANCE)
    assert loads_changes(dump_changes([change], INSTANCE), INSTANCE) == (change,)
    return change


@pytest.mark.parametrize("asked", [{"hosts": "slow"}, {"hosts": "fast"}, {"queue": "night"}])
@pytest.mark.parametrize("option", ["-W 60/fast", "-W 30/slow", "-c 90/fast -W 20"])
def test_a_limit_on_a_host_means_what_it_means_in_an_instance(
    option: str, asked: dict[str, str]
) -> None:
    job = {"id": "n", "slots": 2, **asked, "bsub": option}
    (wanted,) = from_document({**SITE, "future": [{**job, "submit": 10}]}).future
    assert read(submit=job) == NewJob(wanted)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"submit": {"id": "n", "bsub": "-W 60/fast"}}, "submit.run_limit: counts on fast"),
        ({"submit": {"id": "n", "cpu_limit": "60/fast"}}, "submit.cpu_limit: counts on fast"),
        ({"bmod": {"job": "anywhere", "bsub": "-W 60/fast"}}, "bmod.run_limit: counts on fast"),
        ({"bmod": {"job": "p", "bsub": "-W 20/nosuch"}}, "bmod.run_limit: unknown host or model"),
        ({"bmod": {"job": "p", "bsub": "-c 20/fats"}}, "did you mean 'fast'"),
    ],
)
def test_one_that_is_no_single_number_is_refused(entry: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as caught:
        read(**entry)
    (problem,) = caught.value.problems
    assert told in str(problem)


LINE = (
    "-n 2,4 -R span[hosts=1] -W 30 -We 20 -c 20 -q night -m fast -sp 7 -G g -P p -app a -gpu num=1 "
    "-ext RMS[ptile=2] -b 23:00 -t 23:30 -x -ar -J name -w done(7) -ti -g /a -U ann#1 -sla s "
    "-Lp lp"
)


def test_bmod_knows_every_field_that_bsub_gives() -> None:
    clock = Clock(datetime(2026, 3, 2, 8, tzinfo=UTC), 0)
    fields, wrong = read_bsub(LINE, clock)
    assert wrong == []
    table = [option for part in ("_VALUES", "_OF_FIELDS", "_FLAGS") for option in vars(bsub)[part]]
    # -nnodes is another word for what -n, -x and -R say, and says that of its own.
    assert set(parse_bsub("-nnodes 2")) <= {*fields, "whole_hosts"}
    given = {word for word in LINE.split() if word[0] == "-"}
    assert set(table) - {"-extsched", "-nnodes"} == given
    assert {*fields, "whole_hosts"} - {"max_slots"} <= set(ModifyEntry.model_fields)


@pytest.mark.parametrize(
    "option",
    ["-ext RMS[ptile=2]", "-gpu num=1", "-q night", "-ar", "-n 2,4", "-W 30", "-c 9", "-P x"],
)
def test_what_bmod_gives_can_be_written_and_read_back(option: str) -> None:
    change = read(bmod={"job": "p", "bsub": option})
    assert isinstance(change, Modification)
    assert change.fields
