"""bsub command lines as job descriptions (CFG-03)."""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..array import MOST as LARGEST_INDEX
from ..array import parse_array
from ..bsub_options import OTHER_SCRIPTS, QUIET_FLAGS, QUIET_VALUES, REFUSED, UNHEEDED
from ..characters import strange_character
from ..dependency import DependencyError, parse_dependency
from ..errors import InputError, Problem, nearest
from ..gpu_request import with_gpu_constraints
from ..input_limits import check_length
from .names import host_requests, tokens
from .text import positive_duration
from .units import MINUTE, Clock, LimitOnHost, parse_stamp

#: Options of one letter whose value may follow without a blank, as in -n4 or -Jname.
_LETTERS = re.compile(r"-[A-Za-z]\Z")
_CALL = re.compile(r"\s*(\S+/)?bsub\s")
_HERE = re.compile(r"(?P<line>.*\bbsub\b[^<]*)<<-?\s*(['\"]?)(?P<end>\w+)\2")
_DIRECTIVE = re.compile(r"\s*#BSUB\b(?P<options>.*)")


@dataclass(slots=True)
class BsubLine:
    """What a bsub line or a job script asks for.

    fields: of a :class:`~slotwise.model.job.Job`, and ``array``: its elements
    (:class:`~slotwise.model.array.ArraySpec`). problems: what is wrong, with the line of a
    script. quiet: the options that have no say in a start, as given. lines: the line of the script
    that gave an option, 0 where none did; line: the one that is read now.
    """

    clock: Clock = field(default_factory=Clock)
    fields: dict[str, Any] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    quiet: list[str] = field(default_factory=list)
    requirements: list[str] = field(default_factory=list)
    unheeded: list[str] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    line: int = 0

    def complain(self, message: str) -> None:
        """Something is wrong in the line that is read now."""
        self.problems.append(Problem(message, line=self.line or None))

    def finished(self) -> BsubLine:
        """The same with what was said in several options put together."""
        if self.requirements:
            texts, gpu = with_gpu_constraints(self.requirements, self.fields.get("gpu", ""))
            self.fields["res_req"] = texts
            if gpu:
                self.fields["gpu"] = gpu
        if self.unheeded:
            self.fields["unheeded"] = tuple(self.unheeded)
        return self

    def over(self, below: BsubLine | None) -> BsubLine:
        """The same with what the script says besides."""
        if below is not None:
            if "-nnodes" in below.lines and "-n" in self.lines:
                self.complain("-n: the script asks for whole hosts (-nnodes): give one of the two")
            own = {text.split()[0] for text in self.unheeded}
            rest = [text for text in below.unheeded if text.split()[0] not in own]
            self.fields = below.fields | self.fields
            if self.unheeded or rest:
                self.fields["unheeded"] = (*self.unheeded, *rest)
            self.problems += below.problems
            self.quiet += below.quiet
            self.lines = below.lines | self.lines
        return self


def parse_bsub(line: str, clock: Clock | None = None) -> dict[str, Any]:
    """Fields of a :class:`~slotwise.model.job.Job` that a bsub line gives (not its id).

    line: options of bsub, with or without the word ``bsub`` in front and a command behind, or a job
    script with ``#BSUB`` lines. clock: origin and now, which times of day (-b, -t) need. Options
    that have no say in a start (-o, -e and the like) are read over; those that may have one and
    that nothing obeys (-sla, -data) are in ``unheeded``. Raises InputError with every option that
    is wrong.
    """
    fields, problems = read_bsub(line, clock)
    for name, option in _TIMES:
        if isinstance(limit := fields.get(name), LimitOnHost):
            message = f"a limit on {limit.host} needs the CPU factors of a cluster"
            problems.append(Problem(f"{option}: {message}: write it without '/{limit.host}'"))
    if problems:
        raise InputError(problems)
    return fields


def read_bsub(line: str, clock: Clock | None = None) -> tuple[dict[str, Any], list[Problem]]:
    """As :func:`parse_bsub`: the fields of the options that are right, and what is wrong."""
    found = bsub_line(line, clock)
    return found.fields, found.problems


def bsub_line(line: str, clock: Clock | None = None, script: str | None = None) -> BsubLine:
    """As :func:`parse_bsub`, with what is wrong and what was read over.

    script: the text of the job script that stands behind ``<``; where both say it the line wins.
    """
    found = BsubLine(clock or Clock())
    below = None if script is None else bsub_line(script, clock)
    wrong = strange_character(line.replace("\r\n", "\n").replace("\n", " ").replace("\t", " "))
    if wrong:
        found.problems.append(Problem(f"bsub line: {wrong}"))
        return found
    try:
        check_length(line)
        if (here := _here_document(line)) is not None:
            _read_options(found, _options_of(here[0]))
            below = bsub_line(here[1], clock)
        elif is_script(line):
            _read_script(found, line)
        elif line.strip() or below is None:
            words = _options_of(line)
            _read_options(found, words)
            if below is None and _script_behind(words):
                message = "the script behind '<' is not read here: give the options that it has"
                found.problems.append(Problem(f"bsub line: {message}"))
    except ValueError as error:
        found.problems.append(Problem(f"bsub line: {error}"))
    return found.finished().over(below)


def script_of(line: str) -> str | None:
    """The name of the job script that a bsub line reads, as in ``bsub -n 4 < job.lsf``."""
    with suppress(ValueError):
        words = _options_of(line)
        _read_options(BsubLine(), words)
        return _script_behind(words)
    return None


def _here_document(text: str) -> tuple[str, str] | None:
    """The line and the script of ``bsub -q normal <<EOF``; None for anything else."""
    lines = text.strip().splitlines()
    if len(lines) < 2 or lines[0].lstrip().startswith("#"):
        return None
    match = _HERE.fullmatch(lines[0].strip())
    if match is None:
        return None
    body = lines[1:]
    end = next((n for n, line in enumerate(body) if line.strip() == match["end"]), len(body))
    return match["line"], "\n".join(body[:end])


def _script_behind(words: Sequence[str]) -> str | None:
    """The name behind ``<`` where there is no command before it."""
    if not words or not words[0].startswith("<") or words[0].startswith("<<"):
        return None
    return words[0][1:] or next(iter(list(words)[1:]), "")


def is_script(text: str) -> bool:
    """Whether a text is a job script: of several lines, one of them a comment."""
    lines = text.strip().splitlines()
    return any(line.lstrip().startswith("#") for line in lines[: None if lines[1:] else 1])


def _read_script(found: BsubLine, text: str) -> None:
    """The ``#BSUB`` lines of a script. Raises ValueError where it has none."""
    lines = text.splitlines()
    numbered = enumerate(lines, start=1)
    directives = [(at, match) for at, line in numbered if (match := _DIRECTIVE.match(line))]
    if not directives:
        begins = {line.split()[0] for line in lines if line.split()}
        other = next((name for mark, name in OTHER_SCRIPTS.items() if mark in begins), "")
        raise ValueError(
            f"a script for {other}: Slotwise reads #BSUB lines"
            if other
            else "a script without #BSUB lines asks for nothing: give the options of bsub"
        )
    first = next((n for n, line in enumerate(lines, start=1) if _is_command(line)), len(lines) + 1)
    if directives[0][0] > first:
        raise ValueError(
            f"the #BSUB lines stand behind the first command (line {first}), where bsub reads none"
        )
    directives, late = (
        [item for item in directives if item[0] < first],
        [item for item in directives if item[0] > first],
    )
    for at, match in late:
        text = " ".join(match["options"].split())
        found.quiet.append(f"#BSUB {text} (line {at}, behind the first command)")
    begun = ""
    for found.line, match in directives:
        options = begun + match["options"]
        begun = ""
        if options.rstrip().endswith("\\") and found.line != directives[-1][0]:
            begun = options.rstrip()[:-1]
            continue
        try:
            words = deque(_split(options, comments=True))
        except ValueError as error:
            found.complain(f"#BSUB: {error}")
            continue
        _read_options(found, words)
        if words:
            found.complain(f"#BSUB: {words[0]!r} is no option")


def _is_command(line: str) -> bool:
    """Whether a line of a script is neither blank nor a comment."""
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _options_of(line: str) -> deque[str]:
    """The words behind ``bsub``. Raises ValueError for a line that is none of bsub."""
    calls = [text for text in line.splitlines() if _CALL.match(text)]
    if len(calls) > 1:
        raise ValueError(f"has {len(calls)} lines of bsub: ask about one at a time")
    words = deque(_split(line))
    if not words:
        raise ValueError("is empty: give the options of bsub, such as -n 8 -W 2:00")
    at = next((n for n, word in enumerate(words) if word.rsplit("/", 1)[-1] == "bsub"), None)
    if words and not words[0].startswith("-"):
        if at is None:
            raise ValueError(
                f"{line.strip()[:60]!r} is no bsub line: give options (-n 8 -W 2:00), bsub and a "
                "command, or a script with #BSUB lines"
            )
        for _ in range(at + 1):
            words.popleft()
    return words


def _split(text: str, *, comments: bool = False) -> list[str]:
    try:
        return shlex.split(text, comments=comments)
    except ValueError as error:
        raise ValueError(f"{error}: {text[:200]!r}") from None


def _read_options(found: BsubLine, words: deque[str]) -> None:
    """Take options from the front of the words, up to the command."""
    while words and words[0].startswith("-") and words[0] != "-":
        if words[0] == "--":
            words.clear()
            return
        option = _option(words)
        value = words[0] if words and option in _WITH_VALUE else None
        try:
            _take(found, option, value)
        except ValueError as error:
            found.complain(f"{option}: {error}")
        found.lines.setdefault(option, found.line)
        if value is not None:
            words.popleft()


def _option(words: deque[str]) -> str:
    """Take the next option; a value that was joined to it becomes the next word."""
    word = words.popleft()
    if word in _KNOWN or not _LETTERS.match(word[:2]):
        return word
    letter, rest = word[:2], word[2:]
    spelt = nearest(word, [option for option in _KNOWN if len(option) > 3])
    file_or_name = letter in ("-o", "-e", "-q", "-m")
    if letter not in _WITH_VALUE:
        return word
    if rest.isalpha() and letter.islower() and spelt and not file_or_name:
        return word
    if letter == "-n" and not rest[:1].isdigit():
        return word
    words.appendleft(rest)
    return letter


def _take(found: BsubLine, option: str, value: str | None) -> None:
    """Read one option with the value that stands behind it."""
    if option in REFUSED:
        raise ValueError(REFUSED[option])
    if option in _FLAGS:
        found.fields[_FLAGS[option]] = True
        return
    if option in QUIET_FLAGS:
        found.quiet.append(option)
        return
    if option not in _WITH_VALUE:
        known = [*_VALUES, *_FLAGS, *QUIET_VALUES, *QUIET_FLAGS, *UNHEEDED]
        raise ValueError(f"unknown option{nearest(option, known)}")
    if value is None:
        raise ValueError("needs a value")
    if option in UNHEEDED:
        found.unheeded.append(f"{option} {' '.join(value.split())}")
    elif option in _VALUES:
        _VALUES[option](found, value)
    else:
        found.quiet.append(option)


def _once(submission: BsubLine, name: str, value: object) -> None:
    if name in submission.fields:
        raise ValueError("is given twice")
    submission.fields[name] = value


def _slots(submission: BsubLine, text: str) -> None:
    parts = text.split(",")
    if len(parts) > 2 or not all(p.isascii() and p.isdigit() and 0 < len(p) < 10 for p in parts):
        raise ValueError(f"must be a number of slots such as 6, or 6,12, not {text!r}")
    least, most = int(parts[0]), int(parts[-1])
    if least < 1 or most < least:
        raise ValueError(f"must be 1 slot or more and rise, not {text!r}")
    _once(submission, "slots", least)
    _once(submission, "max_slots", most if len(parts) == 2 else None)


def _whole_hosts(submission: BsubLine, text: str) -> None:
    """-nnodes of CORAL: one slot on each of so many hosts that no other job is on."""
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text)):
        raise ValueError(f"must be a number of hosts such as 2, not {text!r}")
    _once(submission, "slots", int(text))
    submission.fields |= {"max_slots": None, "exclusive": True}
    submission.requirements.append("span[ptile=1]")


def _requirement(submission: BsubLine, text: str) -> None:
    submission.requirements.append(text)


def _limit(name: str) -> Callable[[BsubLine, str], None]:
    def read(submission: BsubLine, text: str) -> None:
        _once(submission, name, positive_duration(text, MINUTE))

    return read


def _text(name: str) -> Callable[[BsubLine, str], None]:
    def read(submission: BsubLine, text: str) -> None:
        if not text.strip() or len(text.split()) > 1:
            raise ValueError(f"must be one name, not {text!r}")
        _once(submission, name, text.strip())

    return read


def _line(name: str) -> Callable[[BsubLine, str], None]:
    def read(submission: BsubLine, text: str) -> None:
        if not text.strip():
            raise ValueError("needs a value")
        _once(submission, name, " ".join(text.split()))

    return read


def _hosts(submission: BsubLine, text: str) -> None:
    wanted, excluded = host_requests(tokens(text))
    if excluded:
        raise ValueError(f"~{excluded[0]}: a job cannot exclude hosts by -m, use select[]")
    _once(submission, "hosts", wanted)


def _priority(submission: BsubLine, text: str) -> None:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(f"must be a whole number of 1 or more, not {text!r}")
    _once(submission, "priority", int(text))


def _instant(name: str) -> Callable[[BsubLine, str], None]:
    def read(submission: BsubLine, text: str) -> None:
        if "T" in text:
            _once(submission, name, submission.clock.seconds(parse_stamp(text)))
        else:
            _once(submission, name, submission.clock.next(text))

    return read


def _name(submission: BsubLine, text: str) -> None:
    """The name of a job, and the elements of an array; how many there may be is asked later."""
    name, spec = parse_array(" ".join(text.split()), LARGEST_INDEX)
    if name:
        _once(submission, "name", name)
    if spec is not None:
        _once(submission, "array", spec)


def _condition(submission: BsubLine, text: str) -> None:
    try:
        parse_dependency(text)
    except DependencyError as error:
        raise ValueError(error.problems[0].message) from None
    _once(submission, "dependency", " ".join(text.split()))


_FLAGS = {"-x": "exclusive", "-ar": "resizable", "-ti": "orphan_term"}
_VALUES: dict[str, Callable[[BsubLine, str], None]] = {
    "-n": _slots,
    "-nnodes": _whole_hosts,
    "-R": _requirement,
    "-W": _limit("run_limit"),
    "-c": _limit("cpu_limit"),
    "-We": _limit("estimated_run_time"),
    "-q": _text("queue"),
    "-m": _hosts,
    "-sp": _priority,
    "-G": _text("group"),
    "-P": _line("project"),
    "-app": _text("application"),
    "-gpu": _line("gpu"),
    "-ext": _line("extsched"),
    "-extsched": _line("extsched"),
    "-J": _name,
    "-w": _condition,
    "-b": _instant("begin"),
    "-t": _instant("deadline"),
}
_TIMES = (("run_limit", "-W"), ("cpu_limit", "-c"), ("estimated_run_time", "-We"))
_WITH_VALUE = frozenset({*_VALUES, *QUIET_VALUES, *UNHEEDED})
_KNOWN = frozenset({*_WITH_VALUE, *_FLAGS, *QUIET_FLAGS, *REFUSED})
