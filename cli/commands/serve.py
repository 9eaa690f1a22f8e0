"""`tracehouse serve`: the HTTP service of a store."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from tracehouse.cli.errors import OutputError, as_usage_errors
from tracehouse.cli.options import DEFAULT_STORE, Config, StorePath
from tracehouse.ingest.producers import read_user_rules, use_user_rules, user_rules

_MISSING = (
    "the package {name} is not installed; 'pip install \".[serve]\"' in a checkout adds what serve "
    "needs"
)


def serve(
    host: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Address to listen on; by default 127.0.0.1."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="Port to listen on; by default 8080; 0 for any free port."
        ),
    ] = None,
    config: Config = None,
    store: StorePath = DEFAULT_STORE,
) -> None:
    """Accept dumps and answer queries over HTTP, until SIGTERM or Ctrl-C.

    Raises:
        OutputError: A package that the service needs is not installed.
    """
    try:
        from tracehouse.cli.serve.http.running import run_service
    except ModuleNotFoundError as error:
        raise OutputError(_MISSING.format(name=error.name)) from error
    from tracehouse.cli.serve.settings import read_service_settings

    with as_usage_errors():
        settings = read_service_settings({"host": host, "port": port}, config=config)
    use_user_rules(partial(read_user_rules, config))
    user_rules()  # a malformed rule stops the service before it starts
    run_service(store, settings, config=config)
