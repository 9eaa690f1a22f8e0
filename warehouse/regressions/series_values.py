"""The series of a store's rows and their values, relative to a reference build, if any.

A reference build shows the state of the device in a session. Where its dumps have partners, each
also shows the state at the moment of a pair. The part of this deviation that a series shares with
its partner is estimated for each series; on a steady device it is 0, because only noise is left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.device_states import group_median
from tracehouse.warehouse.statistics.runs import order_in_runs

FAMILY = ("device", "pool", "model", "backend", "unit")
OPERATOR = ("run", "event_name", "delegate_id", "ordinal", "kind", "op_type")
KEY = (*FAMILY, *OPERATOR)
RATES = frozenset({"token_rate", "rate"})  # more is better: values are the inverse
MEASURES = RATES | {
    "load_time",
    "cold_start",
    "first_token",
    "counter",
}  # kinds of measures of whole dumps
COUNTED = RATES | {"counter"}  # not times
# Kinds of series that contain operators, each level those below it.
LEVELS = {"delegate_call": 1, "method": 2, "cold_start": 3, "first_token": 3, "token_rate": 3}
CONTAINERS = frozenset(LEVELS)
RECORDING = ("distance", "build", "session", "recorded_at")
PLACE = ("device", "pool", "model", "backend")  # whose sessions of a build are nights
_MOST_CODES = 1 << 40
_AVERAGES_AT_ONCE = 4_000_000


class SeriesValues(NamedTuple):
    """Values of series by cell (one series in one night), adjacent and ascending.

    Attributes:
        keys: A row per series: `KEY`.
        series: The series of each cell.
        night: The night of each cell.
        size: Number of values of each cell.
        logs: The values, logarithms.
        dump: The dump of each value.
        reference: What was subtracted from each value, because the reference build's dumps of the
            session are so far from their usual level; NaN without a reference build.
        floor: Smallest comparable value of each series, a logarithm.
        half_tick: Half of the smallest step of each series' clock.
        has_reference: Whether the values of each series are relative to a reference build.
    """

    keys: pa.Table
    series: Ints
    night: Ints
    size: Ints
    logs: Floats
    dump: Ints
    reference: Floats
    floor: Floats
    half_tick: Floats
    has_reference: Mask


def encode_texts(values: pa.Table) -> pa.Table:
    """The rows with columns of texts as dictionaries, whose codes take less memory and time."""
    columns = [
        column.dictionary_encode() if pa.types.is_string(column.type) else column
        for column in values.columns
    ]
    return pa.table(dict(zip(values.column_names, columns, strict=True)))


def read_encoded(values: pa.RecordBatchReader) -> pa.Table:
    """The rows of batches, of which none needs the memory of all texts."""
    no_rows = pa.Table.from_batches([], values.schema)
    batches = (pa.Table.from_batches([batch]) for batch in values)
    return pa.concat_tables([encode_texts(no_rows), *map(encode_texts, batches)])


def decode_texts(rows: pa.Table) -> pa.Table:
    """The rows with columns of texts instead of dictionaries."""
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in rows.columns
    ]
    return pa.table(dict(zip(rows.column_names, columns, strict=True)))


def list_recordings(rows: pa.Table) -> pa.Table:
    """The recordings in rows with their places, once each."""
    recordings = rows.select([*PLACE, *RECORDING])
    return decode_texts(recordings.take(pa.array(group_rows(recordings)[1])))


def gather_recordings(values: pa.Table) -> pa.Table:
    """A row per operator and recording, with lists of `logs`, `dumps` and `pairs`."""
    values = encode_texts(values).unify_dictionaries().combine_chunks()
    number, first = group_rows(values.select([*KEY, *RECORDING]))
    order = np.argsort(number, kind="stable")
    start = np.append(0, np.cumsum(np.bincount(number, minlength=len(first))))
    rows = values.select([*KEY, *RECORDING]).take(pa.array(first))
    for name in ("log", "dump", "pair"):
        ordered = values[name].combine_chunks().take(pa.array(order))
        lists = pa.ListArray.from_arrays(pa.array(start, pa.int32()), ordered)
        rows = rows.append_column(f"{name}s", lists)
    for name in ("floor", "half_tick"):
        most = np.maximum.reduceat(values[name].to_numpy()[order], start[:-1])
        rows = rows.append_column(name, pa.array(most))
    return rows


def number_series(rows: pa.Table, partners: Floats, night: Ints) -> SeriesValues:
    """The series of rows of `gather_recordings`, relative to reference builds.

    Args:
        rows: A row per operator and recording.
        partners: What `cancel_partners` subtracted from each value.
        night: The night of each row; -1 for rows of a reference build.
    """
    number, first = number_rows(rows.select(KEY))
    lists = rows["logs"].combine_chunks()
    size = np.diff(lists.offsets.to_numpy())
    logs = lists.flatten().to_numpy(zero_copy_only=False)
    row = np.repeat(np.arange(len(size)), size)
    dump = rows["dumps"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    dump = _number_dumps(dump, number[row], logs)
    order = order_in_runs(size, dump, logs)
    dump, logs = dump[order], logs[order]
    level = find_reference_levels(rows, number, night)
    is_relative = np.zeros(len(first), bool)
    is_relative[number[~np.isnan(level)]] = True
    kept = night >= 0
    reference = np.repeat(level, size)
    logs = logs - np.nan_to_num(reference)
    reference += partners[order]
    return SeriesValues(
        decode_texts(rows.select(KEY).take(pa.array(first))),
        number[kept],
        night[kept],
        size[kept],
        logs[np.repeat(kept, size)],
        dump[np.repeat(kept, size)],
        reference[np.repeat(kept, size)],
        np.log(_most(rows["floor"].to_numpy(), number, len(first))),
        _most(rows["half_tick"].to_numpy(), number, len(first)),
        is_relative,
    )


def _number_dumps(dump: Ints, series: Ints, logs: Floats) -> Ints:
    """Numbers of dumps by their contents, independent of the order of ingest."""
    known, number = np.unique(dump, return_inverse=True)
    order = np.argsort(series, kind="stable")
    held = np.bincount(number[order], logs[order])
    place = np.empty(len(known), np.int64)
    place[np.lexsort((known, held))] = np.arange(len(known))
    return place[number]


def find_reference_levels(rows: pa.Table, number: Ints, night: Ints) -> Floats:
    """The reference's distance from its usual level in the session of each row; NaN without one.

    The usual level is the median over the sessions of the series with the reference.
    """
    level = np.full(len(rows), np.nan)
    references = np.flatnonzero(night < 0)
    if not len(references):
        return level
    build = decode_texts(rows.select(["build"]).take(pa.array(references)))["build"]
    references = references[pc.sort_indices(build).to_numpy()]  # the last reference build counts
    sessions = rows["session"].to_pylist()
    logs = rows["logs"].take(pa.array(references)).to_pylist()
    found = {
        (int(number[row]), sessions[row]): float(np.median(values))
        for row, values in zip(references.tolist(), logs, strict=True)
    }
    usual = defaultdict(list)
    for row in np.flatnonzero(night >= 0).tolist():
        key = int(number[row]), sessions[row]
        if key in found:
            level[row] = found[key]
            usual[key[0]].append(found[key])
    for row in np.flatnonzero(~np.isnan(level)).tolist():
        level[row] -= np.median(usual[int(number[row])])
    return level


def _most(values: Floats, group: Ints, count: int) -> Floats:
    most = np.zeros(count)
    np.maximum.at(most, group, values)
    return most


def number_families(keys: pa.Table) -> Ints:
    """The family of each series by its keys; a measure of whole dumps has its own family.

    A measure reacts to the state of the device like operators. But the usual differences of builds
    in one measure do not apply to other series, and a measure is tested separately.
    """
    is_measure = pc.is_in(keys["kind"], pa.array(sorted(MEASURES)))
    measure = pc.if_else(is_measure, keys["event_name"], None)
    return number_rows(keys.select(FAMILY).append_column("measure", measure))[0]


def number_rows(table: pa.Table) -> tuple[Ints, Ints]:
    """A number for each row, in order, equal for equal rows; and the first row of each number."""
    number, first = group_rows(table)
    rows = decode_texts(table.take(pa.array(first)))
    keys = [(name, "ascending") for name in table.column_names]
    order = pc.sort_indices(rows, sort_keys=keys).to_numpy()
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place[number], first[order]


def name_rows(table: pa.Table, name: Callable[..., str]) -> list[str]:
    """The name of each row, by its values; equal rows are named once."""
    number, first = group_rows(table)
    columns = decode_texts(table.take(pa.array(first))).columns
    names = [name(*values) for values in zip(*(c.to_pylist() for c in columns), strict=True)]
    return [names[each] for each in number.tolist()]


def group_rows(table: pa.Table) -> tuple[Ints, Ints]:
    """A number for each row, equal for equal rows; and the first row of each number."""
    number, limit = np.zeros(len(table), np.int64), 1
    for column in table.columns:
        encoded = column.combine_chunks()
        if not pa.types.is_dictionary(encoded.type):
            encoded = encoded.dictionary_encode()
        codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy().astype(np.int64)
        if limit > _MOST_CODES:
            number, limit = _number_codes(number, limit)
        number = number * (len(encoded.dictionary) + 1) + codes
        limit *= len(encoded.dictionary) + 1
    number, count = _number_codes(number, limit)
    first = np.empty(count, np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    return number, first


def _number_codes(codes: Ints, limit: int) -> tuple[Ints, int]:
    """The rank of each code, all below a limit, among the codes there are; and their count."""
    if limit > len(codes):
        known, number = np.unique(codes, return_inverse=True)
        return number, len(known)
    is_there = np.zeros(limit, bool)
    is_there[codes] = True
    rank = np.cumsum(is_there) - 1
    return rank[codes], int(is_there.sum())


class _Values(NamedTuple):
    """The values of rows of `gather_recordings`, one by one.

    Attributes:
        logs: The values, logarithms.
        start: The first value of each row.
        size: Number of values of each row.
        row: The row of each value.
        pair: A number for the pair of each value; -1 for none.
    """

    logs: Floats
    start: Ints
    size: Ints
    row: Ints
    pair: Ints


def cancel_partners(rows: pa.Table, night: Ints) -> tuple[pa.Table, Floats]:
    """The rows of `gather_recordings`; sessions with pairs are corrected by the reference build.

    From each value are subtracted the deviation of the reference in its session from the median
    over sessions, and the share of the series times the deviation of its partner from the rest of
    the session. The reference's own values become its usual level, since the session is corrected
    already. Of several reference builds in a session, the last one by name counts. The second
    result is what was subtracted from each value.

    Args:
        rows: A row per operator and recording, with a list of `pairs`: '' for no pair.
        night: The night of each row; -1 for rows of a reference build.
    """
    unchanged = rows, np.zeros(len(rows["logs"].combine_chunks().flatten()))
    pinned = np.flatnonzero(night < 0)
    if not len(pinned):
        return unchanged
    values = _list_values(rows)
    is_paired = np.bincount(values.row, values.pair >= 0, len(rows)) > 0
    if not is_paired[pinned].any():
        return unchanged
    series = number_rows(rows.select(KEY))[0]
    centre = _centres(values)
    usual = _usual_levels(rows, series, pinned, centre)
    reference = _find_references(rows, pinned)
    reference[(night < 0) | ~is_paired[reference]] = -1
    own = np.flatnonzero(reference[values.row] >= 0)
    moment = _find_partners(values, reference, own) - centre[reference[values.row[own]]]
    share = _learn_shares(series, values, centre, own, moment)
    logs = values.logs.copy()
    session = (centre - usual)[reference[values.row[own]]]
    logs[own] -= session + share[series[values.row[own]]] * np.nan_to_num(moment)
    is_reference = np.isin(values.row, pinned) & is_paired[values.row]
    logs[is_reference] = usual[values.row[is_reference]]
    lists = pa.ListArray.from_arrays(pa.array(np.append(values.start, len(logs)), pa.int32()), logs)
    return rows.set_column(rows.schema.get_field_index("logs"), "logs", lists), values.logs - logs


def _list_values(rows: pa.Table) -> _Values:
    lists = rows["logs"].combine_chunks()
    size = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    texts = rows["pairs"].combine_chunks().flatten().dictionary_encode()
    names = np.array([name or "" for name in texts.dictionary.to_pylist()] or [""])
    codes = texts.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return _Values(
        lists.flatten().to_numpy(zero_copy_only=False),
        np.cumsum(size) - size,
        size,
        np.repeat(np.arange(len(size)), size),
        np.where(names[codes] == "", -1, codes),
    )


def _centres(values: _Values) -> Floats:
    """The Hodges-Lehmann centre of each row: the median of the means of all pairs of values."""
    found = np.full(len(values.size), np.nan)
    for n in np.unique(values.size[values.size > 0]).tolist():
        first, second = np.triu_indices(n)
        alike = np.flatnonzero(values.size == n)
        for some in np.array_split(alike, 1 + len(alike) * len(first) // _AVERAGES_AT_ONCE):
            block = values.logs[values.start[some][:, None] + np.arange(n)]
            found[some] = np.median((block[:, first] + block[:, second]) / 2, axis=1)
    return found


def _usual_levels(rows: pa.Table, series: Ints, pinned: Ints, centre: Floats) -> Floats:
    """The usual level of each reference row's series and build; NaN for other rows."""
    usual = np.full(len(rows), np.nan)
    build, _ = number_rows(rows.select(["build"]))
    kind = series[pinned] * (build.max() + 1) + build[pinned]
    usual[pinned] = group_median(kind, centre[pinned])
    return usual


def _find_references(rows: pa.Table, pinned: Ints) -> Ints:
    """The reference row of the series and session of each row; -1 without one."""
    place, _ = number_rows(rows.select([*KEY, "session"]))
    build, _ = number_rows(rows.select(["build"]))
    last = np.full(place.max() + 1, -1)
    in_order = pinned[np.argsort(build[pinned], kind="stable")]
    last[place[in_order]] = in_order
    found: Ints = last[place]
    return found


def _find_partners(values: _Values, reference: Ints, own: Ints) -> Floats:
    """The value of the partner of each of the values `own`; NaN without one."""
    count = int(values.pair.max()) + 1
    paired = np.flatnonzero(values.pair >= 0)
    key = values.row[paired] * count + values.pair[paired]
    order = np.lexsort((values.logs[paired], key))
    key, logs = key[order], values.logs[paired][order]
    wanted = reference[values.row[own]] * count + values.pair[own]
    place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    is_there = (values.pair[own] >= 0) & (key[place] == wanted)
    return np.where(is_there, logs[place], np.nan)


def _learn_shares(
    series: Ints, values: _Values, centre: Floats, own: Ints, moment: Floats
) -> Floats:
    """The share of the partner's deviation from the session that each series shows, 0 to 1."""
    known = ~np.isnan(moment)
    which = series[values.row[own[known]]]
    distance = values.logs[own[known]] - centre[values.row[own[known]]]
    both, alone = (
        np.bincount(which, each * moment[known], series.max() + 1)
        for each in (distance, moment[known])
    )
    return np.clip(both / np.maximum(alone, np.finfo(float).tiny), 0, 1)
