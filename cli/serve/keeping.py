"""What the service keeps in its store, and reads from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...solver.outlook.records import Outlook
    from .polls import Polled


class StoreKeeper:
    """Keeps estimates in a store, and answers with what is in it."""

    def keep(self, polled: Polled, found: Outlook) -> None:
        """Keep the estimates of one state."""

    def history(self, job: str) -> list[dict[str, Any]]:
        """Return how the estimates of a job moved."""
        return []

    def accuracy(self) -> dict[str, Any] | None:
        """Return how right estimates were, None if nothing is known."""
        return None

    def close(self) -> None:
        """Close the store."""
