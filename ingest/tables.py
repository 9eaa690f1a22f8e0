"""Verified columns of an arena's dumps -> Arrow tables in the schemas of schemas.py. Pure."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ingest.arena import Ints, Mask
from ingest.clocks import flag_durations, unwrap_starts
from ingest.etdump import DebugEvents, Texts
from ingest.events import Dumps
from ingest.kinds import event_kind
from ingest.layouts import SignatureBook
from ingest.schemas import DECODED, UINT64
from ingest.values import DTYPES, MISSING, VALUE_TYPES, Longs, Tensors


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
        "debug_values": _debug_values(dumps),
        "delegate_metadata": _delegate_metadata(dumps, slots),
    }


def build_event_signatures(book: SignatureBook) -> pa.Table:
    """One row per event signature of the book."""
    rows = list(book.events.items())
    signatures = [signature for _, signature in rows]
    names = [signature.name or b"" for signature in signatures]
    return _table(
        "event_signatures",
        [id_ for id_, _ in rows],
        [_readable(name) for name in names],
        [s.instruction_id for s in signatures],
        [s.delegate_id_int for s in signatures],
        [_readable_or_none(s.delegate_id_str) for s in signatures],
        [event_kind(s.name or b"", is_delegated=s.is_delegated) for s in signatures],
        [s.name is not None for s in signatures],
        [s.debug_name is not None for s in signatures],
        [_readable_or_none(s.debug_name) for s in signatures],
        [None if _is_utf8(name) else name.hex() for name in names],
    )


def build_run_signatures(book: SignatureBook) -> pa.Table:
    """One row per run signature of the book."""
    return _table(
        "run_signatures",
        list(book.runs),
        [_readable_or_none(name) for name, _, _ in book.runs.values()],
        [index for _, index, _ in book.runs.values()],
        [ids for _, _, ids in book.runs.values()],
    )


def _table(name: str, *columns: object) -> pa.Table:
    schema = DECODED[name]
    arrays = [
        column
        if isinstance(column, pa.Array) and column.type == field.type
        else pa.array(column, field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _readable(text: bytes) -> str:
    """The text, bytes that are not UTF-8 as \\xNN."""
    return text.decode(errors="backslashreplace")


def _readable_or_none(text: bytes | None) -> str | None:
    return None if text is None else _readable(text)


def _strings(texts: Texts, rows: Ints | slice = slice(None), *, empty: bool = True) -> pa.Array:
    """A string column of the texts; with `empty` false, '' becomes null."""
    values = [v if empty or v else None for v in map(_readable, texts.values)]
    codes = texts.codes[rows]
    indices = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(values, pa.string())).cast(pa.string())


def _nullable(values: NDArray[np.generic], valid: Mask) -> pa.Array:
    return pa.array(values, mask=~valid)


def _unsigned(values: NDArray[np.uint64], valid: Mask | None = None) -> pa.Array:
    return pa.array(values, mask=None if valid is None else ~valid).cast(UINT64)


def _dumps(dumps: Dumps, sizes: Ints, flagged: Ints) -> pa.Table:
    heads, rest = dumps.heads, dumps.rest.runs
    rest_dump = heads.run_dump[dumps.rest.run]

    def per_dump(owners: Ints, weights: Ints | None = None) -> Ints:
        return np.bincount(owners, weights, len(sizes)).astype(np.int64)

    return _table(
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
    return _table(
        "runs",
        *_run_columns(dumps, slice(None)),
        _nullable(dumps.signature_id, dumps.has_events),
        _strings(dumps.name),
        dumps.bundled_input_index,
        _unsigned(first_start, dumps.counts > 0),
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
    """Events by their place in a layout: rank, occurrence, signature id and chain of each slot."""

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
        self._first = (np.cumsum(length) - length)[dumps.layout]
        self._first_event = np.cumsum(dumps.counts) - dumps.counts

    def of(self, run: Ints, event: Ints) -> Ints:
        """Slot of each event, given its run and its row among all events."""
        return event + (self._first - self._first_event)[run]


def _events(
    dumps: Dumps, slots: _Slots, run: Ints, measured: tuple[Ints, Ints, NDArray[np.int32]]
) -> pa.Table:
    event = np.arange(len(run))
    order = _signature_major(dumps, run, slots.rank[slots.of(run, event)])
    run = run[order]
    slot = slots.of(run, order)
    dump_index, run_index = _run_columns(dumps, run)
    return _table(
        "events",
        dump_index,
        dumps.signature_id[run],
        slots.signature_id[slot],
        run_index,
        slots.occurrence[slot],
        slots.chain[slot],
        *(column[order] for column in measured),
    )


def _signature_major(dumps: Dumps, run: Ints, rank: Ints) -> Ints:
    """Order of events by (dump, run signature, event signature, run, occurrence)."""
    keys = np.column_stack([dumps.heads.run_dump, dumps.signature_id])
    _, sample, block = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    width = np.array([len(layout.signature_ids) for layout in dumps.layouts] + [0], np.int64)
    widths = width[dumps.layout[sample]]
    group = (np.cumsum(widths) - widths)[block][run] + rank
    count = max(len(run), 1)
    return np.sort(group * count + np.arange(len(run))) % count


def _allocators(dumps: Dumps) -> pa.Table:
    table = dumps.rest.runs.allocators
    return _table(
        "allocators",
        *_run_columns(dumps, dumps.rest.run[table.run]),
        table.number.astype(np.int32),
        _strings(table.name),
    )


def _allocations(dumps: Dumps) -> pa.Table:
    table, allocators = dumps.rest.runs.allocations, dumps.rest.runs.allocators
    counts = np.bincount(allocators.run, minlength=len(dumps.rest.run))
    first = np.cumsum(counts) - counts
    known = (table.allocator >= 1) & (table.allocator <= counts[table.run])
    row = np.where(known, first[table.run] + table.allocator - 1, -1)
    codes = np.append(allocators.name.codes, -1)[row]
    return _table(
        "allocations",
        *_run_columns(dumps, dumps.rest.run[table.run]),
        table.position.astype(np.int32),
        table.allocator,
        _strings(Texts(codes, allocators.name.values)),
        _unsigned(table.size),
    )


def _delegate_metadata(dumps: Dumps, slots: _Slots) -> pa.Table:
    rest = dumps.rest.runs
    rows = np.flatnonzero(rest.profiles.metadata.codes >= 0)
    local = rest.profile_counts
    run = dumps.rest.run[rest.profiles.run]
    first = (np.cumsum(dumps.counts) - dumps.counts)[run]
    event = np.arange(len(run)) - (np.cumsum(local) - local)[rest.profiles.run] + first
    slot = slots.of(run[rows], event[rows])
    values = pa.array(rest.profiles.metadata.values, pa.binary())
    return _table(
        "delegate_metadata",
        *_run_columns(dumps, run[rows]),
        slots.signature_id[slot],
        slots.occurrence[slot],
        values.take(pa.array(rest.profiles.metadata.codes[rows])),
    )


def _debug_values(dumps: Dumps) -> pa.Table:
    events = dumps.rest.runs.debugs
    values = events.values
    count = len(events.run)
    tensors = np.bincount(values.tensor_event, minlength=count)
    row = np.repeat(np.arange(count), np.maximum(tensors, 1))
    is_tensor = tensors[row] > 0
    element = np.full(len(row), -1, np.int64)
    element[is_tensor] = values.element
    tensor = np.full(len(row), -1, np.int64)
    tensor[is_tensor] = np.arange(len(values.element))
    return _table(
        "debug_values",
        *_run_columns(dumps, dumps.rest.run[events.run[row]]),
        events.position[row].astype(np.int32),
        events.chain.view(np.int64)[row],
        _nullable(events.instruction[row], events.instruction[row] != -1),
        _nullable(events.delegate_int[row], events.delegate_int[row] != -1),
        _strings(events.delegate_str, row, empty=False),
        _strings(events.name, row),
        _value_positions(events)[row].astype(np.int32),
        _nullable(element.astype(np.int32), element >= 0),
        _named(values.type[row], VALUE_TYPES, {MISSING: "missing"}),
        _nullable(values.integer[row], values.has_integer[row]),
        _nullable(values.real[row], values.has_real[row]),
        *_tensor_columns(values.tensors, tensor),
        values.is_output[row],
    )


def _tensor_columns(tensors: Tensors, tensor: Ints) -> list[pa.Array]:
    take = pa.array(tensor, mask=tensor < 0)
    return [
        _named(tensors.dtype.astype(np.int32), DTYPES, {}).take(take),
        _lists(tensors.sizes).take(take),
        _lists(tensors.strides).take(take),
        pa.array(tensors.offset).take(take),
    ]


def _value_positions(events: DebugEvents) -> Ints:
    """Position of each value among those of the same run, instruction, chain and delegate id."""
    keys = np.column_stack(
        [
            events.run, events.instruction, events.chain.view(np.int64), events.delegate_int,
            events.delegate_str.codes, events.values.is_output,
        ]
    )  # fmt: skip
    _, group = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group)
    position = np.empty(len(group), np.int64)
    position[order] = np.arange(len(group)) - np.repeat(np.cumsum(counts) - counts, counts)
    return position


def _named(codes: NDArray[np.int32], names: tuple[str, ...], others: dict[int, str]) -> pa.Array:
    """Names of enumeration codes; a code without one is 'unknown(N)'."""
    distinct, member = np.unique(codes, return_inverse=True)
    texts = [
        names[code] if 0 <= code < len(names) else others.get(code, f"unknown({code})")
        for code in distinct.tolist()
    ]
    return pa.array(texts, pa.string()).take(pa.array(member))


def _lists(longs: Longs) -> pa.Array:
    ends = np.concatenate([[0], np.cumsum(longs.length)]).astype(np.int32)
    mask = pa.array(~longs.present)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(longs.items), mask=mask)
