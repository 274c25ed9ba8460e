"""Answers with a row for each job: by id, as records, as a data frame, and in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from .errors import InputError, UnknownNameError
from .job import job_id

if TYPE_CHECKING:
    from pandas import DataFrame


class RowOfJob(Protocol):
    """One row of an answer."""

    @property
    def job(self) -> str: ...

    def to_dict(self, origin: str | None, /) -> dict[str, Any]: ...


Row = TypeVar("Row", bound=RowOfJob)


class OneLine:
    """A result whose repr is one line, however large the result is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._about()}>"

    def _about(self) -> str:
        return f"{len(self)} jobs"  # type: ignore[arg-type]


class JobTable(OneLine, Generic[Row]):
    """An answer with rows; its line is that of the class."""

    __slots__ = ()
    #: The rows; a plan has them by another name.
    jobs: Sequence[Row]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.jobs)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.jobs)

    def __bool__(self) -> bool:
        """Return True, also without rows."""
        return True

    def get(self, job: str | int) -> Row | None:
        """Return the row of a job, or None."""
        wanted = job_id(job)
        return next((row for row in self if row.job == wanted), None)

    def __getitem__(self, job: str | int) -> Row:
        """Return the row of a job; raises UnknownNameError (a KeyError) for an unknown job."""
        found = self.get(job)
        if found is None:
            raise UnknownNameError.among("job", job_id(job), [row.job for row in self])
        return found

    def __contains__(self, job: object) -> bool:
        try:
            return self.get(job_id(job)) is not None
        except InputError:
            return False

    def to_records(self) -> list[dict[str, Any]]:
        """Return the rows as records; times in seconds from the origin, also as ISO stamps."""
        origin: str | None = self.origin  # type: ignore[attr-defined]
        return [row.to_dict(origin) for row in self]

    def columns(self) -> list[str] | None:
        """Return the keys of a record in order, None: those of the records."""
        return None

    def to_frame(self) -> DataFrame:
        """Return the rows as a pandas data frame (pandas comes with OR-tools); stamps are times."""
        import pandas

        frame = pandas.DataFrame(self.to_records(), columns=self.columns())
        for name in frame.columns:
            if name.removesuffix("_time") in {*frame.columns} - {name}:
                frame[name] = pandas.to_datetime(frame[name])
        return frame
