"""Verified columns of the dumps in an arena -> Arrow tables with the schemas `DECODED`. Pure."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import Ints
from tracehouse.ingest.etdump.dumps import Dumps
from tracehouse.ingest.tables.arrow_columns import EMPTY, build_table, plain, strings, unsigned
from tracehouse.ingest.tables.clocks import flag_durations, is_wrong, offsets_from, unwrap_starts
from tracehouse.ingest.tables.event_order import Slots, order_events
from tracehouse.ingest.tables.logged_values import build_debug_values


def build_tables(dumps: Dumps, sizes: Ints) -> dict[str, pa.Table]:
    """All decoded tables except those of signatures; `sizes` is the byte length of each dump."""
    stored = np.concatenate([stored.run for stored in dumps.stored])
    counts = dumps.counts[stored]
    durations, flags = flag_durations(dumps.start, dumps.end, zero_is_no_end=dumps.zero_is_no_end)
    if dumps.excerpt is None:
        offsets, earliest = unwrap_starts(dumps.start, counts, flags)
    else:
        earliest = np.array([dumps.excerpt.origin])
        offsets = offsets_from(dumps.excerpt.origin, dumps.start, wraps=dumps.excerpt.wraps)
    first_start = np.empty_like(earliest)
    first_start[stored] = earliest
    wrong = np.searchsorted(np.cumsum(counts), np.flatnonzero(is_wrong(flags)), side="right")
    slots = Slots(dumps.layouts)
    return {
        "dumps": _dumps(dumps, sizes, dumps.heads.run_dump[stored[wrong]]),
        "runs": _runs(dumps, first_start),
        "events": _events(dumps, slots, offsets, durations, flags),
        "allocators": _allocators(dumps),
        "allocations": _allocations(dumps),
        "debug_values": build_debug_values(
            dumps.extras.debugs,
            lambda run: _run_columns(dumps, dumps.extras.run[run]),
            dumps.excerpt.value_positions if dumps.excerpt else None,
        ),
        "delegate_metadata": _delegate_metadata(dumps, slots),
    }


def _dumps(dumps: Dumps, sizes: Ints, flagged: Ints) -> pa.Table:
    heads, extras = dumps.heads, dumps.extras
    of_extras = heads.run_dump[extras.run]

    def per_dump(owners: Ints, weights: Ints | None = None) -> Ints:
        return np.bincount(owners, weights, len(sizes)).astype(np.int64)

    return build_table(
        "dumps",
        np.arange(len(sizes), dtype=np.int32),
        sizes,
        heads.version,
        heads.is_size_prefixed,
        per_dump(heads.run_dump[: None if _has_starts(dumps) else 0]).astype(np.int32),
        per_dump(heads.run_dump, dumps.counts),
        per_dump(flagged),
        per_dump(of_extras[extras.allocations.run]),
        per_dump(of_extras[extras.debugs.run]),
        per_dump(of_extras[extras.empty_event_run]),
    )


def _has_starts(dumps: Dumps) -> bool:
    """Whether runs begin in this part: an excerpt has the beginning only if it is the first."""
    return dumps.excerpt is None or dumps.excerpt.is_first


def _runs(dumps: Dumps, first_start: NDArray[np.uint64]) -> pa.Table:
    if not _has_starts(dumps):
        return EMPTY["runs"]
    counts = dumps.counts if dumps.excerpt is None else np.array([dumps.excerpt.event_count])
    return build_table(
        "runs",
        *_run_columns(dumps, slice(None)),
        plain(dumps.signature_id, dumps.has_events),
        strings(dumps.name),
        dumps.bundled_input_index,
        unsigned(first_start, counts > 0),
        counts.astype(np.int32),
    )


def _run_columns(dumps: Dumps, run: Ints | slice) -> tuple[pa.Array, pa.Array]:
    """dump_index and run_index of rows that belong to these runs."""
    heads = dumps.heads
    return (
        plain(heads.run_dump.astype(np.int32)[run]),
        plain(heads.run_index.astype(np.int32)[run]),
    )


def _events(
    dumps: Dumps, slots: Slots, offsets: Ints, durations: Ints, flags: NDArray[np.int32]
) -> pa.Table:
    order = order_events(dumps, slots)
    heads = dumps.heads
    return build_table(
        "events",
        order.spread_blocks(heads.run_dump.astype(np.int32)),
        order.spread_blocks(dumps.signature_id),
        order.spread_slots(slots.signature_id),
        order.spread_runs(heads.run_index.astype(np.int32)),
        order.spread_slots(slots.occurrence),
        order.spread_slots(slots.chain),
        order.spread(offsets),
        order.spread(durations),
        order.spread(flags) if flags.any() else flags,
    )


def _allocators(dumps: Dumps) -> pa.Table:
    table = dumps.extras.allocators
    if not len(table.run) or not _has_starts(dumps):
        return EMPTY["allocators"]
    return build_table(
        "allocators",
        *_run_columns(dumps, dumps.extras.run[table.run]),
        table.number,
        strings(table.name),
    )


def _allocations(dumps: Dumps) -> pa.Table:
    table = dumps.extras.allocations
    if not len(table.run):
        return EMPTY["allocations"]
    return build_table(
        "allocations",
        *_run_columns(dumps, dumps.extras.run[table.run]),
        table.position.astype(np.int32),
        table.allocator,
        strings(table.name),
        unsigned(table.size),
    )


def _delegate_metadata(dumps: Dumps, slots: Slots) -> pa.Table:
    table = dumps.extras.metadata
    if not len(table.run):
        return EMPTY["delegate_metadata"]
    run = dumps.extras.run[table.run]
    slot = slots.first[dumps.layout[run]] + table.place
    values = pa.array(table.content.values, pa.binary())
    return build_table(
        "delegate_metadata",
        *_run_columns(dumps, run),
        slots.signature_id[slot],
        slots.occurrence[slot],
        values.take(pa.array(table.content.codes)),
    )
