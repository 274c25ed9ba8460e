"""lsb.users: user groups with their share trees, and limits of users."""

from __future__ import annotations

from collections.abc import Iterable

from ..names import tokens
from .draft import Draft, Item
from .hosts import internal_members
from .notes import Notes
from .parameters import note_rest
from .sections import LsfEntry, LsfSection, entries
from .source import Problems

SECTIONS = ("UserGroup", "User", "UserMap")
_GROUP = frozenset({"GROUP_NAME", "GROUP_MEMBER", "USER_SHARES"})
_USER = frozenset({"USER_NAME", "MAX_JOBS", "JL/P"})


def read_users(
    sections: Iterable[LsfSection], draft: Draft, notes: Notes, problems: Problems
) -> None:
    """User groups and users into the document."""
    for section in sections:
        if section.name not in ("UserGroup", "User"):
            notes.not_modelled("lsb.users", section.name)
            continue
        put = _group if section.name == "UserGroup" else _user
        for entry in entries(section, problems, table=True):
            put(entry, draft, notes)


def _group(entry: LsfEntry, draft: Draft, notes: Notes) -> None:
    name = entry.text("GROUP_NAME")
    item = Item(entry)
    item.put("name", name, "GROUP_NAME")
    members = internal_members(entry.values.get("GROUP_MEMBER"), notes, f"group {name}")
    item.put("members", members, "GROUP_MEMBER")
    if tokens(entry.text("USER_SHARES")) == ("!",):
        reason = "a program of the site (egroup) tells the shares, no file does"
        notes.may_differ("external shares", reason, f"group {name}")
    else:
        item.take("USER_SHARES", plain=False)
    note_rest(notes, entry, "user group", _GROUP, name)
    draft.add("user_groups", item)


def _user(entry: LsfEntry, draft: Draft, notes: Notes) -> None:
    item = Item(entry)
    item.put("name", entry.text("USER_NAME"), "USER_NAME")
    item.take("MAX_JOBS")
    item.take("JL/P")
    note_rest(notes, entry, "user", _USER, entry.text("USER_NAME"))
    draft.add("users", item)
