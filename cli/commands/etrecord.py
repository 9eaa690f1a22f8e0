"""`tracehouse etrecord`: what an ETRecord knows of a program, without torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cli.files import file_source
from cli.options import CsvSafe, Output
from cli.output.render import Format, write_document, write_table
from cli.output.streams import write_lines
from cli.output_file import with_output_file
from warehouse.errors import QueryError, suggest

if TYPE_CHECKING:
    from ingest.etrecord.record import EtRecord

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    short_help="Show what an ETRecord knows of a program.",
    help="Show what an ETRecord knows of a program; needs neither a store nor torch.",
)


@app.callback()
def _group() -> None:
    """Keep `show` a command of its own, though it is the only one."""


def show(
    file: Annotated[str, typer.Argument(metavar="FILE", help="An ETRecord, or ZIP!MEMBER.")],
    method: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this method of the program.")
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only this graph, e.g. exported_program, and no maps."),
    ] = None,
    output: Output = Format.TABLE,
    is_csv_safe: CsvSafe = False,
) -> None:
    """Print an ETRecord's graphs as text, and its debug handles and delegates.

    JSON holds the same as objects; the other formats hold the nodes of the graphs, one row each.
    """
    from ingest.etrecord.record import read_etrecord

    record = read_etrecord(file_source(file))
    _check("method", method, [*record.debug_handles, *(key.method for key in record.programs)])
    _check("graph", graph, [key.name for key in record.programs])
    chosen = record.select(method=method, graph=graph)
    if output is Format.TABLE:
        _write_text(chosen, has_maps=graph is None)
    elif output is Format.JSON:
        from queries.etrecord.json_form import etrecord_json

        write_document(etrecord_json(chosen))
    else:
        from ingest.etrecord.tables import build_etrecord_tables

        nodes = build_etrecord_tables(chosen)["graph_nodes"]
        write_table(nodes, output, is_csv_safe=is_csv_safe)


app.command()(with_output_file(show))


def _check(what: str, name: str | None, known: Sequence[str]) -> None:
    if name is not None and name not in known:
        raise QueryError(f"no {what} '{name}' in the ETRecord{suggest(name, sorted(set(known)))}")


def _write_text(record: EtRecord, *, has_maps: bool) -> None:
    from ingest.etrecord.graph_code import render_graph
    from queries.etrecord.tables import delegate_table, handle_table

    for graph in record.graphs:
        write_lines([*render_graph(graph), ""])
    if has_maps:
        write_lines(["# debug handles"])
        write_table(handle_table(record), Format.TABLE)
        write_lines(["", "# delegates"])
        write_table(delegate_table(record), Format.TABLE)
