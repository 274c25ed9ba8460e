"""A portal's handlers in FastAPI: plans and questions that end when the client goes away.

    uvicorn portal:app --app-dir examples
    curl --data-binary @cluster.yaml 'localhost:8000/plan?method=optimal&seconds=10'
    curl --data-binary @cluster.yaml 'localhost:8000/ask?line=-n+8+-W+1:00'

Calls run in threads, so that the portal answers others meanwhile. A client that hangs up sets the
event that the call was given as `cancel`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import slotwise as sw
from fastapi import FastAPI, HTTPException, Request

#: Seconds between two looks at whether the client is still there.
GLANCE = 0.05
#: Seconds that one plan may take at most.
LONGEST = 30.0
#: What a server writes into its log for a client that has hung up.
CLIENT_GONE = 499

R = TypeVar("R")
app = FastAPI(title="When will my job start?")


@app.post("/plan")
async def plan(
    request: Request, method: sw.Method = "optimal", seconds: float = 10.0
) -> dict[str, Any]:
    """The plan of the instance in the body."""
    instance = await instance_of(request)
    limit = min(seconds, LONGEST)

    def work(cancel: threading.Event) -> dict[str, Any]:
        return sw.plan(instance, method, time_limit=limit, cancel=cancel).to_dict()

    return await while_connected(request, work)


@app.post("/ask")
async def ask(request: Request, line: str, user: str = "user") -> dict[str, Any]:
    """When the job of a bsub line would start, and what would start it sooner."""
    instance = await instance_of(request)

    def work(cancel: threading.Event) -> dict[str, Any]:
        return sw.ask(instance, line, user=user, explore=True, cancel=cancel).to_dict()

    return await while_connected(request, work)


async def instance_of(request: Request) -> sw.Instance:
    """The instance in the body of a request; 422 with everything that is wrong with it."""
    text = (await request.body()).decode("utf-8", "replace")
    try:
        return await asyncio.to_thread(sw.loads, text)
    except sw.SlotwiseError as error:
        raise refusal(error) from None


async def while_connected(request: Request, work: Callable[[threading.Event], R]) -> R:
    """What `work` returns; its event is set as soon as the client has gone."""
    cancel = threading.Event()
    task = asyncio.create_task(asyncio.to_thread(work, cancel))
    try:
        while not task.done():
            if await request.is_disconnected():
                cancel.set()
                await task
                raise HTTPException(CLIENT_GONE, "the client has gone")
            await asyncio.wait({task}, timeout=GLANCE)
        return task.result()
    except sw.SlotwiseError as error:
        raise refusal(error) from None
    finally:
        cancel.set()  # the server shuts down: nobody waits for the plan any more


def refusal(error: sw.SlotwiseError) -> HTTPException:
    """Bad input as the portal tells it: a list of problems with their lines and paths."""
    problems = error.problems if isinstance(error, sw.InputError) else (sw.Problem(str(error)),)
    found = [{"line": item.line, "path": item.path, "message": item.message} for item in problems]
    return HTTPException(422, found)
