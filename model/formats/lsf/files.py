"""The files of a configuration directory: where they are, and their sections."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...confined import is_inside
from ...errors import Problem, nearest
from ..sniff import KINDS, kind_of, lava_family
from . import applications, cluster, hosts, modules, params, queues, resources, shared, users
from .lines import LineReader
from .notes import Notes
from .sections import CONF, LsfEntry, LsfSection, entries, read_sections
from .source import Place

#: The sections of each file; lsf.conf has none.
SECTIONS: dict[str, tuple[str, ...]] = {
    "lsf.shared": shared.SECTIONS,
    "lsf.cluster": cluster.SECTIONS,
    "lsb.params": params.SECTIONS,
    "lsb.hosts": hosts.SECTIONS,
    "lsb.queues": queues.SECTIONS,
    "lsb.users": users.SECTIONS,
    "lsb.resources": resources.SECTIONS,
    "lsb.applications": applications.SECTIONS,
    "lsb.modules": modules.SECTIONS,
}
_CONFIGURATION = "configuration"
#: Names that editors and administrators give to old copies.
_COPIES = (".bak", ".old", ".orig", ".save", ".tmp", "~", ".rpmnew", ".rpmsave")


def _text(path: Path) -> str:
    """The whole file, comments too; "" where nobody can read it, which is reported elsewhere."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


class ConfigFiles:
    """Finds and reads the files of one cluster.

    Batch files stand in the directory itself, or as LSF installs them in
    ``lsbatch/CLUSTER/configdir`` below it.
    """

    def __init__(self, root: Path, cluster: str, reader: LineReader, notes: Notes) -> None:
        self._root = root
        self._reader = reader
        self._notes = notes
        batch = root / "lsbatch" / cluster
        self._folders = [root, batch / "configdir", batch] if cluster else [root]
        self._cluster = cluster

    def path(self, name: str) -> Path | None:
        """Where a file is, None if nowhere."""
        full = f"{name}.{self._cluster}" if name == "lsf.cluster" else name
        choices = (folder / full for folder in self._folders)
        return next((choice for choice in choices if _is_there(choice)), None)

    def family(self) -> str:
        """ "OpenLava" or "volclava" where the files name one of them, "" where none does."""
        paths = [path for name in ("lsf.conf", *SECTIONS) if (path := self.path(name)) is not None]
        return lava_family("\n".join([self._cluster, *map(_text, paths)]))

    def display(self, name: str) -> str:
        """How messages name the file, also where it is missing."""
        path = self.path(name)
        full = f"{name}.{self._cluster or 'NAME'}" if name == "lsf.cluster" else name
        return self._reader.name(self._root / full if path is None else path)

    def sections(self, name: str) -> list[LsfSection] | None:
        """The sections of a file; None where it is not there or is something else."""
        path = self.path(name)
        if path is None:
            return None
        if not self._right_kind(path, _CONFIGURATION):
            return None
        problems, shown = self._reader.problems, self._reader.name(path)
        lines = self._reader.lines(path)
        found = read_sections(lines, SECTIONS[name], problems, shown)
        return [section for section in found if self._belongs(name, section)]

    def conf(self) -> LsfEntry:
        """lsf.conf as pairs; empty where it is not there."""
        path = self.path("lsf.conf")
        if path is None or not self._right_kind(path, "lsf.conf"):
            return LsfEntry(CONF, Place(self.display("lsf.conf"), 1), {}, {})
        section = LsfSection(
            CONF, Place(self._reader.name(path), 1), tuple(self._reader.lines(path))
        )
        return entries(section, self._reader.problems, table=False)[0]

    def _right_kind(self, path: Path, wanted: str) -> bool:
        """Whether the first lines may be those of the file; else one problem says what it is."""
        kind = kind_of(path)
        if kind in ("", wanted):
            return True
        name = self._reader.name(path)
        wrong = f"is {KINDS[kind].text}, not {path.name}"
        self._reader.problems.found.append(Problem(wrong, name))
        return False

    def _belongs(self, name: str, section: LsfSection) -> bool:
        if section.name in SECTIONS[name]:
            return True
        home = next((file for file, own in SECTIONS.items() if section.name in own), "")
        hint = nearest(section.name, SECTIONS[name])
        if home or hint:
            where = f": it belongs into {home}" if home else hint
            message = f"{name} has no section {section.name}{where}"
            self._reader.problems.add(section.place, message)
            return False
        return True


def cluster_names(root: Path) -> Sequence[str]:
    """Names of the clusters that a directory has a ``lsf.cluster.NAME`` of."""
    return sorted(
        path.name.removeprefix("lsf.cluster.")
        for path in root.glob("lsf.cluster.*")
        if _is_there(path) and not path.name.endswith(_COPIES)
    )


def _is_there(path: Path) -> bool:
    """Whether there is a file, or a link out of the folder of --confine, which is then refused."""
    return not is_inside(path) or path.is_file()
