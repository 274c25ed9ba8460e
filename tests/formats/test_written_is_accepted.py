"""Writer and reader agree: whatever `dump` writes of a valid instance, `check` accepts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import agreement_cases
import enumerated_instances
import jsonschema
import pytest
import slotwise as sw
from lsf.lab import MORNING
from sampling import some
from slotwise import InputError, Instance, dump, dump_json, from_document, loads, to_document
from slotwise.cli.main import app
from slotwise.instances import site
from slotwise.model.formats import json_schema
from slotwise.model.formats.lsf import site_document
from slotwise.model.generate import generate
from slotwise.model.sources.acct import read_acct
from slotwise.model.sources.trace import from_acct, from_swf, load_pool
from slotwise.model.workload import Workload
from typer.testing import CliRunner

DATA = Path(__file__).parents[1] / "data"
SWF = Workload.of([0, 0, 5], [60, 61, 60], [90, 90, 90], [6, 3, 4], max_procs=30)
EVENTS = DATA / "lsf" / "lsb.events"


@cache
def _schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json_schema())


def agree(instance: Instance) -> None:
    for write in (dump, dump_json):
        text = write(instance)
        assert loads(text) == instance
        assert write(loads(text)) == text
    _schema().validate(json.loads(json.dumps(to_document(instance))))


def _imported(tmp_path: Path, *arguments: object) -> Instance:
    """What a command of `import` writes, which `check` takes."""
    file = tmp_path / "out.yaml"
    done = CliRunner().invoke(app, ["import", *map(str, arguments), "-o", str(file)])
    assert done.exit_code == 0, done.output
    checked = CliRunner().invoke(app, ["check", str(file)])
    assert (checked.exit_code, checked.stdout.count(": ok (")) == (0, 1), checked.output
    return sw.load(file)


@pytest.mark.behaviour("CFG-04", "CFG-01")
@pytest.mark.parametrize(
    "arguments",
    [
        ("lsf", site(), "--cluster", "harbour"),
        ("lsf", site(), "--cluster", "quay"),
        *(("events", EVENTS, "--at", at) for at in (1643910040, 1643911763, 1643921400, "end")),
        ("events", EVENTS, "--at", 1643911100, "--with-future"),
        ("acct", DATA / "acct" / "lsb.acct.small-cluster", "--at", "1h"),
        ("acct", DATA / "acct" / "lsb.acct.small-cluster", "--at", "30m", "--with-future"),
        ("pool", DATA / "snapshots" / "KTH-SP2_q10_0.json"),
        (
            *("snapshot", "--bjobs", DATA / "lsf" / "bjobs-running-two-hosts.json"),
            *("--bhosts", DATA / "lsf" / "bhosts.json"),
            *("--bqueues", DATA / "lsf" / "bqueues.json"),
        ),
    ],
    ids=lambda arguments: "-".join(str(word).rsplit("/", 1)[-1] for word in arguments),
)
def test_every_importer(tmp_path: Path, arguments: tuple[object, ...]) -> None:
    agree(_imported(tmp_path, *arguments))


def _logs() -> Iterator[tuple[str, Callable[[], Instance]]]:
    for name in ("small-cluster", "older", "quotes"):
        path = DATA / "acct" / f"lsb.acct.{name}"
        yield name, lambda path=path: from_acct(read_acct(path, keep_going=True).jobs).instance
    yield "swf", lambda: from_swf(SWF, hosts=7)
    yield "pool", lambda: load_pool(DATA / "snapshots" / "KTH-SP2_q10_0.json")
    for cluster in ("harbour", "quay"):
        yield (
            cluster,
            lambda cluster=cluster: site_document(  # type: ignore[misc]
                site(), cluster=cluster, at=MORNING
            ).instance()[0],
        )


@pytest.mark.parametrize(("name", "make"), list(_logs()), ids=lambda value: str(value)[:14])
def test_what_logs_become(name: str, make: Callable[[], Instance]) -> None:
    instance = make()
    agree(instance)


#: Rules of bsub that the drawn instances do not keep; the reader says so, and nothing else.
REFUSED = (
    "set EXCLUSIVE: Y",
    "cu[excl] needs EXCLUSIVE",
    "unknown numeric resource 'gpu'",
    "no resource is called",
    "needs same[type] or same[model]",
)


def _refusals(instance: Instance) -> list[str]:
    try:
        loads(dump(instance))
    except InputError as error:
        return [str(problem) for problem in error.problems]
    return []


@pytest.mark.parametrize("block", some(range(4), 1))
def test_drawn_instances_of_every_kind(block: int) -> None:
    accepted = 0
    for seed in range(block * 12, block * 12 + 12):
        for instance in (
            enumerated_instances.instance(Random(seed)),
            agreement_cases.case(seed)[0],
        ):
            refused = _refusals(instance)
            assert [text for text in refused if not any(word in text for word in REFUSED)] == []
            if not refused:
                agree(instance)
                accepted += 1
    assert accepted >= 18


@pytest.mark.parametrize("seed", range(3))
def test_generated_clusters(seed: int) -> None:
    agree(generate(hosts=12, per_enclosure=4, per_rack=2, running=20, pending=10, seed=seed))


def test_several_r_options_say_what_one_of_them_needs_beside_it() -> None:
    """ptile by type needs same[]: which may stand in another -R, as bsub takes it."""
    base: dict[str, Any] = {"format": "slotwise/1", "hosts": [{"name": "a", "slots": 4}]}
    both = ["span[ptile='!',any:2]", "same[type]"]
    for asks in (both, both[::-1]):
        agree(from_document({**base, "pending": [{"id": "1", "slots": 4, "res_req": asks}]}))
    for asks in ([both[0]], [both[0], "order[ut]"]):
        job = {"id": "1", "slots": 4, "res_req": asks}
        with pytest.raises(InputError, match=r"needs same\[type\]"):
            from_document({**base, "pending": [job]})


@pytest.mark.parametrize("count", [2, 3])
def test_several_places_of_one_shared_resource(count: int) -> None:
    """``5@[a] 9@[b]``: two instances of one resource were written and refused once."""
    hosts = [{"name": f"h{n}", "slots": 2} for n in range(count + 1)]
    places = " ".join(f"{5 + n}@[h{n}]" for n in range(count))
    document = {
        "format": "slotwise/1",
        "hosts": hosts,
        "shared_resources": [{"name": "lic", "amount": places}],
        "limits": [{"name": "l", "RESOURCE": {"lic": 3}, "PER_USER": "all"}],
        "reservation_usage": {"lic": "PER_HOST"},
        "pending": [{"id": "1", "slots": 2, "res_req": "rusage[lic=1]"}],
    }
    instance = from_document(document)
    assert [item.amount for item in instance.cluster.shared] == [5 + n for n in range(count)]
    agree(instance)


@pytest.mark.behaviour("CFG-04")
@pytest.mark.parametrize("method", ["greedy", "time-based"])
def test_a_plan_survives_saving(tmp_path: Path, method: str) -> None:
    """Import, save, load: the same plan."""
    before = _imported(tmp_path, "events", EVENTS, "--at", 1643923500, "--with-future")
    after = loads(dump_json(loads(dump(before))))
    assert before.pending
    assert sw.plan(after, method=method) == sw.plan(before, method=method)
