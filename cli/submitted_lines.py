"""What ``slotwise ask`` is asked about: a bsub line, or a job script by name or from a pipe."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import typer

from ..model.errors import InputError, nearest

USAGE = "give a bsub line: slotwise ask INSTANCE 'bsub -n 8 -W 2:00', or a job script"


@dataclass(frozen=True, slots=True)
class AskedLine:
    """A bsub line, "" for none, and the text of the job script that it reads; name: of a script."""

    line: str
    script: str | None = None
    name: str = ""


def asked_for(
    words: list[str], context: typer.Context, *, after_file: bool, stdin: bool
) -> AskedLine:
    """What the words of the command line ask about: a line in quotes or as its words, or a script.

    context: of the command, whose options a misspelt one is compared with. after_file: whether an
    instance file stands before the words. stdin: whether standard input may have a script. Raises
    InputError for an option of ours that is misspelt, for words that may be meant in two ways,
    where there is nothing to ask, and for a script that cannot be read.
    """
    from ..model.formats.bsub import script_of

    options = [name for known in context.command.params for name in known.opts]
    for word in words:
        if word.startswith("--") and (hint := nearest(word, options)):
            raise InputError(
                f"unknown option '{word}'{hint}; quote a line with a command's options"
            )
    if not words or words == ["bsub"]:  # without a command bsub reads the job from there
        return AskedLine(_from_standard_input(stdin), name="standard input")
    line = words[0] if len(words) == 1 else _joined(words, after_file=after_file)
    if len(words) == 1 and not line.startswith("-") and _is_file(line):
        return AskedLine(_text(Path(line)), name=line)
    name = script_of(line)
    return AskedLine(line) if name is None else AskedLine(line, _text(Path(name)), name)


def _joined(words: list[str], *, after_file: bool) -> str:
    if not (after_file or words[0] == "bsub" or words[0].startswith("-")):
        raise InputError(f"{words[0]}: give an instance file or --example, not both")
    if " " in words[0]:
        raise InputError(f"give the whole line in quotes, or no quotes around '{words[0]}'")
    return shlex.join(words)


def _is_file(name: str) -> bool:
    try:
        return "\n" not in name and Path(name).is_file()
    except (OSError, ValueError):
        return False


def _text(path: Path) -> str:
    from ..model.formats.source_text import file_bytes

    return _decoded(file_bytes(path), str(path))


def _from_standard_input(stdin: bool) -> str:
    """A job script; InputError where nobody gave one."""
    from .options import standard_input

    if not stdin or sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise InputError(USAGE)
    try:
        data = standard_input()
    except InputError:  # closed: nobody gave one
        raise InputError(USAGE) from None
    text = _decoded(data, "standard input")
    if not text.strip():
        raise InputError(USAGE)
    return text


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InputError(f"{source}: is no text in UTF-8") from None
