"""The languages of LSF 7 and of LSF 10.1: what each takes, and how it says no."""

from __future__ import annotations

import pytest
from long_ways import comparisons
from slotwise import Cluster, Host, InputError, Instance, Job, Params, Queue
from slotwise.model.resreq import (
    HostTable,
    Options,
    ResreqError,
    Simple,
    effective_requirement,
    order_hosts,
    parse,
    parse_with_notes,
    print_requirement,
    select_mask,
)

SEVEN = Options(dialect="7")

#: Only 10.1 has these: the string, its normal form, the token that LSF 7 stumbles over.
NEWER = [
    ("span[block=4]", "span[block=4]", "block"),
    ("cu[pref=bestfit]", "cu[pref=bestfit]", "bestfit"),
    ("cu[pref=bestfit:maxcus=3]", "cu[pref=bestfit:maxcus=3]", "bestfit"),
    ("2*{cu[maxcus=1]} + 2*{a}", "2*{cu[maxcus=1]} + 2*{select[a]}", "cu"),
    ("select[maxslots>4]", "select[maxslots>4]", "maxslots"),
    ("order[-maxslots:ut]", "order[-maxslots:ut]", "maxslots"),
    ("rusage[lic=1/host]", "rusage[lic=1/host]", "host"),
    ("rusage[mem=20/task:duration=1h]", "rusage[mem=20/task:duration=60]", "task"),
    ("rusage[mem=(50 20)/job:duration=(10)]", "rusage[mem=(50 20)/job:duration=(10)]", "job"),
    ("rusage[mem=5GB/host:swp=512K]", "rusage[mem=5120/host:swp=0.5]", "5GB"),
    ("rusage[lic=1/host||lic=2 / job]", "rusage[lic=1/host||lic=2/job]", "host"),
    ("affinity[core(2):distribute=pack]", "affinity[core(2):distribute=pack]", "affinity"),
    ("2*{affinity[core(1)]} + 2*{a}", "2*{affinity[core(1)]} + 2*{select[a]}", "affinity"),
]

#: Refused by both.
WRONG = [
    ("span[block=0]", "1 or more"),
    ("span[block=2,x:3]", "one number"),
    ("span[blocks=2]", "did you mean 'block'"),
    ("cu[pref=bestfit:balance]", "are both given"),
    ("2*{cu[balance]} + 2*{a}", "maxcus"),
    ("2*{cu[excl:maxcus=1]} + 2*{a}", "maxcus"),
    ("rusage[lic=1/slot]", "/host, /task or /job"),
    ("rusage[lic=1/hosts]", "did you mean 'host'"),
    ("rusage[lic=1/]", ""),
    ("rusage[mem=1:duration=5/job]", "duration"),
    ("affinity[core(1)] affinity[core(2)]", "twice"),
    ("span[block=2] span[ptile=2]", "twice"),
]


@pytest.mark.behaviour("REQ-21", "REQ-22", "PLC-15", "PLC-16", "PLC-17")
@pytest.mark.parametrize(("text", "normal", "token"), NEWER)
def test_what_10_adds_is_read_and_prints_back(text: str, normal: str, token: str) -> None:
    requirement = parse(text)
    assert print_requirement(requirement) == normal
    assert parse(normal) == requirement


@pytest.mark.behaviour("REQ-21")
@pytest.mark.parametrize(("text", "normal", "token"), NEWER)
def test_lsf_7_does_not_know_it_and_says_what_does(text: str, normal: str, token: str) -> None:
    with pytest.raises(ResreqError) as caught:
        parse(text, dialect="7")
    assert caught.value.token == token
    if token != "5GB":
        assert "LSF 7 has no" in caught.value.message
        assert "10.1" in caught.value.message
    assert caught.value.position is not None
    assert text[caught.value.position :].startswith(token)


@pytest.mark.parametrize("dialect", ["7", "10.1"])
@pytest.mark.parametrize(("text", "says"), WRONG)
def test_what_is_wrong_is_refused_by_both(text: str, says: str, dialect: str) -> None:
    with pytest.raises(ResreqError) as caught:
        parse(text, dialect=dialect)
    if dialect == "10.1":
        assert says in caught.value.message


TWICE = [
    ("select[a] select[b]", "select"),
    ("select[a] && select[b]", "select"),
    ("select[a] order[ut] select[b]", "select"),
    ("mem<5 select[a]", "select"),
    ("mem<5 && select[a]", "select"),
    ("select[a] && b", "&& b"),
    ("2*{select[a] select[b]} + {c}", "select"),
]


@pytest.mark.behaviour("REQ-21")
@pytest.mark.parametrize(("text", "token"), TWICE)
def test_10_takes_one_selection_and_lsf_7_joins_them(text: str, token: str) -> None:
    with pytest.raises(ResreqError) as caught:
        parse(text)
    assert caught.value.what == "section select[] is given twice"
    assert caught.value.token == token
    parse(text, dialect="7")


@pytest.mark.behaviour("REQ-21")
def test_maxslots_are_all_slots_of_a_host_whatever_is_free() -> None:
    cluster = Cluster((Host("a", 2), Host("b", 8), Host("c", 4)))
    free = {"slots": [2.0, 0.0, 4.0]}
    table = HostTable(cluster, values=free)  # type: ignore[arg-type]
    requirement = parse("select[maxslots>2] order[maxslots]", vocabulary=table.vocabulary)
    assert isinstance(requirement, Simple)
    mask = select_mask(requirement.select, table)
    assert mask.tolist() == [False, True, True]
    assert order_hosts(requirement.order, table, mask).tolist() == [1, 2]


def merged(job: str, queue: str, **cluster: Params) -> str:
    instance = Instance(
        Cluster((Host("a", 8),)), queues=(Queue("default", res_req=queue),), **cluster
    )
    found = effective_requirement(instance, Job("1", 4, res_req=(job,) if job else ()))
    return print_requirement(found.requirement)


@pytest.mark.behaviour("REQ-22", "REQ-16")
def test_what_a_queue_reserves_once_a_job_goes_to_the_first_term() -> None:
    compound = "1*{select[mem>0]} + 3*{order[ut]}"
    assert merged(compound, "rusage[x=1/job,y=2/task]") == (
        "1*{select[mem>0] rusage[x=1/job,y=2/task]} + 3*{order[ut] rusage[y=2/task]}"
    )


@pytest.mark.behaviour("PLC-15", "REQ-18")
def test_the_span_of_the_job_replaces_blocks_of_the_queue() -> None:
    assert merged("span[ptile=2]", "span[block=4]") == "span[ptile=2]"
    assert merged("span[hosts=-1]", "span[block=4]") == ""
    assert merged("", "span[block=4] affinity[core(1)]") == "span[block=4] affinity[core(1)]"
    assert merged("affinity[core(2)]", "affinity[core(1)]") == "affinity[core(2)]"


@pytest.mark.behaviour("PLC-18")
@pytest.mark.parametrize(
    ("text", "slots", "expected"),
    [
        ("RMS[nodes=3]", 6, "span[ptile=2]"),
        ("RMS[nodes=6]", 6, "span[ptile=1]"),
        ("RMS[ptile=3]", 7, "span[ptile=3]"),
        ("RMS[RMS_SNODE;nodes=2;ptile=3]", 6, "span[ptile=3]"),
        ("RMS[RMS_SLOAD; ptile=2 ; rails=1]", 6, "span[ptile=2]"),
        ("RMS[RMS_SNODE;nodes=]", 6, ""),
        ("PSET[PTILE=1]", 6, ""),
    ],
)
def test_rms_lays_a_job_out_over_nodes(text: str, slots: int, expected: str) -> None:
    instance = Instance(Cluster((Host("a", 8),)))
    found = effective_requirement(instance, Job("1", slots, extsched=text))
    assert print_requirement(found.requirement) == expected


@pytest.mark.behaviour("PLC-18")
@pytest.mark.parametrize(
    ("job", "says"),
    [
        (Job("1", 7, extsched="RMS[nodes=3]"), "give -n 6"),
        (Job("1", 2, extsched="RMS[nodes=3]"), "give -n 3"),
        (Job("1", 6, extsched="RMS[nodes=3;ptile=3]"), "give -n 9"),
        (Job("1", 6, max_slots=9, extsched="RMS[nodes=3]"), "-n must be one number"),
        (Job("1", 6, extsched="RMS[nodes=0]"), "1 or more"),
        (Job("1", 6, extsched="RMS[node=3]"), "did you mean 'nodes'"),
        (Job("1", 6, extsched="RMS[nodes=3;nodes=2]"), "twice"),
        (Job("1", 6, extsched="RMS nodes=3"), "RMS[nodes=3]"),
        (Job("1", 6, extsched="RMS[nodes=3]", res_req=("span[ptile=2]",)), "give one of them"),
        (Job("1", 6, extsched="RMS[nodes=3]", res_req=("3*{a} + 3*{b}",)), "compound"),
    ],
)
def test_what_rms_cannot_do_is_refused(job: Job, says: str) -> None:
    instance = Instance(Cluster((Host("a", 8),)))
    with pytest.raises(InputError) as caught:
        effective_requirement(instance, job)
    assert says in str(caught.value)


def test_seven_joins_selections_without_comparing_each_with_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = comparisons(monkeypatch)
    with pytest.raises(ResreqError, match="twice"):
        parse_with_notes("rusage[mem=1]||" * 400, SEVEN)
    assert len(compared) < 1000
