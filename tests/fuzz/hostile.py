"""Hostile inputs by seed: texts, instances, options and checkpoints.

``python tests/fuzz/hostile.py --inputs 1000000 --seed 7`` runs as many as are wanted (``make
fuzz``); an input that fails can be had again by its number: ``--first N --inputs 1``. Every input
must be read, or refused by InputError, in little time; what is read must be written and read back
the same.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import re
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import slotwise as sw
import yaml
from parsed_bsub import parse_bsub
from slotwise import InputError, dump, dump_json, from_document, loads
from slotwise.cli.report.data import report_of_bare_plan, report_of_plan
from slotwise.cli.report.page import page
from slotwise.cli.selection import ViewOptions
from slotwise.cli.serve.polls import JobEstimate, PolledState
from slotwise.cli.serve.score import score_of
from slotwise.cli.serve.store import Store, StoreError
from slotwise.cli.views.hosts import bhosts
from slotwise.cli.views.jobs import bjobs
from slotwise.cli.views.queues import bhpart, bqueues
from slotwise.instances import site
from slotwise.model.formats import names, text, units
from slotwise.model.formats.lsf import site_document
from slotwise.model.formats.plan_file import bare_instance, read_plan
from slotwise.model.formats.sealed import unseal_checkpoint
from slotwise.model.formats.settings import changed, read_setting
from slotwise.model.formats.submit import submitted_job
from slotwise.model.resreq import parse, print_requirement
from slotwise.model.resreq.partly import check_select
from slotwise.model.sources.acct import parse_acct
from slotwise.model.sources.log_lines import BadRecords
from slotwise.model.sources.lsf_state.bhosts import read_bhosts
from slotwise.model.sources.lsf_state.bjobs import read_bjobs
from slotwise.model.sources.lsf_state.bqueues import read_bhpart, read_bqueues
from slotwise.model.sources.lsf_state.event_log import cut
from slotwise.model.sources.lsf_state.log_records import parse_events
from slotwise.model.sources.lsf_state.values import PrintedTimes, Text
from slotwise.model.sources.slurm.assemble import assemble
from slotwise.model.sources.slurm.folder import printed_at, read_texts
from slotwise.model.sources.slurm.sbatch import sbatch_submission
from slotwise.model.sources.swf import parse_swf
from slotwise.model.sources.trace import from_snapshot
from slotwise.model.windows import parse_windows
from slotwise.solver.scheduler.history import snapshot_of
from slotwise.solver.validate import validate

#: Seconds that any one input may take on a loaded machine.
SLOWEST = 10.0
_HERE = Path(__file__).parent
#: Pieces of every language that is read here, and what tends to break readers.
PIECES = (
    *"[](){}<>~!+-*/|&=:;,.'\"\\#%@^$? \t\n\r\0\x1b\x7f",
    *("0", "1", "-1", "007", "1e9", "2147483648", "9" * 20, "0.5", "1e-300", "nan", "inf", "1_0"),
    *("a", "hostA", "all", "default", "n[1-3]", "n[1-", "[[a,1]]", "a@", "none", "Y", "N", "-"),
    *("2h", "90m", "1:30", "12345678s", "2026-03-01T08:00:00Z", "20260301", "4G", "0.1K", "7d"),
    *("select", "order", "rusage", "span", "same", "cu", "mem", "swp", "duration", "decay", "type"),
    *("ptile", "hosts", "defined(", "||", "&&", "==", "!=", ">=", "rusage[mem=1]", "span[ptile=2]"),
    *("PREEMPTIVE[", "USER_SHARES[", "MAX_RESERVE_TIME[", "CU[", "2*{", "1*a", "~a", "a!", "a+1"),
    *("-n", "-R", "-W", "-m", "-b", "-t", "-q", "-J", "-o", "-w", "bsub", "8-18", "5:19:00-1:8:30"),
    *("&a", "*a", "!!int", "!!bool", "? ", "- ", ": ", "---", "|", "null", "true", "~", "<<"),
    *("é", "\u202e", "\u2028", "\ud800", "\U0001f4a3", "\ufeff", "\u0663"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 12345678, 20260301, 2**31, 2**63, 10**30, 0.1, 1e14, 1e300),
    *(
        [],
        {},
        [[]],
        {"a": 1},
        ["a", "b"],
        [["a", 1]],
        {"mem": "1/2"},
        {"hostA": 1},
        [None],
        {"": ""},
    ),
)


def piled(rng: random.Random) -> str:
    """Pieces in no sensible order; now and then one of them very often."""
    pieces = rng.choices(PIECES, k=rng.randint(0, 14))
    if pieces and rng.random() < 0.05:
        pieces.insert(rng.randrange(len(pieces)), rng.choice(PIECES) * rng.randint(100, 3000))
    return "".join(pieces) if rng.random() < 0.5 else " ".join(pieces)


def bent(rng: random.Random, whole: str) -> str:
    """A text with a piece cut out, put in, doubled or changed."""
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(whole))
        gone = rng.choice((0, 0, 1, 5, 40))
        put = rng.choice((piled(rng), rng.choice(PIECES), whole[at : at + 30]))
        whole = whole[:at] + put + whole[at + gone :]
    return whole


@cache
def documents() -> tuple[tuple[Any, tuple[tuple[Any, ...], ...]], ...]:
    """Whole instances as plain data, each with all its places."""
    found = [yaml.safe_load((_HERE.parent / "formats" / "complete.yaml").read_text("utf-8"))]
    for name in sw.examples():
        content = sw.example(name).read_text(encoding="utf-8")
        if len(content) < 20_000:
            found.append(yaml.safe_load(content))
    return tuple((document, tuple(places(document))) for document in found)


def _sound(string: str) -> str:
    """Without halves of characters, which no file can hold."""
    return string.encode("utf-8", "ignore").decode()


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every key and index of nested lists and mappings."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))


def mutated(rng: random.Random) -> Any:
    """An instance's data with some values replaced, doubled or taken away."""
    return _changed(rng, *rng.choice(documents()))


def _changed(rng: random.Random, whole: Any, every: tuple[tuple[Any, ...], ...]) -> Any:
    document = copy.deepcopy(whole)
    for _ in range(rng.randint(1, 3)):
        *path, key = rng.choice(every)
        try:
            inner = document
            for part in path:
                inner = inner[part]
            what = rng.random()
            if what < 0.4:
                inner[key] = copy.deepcopy(rng.choice(VALUES))
            elif what < 0.6:
                inner[key] = _sound(rng.choice((piled(rng), rng.choice(PIECES))))
            elif what < 0.75 and isinstance(inner[key], str):
                inner[key] = _sound(bent(rng, inner[key]))
            elif what < 0.85 and isinstance(inner, list):
                inner.append(copy.deepcopy(inner[key]))
            elif what < 0.95:
                del inner[key]
            else:
                inner[rng.choice(PIECES) if isinstance(inner, dict) else key] = 1
        except (KeyError, IndexError, TypeError):
            continue
    return document


def an_instance(rng: random.Random) -> None:
    """Mutated data; what is accepted must survive being written and read."""
    instance = from_document(mutated(rng))
    for write in (dump, dump_json):
        try:
            again = loads(write(instance))
        except InputError as error:
            raise AssertionError(f"what was written is refused: {error}") from error
        assert again == instance


@cache
def _texts() -> tuple[str, ...]:
    instance = sw.load(sw.example("headline"))
    return dump(instance), dump_json(instance)


def an_instance_text(rng: random.Random) -> None:
    """A file with a piece changed, or no sense at all."""
    loads(piled(rng) if rng.random() < 0.2 else bent(rng, rng.choice(_texts())))


def a_snapshot(rng: random.Random) -> None:
    """Data that is not a snapshot of a pool, or nearly one."""
    job = {"id": 1, "procs": 2, "req_s": 3, "run_s": 3, "waited_s": 0}
    data: dict[str, Any] = {"procs": 4, "running": [], "queue": [job]}
    inner = rng.choice((data, job))
    inner[rng.choice(list(inner))] = copy.deepcopy(rng.choice((*VALUES, piled(rng))))
    from_snapshot(data)


_REQUIREMENTS = (
    "select[mem>100 && type==any] order[-mem] rusage[mem=10:duration=5] span[ptile=2]",
    "2*{span[hosts=1]} + {same[type]}",
    "rusage[mem=(10 5):duration=(1 2)||swp=1] cu[type=rack:maxcus=2]",
)


def a_requirement(rng: random.Random) -> None:
    """A -R string; what is read prints and parses back."""
    string = piled(rng) if rng.random() < 0.5 else bent(rng, rng.choice(_REQUIREMENTS))
    check_select(string)
    requirement = parse(string, strict=rng.random() < 0.5)
    assert parse(print_requirement(requirement)) == requirement


def an_option(rng: random.Random) -> None:
    """A bsub line, or one of LSF's parameter texts."""
    if rng.random() < 0.4:
        line = "bsub -n 4 -W 2:00 -R 'span[ptile=2]' -m 'a+2 b!' -b 8:00 -q x ./run"
        parse_bsub(bent(rng, line) if rng.random() < 0.7 else piled(rng))
        return
    readers: tuple[Callable[[str], object], ...] = (
        *(names.names, names.tokens, names.host_requests, names.allocation, names.plain_names),
        *(text.run_limit, text.processor_limit, text.reserve_time, text.exclusive, text.preemption),
        *(text.user_shares, text.thresholds, text.reservation_limits, text.resource_amounts),
        *(text.unit_types, units.parse_duration, units.parse_size, units.parse_instant),
        *(parse_windows, lambda value: text.scope(value, each=True)),
    )
    try:
        rng.choice(readers)(piled(rng))
    except ValueError as error:
        raise InputError(str(error)) from None


def a_log(rng: random.Random) -> None:
    """Lines of lsb.acct or SWF; every one is read or reported."""
    path = _HERE.parent / "data" / "acct" / "lsb.acct.small-cluster"
    record = (
        _first_line(path) if rng.random() < 0.5 else "1 0 -1 10 3 -1 -1 3 10 -1 1 1 1 -1 1 -1 -1 -1"
    )
    lines = [bent(rng, record), record, piled(rng)]
    acct = parse_acct(lines)
    assert all(job.id for job in acct.jobs)
    swf = parse_swf(lines)
    assert len(acct.problems) + len(swf.problems) >= 1


@cache
def _printed() -> tuple[tuple[str, str], ...]:
    """What LSF's commands print, small: the command, and a text or JSON of it."""
    data = _HERE.parent / "data" / "lsf"
    found = [
        (command, (data / name).read_text("utf-8"))
        for command, name in (
            ("bjobs", "bjobs-running-two-hosts.json"),
            ("bjobs", "bjobs-done.json"),
            ("bhosts", "bhosts.json"),
            ("bqueues", "bqueues.json"),
        )
    ]
    moment = snapshot_of(sw.load(sw.example("fairshare-groups")), after_cycle=True)
    views = (("bjobs", bjobs), ("bhosts", bhosts), ("bqueues", bqueues), ("bhpart", bhpart))
    for command, view in views:
        for long in (False, True):
            found.append((command, view(moment, ViewOptions(long=long, recursive=long), "text")))
    return tuple(found)


def a_printed_table(rng: random.Random) -> None:
    """What bjobs, bhosts, bqueues or bhpart print, as text or JSON, bent."""
    command, whole = rng.choice(_printed())
    text = Text(piled(rng) if rng.random() < 0.1 else bent(rng, whole), command)
    if command == "bjobs":
        read_bjobs(text, PrintedTimes(datetime(2026, 3, 1, tzinfo=UTC)))
    else:
        {"bhosts": read_bhosts, "bqueues": read_bqueues, "bhpart": read_bhpart}[command](text)


def an_event_log(rng: random.Random) -> None:
    """Lines of lsb.events: each is read or reported, and the moment is cut."""
    lines = _event_lines()
    at = rng.randrange(len(lines) - 12)
    chosen = [bent(rng, line) if rng.random() < 0.3 else line for line in lines[at : at + 12]]
    cut(parse_events(chosen, BadRecords(), {}), None, later=rng.random() < 0.5)


@cache
def _event_lines() -> tuple[str, ...]:
    path = _HERE.parent / "data" / "lsf" / "lsb.events"
    return tuple(path.read_text(encoding="utf-8").splitlines())


def a_configuration(rng: random.Random) -> None:
    """A directory of LSF configuration with one of its files bent."""
    with tempfile.TemporaryDirectory() as folder:
        copy_of = Path(shutil.copytree(site(), Path(folder, "site")))
        file = rng.choice(sorted(path for path in copy_of.rglob("ls*") if path.is_file()))
        whole = file.read_text(encoding="utf-8")
        file.write_text(_sound(bent(rng, whole)), encoding="utf-8")
        found = site_document(
            copy_of,
            cluster=rng.choice(("quay", "harbour")),
            at=None,
            present=datetime(2026, 3, 1, tzinfo=UTC),
        )
        instance, _ = found.instance()
    assert loads(dump(instance)) == instance


@cache
def _first_line(path: Path) -> str:
    return path.read_text(encoding="utf-8").splitlines()[0]


@cache
def _checkpoints() -> tuple[tuple[str, str], ...]:
    from slotwise.model.workload import Workload
    from slotwise.solver.replay import Replay
    from slotwise.solver.scheduler.checkpoints import save
    from slotwise.solver.scheduler.methods import settings_for
    from slotwise.solver.scheduler.simulation import Session

    instance = sw.load(sw.example("headline"))
    session = Session(instance, settings_for(instance))
    session.begin()
    session.advance()
    replay = Replay(Workload.of([0, 1, 2], [9, 5, 8], [10, 5, 8], [3, 4, 1], max_procs=4))
    replay.advance(2)
    return ("loop", save(session)), ("replay", replay.checkpoint().to_json())


def a_checkpoint(rng: random.Random) -> None:
    """A damaged checkpoint is refused, always."""
    engine, whole = rng.choice(_checkpoints())
    data = bytearray(whole.encode())
    what = rng.random()
    if what < 0.5:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif what < 0.7:
        del data[rng.randrange(len(data)) :]
    else:
        data = bytearray(bent(rng, whole).encode("utf-8", "replace"))
    damaged = data.decode("utf-8", "replace")
    if damaged != whole:
        unseal_checkpoint(damaged, "loop" if engine == "loop" else "replay")
        raise AssertionError("a damaged checkpoint was accepted")


@cache
def _plans() -> tuple[tuple[sw.Instance, Any, tuple[tuple[Any, ...], ...]], ...]:
    """Plans of small examples as plain data, with their instances and all their places."""
    found = []
    for name in sw.examples():
        if sw.example(name).stat().st_size > 1500:
            continue
        instance = sw.load(sw.example(name))
        for method in ("greedy", "time-based"):
            data = json.loads(json.dumps(sw.plan(instance, method).to_dict()))
            found.append((instance, data, tuple(places(data))))
    return tuple(found)


def _at(data: Any, path: tuple[Any, ...]) -> tuple[Any, Any]:
    """What holds a place, and the key of the place in it."""
    for part in path[:-1]:
        data = data[part]
    return data, path[-1]


def a_plan(rng: random.Random) -> None:
    """A plan with values changed: refused, or judged and drawn."""
    instance, whole, every = rng.choice(_plans())
    data = _changed(rng, whole, every) if rng.random() < 0.5 else copy.deepcopy(whole)
    for _ in range(rng.randint(1, 3)):
        with suppress(KeyError, IndexError, TypeError):  # of a place that is gone
            target, key = _at(data, rng.choice(every))
            if type(target[key]) is int and rng.random() < 0.7:
                target[key] += rng.choice((-3600, -1, 1, 60, 3600))
            elif rng.random() < 0.3:  # a value of elsewhere in the plan
                source, other = _at(whole, rng.choice(every))
                target[key] = copy.deepcopy(source[other])
    alone = bare_instance(data)
    plan = read_plan(data, instance, "plan.json")
    assert plan == read_plan(json.loads(json.dumps(plan.to_dict())), instance, "plan.json")
    page(report_of_plan("plan", instance, plan, {}, [str(v) for v in validate(instance, plan)]))
    page(report_of_bare_plan("plan", alone, read_plan(data, alone, "plan.json", bare=True)))


#: Kinds of inputs, each with its weight.
Targets: TypeAlias = tuple[tuple[Callable[[random.Random], None], float], ...]
#: Cells that a column does not expect.
CELLS = (
    *("Unknown", "N/A", "1k", "", "9" * 30, "UNLIMITED", "(null)", "cpu=x", "cpu=.5", "mem=1Q"),
    *("=", "a=b=c", "n[1-", "n[3-1]", "99:99:99", "2026-02-30T99:00:00", "9999-12-31T23:59:59"),
    *("0001-01-01T00:00:00", "1_[1-999999999]", "cpu=1e400", "|", "*", "1.2.3", "10-00:00:00"),
    *PIECES,
)


def _cell_changed(rng: random.Random, text: str) -> str:
    """A text of fields or cells with one of them changed."""
    spots = list(re.finditer(r"(?<=[=|:\s,\"])[^=|\s,\"{}\[\]]+", text))
    if not spots:
        return text
    found = rng.choice(spots)
    return text[: found.start()] + rng.choice(CELLS) + text[found.end() :]


def _lines_changed(rng: random.Random, text: str) -> str:
    """A text with a line gone, doubled or cut, or a second head."""
    lines = text.splitlines(keepends=True) or [""]
    at = rng.randrange(len(lines))
    put = rng.choice(([], [rng.choice(lines)], [lines[0]], [lines[at][: rng.randint(0, 40)]]))
    return "".join([*lines[:at], *put, *lines[at + rng.randint(0, 1) :]])


@cache
def _slurm_folders() -> tuple[dict[str, str], ...]:
    folders = sorted((_HERE.parent / "data" / "slurm").glob("*/"))
    found = [{file.name: file.read_text("utf-8") for file in sorted(f.iterdir())} for f in folders]
    assoc = "Cluster|Account|User|ParentName|GrpTRES|GrpJobs|MaxJobs\nlive|root|||cpu=4|2|1\n"
    return tuple({**files, "assoc.txt": assoc} for files in found)


def a_slurm_folder(rng: random.Random) -> None:
    """What Slurm's commands print, with cells and lines changed."""
    files = dict(rng.choice(_slurm_folders()))
    for _ in range(rng.randint(1, 3)):
        name = rng.choice(list(files))
        change = rng.choice((_cell_changed, _cell_changed, _lines_changed, bent))
        files[name] = _sound(change(rng, files[name]))
    seen = read_texts([Text(text, name) for name, text in files.items()], "folder")
    assemble(seen, datetime.fromtimestamp(printed_at(seen) or 0, UTC))


_WORDS = (
    *("-n", "-x", "-q", "-R", "-W", "-m", "-J", "-w", "-o", "-b", "-t", "-P", "-G", "-sp", "-app"),
    *("-U", "-gpu", "-env", "-L", "-e", "-i", "-n2", "-W10", "-Is", "--", "-", "2", "1,4", "0"),
    *("''", '""', "'x y'", "./run", "normal", "'select[mem>1]'", "1:00", "hostA", "J[1-3]"),
    *("'done(1)'", "8:00", "$X", "`x`", "$(x)", ";", "|", "&&", "<", "#BSUB", "\n", "'", "\u2013n"),
)


@cache
def _small() -> tuple[sw.Instance, ...]:
    return tuple(sw.load(sw.example(n)) for n in ("headline", "slurm-live", "fairshare-groups"))


def bsub_words(rng: random.Random) -> None:
    """A bsub line of sensible words in no sensible order, empty ones among them."""
    words = " ".join(rng.choices(_WORDS, k=rng.randint(1, 7)))
    submitted_job(rng.choice(_small()), f"bsub {words}")


_SBATCH = (
    *("array", "begin", "constraint", "cpus-per-task", "deadline", "dependency", "exclude", "gpus"),
    *("exclusive", "gpus-per-node", "gpus-per-task", "gres", "hint", "hold", "licenses", "mem"),
    *("mem-per-cpu", "mem-per-gpu", "nice", "nodelist", "nodes", "ntasks", "ntasks-per-node"),
    *("oversubscribe", "partition", "prefer", "priority", "qos", "reservation", "switches"),
    *("threads-per-core", "time", "time-min", "account", "overcommit", "pty", "wrap", "nothing"),
)
_SBATCH_VALUES = (
    *("''", "0", "1", "2", "-1", "1.5", "4G", "1-", "2-1", "1-2", "1k", "0x1", "1e3", "9" * 30),
    *("n1", "n[1-2]", "n[2-1]", "n[1-", "n[1-999999999]", "gpu", "gpu:2", "gpu:a:2", "gpu:0", ":"),
    *("gres/gpu:1,shard:2", "1,2,3-5:2%1", "0-9%0", "0-999999999", "%1", "1:2:3:4:5", "1-0:0:0"),
    *("UNLIMITED", "INFINITE", "now", "now+1hour", "now+999999999weeks", "2026-02-30", "16:00"),
    *("9999-12-31T23:59:59", "0001-01-01", "afterok:1", "afterany:1:2?after:3+5", "singleton"),
    *(
        "afterok:",
        "aftercorr:1_2",
        "expand:1",
        "a&b",
        "[a*2&b*1]",
        "a|",
        "'(a'",
        "lic@db:2",
        "lic:x",
    ),
    *("2@1:00", "user", "nomultithread", "debug,debug", ",", "'x y'", "'\u2013'", "'\n'", "cpu=1"),
)


def sbatch_words(rng: random.Random) -> None:
    """An sbatch, srun or salloc line, or a script, of options with values of any kind."""
    words = []
    for _ in range(rng.randint(1, 5)):
        option, value = rng.choice(_SBATCH), rng.choice(_SBATCH_VALUES)
        forms = (f"--{option}={value}", f"--{option} {value}", f"--{option}", value)
        short = f"-{rng.choice('ABCDFGHJLMNOQSWXacdehikmnopqstvwx')}{rng.choice(('', ' '))}{value}"
        words.append(rng.choice((*forms[:1] * 3, *forms, short, short)))
    text = " ".join(words)
    if rng.random() < 0.2:
        text = "".join(f"#SBATCH {word}\n" for word in words) + "run\n#SBATCH -n 2\n"
    else:
        text = f"{rng.choice(('sbatch', 'sbatch', 'srun', 'salloc'))} {text}"
    if rng.random() < 0.1:
        text = bent(rng, text)
    sbatch_submission(rng.choice(_small()), text, user=rng.choice(("", "root", "x")))


def settings(rng: random.Random) -> None:
    """Settings after one another, of which one may replace what the next one goes into."""
    keys = ("hosts", "queues", "params", "limits", "resources", "user_groups", "pools", "config")
    ends = (
        "",
        ".*.PRIORITY",
        ".*.mem",
        ".*.FAIRSHARE.a",
        ".x.y",
        ".hostA.slots",
        ".MBD_SLEEP_TIME",
    )
    values = (
        "9",
        "ALL",
        "[]",
        "{}",
        "",
        "[1,2]",
        "{a: 1}",
        "[{}]",
        "[null]",
        "- a",
        "[{name: [1]}]",
    )
    said = [f"{rng.choice(keys)}{rng.choice(ends)}={rng.choice(values)}" for _ in range(3)]
    found, wrong = changed(rng.choice(_small()), [read_setting(text) for text in said])
    if found is None:
        raise InputError(wrong)


@cache
def _store() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.db")
        with Store.open(path) as store:
            for at in range(6):
                jobs = [
                    JobEstimate(str(n), 9, "u", "q", 1, likely=900 * n + at * 600, estimate=at,
                                quantiles=tuple(range(at, at + 900, 100)))
                    for n in range(at, 8)
                ]  # fmt: skip
                running = {(str(n), 9): 60 * n for n in range(at)}
                store.record(PolledState(60 * at + 9, True, tuple(jobs), running))
        with sqlite3.connect(path) as plain:
            plain.execute("pragma wal_checkpoint(truncate)")
        return path.read_bytes()


def a_store(rng: random.Random) -> None:
    """A store with bytes or a cell changed."""
    data = bytearray(_store())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.db")
        for _ in range(rng.randint(0, 3)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        with suppress(sqlite3.Error, UnicodeDecodeError), closing(sqlite3.connect(path)) as plain:
            table = rng.choice(("meta", "jobs", "estimates"))
            names = [row[1] for row in plain.execute(f"pragma table_info({table})")]
            value = rng.choice(("x", None, -1, 2**62, 1.5, b"\xff\0", "1 2 x", "9" * 40, ""))
            one = f"update {table} set {rng.choice(names)} = ? where rowid = {rng.randint(1, 9)}"
            plain.execute(one, (value,))
            plain.commit()
        try:
            with Store.open(path) as store:
                store.history("1")
                for by in ("queue", "horizon"):
                    score_of(store, by)  # type: ignore[arg-type]
                store.record(PolledState(600, True, (JobEstimate("3", 9, "u", "q", 1, likely=5),)))
        except StoreError as error:
            raise InputError(str(error)) from None


#: Readers of whole folders, lines, settings and stores, each with its weight.
READERS: Targets = (
    (a_slurm_folder, 1), (bsub_words, 6), (sbatch_words, 3), (settings, 2), (a_store, 0.5),
)  # fmt: skip
TARGETS: Targets = (
    (an_instance, 1),
    (a_configuration, 0.2),
    (an_instance_text, 1),
    (a_snapshot, 2),
    (a_requirement, 4),
    (an_option, 16),
    (a_log, 6),
    (a_printed_table, 3),
    (an_event_log, 2),
    (a_checkpoint, 6),
    (a_plan, 0.5),
)


def one(seed: int, number: int, targets: Targets = TARGETS) -> tuple[str, bool]:
    """Try one input: its kind, and whether it was accepted. Raises what should not happen."""
    rng = random.Random(f"{seed}/{number}")
    (target,) = rng.choices([t for t, _ in targets], [weight for _, weight in targets])
    begun = time.process_time()
    refusal: InputError | None = None
    try:
        target(rng)
    except InputError as error:
        refusal = error
    seconds = time.process_time() - begun
    assert seconds < SLOWEST, f"{seconds:.1f} s"
    assert refusal is None or (refusal.problems and str(refusal))
    return target.__name__, refusal is None


def run(
    seed: int, first: int, inputs: int, targets: Targets = TARGETS
) -> tuple[Counter[str], list[str]]:
    """Counts by kind and outcome, and every input that failed with what it raised."""
    counts: Counter[str] = Counter()
    failed: list[str] = []
    for number in range(first, first + inputs):
        try:
            kind, accepted = one(seed, number, targets)
        except Exception as error:
            failed.append(f"--seed {seed} --first {number}: {type(error).__name__}: {error}"[:300])
        else:
            counts[f"{kind} {'accepted' if accepted else 'refused'}"] += 1
    return counts, failed


def main() -> None:
    """The command behind ``make fuzz``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--readers", action="store_true", help="folders, lines and stores")
    asked = parser.parse_args()
    targets = READERS if asked.readers else TARGETS
    counts, failed = run(asked.seed, asked.first, asked.inputs, targets)
    sys.stdout.write(json.dumps(dict(sorted(counts.items())), indent=1) + "\n")
    sys.stdout.write("".join(f"{line}\n" for line in failed))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
