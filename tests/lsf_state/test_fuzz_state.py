"""Whatever stands in a file of LSF's state: an answer or one InputError, in linear time."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from slotwise import InputError, Instance, dump, dump_json, loads
from slotwise.model.formats.reading import kind_of_text
from slotwise.model.sources.acct import parse_acct
from slotwise.model.sources.log_lines import BadRecords
from slotwise.model.sources.lsf_state.assemble import assemble, moment_of
from slotwise.model.sources.lsf_state.bhosts import read_bhosts
from slotwise.model.sources.lsf_state.bjobs import read_bjobs
from slotwise.model.sources.lsf_state.bqueues import read_bhpart, read_bqueues
from slotwise.model.sources.lsf_state.event_log import cut
from slotwise.model.sources.lsf_state.log_records import parse_events
from slotwise.model.sources.lsf_state.seen import Seen
from slotwise.model.sources.lsf_state.values import PrintedTimes, Text

from .output_forms import FORMS
from .test_bjobs import PENDING
from .test_facts import made
from .test_hosts_and_queues import BHOSTS, BHPART, BQUEUES

DATA = Path(__file__).parents[1] / "data"
NOW = datetime(2026, 4, 12, 18, 30, tzinfo=UTC)
EVENTS = (DATA / "lsf" / "lsb.events").read_text()
JOBS = [(DATA / "lsf" / f"bjobs-{name}.json").read_text() for name in ("running-two-hosts", "done")]
PIECES = (
    *('"', '""', "\n", "\r", "\t", "0", "-", "-1", "9" * 30, "1e999", "nan", "<", ">", "[", "{"),
    *(
        "\x00",
        "\ufeff",
        "é",
        " ",
        ":",
        ",",
        "*",
        "1*",
        "Job <",
        "QUEUE:",
        "HOST  x",
        "null",
        "[1-9]",
    ),
    *("(" * 40, '"JOB_NEW" "10.1" 5 ', "SHARE_INFO_FOR: a/", "Total", "loadSched"),
)


def _mutated(text: str, rng: random.Random) -> str:
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(text) + 1)
        what = rng.random()
        if what < 0.4:
            text = text[:at] + rng.choice(PIECES) + text[at + rng.randint(0, 12) :]
        elif what < 0.7:
            text = text[:at] + text[at + rng.randint(1, 200) :]
        else:
            other = rng.randrange(len(text) + 1)
            text = text[:at] + text[other : other + rng.randint(1, 80)] + text[at:]
    return text


def _accepted(instance: Instance) -> None:
    """What is written of it is read again as the same."""
    assert loads(dump_json(instance)) == instance


def _jobs(content: str) -> None:
    jobs = read_bjobs(Text(content, "x"), PrintedTimes(NOW))
    made = assemble(Seen(jobs), datetime.fromtimestamp(moment_of(jobs, NOW), UTC))
    _accepted(made.instance)


def _hosts(content: str) -> None:
    hosts = read_bhosts(Text(content, "x"))
    _accepted(assemble(Seen(hosts=hosts), NOW).instance)


def _queues(content: str) -> None:
    queues = read_bqueues(Text(content, "x"))
    hosts = read_bhosts(Text(BHOSTS, "x"))
    _accepted(assemble(Seen(hosts=hosts, queues=queues), NOW).instance)


def _partitions(content: str) -> None:
    partitions = read_bhpart(Text(content, "x"))
    hosts = read_bhosts(Text(BHOSTS.replace("hostA", "HostA"), "x"))
    _accepted(assemble(Seen(hosts=hosts, partitions=partitions), NOW).instance)


def _events(content: str) -> None:
    bad = BadRecords()
    moment = cut(parse_events(content.splitlines(), bad, {}), None, later=True)
    assert bad.count >= len(bad.problems)
    now = datetime.fromtimestamp(min(moment.time, 4_000_000_000), UTC)
    seen = Seen(moment.jobs, moment.later, moment.hosts)
    _accepted(assemble(seen, now).instance)


def _acct(content: str) -> None:
    log = parse_acct(content.splitlines())
    assert all(problem.line for problem in log.problems)


READERS: dict[str, tuple[Callable[[str], None], list[str]]] = {
    "bjobs json": (_jobs, JOBS),
    "bjobs text": (_jobs, [PENDING]),
    "bhosts": (_hosts, [BHOSTS, (DATA / "lsf" / "bhosts.json").read_text()]),
    "bqueues": (_queues, [BQUEUES, (DATA / "lsf" / "bqueues.json").read_text()]),
    "bhpart": (_partitions, [BHPART]),
    "events": (_events, ["".join(EVENTS.splitlines(True)[n : n + 12]) for n in (0, 60, 300)]),
    "acct": (_acct, [(DATA / "acct" / "lsb.acct.older").read_text()]),
}


@pytest.mark.parametrize("name", READERS)
def test_mutated_files_never_give_a_traceback(name: str) -> None:
    read, texts = READERS[name]
    rng = random.Random(name)
    answers = refused = unsaid = 0
    for _ in range(120):
        content = _mutated(rng.choice(texts), rng)
        try:
            kind_of_text(content)
            read(content)
        except InputError as error:
            refused += 1
            unsaid += not error.problems or not all(item.message for item in error.problems)
        else:
            answers += 1
    assert answers
    assert not unsaid
    assert refused or name in ("events", "acct")  # logs count their bad records instead


#: Job groups, service classes, pools, processor units, reservations, absolute priority.
FACTS = [
    form.text.replace(" h1", " hostA").replace("h1:", "hostA:")
    for form in FORMS
    if re.search("bjgroup|bsla|bresources -g|lshosts -T|brsvs|bjobs -aps", form.form)
    and isinstance(form.text, str)
]


@pytest.mark.behaviour("ARV-01", "AFF-01", "GRP-01", "GUA-02", "APS-01")
def test_mutated_facts_never_give_a_traceback() -> None:
    rng = random.Random(60)
    answers = refused = 0
    for _ in range(70):
        try:
            _accepted(made(_mutated(rng.choice(FACTS), rng)))
        except InputError as error:
            refused += all(item.message for item in error.problems)
        else:
            answers += 1
    assert answers + refused == 70
    assert len(FACTS) >= 6
    assert answers
    assert refused


def test_a_tree_of_a_host_without_a_name_is_left_out_and_told() -> None:
    tree = "Host[62G] hostA\n core0(0)\nHost[62G] ho,st\n core0(0)\n core1(1)\n"
    found = made(tree)
    assert [host.cores for host in found.cluster.hosts] == [1, None]
    assert any("'ho,st' is not a host name" in item.what for item in found.omissions)


@pytest.mark.parametrize(
    "text",
    [
        "USER/GROUP JL/P MAX NJOBS USUSP RSV\n{}\nn]\n",
        "USER/GROUP JL/P MAX NJOBS USUSP RSV\n{}\nn\x07\n",
        "GROUP_NAME    USERS\ng\x07    ann bob\n",
        "GROUP_NAME    USERS\ng[3-1]    ann bob\n",
        "JOBID USER STAT QUEUE APS\n1\x07 ann PEND normal 5]\n",
        "RSVID TYPE USER NCPUS RSV_HOSTS TIME_WINDOW\nu[#0 user ann 0/4 hostA:0/4 3:0:0-3:3:0 *\n",
    ],
)
def test_names_that_no_file_can_hold_are_no_obstacle(text: str) -> None:
    """Fails if an import writes, without an error, what no command reads."""
    with suppress(InputError):
        instance = made(text)
        assert loads(dump_json(instance)) == loads(dump(instance)) == instance
