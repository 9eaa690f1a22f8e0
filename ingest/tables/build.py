"""Verified columns of the dumps in an arena -> Arrow tables with the schemas `DECODED`. Pure.

Arrays are passed as buffers, because `pa.array`, `take` and `cast` import numpy.ma and
pyarrow.compute, which takes a fifth of the start-up of `tracehouse inspect`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.etdump.arena import Ints, Mask
from tracehouse.ingest.etdump.columns import DebugEvents, Texts, count_before
from tracehouse.ingest.etdump.dumps import Dumps
from tracehouse.ingest.etdump.layouts import SignatureBook
from tracehouse.ingest.etdump.values import DTYPES, MISSING, VALUE_TYPES, Int64Lists, Tensors
from tracehouse.ingest.schemas.dumps import DECODED, UINT64
from tracehouse.ingest.tables.clocks import flag_durations, is_wrong, offsets_from, unwrap_starts
from tracehouse.ingest.tables.event_order import Slots, order_events

EMPTY = {name: schema.empty_table() for name, schema in DECODED.items()}
"""Every decoded table without rows."""

_FEW = 1000  # rows that are decoded without pyarrow.compute
_TYPES = {name: schema.types for name, schema in DECODED.items()}
_ARROW_TYPES = {
    np.dtype(numpy_type): pa.from_numpy_dtype(numpy_type)
    for numpy_type in (np.int32, np.int64, np.float64)
}

_NO_TENSOR = -(2**31)  # not the value of any byte

RunColumns = Callable[[Ints], tuple[pa.Array, pa.Array]]

_FULL = 1 << 16  # signatures kept as objects before they become rows


def build_table(name: str, *columns: object) -> pa.Table:
    """A decoded table from its columns in order, which are arrays or lists."""
    arrays = [_column(*pair) for pair in zip(columns, _TYPES[name], strict=True)]
    return pa.Table.from_arrays(arrays, schema=DECODED[name])


def _column(values: object, type_: pa.DataType) -> pa.Array:
    if isinstance(values, np.ndarray):
        return plain(values)
    return values if isinstance(values, pa.Array) else pa.array(values, type_)


def plain(values: NDArray[Any], valid: Mask | None = None) -> pa.Array:
    """The values (int32, int64, float64 or bool), null if not valid."""
    bits = None if valid is None else _bits(valid)
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [bits, _bits(values)])
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(_ARROW_TYPES[values.dtype], len(values), [bits, data])


def texts(codes: Ints, values: list[str | None]) -> pa.Array:
    """A string column: values by code, null for negative codes."""
    if len(codes) <= _FEW:
        return pa.array([values[c] if c >= 0 else None for c in codes.tolist()], pa.string())
    indices = plain(codes.astype(np.int32), codes >= 0)
    dictionary = pa.array(values, pa.string())
    return pa.DictionaryArray.from_arrays(indices, dictionary).dictionary_decode()


def is_utf8(text: bytes) -> bool:
    """Whether the bytes are UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def readable(text: bytes) -> str:
    """The text, with bytes that are not UTF-8 as \\xNN."""
    return text.decode(errors="backslashreplace")


def readable_or_none(text: bytes | None) -> str | None:
    """The readable text, None for None."""
    return None if text is None else readable(text)


def strings(column: Texts, rows: Ints | slice = slice(None), *, empty: bool = True) -> pa.Array:
    """A string column of the texts; with `empty` false, '' becomes null."""
    values = [v if empty or v else None for v in map(readable, column.values)]
    return texts(column.codes[rows], values)


def unsigned(values: NDArray[np.uint64], valid: Mask | None = None) -> pa.Array:
    """Exact unsigned 64-bit values, null if not valid."""
    words = np.zeros((len(values), 2), np.uint64)  # 128-bit decimals, the low word first
    words[:, 0] = values
    bits = None if valid is None else _bits(valid)
    return pa.Array.from_buffers(UINT64, len(values), [bits, pa.py_buffer(words)])


def name_codes(
    codes: NDArray[np.int32], names: tuple[str, ...], others: dict[int, str | None]
) -> pa.Array:
    """Names of enumeration codes; a code without one is 'unknown(N)'."""
    distinct, member = np.unique(codes, return_inverse=True)
    found = [
        names[code] if 0 <= code < len(names) else others.get(code, f"unknown({code})")
        for code in distinct.tolist()
    ]
    return texts(member, found)


def lists(longs: Int64Lists) -> pa.Array:
    """A nullable column of lists."""
    ends = np.concatenate([[0], np.cumsum(longs.length)]).astype(np.int32)
    buffers = [_bits(longs.present), pa.py_buffer(ends)]
    items = plain(longs.items)
    return pa.Array.from_buffers(
        pa.list_(pa.int64()), len(longs.present), buffers, children=[items]
    )


def _bits(mask: Mask) -> pa.Buffer:
    return pa.py_buffer(np.packbits(mask, bitorder="little"))


def renumber_dumps(rows: pa.Table, numbers: NDArray[np.int32]) -> pa.Table:
    """The rows with ``dump_index`` i replaced by ``numbers[i]``; other tables are unchanged.

    `dump_index` is the first column of every decoded table that has it.
    """
    if rows.schema.names[0] != "dump_index":
        return rows
    chunks = [pa.array(numbers[chunk.to_numpy()]) for chunk in rows.column(0).chunks]
    column = pa.chunked_array(chunks, pa.int32())
    return rows.set_column(0, rows.schema.field(0), column)


def build_debug_values(
    events: DebugEvents, run_columns: RunColumns, positions: NDArray[np.int32] | None
) -> pa.Table:
    """The table debug_values.

    Args:
        events: The events that logged the values.
        run_columns: Returns dump_index and run_index of rows of runs.
        positions: Position of each value, needed if the events are only some of their run.
    """
    if not len(events.run):
        return EMPTY["debug_values"]
    values = events.values
    positions = _value_positions(events) if positions is None else positions
    count = len(events.run)
    tensors = np.bincount(values.tensor_event, minlength=count)
    row = np.repeat(np.arange(count), np.maximum(tensors, 1))
    is_tensor = tensors[row] > 0
    element = np.full(len(row), -1, np.int64)
    element[is_tensor] = values.element
    return build_table(
        "debug_values",
        *run_columns(events.run[row]),
        events.position[row].astype(np.int32),
        events.chain.view(np.int64)[row],
        plain(events.instruction[row], events.instruction[row] != -1),
        plain(events.delegate_int[row], events.delegate_int[row] != -1),
        strings(events.delegate_str, row, empty=False),
        strings(events.name, row),
        positions[row],
        plain(element.astype(np.int32), element >= 0),
        name_codes(values.type[row], VALUE_TYPES, {MISSING: "missing"}),
        plain(values.integer[row], values.has_integer[row]),
        plain(values.real[row], values.has_real[row]),
        *_tensor_columns(values.tensors, is_tensor),
        values.is_output[row],
    )


def _tensor_columns(tensors: Tensors, is_tensor: Mask) -> list[pa.Array]:
    """Columns with the tensors in order where `is_tensor`, null elsewhere."""

    def spread(values: NDArray[Any], filler: int) -> NDArray[Any]:
        column = np.full(len(is_tensor), filler, values.dtype)
        column[is_tensor] = values
        return column

    def spread_lists(longs: Int64Lists) -> Int64Lists:
        return Int64Lists(spread(longs.present, 0), spread(longs.length, 0), longs.items)

    return [
        name_codes(spread(tensors.dtype.astype(np.int32), _NO_TENSOR), DTYPES, {_NO_TENSOR: None}),
        lists(spread_lists(tensors.sizes)),
        lists(spread_lists(tensors.strides)),
        plain(spread(tensors.offset, 0), is_tensor),
    ]


def _value_positions(events: DebugEvents) -> NDArray[np.int32]:
    """Position of each value among values of the same run, instruction, chain and delegate id."""
    keys = np.column_stack(
        [
            events.run, events.instruction, events.chain.view(np.int64), events.delegate_int,
            events.delegate_str.codes, events.values.is_output,
        ]
    )  # fmt: skip
    _, group = np.unique(keys, axis=0, return_inverse=True)
    return count_before(group)


def build_event_signatures(book: SignatureBook) -> pa.Table:
    """One row per event signature of the book."""
    rows = list(book.events.items())
    signatures = [signature for _, signature in rows]
    names = [signature.name or b"" for signature in signatures]
    return build_table(
        "event_signatures",
        [id_ for id_, _ in rows],
        [readable(name) for name in names],
        [s.instruction_id for s in signatures],
        [s.delegate_id_int for s in signatures],
        [readable_or_none(s.delegate_id_str) for s in signatures],
        [s.kind for s in signatures],
        [s.name is not None for s in signatures],
        [s.debug_name is not None for s in signatures],
        [readable_or_none(s.debug_name) for s in signatures],
        [None if is_utf8(name) else name.hex() for name in names],
        [s.unit for s in signatures],
    )


def build_run_signatures(book: SignatureBook) -> pa.Table:
    """One row per run signature of the book."""
    ids = [ids for _, _, ids in book.runs.values()]
    lengths = np.array([len(some) for some in ids], np.int64)
    items = np.concatenate([np.zeros(0, np.int64), *ids])
    return build_table(
        "run_signatures",
        list(book.runs),
        [readable_or_none(name) for name, _, _ in book.runs.values()],
        [index for _, index, _ in book.runs.values()],
        lists(Int64Lists(np.ones(len(ids), bool), lengths, items)),
        [None] * len(ids),
    )


class SignatureTables:
    """The signatures of several books, one row each; most are held as rows, not as objects."""

    def __init__(self) -> None:
        self._book = SignatureBook()
        self._events: list[pa.Table] = []
        self._runs: list[pa.Table] = []
        self._written: set[int] = set()

    def add(self, book: SignatureBook) -> None:
        """Add the signatures of a book that are new."""
        done, into = self._written, self._book
        into.events |= {id_: one for id_, one in book.events.items() if id_ not in done}
        into.runs |= {id_: one for id_, one in book.runs.items() if id_ not in done}
        if len(into.events) + len(into.runs) > _FULL:
            self._write()

    def tables(self) -> dict[str, pa.Table]:
        """The two tables."""
        self._write()
        return {
            "event_signatures": pa.concat_tables(self._events),
            "run_signatures": pa.concat_tables(self._runs),
        }

    def _write(self) -> None:
        self._events.append(build_event_signatures(self._book))
        self._runs.append(build_run_signatures(self._book))
        self._written.update(self._book.events, self._book.runs)
        self._book = SignatureBook()


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
