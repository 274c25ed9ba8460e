"""The tables of bhpart, bqueues and bugroup, and the series of priorities and shares."""

import csv
import io
import json
from pathlib import Path

import pytest
from fairshare.lab import Lab, cluster
from slotwise import Instance, Job, Queue, UserGroup, example, load
from slotwise.cli.main import app
from slotwise.solver.fairshare.dispatch_order import order_policy
from slotwise.solver.fairshare.reports import ShareSeries, share_levels
from typer.testing import CliRunner


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(app, ("show", *arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.behaviour("VEW-04", "FSH-08")
@pytest.mark.parametrize("view", [("bhpart",), ("bqueues", "-l")])
def test_who_only_waits_has_an_account_where_default_gives_one(
    view: tuple[str, ...], tmp_path: Path
) -> None:
    shares = {
        "bhpart": "host_partitions: [{name: P, HOSTS: h, USER_SHARES: '[default, 1]'}]",
        "bqueues": "queues: [{QUEUE_NAME: default, FAIRSHARE: 'USER_SHARES[[default, 1]]'}]",
    }
    file = tmp_path / "x.yaml"
    file.write_text(
        f"format: slotwise/1\nhosts: [{{name: h, slots: 1}}]\n{shares[view[0]]}\n"
        "running: [{id: r, user: ann, start: 0, run_limit: 1h, allocation: 1*h}]\n"
        "pending: [{id: p, user: bob, slots: 1, run_limit: 10m}]\n"
    )
    lines = shown(view[0], str(file), *view[1:]).splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("USER/GROUP"))
    assert sorted(line.split()[0] for line in lines[first + 1 : first + 3]) == ["ann", "bob"]


@pytest.mark.behaviour("VEW-04", "FSH-02", "FSH-10")
def test_bhpart_prints_the_documents_partition():
    """The documents' group rows (1.867, 0.775) are of another moment than their usage."""
    assert shown("bhpart", "--example", "fairshare-partition", "-r") == (
        "HOST_PARTITION_NAME: Partition1\n"
        "HOSTS: HostA\n"
        "\n"
        "SHARE_INFO_FOR: Partition1/\n"
        "USER/GROUP  SHARES  PRIORITY  STARTED  RESERVED  CPU_TIME  RUN_TIME\n"
        "group1          40     1.866        5         0      48.4     17618\n"
        "group2          20     0.772        6         0     607.7     24664\n"
        "\n"
        "SHARE_INFO_FOR: Partition1/group2/\n"
        "USER/GROUP  SHARES  PRIORITY  STARTED  RESERVED  CPU_TIME  RUN_TIME\n"
        "user1            8     1.144        1         0       9.6      5108\n"
        "user2            2     0.667        0         0       0.0         0\n"
        "others           1     0.046        5         0     598.1     19556\n"
    )
    top = shown("bhpart", "--example", "fairshare-partition")
    assert "group2" in top
    assert "user1" not in top


@pytest.mark.behaviour("VEW-03", "FSH-02", "FSH-09")
@pytest.mark.parametrize("queue", ["normal", "short", "license"])
def test_bqueues_shows_the_same_shares_in_every_queue_of_a_set(queue):
    text = shown("bqueues", "--example", "fairshare-cross-queue", "-l", "--name", queue)
    assert "SCHEDULING POLICIES:  FAIRSHARE\n" in text
    assert "FAIRSHARE_QUEUES:  normal short license\n" in text
    assert ("DISPATCH_ORDER:  QUEUE\n" in text) == (queue == "normal")
    assert "USER_SHARES:  [user1, 100] [default, 1]\n" in text
    assert (
        f"SHARE_INFO_FOR: {queue}/\n"
        "USER/GROUP  SHARES  PRIORITY  STARTED  RESERVED  CPU_TIME  RUN_TIME  ADJUST\n"
        "user1          100     9.645        2         0       0.2      7034   0.000\n"
    ) in text


@pytest.mark.behaviour("VEW-03")
def test_bqueues_counts_slots():
    lines = shown("bqueues", "--example", "fairshare-cross-queue").splitlines()
    found = [" ".join(line.split()) for line in lines]
    assert found[0] == "QUEUE_NAME PRIO STATUS MAX JL/U JL/P JL/H NJOBS PEND RUN SUSP"
    assert found[2] == "short 40 Open:Active - 4 - - 2 0 2 0"
    assert found[3] == "license 50 Open:Active 10 - - - 2 2 0 0"


@pytest.mark.behaviour("VEW-03")
def test_bqueues_long_shows_limits_policies_and_pools(tmp_path):
    file = tmp_path / "queues.yaml"
    file.write_text(
        "format: slotwise/1\n"
        "hosts: [{name: a, slots: 4}]\n"
        "params: {MBD_SLEEP_TIME: 30, DEFAULT_QUEUE: big}\n"
        "queues:\n"
        "  - {name: big, PRIORITY: 9, RESOURCE_RESERVE: 'MAX_RESERVE_TIME[20]', BACKFILL: Y,\n"
        "     EXCLUSIVE: Y, RUNLIMIT: 30 60, HOSTS: a+2, DESCRIPTION: long jobs,\n"
        "     thresholds: {mem: 100/50}, RES_REQ: 'select[mem>1]', SLOT_POOL: P, SLOT_SHARE: 50}\n"
        "  - {name: small, SLOT_RESERVE: 'MAX_RESERVE_TIME[5]'}\n"
    )
    text = shown("bqueues", str(file), "-l")
    for line in (
        "  -- long jobs\n",
        "SCHEDULING POLICIES:  BACKFILL EXCLUSIVE RESOURCE_RESERVE\n",
        "Maximum resource reservation time: 600 seconds\n",
        "Maximum slot reservation time: 150 seconds\n",
        "RUNLIMIT: 30 min (default)\n",
        "RUNLIMIT: 60 min (maximum)\n",
        "HOSTS: a+2\n",
        "RES_REQ:  select[mem>1]\n",
        "SLOT_SHARE: 50%\nSLOT_POOL: P\n",
    ):
        assert line in text
    assert text.split("loadSched")[1].split()[:11] == ["-"] * 10 + ["100"]


@pytest.mark.behaviour("VEW-05")
def test_bugroup():
    text = shown("bugroup", "--example", "fairshare-groups", "-l", "--name", "group1")
    assert text == "GROUP_NAME: group1\nUSERS:  group3/ user6\nSHARES: [group3,3] [user6,1]\n"
    short = shown("bugroup", "--example", "fairshare-groups").splitlines()
    assert short[1].split() == ["group3", "user1", "user5"]


@pytest.mark.behaviour("VEW-03", "VEW-04", "VEW-05")
def test_json_and_csv():
    (part,) = json.loads(shown("bhpart", "--example", "fairshare-partition", "--format", "json"))
    assert part["levels"][0]["rows"][0]["run_time"] == 17618
    rows = list(
        csv.DictReader(
            io.StringIO(
                shown("bhpart", "--example", "fairshare-partition", "-r", "--format", "csv")
            )
        )
    )
    assert [row["account"] for row in rows] == ["group1", "group2", "user1", "user2", "others"]
    queues = json.loads(shown("bqueues", "--example", "fairshare-pool", "--format", "json"))
    assert [(queue["QUEUE_NAME"], queue["slot_share"]) for queue in queues][2] == ("Genova", 20)
    groups = shown("bugroup", "--example", "fairshare-groups", "--format", "csv").splitlines()
    assert groups[1] == "group3,user1 user5,"


def test_an_unknown_name_is_an_error_with_the_nearest_one():
    result = CliRunner().invoke(
        app, ["show", "bqueues", "--example", "fairshare-pool", "--name", "Rome"]
    )
    assert str(result.exception) == "unknown queue 'Rome' (did you mean 'Roma'?)"
    assert result.stdout == ""
    empty = shown("bhpart", "--example", "headline")
    assert empty == "No host partition is configured.\n"
    assert shown("bugroup", "--example", "headline") == "No user group is configured.\n"


@pytest.mark.behaviour("VEW-04")
def test_levels_come_highest_priority_first():
    order = order_policy(load(example("fairshare-partition")))
    levels = share_levels(order.trees["Partition1"], 0, recursive=True)
    assert [level.path for level in levels] == ["Partition1/", "Partition1/group2/"]
    for level in levels:
        priorities = [row.priority for row in level.rows]
        assert priorities == sorted(priorities, reverse=True)


@pytest.mark.behaviour("VEW-04")
def test_the_series_is_long_csv():
    groups = (UserGroup("g", ("b", "c"), (("default", 1),)),)
    queue = Queue("q", user_shares=(("a", 3), ("g", 1)))
    pending = tuple(Job(str(i), user=u, queue="q", run_time=100) for i, u in enumerate("aabc"))
    lab = Lab(Instance(cluster(3), (queue,), groups=groups, pending=pending))
    series, top = ShareSeries(), ShareSeries(depth=1)
    for now in (0, 60):
        lab.cycle(now)
        series.record(lab.order, now)
        top.record(lab.order, now)
    rows = list(csv.DictReader(io.StringIO(series.to_csv())))
    assert list(rows[0]) == ["time", "policy", "account", "priority", "slots", "share", "target"]
    assert [row["account"] for row in rows[:4]] == ["q/a", "q/g", "q/g/b", "q/g/c"]
    first = rows[0]
    assert (first["slots"], first["share"], first["target"]) == ("2", "0.666667", "0.75")
    assert rows[2]["target"] == "0.125"
    assert sum(float(row["share"]) for row in rows[:2]) == pytest.approx(1)
    assert {row["time"] for row in rows} == {"0", "60"}
    assert {point.account for point in top.points} == {"q/a", "q/g"}


def test_the_series_of_a_pool():
    lab = Lab(load(example("fairshare-pool")))
    lab.run_time = lambda job: 600
    series = ShareSeries()
    lab.cycle(0)
    series.record(lab.order, 0)
    found = [(p.account, p.slots, round(p.share, 3), p.target) for p in series.points]
    assert found == [
        ("poolA/Roma", 8, 0.533, 0.5),
        ("poolA/Verona", 5, 0.333, 0.3),
        ("poolA/Genova", 2, 0.133, 0.2),
    ]


@pytest.mark.behaviour("VEW-04")
def test_simulate_writes_the_series(tmp_path):
    file = tmp_path / "shares.csv"
    also = tmp_path / "shares.json"
    for name in (file, also):
        command = ["simulate", "--example", "fairshare-chargeback", "--shares", str(name)]
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
        assert result.stdout.split()[:2] == ["input", "fairshare-chargeback"]
    rows = list(csv.DictReader(file.open()))
    first = {row["account"]: row["slots"] for row in rows if row["time"] == "0"}
    assert first == {"big_servers/eng_users": "7", "big_servers/acct_users": "3"}
    points = json.loads(also.read_text())
    assert points[0] == {
        "time": 0, "policy": "big_servers", "account": "big_servers/eng_users",
        "priority": 0.291667, "slots": 7, "share": 0.7, "target": 0.7,
    }  # fmt: skip
    assert [list(map(str, point.values())) for point in points] == [
        list(row.values()) for row in rows
    ]


@pytest.mark.behaviour("FSH-06")
def test_the_cycle_log_says_why_as_the_guide_prints_it(tmp_path):
    guide = (Path(__file__).parents[2] / "docs" / "fairshare.md").read_text().splitlines()
    file = tmp_path / "log.jsonl"
    for name, job in (("fairshare-groups", "job5"), ("fairshare-pool", "r1")):
        command = ["simulate", "--example", name, "--cycle-log", str(file)]
        assert CliRunner().invoke(app, command).exit_code == 0
        first = json.loads(file.read_text().splitlines()[0])
        assert first["started"][0] == job
        assert first["why"][job] in guide


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give a log, an instance file or --example NAME"),
        (
            ["x.yaml", "--example", "fairshare-pool"],
            "--example fairshare-pool: is already the instance",
        ),
    ],
)
def test_simulate_takes_a_file_or_an_example(arguments, said):
    result = CliRunner().invoke(app, ["simulate", *arguments])
    assert str(result.exception).startswith(said)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("headline", ["--shares", "s.csv"], "--shares needs fairshare, host partitions or slot"),
        ("fairshare-pool", ["--shares", "s.txt"], "must be a name that ends in one of .csv"),
        ("fairshare-pool", ["--shares", "s.csv", "--resume", "c.json"],
         "--shares cannot be combined with --resume"),
    ],
)  # fmt: skip
def test_a_series_that_cannot_be_whole_is_refused(tmp_path, monkeypatch, name, options, message):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["simulate", str(example(name)), *options])
    assert message in str(result.exception)
    assert list(tmp_path.iterdir()) == []
