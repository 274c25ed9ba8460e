"""A scheduler that can be asked for the state of its cluster: what there is of each."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING

from ..model.errors import InputError, Problem

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.sources.lsf_state.values import Text

#: Seconds to wait for each program if none are given.
TIMEOUT = 120.0
#: Error messages of a program about an unknown option.
_NO_SUCH_OPTION = re.compile(
    r"(illegal|invalid|unknown|unrecognized|bad) option|^\s*usage\b", re.IGNORECASE | re.MULTILINE
)
#: Messages of a program that fails because nothing of the kind is configured. volclava
#: names the kind before it: "user group: No user group defined in the system". Errors of the
#: system begin with the same word: no such file, no route to host.
_NONE_CONFIGURED = re.compile(
    r"No (?!such |route |space |child |locks |buffer )"
    r"|(?i:(?:[\w/ ]+: )?no (?:\w+[ /])*"
    r"(?:group|user|host|limit|reservation|resource|partition)s?\b"
    r"[^:]* (?:defined|configured|found)\b[^:]*$"
    r"|(?:\w+: )?job array is not found"
    r"|(?:\w+: )?(?:there (?:is|are) )?no (?:such )?(?:\w+ )*"
    r"(?:service class|SLA\b|guarantee|resource pool)"
    r"|(?:\w+: )?(?:the )?(?:service class|SLA|resource pool) does(?: not|n't) exist)"
)


@dataclass(frozen=True, slots=True)
class Asking:
    """How to query one scheduler: its programs, variables and limits."""

    #: Seconds to wait for each program.
    timeout: float = TIMEOUT
    #: The site's configuration.
    site: Path | None = None
    #: "slot" or "host", what rusage[mem] counts for; empty for what the site or the programs say.
    rusage: str = ""


class NoAnswer(InputError):
    """A program of the scheduler has failed, or has printed nothing in time."""


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A scheduler that can be asked for the state of its cluster."""

    name: str
    #: The programs without which nothing is known, and all that are asked.
    needed: tuple[str, ...]
    programs: tuple[str, ...]
    #: How they come to be on the PATH, and what else there is.
    hint: str
    #: Remedy where they are on the PATH and give no answer.
    down: str
    #: Asks the programs, by their absolute paths. Raises InputError if there is no state.
    ask: Callable[[Mapping[str, str], Asking], Instance]


def output_of(
    forms: Sequence[Sequence[str]],
    programs: Mapping[str, str],
    timeout: float,
    environment: dict[str, str],
    *,
    needed: bool,
) -> Text | None:
    """Return the output of a command by the first of its forms that works; None if empty.

    programs: the absolute paths of the installed ones. needed: whether an option unknown to its
    version is an error. Raises InputError if the command fails.
    """
    from ..model.input_limits import limits
    from ..model.sources.lsf_state.values import Text
    from ..solver.processes import TooMuchOutput, run_program

    reason, line, limit = "", "", limits().text
    for program, *words in forms:
        if program not in programs:
            continue
        line = " ".join([program, *words[:3]]) + (" …" if len(words) > 3 else "")
        try:
            done = run_program(
                programs[program], words, timeout=timeout, environment=environment, most=limit
            )
        except TimeoutExpired:
            raise NoAnswer(
                [Problem(f"did not answer within {timeout:.3g} s: raise --timeout", f"`{line}`")]
            ) from None
        except TooMuchOutput:
            wrong = f"printed more than {limit:,} bytes: raise --max-text"
            raise InputError([Problem(wrong, f"`{line}`")]) from None
        content = done.output.decode("utf-8", errors="replace")
        errors = done.errors.decode("utf-8", errors="replace").strip()
        if done.code == 0 and content.strip():
            return Text(content, f"`{line}`")
        if _NONE_CONFIGURED.match(errors) or (done.code == 0 and not errors):
            return None
        reason = _reason(done.code, errors or content.strip())
    if not reason or (not needed and _NO_SUCH_OPTION.search(reason)):
        return None
    raise NoAnswer([Problem(f"failed: {reason}", f"`{line}`")])


def _reason(code: int, errors: str) -> str:
    """Return why a program has failed."""
    if code > 128:
        try:
            return f"it was killed ({signal.Signals(code - 128).name})"
        except ValueError:
            pass
    return errors.splitlines()[0] if errors else f"exit code {code}"
