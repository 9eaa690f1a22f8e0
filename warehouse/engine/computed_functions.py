"""The computations of `functions`, from columns of lists to a column; null for an empty list.

Names and types are those in SQL. A result is null wherever an argument is null, and a figure
is null where it cannot be estimated.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from warehouse.statistics import (
    change_points,
    device_states,
    paired_samples,
    pooled_samples,
    sample_sizes,
    two_samples,
)
from warehouse.statistics import variance_components as split

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


def compare_samples(base: pa.Array, head: pa.Array) -> pa.Array:
    """Two samples of logarithms compared: see `two_samples.SampleComparison`."""
    samples = _rows(base), _rows(head)
    counts = [np.count_nonzero(~np.isnan(sample), axis=1) for sample in samples]
    found = two_samples.compare_samples(*samples)
    least = two_samples.least_p(counts[0], counts[1])
    mode_p = np.where(np.isnan(found.split), np.nan, found.share_p)
    figures = found._asdict() | {"least_p": least, "mode_p": mode_p}
    return _struct(_COMPARISON, figures, (counts[0] > 0) & (counts[1] > 0))


def pool_samples(figures: pa.Array) -> pa.Array:
    """Combined comparisons of several devices with known intervals: see `pooled_samples`."""
    lists = _whole(figures)
    lengths, inner = pc.list_value_length(lists), lists.flatten()

    def gather(name: str) -> Floats:
        return _padded(lengths, pc.struct_field(inner, name))

    parts = pooled_samples.pool_samples(
        *(gather(name) for name in ("excess", "variance", "shift", "low", "high"))
    )
    nothing = np.full(len(lists), np.nan)
    figures_of_pool = parts._asdict() | {"least_p": np.zeros(len(lists)), "mode_p": nothing}
    return _struct(_COMPARISON, figures_of_pool, _is_filled(lengths))


def find_change(points: pa.Array) -> pa.Array:
    """The change point of a series: see `change_points`. A point is a list: logarithm, build."""
    lists = _whole(points)
    lengths = pc.list_value_length(lists)
    values = lists.flatten().flatten().to_numpy(zero_copy_only=False).reshape(-1, 2)
    found = change_points.find_change_points(
        *(_padded(lengths, pa.array(values[:, column])) for column in range(2))
    )
    return _struct(_CHANGE, found._asdict(), found.split > 0)


def pair_states(rows: pa.Array) -> pa.Array:
    """The states of the dumps of two builds, see `device_states.pair_states`.

    A row is a list: number of the dump, 1 if it is of the head, number of the operator, number of
    its type (-1 if it only contains others), 1 if a delegate runs it, half a tick of its clock,
    logarithm. The result has a row per dump and unit, with `moved`, the distance of the shift from
    0; the method's is the larger one of its units'.
    """
    lists = _whole(rows)
    sizes = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    figures = lists.flatten().flatten().to_numpy(zero_copy_only=False).reshape(-1, 7)
    family = np.repeat(np.arange(len(sizes)), sizes)
    figures = figures[np.lexsort((figures[:, 2], figures[:, 0], family))]
    number, is_head, operator, kernel, unit = figures[:, :5].astype(np.int64).T
    dumps, first, dump = _number(family, number)
    _, member, own = _number(family, operator)
    found = device_states.pair_states(
        device_states.Operators(kernel[member], unit[member], figures[member, 5]),
        device_states.NightValues(own, dump, figures[:, 6], len(dumps)),
        is_head[first] == 1,
        family[first],
    )
    moved = np.abs(found.shift)
    moved[:, device_states.WHOLE] = np.fmax(moved[:, 0], moved[:, 1])
    units = moved.shape[1]
    columns = {
        "dump": np.repeat(number[first], units),
        "unit": np.tile(np.arange(units), len(dumps)),
        **{name: values.ravel() for name, values in found._asdict().items()},
        "moved": moved.ravel(),
    }
    ends = units * np.searchsorted(family[first], np.arange(len(sizes) + 1))  # in their order
    states = _struct(_STATE, columns, np.ones(moved.size, bool))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), states)


def find_gap(values: pa.Array) -> pa.Array:
    """The gap between two modes: see `two_samples.find_gap`."""
    middle, width = two_samples.find_gap(_rows(values))
    return _struct(_GAP, {"middle": middle, "width": width}, ~np.isnan(width))


def smallest_change(values: pa.Array) -> pa.Array:
    """See `sample_sizes.find_smallest_changes`."""
    return pa.array(sample_sizes.find_smallest_changes(_rows(values)), from_pandas=True)


def needed_dumps(p: pa.Array) -> pa.Array:
    """See `sample_sizes.find_needed_dumps`."""
    known = _whole(p).fill_null(np.nan).to_numpy(zero_copy_only=False)
    needed = sample_sizes.find_needed_dumps(known)
    return pa.array(np.where(np.isnan(known), np.nan, needed), from_pandas=True)


def compare_pairs(pairs: pa.Array) -> pa.Array:
    """Pairs of dumps compared: see `paired_samples`. A pair is a list: base, then head."""
    lists = _whole(pairs)
    lengths = pc.list_value_length(lists)
    values = lists.flatten().flatten().to_numpy(zero_copy_only=False).reshape(-1, 2)
    sides = (_padded(lengths, pa.array(values[:, column])) for column in range(2))
    found = paired_samples.compare_pairs(*sides)
    return _struct(_COMPARISON, found._asdict(), _is_filled(lengths))


def variance_components(points: pa.Array) -> pa.Array:
    """Causes of differences: see `variance_components`. A point is a logarithm, then groups."""
    lists = _whole(points)
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    width = len(split.FACTORS)
    values = lists.flatten().flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
    found = np.full((len(_VARIANCES), len(lengths)), np.nan)
    for row, own in enumerate(np.split(values, np.cumsum(lengths)[:-1])):
        if len(own):
            groups = own[:, 1:].astype(np.int64)
            variances = split.split_variance(own[:, 0], groups)
            detectable = split.find_detectable(variances, groups)
            found[:, row] = (*variances, np.nansum(variances), *detectable)
    figures = dict(zip((field.name for field in _VARIANCES), found, strict=True))
    return _struct(_VARIANCES, figures, lengths > 0)


def _fields(names: str, **others: pa.DataType) -> list[pa.Field]:
    return [pa.field(name, others.get(name, pa.float64())) for name in names.split()]


_COMPARISON = _fields("p least_p excess variance shift low high mode_p")
_VARIANCES = _fields(
    "device firmware governor temperature session build process total "
    "now more_dumps more_sessions pairs pool"
)
_CHANGE = _fields("split p least_p shift", split=pa.int64())
_STATE = _fields("dump unit state shift moved", dump=pa.int64(), unit=pa.int64())
_GAP = _fields("middle width")


def _number(family: Ints, key: Ints) -> tuple[Ints, Ints, Ints]:
    """Pairs of family and key as one number: distinct ones, first index of each, and inverse."""
    joined = family * (int(key.max(initial=0)) + 1) + key
    return np.unique(joined, return_index=True, return_inverse=True)


def _whole(column: pa.Array) -> pa.Array:
    """A column in one piece; columns of DuckDB come in chunks."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _rows(lists: pa.Array) -> Floats:
    """Lists as rows of an array, filled up with NaN."""
    whole = _whole(lists)
    return _padded(pc.list_value_length(whole), whole.flatten())


def _padded(lengths: pa.Array, values: pa.Array) -> Floats:
    sizes = lengths.fill_null(0).to_numpy(zero_copy_only=False)
    rows = np.full((len(sizes), max(1, int(sizes.max(initial=0)))), np.nan)
    filled = np.arange(rows.shape[1]) < sizes[:, None]
    rows[filled] = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return rows


def _is_filled(lengths: pa.Array) -> Mask:
    filled: Mask = lengths.fill_null(0).to_numpy(zero_copy_only=False) > 0
    return filled


def _struct(fields: list[pa.Field], figures: dict[str, Floats], is_there: Mask) -> pa.Array:
    columns = [
        pa.array(figures[field.name], pa.float64(), from_pandas=True).cast(field.type)
        for field in fields
    ]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=pa.array(~is_there))
