"""Names in the store that a shell completes: devices, builds, models, tables and so on."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from typer._click.shell_completion import CompletionItem
from typer.core import TyperArgument

from tracehouse.cli.options import DEFAULT_STORE

if TYPE_CHECKING:
    from typer._click import Command, Context

_BUILDS = "SELECT name FROM builds ORDER BY build_id DESC"
_OPTIONS = {
    "device": "SELECT DISTINCT name FROM devices ORDER BY name",
    "pool": "SELECT DISTINCT pool FROM devices WHERE pool IS NOT NULL ORDER BY pool",
    "build": _BUILDS,
    "base": _BUILDS,
    "head": _BUILDS,
    "model": "SELECT DISTINCT name FROM models ORDER BY name",
    "backend": "SELECT DISTINCT backend FROM models WHERE backend IS NOT NULL ORDER BY backend",
    "run": "SELECT DISTINCT run FROM named_run_signatures ORDER BY run",
    "event": "SELECT DISTINCT event_name FROM named_event_signatures ORDER BY event_name",
}
# By command and argument.
_ARGUMENTS = {("compare", "base"): _BUILDS, ("compare", "head"): _BUILDS}


def complete_names(command: Command) -> None:
    """Let a shell complete the values of a command's options and arguments from the store."""
    for param in command.params:
        statement = (
            _ARGUMENTS.get((str(command.name), str(param.name)))
            if isinstance(param, TyperArgument)
            else _OPTIONS.get(str(param.name))
        )
        if statement:
            param.shell_complete = partial(_complete, statement)  # type: ignore[method-assign]
        elif (command.name, param.name) == ("schema", "table"):
            param.shell_complete = _complete_tables  # type: ignore[method-assign, assignment]


def _complete(statement: str, ctx: Context, incomplete: str) -> list[CompletionItem]:
    from tracehouse.warehouse.errors import WarehouseError
    from tracehouse.warehouse.store import Store

    try:
        store = ctx.params.get("store") or DEFAULT_STORE
        with Store.open(store, read_only=True) as warehouse:
            (column,) = warehouse.sql(statement).columns
    except (WarehouseError, OSError):  # nothing to offer, and no place to say why
        return []
    return _items(map(str, column.to_pylist()), incomplete)


def _complete_tables(_: Context, incomplete: str) -> list[CompletionItem]:
    from tracehouse.warehouse.catalogue.views import load_views
    from tracehouse.warehouse.engine.tables import TABLES

    return _items(sorted([*load_views(), *TABLES]), incomplete)


def _items(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
