"""Cheap check whether bytes begin like a dump, with the errors of the full decoder. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ingest.etdump.arena import Arena, Fault, FaultyDumps
from ingest.etdump.schema import read_headers
from ingest.profiler_blob.blocks import find_blocks, is_profiler_blob


def check_file_magic(buffers: Sequence[Any]) -> dict[int, Fault]:
    """The faults in the first bytes of dumps, by position in `buffers`.

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
    return faults


def _blob_faults(buffer: Any) -> list[Fault]:
    try:
        find_blocks(buffer)
    except FaultyDumps as faulty:
        return list(faulty.faults.values())
    return []
