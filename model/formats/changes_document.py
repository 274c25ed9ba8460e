"""The form of a file of changes as pydantic models; docs/changes.md describes the keys."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from . import fields as f
from .document import JobEntry, Section

FORMAT = "slotwise-changes/1"
#: Keys of an entry that say what happens; each entry has one of them.
ACTIONS = (
    *("down", "up", "close", "open", "ok", "load"),
    *("submit", "end", "resize", "release", "bkill", "bmod", "bswitch", "btop", "bbot"),
)


class LoadEntry(Section):
    """What a host reports: load indices as numbers, mem, swp and tmp as sizes."""

    host: f.Words
    values: dict[f.Name, f.Number] = Field(default_factory=dict)
    mem: f.Size | None = None
    swp: f.Size | None = None
    tmp: f.Size | None = None


class ResizeEntry(Section):
    """The slots that a running job has from then on."""

    job: f.JobId
    allocation: f.Allocation


class ReleaseEntry(Section):
    """The slots that a running job gives back."""

    job: f.JobId
    slots: f.Allocation


class SwitchEntry(Section):
    """bswitch."""

    job: f.JobId
    queue: f.Name


class ModifyEntry(Section):
    """bmod: a line of its options, or fields, or both where they do not overlap."""

    job: f.JobId
    bsub: f.Text | None = None
    slots: f.Slots | None = None
    queue: f.Name | None = None
    res_req: f.Requirements | None = None
    run_limit: f.Duration | None = None
    cpu_limit: f.Duration | None = None
    estimated_run_time: f.Duration | None = None
    begin: f.Instant | None = None
    deadline: f.Instant | None = None
    priority: f.Whole | None = None
    project: f.Name | None = None
    group: f.Name | None = None
    application: f.Name | None = None
    hosts: f.Hosts | None = None
    exclusive: f.YesNo | None = None
    resizable: f.YesNo | None = None
    gpu: f.Line | None = None
    extsched: f.Line | None = None
    name: f.Line | None = None
    dependency: f.Line | None = None
    orphan_term: f.YesNo | None = None
    array_limit: f.Count | None = None
    whole_hosts: f.YesNo | None = None


class ChangeEntry(Section):
    """One change: when, and what."""

    at: f.Instant
    down: f.Words | None = None
    up: f.Words | None = None
    close: f.Words | None = None
    open: f.Words | None = None
    ok: f.Words | None = None
    load: LoadEntry | None = None
    submit: JobEntry | None = None
    end: f.JobId | None = None
    resize: ResizeEntry | None = None
    release: ReleaseEntry | None = None
    bkill: f.JobId | None = None
    bmod: ModifyEntry | None = None
    bswitch: SwitchEntry | None = None
    btop: f.JobId | None = None
    bbot: f.JobId | None = None

    @model_validator(mode="after")
    def _one_action(self) -> ChangeEntry:
        given = [key for key in ACTIONS if getattr(self, key) is not None]
        if len(given) != 1:
            said = f"has {' and '.join(given)}: make it {len(given)} entries"
            wanted = said if given else f"says no change: give one of {', '.join(ACTIONS)}"
            raise ValueError(wanted)
        return self

    @property
    def action(self) -> str:
        """The key that says what happens."""
        return next(key for key in ACTIONS if getattr(self, key) is not None)


class ChangesDocument(Section):
    """A file of changes."""

    format: Literal["slotwise-changes/1"]
    description: f.Text = ""
    changes: Annotated[list[ChangeEntry], Field(default_factory=list)]


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a file of changes."""
    found = ChangesDocument.model_json_schema(by_alias=True)
    one = [{"required": [key]} for key in ACTIONS]
    found["$defs"]["ChangeEntry"]["oneOf"] = one
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}
