"""`tracehouse etrecord`: show an ETRecord, or compare two programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tracehouse.cli.files import file_source
from tracehouse.cli.help import command_group
from tracehouse.cli.options import with_options
from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.render import Format, write_document, write_table
from tracehouse.cli.output.streams import write_lines
from tracehouse.warehouse.errors import QueryError, suggest

if TYPE_CHECKING:
    from tracehouse.ingest.etrecord.record import EtRecord


def write_etrecord(record: EtRecord, options: OutputOptions, *, has_maps: bool) -> None:
    """Print an ETRecord; the text includes debug handles and delegates if `has_maps`."""
    if options.format is Format.TABLE:
        _write_text(record, has_maps=has_maps)
    elif options.format is Format.JSON:
        from tracehouse.queries.etrecord import etrecord_json

        write_document(etrecord_json(record))
    else:
        from tracehouse.ingest.etrecord.record import build_etrecord_tables

        options.write(build_etrecord_tables(record)["graph_nodes"])


def _write_text(record: EtRecord, *, has_maps: bool) -> None:
    from tracehouse.ingest.etrecord.graphs import render_graph
    from tracehouse.queries.etrecord import delegate_table, handle_table

    for graph in record.graphs:
        write_lines([*render_graph(graph), ""])
    if has_maps:
        write_lines(["# debug handles"])
        write_table(handle_table(record), Format.TABLE)
        write_lines(["", "# delegates"])
        write_table(delegate_table(record), Format.TABLE)


app = command_group(
    "Show an ETRecord, or compare two programs.\n\nNeeds neither a store nor torch.",
)


@app.command()
@with_options
def show(
    file: Annotated[str, typer.Argument(metavar="FILE", help="An ETRecord, or ZIP!MEMBER.")],
    method: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this method of the program.")
    ] = None,
    graph: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this graph, e.g. exported_program.")
    ] = None,
    *,
    options: OutputOptions,
) -> None:
    """Print an ETRecord's graphs as text, and its debug handles and delegates.

    JSON has the same content as objects; the other formats have a row per node of the graphs.
    """
    from tracehouse.ingest.etrecord.record import read_etrecord

    record = read_etrecord(file_source(file))
    _check("method", method, [*record.debug_handles, *(key.method for key in record.programs)])
    _check("graph", graph, [key.name for key in record.programs])
    chosen = record.select(method=method, graph=graph)
    write_etrecord(chosen, options, has_maps=graph is None)


@app.command()
@with_options
def diff(
    base: Annotated[str, typer.Argument(metavar="BASE", help="An ETRecord, or a program (.pte).")],
    head: Annotated[str, typer.Argument(metavar="HEAD", help="Another file of that kind.")],
    *,
    options: OutputOptions,
) -> None:
    """Print how two programs differ: operators, delegates, constants, memory and sizes.

    One row per part that one program has more of than the other; no rows if they are alike.
    """
    from tracehouse.ingest.etrecord.differences import compare_programs

    table = compare_programs(file_source(base), file_source(head))
    if options.format is Format.TABLE and not table.num_rows:
        write_lines(["The programs have the same operators, delegates, constants and sizes."])
    else:
        options.write(table)


def _check(what: str, name: str | None, known: Sequence[str]) -> None:
    if name is not None and name not in known:
        raise QueryError(f"no {what} '{name}' in the ETRecord{suggest(name, sorted(set(known)))}")
