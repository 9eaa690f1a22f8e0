"""Bytes of many dumps -> Arrow tables, in arenas small enough for the CPU's cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tracehouse.ingest.batching import batches
from tracehouse.ingest.errors import DumpError
from tracehouse.ingest.etdump.arena import LIMIT_REASONS, Arena, Fault, FaultyDumps
from tracehouse.ingest.etdump.layouts import SignatureBook
from tracehouse.ingest.etdump.runs import read_dumps, recall_dump, remember_dump
from tracehouse.ingest.etdump.schema import read_headers
from tracehouse.ingest.file_magic import explain_fault
from tracehouse.ingest.profiler_blob import find_blocks, is_profiler_blob, read_blob
from tracehouse.ingest.schemas.dumps import ERRORS
from tracehouse.ingest.tables.build import (
    EMPTY,
    SignatureTables,
    build_event_signatures,
    build_run_signatures,
    build_tables,
    renumber_dumps,
)

ARENA_BYTES = 16 << 20
_ATTEMPTS = 3

_NO_ERRORS = ERRORS.empty_table()

Tables = dict[str, pa.Table]
_Decoded = tuple[
    list[Tables], SignatureBook, dict[int, Fault]
]  # rows of good dumps, faults of bad ones


@dataclass(frozen=True)
class DecodedBatch:
    """The result of `decode_dumps`.

    Attributes:
        tables: The tables of `ingest.schemas.dumps.DECODED`, by name.
        errors: One row per refused dump (`ingest.schemas.dumps.ERRORS`), which has no rows in
            `tables`.
    """

    tables: Tables
    errors: pa.Table


def decode_dumps(buffers: Sequence[Any]) -> DecodedBatch:
    """Decode ETDumps; the rows of a dump do not depend on the other dumps of the call.

    Args:
        buffers: Bytes-like dumps, size-prefixed or bare, or profiler blobs. A malformed one
            is refused with reason and byte offset, and does not affect the others.

    Returns:
        The decoded tables and the refusals; ``dump_index`` is the position in `buffers`.
    """
    if len(buffers) == 1 and (known := recall_dump(buffers[0])):
        record, tables = known
        sizes = np.array([memoryview(buffers[0]).nbytes])
        return DecodedBatch(build_tables(record, sizes) | tables, _NO_ERRORS)
    signatures = SignatureTables()
    parts: list[Tables] = []
    faults: dict[int, Fault] = {}
    for chunk in _chunks(buffers):
        for tables_of_runs, book, found in _decode_chunk(buffers, chunk):
            parts += tables_of_runs
            faults.update(found)
            signatures.add(book)
    tables = signatures.tables()
    if len(buffers) == 1 and not (faults or is_profiler_blob(buffers[0])):
        remember_dump(buffers[0], tables)
    return DecodedBatch(_join(parts) | tables, _errors(_explain(faults, buffers)))


def check_headers(buffers: Sequence[Any]) -> dict[int, Fault]:
    """The faults in the first bytes of dumps, as `decode_dumps` words them, by position.

    For an ETDump, the size prefix, the identifier, the root table and the vector of runs are
    checked; for a profiler blob, its blocks.

    Args:
        buffers: Bytes-like dumps; of a memory map only these parts are read.
    """
    faults: dict[int, Fault] = {}
    flat: list[int] = []
    for index, buffer in enumerate(buffers):
        if is_profiler_blob(buffer):
            faults.update((index, fault) for fault in _blob_faults(buffer))
        else:
            flat.append(index)
    while flat:
        try:
            read_headers(Arena([buffers[index] for index in flat]))
        except FaultyDumps as faulty:
            faults.update((flat[at], fault) for at, fault in faulty.faults.items())
            flat = [index for index in flat if index not in faults]
        else:
            break
    return _explain(faults, buffers)


def stream_dump(buffer: Any, source: str = "dump") -> Iterator[DecodedBatch]:
    """Decode one dump of any size in bounded memory.

    Args:
        buffer: A bytes-like dump, preferably a memory map.
        source: Name of the dump in error messages.

    Yields:
        Parts of the result of `decode_dumps`, in order of runs. A large run may span several parts,
        in order of events; its row of `runs` and its allocators are in the first of them. The row
        of `dumps` and all signatures are in the last part only.

    Raises:
        DumpError: The dump is malformed; discard the parts before.
    """
    book = SignatureBook()
    try:
        for part in _decode_arena(Arena([buffer]), book):
            tables = {**EMPTY, **part}
            if "dumps" in part:
                tables["event_signatures"] = build_event_signatures(book)
                tables["run_signatures"] = build_run_signatures(book)
            yield DecodedBatch(tables, _errors({}))
    except FaultyDumps as faulty:
        (fault,) = _explain({0: faulty.faults[0]}, [buffer]).values()
        raise DumpError(source, **vars(fault)) from faulty


def _join(parts: list[Tables]) -> Tables:
    """The rows of all parts; a table that no part has is empty."""
    tables = dict(EMPTY)
    for name in tables:
        some = [part[name] for part in parts if name in part]
        if some:
            tables[name] = some[0] if len(some) == 1 else pa.concat_tables(some)
    return tables


def _chunks(buffers: Sequence[Any]) -> Iterator[list[int]]:
    """Positions of consecutive buffers that fit into one arena.

    A large buffer or a profiler blob gets its own arena.
    """

    def size(index: int) -> int:
        buffer = buffers[index]
        return ARENA_BYTES + 1 if is_profiler_blob(buffer) else memoryview(buffer).nbytes

    return batches(range(len(buffers)), size, ARENA_BYTES)


def _decode_chunk(buffers: Sequence[Any], chunk: list[int]) -> Iterator[_Decoded]:
    """Tables and signatures of the good dumps of a chunk, and the faults of the others.

    Each dump is in exactly one of the results.

    Decoding stops at the first check that any dump fails, and restarts without the dumps that
    failed it, so each attempt may meet another kind of fault. After a few attempts the chunk is
    halved, so that the good dumps are not read again for every bad one.
    """
    faults: dict[int, Fault] = {}
    for _ in range(_ATTEMPTS):
        if not chunk:
            break
        arena = Arena([buffers[index] for index in chunk])
        book = SignatureBook()  # a new one, as a failed attempt leaves entries behind
        try:
            parts = list(_decode_arena(arena, book))
        except FaultyDumps as faulty:
            faults.update({chunk[i]: fault for i, fault in faulty.faults.items()})
            chunk = [index for i, index in enumerate(chunk) if i not in faulty.faults]
            continue
        if chunk[-1] >= len(chunk):  # else positions in the chunk are positions in the call
            indices = np.array(chunk, np.int32)
            parts = [
                {name: renumber_dumps(table, indices) for name, table in part.items()}
                for part in parts
            ]
        yield parts, book, faults
        return
    yield [], SignatureBook(), faults
    half = len(chunk) // 2
    for some in (chunk[:half], chunk[half:]):
        if some:
            yield from _decode_chunk(buffers, some)


def _decode_arena(arena: Arena, book: SignatureBook) -> Iterator[Tables]:
    """Tables of some runs at a time; the rows of `dumps` are in the last part."""
    totals = []
    for tables in _build_parts(arena, book):
        totals.append(tables.pop("dumps"))
        yield tables
    yield {"dumps": _sum_dumps(totals)}


def _build_parts(arena: Arena, book: SignatureBook) -> Iterator[Tables]:
    is_blob = len(arena.lo) == 1 and is_profiler_blob(arena.u8)
    parts = (
        read_blob(find_blocks(arena.u8), book, ARENA_BYTES)
        if is_blob
        else read_dumps(arena, book, ARENA_BYTES)
    )
    for dumps in parts:
        yield build_tables(dumps, arena.hi - arena.lo)


def _sum_dumps(parts: list[pa.Table]) -> pa.Table:
    """The rows of `dumps`, with counts added up over the parts."""
    if len(parts) == 1:
        return parts[0]
    whole = parts[0]
    for index, name in enumerate(whole.column_names):
        if name.startswith("n_"):
            total = sum(part[name].to_numpy() for part in parts)
            whole = whole.set_column(index, whole.field(index), pa.array(total))
    return whole


def _blob_faults(buffer: Any) -> list[Fault]:
    try:
        find_blocks(buffer)
    except FaultyDumps as faulty:
        return list(faulty.faults.values())
    return []


def _explain(faults: dict[int, Fault], buffers: Sequence[Any]) -> dict[int, Fault]:
    """The faults, with the cause of each damage as far as it can be told."""
    return {
        index: fault
        if fault.reason in LIMIT_REASONS
        else replace(fault, detail=explain_fault(fault.detail, buffers[index]))
        for index, fault in faults.items()
    }


def _errors(faults: dict[int, Fault]) -> pa.Table:
    if not faults:
        return _NO_ERRORS
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
