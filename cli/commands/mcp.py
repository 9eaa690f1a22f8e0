"""`tracehouse mcp`: answers an agent on this machine."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from cli.errors import OutputError
from cli.options import DEFAULT_STORE, Config, Store

if TYPE_CHECKING:
    from mcp.server import Server

_MISSING = "the package {name} is not installed; 'pip install \"tracehouse[mcp]\"' adds it"


def mcp(store: Store = DEFAULT_STORE, config: Config = None) -> None:
    """Answer an agent by the Model Context Protocol, on standard input and output.

    The tools are all canned queries, report, compare, sql, schema and inspect; none changes
    anything. A store is opened for each call. Ends when standard input ends.

    Raises:
        OutputError: The package of the protocol is not installed.
    """
    try:
        import anyio

        from cli.agents.server import make_server
    except ModuleNotFoundError as error:
        raise OutputError(_MISSING.format(name=error.name)) from error
    from cli.agents.asked_store import AskedStore
    from cli.stores import open_to_query

    asked = AskedStore(partial(open_to_query, store), config=config)
    anyio.run(_serve, make_server(lambda _: asked, has_files=True))


async def _serve(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())
