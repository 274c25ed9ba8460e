"""bsub command lines as job descriptions (CFG-03)."""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..characters import strange_character
from ..errors import InputError, Problem, nearest
from ..input_limits import check_length
from .names import host_requests, tokens
from .text import positive_duration
from .units import MINUTE, Clock, LimitOnHost, parse_stamp

#: Options that take a value and have no say in where and when a job starts.
_QUIET_VALUES = frozenset(
    {"-J", "-Jd", "-o", "-oo", "-e", "-eo", "-i", "-is", "-u", "-L", "-M", "-v", "-C", "-D", "-F"}
    | {"-S", "-p", "-T", "-E", "-Ep", "-cwd", "-outdir", "-f", "-s", "-g", "-jsdl", "-k"}
)
#: The same without a value.
_QUIET_FLAGS = frozenset({"-B", "-N", "-r", "-rn", "-I", "-Ip", "-Is", "-K", "-XF", "-notify"})
_REFUSED = {
    "-w": "start conditions are not supported: a plan cannot know when another job will have ended",
    "-H": "a held job has no start to plan: leave -H out",
    "-U": "give the hosts of the advance reservation by -m",
    "-We": "run-time estimates are not supported: give the run limit, -W",
    "-wt": "warnings before the end are not supported",
    "-wa": "warnings before the end are not supported",
}
#: Options whose value may follow without a blank, as in -n4 or -R"span[hosts=1]".
_JOINED = ("-n", "-R", "-W", "-q", "-m")
_ARRAY = re.compile(r"\[[^\[\]]*\]")


@dataclass(slots=True)
class _Submission:
    """What has been read of the line so far."""

    clock: Clock
    fields: dict[str, Any] = field(default_factory=dict)
    requirements: list[str] = field(default_factory=list)


def parse_bsub(line: str, clock: Clock | None = None) -> dict[str, Any]:
    """Fields of a :class:`~slotwise.model.job.Job` that a bsub line gives (not its id).

    line: options of bsub, with or without the word ``bsub`` in front and a command behind. clock:
    origin and now, which times of day (-b, -t) need. Options that have no say in a start (-J, -o
    and the like) are read over. Raises InputError with every option that is wrong; start
    conditions (-w) and job arrays are refused.
    """
    fields, problems = read_bsub(line, clock)
    for name, option in (("run_limit", "-W"), ("cpu_limit", "-c")):
        if isinstance(limit := fields.get(name), LimitOnHost):
            message = f"a limit on {limit.host} needs the CPU factors of a cluster"
            problems.append(Problem(f"{option}: {message}: write it without '/{limit.host}'"))
    if problems:
        raise InputError(problems)
    return fields


def read_bsub(line: str, clock: Clock | None = None) -> tuple[dict[str, Any], list[Problem]]:
    """As :func:`parse_bsub`: the fields of the options that are right, and what is wrong."""
    if wrong := strange_character(line):
        return {}, [Problem(f"bsub line: {wrong}")]
    try:
        check_length(line)
        words = deque(shlex.split(line))
    except ValueError as error:
        return {}, [Problem(f"bsub line: {error}: {line[:200]!r}")]
    if words and words[0].rsplit("/", 1)[-1] == "bsub":
        words.popleft()
    submission = _Submission(clock or Clock())
    problems: list[Problem] = []
    while words and words[0].startswith("-") and words[0] != "-":
        option = _option(words)
        value = words[0] if words and _wants_value(option) else None
        try:
            _take(submission, option, value)
        except ValueError as error:
            problems.append(Problem(f"{option}: {error}"))
        if value is not None:
            words.popleft()
    if submission.requirements:
        submission.fields["res_req"] = tuple(submission.requirements)
    return submission.fields, problems


def _option(words: deque[str]) -> str:
    """Take the next option; a value that was joined to it becomes the next word."""
    word = words.popleft()
    if word not in _KNOWN and word[:2] in _JOINED:
        words.appendleft(word[2:])
        return word[:2]
    return word


def _wants_value(option: str) -> bool:
    return (
        option in _VALUES or option in _QUIET_VALUES or option in ("-w", "-U", "-We", "-wt", "-wa")
    )


def _take(submission: _Submission, option: str, value: str | None) -> None:
    """Read one option with the value that stands behind it."""
    if option in _REFUSED:
        raise ValueError(_REFUSED[option])
    if option in _FLAGS:
        submission.fields[_FLAGS[option]] = True
        return
    if option in _QUIET_FLAGS:
        return
    if option not in _VALUES and option not in _QUIET_VALUES:
        known = [*_VALUES, *_FLAGS, *_QUIET_VALUES, *_QUIET_FLAGS]
        raise ValueError(f"unknown option{nearest(option, known)}")
    if value is None:
        raise ValueError("needs a value")
    if option == "-J" and _ARRAY.search(value):
        raise ValueError(f"job arrays are not supported: {value!r}")
    if option in _VALUES:
        _VALUES[option](submission, value)


def _once(submission: _Submission, name: str, value: object) -> None:
    if name in submission.fields:
        raise ValueError("is given twice")
    submission.fields[name] = value


def _slots(submission: _Submission, text: str) -> None:
    parts = text.split(",")
    if len(parts) > 2 or not all(p.isascii() and p.isdigit() and 0 < len(p) < 10 for p in parts):
        raise ValueError(f"must be a number of slots such as 6, or 6,12, not {text!r}")
    least, most = int(parts[0]), int(parts[-1])
    if least < 1 or most < least:
        raise ValueError(f"must be 1 slot or more and rise, not {text!r}")
    _once(submission, "slots", least)
    _once(submission, "max_slots", most if len(parts) == 2 else None)


def _requirement(submission: _Submission, text: str) -> None:
    submission.requirements.append(text)


def _limit(name: str) -> Callable[[_Submission, str], None]:
    def read(submission: _Submission, text: str) -> None:
        _once(submission, name, positive_duration(text, MINUTE))

    return read


def _text(name: str) -> Callable[[_Submission, str], None]:
    def read(submission: _Submission, text: str) -> None:
        if not text.strip() or len(text.split()) > 1:
            raise ValueError(f"must be one name, not {text!r}")
        _once(submission, name, text.strip())

    return read


def _line(name: str) -> Callable[[_Submission, str], None]:
    def read(submission: _Submission, text: str) -> None:
        if not text.strip():
            raise ValueError("needs a value")
        _once(submission, name, " ".join(text.split()))

    return read


def _hosts(submission: _Submission, text: str) -> None:
    wanted, excluded = host_requests(tokens(text))
    if excluded:
        raise ValueError(f"~{excluded[0]}: a job cannot exclude hosts by -m, use select[]")
    _once(submission, "hosts", wanted)


def _priority(submission: _Submission, text: str) -> None:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(f"must be a whole number of 1 or more, not {text!r}")
    _once(submission, "priority", int(text))


def _instant(name: str) -> Callable[[_Submission, str], None]:
    def read(submission: _Submission, text: str) -> None:
        if "T" in text:
            _once(submission, name, submission.clock.seconds(parse_stamp(text)))
        else:
            _once(submission, name, submission.clock.next(text))

    return read


_FLAGS = {"-x": "exclusive", "-ar": "resizable"}
_VALUES: dict[str, Callable[[_Submission, str], None]] = {
    "-n": _slots,
    "-R": _requirement,
    "-W": _limit("run_limit"),
    "-c": _limit("cpu_limit"),
    "-q": _text("queue"),
    "-m": _hosts,
    "-sp": _priority,
    "-G": _text("group"),
    "-P": _text("project"),
    "-app": _text("application"),
    "-gpu": _line("gpu"),
    "-ext": _line("extsched"),
    "-extsched": _line("extsched"),
    "-b": _instant("begin"),
    "-t": _instant("deadline"),
}
_KNOWN = frozenset({*_VALUES, *_FLAGS, *_QUIET_VALUES, *_QUIET_FLAGS, *_REFUSED})
