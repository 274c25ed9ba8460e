"""GPUs as LSF prints them: GPUs of hosts (bhosts -gpu) and GPUs that jobs use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from ...cluster import MAX_GPUS
from ...errors import InputError
from ...formats.sniff import kind_of_text
from ...gpu_request import plain_model
from ...omissions import GPUS
from . import values
from .reading import Reading, Touched
from .values import Remarks, Text

#: Kinds of text that list the GPUs of hosts.
GPU_KINDS = ("bhosts -gpu", "lshosts -gpu", "lsload -gpu")
#: Columns by the words that each command has over them.
_COLUMNS = {
    "gpu": ("GPU_ID", "gpu_id", "gpuid"),
    "model": ("MODEL", "gpu_model"),
    "mem": ("MTOTAL", "gpu_mtotal"),
    "run": ("RUN", "RUNJOBIDS"),
    "suspended": ("SUSP", "SUSPJOBIDS"),
}


@dataclass(slots=True)
class SeenGpus:
    """The GPUs of one host by number."""

    #: Name of the host.
    host: str
    #: Model by GPU id.
    models: dict[str, str] = field(default_factory=dict)
    #: Memory (MB) by GPU id.
    sizes: dict[str, float] = field(default_factory=dict)
    #: Ids of GPUs in use by started jobs, None if not printed.
    used: set[str] | None = None

    @property
    def count(self) -> int:
        """Return the number of GPUs."""
        return len(self.models)

    @property
    def model(self) -> str:
        """Return the model of the GPUs, "" if the host has several models."""
        found = set(self.models.values())
        return found.pop() if len(found) == 1 else ""

    @property
    def mem(self) -> float | None:
        """Return the memory (MB) of the smallest GPU."""
        return min(self.sizes.values(), default=None)


def is_of_gpus(text: Text) -> bool:
    """Return whether a text lists the GPUs of hosts."""
    return not text.is_json and kind_of_text(text.content[:65536]) in GPU_KINDS


def read_gpus(text: Text, notes: Remarks | None = None) -> list[SeenGpus]:
    """Return the GPUs of each host; raises InputError if the text lists none.

    notes: collects unreadable values.
    """
    reading = Reading(text, notes)
    hosts: dict[str, SeenGpus] = {}
    names: list[str] = []
    host = ""
    for number, line in enumerate(text.content.splitlines(), start=1):
        words = line.split()
        if words[:1] == ["HOST:"] and len(words) == 2:  # bhosts -gpu -l has a block a host
            host, names = words[1], []
        elif words and (words[0] in ("HOST_NAME", *_COLUMNS["gpu"])):
            names = words
        elif names and words:
            cells = _cells(names, words, line)
            if cells is None and (word := _unreadable_number(names, words, line)):
                named = host if line[:1].isspace() or names[0] != "HOST_NAME" else words[0]
                reading.at(f"host {named}", number, Touched(hosts=(named,), resources=(GPUS,)))
                reading.unknown(f"{word!r} is no number of a GPU")
                continue
            if cells is None:
                names = [] if host and names[0] != "HOST_NAME" else names
                continue
            host = cells.get("HOST_NAME", host)
            reading.at(f"host {host}", number, Touched(hosts=(host,), resources=(GPUS,)))
            _take(hosts.setdefault(host, SeenGpus(host)), cells, reading)
    if not hosts:
        raise InputError(f"{text.source}: lists no GPUs of a host: give the output of bhosts -gpu")
    reading.done()
    return list(hosts.values())


def _cells(names: list[str], words: list[str], line: str) -> dict[str, str] | None:
    """Return a row by column, without its host if that is the previous one; None if no row."""
    columns = names[1:] if names[0] == "HOST_NAME" and line[:1].isspace() else names
    number = next(
        (n for n, name in enumerate(columns) if name in (*_COLUMNS["gpu"], "ngpus")), None
    )
    if number is None or number >= len(words) or not words[number].isdigit():
        return None
    return dict(zip(columns, words, strict=False))


def _unreadable_number(names: list[str], words: list[str], line: str) -> str:
    """Return the cell of a GPU's row that should be a number and is none, else ""."""
    columns = names[1:] if names[0] == "HOST_NAME" and line[:1].isspace() else names
    at = next((n for n, name in enumerate(columns) if name in _COLUMNS["gpu"]), len(words))
    if len(words) != len(columns) or at >= len(words) or words[at] in ("-", *columns):
        return ""
    return words[at] if re.search(r"\d|[^\w-]", words[at]) else ""


def _take(seen: SeenGpus, cells: dict[str, str], reading: Reading) -> None:
    found = {
        key: next((cells[name] for name in names if name in cells), "")
        for key, names in _COLUMNS.items()
    }
    counted = int(cells.get("ngpus", "0"))
    if counted > MAX_GPUS:
        reading.unknown(f"{counted} GPUs are more than a host can have ({MAX_GPUS})")
        return
    for number in range(counted):  # lsload -gpu counts them only
        seen.models.setdefault(str(number), "")
    gpu = found["gpu"]
    if not gpu:
        return
    seen.models[gpu] = plain_model(found["model"]).strip("-") or seen.models.get(gpu, "")
    if size := reading.value("MTOTAL", found["mem"], values.size) if found["mem"] else None:
        seen.sizes[gpu] = size
    if found["run"]:
        seen.used = set() if seen.used is None else seen.used
        if any(found[key] not in ("", "-", "0") for key in ("run", "suspended")):
            seen.used.add(gpu)


_OF_HOST = re.compile(r"([A-Za-z][\w.-]*)\s*[:=]\s*(?:gpus=)?\s*(\d+(?:\s*,\s*\d+)*)")
#: Parts of bjobs -l that are about GPUs.
GPU_PARTS = ("GPU REQUIREMENT DETAILS", "GPU_ALLOCATION")
#: Titles of the parts of bjobs -l; the name of a limit over its value is none.
_TITLE = re.compile(r"\s*(?!\w*(?:LIMIT|RUNTIME):)([A-Z][A-Z_ /]{4,}[A-Z]):\s*$")


def allocated(text: str) -> dict[str, int]:
    """Parse GPUs by host such as ``hostA:0,1;hostB:0``; raises ValueError for any other text."""
    found: dict[str, set[str]] = {}
    for host, numbers in _OF_HOST.findall(text):
        found.setdefault(host, set()).update(re.findall(r"\d+", numbers))
    if not found and not values.blank(text):
        raise ValueError(f"{text.strip()!r} names no GPUs of hosts: hostA:0,1")
    return {host: len(gpus) for host, gpus in found.items()}


def sections(block: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the titled parts of a job in bjobs -l, each with its lines."""
    title, lines = "", list[str]()
    for line in block:
        if found := _TITLE.match(line):
            yield title, lines
            title, lines = found[1], []
        else:
            lines.append(line)
    yield title, lines


def of_block(block: Iterable[str]) -> tuple[str, dict[str, int]]:
    """Return the GPU request of a job in bjobs -l, in the form of -gpu, and its GPUs by host."""
    asked, held = "", dict[str, int]()
    for title, lines in sections(block):
        if title == "GPU REQUIREMENT DETAILS":
            asked = _combined(lines)
        elif title == "GPU_ALLOCATION":
            held = _of_table(lines) or held
        elif title == "EXTERNAL MESSAGES" and not held:
            with suppress(ValueError):  # any user may have posted it
                held = allocated(" ".join(line for line in lines if "gpus=" in line))
    return asked, held


def _combined(lines: list[str]) -> str:
    """Return the GPU requirement after ``Combined:``, with its lines joined."""
    text = ""
    for line in lines:
        if found := re.match(r"\s*Combined\s*:\s*(.*)", line):
            text = found[1].strip()
        elif text and re.match(r"\s{8,}\S", line):
            text += line.strip()
        elif text:
            break
    return "" if text == "-" else text


def _of_table(lines: list[str]) -> dict[str, int]:
    """Parse GPU_ALLOCATION: one row per GPU under its host, which may be truncated."""
    found: dict[str, int] = {}
    host = ""
    for line in lines:
        words = line.split()
        if not words and found:
            break
        if not words or words[0] == "HOST" or (not words[-1].strip("-") and len(words) == 1):
            continue
        if len(line) - len(line.lstrip()) <= 3:
            host = words[0]
        if host:
            found[host] = found.get(host, 0) + 1
    return found
