"""The two sides of a numeric gap, as a command line names them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cli.files import debug_buffer_beside, dump_source, file_source

if TYPE_CHECKING:
    from queries.numeric_gap.logged_operators import LoggedRun

Runs = list["LoggedRun"]


def read_sides(
    base: str, head: str | None, *, store: Path, more: Mapping[str, str | None]
) -> tuple[Runs, Runs]:
    """The runs to compare; without head, that of the exported program and those of base.

    Args:
        base: A file, or the number of a dump of the store if there is no such file.
        head: The same.
        store: Directory of the store.
        more: etrecord, debug_buffer, head_etrecord, head_debug_buffer and reference_graph.
    """
    first = _read(base, more["debug_buffer"], more["etrecord"], store)
    if head is None:
        return _reference(more["etrecord"], more["reference_graph"]), first
    return first, _read(head, more["head_debug_buffer"], more["head_etrecord"], store)


def _reference(etrecord: str | None, graph: str | None) -> Runs:
    """The exported program's own run.

    Raises:
        BadParameter: There is no ETRecord.
    """
    from queries.numeric_gap.reference_run import run_reference

    if etrecord is None:
        raise typer.BadParameter("wanted --etrecord, to run its program, or HEAD")
    return [run_reference(file_source(etrecord), graph=graph)]


def _read(name: str, debug_buffer: str | None, etrecord: str | None, store: Path) -> Runs:
    if name.isdecimal() and not Path(name).exists():
        return _read_stored(int(name), debug_buffer or etrecord, store)
    from queries.numeric_gap.logged_operators import read_logged_operators

    source = dump_source(name)
    return read_logged_operators(
        source,
        debug_buffer=file_source(debug_buffer) if debug_buffer else debug_buffer_beside(source),
        etrecord=file_source(etrecord) if etrecord else None,
    )


def _read_stored(dump_id: int, companion: str | None, store: Path) -> Runs:
    """The runs of a dump of the store.

    Raises:
        BadParameter: A companion is given.
    """
    from queries.numeric_gap.stored_dumps import stored_operators
    from warehouse import Warehouse

    if companion:
        raise typer.BadParameter(
            f"{companion}: dump {dump_id} has the debug buffer and ETRecord it was ingested with"
        )
    with Warehouse.open(store, read_only=True) as warehouse:
        return stored_operators(warehouse, dump_id)
