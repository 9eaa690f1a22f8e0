"""Threads for work that would block the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

_Result = TypeVar("_Result")


async def run_to_end(threads: Executor, function: Callable[[], _Result]) -> _Result:
    """Run a function in one of the threads.

    A caller that is cancelled waits until the function ends, because the function uses files that
    the caller closes.

    Raises:
        CancelledError: The caller was cancelled.
    """
    running = asyncio.get_running_loop().run_in_executor(threads, function)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
