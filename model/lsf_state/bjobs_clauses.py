"""The parts of the two sentences in which ``bjobs -l`` says what a job is and what it asks for.

``Job <1>, User <u>, …`` and ``Submitted from host <h>, CWD <…>, 4 Task(s), …``. What is in neither
list below is told: it may have a say in the job's start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: A value ends where a comma, a semicolon or another value follows.
_END = re.compile(r">(?=\s*(?:[,;<]|$))")
_NAME = re.compile(r"[^<,;]*")
#: What the reader takes from them.
READ = frozenset(
    {"job", "user", "project", "user group", "application", "status", "queue", "job priority"}
    | {"submitted from host", "requested resources", "specified hosts", "exclusive execution"}
    | {"specified start time", "specified termination time", "requested gpu"}
    | {"dependency condition", "job name"}
)
#: What has no say in when a job starts, or where.
SILENT = frozenset(
    {"command", "mail", "job group", "share group charged", "job description", "cwd"}
    | {"output file", "error file", "input file", "copy files", "re-runnable", "login shell"}
    | {"output file (overwrite)", "error file (overwrite)", "checkpoint directory", "esub"}
    | {"pre-execute command", "post-execute command", "pre-exec", "post-exec", "execution home"}
    | {"notify when job begins", "notify when job ends", "notify when job begins/ends"}
    | {"interactive mode", "interactive pseudo-terminal mode", "interactive pseudo-terminal shell"}
    | {"interactive pseudo-terminal shell mode", "ssh", "x11 forwarding", "job messages"}
    | {"interactive", "interactive shell mode", "user-defined signal", "warning action"}
    | {"checkpoint period", "migration threshold", "host file", "umask", "shared memory"}
)
_SLOTS = re.compile(r"\d+(?:\s*[,-]\s*\d+)? (?:processors? requested|task\(s\))")


def clauses(sentence: str) -> Iterator[tuple[str, str]]:
    """Name and values (with their brackets) of each part; no name where only a value is listed."""
    at = 0
    while at < len(sentence):
        name = _NAME.match(sentence, at)
        assert name is not None
        begin = at = name.end()
        while at < len(sentence) and sentence[at] == "<":
            end = _END.search(sentence, at)
            at = len(sentence) if end is None else end.end()
            while at < len(sentence) and sentence[at].isspace():
                at += 1
        yield " ".join(name[0].split()), sentence[begin:at].strip()
        at += 1


def unread(sentence: str) -> list[str]:
    """Names of the parts that nobody reads and that may have a say in a start."""
    found = []
    for name, _ in clauses(sentence.partition(", Command <")[0]):
        word = name.lower()
        if word and word not in READ and word not in SILENT and not _SLOTS.fullmatch(word):
            found.append(name)
    return found
