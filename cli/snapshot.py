"""``slotwise snapshot``: run LSF's own commands and make an instance of what they print."""

from __future__ import annotations

import os
import shutil
from datetime import datetime
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Annotated

import typer

from .import_snapshot import Printed, Site, make_instance
from .options import Rusage
from .output import Notation, Output, write_instance

if TYPE_CHECKING:
    from ..model.lsf_state.records import Text

#: Fields of bjobs -o that an instance needs.
FIELDS = (
    "jobid jobindex stat user user_group queue proj_name application job_priority nreq_slot "
    "min_req_proc max_req_proc combined_resreq effective_resreq submit_time start_time finish_time "
    "specified_start_time specified_terminate_time run_time runtimelimit cpu_used alloc_slot "
    "nalloc_slot exec_host pend_reason"
)
#: Those that not every version knows.
MORE_FIELDS = "ask_hosts dependency estimated_start_time job_name"
#: Those of versions that know GPUs.
GPU_FIELDS = "gpu_num gpu_mode j_exclusive gpu_alloc"
COMMANDS = {
    "bjobs": (
        ("bjobs", "-u", "all", "-json", "-o", f"{FIELDS} {MORE_FIELDS} {GPU_FIELDS}"),
        ("bjobs", "-u", "all", "-json", "-o", f"{FIELDS} {MORE_FIELDS}"),
        ("bjobs", "-u", "all", "-json", "-o", FIELDS),
        ("bjobs", "-u", "all", "-UF"),
    ),
    "bhosts": (("bhosts", "-l"),),
    "gpus": (("bhosts", "-gpu", "-l"), ("bhosts", "-gpu", "-w"), ("lshosts", "-gpu", "-w")),
    "bqueues": (("bqueues", "-r"), ("bqueues", "-l")),
    "bhpart": (("bhpart", "-r"),),
    "lsid": (("lsid",),),
}
NEEDED = ("bjobs", "bhosts", "bqueues")


def snapshot(
    site: Site = None,
    rusage: Rusage = None,
    timeout: Annotated[
        float, typer.Option(min=1.0, help="Seconds to wait for each command.")
    ] = 120.0,
    output: Output = None,
    format: Notation = None,
) -> None:
    """Make an instance of the LSF cluster of this machine, as it is now.

    Runs bjobs, bhosts, bqueues and, where they are there, bhpart and lsid; `slotwise import
    snapshot` takes what they printed elsewhere.

    Exit codes: 0 done, 2 a command is missing or its output makes no instance.
    """
    from ..model.errors import InputError, Problem
    from ..model.lsf_state.gpus import is_of_gpus

    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        raise InputError(
            [Problem(
                "is not on the PATH: set LSF's environment (profile.lsf), or run the commands "
                "where they are and take `slotwise import snapshot`", name
            ) for name in missing]
        )  # fmt: skip
    now = datetime.now().astimezone().replace(microsecond=0)
    texts = {
        name: _run(name, timeout)
        for name, (first, *_) in COMMANDS.items()
        if shutil.which(first[0]) is not None
    }
    lsid, gpus = texts.pop("lsid", None), texts.pop("gpus", None)
    given = {name: [text] for name, text in texts.items() if text is not None}
    if gpus is not None and is_of_gpus(gpus):
        given["bhosts"].append(gpus)
    printed = Printed(**given, lsid="" if lsid is None else lsid.content)
    write_instance(make_instance(printed, now, now, site, rusage or ""), output, format)


def _run(name: str, timeout: float) -> Text | None:
    """What a command prints, by the first of its forms that works; None where there is nothing."""
    from ..model.errors import InputError, Problem
    from ..model.lsf_state.records import Text
    from ..solver.processes import run_command

    # Years in the times it prints, where this LSF can.
    environment = {**os.environ, "LSB_DISPLAY_YEAR": "Y", "LC_ALL": "C"}
    reason = ""
    for words in COMMANDS[name]:
        line = " ".join(words[:4]) + (" …" if len(words) > 4 else "")
        try:
            done = run_command(words, timeout, environment)
        except TimeoutExpired:
            raise InputError([Problem(f"gave no answer in {timeout:g} s", f"`{line}`")]) from None
        except OSError as error:
            raise InputError([Problem(error.strerror or str(error), f"`{line}`")]) from None
        content = done.stdout.decode("utf-8", errors="replace")
        errors = done.stderr.decode("utf-8", errors="replace").strip()
        if done.returncode == 0 and content.strip():
            return Text(content, f"`{line}`")
        if errors.startswith("No ") or (done.returncode == 0 and not errors):
            return None
        reason = errors.splitlines()[0] if errors else f"exit code {done.returncode}"
    if name not in NEEDED:
        return None
    raise InputError([Problem(f"failed: {reason}", f"`{line}`")])
