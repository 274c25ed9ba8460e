"""Whatever stands in a file of LSF's state: an answer or one InputError, in linear time."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from printed_listings import snapshot
from slotwise import InputError, Instance, dump, dump_json, load, loads
from slotwise.cli.main import app
from slotwise.model.sources.acct import parse_acct
from typer.testing import CliRunner

from .output_forms import FORMS
from .test_bjobs import PENDING
from .test_facts import made
from .test_hosts_and_queues import BHOSTS, BQUEUES

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


def _events(content: str) -> None:
    with TemporaryDirectory() as folder:
        log, made = Path(folder, "lsb.events"), Path(folder, "made.json")
        log.write_text(content, encoding="utf-8")
        command = ["import", "events", str(log), "-o", str(made)]
        CliRunner().invoke(app, command, catch_exceptions=False)
        _accepted(load(made))


def _acct(content: str) -> None:
    log = parse_acct(content.splitlines())
    assert all(problem.line for problem in log.problems)


def _listing(option: str, **beside: str) -> Callable[[str], None]:
    return lambda content: _accepted(snapshot(NOW, **{option: content}, **beside))


PARTITION = DATA.parent / "golden" / "lsf-hosts-and-queues" / "in" / "bhpart" / "bhpart"
READERS: dict[str, tuple[Callable[[str], None], list[str]]] = {
    "bjobs json": (_listing("bjobs"), JOBS),
    "bjobs text": (_listing("bjobs"), [PENDING]),
    "bhosts": (_listing("bhosts"), [BHOSTS, (DATA / "lsf" / "bhosts.json").read_text()]),
    "bqueues": (
        _listing("bqueues", bhosts=BHOSTS),
        [BQUEUES, (DATA / "lsf" / "bqueues.json").read_text()],
    ),
    "bhpart": (
        _listing("bhpart", bhosts=BHOSTS.replace("hostA", "HostA")),
        [PARTITION.read_text()],
    ),
    "events": (_events, ["".join(EVENTS.splitlines(True)[n : n + 12]) for n in (0, 60, 300)]),
    "acct": (_acct, [(DATA / "acct" / "lsb.acct.older").read_text()]),
}


@pytest.mark.parametrize("name", READERS)
def test_mutated_files_never_give_a_traceback(name: str) -> None:
    read, texts = READERS[name]
    rng = random.Random(name)
    answers = refused = unsaid = 0
    for _ in range(60):
        content = _mutated(rng.choice(texts), rng)
        try:
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
OPTIONS = {
    "bjgroup": "bjgroup",
    "bsla": "bsla",
    "bresources -g": "bresources",
    "lshosts -T": "topology",
    "brsvs": "brsvs",
    "bjobs -aps": "aps",
}
FACTS = [
    (option, form.text.replace(" h1", " hostA").replace("h1:", "hostA:"))
    for form in FORMS
    for words, option in OPTIONS.items()
    if words in form.form and isinstance(form.text, str)
]


@pytest.mark.behaviour("ARV-01", "AFF-01", "GRP-01", "GUA-02", "APS-01")
def test_mutated_facts_never_give_a_traceback() -> None:
    rng = random.Random(60)
    answers = refused = 0
    for _ in range(70):
        option, text = rng.choice(FACTS)
        try:
            _accepted(made(**{option: _mutated(text, rng)}))
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
    found = made(topology=tree)
    assert [host.cores for host in found.cluster.hosts] == [1, None]
    assert any("'ho,st' is not a host name" in item.what for item in found.omissions)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("busers", "USER/GROUP JL/P MAX NJOBS USUSP RSV\n{}\nn]\n"),
        ("busers", "USER/GROUP JL/P MAX NJOBS USUSP RSV\n{}\nn\x07\n"),
        ("bugroup", "GROUP_NAME    USERS\ng\x07    ann bob\n"),
        ("bugroup", "GROUP_NAME    USERS\ng[3-1]    ann bob\n"),
        ("aps", "JOBID USER STAT QUEUE APS\n1\x07 ann PEND normal 5]\n"),
        (
            "brsvs",
            "RSVID TYPE USER NCPUS RSV_HOSTS TIME_WINDOW\n"
            "u[#0 user ann 0/4 hostA:0/4 3:0:0-3:3:0 *\n",
        ),
    ],
)
def test_names_that_no_file_can_hold_are_no_obstacle(option: str, text: str) -> None:
    """Fails if an import writes, without an error, what no command reads."""
    with suppress(InputError):
        instance = made(**{option: text})
        assert loads(dump_json(instance)) == loads(dump(instance)) == instance
