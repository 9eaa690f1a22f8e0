"""`tracehouse mcp`: answers an agent on this machine."""

from __future__ import annotations

import os
from functools import partial
from threading import Timer
from typing import TYPE_CHECKING

from tracehouse.cli.errors import OutputError
from tracehouse.cli.options import DEFAULT_STORE, Config, StorePath

if TYPE_CHECKING:
    from tracehouse.cli.agents.asked_store import AskedStore

_MISSING = "the package {name} is not installed; 'pip install \".[mcp]\"' in a checkout adds it"
_CALLS = 8  # at a time, each with an open store; more wait
_ENDING_SECONDS = 1.0  # until the process ends after its input, whatever its threads do


def mcp(store: StorePath = DEFAULT_STORE, config: Config = None) -> None:
    """Answer an agent by the Model Context Protocol, on standard input and output.

    Its few tools report, compare, explain, find and answer canned queries and SQL, and inspect
    dumps; none changes anything. A store is opened for each call. Ends when standard input ends.

    Raises:
        OutputError: The package of the protocol is not installed.
    """
    try:
        import anyio
        import mcp.server.stdio  # noqa: F401
    except ModuleNotFoundError as error:
        raise OutputError(_MISSING.format(name=error.name)) from error
    from tracehouse.cli.agents.asked_store import AskedStore
    from tracehouse.cli.stores import open_to_query

    try:
        anyio.run(_serve, AskedStore(partial(open_to_query, store), config=config))
    except* BrokenPipeError:
        pass  # the agent has gone


async def _serve(asked: AskedStore) -> None:
    from anyio import CapacityLimiter
    from mcp.server.stdio import stdio_server

    from tracehouse.cli.agents.server import make_server

    server = make_server(lambda _: asked, has_files=True, threads=CapacityLimiter(_CALLS))
    async with stdio_server() as (received, sent):
        try:
            await server.run(received, sent, server.create_initialization_options())
        finally:  # the agent ended, or reads no more
            ending = Timer(_ENDING_SECONDS, os._exit, [0])
            ending.daemon = True
            ending.start()
