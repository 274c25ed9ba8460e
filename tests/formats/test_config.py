"""``config:`` in an instance, keys as LSF's documents spell them, and files of another kind."""

from __future__ import annotations

import gzip
from pathlib import Path

import jsonschema
import pytest
import yaml
from lsf.lab import queue, write
from slotwise import InputError, load, loads
from slotwise.model.formats import json_schema, load_with_warnings
from slotwise.model.sources.acct import read_acct
from slotwise.model.sources.swf import read_swf
from slotwise.model.sources.trace import load_pool

pytestmark = pytest.mark.behaviour("CFG-01")


def _file(root: Path, text: str) -> Path:
    file = root / "f.yaml"
    file.write_text("format: slotwise/1\n" + text)
    return file


def test_a_document_joins_its_configuration(tmp_path: Path) -> None:
    parameters = "Begin Parameters\nMBD_SLEEP_TIME = 10\nHIST_HOURS = 3\nEnd Parameters\n"
    write(tmp_path / "conf", {"lsb.queues": queue(RUNLIMIT=30), "lsb.params": parameters})
    file = _file(
        tmp_path,
        "config: ./conf\nparams: {HIST_HOURS: 7}\nlimits: [{name: l, SLOTS: 3}]\n"
        "pending: [{id: 1, queue: q}]\n",
    )
    instance = load(file)
    assert (instance.params.mbd_sleep_time, instance.params.hist_hours) == (10, 7)
    assert instance.queues[0].run_limit_max == 1800
    assert len(instance.cluster.hosts) == 3
    replaced = _file(tmp_path, "config: conf\nqueues: [{name: mine}]\n")
    assert [queue.name for queue in load(replaced).queues] == ["mine"]


def test_conditions_go_by_the_document_s_time(tmp_path: Path) -> None:
    text = queue(UJOB_LIMIT="1\n#if time(20:00-6:00)\nQJOB_LIMIT = 5\n#endif")
    write(tmp_path / "conf", {"lsb.queues": text})
    for now, limit in (("2026-03-02T09:00:00Z", None), ("2026-03-02T21:00:00Z", 5)):
        assert load(_file(tmp_path, f"config: conf\nnow: {now}\n")).queues[0].queue_slots == limit
    later = "config: conf\norigin: 2026-03-02T09:00:00Z\nnow: 12h\n"
    assert load(_file(tmp_path, later)).queues[0].queue_slots == 5
    with pytest.raises(InputError, match="needs the current time: give --at"):
        load(_file(tmp_path, "config: conf\n"))


def test_problems_stand_in_the_file_they_come_from(tmp_path: Path) -> None:
    write(tmp_path / "conf", {"lsb.queues": queue(PRIORITY="high", RUNLIMIT="soon")})
    file = _file(tmp_path, "config: conf\npending:\n- {id: 1, queue: q, slots: 0}\n")
    with pytest.raises(InputError) as caught:
        load(file)
    places = [(Path(p.source).name, p.line, p.path) for p in caught.value.problems]
    assert places == [
        ("lsb.queues", 3, "Queue.PRIORITY"),
        ("lsb.queues", 4, "Queue.RUNLIMIT"),
        ("f.yaml", 4, "pending[0].slots"),
    ] or places[1:] == [("f.yaml", 4, "pending[0].slots")]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("./no", "f.yaml:2: config: directory './no' does not exist"),
        ("{directory: ./no}", "f.yaml:2: config: directory './no' does not exist"),
        ("{directory: conf, clutser: c}", "f.yaml:2: config: clutser: unknown key 'clutser'"),
        ("{cluster: c}", "f.yaml:2: config: directory: the key 'directory' is missing"),
        ("[conf]", "f.yaml:2: config: must be a mapping of keys to values"),
        ("{directory: conf, cluster: d}", "conf: has no lsf.cluster.d"),
    ],
)
def test_a_wrong_config(tmp_path: Path, config: str, message: str) -> None:
    write(tmp_path / "conf", {})
    with pytest.raises(InputError) as caught:
        load(_file(tmp_path, f"config: {config}\n"))
    assert message in str(caught.value)


FRAGMENTS = """
format: slotwise/1
hosts:
- {HOST_NAME: hostA, MXJ: 4, JL/U: (), DISPATCH_WINDOW: ()}
user_groups:
- {GROUP_NAME: GroupB, GROUP_MEMBER: (User1 User2), USER_SHARES: ()}
- Group_Name: GroupC
  Group_Member: (User3 User4)
  USER_SHARES: ([User3, 3] [User4, 4])
users: [{USER_NAME: User1, MAX_JOBS: 3, JL/P: -}]
host_partitions:
- HPART_NAME: GlobalPartition
  HOSTS: all
  USER_SHARES: "[GroupC, 3] [default, 1]"
queues: [{QUEUE_NAME: q, RUNLIMIT: "-", DESCRIPTION: "-"}]
"""


def test_keys_and_cells_as_the_documents_have_them() -> None:
    instance = loads(FRAGMENTS)
    assert [group.user_shares for group in instance.groups] == [(), (("User3", 3), ("User4", 4))]
    assert instance.groups[1].members == ("User3", "User4")
    assert instance.partitions[0].name == "GlobalPartition"
    assert (instance.users[0].max_slots, instance.users[0].processor_slots) == (3, None)
    assert (instance.queues[0].run_limit_max, instance.queues[0].description) == (None, "-")
    assert instance.cluster.hosts[0].user_slots is None
    validator = jsonschema.Draft202012Validator(json_schema())
    document = yaml.safe_load(FRAGMENTS)
    document["user_groups"][1] = {"GROUP_NAME": "GroupC", "GROUP_MEMBER": "User3"}
    del document["queues"], document["users"], document["hosts"][0]["JL/U"]
    validator.validate(document)
    del document["user_groups"][1]["GROUP_NAME"]
    assert not validator.is_valid(document)


EVENTS = '"JOB_NEW" "10.1" 1600000000 101 0 33816658 1\n' * 300
ACCT = '"JOB_FINISH" "10.1" 1600000000 101 0 33816658 1\n'
SWF = "; Version: 2.2\n1 0 0 10 1 -1 -1 1 10 -1 1 1 1 1 1 -1 -1 -1\n"
CONF = "# comment\n\nBegin Queue\nQUEUE_NAME = q\nEnd Queue\n"
JSON = '{"COMMAND":"bjobs","JOBS":1,"RECORDS":[]}'
INSTANCE = "format: slotwise/1\nhosts: [{name: a, slots: 1}]\n"


#: What messages call the kinds.
KINDS = {
    "events": "LSF's event log (lsb.events)",
    "acct": "LSF's accounting log (lsb.acct)",
    "swf": "a log in the Standard Workload Format",
    "configuration": "a file of LSF's configuration",
    "lsf.conf": "lsf.conf",
    "pool": "a snapshot of a pool of processors",
    "bjobs": "output of bjobs",
    "bhosts": "output of bhosts",
    "instance": "an instance file",
}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (EVENTS, "events"),
        ("#12345\n" + EVENTS, "events"),
        (ACCT, "acct"),
        (SWF, "swf"),
        (CONF, "configuration"),
        ("# x\nLSF_CONFDIR=/opt\n", "lsf.conf"),
        (JSON, "bjobs"),
        ('{"procs": 4, "running": 3}', "pool"),
        ("JOBID   USER    STAT  QUEUE\n", "bjobs"),
        ("Job <1>, User <ann>\n", "bjobs"),
        ("HOST_NAME          STATUS       JL/U\n", "bhosts"),
        (INSTANCE + "x: 1\n", "instance"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_of_another_kind_is_one_line(
    tmp_path: Path, text: str, kind: str, packed: bool
) -> None:
    file = tmp_path / "f"
    data = text.encode()
    file.write_bytes(gzip.compress(data) if packed else data)
    readers = {
        "swf": read_swf,
        "acct": read_acct,
        "pool": load_pool,
        "instance": load_with_warnings,
    }
    for wanted, reader in readers.items():
        if wanted == kind or (reader is load_pool and kind == "instance"):
            continue
        with pytest.raises(InputError) as caught:
            reader(file)
        (shown,) = (str(problem).split(": ", 1)[1] for problem in caught.value.problems)
        assert shown.startswith(f"is {KINDS[kind]}, not {KINDS[wanted]}")
