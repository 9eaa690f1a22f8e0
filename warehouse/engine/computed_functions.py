"""The computations of `functions`, from columns of lists to a column; null for an empty list.

Names and types are those in SQL. A result is null wherever an argument is null, and a figure
is null where it cannot be estimated.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tracehouse.warehouse.statistics import two_samples
from tracehouse.warehouse.statistics import variance_components as split
from tracehouse.warehouse.statistics.runs import list_alike, order_in_runs
from tracehouse.warehouse.statistics.steadiness import Steadiness, find_steadiness

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


def find_gap(values: pa.Array) -> pa.Array:
    """The gap between two modes: see `two_samples.find_gap`."""
    middle, width = two_samples.find_gap(_rows(values))
    return _struct(_GAP, {"middle": middle, "width": width}, ~np.isnan(width))


def smallest_change(values: pa.Array) -> pa.Array:
    """See `two_samples.find_smallest_changes`."""
    return pa.array(two_samples.find_smallest_changes(_rows(values)), from_pandas=True)


def steadiness(places: pa.Array, values: pa.Array, warm_up: pa.Array) -> pa.Array:
    """See `find_steadiness`: of values in the order of their places, less the first `warm_up`."""
    lists, order = _whole(values), _whole(places)
    sizes = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    samples = lists.flatten().to_numpy(zero_copy_only=False)
    samples = samples[order_in_runs(sizes, order.flatten().to_numpy(zero_copy_only=False))]
    skipped = _whole(warm_up).to_numpy(zero_copy_only=False)
    figures = np.full((len(_STEADINESS), len(sizes)), np.nan)
    start = np.cumsum(sizes) - sizes + skipped
    for rows in list_alike(sizes, skipped):
        count = int(sizes[rows[0]] - skipped[rows[0]])
        if count > 0:
            own = samples[start[rows][:, None] + np.arange(count)]
            figures[:, rows] = find_steadiness(own)
    columns = dict(zip(Steadiness._fields, figures, strict=True))
    return _struct(_STEADINESS, columns, sizes > skipped)


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


def _fields(names: str) -> list[pa.Field]:
    return [pa.field(name, pa.float64()) for name in names.split()]


_VARIANCES = _fields(
    "device firmware governor temperature session build process total "
    "now more_dumps more_sessions pairs pool"
)
_GAP = _fields("middle width")
_STEADINESS = _fields(" ".join(Steadiness._fields))


def _whole(column: pa.Array) -> pa.Array:
    """A column in one piece; columns of DuckDB come in chunks."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _rows(lists: pa.Array) -> Floats:
    """Lists as rows of an array, filled up with NaN."""
    whole = _whole(lists)
    sizes = pc.list_value_length(whole).fill_null(0).to_numpy(zero_copy_only=False)
    rows = np.full((len(sizes), max(1, int(sizes.max(initial=0)))), np.nan)
    filled = np.arange(rows.shape[1]) < sizes[:, None]
    rows[filled] = whole.flatten().to_numpy(zero_copy_only=False)
    return rows


def _struct(fields: list[pa.Field], figures: dict[str, Floats], is_there: Mask) -> pa.Array:
    columns = [pa.array(figures[field.name], from_pandas=True) for field in fields]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=pa.array(~is_there))
