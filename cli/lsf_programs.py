"""Output of LSF's programs on this machine, as an instance."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from ..model.errors import InputError, Problem
from ..model.omissions import Omission
from ..model.sources.lsf_state.printed_facts import asked_columns
from ..model.sources.lsf_state.values import Remarks, Text
from .import_snapshot import FACTS, Printed, check_lsid, make_instance, print_notes
from .scheduler import Asking, Scheduler, output_of

if TYPE_CHECKING:
    from ..model.instance import Instance

#: Fields of bjobs -o that an instance needs.
FIELDS = (
    "jobid jobindex stat user user_group queue proj_name application job_priority nreq_slot "
    "min_req_proc max_req_proc combined_resreq effective_resreq submit_time start_time finish_time "
    "specified_start_time specified_terminate_time run_time runtimelimit cpu_used alloc_slot "
    "nalloc_slot exec_host pend_reason"
)
#: Options that only some versions of LSF know.
MORE_FIELDS = "ask_hosts dependency estimated_start_time job_name"
#: Options of versions that support GPUs.
GPU_FIELDS = "gpu_num gpu_mode j_exclusive gpu_alloc"
#: Fields of ``bjobs -o`` that only newer versions of LSF know.
NEW_FIELDS = "exclusive rsvid job_group estimated_run_time from_host"
#: Every column that the table of printed facts has.
ALL_FIELDS = " ".join(asked_columns())
COMMANDS = {
    "bjobs": (
        ("bjobs", "-u", "all", "-json", "-o", ALL_FIELDS),
        ("bjobs", "-u", "all", "-json", "-o", f"{FIELDS} {MORE_FIELDS} {GPU_FIELDS} {NEW_FIELDS}"),
        ("bjobs", "-u", "all", "-json", "-o", f"{FIELDS} {MORE_FIELDS} {GPU_FIELDS}"),
        ("bjobs", "-u", "all", "-json", "-o", f"{FIELDS} {MORE_FIELDS}"),
        ("bjobs", "-u", "all", "-json", "-o", FIELDS),
        ("bjobs", "-u", "all", "-UF"),
    ),
    "bhosts": (("bhosts", "-l"),),
    "gpus": (("bhosts", "-gpu", "-l"), ("bhosts", "-gpu", "-w"), ("lshosts", "-gpu", "-w")),
    "bqueues": (("bqueues", "-r"), ("bqueues", "-l")),
    "bhpart": (("bhpart", "-r"),),
    "shared": (("bhosts", "-s"),),
    "bparams": (("bparams", "-a"), ("bparams", "-l"), ("bparams",)),
    "bugroup": (("bugroup", "-l"), ("bugroup", "-w"), ("bugroup",)),
    "bmgroup": (("bmgroup", "-r", "-w"), ("bmgroup", "-r"), ("bmgroup",)),
    "busers": (("busers", "-w", "all"), ("busers", "all")),
    "lshosts": (("lshosts", "-w"),),
    "limits": (("blimits", "-c"), ("bresources",)),
    "blimits": (("blimits", "-a", "-w"), ("blimits", "-w"), ("blimits",)),
    "bjgroup": (("bjgroup",),),
    "brsvs": (("brsvs", "-l"), ("brsvs", "-w"), ("brsvs",)),
    "bsla": (("bsla",),),
    "bresources": (("bresources", "-g", "-l"),),
    "topology": (("bhosts", "-aff"), ("lshosts", "-T")),
    "aps": (("bjobs", "-u", "all", "-aps"),),
    "arrays": (("bjobs", "-u", "all", "-A", "-w"), ("bjobs", "-u", "all", "-A")),
    "lsid": (("lsid",),),
}
#: Without these nothing is known.
NEEDED = ("bjobs", "bhosts", "bqueues")
#: Seconds to wait for each of the others, and how many such times for all of them.
OPTIONAL_TIMEOUT = 30.0
OPTIONAL_SHARE = 4
#: Commands that are not run if a site's configuration is given, which replaces them.
OF_SITE = (
    *("bparams", "bugroup", "bmgroup", "busers", "lshosts", "limits", "blimits"),
    *("bsla", "bresources"),
)
#: The outputs of a version that ignores the option of the command, by command.
_OTHER_TABLES = {
    "aps": ("bjobs",),
    "bresources": ("configuration",),
    "topology": ("bhosts", "lshosts"),
}
#: If these fail, what they would tell is unknown of each job that asks for it, and named there.
_UNKNOWN_ANYWAY = ("topology",)


def lsf_now(programs: Mapping[str, str], asking: Asking) -> Instance:
    """Return the cluster as LSF's programs print it; notes and differences go to stderr.

    programs: the absolute paths of those that are there. One that is not needed and fails is named
    on stderr, and as an omission of the instance. Raises InputError where a needed one fails, or
    prints what makes no instance.
    """
    now = datetime.now().astimezone().replace(microsecond=0)
    answers = _Answers(programs, asking.timeout)
    texts = {name: [text] for name in COMMANDS if (text := answers.ask(name)) is not None}
    printed = Printed(
        bjobs=[text for name in ("bjobs", "arrays") for text in texts.get(name, ())],
        bhosts=[text for name in ("bhosts", "gpus", "shared") for text in texts.get(name, ())],
        bqueues=texts.get("bqueues", []),
        bhpart=texts.get("bhpart", []),
        lsid="".join(text.content for text in texts.get("lsid", ())),
        facts=[text for name in (*FACTS, "limits") for text in texts.get(name, ())],
    )
    made = make_instance(printed, now, now, asking.site, asking.rusage)
    idle = () if asking.site is None else OF_SITE
    lost = [item for name, item in answers.lost.items() if name not in idle]
    return replace(made, omissions=(*made.omissions, *lost))


@dataclass(slots=True)
class _Answers:
    """Asks the programs one after another."""

    programs: Mapping[str, str]
    #: Seconds for each.
    timeout: float
    #: Commands whose output was not read, by name.
    lost: dict[str, Omission] = field(default_factory=dict)
    #: Seconds that were used by those that are not needed.
    _used: float = 0.0

    def ask(self, name: str) -> Text | None:
        """Return the output of a command, None if the output is empty.

        Raises InputError if one that is needed fails.
        """
        if name in NEEDED:
            return _run(name, self.programs, self.timeout)
        begun = time.monotonic()
        try:
            each = min(OPTIONAL_TIMEOUT, self.timeout)
            left = OPTIONAL_SHARE * each - self._used
            program, *words = COMMANDS[name][0]
            if left <= 0 and program in self.programs:
                wrong = f"was not called: earlier programs took {self._used:.3g} s"
                raise InputError([Problem(wrong, f"`{' '.join([program, *words])}`")])
            text = _run(name, self.programs, min(each, left))
            return None if text is None or not _is_read(name, text) else text
        except InputError as error:
            first = error.problems[0]
            if name not in _UNKNOWN_ANYWAY:
                self.lost[name] = Omission(first.message, first.source)
            print_notes([f"{problem}: passed over" for problem in error.problems])
            return None
        finally:
            self._used += time.monotonic() - begun


def _is_read(name: str, text: Text) -> bool:
    """Whether a text is of its kind; not if a version knows no such option and prints its table.

    Raises InputError for what cannot be read.
    """
    from ..model.formats.reading import kind_of_text
    from ..model.sources.lsf_state.bhosts import is_of_gpus, is_of_shared, read_gpus, read_shared
    from ..model.sources.lsf_state.bjobs import is_of_arrays
    from ..model.sources.lsf_state.bqueues import read_bhpart
    from ..model.sources.lsf_state.facts import read_facts

    kind = kind_of_text(text.content)
    if name == "lsid":
        check_lsid(text.content, text.source)
    elif name == "bhpart":
        read_bhpart(text, Remarks())
    elif name in ("gpus", "shared"):
        of_kind, read = (is_of_gpus, read_gpus) if name == "gpus" else (is_of_shared, read_shared)
        if of_kind(text):
            read(text, Remarks())
        elif kind:
            return False
        else:
            begin = text.content.strip().partition("\n")[0][:60]
            wrong = f"must be a table with a line of column names, not {begin!r}"
            raise InputError([Problem(wrong, text.source)])
    elif name == "arrays":
        return is_of_arrays(text)
    elif kind in _OTHER_TABLES.get(name, ()):
        return False
    else:
        read_facts([text])
    return True


#: Variables that LSF's commands get of the environment, with those of LSF and EGO.
_KEPT = (
    *("PATH", "HOME", "USER", "LOGNAME", "TZ", "TMPDIR", "KRB5CCNAME"),
    *("LD_LIBRARY_PATH", "LIBPATH", "SHLIB_PATH"),
)
_OF_LSF = ("LSF_", "LSB_", "XLSF_", "EGO_")


def _environment() -> dict[str, str]:
    """Return the environment of LSF's commands, which asks for years in printed times."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(_OF_LSF)
    }
    return {**kept, "LSB_DISPLAY_YEAR": "Y", "LC_ALL": "C"}


def _run(name: str, programs: Mapping[str, str], timeout: float) -> Text | None:
    """Return the output of a command, as :func:`.scheduler.output_of` does."""
    needed = name in NEEDED
    return output_of(COMMANDS[name], programs, timeout, _environment(), needed=needed)


LSF = Scheduler(
    "LSF",
    NEEDED,
    tuple(dict.fromkeys(words[0] for forms in COMMANDS.values() for words in forms)),
    "set LSF's environment (profile.lsf), or run the commands where they are and take "
    "`slotwise import snapshot`",
    "Run it where bjobs works (LSF's daemons up, its environment set), or give the files of "
    "`slotwise import snapshot`.",
    lsf_now,
)
