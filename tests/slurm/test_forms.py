"""Fields that versions of Slurm print, beside those of the recordings: read, named or inert."""

from __future__ import annotations

import json
from typing import Any

import pytest
import slotwise as sw
from submitted import submission

from tests.slurm.test_enumerated import FORMS, Asked, amount, listings, shown
from tests.slurm.test_import import instance_of

pytestmark = pytest.mark.behaviour("SLU-01")
RUNNING = [Asked(1, 2, 60, held=(("n1", 2),)), Asked(2, 3, 60, held=(("n3", 3),))]
PENDING = [Asked(10, 4, 30, is_fixed=True), Asked(11, 3, 30, required="n1")]
#: What scontrol and JSON (v0.0.39 to v0.0.45) print of some jobs and nodes, without a say.
INERT = (
    "BurstBufferState=x ClusterFeatures=(null) ContainerID=c CronJob=Yes CrontabSpec=x "
    "FedOrigin=a FailedNode=n9 GresEnforceBind=Yes KillOnInvalidDependent=Yes OOMKillStep=0 "
    "SELinuxContext=x SLUID=s1 StepMgrEnabled=Yes MemUpdate=1%@2min ThreadSpec=0"
)
RESERVATION = (
    f"ReservationName=m StartTime={shown(7200)} EndTime={shown(10800)} Nodes=n3 NodeCnt=1 "
    "Flags=MAINT TRES=cpu=4 AllowedPartitions=(null) QOS=(null) Users=root Groups=(null) "
    "Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Comment=a b\n"
)


def texts_with(form: str, job: int = 0, more: str = "", **fields: Any) -> dict[str, str]:
    """The queue in a form, one job with more fields; of text: more."""
    texts = listings(RUNNING, PENDING, form)
    if "jobs.json" not in texts:
        lines = texts["jobs.txt"].splitlines()
        lines = [f"{line} {more}" if f"JobId={job} " in line else line for line in lines]
        return {**texts, "jobs.txt": "\n".join(lines)}
    document = json.loads(texts["jobs.json"])
    for item in document["jobs"]:
        item.update(fields if item["job_id"] == job else {})
    return {**texts, "jobs.json": json.dumps(document)}


def starts_of(texts: dict[str, str], method: str = "optimal") -> dict[str, tuple[int | None, bool]]:
    plan = sw.plan(instance_of(texts), method, effort=0.5)  # type: ignore[arg-type]
    return {item.job: (item.start, item.proved) for item in plan}


@pytest.mark.parametrize("form", FORMS)
def test_inert_fields_take_no_proof(form: str) -> None:
    plain = starts_of(listings(RUNNING, PENDING, form))
    more = {"container_id": "c", "failed_node": "n9", "flags": ["CRON_JOB"]}
    texts = texts_with(form, 10, INERT, **more)
    texts["nodes.txt"] = texts["nodes.txt"].replace(
        "Weight=1", "BcastAddr=n CpuBind=cores TLSCertTokenSet=no Weight=1"
    )
    texts["partition.txt"] = texts["partition.txt"].replace(
        "State=UP", "PowerDownOnIdle=NO State=UP"
    )
    assert starts_of({**texts, "reservation.txt": RESERVATION}) == plain
    assert all(proved for _, proved in plain.values())


@pytest.mark.parametrize("form", FORMS)
def test_a_choice_of_nodes_is_named_for_its_job_alone(form: str) -> None:
    texts = texts_with(form, 11, "SpreadJob=Yes", flags=["SPREAD_JOB", "DEPENDENT"])
    proved = {job for job, (_, proved) in starts_of(texts).items() if proved}
    assert proved == {"10"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("nodes", [2, 1])
def test_a_fixed_number_of_nodes_has_the_named_one(form: str, nodes: int) -> None:
    """-w n3 with two tasks a node: n3 has one free CPU for an hour."""
    job = Asked(10, 2 * nodes, 30, nodes, is_fixed=True, per_node=2, required="n3")
    texts = listings(RUNNING, [job], form)
    for method in ("slurm", "optimal"):
        assert starts_of(texts, method)["10"][0] == 3600, method


@pytest.mark.parametrize("form", FORMS)
def test_resources_of_tasks(form: str) -> None:
    """CPUs of tasks are -c, licences of tasks are licences: 3 of 2."""
    cpus = texts_with(form, 10, "TresPerTask=cpu=1", tres_per_task="cpu=1")
    assert starts_of(cpus) == starts_of(listings(RUNNING, PENDING, form))
    few = texts_with(form, 11, "TresPerTask=license/lic=1", tres_per_task="license/lic=1")
    assert "11" not in starts_of(few)
    enough = {**few, "licenses.txt": few["licenses.txt"].replace("Total=2", "Total=3")}
    assert starts_of(enough) == starts_of(listings(RUNNING, PENDING, form))


def test_a_reservation_of_a_qos_is_for_the_jobs_that_are_in_it() -> None:
    changed = RESERVATION.replace("QOS=(null) Users=root", "QOS=high Users=root")
    texts = listings(RUNNING, PENDING, "26.05.3")
    users = [
        instance_of({**texts, "r.txt": text}).advance_reservations[0].users
        for text in (RESERVATION, changed)
    ]
    assert users == [("root",), ("all",)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("state", ["BLOCKED", "EXTERNAL"])
def test_nodes_that_slurm_does_not_schedule(form: str, state: str) -> None:
    texts = listings(RUNNING, PENDING[:1], form)
    texts["nodes.txt"] = texts["nodes.txt"].replace("State=IDLE", f"State=IDLE+{state}")
    found = instance_of(texts)
    assert [item.status for item in found.cluster.hosts] == ["ok", "closed_Adm", "ok"]
    assert starts_of(texts)["10"] == (3600, False)
    assert any(f"n2 is {state}" in item.what for item in found.omissions)


@pytest.mark.parametrize(
    ("form", "jobs", "exclusive"),
    [("v0.0.42", 0, None), ("v0.0.42", 1, None), ("v0.0.45", 0, "NO"), ("v0.0.45", 0, "NODE")],
)
def test_an_exclusive_partition_by_json_alone(form: str, jobs: int, exclusive: str | None) -> None:
    """Before 26.05 its JSON has 0 jobs on a CPU and no word for it."""
    texts = listings(RUNNING, [], form)
    del texts["partition.txt"]
    own = {"state": ["UP"], **({} if exclusive is None else {"exclusive": exclusive})}
    item = {
        "name": "main", "nodes": {"configured": "n[1-3]"}, "partition": own,
        "maximums": {"oversubscribe": {"jobs": jobs, "flags": []}},
    }  # fmt: skip
    texts["partition.json"] = json.dumps({"partitions": [item]})
    alone = exclusive == "NODE" or (exclusive is None and jobs == 0)
    asked = sw.ask(instance_of(texts), "sbatch -n 1 -t 5 -w n1 --mem 1 job.sh")
    assert (asked.start == 0) is not alone


#: Fields of a node by fact, of text and of JSON.
FIELDS_OF_NODES = {
    "CPUs": (("CPUTot", "CPUEfctv"), ("cpus", "effective_cpus")),
    "memory": (("RealMemory",), ("real_memory",)),
    "threads": (("ThreadsPerCore",), ("threads",)),
    "generic resources": (("Gres",), ("gres",)),
    "features": (("ActiveFeatures",), ("active_features", "features")),
    "": (("NodeName",), ("name",)),
}


def nodes_without(texts: dict[str, str], fact: str, names: tuple[str, ...], form: str) -> None:
    """Print the nodes as text or JSON, these without the fields of a fact; "": without records."""
    lines, listed = [], []
    for line in texts.pop("nodes.txt").splitlines():
        words = dict(word.split("=", 1) for word in f"{line} Gres=(null) ActiveFeatures=a".split())
        numbers = {
            field: int(words[word])
            for field, word in {
                "cpus": "CPUTot", "effective_cpus": "CPUEfctv", "real_memory": "RealMemory",
                "threads": "ThreadsPerCore", "cores": "CoresPerSocket", "alloc_cpus": "CPUAlloc",
                "alloc_memory": "AllocMem", "weight": "Weight",
            }.items()
        }  # fmt: skip
        record = {
            "name": words["NodeName"], "state": [words["State"]], "partitions": ["main"],
            "gres": "", "active_features": ["a"], "features": ["a"], **numbers,
        }  # fmt: skip
        if words["NodeName"] in names:
            of_text, of_json = FIELDS_OF_NODES[fact]
            words = {name: value for name, value in words.items() if name not in of_text}
            record = {name: value for name, value in record.items() if name not in of_json}
        lines.append(" ".join(f"{name}={value}" for name, value in words.items()))
        listed.append(record)
    if form == "text":
        texts["nodes.txt"] = "\n".join(line for line in lines if "NodeName" in line)
    else:
        meta = {"slurm": {"release": "26.05.3"}, "plugin": {"data_parser": "data_parser/v0.0.45"}}
        known = [item for item in listed if "name" in item]
        texts["nodes.json"] = json.dumps({"meta": meta, "nodes": known})


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("names", [("n2",), ("n1", "n2", "n3")])
@pytest.mark.parametrize(
    ("fact", "more"),
    [
        ("CPUs", {}),
        ("memory", {}),
        ("generic resources", {"tres_per_node": "gres/gpu:1"}),
        ("features", {"features": "b"}),
        ("", {}),
    ],
)
def test_an_amount_that_no_listing_gives_is_no_reason_against_a_node(
    fact: str, more: dict[str, str], names: tuple[str, ...], form: str
) -> None:
    """A job of the whole node n2 was called impossible, and one that fits elsewhere was proved."""
    if fact == "" and names != ("n2",):
        return  # a listing without nodes is refused
    jobs = [Asked(10, 4, 30, required="n2", is_fixed=True), Asked(11, 3, 30), Asked(12, 12, 9, 3)]
    texts = listings(RUNNING, jobs, "v0.0.45")
    document = json.loads(texts["jobs.json"])
    for item in document["jobs"]:
        item.update(more if item["job_id"] >= 10 else {})
    texts["jobs.json"] = json.dumps(document)
    nodes_without(texts, fact, names, form)
    found = instance_of(texts)
    rows = sw.outlook(found)
    for job in ("10", "11", "12"):
        row = rows[job]
        assert (row.state == "impossible", row.proved) == (False, False), (job, row)
    named = fact or "no input describes n2"
    assert any(named in item.what and item.touches("10") for item in found.omissions)


@pytest.mark.parametrize("form", ["text", "json"])
def test_cores_whose_threads_no_listing_gives_take_the_proof(form: str) -> None:
    """On two threads a core, a job of one CPU would have two."""
    for fact, proved in (("threads", False), ("features", True)):
        texts = listings(RUNNING, [Asked(10, 1, 30, excluded="n1")], "v0.0.45")
        texts["config.txt"] = texts["config.txt"].replace("CR_CPU_", "CR_CORE_")
        nodes_without(texts, fact, ("n2",), form)
        assert sw.outlook(instance_of(texts))["10"].proved is proved


@pytest.mark.parametrize("form", FORMS)
def test_a_job_has_only_nodes_with_its_threads_per_core(form: str) -> None:
    """Node n3 alone has two threads a core, and is full for an hour."""
    for threads, start in ((0, 0), (1, 0), (2, 3600), (3, None)):
        texts = listings([Asked(1, 4, 60, held=(("n3", 4),))], [Asked(10, 1, 30)], form)
        if "jobs.json" in texts:
            document = json.loads(texts["jobs.json"])
            document["jobs"][-1]["threads_per_core"] = amount(threads)
            texts["jobs.json"] = json.dumps(document)
        else:
            texts["jobs.txt"] = texts["jobs.txt"].rstrip() + f" ReqB:S:C:T=0:0:*:{threads or '*'}\n"
        before, name, after = texts["nodes.txt"].partition("NodeName=n3")
        texts["nodes.txt"] = before + name + after.replace("ThreadsPerCore=1", "ThreadsPerCore=2")
        found = instance_of(texts)
        row = sw.outlook(found)["10"]
        assert (row.possible, row.proved) == (start, start is not None), threads
        option = f" --threads-per-core={threads}" if threads else ""
        if start is None:
            with pytest.raises(sw.InputError, match="no node has 3 threads in a core"):
                submission(found, f"sbatch -n1{option}")
        else:
            new = submission(found, f"sbatch -n1 --mem=10{option}").job
            assert ("hname != n1 && hname != n2" in new.res_req[0]) == (threads == 2)
        texts["nodes.txt"] = texts["nodes.txt"].replace("ThreadsPerCore=1", "")
        unread = instance_of(texts)
        assert sw.outlook(unread)["10"].proved is (threads < 2)
        for problem in (unread, sw.from_document(sw.to_document(unread))):
            told = str(submission(problem, f"sbatch -n1 --mem=10{option}"))
            assert ("no input gives the threads of n1" in told) == (threads > 1)


@pytest.mark.parametrize("options", ["", ",CR_ONE_TASK_PER_CORE", ",CR_CORE_DEFAULT_DIST_BLOCK"])
def test_a_core_for_each_task_takes_the_proof_of_jobs_that_may_need_more_cores(
    options: str,
) -> None:
    """The nodes have two threads a core; an option says nothing of what is allocated together."""
    named = "ONE_TASK" in options
    for asked, request, is_touched in (
        (Asked(10, 4, 30), "-n4", named),
        (Asked(10, 1, 30), "-n1", False),  # it has the whole core of its task
    ):
        for unit, slots in (("CORE", 2), ("CPU", 1), ("SOCKET", 4)):
            texts = listings([], [asked], "26.05.3")
            nodes = texts["nodes.txt"].replace("ThreadsPerCore=1", "ThreadsPerCore=2")
            texts["nodes.txt"] = nodes.replace("CoresPerSocket=4", "CoresPerSocket=2")
            texts["config.txt"] = texts["config.txt"].replace(
                "CR_CPU_MEMORY", f"CR_{unit}_MEMORY{options}"
            )
            found = instance_of(texts)
            may_need_more = is_touched or (named and unit == "CPU")
            assert sw.outlook(found)["10"].proved is not may_need_more, (unit, request)
            again = sw.from_document(sw.to_document(found))
            for more, is_named in (("", may_need_more), (" --threads-per-core=2", False)):
                told = submission(again, f"sbatch {request} --mem=10{more}")
                assert ("CR_ONE_TASK_PER_CORE" in str(told)) is is_named, (unit, request, more)
            if request == "-n1":
                assert found.pending[0].slots == slots
