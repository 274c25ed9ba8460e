"""A Slurm cluster on loopback: munged, slurmctld and some virtual slurmd.

Its programs are those of the distribution, or of the version that is installed in $SLURM.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

#: Commands that print the jobs, by the form of what they print.
FORMS: dict[str, Sequence[str]] = {
    "json": ("squeue", "--json"),
    "text": ("scontrol", "show", "job", "-d", "-o"),
}
#: Programs that are needed.
NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo")
_CONF = """\
ClusterName=live
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmdUser=root
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/pgid
GresTypes=gpu
Licenses=lic:4
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
PriorityType=priority/basic
SchedulerType=sched/backfill
SchedulerParameters={parameters}
PropagateResourceLimits=NONE
MessageTimeout=30
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=2880 DefaultTime=60 State=UP
PartitionName=left Nodes=n[1-3] MaxTime=2880 DefaultTime=60 State=UP
PartitionName=right Nodes=n[4-6] MaxTime=2880 DefaultTime=60 State=UP
PartitionName=first Nodes=n[2-4] MaxTime=2880 DefaultTime=60 PriorityTier=5 State=UP
{accounting}"""
#: Programs that accounting needs in addition.
OF_ACCOUNTING = ("slurmdbd", "sacctmgr", "mariadbd", "mariadb-install-db")
_ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd}
AccountingStoragePass={folder}/munge.socket
AccountingStorageEnforce=associations,limits,qos
"""
_DBD = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={dbd}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=root
StoragePass=none
StorageLoc=slurm_acct
PidFile={folder}/dbd.pid
LogFile={folder}/dbd.log
"""
#: Limits of each QOS and of an account: of resources (a job keeps its start), of numbers of jobs.
_LIMITS = (
    ("add", "account", "lab"), ("add", "account", "small", "GrpTRES=cpu=20"),
    ("add", "qos", "cpus", "GrpTRES=cpu=6"), ("add", "qos", "each", "MaxTRESPU=cpu=5"),
    ("add", "qos", "jobs", "GrpJobs=2"), ("add", "qos", "nodes", "GrpTRES=node=3"),
    ("add", "user", "root", "account=lab", "qos=normal,cpus,each,jobs,nodes"),
    ("add", "user", "daemon", "account=lab"),
    ("add", "user", "root", "account=small", "qos=normal,cpus,each,jobs,nodes"),
)  # fmt: skip


def missing_programs(needed: Sequence[str] = NEEDED) -> list[str]:
    """Programs that are not installed, or that only root may start."""
    missing = [name for name in needed if program(name) is None]
    return missing if missing or os.geteuid() == 0 else ["root"]


def program(name: str) -> str | None:
    """The path of a program: of $SLURM first, else of PATH and of the administrator."""
    own = os.environ.get("SLURM", "")
    first = f"{own}/sbin:{own}/bin:" if own else ""
    return shutil.which(name, path=f"{first}{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


@dataclass(slots=True)
class SlurmCluster:
    """A cluster that runs."""

    folder: Path
    #: Setting of the cluster and of the jobs that are submitted.
    setting: str = ""

    def run(self, *words: str, stdin: str | None = None) -> str:
        """What a command of Slurm prints."""
        path = program(words[0])
        assert path is not None
        environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}
        done = subprocess.run(
            [path, *words[1:]], input=stdin, capture_output=True, text=True, env=environment,
            cwd=self.folder, timeout=60, check=True,
        )  # fmt: skip
        return done.stdout

    def submit(self, *options: str) -> str:
        """Submit a job that sleeps; its id."""
        out = ("--output=/dev/null", "--error=/dev/null", "--parsable", "--wrap=sleep 100000")
        return self.run("sbatch", *options, *out).strip()

    def states(self) -> dict[str, str]:
        """States of the jobs, by id."""
        rows = self.run("squeue", "-h", "-o", "%i %T").split("\n")
        return dict(row.split() for row in rows if row.strip())

    def wait_until(self, holds: Callable[[], bool], seconds: float = 60) -> bool:
        """Whether a condition comes to hold."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if holds():
                return True
            time.sleep(0.5)
        return False

    def print_to(self, folder: Path) -> None:
        """What its commands print, in files: a folder for each form of the jobs."""
        folder.mkdir(parents=True, exist_ok=True)
        for form, words in FORMS.items():
            (folder / form).mkdir()
            (folder / form / "jobs").write_text(self.run(*words))
        for what in ("config", "partition", "node", "reservation", "licenses"):
            text = self.run("scontrol", "show", what)
            for form in FORMS:
                (folder / form / f"{what}.txt").write_text(text)
        more = {"sdiag": ("sdiag",)}
        if self.setting == "accounts":
            more |= {of: ("sacctmgr", "-P", "show", of) for of in ("assoc", "qos")}
        for what, words in more.items():
            text = self.run(*words)
            for form in FORMS:
                (folder / form / f"{what}.txt").write_text(text)

    def clear(self) -> None:
        """Cancel all jobs, delete the reservation and wait until the nodes are idle."""
        self.run("scancel", "-u", "root")
        if "ReservationName=" in self.run("scontrol", "show", "reservation"):
            self.run("scontrol", "delete", "reservation=maint")
        assert self.wait_until(lambda: not self.run("squeue", "-h").strip(), 90)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def slurm_cluster(
    folder: Path,
    *,
    nodes: int = 6,
    cpus: int = 4,
    parameters: str = "",
    has_accounts: bool = False,
) -> Iterator[SlurmCluster]:
    """A cluster of virtual nodes n1 … with 1000 MB each, until the end of the block.

    has_accounts: with slurmdbd, a database, and QOS and accounts with limits. Everything it writes
    is in `folder`; only processes that it has started are ended.
    """
    host = socket.gethostname().partition(".")[0]
    lines = [
        f"NodeName=n{n} NodeHostname={host} NodeAddr=127.0.0.1 Port={_free_port()} CPUs={cpus} "
        f"RealMemory=1000 State=UNKNOWN{' Gres=gpu:2' if n > nodes - 2 else ''}"
        for n in range(1, nodes + 1)
    ]
    dbd, database = _free_port(), _free_port()
    accounting = _ACCOUNTING.format(dbd=dbd, folder=folder) if has_accounts else ""
    text = _CONF.format(
        host=host, folder=folder, port=_free_port(), parameters=parameters, nodes="\n".join(lines),
        accounting=accounting,
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "state").mkdir()
    (folder / "slurm.conf").write_text(text)
    (folder / "gres.conf").write_text(
        f"AutoDetect=off\nNodeName=n[{nodes - 1}-{nodes}] Name=gpu File={folder}/gpu[0-1]\n"
    )
    for device in ("gpu0", "gpu1"):
        (folder / device).touch()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o600)
    folder.chmod(0o755)
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *words: str) -> None:
        path = program(name)
        assert path is not None
        environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        started.append(
            subprocess.Popen(
                [path, *words],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=folder,
            )
        )

    cluster = SlurmCluster(folder)
    try:
        start(
            "munged", "--foreground", "--force", f"--key-file={key}",
            f"--socket={folder}/munge.socket", f"--pid-file={folder}/munge.pid",
            f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed",
        )  # fmt: skip
        assert cluster.wait_until((folder / "munge.socket").exists, 20)
        if has_accounts:
            conf = _DBD.format(host=host, folder=folder, dbd=dbd, database=database)
            (folder / "slurmdbd.conf").write_text(conf)
            (folder / "slurmdbd.conf").chmod(0o600)
            cluster.run("mariadb-install-db", "--no-defaults", "--user=root",
                        f"--datadir={folder}/db", "--skip-test-db")  # fmt: skip
            start("mariadbd", "--no-defaults", "--user=root", f"--datadir={folder}/db",
                  f"--socket={folder}/db.socket", f"--pid-file={folder}/db.pid",
                  f"--port={database}", "--bind-address=127.0.0.1", "--skip-grant-tables",
                  "--skip-networking=0")  # fmt: skip
            assert cluster.wait_until((folder / "db.socket").exists, 60)
            start("slurmdbd", "-D")
            assert cluster.wait_until(lambda: _answers(cluster), 60), "slurmdbd does not come up"
            for words in (("add", "cluster", "live"), *_LIMITS):
                cluster.run("sacctmgr", "-i", *words)
        start("slurmctld", "-D", "-c", "-f", str(folder / "slurm.conf"))
        for n in range(1, nodes + 1):
            start("slurmd", "-D", "-N", f"n{n}", "-f", str(folder / "slurm.conf"))
        assert cluster.wait_until(lambda: _all_idle(cluster, nodes), 60), "nodes do not come up"
        yield cluster
    finally:
        for process in reversed(started):
            process.terminate()
        for process in reversed(started):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _answers(cluster: SlurmCluster) -> bool:
    try:
        cluster.run("sacctmgr", "-n", "show", "cluster")
    except subprocess.CalledProcessError:
        return False
    return True


def _all_idle(cluster: SlurmCluster, nodes: int) -> bool:
    try:
        rows = cluster.run("sinfo", "-h", "-N", "-p", "main", "-o", "%N %T").split("\n")
    except subprocess.CalledProcessError:
        return False
    return sum(row.endswith(" idle") for row in rows) == nodes
