"""snapshot and --cluster on a machine with Slurm: programs that print a recorded cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
import slotwise as sw

from tests.slurm.test_import import DATA, instance_of, run, texts_of

pytestmark = pytest.mark.behaviour("SLU-01")
#: A program prints a file by its words.
_PROGRAM = """#!/bin/sh
case "{name} $*" in
"squeue --all --json=v0.0.42") cat {data}/squeue.json ;;
"scontrol show node -o") cat {data}/node.txt ;;
"scontrol show partition -o") cat {data}/partition.txt ;;
"scontrol show config") cat {data}/config.txt ;;
"scontrol show reservation -o") cat {data}/reservation.txt ;;
"scontrol show licenses -o") cat {data}/licenses.txt ;;
"sdiag ") cat {data}/sdiag.txt ;;
*) echo "You are not running a supported accounting_storage plugin" >&2; exit 1 ;;
esac
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("squeue", "scontrol", "sdiag", "sacctmgr", "sshare", "sprio"):
        path = folder / name
        path.write_text(_PROGRAM.format(name=name, data=DATA / "probes"))
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("TZ", "UTC")
    return folder


def test_a_snapshot_is_what_the_import_of_the_files_gives(programs: Path, tmp_path: Path) -> None:
    target = tmp_path / "now.yaml"
    code, said = run("snapshot", "-o", target)
    assert code == 0, said
    assert "accounting" not in said
    texts = texts_of("probes")
    texts.pop("sinfo.json")
    texts.pop("jobs.txt")
    assert sw.load(target) == instance_of(texts)


def test_commands_take_the_cluster(programs: Path) -> None:
    code, said = run("ask", "--cluster", "sbatch -n1 --mem=10 -t 5")
    assert code == 0, said


def test_a_needed_program_that_fails_and_options_of_lsf_are_refused(
    programs: Path, tmp_path: Path
) -> None:
    (programs / "squeue").write_text("#!/bin/sh\necho slurm_load_jobs error >&2\nexit 1\n")
    (programs / "scontrol").write_text("#!/bin/sh\nexit 1\n")
    code, said = run("snapshot")
    assert code == 2
    assert "scontrol show job -d" in said
    code, said = run("snapshot", "--rusage", "slot")
    assert code == 2
    assert "apply to LSF only" in said
