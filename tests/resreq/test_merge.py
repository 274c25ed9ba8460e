"""Several -R options and several levels as one requirement (REQ-12 … REQ-18, RSV-05, RSV-06)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from slotwise import InputError
from slotwise.model.resreq import (
    Compound,
    Requirement,
    ResreqError,
    combine,
    merge_levels,
    parse,
    print_requirement,
    resolve_counts,
)


def level(text: str) -> Requirement | None:
    return parse(text) if text else None


def merged(
    job: str = "",
    application: str = "",
    queue: str = "",
    limits: Mapping[str, tuple[float, float]] | None = None,
    job_based: str = "",
) -> str:
    result = merge_levels(
        level(job),
        level(application),
        level(queue),
        resrsv_limit=limits,
        job_based=frozenset(job_based.split()),
    )
    return print_requirement(result.requirement)


def warnings(job: str = "", application: str = "", queue: str = "") -> tuple[str, ...]:
    return merge_levels(level(job), level(application), level(queue)).warnings


@pytest.mark.behaviour("REQ-12")
@pytest.mark.parametrize(
    ("strings", "message"),
    [
        (["2*{cs}", "order[ut]"], "cannot be one of several -R options"),
        (["rusage[mem=(3 2):duration=(1)]", "order[ut]"], "cannot be one of several -R options"),
        (["rusage[mem=3]", "rusage[mem=2:swp=1]"], "mem is reserved by two -R options"),
        (["span[hosts=1]", "span[ptile=2]"], "span[] stands in two -R options"),
        (["cu[excl]", "cu[balance]"], "cu[] stands in two -R options"),
        (["span[ptile='!',HP:2]", "cs"], "needs same[type]"),
    ],
)
def test_options_that_do_not_go_together(strings: list[str], message: str) -> None:
    with pytest.raises(ResreqError) as caught:
        combine(strings)
    assert message in str(caught.value)


@pytest.mark.behaviour("REQ-15", "REQ-18")
@pytest.mark.parametrize(
    ("job", "application", "queue", "normal"),
    [
        ("cs", "fs", "mem>5", "select[cs && fs && mem>5]"),
        ("same[a]", "same[b]", "same[c:a]", "same[a:b:c]"),
        ("order[ut]", "order[mem]", "order[pg]", "order[ut]"),
        ("cs", "order[mem]", "order[pg]", "select[cs] order[mem]"),
        ("span[ptile=2]", "span[hosts=1]", "", "span[ptile=2]"),
        ("cu[excl]", "cu[balance]", "cu[maxcus=2]", "cu[excl]"),
        ("", "", "cs span[ptile=4] cu[excl]", "select[cs] span[ptile=4] cu[excl]"),
        ("span[hosts=-1]", "", "cs span[ptile=4]", "select[cs]"),
        (
            "rusage[mem=1]",
            "rusage[mem=2:swp=3]",
            "rusage[swp=9:tmp=4]",
            "rusage[mem=1:swp=3:tmp=4]",
        ),
        ("rusage[mem=100]", "", "rusage[mem=200:lic=1]", "rusage[mem=100:lic=1]"),
        (
            "rusage[mem=100]",
            "",
            "rusage[mem=200:duration=20:decay=1]",
            "rusage[mem=100:duration=20:decay=1]",
        ),
        (
            "rusage[mem=100:duration=5:decay=0]",
            "",
            "rusage[mem=200:duration=20:decay=1]",
            "rusage[mem=100:duration=5:decay=0]",
        ),
        (
            "rusage[lic=1:duration=2]",
            "",
            "rusage[mem=200]",
            "rusage[lic=1:duration=2,mem=200]",
        ),
        (
            "rusage[mem=20,lic=1:duration=2]",
            "",
            "rusage[mem=30:duration=9]",
            "rusage[mem=20:duration=9,lic=1:duration=2]",
        ),
        (
            "rusage[mem=100]",
            "",
            "rusage[mem=(500 300):duration=(20 10)]",
            "rusage[mem=100]",
        ),
        (
            "rusage[mem=(300 100):duration=(60)]",
            "",
            "rusage[mem=400:duration=20:lic=1]",
            "rusage[mem=(300 100):duration=(60),lic=1:duration=20]",
        ),
    ],
)
def test_simple_levels(job: str, application: str, queue: str, normal: str) -> None:
    assert merged(job, application, queue) == normal


@pytest.mark.behaviour("REQ-17")
@pytest.mark.parametrize(
    ("job", "queue", "normal"),
    [
        (
            "rusage[w1=1||w2=1||w3=1]",
            "rusage[mem=200:duration=180]",
            "rusage[w1=1,mem=200:duration=180||w2=1,mem=200:duration=180||w3=1,mem=200:duration=180]",
        ),
        (
            "rusage[mem=200:duration=180]",
            "rusage[w1=1||w2=1]",
            "rusage[mem=200:duration=180,w1=1||mem=200:duration=180,w2=1]",
        ),
        (
            "rusage[a=1||b=1]",
            "rusage[mem=20||mem=10:swp=20]",
            "rusage[a=1,mem=20||a=1,mem=10:swp=20||b=1,mem=20||b=1,mem=10:swp=20]",
        ),
        ("rusage[mem=5]", "rusage[mem=20||mem=10:swp=20]", "rusage[mem=5||mem=5,swp=20]"),
    ],
)
def test_alternatives_are_multiplied_out(job: str, queue: str, normal: str) -> None:
    assert merged(job, queue=queue) == normal


@pytest.mark.behaviour("RSV-05", "REQ-17")
def test_a_combination_that_exceeds_the_queue_is_left_out_and_all_of_them_refused() -> None:
    queue = "rusage[mem=20||mem=10:swp=20]"
    assert merged("rusage[mem=15]", queue=queue) == "rusage[mem=15]"
    assert warnings("rusage[mem=15]", queue=queue) == (
        "an alternative is left out: rusage mem=15 exceeds mem=10 of the queue",
    )
    with pytest.raises(InputError, match="mem=30 exceeds mem=20"):
        merged("rusage[mem=30]", queue=queue)


@pytest.mark.behaviour("REQ-16")
def test_what_the_compound_rules_ignore_is_said() -> None:
    assert "queue is ignored" in warnings("2*{cs}", queue="2*{fs}")[0]
    assert "application is ignored" in warnings("cs", application="2*{fs}")[0]
    assert "same[] of the queue" in warnings("2*{cs}", queue="same[type]")[0]
    assert "cu[] of the queue" in warnings("2*{cs}", queue="cu[excl]")[0]
    with pytest.raises(ResreqError, match="alternatives"):
        merged("2*{cs}", queue="rusage[a=1||b=1]")


@pytest.mark.behaviour("RSV-05", "REQ-16")
def test_an_application_left_aside_is_still_a_ceiling() -> None:
    with pytest.raises(InputError) as caught:
        merged("2*{rusage[mem=3]} + 1*{cs}", application="rusage[mem=2]")
    assert "term 1: rusage mem=3 exceeds mem=2 of the application" in str(caught.value)


@pytest.mark.behaviour("RSV-06")
def test_resrsv_limit_is_the_range_and_the_queue_only_a_default() -> None:
    limits = {"mem": (30.0, 100.0)}
    queue = "rusage[swp=100:mem=40:duration=60]"
    assert merged("rusage[mem=90]", queue=queue, limits=limits) == (
        "rusage[mem=90:swp=100:duration=60]"
    )
    assert merged(queue=queue, limits=limits) == queue
    for job in ("rusage[mem=20]", "rusage[mem=101]", "rusage[mem=50||mem=10]"):
        with pytest.raises(InputError, match=r"outside RESRSV_LIMIT \[mem=30,100\] of the queue"):
            merged(job, queue=queue, limits=limits)
    with pytest.raises(InputError, match="mem=20 is outside"):
        merged("cs", "rusage[mem=20]", queue, limits)
    with pytest.raises(InputError, match="swp=200 exceeds swp=100"):
        merged("rusage[swp=200]", queue=queue, limits=limits)


@pytest.mark.behaviour("REQ-14")
@pytest.mark.parametrize(("text", "slots"), [("2*{cs} + 4*{fs}", 5), ("2*{cs} + {fs}", 1)])
def test_counts_must_agree_with_n(text: str, slots: int) -> None:
    compound = parse(text)
    assert isinstance(compound, Compound)
    with pytest.raises(ResreqError, match=rf"-n for {slots}"):
        resolve_counts(compound, slots)
