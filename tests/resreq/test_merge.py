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
    ("strings", "normal"),
    [
        (["select[swp > 15]", "select[hpux] order[ut]"], "select[swp>15 && hpux] order[ut]"),
        (
            [
                "select[swp > 15]",
                "select[hpux] order[r15m]",
                "order[r15m]",
                "rusage[mem=100]",
                "order[ut]",
                "same[type]",
                "rusage[tmp=50:duration=60]",
                "same[model]",
            ],
            "select[swp>15 && hpux] order[r15m:ut] rusage[mem=100,tmp=50:duration=60]"
            " same[type:model]",
        ),
        (["order[r15m]", "order[ut]"], "order[r15m:ut]"),
        (["same[type]", "same[model]"], "same[type:model]"),
        (
            ["rusage[mem=20, license=1:duration=2]", "rusage[app_lic_v201=1||app_lic_v15=1]"],
            "rusage[mem=20,license=1:duration=2,app_lic_v201=1"
            "||mem=20,license=1:duration=2,app_lic_v15=1]",
        ),
        (["a || b", "c"], "select[(a || b) && c]"),
        (["span[ptile='!',HP:2]", "same[type]"], "span[ptile='!',HP:2] same[type]"),
        (["span[ptile=2]", "cu[excl]"], "span[ptile=2] cu[excl]"),
        (["2*{cs} + 1*{fs}"], "2*{select[cs]} + 1*{select[fs]}"),
        ([], ""),
        (["", " "], ""),
    ],
)
def test_several_options_are_one_requirement(strings: list[str], normal: str) -> None:
    assert print_requirement(combine(strings).requirement) == normal


@pytest.mark.behaviour("REQ-12")
@pytest.mark.parametrize(
    ("strings", "message"),
    [
        (["2*{cs}", "order[ut]"], "make it the only -R option"),
        (["rusage[mem=(3 2):duration=(1)]", "order[ut]"], "make it the only -R option"),
        (["rusage[mem=3]", "rusage[mem=2:swp=1]"], "mem is reserved in two -R options"),
        (["span[hosts=1]", "span[ptile=2]"], "span[] is in two -R options"),
        (["cu[excl]", "cu[balance]"], "cu[] is in two -R options"),
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
        "an alternative is ignored: rusage mem=15 exceeds mem=10 of the queue",
    )
    with pytest.raises(InputError, match="mem=30 exceeds mem=20"):
        merged("rusage[mem=30]", queue=queue)


@pytest.mark.behaviour("REQ-16")
@pytest.mark.parametrize(
    ("job", "application", "queue", "job_based", "normal"),
    [
        pytest.param(
            "2*{select[type==X86_64] rusage[licA=1] span[hosts=1]} + 8*{select[type==any]}",
            "",
            "rusage[perslot=1]",
            "",
            "2*{select[type==X86_64] rusage[licA=1:perslot=1] span[hosts=1]}"
            " + 8*{select[type==any] rusage[perslot=1]}",
            id="example 1",
        ),
        pytest.param(
            "2*{select[type==X86_64 && tmp>10000] rusage[mem=1000] span[hosts=1]}"
            " + 8*{select[type==X86_64]}",
            "",
            "2*{select[type==X86_64] rusage[mem=1000] span[hosts=1]} +8*{select[type==X86_64]}",
            "",
            "2*{select[type==X86_64 && tmp>10000] rusage[mem=1000] span[hosts=1]}"
            " + 8*{select[type==X86_64]}",
            id="example 2",
        ),
        pytest.param(
            "2*{select[type==X86_64]} + 2*{select[mem>1000]}",
            "",
            "rusage[licA=1]",
            "licA",
            "2*{select[type==X86_64] rusage[licA=1]} + 2*{select[mem>1000]}",
            id="example 3",
        ),
        pytest.param(
            "2*{rusage[mem=(400 350):duration=(10 15):decay=(0 1)]}"
            " + 2*{rusage[mem=300:duration=10:decay=1]}",
            "",
            "rusage[mem=(500 300):duration=(20 10):decay=(0 1)]",
            "",
            "2*{rusage[mem=(400 350):duration=(10 15):decay=(0 1)]}"
            " + 2*{rusage[mem=300:duration=10:decay=1]}",
            id="example 4",
        ),
        pytest.param(
            "2*{rusage[mem=100]} + 4*{rusage[mem=200:duration=20:decay=1]}",
            "",
            "rusage[lic=1]",
            "lic",
            "2*{rusage[mem=100:lic=1]} + 4*{rusage[mem=200:duration=20:decay=1]}",
            id="rusage example 1",
        ),
        pytest.param(
            "2*{rusage[mem=100]} + 4*{rusage[lic=1]}",
            "",
            "rusage[mem=200:duration=20:decay=1]",
            "",
            "2*{rusage[mem=100:duration=20:decay=1]}"
            " + 4*{rusage[lic=1:mem=200:duration=20:decay=1]}",
            id="rusage example 2",
        ),
        pytest.param(
            "2*{cs} + {fs}",
            "order[ut]",
            "",
            "",
            "2*{select[cs]} + {select[fs]}",
            id="a simple application is ignored under a compound job",
        ),
        pytest.param(
            "cs",
            "2*{fs}",
            "mem>1",
            "",
            "select[cs && mem>1]",
            id="a compound application is ignored under a job",
        ),
        pytest.param(
            "",
            "2*{fs} + 1*{order[ut]}",
            "mem>1 order[pg] span[ptile=1]",
            "",
            "2*{select[fs && mem>1] order[pg] span[ptile=1]}"
            " + 1*{select[mem>1] order[ut] span[ptile=1]}",
            id="a compound application over a simple queue",
        ),
        pytest.param(
            "",
            "2*{fs}",
            "3*{cs}",
            "",
            "2*{select[fs]}",
            id="a compound application over a compound queue",
        ),
        pytest.param("", "", "3*{cs}", "", "3*{select[cs]}", id="a compound queue counts alone"),
        pytest.param(
            "order[ut]", "", "3*{cs}", "", "order[ut]", id="a compound queue is ignored under a job"
        ),
        pytest.param(
            "",
            "order[ut]",
            "3*{cs}",
            "",
            "order[ut]",
            id="a compound queue is ignored under an application",
        ),
        pytest.param(
            "1*{rusage[lic=2]} + 1*{cs}",
            "",
            "rusage[lic=1:mem=5]",
            "lic",
            "1*{rusage[lic=2:mem=5]} + 1*{select[cs] rusage[mem=5]}",
            id="a job-based resource that the job names itself",
        ),
        pytest.param(
            "1*{span[hosts=-1]} + 1*{cs}",
            "",
            "span[ptile=2] same[type]",
            "",
            "1*{} + 1*{select[cs] span[ptile=2]}",
            id="same of the queue is ignored, a span can be cancelled",
        ),
    ],
)
def test_compound_levels(
    job: str, application: str, queue: str, job_based: str, normal: str
) -> None:
    assert merged(job, application, queue, job_based=job_based) == normal


@pytest.mark.behaviour("REQ-16")
def test_what_the_compound_rules_ignore_is_said() -> None:
    assert "queue is ignored" in warnings("2*{cs}", queue="2*{fs}")[0]
    assert "application is ignored" in warnings("cs", application="2*{fs}")[0]
    assert "same[] of the queue" in warnings("2*{cs}", queue="same[type]")[0]
    assert "cu[] of the queue" in warnings("2*{cs}", queue="cu[excl]")[0]
    with pytest.raises(ResreqError, match="alternatives"):
        merged("2*{cs}", queue="rusage[a=1||b=1]")


@pytest.mark.behaviour("RSV-05")
@pytest.mark.parametrize(
    ("job", "queue", "message"),
    [
        ("rusage[mem=1:duration=60]", "rusage[mem=2:duration=20]", "60 min exceeds 20 min"),
        ("rusage[lic=1:duration=90s]", "rusage[lic=1:duration=1]", "90 s exceeds 1 min"),
        ("rusage[swp=1:duration=60]", "rusage[mem=2:duration=20]", "60 min exceeds 20 min"),
        ("rusage[mem=(5 1):duration=(9)]", "rusage[mem=(4 2):duration=(9)]", "mem=5 exceeds mem=4"),
        ("2*{rusage[mem=3]} + 1*{cs}", "rusage[mem=2]", "term 1: rusage mem=3 exceeds mem=2"),
    ],
)
def test_refused_at_the_queue(job: str, queue: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        merged(job, queue=queue)
    assert message in str(caught.value)


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
@pytest.mark.parametrize(
    ("text", "slots", "default", "counts"),
    [
        ("2*{cs} + 4*{fs}", 6, None, [2, 4]),
        ("2*{cs} + 4*{fs}", None, 9, [2, 4]),
        ("2*{cs} + {fs}", 6, None, [2, 4]),
        ("2*{cs} + {fs}", 2, None, [2]),
        ("2*{cs} + {fs}", None, 5, [2, 3]),
        ("2*{cs} + {fs}", None, 1, [2]),
        ("2*{cs} + {fs}", None, None, [2]),
        ("{fs}", None, 4, [4]),
        ("{fs}", None, None, [1]),
    ],
)
def test_counts(text: str, slots: int | None, default: int | None, counts: list[int]) -> None:
    compound = parse(text)
    assert isinstance(compound, Compound)
    assert [term.count for term in resolve_counts(compound, slots, default).terms] == counts


@pytest.mark.behaviour("REQ-14")
@pytest.mark.parametrize(("text", "slots"), [("2*{cs} + 4*{fs}", 5), ("2*{cs} + {fs}", 1)])
def test_counts_must_agree_with_n(text: str, slots: int) -> None:
    compound = parse(text)
    assert isinstance(compound, Compound)
    with pytest.raises(ResreqError, match=rf"-n (is|only) {slots}"):
        resolve_counts(compound, slots)
