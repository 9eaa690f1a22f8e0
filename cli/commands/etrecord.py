"""`tracehouse etrecord`: show an ETRecord, or compare two programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from tracehouse.cli.files import file_source
from tracehouse.cli.help import command_group
from tracehouse.cli.options import with_options
from tracehouse.cli.output.etrecord_report import write_etrecord
from tracehouse.cli.output.options import OutputOptions
from tracehouse.cli.output.render import Format
from tracehouse.cli.output.streams import write_lines
from tracehouse.warehouse.errors import QueryError, suggest

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
