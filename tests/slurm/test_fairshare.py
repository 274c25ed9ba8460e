"""Fairshare of Slurm: recorded sshare and sprio, decay of usage, priorities that move with it."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import slotwise as sw
from slotwise.model.configuration import without_growth
from slotwise.model.formats.settings import Setting, changed
from slotwise.model.slurm_fairshare import (
    Association,
    AssociationTree,
    FairshareRule,
    fairshare_rule,
)
from slotwise.model.sources.lsf_state.values import Text
from slotwise.model.sources.slurm.folder import read_texts
from slotwise.model.sources.slurm.shares import priorities_of_text, shares_of_text
from slotwise.solver.advice.rank import multifactor_rank
from slotwise.solver.fairshare.association_use import AssociationUse
from slotwise.solver.fairshare.dispatch_order import DispatchOrder
from slotwise.solver.fairshare.priority_order import dispatch_policy
from slotwise.solver.scheduler.history import snapshot_at
from slotwise.solver.validation.schedule import HeldStretch
from slotwise.solver.validation.slurm import FairshareOverTime
from submitted import submission

from tests.slurm.test_import import DATA, assembled, instance_of, run, texts_of

pytestmark = pytest.mark.behaviour("SLU-02")
HOUR = 3600
HEAD = "Account|User|RawShares|RawUsage"
USAGE = json.loads((DATA / "fairshare-usage.json").read_text())


def recorded(**changed: str) -> dict[str, str]:
    """The recorded cluster with sshare -a -l -P, and with other texts."""
    texts = texts_of("fairshare")
    texts.pop("sshare.txt")
    return {**texts, **{f"{name}.txt": text for name, text in changed.items()}}


def said(texts: Mapping[str, str]) -> list[str]:
    """The notes beside those of the recording itself."""
    usual = assembled(recorded()).notes
    return [note for note in assembled(texts).notes if note not in usual]


def edited(name: str, old: str, new: str) -> dict[str, str]:
    texts = recorded()
    assert old in texts[f"{name}.txt"]
    return {**texts, f"{name}.txt": texts[f"{name}.txt"].replace(old, new)}


def test_the_recording_is_read_whole_and_contradicts_nothing() -> None:
    made = assembled(recorded())
    assert not [note for note in made.notes if "contradicts" in note or "fields of" in note]
    for name, reader in (("sshare_l", shares_of_text), ("sprio", priorities_of_text)):
        records = list(reader(Text(recorded()[f"{name}.txt"], name)))
        assert len(records) > 10
        assert {name for record in records for name in record.unknown()} == set()
    problem = made.instance
    assert len(problem.associations) == 19
    assert Association("sub", "", "lab", "", None, 471) in problem.associations
    assert sw.loads(sw.dump(problem)) == problem
    fixed = [job.id for job in problem.pending if job.has_fixed_priority]
    assert fixed == ["17"]


def test_the_forms_of_sshare_say_the_same() -> None:
    """The table for people, and JSON of 23.11 and later; rows of accounts and of users."""
    plain = {**recorded(), "sshare_l.txt": texts_of("fairshare")["sshare.txt"]}
    assert instance_of(plain).associations == instance_of(recorded()).associations
    seen = read_texts([Text(text, name) for name, text in recorded().items()], "test")

    def number(value: float | None) -> dict[str, Any]:
        return {"set": value is not None, "infinite": value == math.inf, "number": value or 0}

    rows = [
        {
            "name": row.user or row.account,
            "parent": row.account if row.user else row.parent,
            "type": ["USER"] if row.user else [],
            "partition": "",
            "shares": number(0x7FFFFFFF if row.shares is None else row.shares),
            "usage": int(row.usage),
            "shares_normalized": number(row.norm_shares),
            "effective_usage": number(row.effective_usage),
            "fairshare": {"factor": number(row.factor), "level": number(row.level)},
            "tres": {"group_minutes": [], "run_seconds": [], "usage": []},
        }
        for row in seen.shares
    ]
    texts = recorded()
    texts.pop("sshare_l.txt")
    texts["shares.json"] = json.dumps({"shares": {"shares": rows, "total_shares": 5}})
    assert instance_of(texts).associations == instance_of(recorded()).associations


@pytest.mark.parametrize(
    ("name", "old", "new", "note"),
    [
        ("sshare_l", "|0.909091|1.471960", "|0.818182|1.471960", "FairShare 0.818182, computed"),
        ("sshare_l", "|60|0.594059|", "|60|0.494059|", "NormShares 0.494059, computed 0.594059"),
        ("sshare_l", "|0.909091|1.471960", "|0.909091|2.471960", "LevelFS 2.47196, computed"),
        ("sprio", " 9091 ", " 9191 ", "FAIRSHARE 9191, computed 9091"),
        ("sprio", "    24 ", "    54 ", "AGE 54, computed"),
        ("sprio", " 438 ", " 338 ", "JOBSIZE 338, computed 438"),
        ("sprio", "2000        750", "1000        750", "PARTITION 1000, computed 2000"),
        ("sprio", " 3000 ", " 2000 ", "QOS 2000, computed 3000"),
        ("sprio", "cpu=1000,mem=200", "cpu=1000,mem=300", "TRES 1300, computed 1200"),
        ("sprio", " 12102 ", " 12302 ", "PRIORITY 12302"),
        ("sprio", " 8778 ", " 8770 ", "squeue in the priority of 15"),
    ],
)
def test_a_contradiction_is_named(name: str, old: str, new: str, note: str) -> None:
    found = said(edited(name, old, new))
    assert any(note in text for text in found), found
    assert len(instance_of(edited(name, old, new)).pending) == 10


def test_sshare_of_one_user_contradicts_itself() -> None:
    """Without -a the other users are missing: ranks and shares cannot be right."""
    lines = recorded()["sshare_l.txt"].splitlines()
    own = [line for line in lines if line.split("|")[1] in ("", "User", "man")]
    found = said(recorded(sshare_l="\n".join(own) + "\n"))
    assert any("sshare -a" in text for text in found)
    assert any("no row for the user and account" in text for text in found)


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("PriorityFlags=MAX_TRES,INCR_ONLY", "INCR_ONLY: priorities also fall"),
        (
            "PriorityUsageResetPeriod=WEEKLY",
            "PriorityUsageResetPeriod=WEEKLY: the periodic reset is not simulated",
        ),
        ("PrioritySiteFactorPlugin=site/own", "PrioritySiteFactorPlugin: the site factor"),
        ("PriorityFlags=NO_FAIR_TREE,DEPTH_OBLIVIOUS", "DEPTH_OBLIVIOUS: factors are computed"),
    ],
)
def test_settings_that_are_not_obeyed_are_named(line: str, note: str) -> None:
    name = line.partition("=")[0]
    rows = recorded()["config.txt"].splitlines()
    kept = [row for row in rows if row.partition("=")[0].strip() != name]
    assert any(note in text for text in said(recorded(config="\n".join([*kept, line]) + "\n")))
    texts = {
        **recorded(config="\n".join([*kept, line]) + "\n"),
        "jobs.txt": "No jobs in the system",
    }
    assert not any(note in text for text in assembled(texts).notes)


def test_without_sshare_the_part_is_named_as_fixed() -> None:
    texts = recorded()
    texts.pop("sshare_l.txt")
    assert any("PriorityWeightFairshare: the component of each job stays" in n for n in said(texts))
    assert not instance_of(texts).associations
    assert any("sprio -n" in n for n in said(recorded(n=texts_of("fairshare")["sprio.txt"]
               .replace(" 24 ", " 0.0076389 "))))  # fmt: skip


def test_a_factor_of_usage_is_named_for_a_qos_with_jobs() -> None:
    assert any(
        "UsageFactor=2 of QOS high" in n
        for n in said(
            edited("qos", "high|100|00:00:00|||cluster|||1.0", "high|100|00:00:00|||cluster|||2.0")
        )
    )
    other = "idle|1|00:00:00|||cluster|||2.000000|||||||||||||||||\n"
    assert not said(recorded(qos=recorded()["qos.txt"] + other))  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("sshare_l", f"{HEAD}\na||x|1\n", "RawShares"),
        ("sshare_l", f"{HEAD}\nroot||1|1\nroot|verylongnam+|1|1\n", "is truncated"),
        ("sshare_l", f"{HEAD}|FairShare\nroot|||1\n", "5 columns"),
        ("sshare_l", "Account User RawUsage\nroot  x 1\n", "line of dashes"),
        ("sshare_l", "Account|User|FairShare\nroot||\n", "no column RawShares, RawUsage"),
        ("sshare_l", f"{HEAD}\na|ann|1|1\n", "account 'a' of user 'ann' has no row of its own"),
        ("sprio", "JOBID PRIORITY AGE\n8 x 1\n", "must be a whole number"),
        ("sprio", "JOBID PRIORITY AGE\n8 1\n", "must have 3 columns, not 2"),
    ],
)
def test_bad_tables_are_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(sw.InputError, match=message):
        assembled(recorded(**{name: text}))


def _use(run_: Mapping[str, Any]) -> AssociationUse:
    associations = tuple(
        Association(account, user, parent, "", shares)
        for account, user, parent, shares in run_["associations"]
    )
    params = sw.Params(family="Slurm", select_parameters=run_["words"])
    rule = fairshare_rule(params.select_parameters)
    assert rule is not None
    problem = sw.instance([sw.Host("n", 1)], associations=associations, params=params)
    use = AssociationUse(problem, rule)
    use.advance = lambda now: None  # type: ignore[method-assign]
    return use


@pytest.mark.parametrize("name", list(USAGE))
def test_usage_and_factors_follow_a_live_slurm(name: str) -> None:
    """Starts, ends and computations as slurmctld logged them; sshare every 20 s beside it.

    Of the classic formula one factor differs: a job of the user that comes behind his first
    pending job in Slurm's list counts one computation later.
    """
    recording, compared, late = USAGE[name], 0, set()
    use, events = _use(recording), list(recording["events"])
    for time, usage, factors in recording["records"]:
        while events and events[0][0] <= time:
            at, what, *rest = events.pop(0)
            if what == "compute":
                use.compute(at)
            elif what == "start":
                job, user, account, rate = rest
                use.started(sw.Job(job, user=user, project=account), {"n": rate}, at, 0.0)
            else:
                use.finished(rest[0], at)
        for own, printed in zip(use.usage, usage, strict=True):
            assert printed - 0.01 <= own < printed + 1.01
        for number, (own, factor) in enumerate(zip(use.shares(), factors, strict=True)):
            if factor is not None:
                compared += 1
                if abs((own.factor or 0) - factor) > 1.5e-6:
                    late.add((use.tree.associations[number].title, time > 103))
    assert compared > 140
    assert late == ({("user daemon of account theory", True)} if name == "classic" else set())


def _random_tree(draw: random.Random) -> tuple[Association, ...]:
    items = [Association("root", "", "", "", 1, 0.0)]
    for number in range(draw.randint(1, 5)):
        parent = draw.choice([item.account for item in items])
        shares = draw.choice([None, 0, 1, 1, 2, 5])
        items.append(Association(f"a{number}", "", parent, "", shares))
    for number in range(draw.randint(1, 9)):
        account = draw.choice(items).account
        items.append(Association(account, f"u{number}", "", "", draw.choice([None, 0, 1, 1, 3])))
    return tuple(items)


def _with_usage(items: tuple[Association, ...], draw: random.Random) -> tuple[Association, ...]:
    """Usage of the users, and of all accounts above them."""
    tree, usage = AssociationTree.of(items), [0.0] * len(items)
    for number, item in enumerate(items):
        if item.user:
            for at in tree.chain(number):
                usage[at] += draw.choice([0, 0, 50, 50, 100, 777])
    return tuple(replace(item, usage=used) for item, used in zip(items, usage, strict=True))


@pytest.mark.parametrize("flags", [(), ("NO_FAIR_TREE",)])
def test_the_formula_and_the_decay_are_those_of_the_judge(flags: tuple[str, ...]) -> None:
    """Random trees and jobs: whole periods at once here, one by one in the judge."""
    for seed in range(60):
        draw = random.Random(seed)
        items = _with_usage(_random_tree(draw), draw)
        rule = FairshareRule(
            1000, draw.choice([0, 600, 5000]), 60, draw.choice([1, 3]), frozenset(flags),
            draw.random() < 0.5,
        )  # fmt: skip
        params = sw.Params(family="Slurm", select_parameters=f"{rule.text()},PriorityCalcPeriod=60")
        problem = sw.instance([sw.Host("n", 9)], associations=items, params=params)
        assert fairshare_rule(params.select_parameters) == rule
        use = AssociationUse(problem, rule)
        users = [item for item in items if item.user]
        events, runs = [], []
        for number in range(6):
            owner, start = draw.choice(users), draw.randint(0, 900)
            end = draw.choice([None, start + draw.randint(1, 700)])
            job = sw.Job(str(number), user=owner.user, project=owner.account)
            slots = draw.randint(1, 4)
            runs.append(HeldStretch(job, start, end, {"n": slots}))
            events.append((start, 1, job, slots))
            events += [] if end is None else [(end, 0, job, slots)]
        judge = FairshareOverTime(problem, runs)
        moments = sorted({*(event[0] for event in events), 60, 600, 2000})
        for time in moments:
            for at, starts, job, slots in sorted(events, key=lambda item: item[:2]):
                if at == time and starts:
                    use.started(job, {"n": slots}, at, 0.0)
                elif at == time:
                    use.finished(job.id, at)
            use.advance(time)
            if time % 60 and time != 2000:
                continue
            for owner in users:
                job = sw.Job("x", user=owner.user, project=owner.account)
                assert abs(use.moved(job) - judge.moved(job, time)) <= 1, (seed, time, owner)


WORDS = "PriorityCalcPeriod=300,PriorityWeightFairshare=1000,PriorityDecayHalfLife=86400"
ASSOCIATIONS = (
    Association("root", "", "", "", 1, 30000.0),
    Association("a", "", "root", "", 1, 10000.0),
    Association("a", "ann", "", "", 1, 10000.0),
    Association("b", "", "root", "", 1, 20000.0),
    Association("b", "bob", "", "", 1, 20000.0),
)


def cluster(words: str = WORDS, **changed: Any) -> sw.Instance:
    """Four CPUs, in use by bob for an hour; ann has used less, so her jobs come first."""

    def job(name: str, user: str, account: str, priority: int) -> sw.Job:
        return sw.Job(name, 4, user=user, project=account, queue="q", priority=priority,
                      run_limit=HOUR, submit=-60)  # fmt: skip

    return replace(
        sw.instance(
            [sw.Host("n1", 4)],
            queues=[sw.Queue("q")],
            params=sw.Params(
                family="Slurm", max_user_priority=2**31 - 1, mbd_sleep_time=60,
                select_parameters=words,
            ),
            running=[sw.RunningJob(job("0", "bob", "b", 0), 0, {"n1": 4})],
            pending=[job("1", "ann", "a", 1100), job("2", "ann", "a", 1100),
                     job("3", "bob", "b", 600), job("4", "bob", "b", 600)],
            associations=ASSOCIATIONS,
        ),
        **changed,
    )  # fmt: skip


def order(problem: sw.Instance) -> list[str]:
    result = sw.simulate(problem)
    assert not sw.validate(problem, result)
    return [item.job for item in sorted(result.jobs, key=lambda item: item.start or 0)]


@pytest.mark.parametrize(
    ("flags", "parts"), [("", (1000, 500)), (",PriorityFlags=NO_FAIR_TREE", (629, 396))]
)
def test_a_user_who_runs_falls_behind_the_other(flags: str, parts: tuple[int, int]) -> None:
    """As printed ann's two jobs come first; after the first she has used more than bob."""
    pending = tuple(
        replace(job, priority=100 + parts[job.user == "bob"]) for job in cluster().pending
    )
    assert order(cluster("", pending=pending)) == ["0", "1", "2", "3", "4"]
    quick = WORDS.replace("86400", "3600") + flags
    assert order(cluster(quick, pending=pending)) == ["0", "1", "3", "2", "4"]
    fixed = tuple(replace(job, has_fixed_priority=True) for job in pending)
    assert order(cluster(quick, pending=fixed)) == ["0", "1", "2", "3", "4"]
    assert not without_growth(cluster(quick).params).grows_priorities


def test_the_judge_sees_a_job_of_the_wrong_user_first() -> None:
    problem = cluster(WORDS.replace("86400", "3600"))
    wrong = sw.simulate(cluster(""), reservation="none")
    assert not sw.validate(problem, sw.simulate(problem, reservation="none"))
    found = sw.validate(problem, replace(wrong, instance=problem))
    assert {item.check for item in found} == {"order"}


def test_usage_is_billed_by_the_weights_of_the_partition() -> None:
    words = f"{WORDS},q:TRESBillingWeights=cpu/2+mem/0.5+node/3"
    rates = {}
    for flags in ("", ",PriorityFlags=MAX_TRES", ",PriorityFlags=MAX_TRES_GRES"):
        made = dispatch_policy(cluster(words + flags))
        assert isinstance(made, DispatchOrder)
        made.started(sw.Job("9", 2, user="ann", project="a", queue="q"), {"n1": 2}, 0, 10.0)
        assert made.priorities.use is not None
        made.priorities.advance(300)
        rates[flags] = made.priorities.use.usage[2]
    plain = 10000 * (1 - 0.693 / 86400) ** 300
    added = [
        round((used - plain) / (300 * (1 - 0.693 / 86400) ** 300), 6) for used in rates.values()
    ]
    assert added == [4 + 5 + 3, 5, 5]


def test_a_snapshot_continues_as_the_simulation() -> None:
    """Usage, factors and priorities of an instant; a checkpoint keeps them too."""
    problem = cluster(WORDS.replace("86400", "3600"))
    moment = snapshot_at(problem, HOUR + 600).instance
    assert moment.associations != problem.associations
    assert [item.factor for item in moment.associations if item.user] == [1.0, 0.5]
    assert {job.id: job.priority for job in moment.pending} == {"2": 1100, "3": 600, "4": 600}
    later = snapshot_at(problem, 2 * HOUR - 1).instance
    assert {job.id: job.priority for job in later.pending} == {"2": 600, "3": 1100, "4": 1100}
    assert order(moment)[:2] == ["1", "3"]
    made = dispatch_policy(problem)
    made.begin_cycle(900)
    state = json.loads(json.dumps(made.to_state()))
    again = dispatch_policy(replace(problem), state)
    assert isinstance(made, DispatchOrder)
    assert isinstance(again, DispatchOrder)
    assert again.priorities.use is not None
    assert again.priorities.use.to_state() == state["associations"]
    assert state["associations"]["computed_at"] == 900


def test_a_new_job_has_the_fairshare_of_its_user() -> None:
    """Row 14 of sprio without its age: 12102 - 24."""
    problem = instance_of(recorded())
    line = "sbatch -N4 --ntasks-per-node=6 --mem=100 -t20"
    found = submission(problem, line, user="man")
    assert found.job.priority == 12102 - 24
    assert found.job.project == "chem"
    said = "it has priority 12078, of its size, partition, QOS normal, TRES and fairshare"
    assert found.assumed == (said,)
    nice = submission(problem, f"{line} --nice=50 -A chem", user="man")
    assert (nice.job.priority, nice.job.unheeded, nice.quiet) == (12028, (), ())
    lowest = submission(problem, line, user="nobody")
    assert "lowest priority" in lowest.assumed[0]
    assert submission(problem, f"{line} --priority=7", user="man").job.has_fixed_priority


def test_sshare_is_shown_as_slurm_prints_it(tmp_path: Any) -> None:
    """Columns -P of the recording, but for the parts of usage since the last computation."""
    path = tmp_path / "now.yaml"
    path.write_text(sw.dump(instance_of(recorded())))
    from slotwise.cli.main import app
    from typer.testing import CliRunner

    def shown(*words: str) -> str:
        return CliRunner().invoke(app, ["show", "sshare", str(path), *words]).stdout

    rows = [line.split(",") for line in shown("-l", "--format", "csv").splitlines()]
    printed = [line.split("|") for line in recorded()["sshare_l.txt"].splitlines()]
    for own, row in zip(rows[1:], printed[1:], strict=True):
        assert own[:4] == [row[0].strip(), *row[1:4]]
        assert own[4] == row[4]
        assert own[6] == row[7]
    assert shown("man", "--format", "json").count('"user": "man"') == 1
    assert "   theory  daemon          2" in shown()
    assert "0.090909" in shown("--at", "+10m")
    code, text = run("show", "sshare", str(path), "nobody")
    assert code == 2
    assert "nobody" in text


def test_explain_names_the_parts_of_a_priority() -> None:
    problem = instance_of(recorded())
    jobs = {job.id: job for job in problem.pending}
    found = multifactor_rank(problem, jobs["14"])
    assert found is not None
    assert str(found) == (
        "has priority 12102, rank 1 of 8 in partition main: fairshare 9090 (FairShare 0.909091 of "
        f"user man of account chem, LevelFS {found.level:.3f}), age {found.age}, job size, "
        f"partition, QOS and the other parts {found.others}"
    )
    assert "set by an administrator" in str(multifactor_rank(problem, jobs["17"]))
    own = sw.explain(cluster(), "3")
    assert "behind 2 with 1100" in str(own.multifactor)
    assert own.to_dict()["multifactor"]["fairshare"] == 500
    assert multifactor_rank(cluster(""), cluster("").pending[0]) is None


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([{"account": "a", "parent": "b"}], "unknown account 'b'"),
        ([{"account": "a", "user": "u"}], "account 'a' has no association of its own"),
        ([{"account": "a"}, {"account": "a"}], "a is given twice"),
        ([{"account": "a", "parent": "b"}, {"account": "b", "parent": "a"}], "its own ancestor"),
        ([{"account": "a"}, {"account": "a", "user": "u", "parent": "a"}], "remove a"),
        ([{"account": f"a{n}", **({"parent": f"a{n - 1}"} if n else {})} for n in range(103)],
         "nested more than 100 levels deep"),
    ],
)  # fmt: skip
def test_bad_associations_are_refused(items: list[dict[str, str]], message: str) -> None:
    document = {"format": "slotwise/1", "hosts": [{"name": "n", "slots": 1}],
                "params": {"family": "Slurm"}, "associations": items}  # fmt: skip
    with pytest.raises(sw.InputError, match=message):
        sw.from_document(document)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("params.HIST_HOURS", "LSF's fairshare, which Slurm does not have"),
        ("USER_SHARES", "LSF's fairshare, which Slurm does not have"),
        ("host_partitions.p.USER_SHARES", "LSF's fairshare, which Slurm does not have"),
        ("PriorityWeightFairshare", "cannot be varied"),
        ("partitions.q.PriorityJobFactor", "cannot be varied"),
        ("associations.a.shares", "cannot be varied"),
    ],
)
def test_a_study_refuses_settings_of_fairshare(key: str, message: str) -> None:
    made, problems = changed(cluster(), [Setting(key, "1")])
    assert made is None
    assert [message in problem.message for problem in problems] == [True]
    assert changed(cluster(), [Setting("partitions.q.PriorityTier", "7")])[1] == []
