"""bsub command lines as job descriptions (CFG-03)."""

from __future__ import annotations

import re
import shlex
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any, NamedTuple

from ..bsub_options import (
    NOTED,
    OTHER_SCRIPTS,
    QUIET_FLAGS,
    QUIET_VALUES,
    REFUSED,
    UNHEEDED,
    WRITTEN_OUT,
)
from ..dependency import DependencyError, parse_dependency
from ..display import MINUTE, strange_character, visible
from ..errors import Problem, nearest
from ..gpu_request import with_gpu_constraints
from ..input_limits import check_length
from ..job import LARGEST_INDEX, HostRequest, parse_array
from .names import check_job_group, host_requests, tokens
from .text import positive_duration
from .units import Clock, parse_stamp

#: Options of one letter whose value may follow without a blank, as in -n4 or -Jname.
_LETTERS = re.compile(r"-[A-Za-z]\Z")
#: A word that calls bsub where a command begins: ``bsub``, ``$(bsub``, ``id=$(/opt/lsf/bin/bsub``.
_CALL = re.compile(r"(?:.*[(`])?(?:[^\s(`]*/)?bsub")
_SET = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
#: Words of the shell that precede a command, and words that begin a shell repetition.
_BEFORE = frozenset({"do", "then", "else", "time", "exec", "nohup", "eval", "!", "{", "("})
_LOOPS = frozenset({"for", "while", "until"})
_HERE = re.compile(r"-?\s*(['\"]?)(?P<end>\w+)\1(?P<rest>.*)")
_DIRECTIVE = re.compile(r"\s*#BSUB(?![A-Za-z0-9_])(?P<options>.*)")
#: A line that resembles a ``#BSUB`` line and is none.
_NEARLY = re.compile(r"\s*#\s*BSUB\s+-.*", re.IGNORECASE)
#: Placeholders that a template program leaves in an unfilled script.
_FORM = re.compile(r"\{\{|\{%|<%")
#: A placeholder for a value that was never filled in.
_PLACEHOLDER = re.compile(
    r"\$[\w{(]+\}?|\{\{.{0,80}?\}\}|(?<!\*)\{[A-Za-z_][\w.]*\}|<[A-Za-z_][\w -]*>"
)
_VARIABLE = re.compile(r"\$(?P<brace>\{)?(?P<name>[A-Za-z_]\w*)(?(brace)\})")
#: Maximum length of a text in a message, and of a word with variables filled in, in characters.
_SHOWN, _LONGEST_WORD = 80, 2000
#: Quotation marks of word processors, which no shell treats as quotes.
_CURLY = "\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u00ab\u00bb\u2033\u2032"
_SHELLS = frozenset({"sh", "bash", "ksh", "csh", "tcsh", "zsh", "dash"})
#: Reason for ignoring ``#BSUB`` lines in a script that is a command.
_NOT_READ = "bsub reads them after '<', or with LSB_BSUB_PARSE_SCRIPT=Y in lsf.conf"
#: A limit with a unit, which bsub does not accept.
_WITH_UNIT = re.compile(r".*[A-Za-z.]")
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212"
#: Beginning of an option as word processors write it.
_REWRITTEN = re.compile(f"[{_CURLY}]+[-{_DASHES}]|[{_DASHES}]")
#: Options of which bsub takes the first occurrence; of all other options it takes the last
#: (SUB-03).
_FIRST = frozenset({"-n", "-W", "-c", "-b", "-t"})
_SAME = {"-extsched": "-ext"}


@dataclass(slots=True)
class BsubLine:
    """Contents of a bsub line or a job script."""

    #: Clock that converts times of day to seconds from the origin.
    clock: Clock = field(default_factory=Clock)
    #: Fields of a :class:`~slotwise.model.job.Job`, and ``array``: its elements
    #: (:class:`~slotwise.model.job.ArraySpec`).
    fields: dict[str, Any] = field(default_factory=dict)
    #: Errors, with the line number in the script.
    problems: list[Problem] = field(default_factory=list)
    #: Options that do not affect the start, as given.
    quiet: list[str] = field(default_factory=list)
    #: Resource requirements (-R) in the order of the command line.
    requirements: list[str] = field(default_factory=list)
    #: Options that no method obeys, as the user wrote them.
    unheeded: list[str] = field(default_factory=list)
    #: Line of the script that gave each option, 0 if it was not the script.
    lines: dict[str, int] = field(default_factory=dict)
    #: Number of the script line that is being read.
    line: int = 0
    #: Ignored parts with the reason.
    notes: list[str] = field(default_factory=list)
    #: Queues of -q; the first that accepts the job counts.
    queues: tuple[str, ...] = ()
    #: Values of options as written.
    given: dict[str, str] = field(default_factory=dict)
    #: Whether a time of day is omitted if the clock has no origin.
    dateless: bool = False

    def complain(self, message: str) -> None:
        """Add an error in the current line."""
        self.problems.append(Problem(message, line=self.line or None))

    def finished(self) -> BsubLine:
        """Return the line with repeated options merged."""
        if self.requirements:
            texts, gpu = with_gpu_constraints(self.requirements, self.fields.get("gpu", ""))
            self.fields["res_req"] = texts
            if gpu:
                self.fields["gpu"] = gpu
        if self.unheeded:
            self.fields["unheeded"] = tuple(self.unheeded)
        return self

    def over(self, below: BsubLine | None) -> BsubLine:
        """Return the line merged over the options of its script."""
        if below is not None:
            for option, other in (("-n", "-nnodes"), ("-nnodes", "-n")):
                if option in self.lines and other in below.lines:
                    self.complain(f"{option}: the script has {other}: give one of them")
            if self.requirements and below.requirements:
                gone = " ".join(f"-R {shlex.quote(text)}" for text in below.requirements)
                self.notes.append(f"{gone} (of the script; the command line has its own -R)")
            rest = [text for text in below.unheeded if text.split()[0] not in self.given]
            for option, value in below.given.items():
                if self.given.get(option, value) != value:
                    counts = f"the script's, the line has {option} {self.given[option]}"
                    self.notes.append(f"{option} {value} ({counts})")
            self.fields = below.fields | self.fields
            self.queues = self.queues or below.queues
            if self.unheeded or rest:
                self.fields["unheeded"] = (*self.unheeded, *rest)
            self.problems += below.problems
            self.quiet += below.quiet
            self.notes += below.notes
            self.lines = below.lines | self.lines
        return self

    def with_defaults(self, environment: Mapping[str, str]) -> BsubLine:
        """Return the line with options from environment variables where it and the script have
        none.
        """
        for name, option in _DEFAULTS.items():
            if environment.get(name) and option not in self.lines:
                _take(self, option, environment[name])
        return self


def read_bsub(line: str, clock: Clock | None = None) -> tuple[dict[str, Any], list[Problem]]:
    """Return the fields of a :class:`~slotwise.model.job.Job` from a bsub line, without its id, and
    its errors.

    line: options of bsub, with or without the word ``bsub`` in front and a command behind, or a job
    script with ``#BSUB`` lines. clock: origin and now, which times of day (-b, -t) need. Options
    that do not affect the start (-o, -e and the like) are ignored; those that may affect it and
    that nothing obeys (-data, -U) have a field.
    """
    found = bsub_line(line, clock)
    if wrong := several_queues(found):
        found.problems.append(Problem(wrong))
    return found.fields, found.problems


def several_queues(found: BsubLine) -> str:
    """Return the error of a line with several queues in a context without an instance, else ""."""
    count = len(found.queues)
    return f"-q: names {count} queues: name the queue of the job" if count > 1 else ""


def bsub_line(
    line: str,
    clock: Clock | None = None,
    script: str | None = None,
    *,
    dateless: bool = False,
    parse_script: bool = False,
) -> BsubLine:
    """Return a bsub line with its errors and ignored parts; see :func:`read_bsub`.

    script: text of the job script after ``<``, or of the line's command; the options of bsub win
    over those of the script. parse_script: bsub reads a script that is its command
    (LSB_BSUB_PARSE_SCRIPT). dateless: times of day without an origin are omitted,
    not refused.
    """
    clock = clock or Clock()
    found = BsubLine(clock, dateless=dateless)
    below = None if script is None else _script(script, clock, dateless=dateless)
    line = _plain(line)
    environment: dict[str, str] = {}
    try:
        line, here = _here_document(line)
        if here is None and is_script(line) and (has_directives(line) or not _calls(line)[0]):
            return _script(line, clock, dateless=dateless, alone=True).over(below)
        check_length(line)
        if wrong := strange_character(line):
            raise ValueError(wrong)
        if here is not None:
            below = _script(here, clock, dateless=dateless)
        if line.strip() or below is None:
            call = _options_of(line)
            words = deque(call.words)
            bare = not words
            environment = call.environment
            _read_options(found, words)
            if script is not None and _command_of(words):
                below = below if parse_script and not _is_shell(words[0]) else None
                if below is None and has_directives(script):
                    name = _command_of(words) or ""
                    found.notes.append(f"the #BSUB lines of {name[:_SHOWN]} ({_NOT_READ})")
            if below is None and _script_behind(words):
                raise ValueError("the script after '<' is not read: give the options of the script")
            if below is None and bare:
                raise ValueError(
                    "bsub alone reads the job from standard input: give options, a command or a "
                    "script"
                )
    except ValueError as error:
        found.problems.append(Problem(f"bsub line: {error}"))
    return found.finished().over(below).with_defaults(environment)


def _plain(text: str) -> str:
    """Return the text without a byte order mark and with line feeds alone."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def script_of(line: str) -> str | None:
    """Return the job script that a bsub line reads, as in ``bsub -n 4 < job.lsf``."""
    return _behind_options(line, _script_behind)


def script_in_command(line: str) -> str | None:
    """Return the script that is the command of a bsub line or that a shell runs."""
    return _behind_options(line, _command_of)


def _behind_options(line: str, read: Callable[[deque[str]], str | None]) -> str | None:
    with suppress(ValueError):
        words = deque(_options_of(_here_document(_plain(line))[0]).words)
        _read_options(BsubLine(), words)
        return read(words)
    return None


def _command_of(words: Sequence[str]) -> str | None:
    """Return the first word of a command; if it calls a shell, the script of the shell."""
    if not words or words[0].startswith("<"):
        return None
    if not _is_shell(words[0]):
        return words[0]
    return next((word for word in list(words)[1:] if not word.startswith("-")), None)


def _is_shell(word: str) -> bool:
    return word.rsplit("/", 1)[-1] in _SHELLS


def has_directives(text: str) -> bool:
    """Return whether a text has ``#BSUB`` lines."""
    return any(map(_DIRECTIVE.match, text.splitlines()))


def _here_document(text: str) -> tuple[str, str | None]:
    """Return the text without ``bsub -q normal <<EOF`` and its script, and the script."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if _DIRECTIVE.match(line):
            break
        head, mark, tail = line.partition("<<")
        if mark and re.search(r"\bbsub\b", head) and (match := _HERE.fullmatch(tail)):
            body = lines[at + 1 :]
            end = next((n for n, other in enumerate(body) if other.strip() == match["end"]), None)
            if end is not None:
                rest = [head + match["rest"], *body[end + 1 :]]
                return "\n".join(lines[:at] + rest), "\n".join(body[:end])
            return "\n".join([*lines[:at], head]), "\n".join(body)
    return text, None


def _script_behind(words: Sequence[str]) -> str | None:
    """Return the name after ``<`` if no command precedes it."""
    if not words or not words[0].startswith("<") or words[0].startswith("<<"):
        return None
    return words[0][1:] or next(iter(list(words)[1:]), "")


def is_script(text: str) -> bool:
    """Return whether a text is a job script: several lines, one of them a comment."""
    lines = text.strip().splitlines()
    return any(line.lstrip().startswith("#") for line in lines[: None if lines[1:] else 1])


def _script(text: str, clock: Clock, *, dateless: bool, alone: bool = False) -> BsubLine:
    """Return the options of the ``#BSUB`` lines of a script (SUB-01).

    Lines after the first command are ignored with a note; if there are no others, as in a script
    that begins with ``source``, they count. alone: no bsub line reads the script, so a script
    without ``#BSUB`` lines requests nothing.
    """
    found = BsubLine(clock, dateless=dateless)
    text = _plain(text)
    lines = text.splitlines()
    numbered = enumerate(lines, start=1)
    directives = [
        (at, match["options"]) for at, line in numbered if (match := _DIRECTIVE.match(line))
    ]
    for at, line in enumerate(lines, start=1):
        if _NEARLY.fullmatch(line) and not _DIRECTIVE.match(line):
            text = visible(line.strip()[:_SHOWN])
            found.notes.append(f"{text} (line {at}: an option follows #BSUB)")
    try:
        check_length("".join(options for _, options in directives))
        if not directives and alone:
            raise ValueError(_without_directives(lines))
    except ValueError as error:
        found.problems.append(Problem(f"bsub line: {error}"))
        return found
    directives = _before_commands(found, lines, directives)
    begun = ""
    for found.line, options in directives:
        if wrong := strange_character(options):
            found.complain(f"#BSUB: {wrong}")
            continue
        options = begun + options
        begun = ""
        if _FORM.search(options):
            found.complain(
                f"#BSUB: {options.strip()[:_SHOWN]!r} has placeholders: replace them by values"
            )
            continue
        if options.rstrip().endswith("\\") and found.line != directives[-1][0]:
            begun = options.rstrip()[:-1]
            continue
        _read_directive(found, options, last=found.line == directives[-1][0])
    return found.finished()


def _before_commands(
    found: BsubLine, lines: Sequence[str], directives: list[tuple[int, str]]
) -> list[tuple[int, str]]:
    """Return the directives before the first command; later ones become notes."""
    end = len(lines) + 1
    first = next((n for n, line in enumerate(lines, start=1) if _is_command(line)), end)
    late = [item for item in directives if item[0] > first]
    if len(late) == len(directives):
        return directives
    for at, options in late:
        text = visible(" ".join(options.split())[:_SHOWN])
        found.notes.append(f"#BSUB {text} (line {at}, after the first command)")
    return [item for item in directives if item[0] < first]


def _is_command(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _without_directives(lines: Sequence[str]) -> str:
    """Return the error for a script that has no ``#BSUB`` line."""
    begins = {line.split()[0] for line in lines if line.split()}
    other = next((name for mark, name in OTHER_SCRIPTS.items() if mark in begins), "")
    if other:
        return f"this is a script for {other}; Slotwise reads #BSUB lines"
    return "a script without #BSUB lines requests nothing: give the options of bsub"


def _read_directive(found: BsubLine, text: str, *, last: bool) -> None:
    """Read the options of one ``#BSUB`` line; text that does not begin an option is ignored.

    bsub reads no option after such a text, on later lines either; after the last line nothing is
    lost.
    """
    if '\\"' in text and '"' not in text.replace('\\"', ""):
        text = text.replace('\\"', '"')  # written by an echo or a here-document
    text = _uncommented(text).strip()
    if not text:
        return
    if not text.startswith("-") and not is_rewritten(text):
        found.unheeded.append(f"#BSUB {text} (line {found.line}: no option)")
        return
    try:
        words = deque(_split(text))
    except ValueError as error:
        found.complain(f"#BSUB: {error}")
        return
    _read_options(found, words)
    if words and last and not any(w.startswith("-") or is_rewritten(w) for w in words):
        found.unheeded.append(f"{' '.join(words)} (line {found.line}: no option)")
    elif words:
        found.complain(f"#BSUB: {words[0]!r} {no_option(words[0])}")


def is_rewritten(word: str) -> bool:
    """Return whether a word begins with a dash or a quote that word processors put in place of
    ``-`` and of quotes around an option.
    """
    return _REWRITTEN.match(word) is not None


def no_option(word: str, long: str = "-") -> str:
    """Return why a word where an option should stand is none; long: what begins long options."""
    if word.startswith(tuple(_CURLY)):
        return "begins with a typographic quote: write \" or '"
    if is_rewritten(word):
        bare = word.lstrip("-" + _DASHES)
        return f"begins with a long dash: write {long if bare[1:2] not in '= ' else '-'}{bare}"
    return "is not an option: put a value of several words in quotes, and # before a comment"


def _uncommented(text: str) -> str:
    """Return the text without unquoted comments (``#`` at the start of a word), line by line."""
    kept: list[str] = []
    quote, before, comment, escaped = "", " ", False, False
    for sign in text:
        comment = (comment and sign != "\n") or (sign == "#" and not quote and before.isspace())
        if comment:
            continue
        kept.append(sign)
        if escaped:
            escaped = False
        elif sign == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        before = sign
    return "".join(kept)


def _options_of(line: str) -> _Call:
    """Return the call of bsub in a line; raises ValueError if there is none or several."""
    line = _uncommented(line)
    if not line.strip():
        raise ValueError("is empty: give the options of bsub, such as -n 8 -W 2:00")
    calls, loop = _calls(line)
    if len(calls) > 1:
        raise ValueError(
            f"calls bsub {len(calls)} times: give one call only; the second is "
            f"{_call_text(calls[1].words)}"
        )
    if loop:
        raise ValueError(
            f"calls bsub in a loop: give one of its jobs, such as {_call_text(calls[0].words)}"
        )
    if calls:
        return calls[0]
    words = _split(line)
    at = next((n for n, word in enumerate(words) if word.rsplit("/", 1)[-1] == "bsub"), None)
    if at is None:
        raise ValueError(
            f"{line.strip()[:60]!r} is not a bsub line: give options (-n 8 -W 2:00), bsub and a "
            "command, or a script with #BSUB lines"
        )
    return _Call(words[at + 1 :], {})


def _call_text(words: Sequence[str]) -> str:
    text = " ".join(word if word[:1] == "<" else shlex.quote(word) for word in words)
    return f"'bsub {text[:_SHOWN]}'"


class _Call(NamedTuple):
    """A call of bsub: the words behind it, and the variables that the text sets for it."""

    words: list[str]
    environment: dict[str, str]


def _calls(text: str) -> tuple[list[_Call], bool]:
    """Return the calls of bsub, and whether one of them is in a shell loop.

    A line of options alone is a call as well. Variables that the text has set before are put in.
    Raises ValueError for quotes that do not end.
    """
    calls: list[_Call] = []
    values: dict[str, str] = {}
    depth, loop = 0, False
    for at, words in enumerate(_commands(text)):
        if at == 0 and words[0].startswith("-"):
            calls.append(_Call(words, {}))
            continue
        assigned = _assigned(words, values)
        if words[0] == "export" or all(map(_SET.fullmatch, words)):
            values |= assigned
        depth += words[0] in _LOOPS
        depth -= words[0] == "done"
        while words and not _CALL.fullmatch(words[0]):
            if words[0] not in _BEFORE and not _SET.fullmatch(words[0]):
                break
            words = words[1:]
            depth += bool(words) and words[0] in _LOOPS
        if words and _CALL.fullmatch(words[0]):
            calls.append(_Call([_filled(word, values) for word in words[1:]], values | assigned))
            loop = loop or depth > 0
    return calls, loop


def _assigned(words: Sequence[str], values: Mapping[str, str]) -> dict[str, str]:
    """Return the known variables that a command sets before its first other word."""
    pairs = (
        _filled(word, values).partition("=")
        for word in takewhile(_SET.fullmatch, words[words[0] == "export" :])
    )
    return {
        name: value
        for name, _, value in pairs
        if len(value) < _LONGEST_WORD and not re.search(r"[$`]", value)
    }


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Return a word of the shell with known variables replaced."""
    if len(text) > _LONGEST_WORD:
        return text
    return _VARIABLE.sub(lambda match: values.get(match["name"], match[0]), text)


def _commands(text: str) -> list[list[str]]:
    """Return the commands of a shell text, each as its words."""
    lexer = shlex.shlex(
        _uncommented(text).replace("\\\n", " "), posix=True, punctuation_chars=";\n"
    )
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    found: list[list[str]] = [[]]
    try:
        for word in lexer:
            if word in ("&&", "||", "|", "&") or (word and not word.strip(";\n")):
                found.append([])
            else:
                found[-1].append(word)
    except ValueError as error:
        raise ValueError(f"{error}: {text[:200]!r}") from None
    return [words for words in found if words]


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{error}: {text[:200]!r}") from None


def _read_options(found: BsubLine, words: deque[str]) -> None:
    """Take options from the front of the words, up to the command."""
    while words and words[0].startswith("-") and words[0] != "-":
        if words[0] == "--":
            words.popleft()
            return
        option = _option(words)
        value = words[0] if words and option in _WITH_VALUE else None
        try:
            _take(found, option, value)
        except ValueError as error:
            found.complain(f"{option}: {error}{_unfilled(value or '')}")
        found.lines.setdefault(option, found.line)
        if value is not None:
            words.popleft()
    if words and is_rewritten(words[0]):
        found.complain(f"{words[0]!r} {no_option(words[0])}")
        words.clear()


def _unfilled(value: str) -> str:
    """Return the remedy for a placeholder value."""
    match = _PLACEHOLDER.search(value)
    return "" if match is None else f" ({match[0]} is a placeholder: replace it by a value)"


def _option(words: deque[str]) -> str:
    """Take the next option; a value that was joined to it becomes the next word."""
    word = words.popleft()
    if (
        word in _KNOWN
        or word.removeprefix("-") in WRITTEN_OUT
        or word in WRITTEN_OUT
        or not _LETTERS.match(word[:2])
    ):
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
    if short := WRITTEN_OUT.get(option.removeprefix("-"), WRITTEN_OUT.get(option)):
        joined = option[:2] in _WITH_VALUE and option[:2] != "--"
        read = f"bsub reads it as {option[:2]} {option[2:]}" if joined else "unknown option"
        raise ValueError(f"{read}: write {short}")
    if option not in _WITH_VALUE:
        known = [*_VALUES, *_OF_FIELDS, *_FLAGS, *QUIET_VALUES, *QUIET_FLAGS, *UNHEEDED]
        raise ValueError(f"unknown option{nearest(option, known)}")
    if value is None:
        raise ValueError("needs a value")
    if value.startswith(tuple(_CURLY)):
        raise ValueError(f"{value!r} begins with a typographic quote: write \" or '")
    if option not in QUIET_VALUES and option != "-R" and _is_overridden(found, option, value):
        return
    if option in NOTED:
        found.notes.append(f"{option} {' '.join(value.split())} ({NOTED[option]})")
    elif option in UNHEEDED:
        found.unheeded.append(f"{option} {' '.join(value.split())}")
    elif option in _OF_FIELDS:
        name, reads = _OF_FIELDS[option]
        found.fields[name] = reads(value)
    elif option in _VALUES:
        _VALUES[option](found, value)
    else:
        found.quiet.append(option)


def _is_overridden(found: BsubLine, option: str, value: str) -> bool:
    """Return whether an earlier option keeps its first value; a note names the ignored one."""
    kept = found.given.get(_SAME.get(option, option))
    first = kept is not None and option in _FIRST
    if kept is not None and kept != value:
        gone, counts = (value, kept) if first else (kept, value)
        which = "first" if first else "last"
        found.notes.append(f"{option} {gone} (given twice: the {which} counts, {option} {counts})")
    if not first:
        found.given[_SAME.get(option, option)] = value
        found.unheeded = [text for text in found.unheeded if text.split()[0] != option]
    return first


def _slots(submission: BsubLine, text: str) -> None:
    parts = text.split(",")
    if len(parts) > 2 or not all(p.isascii() and p.isdigit() and 0 < len(p) < 10 for p in parts):
        raise ValueError(f"must be a number of slots such as 6, or 6,12, not {text!r}")
    least, most = int(parts[0]), int(parts[-1])
    if least < 1 or most < least:
        raise ValueError(f"must be 1 slot or more, in ascending order, not {text!r}")
    if "-nnodes" in submission.given:
        raise ValueError("requests slots and -nnodes requests whole hosts: give one of them")
    submission.fields["slots"] = least
    submission.fields["max_slots"] = most if len(parts) == 2 else None


def _whole_hosts(submission: BsubLine, text: str) -> None:
    """Read -nnodes of CORAL: one slot on each of that many hosts, which no other job uses."""
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text)):
        raise ValueError(f"must be a number of hosts such as 2, not {text!r}")
    if "-n" in submission.given:
        raise ValueError("requests whole hosts and -n requests slots: give one of them")
    submission.fields |= {"slots": int(text), "max_slots": None}
    submission.fields |= {"exclusive": True, "whole_hosts": True}
    if "span[ptile=1]" not in submission.requirements:
        submission.requirements.append("span[ptile=1]")


def _requirement(submission: BsubLine, text: str) -> None:
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]  # quotes that a shell or an echo has kept
    if _unfilled(text):
        raise ValueError(f"{text!r} has a placeholder instead of a requirement such as mem>1000")
    submission.requirements.append(text)


def _queue(submission: BsubLine, text: str) -> None:
    """Set the queues of a submission; with several, the job goes to the first that accepts it."""
    submission.queues = tuple(text.split())
    if not submission.queues:
        raise ValueError(f"must be one name, not {text!r}")
    if _unfilled(text):
        raise ValueError(f"must be the name of a queue, not {text!r}")
    submission.fields["queue"] = submission.queues[0]


def _limit(name: str, option: str) -> Callable[[BsubLine, str], None]:
    def read(submission: BsubLine, text: str) -> None:
        found = positive_duration(text, MINUTE)
        submission.fields[name] = found
        if _WITH_UNIT.match(text.partition("/")[0]):
            minutes = -(-int(found) // MINUTE)
            plain = f"{option} {minutes // 60}:{minutes % 60:02}"
            submission.notes.append(
                f"rejection of {option} {text}: it accepts minutes or hours:minutes ({plain})"
            )

    return read


def _one_name(text: str) -> str:
    if not text.strip() or len(text.split()) > 1:
        raise ValueError(f"must be one name, not {text!r}")
    return text.strip()


def _line(text: str) -> str:
    if not text.strip():
        raise ValueError("needs a value")
    return " ".join(text.split())


def _hosts(text: str) -> tuple[HostRequest, ...]:
    wanted, excluded = host_requests(tokens(text))
    if excluded:
        raise ValueError(f"~{excluded[0]} is accepted only in HOSTS of a queue: use select[]")
    return wanted


def _priority(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(f"must be a whole number of 1 or more, not {text!r}")
    return int(text)


def _instant(name: str) -> Callable[[BsubLine, str], None]:
    def read(submission: BsubLine, text: str) -> None:
        if submission.dateless and submission.clock.origin is None and "T" not in text:
            Clock(datetime(2000, 1, 1, tzinfo=UTC)).next(text)
            submission.unheeded.append(f"{_TIMES_OF_DAY[name]} {text}")
        elif "T" in text:
            submission.fields[name] = submission.clock.seconds(parse_stamp(text))
        else:
            submission.fields[name] = submission.clock.next(text)

    return read


def _name(submission: BsubLine, text: str) -> None:
    """Set the name of a job and the elements of its array; their number is checked later."""
    name, spec = parse_array(" ".join(text.split()), LARGEST_INDEX)
    for key in ("name", "array"):
        submission.fields.pop(key, None)
    if name:
        submission.fields["name"] = name
    if spec is not None:
        submission.fields["array"] = spec


def _condition(text: str) -> str:
    try:
        parse_dependency(text)
    except DependencyError as error:
        raise ValueError(error.problems[0].message) from None
    return " ".join(text.split())


#: The variables of bsub that stand for an option, as its reference page has them.
_DEFAULTS = {"LSB_DEFAULTQUEUE": "-q", "LSB_DEFAULTPROJECT": "-P"}
_FLAGS = {"-x": "exclusive", "-ar": "resizable", "-ti": "orphan_term"}
#: Options whose text is the value of one field: the field, and what reads it.
_OF_FIELDS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "-m": ("hosts", _hosts),
    "-sp": ("priority", _priority),
    "-G": ("group", _one_name),
    "-P": ("project", _line),
    "-Lp": ("license_project", _line),
    "-app": ("application", _one_name),
    "-g": ("job_group", lambda text: check_job_group(text.strip())),
    "-U": ("reservation", _one_name),
    "-sla": ("service_class", _one_name),
    "-gpu": ("gpu", _line),
    "-ext": ("extsched", _line),
    "-extsched": ("extsched", _line),
    "-w": ("dependency", _condition),
}
_VALUES: dict[str, Callable[[BsubLine, str], None]] = {
    "-n": _slots,
    "-nnodes": _whole_hosts,
    "-R": _requirement,
    "-W": _limit("run_limit", "-W"),
    "-c": _limit("cpu_limit", "-c"),
    "-We": _limit("estimated_run_time", "-We"),
    "-q": _queue,
    "-J": _name,
    "-b": _instant("begin"),
    "-t": _instant("deadline"),
}
_TIMES_OF_DAY = {"begin": "-b", "deadline": "-t"}
_WITH_VALUE = frozenset({*_VALUES, *_OF_FIELDS, *QUIET_VALUES, *UNHEEDED, *NOTED})
_KNOWN = frozenset({*_WITH_VALUE, *_FLAGS, *QUIET_FLAGS, *REFUSED})
