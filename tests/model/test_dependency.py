"""Conditions of bsub -w: what they say, how they are written, what is wrong with them."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slotwise import Job
from slotwise.model.dependency import (
    AllOf,
    AnyOf,
    Condition,
    DependencyError,
    JobIndex,
    JobReference,
    Negation,
    StatusTest,
    dependency_cycle,
    parse_dependency,
    predecessors,
    status_tests,
    waiting_order,
    written,
)

pytestmark = pytest.mark.behaviour("DEP-01")


def one(text: str) -> StatusTest:
    found = parse_dependency(text)
    assert isinstance(found, StatusTest)
    return found


@pytest.mark.parametrize(
    ("text", "word", "job"),
    [
        ("done(12)", "done", JobReference("12")),
        ("12", "done", JobReference("12")),
        ('"210"', "done", JobReference("210", quoted=True)),
        ("ended(prep*)", "ended", JobReference("prep*")),
        ('started("my job")', "started", JobReference("my job", quoted=True)),
        ("post_done( a.b-c/d:e )", "post_done", JobReference("a.b-c/d:e")),
        ("POST_ERR(7)", "post_err", JobReference("7")),
        ("done(a[3])", "done", JobReference("a", ranges=(range(3, 4),))),
        ('done("a[1-5:2,9]")', "done", JobReference("a", True, (range(1, 6, 2), range(9, 10)))),
        ("done(a[*])", "done", JobReference("a", each=True)),
    ],
)
def test_tests_of_jobs(text: str, word: str, job: JobReference) -> None:
    assert (one(text).word, one(text).job, one(text).text) == (word, job, text)


@pytest.mark.parametrize(
    ("text", "operator", "number"),
    [
        ("exit(678)", "==", None),
        ("exit(678,0)", "==", 0),
        ('exit("678", != 0)', "!=", 0),
        ("numdone(123, >= 100)", ">=", 100),
        ("numended(a,*)", "==", None),
        ("numrun(a, 3)", "==", 3),
        ("numpend(a,<2)", "<", 2),
    ],
)
@pytest.mark.behaviour("DEP-02")
def test_codes_and_counts(text: str, operator: str, number: int | None) -> None:
    assert (one(text).operator, one(text).number) == (operator, number)


@pytest.mark.behaviour("DEP-03")
def test_operators_bind_as_in_c() -> None:
    a, b, c = one("done(1)"), one("started(2)"), one("3")
    assert parse_dependency("done(1) && started(2) || 3") == AnyOf((AllOf((a, b)), c))
    assert parse_dependency("done(1)&&(started(2)||3)") == AllOf((a, AnyOf((b, c))))
    assert parse_dependency("!done(1) && !(started(2) || 3)") == AllOf(
        (Negation(a), Negation(AnyOf((b, c))))
    )
    assert one('external(5, "half done")').status == "half done"


@pytest.mark.parametrize(
    ("text", "says", "column"),
    [
        ("", "is incomplete", 1),
        ("done(", "is incomplete", 6),
        ("don(1)", "unknown test 'don' (did you mean 'done'?)", 1),
        ("done(1) & done(2)", "unexpected '&'", 9),
        ("done(1) done(2)", "unexpected 'done'", 9),
        ("(done(1)", "expected ')'", 9),
        ("numdone(1)", "expected ','", 10),
        ("numdone(1, > x)", "a whole number or *", 14),
        ("exit(1, *)", "a whole number", 9),
        ("done(a[x])", "elements [x]", 6),
        ("done(a[5-2])", "elements [5-2]", 6),
        ("done()", "the number or name of a job", 6),
        ('done("1)', "unexpected", 6),
        ("!" * 60 + "done(1)", "nested more than 50 levels deep", 51),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, says: str, column: int) -> None:
    with pytest.raises(DependencyError) as caught:
        parse_dependency(text)
    assert says in str(caught.value)
    assert f"column {column} of" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


TESTS = st.sampled_from(
    ["done(1)", "2", "started(a*)", 'ended("my job")', "numdone(7, >= 3)", "exit(4, != 1)"]
).map(one)
TREES: st.SearchStrategy[Condition] = st.recursive(
    TESTS,
    lambda inner: st.one_of(
        inner.map(Negation),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: AllOf(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: AnyOf(tuple(parts))),
    ),
    max_leaves=8,
)


@given(TREES)
def test_what_is_written_reads_as_the_same_tree(tree: Condition) -> None:
    assert parse_dependency(written(tree)) == tree
    assert list(status_tests(parse_dependency(written(tree)))) == list(status_tests(tree))


@given(st.text(alphabet="done(1)&|![]*,<>=\"' abnum", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    refused: DependencyError | None = None
    try:
        parse_dependency(text)
    except DependencyError as error:
        refused = error
    assert refused is None or 0 <= refused.position <= len(text)


def meant(roster: JobIndex, text: str, asker: Job) -> tuple[str, ...]:
    return roster.resolve(one(text).job, asker)


def test_the_last_job_of_a_name() -> None:
    jobs = (
        Job("1", name="prep", submit=5),
        Job("2", name="prep", submit=1),
        Job("3", name="prep", user="ann", submit=9),
        Job("4", name="prepare", submit=2),
        Job("5", name="prep", submit=7),
    )
    last, everyone = JobIndex(jobs), JobIndex(jobs, last_only=False)
    asker = Job("6", submit=8)
    assert meant(last, "done(prep)", asker) == ("5",)
    assert meant(everyone, "done(prep)", asker) == ("2", "1", "5")
    assert meant(last, "done(prep*)", asker) == ("2", "4", "1", "5")
    assert meant(last, "done(prep)", Job("6", user="ann", submit=10)) == ("3",)
    assert meant(last, "done(prep)", Job("6", user="bob")) == ()
    # A chain of jobs of one name: each waits for the one before it.
    assert meant(last, "done(prep)", jobs[4]) == ("1",)
    assert meant(last, "done(prep)", jobs[0]) == ("2",)


def test_numbers_and_names_that_look_like_one() -> None:
    jobs = (Job("1"), Job("2", name="1"))
    assert meant(JobIndex(jobs), "done(1)", Job("9")) == ("1",)
    assert meant(JobIndex(jobs), 'done("1")', Job("9")) == ("2",)
    assert meant(JobIndex(jobs), 'done("2")', Job("9")) == ("2",)
    assert meant(JobIndex(jobs), "done(7)", Job("9")) == ()


@pytest.mark.behaviour("DEP-02")
def test_arrays_and_their_elements() -> None:
    array = [Job(f"7[{n}]", name="a") for n in (1, 2, 3)]
    roster = JobIndex((*array, Job("8")))
    assert meant(roster, "done(7)", Job("8")) == ("7[1]", "7[2]", "7[3]")
    assert meant(roster, "done(a[2-3])", Job("8")) == ("7[2]", "7[3]")
    assert meant(roster, "done(a[*])", Job("8")) == ("7[1]", "7[2]", "7[3]")
    assert meant(roster, "done(a[*])", Job("9[2]")) == ("7[2]",)
    assert meant(roster, "done(a[*])", Job("9[4]")) == ()
    assert meant(roster, "done(a[9])", Job("8")) == ()


def test_circles_and_orders() -> None:
    assert dependency_cycle({"a": ("b",), "b": ("c",), "c": ()}) == ()
    assert dependency_cycle({"x": ("a",), "a": ("b",), "b": ("a",)}) == ("a", "b", "a")
    assert dependency_cycle({"a": ("a",)}) == ("a", "a")
    long = {str(n): (str(n + 1),) for n in range(5000)}
    assert dependency_cycle(long) == ()
    assert dependency_cycle({**long, "5000": ("0",)})
    assert waiting_order(["a", "b", "c", "d"], {"a": ("c",), "b": ()}) == ["b", "c", "a", "d"]
    assert waiting_order(["a", "b", "c"], {"a": ("b",), "b": ("c",)}) == ["c", "b", "a"]
    assert waiting_order(["a", "b", "c"], {"b": ("c",), "c": ("b",)}) == ["a", "b", "c"]
    job = Job("3", dependency="done(1) && started(2) || done(1)")
    assert predecessors(JobIndex((Job("1"), Job("2"))), job) == ("1", "2")
