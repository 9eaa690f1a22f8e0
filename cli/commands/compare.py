"""`tracehouse compare BASE HEAD`: the changes between two builds, at every level."""

from __future__ import annotations

from typing import Annotated

import typer

from tracehouse.cli.errors import as_usage_errors
from tracehouse.cli.exit_codes import fail
from tracehouse.cli.options import LakeUri, StoreOptions, add_options, parameter_option
from tracehouse.cli.output.compared_builds import write_comparison
from tracehouse.cli.output.render import Format
from tracehouse.cli.output.streams import write_lines, write_note
from tracehouse.cli.stores import open_to_query
from tracehouse.warehouse.catalogue.parameters import bind_parameters
from tracehouse.warehouse.catalogue.queries import find_query

_QUERY = find_query("comparison")


def compare(
    base: Annotated[str, typer.Argument(metavar="BASE", help="Build to compare with.")],
    head: Annotated[str, typer.Argument(metavar="HEAD", help="Build to judge.")],
    *,
    lake: LakeUri = None,
    options: StoreOptions,
    **params: str | list[str] | None,
) -> None:
    """Compare two builds: operators, their types, modules, delegates, methods and pools.

    A table says in words what changed, shows what the change of each method consists of, lists the
    changes, the costliest first, and counts all other comparisons. The other formats have every
    row, with the columns that 'tracehouse query comparison --help' explains. If a reference build
    was recorded in the sessions of both builds, times are relative to it. Builds without a device,
    model and backend in common are not comparable: the command says so, and exits 1.
    """
    chosen = {name: value for name, value in params.items() if value not in (None, [])}
    given = {"base": base, "head": head, **chosen}
    from tracehouse.queries.report.build_order import note_order
    from tracehouse.queries.report.comparable import COLUMNS, find_obstacle, note_clocks

    with as_usage_errors():  # before a store is opened
        bind_parameters(_QUERY, given)
    with open_to_query(options.store, wait=options.wait, lake=lake) as warehouse:
        table = warehouse.query("comparison", **given)
        doubt = note_order(warehouse, base=base, head=head)
        rows = table.select(COLUMNS).to_pylist()
        obstacle = find_obstacle(warehouse, rows, base=base, head=head)
        if obstacle and options.format is Format.TABLE:
            write_lines([f"{head} against {base}: {obstacle}"])
        else:
            write_comparison(warehouse, table, options, base=base, head=head)
    for note in (doubt, *note_clocks(rows, base=base)):
        if note:
            write_note(f"note: {note}")
    if obstacle:
        fail()


add_options(
    compare,
    (parameter_option(own) for own in _QUERY.header.params if own.name not in ("base", "head")),
)
