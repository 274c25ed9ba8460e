"""JupyterHub's progress page says when a notebook's job will start (batchspawner).

In jupyterhub_config.py, with this file on the path::

    from batchspawner import LsfSpawner
    from jupyterhub_starts_at import with_starts

    c.JupyterHub.spawner_class = with_starts(LsfSpawner)

SLOTWISE_URL is the address of the service (http://127.0.0.1:8642/), SLOTWISE_TOKEN its token.
"""

from __future__ import annotations

import asyncio
import json
import os
import urllib.request
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote, urljoin

#: Seconds to wait for the service, which must not hold up the hub.
TIMEOUT = 2.0
#: Seconds between two messages.
EVERY = 10.0


def start_text(job: str) -> str:
    """Return ``Job 4711 starts about 14:20``; "" if the service knows no start."""
    base = os.environ.get("SLOTWISE_URL", "http://127.0.0.1:8642/")
    request = urllib.request.Request(urljoin(base, f"jobs/{quote(job, safe='')}"))
    if token := os.environ.get("SLOTWISE_TOKEN"):
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            found = json.load(answer)
    except (OSError, ValueError):
        return ""
    row = found["job"]
    at = row.get("likely_time") or row.get("as_configured_time")
    if at is None:
        return f"Job {job} {row['state']}: {row.get('reason', '')}".rstrip(": ")
    old = " (the state is old)" if found["state"]["stale"] else ""
    return f"Job {job} starts about {at[:10]} {at[11:16]}{old}"


def with_starts(spawner: type) -> type:
    """Return a spawner of batchspawner whose progress says when the job will start."""

    class StartsAtSpawner(spawner):  # type: ignore[misc]
        """Adds predicted starts to the messages of the spawner."""

        async def progress(self) -> AsyncIterator[dict[str, Any]]:
            """Yield messages while the job waits, then those of the spawner."""
            while self.job_id and not await self.is_running_now():
                text = await asyncio.to_thread(start_text, str(self.job_id))
                if text:
                    yield {"message": text}
                await asyncio.sleep(EVERY)
            async for message in super().progress():
                yield message

        async def is_running_now(self) -> bool:
            """Whether the job has left the queue."""
            await self.query_job_status()
            return not self.state_ispending()

    return StartsAtSpawner
