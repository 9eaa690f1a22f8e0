"""ExecuTorch's own objects from ETRecords, where executorch is installed."""

from __future__ import annotations

import io
import pickle
import zipfile
from importlib import import_module
from typing import Any

import duckdb

from tracehouse.ingest.etrecord.names import EDGE_PROGRAM, EXPORTED_PROGRAM
from tracehouse.ingest.sources.places import parse_source
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.errors import QueryError, suggest

_BY_ID = "SELECT source, sha256 FROM etrecords WHERE etrecord_id = ?"
METHOD = "forward"  # if a graph's name has no method
# Errors of ExecuTorch's readers and torch for files that they cannot read.
_FAULTS = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, RuntimeError),
    *(TypeError, ValueError, pickle.UnpicklingError, zipfile.BadZipFile),
)


def parse_etrecord(data: bytes | memoryview, name: str) -> Any:
    """ExecuTorch's ETRecord object.

    Raises:
        QueryError: executorch is not installed, or cannot read the ETRecord.
    """
    try:
        parse = import_module("executorch.devtools").parse_etrecord
    except ImportError as error:
        raise QueryError(
            f"{name}: an ExportedProgram needs executorch ({error}): "
            "pip install '.[executorch]' in a checkout; `tracehouse etrecord show` does not"
        ) from error
    try:
        return parse(io.BytesIO(data))
    except _FAULTS as error:
        problem = " ".join(str(error).split()) or type(error).__name__
        raise QueryError(f"{name}: ExecuTorch cannot read it: {problem}") from error


def pick_exported_program(data: bytes | memoryview, name: str, *, graph: str = EDGE_PROGRAM) -> Any:
    """An ExportedProgram in the bytes of an ETRecord; `name` is its name in messages.

    `graph` is edge_dialect_exported_program, exported_program, or a name in the graph map; with
    ``/METHOD`` it is of another method than forward.

    Raises:
        QueryError: executorch is not installed or cannot read the bytes, or there is no such graph.
    """
    programs = name_programs(parse_etrecord(data, name))
    for key in (graph, f"{graph}/{METHOD}"):
        if key in programs:
            return programs[key]
    raise QueryError(f"{name}: no graph '{graph}'{suggest(graph, sorted(programs))}")


def find_etrecord(
    connection: duckdb.DuckDBPyConnection, *, etrecord_id: int | None, dump_id: int | None
) -> tuple[str, str]:
    """The file name of a store's ETRecord, and its SHA-256.

    Raises:
        QueryError: Not exactly one id is given, or the store has no such ETRecord or dump.
    """
    if (etrecord_id is None) == (dump_id is None):
        raise QueryError("an ETRecord: wanted exactly one of etrecord_id and dump_id")
    text = _BY_ID if dump_id is None else read_statement("etrecord_of_dump")
    id_ = etrecord_id if dump_id is None else dump_id
    row = connection.execute(text, [id_]).fetchone()
    if row is None:
        what = f"ETRecord {id_}" if dump_id is None else f"ETRecord of a dump {id_}"
        raise QueryError(f"the store has no {what}")
    name, sha256 = row
    return parse_source(name).name, sha256


def name_programs(record: Any) -> dict[str, Any]:
    """The ExportedPrograms of ExecuTorch's ETRecord object, by graph, as in our tables."""
    programs = dict(record.graph_map or {})
    edge = record.edge_dialect_program
    methods = edge if isinstance(edge, dict) else {METHOD: edge}
    programs |= {f"{EDGE_PROGRAM}/{method}": program for method, program in methods.items()}
    programs[EXPORTED_PROGRAM] = record.exported_program
    return {name: program for name, program in programs.items() if program is not None}
