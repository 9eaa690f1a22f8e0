"""Threads for what must not run on the event loop: few, and waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


async def run_there(
    threads: Executor,
    function: Callable[_Given, _Result],
    *args: _Given.args,
    **kwargs: _Given.kwargs,
) -> _Result:
    """What a function returns that runs in one of the threads.

    Whoever is cancelled meanwhile waits until it has ended: it works on what the caller closes.

    Raises:
        CancelledError: They are.
    """
    loop = asyncio.get_running_loop()
    running = loop.run_in_executor(threads, lambda: function(*args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
