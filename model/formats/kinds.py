"""What kind of file a text is, by its first lines: for one clear message instead of hundreds."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path

from ..errors import InputError, Problem

#: Bytes looked at: real files begin with long comments.
_HEAD = 65536
_KINDS: tuple[tuple[str, str], ...] = (
    (r'\s*(?:\{\s*"format"\s*:\s*"|format:\s*["\']?)slotwise/', "a Slotwise instance"),
    (r'\s*\{[^{}\[\]]*"COMMAND"\s*:', "JSON that bjobs, bhosts or bqueues printed"),
    (r'\s*\{[^{}]*"procs"\s*:', "a snapshot of a pool of processors"),
    (r"\s*[{\[]", "JSON"),
    (r'(?:#\d+\s*\n)?"(?:JOB_FINISH|EVENT_ADRSV_FINISH)"\s', "lsb.acct (finished jobs)"),
    (r'(?:#\d+\s*\n)?"[A-Z][A-Z_]+"\s+"\d', "lsb.events (job events)"),
    (r"(?:\s*;.*\n)*\s*-?\d+(?:[ \t]+-?[\d.]+){17}", "an SWF log"),
    (r"\s*;[;\s]*[A-Z]\w+: ", "an SWF log"),
    (r"(?:[ \t]*(?:#.*)?\n)*[ \t]*Begin[ \t]+[A-Za-z]+", "a file of LSF's configuration"),
    (r"(?:[ \t]*(?:#.*)?\n)*[ \t]*LS[BF]_\w+[ \t]*=", "lsf.conf"),
    (r"\s*HOST_NAME\s+type\s", "what lshosts printed"),
    (r"\s*HOST_NAME\s", "what bhosts printed"),
    (r"\s*JOBID\s", "what bjobs printed"),
    (r"\s*Job <", "what bjobs -l printed"),
    (r"\s*(?:QUEUE_NAME\s|QUEUE: )", "what bqueues printed"),
)
_PATTERNS = tuple((re.compile(pattern), kind) for pattern, kind in _KINDS)


def recognise(text: str) -> str:
    """The kind of a text, ``an SWF log`` or the like; "" where its first lines do not tell."""
    head = text[:_HEAD]
    return next((kind for pattern, kind in _PATTERNS if pattern.match(head)), "")


def kind_of(path: Path) -> str:
    """The kind of a file, gzipped or not; "" where that cannot be told."""
    try:
        with path.open("rb") as file:
            data = file.read(_HEAD)
        if data.startswith(b"\x1f\x8b"):
            with gzip.open(path) as unpacked:
                data = unpacked.read(_HEAD)
    except (OSError, EOFError, ValueError, zlib.error):
        return ""
    return recognise(data.decode("latin-1"))


def other_kind(path: str | Path, wanted: str) -> InputError | None:
    """The error of a file of another kind; None where it is the one wanted, or unknown.

    wanted: the kind as :func:`recognise` names it.
    """
    kind = kind_of(Path(path))
    if kind in ("", "JSON", wanted):
        return None
    return InputError([Problem(f"is {kind}, not {wanted}", str(path))])
