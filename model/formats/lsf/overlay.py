"""``config: ./conf`` in an instance file: the document adds to a configuration directory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ...errors import Problem
from ..finding import Finding
from ..units import parse_instant, parse_stamp
from .site import Site, site_document


@dataclass(frozen=True, slots=True)
class Overlay:
    """The document with what the configuration adds, and the way back to the files.

    A mapping (``params``, ``host_groups``) of the document joins the configuration's, key by key;
    a list (``queues``) replaces the configuration's, but for omissions, which are added.
    """

    site: Site
    given: dict[str, Any]
    data: dict[str, Any]

    def located(
        self, findings: list[Finding], own: Callable[[list[Finding]], tuple[Problem, ...]]
    ) -> tuple[Problem, ...]:
        """Findings placed in the configuration's files, or by `own` in the instance file."""
        there = [finding for finding in findings if self._inherited(finding)]
        here = [finding for finding in findings if not self._inherited(finding)]
        return (*self.site.located(there), *(own(here) if here else ()))

    def _inherited(self, finding: Finding) -> bool:
        section, *rest = (*finding.place, "")
        if section not in self.site.document:
            return False
        given = self.given.get(str(section))
        return given is None or (isinstance(given, dict) and rest[0] not in given)


def overlay(data: dict[str, Any], source: str) -> Overlay:
    """Read the directory that `data` names, from the folder of its own file.

    Raises InputError if there is no such directory or cluster, ValueError if the key is wrong.
    """
    from pydantic import ValidationError

    from ..document import ConfigEntry
    from ..messages import explain

    given = {key: value for key, value in data.items() if key != "config"}
    wanted = data["config"]
    try:
        entry = ConfigEntry.model_validate(
            {"directory": wanted} if isinstance(wanted, str) else wanted
        )
    except ValidationError as error:
        found = explain(error)[0]
        key = f"{found.place[0]}: " if found.place else ""
        raise ValueError(key + found.message) from None
    folder = Path(source).parent if source and not source.startswith("<") else Path()
    site = site_document(
        folder / entry.directory,
        cluster=entry.cluster,
        present=_moment(given),
        user=entry.user,
        lshosts=None if entry.lshosts is None else folder / entry.lshosts,
        ncpus={} if entry.ncpus is None else {"": entry.ncpus},
    )
    merged = {**site.document, **given}
    if isinstance(given.get("omissions"), list):
        merged["omissions"] = [*given["omissions"], *site.document.get("omissions", [])]
    for section, value in site.document.items():
        if isinstance(value, dict) and isinstance(given.get(section), dict):
            merged[section] = {**value, **given[section]}
    return Overlay(site, given, merged)


def _moment(data: dict[str, Any]) -> datetime | None:
    """The document's own time, for ``#if time(…)``; None where it has none."""
    try:
        now = parse_instant(data.get("now", 0))
        if isinstance(now, datetime):
            return now
        origin = data.get("origin")
        return None if origin is None else parse_stamp(origin) + timedelta(seconds=now)
    except (ValueError, OverflowError):
        return None  # the reader of the document says what is wrong with them
