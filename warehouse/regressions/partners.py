"""Correction of values by a reference build recorded in pairs with the dumps. Pure.

A reference build shows the state of the device in a session. Where its dumps have partners, each
also shows the state at the moment of a pair. The part of this deviation that a series shares with
its partner is estimated for each series; on a steady device it is 0, because only noise is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.regressions.series_values import KEY, number_rows
from tracehouse.warehouse.statistics.arrays import Floats, Ints
from tracehouse.warehouse.statistics.device_states import group_median

_AVERAGES_AT_ONCE = 4_000_000


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
