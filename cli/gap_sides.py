"""The two sides of `tracehouse numeric-gap`, read from files or the store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tracehouse.cli.files import dump_source, file_source, find_companions, read_etrecord_of
from tracehouse.cli.stores import open_to_read

if TYPE_CHECKING:
    from tracehouse.queries.numeric_gap.logged_operators import LoggedRun

Runs = list["LoggedRun"]


def read_sides(
    base: str, head: str | None, *, store: Path, more: Mapping[str, str | None]
) -> tuple[Runs, Runs]:
    """The runs to compare; without head, the run of the exported program and those of base.

    Args:
        base: A file, or else the dump_id of a dump in the store.
        head: Likewise.
        store: Directory of the store.
        more: etrecord, debug_buffer, head_etrecord, head_debug_buffer, method and reference_graph.
    """
    method = more["method"]
    first = _read(base, (more["debug_buffer"], more["etrecord"]), store, method)
    if head is None:
        return _reference(base, more["etrecord"], more["reference_graph"], method), first
    companions = more["head_debug_buffer"], more["head_etrecord"]
    return first, _read(head, companions, store, method)


def _reference(base: str, etrecord: str | None, graph: str | None, method: str | None) -> Runs:
    """The run of the exported program.

    Raises:
        BadParameter: There is no ETRecord, or its program has no inputs for the method.
    """
    from tracehouse.queries.numeric_gap.reference_run import run_reference
    from tracehouse.warehouse.programs.exported_programs import METHOD

    if method not in (None, METHOD):
        problem = f"wanted {METHOD} without HEAD: an ETRecord only has inputs for that method"
        raise typer.BadParameter(problem, param_hint="'--method'")

    source = file_source(etrecord) if etrecord else None
    if source is None and not _is_stored(base):
        source = find_companions(dump_source(base)).etrecord
    if source is None:
        raise typer.BadParameter("wanted HEAD, or --etrecord to run the program in it")
    return [run_reference(source, graph=graph)]


def _is_stored(name: str) -> bool:
    """Whether a side is the dump_id of a dump in the store."""
    return name.isdecimal() and not Path(name).exists()


def _read(
    name: str, companions: tuple[str | None, str | None], store: Path, method: str | None
) -> Runs:
    """The runs of one side; `companions` are its debug buffer and ETRecord.

    Raises:
        BadParameter: A method is given for a file without an ETRecord.
    """
    debug_buffer, etrecord = companions
    if _is_stored(name):
        return _read_stored(int(name), debug_buffer or etrecord, store, method)
    from tracehouse.queries.event_blocks.build import correlate
    from tracehouse.queries.numeric_gap.logged_operators import read_logged_operators

    source = dump_source(name)
    record = read_etrecord_of(source, etrecord)
    if method is not None and record is None:
        problem = f"{name}: --method needs the ETRecord that defines the method, too"
        raise typer.BadParameter(problem, param_hint="'--method'")
    return read_logged_operators(
        source,
        debug_buffer=find_companions(source, debug_buffer=debug_buffer).debug_buffer,
        etrecord=correlate(record) if record else None,
        method=method,
    )


def _read_stored(dump_id: int, companion: str | None, store: Path, method: str | None) -> Runs:
    """The runs of a dump in the store.

    Raises:
        BadParameter: A companion is named, too.
    """
    from tracehouse.queries.numeric_gap.stored_dumps import stored_operators

    if companion:
        raise typer.BadParameter(
            f"{companion}: dump {dump_id} of the store already has its debug buffer and ETRecord"
        )
    with open_to_read(store) as warehouse:
        return stored_operators(warehouse, dump_id, method=method)
