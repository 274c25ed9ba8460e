"""What a named user is shown of the jobs of others: that they exist, and no id of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .access import Viewer

if TYPE_CHECKING:
    from .board import BoardState

_ID = r"(?!(?:jobs?|until)\b)[\w\[\]-]+(?:\.\w+)*(?![\w\[]| more)"
#: A list of jobs in a sentence, in a command, and one job between quotes or before a time.
_LISTED = re.compile(
    rf"\b(jobs?|when|until|after|before|behind|for|of|if) ({_ID}(?:(?:, | and | or ){_ID})*)"
)
_COMMAND = re.compile(rf"\b(brequeue|bkill|bstop|scontrol requeue|scancel) ({_ID}(?: {_ID})*)")
_ONE = re.compile(rf"(?<=')[^']+(?=')|{_ID}(?= at [\d+n])")
_NUMBER = re.compile(r"\d+(\[\d+\])?")


def shown(record: Any, state: BoardState, viewer: Viewer) -> Any:
    """Return an answer as a viewer may see it: a named user learns no id of a job of others."""
    return record if viewer.user is None else _SeenJobs.of(state, viewer).without_others(record)


@dataclass(frozen=True, slots=True)
class _SeenJobs:
    """Ids of the jobs of a state by whether a viewer sees them."""

    own: frozenset[str]
    others: frozenset[str]

    @classmethod
    def of(cls, state: BoardState, viewer: Viewer) -> _SeenJobs:
        seen: dict[bool, set[str]] = {True: set(), False: set()}
        for poll in filter(None, (state.polled, state.planned)):
            for job in (*poll.instance.pending, *(run.job for run in poll.instance.running)):
                seen[viewer.sees(job.user)].add(job.id)
        rows = (*state.left.values(), *(row.planned for row in state.rows))
        for row in rows:  # what moved their starts may have left the cluster
            if row is not None and viewer.sees(row.listed.user):
                seen[True].add(row.listed.job)
                changes = [move.change for move in row.moves if move.change is not None]
                seen[False].update(name for change in changes for name in change.named)
        return cls(frozenset(seen[True]), frozenset(seen[False] - seen[True]))

    def without_others(self, record: Any) -> Any:
        """Return a record in which sentences and lists name no job of others."""
        if isinstance(record, str):
            if record in self.others:
                return "another job"
            text = _LISTED.sub(self._listed, _COMMAND.sub(self._listed, record))
            return _ONE.sub(lambda one: "another job" if one[0] in self.others else one[0], text)
        if isinstance(record, Mapping):
            return {key: self.without_others(value) for key, value in record.items()}
        if isinstance(record, (list, tuple)):
            return [self.without_others(value) for value in record]
        return record

    def _listed(self, found: re.Match[str]) -> str:
        lead, names = found[1], re.split(", | and | or | ", found[2])
        of_jobs = lead.startswith("job")
        # A job that has finished is in no state: of its id only the form is known.
        gone = [n for n in names if of_jobs and n not in self.own and _NUMBER.fullmatch(n)]
        hidden = self.others.intersection(names).union(gone)
        if not hidden:
            return found[0]
        known = [name for name in names if name not in hidden]
        rest = "another job" if len(hidden) == 1 else "other jobs"
        if known:
            return f"{lead} {', '.join(known)} and {rest}"
        return rest if of_jobs else f"{lead} {rest}"
