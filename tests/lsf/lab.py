"""Small configuration directories for the tests."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from slotwise import InputError, Instance
from slotwise.model.formats.lsf import Site, site_document

#: A Monday.
MORNING = datetime.fromisoformat("2026-03-02T09:00:00+01:00")
NIGHT = datetime.fromisoformat("2026-03-02T23:00:00+01:00")

CLUSTER = """
Begin Host
HOSTNAME  model  type  server  RESOURCES
hostA     !      !     1       ()
hostB     !      !     1       ()
hostC     !      !     1       ()
End Host
"""
HOSTS = """
Begin Host
HOST_NAME  MXJ
default    4
End Host
"""


def write(root: Path, files: dict[str, str]) -> Path:
    """Write files (three hosts of four slots where they say nothing of hosts)."""
    for name, text in {"lsf.cluster.c": CLUSTER, "lsb.hosts": HOSTS, **files}.items():
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return root


def read(root: Path, files: dict[str, str], **options: Any) -> Site:
    """The site of these files."""
    return site_document(write(root, files), **options)


def instance(root: Path, files: dict[str, str], **options: Any) -> Instance:
    """The instance of these files."""
    return read(root, files, **options).instance()[0]


def complaints(root: Path, files: dict[str, str], **options: Any) -> list[str]:
    """What is wrong, files named from the directory."""
    try:
        read(root, files, **options).instance()
    except InputError as error:
        return [str(problem).replace(f"{root}/", "") for problem in error.problems]
    return []


def queue(**parameters: object) -> str:
    """A queue ``q``, or another, with these parameters."""
    given = {"QUEUE_NAME": "q", **parameters}
    lines = "\n".join(f"{key} = {value}" for key, value in given.items())
    return f"Begin Queue\n{lines}\nEnd Queue\n"


def params(**parameters: object) -> str:
    """lsb.params with these parameters."""
    lines = "\n".join(f"{key} = {value}" for key, value in parameters.items())
    return f"Begin Parameters\n{lines}\nEnd Parameters\n"
