"""A volclava cluster of virtual hosts, each in namespaces of its own, until the end of a block.

A virtual host has a name, an address and processes of its own. /etc/hosts, /etc/passwd and /mnt
are replaced there alone; the machine's network and files stay as they are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

#: Programs of volclava: daemons and helpers, and commands. Those of `slotwise snapshot` are among
#: them.
DAEMONS = ("lim", "res", "sbatchd", "mbatchd", "pim", "eauth")
COMMANDS = (
    *("bsub", "bkill", "bjobs", "bhosts", "bqueues", "bparams", "bugroup", "bmgroup", "busers"),
    *("badmin", "lshosts", "lsload", "lsid"),
)
#: What is recorded: by file, the command that prints it.
LISTINGS = {
    "bjobs": ("bjobs", "-u", "all", "-UF"),
    "arrays": ("bjobs", "-u", "all", "-A", "-w"),
    "bhosts": ("bhosts", "-l"),
    "shared": ("bhosts", "-s"),
    "bqueues": ("bqueues", "-l"),
    "bparams": ("bparams", "-l"),
    "lshosts": ("lshosts", "-w"),
    "lsid": ("lsid",),
}
#: Programs of the system: util-linux and iproute2.
OF_SYSTEM = ("setpriv", "unshare", "nsenter", "mount", "ip")
#: The users that submit, by user id.
USERS = {"ann": 7002, "bob": 7003, "cat": 7004}
_ADMIN, _ADMIN_ID, _GROUP_ID = "lvadmin", 7001, 100
#: Seconds of a cycle, and between the reports of a host.
CYCLE, REPORT = 4, 1
#: Where each virtual host sees the cluster's folder.
_SEEN = "/mnt"

_LSF_CONF = f"""\
LSF_SERVERDIR={_SEEN}/sbin
LSF_BINDIR={_SEEN}/bin
LSB_SHAREDIR={_SEEN}/work
LSF_ENVDIR={_SEEN}/etc
LSF_CONFDIR={_SEEN}/etc
LSB_CONFDIR={_SEEN}/etc
LSF_LOGDIR={_SEEN}/log
LSF_LOG_MASK=LOG_WARNING
LSF_LIM_PORT=6322
LSF_RES_PORT=6323
LSB_MBD_PORT=6324
LSB_SBD_PORT=6325
LSF_AUTH=eauth
LSB_MAILTO=!U
LSB_MAILPROG=/bin/true
LSF_PIM_INFODIR={_SEEN}/run
LSF_PIM_SLEEPTIME={REPORT}
"""
_SHARED = """\
Begin Cluster
ClusterName
live
End Cluster
Begin HostType
TYPENAME
linux
End HostType
Begin HostModel
MODELNAME  CPUFACTOR   ARCHITECTURE
IntelI5      100        (x86_64)
End HostModel
Begin Resource
RESOURCENAME  TYPE    INTERVAL INCREASING  DESCRIPTION
   fs         Boolean ()       ()          (file server)
   lic        Numeric ()       N           (licences)
   scratch    Numeric 5        N           (scratch space)
End Resource
"""
_PARAMS = f"""\
Begin Parameters
DEFAULT_QUEUE  = normal
MBD_SLEEP_TIME = {CYCLE}
SBD_SLEEP_TIME = {REPORT}
JOB_ACCEPT_INTERVAL = 0
CLEAN_PERIOD = 86400
MAX_USER_PRIORITY = 100
End Parameters
"""
#: Loads that do not change, so that those of the machine do not count.
_ELIM = """\
#!/bin/sh
while :; do
  echo 12 r15s 0.1 r1m 0.1 r15m 0.1 ut 0.01 pg 0.0 io 0 ls 1 it 100 tmp 9000 swp 2000 mem 4000 \
scratch 100
  sleep 5
done
"""
#: First process of a virtual host; it waits for processes that lost their parent.
_INIT = """\
set -e
mount --bind "$1" /mnt
mount --bind /mnt/etc/hosts /etc/hosts
mount --bind /mnt/etc/passwd /etc/passwd
echo "$2" >/proc/sys/kernel/hostname
ip link set lo up
: >"/mnt/run/$2"
while :; do sleep 3600; done
"""


def missing_programs() -> list[str]:
    """Programs that are not installed, or that only root may start."""
    names = (*DAEMONS, *COMMANDS, *OF_SYSTEM)
    missing = [name for name in names if program(name) is None]
    if missing:
        return missing
    if os.geteuid() != 0:
        return ["root"]
    apart = ("unshare", "--net", "--uts", "--mount", "--pid", "--fork", "true")
    return [] if subprocess.run(apart, check=False).returncode == 0 else ["namespaces"]


def program(name: str) -> str | None:
    """The path of a program, looked for beside bsub's folder and where the administrator's are."""
    submit = shutil.which("bsub")
    beside = "" if submit is None else f":{Path(submit).resolve().parents[1] / 'sbin'}"
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}{beside}:/usr/sbin:/sbin")


@dataclass(slots=True)
class VolclavaCluster:
    """A cluster that runs."""

    folder: Path
    #: Process ids of the first process of each virtual host, by name; the first is the master.
    hosts: dict[str, int] = field(default_factory=dict)
    #: Whether jobs with options of many kinds are submitted.
    with_options: bool = False
    #: Least share of starts that are met.
    least: float = 1.0

    @property
    def master(self) -> str:
        """The host of mbatchd."""
        return next(iter(self.hosts))

    def run(self, *words: str, host: str = "", user: str = "") -> str:
        """What a command prints on a host (the master), run by a user (root)."""
        uid = USERS.get(user, 0)
        who = ("-S", str(uid), "-G", str(_GROUP_ID)) if uid else ()
        init = self.hosts[host or self.master]
        inside = ("nsenter", "-t", str(init), "-n", "-u", "-m", "-p", *who, "--wd=/")
        done = subprocess.run(
            [*inside, *words], capture_output=True, text=True, env=_environment(user), timeout=30,
            check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def submit(self, user: str, options: Mapping[str, str], seconds: int) -> str:
        """Submit a job that sleeps; its id, or "" if it is refused: it needs more than a limit.

        It sleeps second by second: its host reports how long it has run when its processes change.
        """
        words = [word for item in options.items() for word in item if word]
        command = f"for s in $(seq {seconds}); do sleep 1; done"
        try:
            printed = self.run("bsub", *words, "-o", "/dev/null", command, user=user)
        except RuntimeError as error:
            if "Job not submitted" in str(error):
                return ""
            raise
        return printed.partition("<")[2].partition(">")[0]

    def states(self) -> set[str]:
        """States that jobs are in."""
        rows = [row.split() for row in self.run("bjobs", "-u", "all", "-a", "-w").split("\n")[1:]]
        return {row[2] for row in rows if row}

    def wait_until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Whether a condition comes to hold."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if holds():
                return True
            time.sleep(1)
        return False

    def wait_until_nothing_runs(self) -> None:
        """Wait until no job has run for some cycles, and kill those that can never start."""
        idle = 0
        while idle < 4:
            time.sleep(CYCLE)
            idle = 0 if "RUN" in self.states() else idle + 1
        if "PEND" in self.states():
            self.run("bkill", "-u", "all", "0")
            assert self.wait_until(lambda: "PEND" not in self.states(), 60)

    def snapshot(self, output: Path) -> str:
        """Write what `slotwise snapshot` makes on the master; its notes."""
        init = self.hosts[self.master]
        inside = ("nsenter", "-t", str(init), "-n", "-u", "-m", "-p", "--wd=/")
        words = (sys.executable, "-m", "slotwise", "snapshot", "-o", str(output))
        done = subprocess.run(
            [*inside, *words], capture_output=True, text=True, env=_environment(""), timeout=120,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stderr

    def print_to(self, folder: Path) -> None:
        """What its commands print, in files, as `slotwise import snapshot --from` reads them."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, words in LISTINGS.items():
            if name != "arrays" or "[" in self.run("bjobs", "-u", "all"):
                (folder / name).write_text(self.run(*words))

    def log(self) -> Path:
        """Its lsb.events."""
        return self.folder / "work" / "logdir" / "lsb.events"


def _environment(user: str) -> dict[str, str]:
    """The environment of a command inside the cluster."""
    name = user or "root"
    path = f"{_SEEN}/bin:{_SEEN}/sbin:{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    home = f"{_SEEN}/home/{user}" if user else "/"
    return {
        "PATH": path, "LSF_ENVDIR": f"{_SEEN}/etc", "HOME": home, "USER": name, "LOGNAME": name,
        "LC_ALL": "C", "LSB_DISPLAY_YEAR": "Y",
    }  # fmt: skip


def _write_configuration(folder: Path, slots: Mapping[str, int], files: Mapping[str, str]) -> None:
    names = list(slots)
    hosts = "".join(f"10.77.0.{n} {name}\n" for n, name in enumerate(names, 1))
    rows = "".join(f"{name} IntelI5 linux 1 - ({'fs' * (n % 2)})\n" for n, name in enumerate(names))
    users = {_ADMIN: _ADMIN_ID, **USERS}
    passwd = "".join(
        f"{name}:x:{uid}:{_GROUP_ID}::{_SEEN}/home/{name}:/bin/sh\n" for name, uid in users.items()
    )
    limits = "".join(f"{name} {count} () () () () () ()\n" for name, count in slots.items())
    texts = {
        "hosts": f"127.0.0.1 localhost\n{hosts}",
        "passwd": f"root:x:0:0:root:/root:/bin/sh\n{passwd}",
        "lsf.conf": _LSF_CONF,
        "lsf.shared": _SHARED,
        "lsf.cluster.live": (
            f"Begin ClusterAdmins\nAdministrators = {_ADMIN}\nEnd ClusterAdmins\n"
            f"Begin Host\nHOSTNAME model type server r1m RESOURCES\n{rows}End Host\n"
            "Begin ResourceMap\nRESOURCENAME LOCATION\nlic (4@[all])\nscratch [default]\n"
            "End ResourceMap\n"
        ),
        "lsf.task": "",
        "lsb.params": _PARAMS,
        "lsb.hosts": (
            f"Begin Host\nHOST_NAME MXJ JL/U r1m pg ls tmp DISPATCH_WINDOW\n{limits}End Host\n"
        ),
        "lsb.users": "Begin User\nUSER_NAME MAX_JOBS JL/P\nEnd User\n",
        **files,
    }
    for name, text in texts.items():
        (folder / "etc" / name).write_text(text)


def _make_folder(folder: Path, slots: Mapping[str, int], files: Mapping[str, str]) -> None:
    for name in ("etc", "bin", "sbin", "log", "run", "work/logdir"):
        (folder / name).mkdir(parents=True)
    for place, names in (("bin", COMMANDS), ("sbin", DAEMONS)):
        for name in names:
            path = program(name)
            assert path is not None
            shutil.copy(path, folder / place / name)
    (folder / "sbin" / "elim").write_text(_ELIM)
    (folder / "sbin" / "elim").chmod(0o755)
    _write_configuration(folder, slots, files)
    for name in ("work", "work/logdir", "log"):
        shutil.chown(folder / name, _ADMIN_ID, _GROUP_ID)
    for name, uid in USERS.items():
        (folder / "home" / name).mkdir(parents=True)
        shutil.chown(folder / "home" / name, uid, _GROUP_ID)
    folder.chmod(0o755)


def _start_host(folder: Path, name: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start the first process of a virtual host; the process to end, and the id of the first."""
    words = (
        *("setpriv", "--pdeathsig", "KILL"),  # it ends if the test is killed
        *("unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child"),
        *("--mount-proc", "sh", "-c", _INIT, "init", str(folder), name),
    )
    process = subprocess.Popen(words)
    end = time.monotonic() + 20
    while not (folder / "run" / name).exists():
        alive = time.monotonic() < end and process.poll() is None
        assert alive, f"{name} does not come up"
        time.sleep(0.05)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return process, int(children.split()[0])


def _connect(cluster: VolclavaCluster) -> None:
    """Give each host an address; all are on a bridge of the master's."""
    master = cluster.run
    master("ip", "link", "add", "br0", "type", "bridge")
    master("ip", "addr", "add", "10.77.0.1/24", "dev", "br0")
    master("ip", "link", "set", "br0", "up")
    for n, (name, init) in enumerate(cluster.hosts.items(), 1):
        if name == cluster.master:
            continue
        inner = ("ip", "link", "add", f"v{n}", "type", "veth", "peer", "name", "eth0")
        subprocess.run(
            ["nsenter", "-t", str(cluster.hosts[cluster.master]), "-n", *inner,
             "netns", str(init)],
            check=True,
        )  # fmt: skip
        master("ip", "link", "set", f"v{n}", "master", "br0", "up")
        cluster.run("ip", "addr", "add", f"10.77.0.{n}/24", "dev", "eth0", host=name)
        cluster.run("ip", "link", "set", "eth0", "up", host=name)


@contextmanager
def volclava_cluster(
    folder: Path, slots: Mapping[str, int], files: Mapping[str, str]
) -> Iterator[VolclavaCluster]:
    """A cluster of hosts with these numbers of slots, the first of which is the master.

    files: configuration files by name, lsb.queues among them. Everything is written in `folder`;
    the processes are in namespaces of their own, and end with them.
    """
    _make_folder(folder, slots, files)
    cluster = VolclavaCluster(folder)
    started: list[subprocess.Popen[bytes]] = []
    try:
        for name in slots:
            process, init = _start_host(folder, name)
            started.append(process)
            cluster.hosts[name] = init
        _connect(cluster)
        for daemon in ("lim", "res", "sbatchd"):
            for name in slots:
                cluster.run(f"{_SEEN}/sbin/{daemon}", host=name)
        assert cluster.wait_until(lambda: _all_ok(cluster, len(slots)), 120), "hosts are not up"
        yield cluster
    finally:
        for process in reversed(started):
            process.kill()
        for process in reversed(started):
            process.wait(20)


def _all_ok(cluster: VolclavaCluster, hosts: int) -> bool:
    """Whether all hosts take jobs, with the loads of elim."""
    try:
        batch = [row.split()[1:2] for row in cluster.run("bhosts").split("\n")[1:]]
        loads = cluster.run("lsload", "-l").count("4000M")
    except (RuntimeError, subprocess.TimeoutExpired):
        return False
    return sum(state in (["ok"], ["closed"]) for state in batch) == hosts == loads
