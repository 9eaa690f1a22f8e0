"""ExecuTorch's programs in the ETRecords of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from ingest.etrecord.names import EDGE_PROGRAM
from warehouse.archive.archive import Archive
from warehouse.programs.exported_programs import (
    find_etrecord,
    pick_exported_program,
    read_exported_program,
)


def read_stored_program(
    connection: duckdb.DuckDBPyConnection,
    store: Path,
    *,
    etrecord_id: int | None,
    dump_id: int | None,
    graph: str | None,
) -> Any:
    """The ExportedProgram in an archived ETRecord, or otherwise in its original file.

    See `Warehouse.exported_program`.
    """
    source, sha256 = find_etrecord(connection, etrecord_id=etrecord_id, dump_id=dump_id)
    wanted = graph or EDGE_PROGRAM
    archived = Archive(store).find(sha256)
    if archived is not None:
        return pick_exported_program(archived.data, source.name, graph=wanted)
    return read_exported_program(source, graph=wanted, sha256=sha256)
