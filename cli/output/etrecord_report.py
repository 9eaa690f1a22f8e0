"""An ETRecord as `tracehouse etrecord show` prints it: as text, JSON or rows of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.render import Format, write_document, write_table
from tracehouse.cli.output.streams import write_lines

if TYPE_CHECKING:
    from tracehouse.ingest.etrecord.record import EtRecord


def write_etrecord(record: EtRecord, options: OutputOptions, *, has_maps: bool) -> None:
    """Print an ETRecord; the text includes debug handles and delegates if `has_maps`."""
    if options.format is Format.TABLE:
        _write_text(record, has_maps=has_maps)
    elif options.format is Format.JSON:
        from tracehouse.queries.etrecord.tables import etrecord_json

        write_document(etrecord_json(record))
    else:
        from tracehouse.ingest.etrecord.tables import build_etrecord_tables

        options.write(build_etrecord_tables(record)["graph_nodes"])


def _write_text(record: EtRecord, *, has_maps: bool) -> None:
    from tracehouse.ingest.etrecord.graphs import render_graph
    from tracehouse.queries.etrecord.tables import delegate_table, handle_table

    for graph in record.graphs:
        write_lines([*render_graph(graph), ""])
    if has_maps:
        write_lines(["# debug handles"])
        write_table(handle_table(record), Format.TABLE)
        write_lines(["", "# delegates"])
        write_table(delegate_table(record), Format.TABLE)
