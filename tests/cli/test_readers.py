"""Every argument and option that names a file to read, where there is none that can be read."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest
import slotwise as sw
from sampling import some
from slotwise import InputError, load
from slotwise.cli.main import app
from typer.testing import CliRunner

HEADLINE = str(sw.example("headline"))
DATA = Path(__file__).parents[1] / "data"
LSF = DATA / "lsf"
ACCT = DATA / "acct" / "lsb.acct.small-cluster"
HOSTS = f"--bhosts {LSF}/bhosts.json"
JOBS = f"--bjobs {LSF}/bjobs-running-two-hosts.json"
QUEUES = f"--bqueues {LSF}/bqueues.json"
#: Each reader with a command line; words in capitals are inputs, IN is what cannot be read.
READERS: dict[str, str] = {
    "solve file": "solve IN --method greedy",
    "compare file": "compare IN",
    "compare history": f"compare {HEADLINE} --history IN",
    "compare calibration": f"compare {HEADLINE} --history LOG --calibration IN",
    "diagnose file": "diagnose IN",
    "diagnose history": f"diagnose {HEADLINE} --history IN",
    "diagnose calibration": f"diagnose {HEADLINE} --history LOG --calibration IN",
    "explain instance_file": "explain IN job5",
    "report file": "report IN -o -",
    "report instance": "report PLAN --instance IN -o -",
    "report history": f"report {HEADLINE} --history IN -o -",
    "report cluster": "report LOG --simulate --cluster IN -o -",
    "simulate file": "simulate IN",
    "simulate cluster": "simulate LOG --cluster IN",
    "simulate events": f"simulate {ACCT} --cluster {HEADLINE} --events IN",
    "simulate changes": f"simulate {HEADLINE} --changes IN",
    "simulate resume": f"simulate {HEADLINE} --resume IN",
    "replay log": "replay IN",
    "replay resume": "replay LOG --resume IN",
    "show words": "show bjobs IN",
    "top file": "top IN --once",
    "slots file": "slots IN",
    "serve file": "serve IN --port 0 --for 1s",
    "serve history": f"serve {HEADLINE} --port 0 --for 1s --history IN",
    "serve token_file": f"serve {HEADLINE} --port 0 --for 1s --token-file IN",
    "score log": "score STORE --log IN",
    "score snapshot": "score --snapshot IN --log AFTER",
    "score history": "score --snapshot BEFORE --log AFTER --history IN",
    "score calibration": "score --snapshot BEFORE --log AFTER --history LOG --calibration IN",
    "check files": f"check IN {HEADLINE}",
    "check changes": f"check {HEADLINE} --changes IN",
    "whatif file": "whatif IN --set reservation=none",
    "whatif log": "whatif SITE --log IN --set reservation=none",
    "whatif events": f"whatif SITE --log {ACCT} --events IN --set reservation=none",
    "whatif changes": "whatif SITE --changes IN --set reservation=none",
    "sweep study": "sweep IN --into CELLS",
    "forecast file": "forecast IN --history LOG",
    "forecast history": f"forecast {HEADLINE} --history IN",
    "forecast calibration": f"forecast {HEADLINE} --history LOG --calibration IN",
    "backtest log": "backtest IN",
    "backtest cluster": "backtest LOG --cluster IN",
    "ask instance_file": "ask IN -n1",
    "ask history": f"ask {HEADLINE} -n1 --history IN",
    "ask calibration": f"ask {HEADLINE} -n1 --history LOG --calibration IN",
    "resreq against": "resreq select[mem>1] --against IN",
    "snapshot bjobs": f"snapshot --bjobs IN {HOSTS} {QUEUES}",
    "snapshot bhosts": f"snapshot {JOBS} --bhosts IN {QUEUES}",
    "snapshot bqueues": f"snapshot {JOBS} {HOSTS} --bqueues IN",
    "snapshot bhpart": f"snapshot {JOBS} {HOSTS} {QUEUES} --bhpart IN",
    "snapshot lsid": f"snapshot {JOBS} {HOSTS} {QUEUES} --lsid IN",
    "snapshot site": f"snapshot {JOBS} {HOSTS} {QUEUES} --site IN",
    "snapshot bparams": f"snapshot {JOBS} {HOSTS} --bparams IN",
    "snapshot bugroup": f"snapshot {JOBS} {HOSTS} --bugroup IN",
    "snapshot bmgroup": f"snapshot {JOBS} {HOSTS} --bmgroup IN",
    "snapshot busers": f"snapshot {JOBS} {HOSTS} --busers IN",
    "snapshot lshosts": f"snapshot {JOBS} {HOSTS} --lshosts IN",
    "snapshot blimits": f"snapshot {JOBS} {HOSTS} --blimits IN",
    "snapshot bjgroup": f"snapshot {JOBS} {HOSTS} --bjgroup IN",
    "snapshot brsvs": f"snapshot {JOBS} {HOSTS} --brsvs IN",
    "snapshot bsla": f"snapshot {JOBS} {HOSTS} --bsla IN",
    "snapshot bresources": f"snapshot {JOBS} {HOSTS} --bresources IN",
    "snapshot topology": f"snapshot {JOBS} {HOSTS} --topology IN",
    "snapshot aps": f"snapshot {JOBS} {HOSTS} --aps IN",
    "snapshot folder": "snapshot --from IN",
    "import slurm folder": "import slurm --from IN",
    "import lsf confdir": "import lsf IN",
    "import lsf lshosts": "import lsf CONF --lshosts IN",
    "import events files": "import events IN",
    "import events site": f"import events {LSF}/lsb.events --site IN",
    "import acct files": "import acct IN",
    "import acct site": f"import acct {ACCT} --site IN",
    "import acct usage_for": f"import acct {ACCT} --usage-for IN",
    "import swf file": "import swf IN",
    "import pool file": "import pool IN",
}
RUNNER = CliRunner()


@pytest.fixture
def words(name: str, inputs: dict[str, str], commands: None, tmp_path: Path) -> list[str]:
    plan = tmp_path / "plan.json"
    if "PLAN" in READERS[name]:
        plan.write_text(
            RUNNER.invoke(app, ["solve", HEADLINE, "--method", "greedy", "--format", "json"]).stdout
        )
    known = inputs | {"PLAN": str(plan)}
    return [known.get(word, word) for word in READERS[name].split()]


LONG = "n" * 300


def test_a_directory_of_an_instance_whose_name_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    path.write_text(f"format: slotwise/1\nhosts: [{{name: a, slots: 1}}]\nconfig: {LONG}\n")
    with pytest.raises(InputError, match=f"site.yaml:3: config: directory '{LONG}' does not exist"):
        load(path)


#: What never ends, by what a reader is told of it.
ENDLESS = ("/dev/zero", "/dev/urandom", "yes")


@pytest.mark.parametrize(
    ("name", "endless"),
    some([(name, ENDLESS[at % 3]) for at, name in enumerate(READERS)], 7),
)
def test_what_never_ends(name: str, endless: str, words: list[str], tmp_path: Path) -> None:
    """Refused once the limit is reached, or seen at once to be no such file."""
    source = Path(endless)
    if endless == "yes":
        source = tmp_path / "pipe"
        os.mkfifo(source)
        threading.Thread(target=_say_yes, args=(source,), daemon=True).start()
    line = [str(source) if word == "IN" else word for word in words]
    result = RUNNER.invoke(app, ["--max-text", "300000", "--max-unpacked", "300000", *line])
    said = str(result.exception) if isinstance(result.exception, InputError) else result.stderr
    assert str(source) in said, result.output
    assert result.exit_code != 0


def _say_yes(pipe: Path) -> None:
    with suppress(OSError), pipe.open("wb", buffering=0) as file:
        while True:
            file.write(b"y\n" * 1000)
