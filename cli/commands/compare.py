"""`tracehouse compare BASE HEAD`: the changes between two builds, at every level."""

from __future__ import annotations

from typing import Annotated

import typer

from tracehouse.cli.errors import as_usage_errors, fail
from tracehouse.cli.options import LakeUri, StoreOptions, add_options, parameter_option
from tracehouse.cli.output.compared_builds import write_comparison
from tracehouse.cli.output.render import Format
from tracehouse.cli.output.streams import write_note
from tracehouse.cli.plots import Plot, check_plot, draw_comparison
from tracehouse.cli.stores import open_to_query
from tracehouse.warehouse.catalogue.parameters import bind_parameters
from tracehouse.warehouse.catalogue.queries import find_query

_QUERY = find_query("comparison")


def compare(
    base: Annotated[str, typer.Argument(metavar="BASE", help="Build to compare with.")],
    head: Annotated[str, typer.Argument(metavar="HEAD", help="Build to judge.")],
    *,
    is_all: Annotated[bool, typer.Option("--all", help="List what did not change, too.")] = False,
    plot: Plot = None,
    lake: LakeUri = None,
    options: StoreOptions,
    **params: str | list[str] | None,
) -> None:
    """Compare two builds: operators, their types, modules, delegates, methods and pools.

    A table says in a sentence what changed, lists the changes with their 99 % intervals, the
    dearest first, counts all operators once, and shows what the change of each run consists of.
    The other formats have every row, with the columns that 'tracehouse query comparison --help'
    explains; --plot draws the changes. If a reference build was recorded in the sessions of both
    builds, times are relative to it. Builds that no device recorded both are not comparable: the
    command says so, and exits 1.

    Raises:
        BadParameter: --plot and --output are both given.
    """
    chosen = {name: value for name, value in params.items() if value not in (None, [])}
    given = {"base": base, "head": head, **chosen}
    from tracehouse.queries.report.comparable import COLUMNS, find_obstacle, note_clocks, note_order

    check_plot("comparison", plot)
    if plot is not None and options.output_file is not None:
        raise typer.BadParameter("wanted --plot FILE or --output FILE, not both")
    with as_usage_errors():  # before a store is opened
        bind_parameters(_QUERY, given)
    with open_to_query(options.store, wait=options.wait, lake=lake) as warehouse:
        table = warehouse.query("comparison", **given)
        doubt = note_order(warehouse, base=base, head=head)
        rows = table.select(COLUMNS).to_pylist()
        obstacle = find_obstacle(warehouse, rows, base=base, head=head)
        if plot is not None:
            draw_comparison(table, plot, base=base, head=head)
        else:
            write_comparison(
                warehouse,
                table,
                options,
                base=base,
                head=head,
                obstacle=obstacle,
                is_all=is_all,
            )
    clocks = note_clocks(rows, base=base)
    for note in (doubt, *(clocks[1:] if options.format is Format.TABLE else clocks)):
        if note:  # the sentence says the first one
            write_note(f"note: {note}")
    if obstacle:
        fail()


add_options(
    compare,
    (parameter_option(own) for own in _QUERY.header.params if own.name not in ("base", "head")),
)
