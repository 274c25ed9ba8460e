"""Protocol of file formats for the commands: recognition of files and reading of instances."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from ..errors import InputError, Problem
from ..instance import Instance
from ..workload import Ints
from .units import parse_duration


@dataclass(frozen=True, slots=True)
class DefaultLimit:
    """The requested time of jobs for which a log has none: seconds, or a multiple of the run
    time.
    """

    #: Text of the option, ``12h`` or ``2x``. Exactly one of seconds and factor is given.
    text: str
    #: Run limit in seconds, None if a factor is given.
    seconds: int | None = None
    #: Multiple of the run time, None if seconds are given.
    factor: float | None = None

    @classmethod
    def parse(cls, text: str, option: str = "--default-limit") -> DefaultLimit:
        """Parse a duration such as 12h or a multiple such as 2x; raises InputError."""
        multiple = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)x", text.strip())
        try:
            if multiple is None:
                found = cls(text, seconds=parse_duration(text))
            else:
                found = cls(text, factor=float(multiple[1]))
            if min(x for x in (found.seconds, found.factor) if x is not None) < 1:
                raise ValueError(f"{text!r} is less than 1 second or 1x")
        except ValueError as error:
            wrong = f"must be a time such as 12h, or a multiple of the run time such as 2x: {error}"
            raise InputError([Problem(wrong, path=option)]) from None
        return found

    def of(self, run_time: Ints) -> Ints:
        """Return requested times (seconds), each at minimum the run time."""
        if self.factor is not None:
            return np.array(np.ceil(run_time * self.factor), dtype=np.int64)
        return np.array(np.maximum(run_time, self.seconds or 0), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ChangedEstimates:
    """Changed requested times of a log: the real run times, or the requested times × a factor."""

    text: str
    #: Factor of the requested times, None if run times replace them.
    factor: float | None = None

    @classmethod
    def parse(cls, text: str, option: str = "--estimates") -> ChangedEstimates | None:
        """Parse exact, x2 or recorded, which gives None. Raises InputError."""
        word = text.strip() if isinstance(text, str) else text
        if word in ("exact", "recorded"):
            return cls(word) if word == "exact" else None
        multiple = re.fullmatch(r"x(\d{1,6}(?:\.\d{1,6})?)", str(word))
        if multiple is None or float(multiple[1]) < 1:
            wrong = f"must be exact, recorded, or a factor of 1 or more such as x2, not {text!r}"
            raise InputError([Problem(wrong, path=option)])
        return cls(str(word), float(multiple[1]))

    def of(self, run_time: Ints, req_time: Ints) -> Ints:
        """Return requested times (seconds); a run beyond its request ends there in any case."""
        if self.factor is None:
            return np.where(req_time > 0, np.minimum(run_time, req_time), run_time)
        return np.array(np.ceil(req_time * self.factor), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of a user for reading a file; a format names those that it uses in `takes`."""

    #: Number of equal hosts over which the processors of a log are distributed.
    hosts: int | None = None
    #: Instance whose hosts, queues and parameters run the jobs of a log.
    cluster: Instance | None = None
    #: Whether malformed records are reported and skipped.
    keep_going: bool = False
    #: Requested time of jobs without one in the log.
    default_limit: DefaultLimit | None = None
    #: Changed requested times of the jobs of a log.
    estimates: ChangedEstimates | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """An instance, with a line for each unexpected or omitted part of the file."""

    #: Instance that the file describes.
    instance: Instance
    #: Warnings about the file, one sentence each.
    remarks: tuple[str, ...] = ()
    #: Recorded starts of a log, in seconds from second 0, by job id.
    recorded: Mapping[str, int] = field(default_factory=dict)
    #: Whether the log is from LSF: lsb.events may be added, and starts show the cycle interval.
    of_lsf: bool = False


class FileFormat(Protocol):
    """One format. name: one word, of the command line. kind: what such a file is, in a sentence.

    takes: names of the :class:`ReadOptions` that mean something here.
    """

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def takes(self) -> frozenset[str]: ...

    def recognises(self, path: Path) -> bool:
        """Return whether a file has this format, by its name or first bytes; raises no error."""

    def read(self, path: Path, options: ReadOptions) -> Contents:
        """Return the instance in a file; raises InputError with all its errors."""
