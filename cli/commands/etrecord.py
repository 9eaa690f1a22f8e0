"""`tracehouse etrecord`: what an ETRecord knows of a program, without torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from cli.files import file_source
from cli.options import CsvSafe, Output
from cli.output.render import Format, write_document, write_table
from cli.output.streams import write_lines
from cli.output_file import with_output_file
from warehouse.errors import QueryError, suggest

if TYPE_CHECKING:
    import pyarrow as pa

    from ingest.etrecord.graphs import Graph
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
        write_document(_document(chosen))
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

    for graph in record.graphs:
        write_lines([*render_graph(graph), ""])
    if has_maps:
        write_lines(["# debug handles"])
        write_table(_handles(record), Format.TABLE)
        write_lines(["", "# delegates"])
        write_table(_delegates(record), Format.TABLE)


def _handles(record: EtRecord) -> pa.Table:
    rows = [
        (method, instruction, _text(handles), record.num_outputs.get(method, {}).get(instruction))
        for method, instructions in record.debug_handles.items()
        for instruction, handles in instructions.items()
    ]
    return _table(rows, method=str, instruction_id=int, debug_handles=str, output_count=int)


def _delegates(record: EtRecord) -> pa.Table:
    no_ids: list[tuple[str | None, list[int]]] = [(None, [])]
    rows = [
        (method, instruction, delegate.name, id_, _text(handles))
        for method, instructions in record.delegates.items()
        for instruction, delegate in instructions.items()
        for id_, handles in delegate.handles.items() or no_ids
    ]
    return _table(
        rows, method=str, instruction_id=int, backend=str, delegate_id=str, debug_handles=str
    )


def _text(handles: int | list[int]) -> str:
    return str(handles) if isinstance(handles, int) else ", ".join(map(str, handles))


def _table(rows: Sequence[tuple[object, ...]], **types: type[str | int]) -> pa.Table:
    import pyarrow as pa

    kinds = {str: pa.string(), int: pa.int64()}
    columns = zip(*rows, strict=True) if rows else [()] * len(types)
    arrays = [pa.array(c, kinds[type_]) for c, type_ in zip(columns, types.values(), strict=True)]
    return pa.table(arrays, names=list(types))


def _document(record: EtRecord) -> dict[str, object]:
    delegates = {
        method: {instruction: asdict(delegate) for instruction, delegate in instructions.items()}
        for method, instructions in record.delegates.items()
    }
    return {
        "source": record.source,
        "sha256": record.sha256,
        "debug_handles": record.debug_handles,
        "delegates": delegates,
        "num_outputs": record.num_outputs,
        "graphs": [_graph_document(graph) for graph in record.graphs],
    }


def _graph_document(graph: Graph) -> dict[str, object]:
    from ingest.etrecord.graph_code import code_lines

    nodes = [
        asdict(node) | {"code": code}
        for node, code in zip(graph.nodes, code_lines(graph), strict=True)
    ]
    return {"name": graph.name, "method": graph.method, "scope": graph.scope, "nodes": nodes}
