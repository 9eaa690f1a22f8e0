"""Verified columns of an arena's dumps -> Arrow tables in the schemas of schemas.py. Pure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.arena import Ints
from ingest.arrow_columns import build_table, nullable, strings, unsigned
from ingest.clocks import flag_durations, unwrap_starts
from ingest.etdump import Texts
from ingest.events import Dumps
from ingest.schemas import DECODED
from ingest.value_table import build_debug_values


def build_tables(dumps: Dumps, sizes: Ints) -> dict[str, pa.Table]:
    """All decoded tables but the two of signatures; `sizes` is the byte length of each dump."""
    offsets, first_start = unwrap_starts(dumps.start, dumps.counts)
    durations, flags = flag_durations(dumps.start, dumps.end)
    run = np.repeat(np.arange(len(dumps.counts)), dumps.counts)
    slots = _Slots(dumps)
    return {
        "dumps": _dumps(dumps, sizes, dumps.heads.run_dump[run[flags > 1]]),
        "runs": _runs(dumps, first_start),
        "events": _events(dumps, slots, run, (offsets, durations, flags)),
        "allocators": _allocators(dumps),
        "allocations": _allocations(dumps),
        "debug_values": build_debug_values(
            dumps.rest.runs.debugs, lambda run: _run_columns(dumps, dumps.rest.run[run])
        ),
        "delegate_metadata": _delegate_metadata(dumps, slots),
    }


def _dumps(dumps: Dumps, sizes: Ints, flagged: Ints) -> pa.Table:
    heads, rest = dumps.heads, dumps.rest.runs
    rest_dump = heads.run_dump[dumps.rest.run]

    def per_dump(owners: Ints, weights: Ints | None = None) -> Ints:
        return np.bincount(owners, weights, len(sizes)).astype(np.int64)

    return build_table(
        "dumps",
        np.arange(len(sizes), dtype=np.int32),
        sizes,
        heads.version,
        heads.is_size_prefixed,
        per_dump(heads.run_dump).astype(np.int32),
        per_dump(heads.run_dump, dumps.counts),
        per_dump(flagged),
        per_dump(rest_dump[rest.allocations.run]),
        per_dump(rest_dump[rest.debugs.run]),
        per_dump(rest_dump[rest.empty_event_run]),
    )


def _runs(dumps: Dumps, first_start: NDArray[np.uint64]) -> pa.Table:
    return build_table(
        "runs",
        *_run_columns(dumps, slice(None)),
        nullable(dumps.signature_id, dumps.has_events),
        strings(dumps.name),
        dumps.bundled_input_index,
        unsigned(first_start, dumps.counts > 0),
        dumps.counts.astype(np.int32),
    )


def _run_columns(dumps: Dumps, run: Ints | slice) -> tuple[pa.Array, pa.Array]:
    """dump_index and run_index of rows that belong to these runs."""
    heads = dumps.heads
    return (
        pa.array(heads.run_dump.astype(np.int32)[run]),
        pa.array(heads.run_index.astype(np.int32)[run]),
    )


class _Slots:
    """Places in layouts: rank, occurrence, signature id, chain; and the place of each event."""

    def __init__(self, dumps: Dumps) -> None:
        layouts = dumps.layouts
        none = np.zeros(0, np.int64)
        self.rank = np.concatenate([none, *(x.rank for x in layouts)])
        self.occurrence = np.concatenate([none, *(x.occurrence for x in layouts)]).astype(np.int32)
        self.chain = np.concatenate([none, *(x.chain for x in layouts)]).astype(np.int32)
        self.signature_id = np.concatenate(
            [none, *(np.array(x.signature_ids, np.int64)[x.rank] for x in layouts)]
        )
        length = np.array([len(x.rank) for x in layouts] + [0], np.int64)
        first = (np.cumsum(length) - length)[dumps.layout]
        self.of_event = np.arange(int(dumps.counts.sum())) + np.repeat(
            first - np.cumsum(dumps.counts) + dumps.counts, dumps.counts
        )


def _events(
    dumps: Dumps, slots: _Slots, run: Ints, measured: tuple[Ints, Ints, NDArray[np.int32]]
) -> pa.Table:
    slot = slots.of_event
    order = _stable_order(np.repeat(_first_groups(dumps), dumps.counts) + slots.rank[slot])
    run, slot = run[order], slot[order]
    dump_index, run_index = _run_columns(dumps, run)
    return build_table(
        "events",
        dump_index,
        dumps.signature_id[run],
        slots.signature_id[slot],
        run_index,
        _spread(slots.occurrence, slot),
        _spread(slots.chain, slot),
        *(_spread(column, order) for column in measured),
    )


def _first_groups(dumps: Dumps) -> Ints:
    """For each run the number of its block's first group; a group is a block's event signature.

    Blocks (dump and run signature) are numbered in order, and so are their groups.
    """
    _, signature = np.unique(dumps.signature_id, return_inverse=True)
    key = dumps.heads.run_dump * (len(signature) + 1) + signature
    _, sample, block = np.unique(key, return_index=True, return_inverse=True)
    width = np.array([len(layout.signature_ids) for layout in dumps.layouts] + [0], np.int64)
    widths = width[dumps.layout[sample]]
    return (np.cumsum(widths) - widths)[block]


def _stable_order(group: Ints) -> Ints:
    """Rows in order of group, and in their own order within a group."""
    bits = max(len(group), 1).bit_length()
    return np.sort((group << bits) | np.arange(len(group))) & ((1 << bits) - 1)


def _spread(values: NDArray[Any], index: Ints) -> NDArray[Any]:
    """values[index], without the work where all values are the same."""
    if len(values) and (values == values[0]).all():
        return np.full(len(index), values[0])
    return values[index]


def _allocators(dumps: Dumps) -> pa.Table:
    table = dumps.rest.runs.allocators
    if not len(table.run):
        return DECODED["allocators"].empty_table()
    return build_table(
        "allocators",
        *_run_columns(dumps, dumps.rest.run[table.run]),
        table.number.astype(np.int32),
        strings(table.name),
    )


def _allocations(dumps: Dumps) -> pa.Table:
    table, allocators = dumps.rest.runs.allocations, dumps.rest.runs.allocators
    if not len(table.run):
        return DECODED["allocations"].empty_table()
    counts = np.bincount(allocators.run, minlength=len(dumps.rest.run))
    first = np.cumsum(counts) - counts
    known = (table.allocator >= 1) & (table.allocator <= counts[table.run])
    row = np.where(known, first[table.run] + table.allocator - 1, -1)
    codes = np.append(allocators.name.codes, -1)[row]
    return build_table(
        "allocations",
        *_run_columns(dumps, dumps.rest.run[table.run]),
        table.position.astype(np.int32),
        table.allocator,
        strings(Texts(codes, allocators.name.values)),
        unsigned(table.size),
    )


def _delegate_metadata(dumps: Dumps, slots: _Slots) -> pa.Table:
    rest = dumps.rest.runs
    rows = np.flatnonzero(rest.profiles.metadata.codes >= 0)
    if not len(rows):
        return DECODED["delegate_metadata"].empty_table()
    local = rest.profile_counts
    run = dumps.rest.run[rest.profiles.run]
    first = (np.cumsum(dumps.counts) - dumps.counts)[run]
    event = np.arange(len(run)) - (np.cumsum(local) - local)[rest.profiles.run] + first
    slot = slots.of_event[event[rows]]
    values = pa.array(rest.profiles.metadata.values, pa.binary())
    return build_table(
        "delegate_metadata",
        *_run_columns(dumps, run[rows]),
        slots.signature_id[slot],
        slots.occurrence[slot],
        values.take(pa.array(rest.profiles.metadata.codes[rows])),
    )
