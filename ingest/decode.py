"""Bytes of many dumps -> Arrow tables, in arenas small enough to stay in the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ingest.arena import Arena, Fault, FaultyDumps
from ingest.events import read_dumps
from ingest.layouts import SignatureBook
from ingest.schemas import DECODED, ERRORS
from ingest.signature_tables import build_event_signatures, build_run_signatures
from ingest.tables import build_tables

ARENA_BYTES = 16 << 20


@dataclass(frozen=True)
class DecodedBatch:
    """What `decode_dumps` returns.

    Attributes:
        tables: The tables of `ingest.schemas.DECODED`, by name.
        errors: One row per refused dump (`ingest.schemas.ERRORS`); it has no row in `tables`.
    """

    tables: dict[str, pa.Table]
    errors: pa.Table


def decode_dumps(buffers: Sequence[Any]) -> DecodedBatch:
    """Decode ETDumps, each to the same rows whatever else is in the call.

    Args:
        buffers: Bytes-like dumps, size-prefixed or bare. A malformed one is refused with reason
            and byte offset, and harms no other.

    Returns:
        The decoded tables and the refusals; ``dump_index`` is the position in `buffers`.
    """
    book = SignatureBook()
    parts: list[dict[str, pa.Table]] = []
    faults: dict[int, Fault] = {}
    for chunk in _chunks(buffers):
        tables, refused = _decode_chunk(buffers, chunk, book)
        parts.append(tables)
        faults.update(refused)
    tables = {
        name: pa.concat_tables([part[name] for part in parts] or [schema.empty_table()])
        for name, schema in DECODED.items()
        if not name.endswith("_signatures")
    }
    tables["event_signatures"] = build_event_signatures(book)
    tables["run_signatures"] = build_run_signatures(book)
    return DecodedBatch(tables, _errors(faults))


def _chunks(buffers: Sequence[Any]) -> Iterator[list[int]]:
    """Positions of neighbouring buffers that fit an arena together; a big one is alone."""
    chunk: list[int] = []
    room = ARENA_BYTES
    for index, buffer in enumerate(buffers):
        size = memoryview(buffer).nbytes
        if chunk and size > room:
            yield chunk
            chunk, room = [], ARENA_BYTES
        chunk.append(index)
        room -= size
    if chunk:
        yield chunk


def _decode_chunk(
    buffers: Sequence[Any], chunk: list[int], book: SignatureBook
) -> tuple[dict[str, pa.Table], dict[int, Fault]]:
    faults: dict[int, Fault] = {}
    while True:
        arena = Arena([buffers[index] for index in chunk])
        try:
            dumps = read_dumps(arena, book)
        except FaultyDumps as faulty:
            faults.update({chunk[i]: fault for i, fault in faulty.faults.items()})
            chunk = [index for i, index in enumerate(chunk) if i not in faulty.faults]
            continue
        tables = build_tables(dumps, arena.hi - arena.lo)
        indices = np.array(chunk, np.int32)
        return {name: _renumber(table, indices) for name, table in tables.items()}, faults


def _renumber(table: pa.Table, indices: np.typing.NDArray[np.int32]) -> pa.Table:
    """The table with `dump_index` turned from position in the chunk to position in the call."""
    if len(indices) and indices[-1] == len(indices) - 1:
        return table
    column = indices[table.column(0).to_numpy()]
    return table.set_column(0, table.schema.field(0), pa.array(column))


def _errors(faults: dict[int, Fault]) -> pa.Table:
    rows = [
        {
            "dump_index": index,
            "reason": fault.reason,
            "byte_offset": fault.byte_offset,
            "detail": fault.detail,
        }
        for index, fault in sorted(faults.items())
    ]
    return pa.Table.from_pylist(rows, schema=ERRORS)
