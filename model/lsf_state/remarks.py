"""What reading a cluster's state left out or guessed: sentences to tell, and records to keep."""

from __future__ import annotations

from collections.abc import Iterable

from ..omissions import Omission


class Remarks(list[str]):
    """Sentences in the order they were found; those that touch starts are omissions besides."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        super().__init__(texts)
        self.omissions: list[Omission] = []
        if isinstance(texts, Remarks):
            self.omissions += texts.omissions

    def touch(
        self, text: str, jobs: Iterable[str] | None = None, *, where: str = "", count: int = 1
    ) -> None:
        """Something that may change starts. jobs: of these pending jobs, of any where None."""
        ids = None if jobs is None else tuple(jobs)
        self.append(f"{where}: {text}" if where else text)
        self.omissions.append(Omission(text, where, count, ids))
