"""What the commands of LSF and Slurm have printed, as `import` reads it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from slotwise import Instance, dump, load
from slotwise.cli.main import app
from typer.testing import CliRunner


def snapshot(
    now: datetime,
    site: Path | Instance | None = None,
    *words: str,
    dated: bool = True,
    **texts: str | Sequence[str],
) -> Instance:
    """Return the instance of texts by the option that takes them; its notes go to stderr.

    dated: now is given, and not only about when the texts were written.
    """
    with TemporaryDirectory() as folder:
        root = Path(folder)
        given = ["--now", now.isoformat()] if dated else []
        for option, some in texts.items():
            for number, text in enumerate([some] if isinstance(some, str) else some):
                file = root / f"{option}{number or ''}"
                file.write_text(text, encoding="utf-8")
                os.utime(file, (now.timestamp(), now.timestamp()))
                given += [f"--{option}", str(file)]
        if isinstance(site, Instance):
            (root / "site.yaml").write_text(dump(site), encoding="utf-8")
            site = root / "site.yaml"
        given += ["--site", str(site)] if site is not None else []
        command = ["import", "snapshot", *given, *words, "-o", str(root / "made.json")]
        done = CliRunner().invoke(app, command, catch_exceptions=False)
        sys.stderr.write(done.stderr)
        return load(root / "made.json")


def slurm_snapshot(now: datetime, texts: Mapping[str, str]) -> Instance:
    """Return the instance of what Slurm's commands have printed, texts by file name."""
    with TemporaryDirectory() as folder:
        made = Path(folder, "made.json")
        printed = Path(folder, "printed")
        printed.mkdir()
        for name, text in texts.items():
            (printed / name).write_text(text, encoding="utf-8")
        command = ["import", "slurm", "--from", str(printed), "--now", now.isoformat()]
        done = CliRunner().invoke(app, [*command, "-o", str(made)], catch_exceptions=False)
        sys.stderr.write(done.stderr)
        return load(made)
