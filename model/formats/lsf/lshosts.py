"""What ``lshosts -w`` prints: processors, memory and models, which no configuration file says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..names import tokens
from .draft import number
from .sections import LsfEntry, LsfSection, entries
from .source import Line, Place, Problems

#: Columns of every lshosts that lists hosts; its other tables have others.
_COLUMNS = ("type", "model", "cpuf", "ncpus", "maxmem", "maxswp", "server", "RESOURCES")


@dataclass(frozen=True, slots=True)
class HostFacts:
    """One host: ncpus None and mem, swp "" where lshosts prints ``-`` (the host was down)."""

    name: str
    entry: LsfEntry
    type: str = "any"
    model: str = "any"
    factor: float | None = None
    ncpus: int | None = None
    mem: str = ""
    swp: str = ""
    server: bool = True
    resources: tuple[str, ...] = ()


def read_lshosts(
    lines: Sequence[Line], problems: Problems, file: str
) -> dict[str, HostFacts] | None:
    """Facts by host name; None, with a problem, for a text that lshosts did not print."""
    if not lines or lines[0].text.split()[:1] != ["HOST_NAME"]:
        message = "is no output of lshosts -w: its first line would begin with HOST_NAME"
        problems.add(Place(file, 1), message)
        return None
    lacking = [name for name in _COLUMNS if name not in lines[0].text.split()]
    if lacking:
        message = f"has no column {', '.join(lacking)}: give the output of lshosts -w"
        problems.add(Place(file, 1), message)
        return None
    section = LsfSection("lshosts", Place(file, 1), tuple(lines))
    found: dict[str, HostFacts] = {}
    for entry in entries(section, problems, table=True):
        name = entry.text("HOST_NAME")
        if name.startswith("*"):
            problems.add(entry.place, f"the name {name} is cut off: lshosts -w prints it whole")
            continue
        ncpus, factor = number(entry.text("NCPUS")), number(entry.text("CPUF"))
        found[name] = HostFacts(
            name,
            entry,
            _known(entry.text("TYPE")),
            _known(entry.text("MODEL")),
            float(factor) if isinstance(factor, (int, float)) and factor > 0 else None,
            ncpus if isinstance(ncpus, int) and ncpus > 0 else None,
            entry.text("MAXMEM"),
            entry.text("MAXSWP"),
            entry.text("SERVER").lower() != "no",
            tuple(tokens(entry.text("RESOURCES"))),
        )
    return found


def _known(text: str) -> str:
    return "any" if text in ("", "UNKNOWN", "UNKNOWN_AUTO_DETECT") else text
