"""Every remedy and every suggestion, carried out by what it says, gives what it promised."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import agreement_cases
import paired_features
import pytest
import slotwise as sw
from advice_applied import asked_as, starts, with_lines, with_suggestion
from sampling import some
from slotwise import Instance, Remedy, WaitingJob

ROOT = Path(__file__).resolve().parents[1]
#: Random instances of one run, and of `make test-all`.
SEEDS, SITES = range(200), range(5, 105)
EXAMPLES = ("backfill", "slot-limits", "fairshare-pool", "cu-racks", "memory-pending", "site")
Starts = dict[str, int | None]


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The generator of the benchmarks, as its script imports it."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import planted_faults

    return planted_faults


def small_site(faults: ModuleType, seed: int) -> Instance:
    """Four hosts, a few jobs, and one or two faults of any kind."""
    draw = random.Random(f"small {seed}")
    instance = faults.sound_site(draw, (4,), (4, 8))
    for name in draw.sample(sorted(faults.FAULTS), draw.choice([1, 2])):
        instance = faults.FAULTS[name](draw, instance)
    assert isinstance(instance, Instance)
    return instance


def drawn(seed: int) -> Instance:
    """A small problem around one rule, or around two that meet."""
    while True:
        instance = (
            agreement_cases.case(seed)[0]
            if seed % 2
            else paired_features.case(paired_features.features_of(seed), seed).instance
        )
        try:
            sw.check(instance)  # some of them ask for what a file would refuse
        except sw.InputError:
            seed += 2 * len(SEEDS)
        else:
            return instance


def others(
    instance: Instance, job: str, before: Starts, after: Starts
) -> Iterator[tuple[str, int | None, int | None]]:
    """The other pending jobs with their starts before and after."""
    for other in instance.pending:
        if other.id != job:
            yield other.id, before[other.id], after.get(other.id)


def remedies_do_what_they_say(instance: Instance) -> int:
    """Each line of each remedy read and carried out: start, cost, and who no longer starts."""
    found, before, count = sw.diagnose(instance), starts(instance), 0
    for item in found.jobs:
        assert item.simulated == before[item.job]
        for remedy in (*item.remedies, *item.too_little):
            one_remedy(instance, item, remedy, before)
            count += 1
    return count


def one_remedy(instance: Instance, item: WaitingJob, remedy: Remedy, before: Starts) -> None:
    after = starts(with_lines(instance, remedy.lines))
    told = [str(line) for line in remedy.lines]
    assert after[item.job] == remedy.start, told
    rest = list(others(instance, item.job, before, after))
    lost = [job for job, first, then in rest if first is not None and then is None]
    lost += [job for job in remedy.cost.begin_anew if after[job] is None]
    assert list(remedy.cost.lost) == lost, told
    if lost:  # only where nothing else helps
        assert all(other.cost.lost for other in item.remedies), told
    won = [job for job, first, then in rest if first is None and then is not None]
    assert list(remedy.cost.won) == won, told
    waits = [then - first for _, first, then in rest if first is not None and then is not None]
    assert remedy.cost.mean_wait == pytest.approx(sum(waits) / len(waits) if waits else 0)
    assert remedy.cost.neither == sum(first is None and then is None for _, first, then in rest)
    assert len(remedy.cost.longer) == sum(more > 0 for more in waits)


def suggestions_do_what_they_say(instance: Instance, most: int = 10) -> int:
    """Each suggestion of `explain` read and carried out."""
    before, count = starts(instance), 0
    for job in instance.pending[:most]:
        found = sw.explain(instance, job.id)
        assert found.answer.start == before[job.id]
        for item in found.suggestions:
            then = with_suggestion(instance, job.id, item.change)
            after = starts(then)
            assert after[job.id] == item.start, (job.id, item.change)
            there = {other.id for other in then.pending}
            for other, first, last in others(instance, job.id, before, after):
                lost = first is not None and last is None and other in there
                assert not lost, (job.id, item.change, other)
            count += 1
    return count


def alternatives_do_what_they_say(instance: Instance) -> int:
    """What `ask --explore` offers for the first pending job, submitted anew and last."""
    job, *rest = instance.pending
    alone = replace(instance, pending=tuple(rest), lsf_says=(), held=())
    if any(other.dependency for other in rest):
        return 0
    asked = replace(job, id="asked", submit=instance.now, begin=None, queued_as=None, priority=0)
    found = sw.ask(alone, replace(asked, dependency=""), user=job.user, explore=True)
    line = found.line.answer.job
    before = starts(alone)
    own = starts(replace(alone, pending=(*rest, line)))
    assert found.line.answer.start == own[line.id]
    for item in found.alternatives:
        after = starts(replace(alone, pending=(*rest, asked_as(line, item))))
        assert after[line.id] == item.answer.start, item.changed
        for other in rest:
            assert before[other.id] is None or after[other.id] is not None, (item.changed, other.id)
    return len(found.alternatives)


@pytest.mark.parametrize("seed", some(SITES, 1))
def test_remedies_give_what_they_say(faults: ModuleType, seed: int) -> None:
    """A fault here: a line that does not do what is said of it, or a job that it stops."""
    remedies_do_what_they_say(small_site(faults, seed))


@pytest.mark.parametrize("seed", some(SEEDS, 2))
def test_advice_gives_what_it_says(seed: int) -> None:
    instance = drawn(seed)
    remedies_do_what_they_say(instance)
    suggestions_do_what_they_say(instance)
    alternatives_do_what_they_say(instance)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_advice_on_examples_gives_what_it_says(name: str) -> None:
    instance = sw.load(sw.example(name))
    remedies_do_what_they_say(instance)
    suggestions_do_what_they_say(instance, most=3)
    alternatives_do_what_they_say(instance)
