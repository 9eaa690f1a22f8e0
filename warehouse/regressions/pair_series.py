"""Series of two builds: the values of each operator, method and delegate call in their dumps. Pure.

Values are relative to a reference build that was recorded with both builds, if there is one. On a
device on which the builds were recorded apart, they are without its state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.regressions.pair_dumps import DEVICE_MODEL, PairDumps
from tracehouse.warehouse.regressions.partners import cancel_partners
from tracehouse.warehouse.regressions.series_values import (
    KEY,
    decode_texts,
    encode_texts,
    find_reference_levels,
    gather_recordings,
    group_rows,
    number_rows,
)
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.device_states import (
    DELEGATE,
    KERNELS,
    NO_KERNEL,
    WHOLE,
    NightValues,
    Operators,
    pair_states,
)

METHOD = (*DEVICE_MODEL, "run")
SERIES = ("level", *METHOD, "event_name", "delegate_id", "ordinal")  # a series, and their order
DELEGATED = ("delegate_op", "delegate_call")
_LEVELS = {"method": "method", "delegate_call": "delegate"}  # of kinds; others are operators
_OPERATOR = "operator"
LEAST_MOVE = 0.03  # of a device's state; below it the device was steady
_DIGITS = 12  # of corrected logarithms: values that differ by rounding alone are ties
_COLUMNS = (*SERIES, "pool", "kind", "op_type")


class PairSeries(NamedTuple):
    """The compared series of two builds.

    Attributes:
        keys: A row per series: `SERIES`, in their order, pool, kind and op_type.
        is_ns: Whether the values are nanoseconds rather than ticks of a clock of unknown rate.
        floor: Smallest comparable value.
        half_tick: Half of the smallest step of the clock.
        instruction: Instruction in the head; NaN for none.
        state_shift: How far the removed state of the device moved, in log time; NaN if values have
            it.
        reference: Reference build that the values are relative to.
        values: The values.
    """

    keys: pa.Table
    is_ns: Mask
    floor: Floats
    half_tick: Floats
    instruction: Floats
    state_shift: Floats
    reference: Sequence[str | None]
    values: PairValues

    def has(self, is_head: Mask) -> Mask:
        """Whether each series is in dumps of one build, even if none of their values counts."""
        found = np.zeros(len(self.floor), bool)
        found[self.values.series[is_head]] = True
        return found


class PairValues(NamedTuple):
    """Values of series in dumps.

    Attributes:
        series: The series of each value.
        dump: Place of its dump in `PairDumps`.
        is_head: Whether this is of the head.
        value: The value; NaN if the dump does not count.
        log: Its logarithm; likewise.
    """

    series: Ints
    dump: Ints
    is_head: Mask
    value: Floats
    log: Floats

    def take(self, chosen: Mask | Ints | slice) -> PairValues:
        """Some of the values."""
        return PairValues._make(column[chosen] for column in self)


def lay_out_pair(rows: pa.Table, dumps: PairDumps) -> PairSeries:
    """The series of rows of the statement `pair_values`, with those of reference builds."""
    rows = encode_texts(rows).unify_dictionaries().combine_chunks()
    rows = rows.append_column("level", _levels(rows["kind"].combine_chunks()))
    is_own = rows["distance"].is_valid().to_numpy()
    is_known = dumps.has(rows["dump"].to_numpy()) | ~is_own
    if not is_known.all():  # some were committed since the dumps were listed
        rows, is_own = rows.filter(pa.array(is_known)), is_own[is_known]
    own = rows if is_own.all() else rows.filter(pa.array(is_own))
    series, first = number_rows(own.select(SERIES))
    count = len(first)
    is_head = own["distance"].to_numpy() == 0
    is_ns = pc.equal(own["unit"], "ns").to_numpy()
    series_ns = np.bincount(series, is_ns, count) > 0  # of both units, only nanoseconds count
    counts = own["value"].is_valid().to_numpy() & (is_ns == series_ns[series])
    columns = (own[name].fill_null(np.nan).to_numpy() for name in ("value", "log"))
    value, log = (np.where(counts, column, np.nan) for column in columns)
    keys = decode_texts(own.select(_COLUMNS).take(pa.array(first)))
    instruction = own["instruction_id"].cast(pa.float64()).fill_null(np.nan).to_numpy()
    laid_out = PairSeries(
        keys.set_column(keys.schema.get_field_index("kind"), "kind", _first_kinds(own, series)),
        series_ns,
        greatest(own["floor"].to_numpy(), series, count),
        greatest(own["half_tick"].to_numpy(), series, count),
        -greatest(-instruction[is_head], series[is_head], count),
        np.full(count, np.nan),
        [None] * count,
        PairValues(series, dumps.find(own["dump"].to_numpy()), is_head, value, log),
    )
    if not is_own.all():
        laid_out = _compare_with_references(laid_out, rows, is_own, counts)
    return _remove_states(laid_out, dumps)


def _levels(kind: pa.DictionaryArray) -> pa.DictionaryArray:
    names = [_LEVELS.get(name, _OPERATOR) for name in kind.dictionary.to_pylist()]
    return pa.array(names, pa.string()).take(kind.indices).dictionary_encode()


def _first_kinds(own: pa.Table, series: Ints) -> pa.Array:
    """The kind of each series; of several, the first by name."""
    kind = own["kind"].combine_chunks()
    names = np.array(kind.dictionary.to_pylist() or [""])
    order = np.argsort(np.argsort(names))
    first = np.full(int(series.max(initial=-1)) + 1, len(names))
    np.minimum.at(first, series, order[kind.indices.to_numpy()])
    return pa.array(np.sort(names)[first].tolist(), pa.string())


def greatest(values: Floats, group: Ints, count: int) -> Floats:
    """The greatest value of each of so many groups; NaN without any."""
    most = np.full(count, np.nan)
    np.fmax.at(most, group, values)
    return most


def _compare_with_references(
    laid_out: PairSeries, rows: pa.Table, is_own: Mask, counts: Mask
) -> PairSeries:
    """The series with values relative to a reference build, if it was recorded with both builds."""
    used = rows["value"].is_valid().to_numpy()
    used[is_own] = counts
    place = np.where(is_own, np.cumsum(is_own) - 1, -1)
    placed = rows.set_column(rows.schema.get_field_index("dump"), "dump", pa.array(place))
    recorded = gather_recordings(placed.filter(pa.array(used)))
    recorded = _drop_lone_references(recorded)
    night = _number_nights(recorded)
    number, first = number_rows(recorded.select(KEY))
    relative, _ = cancel_partners(recorded, night)
    level = find_reference_levels(relative, number, night)
    is_relative = np.zeros(len(first), bool)
    is_relative[number[~np.isnan(level)]] = True
    logs = relative["logs"].combine_chunks()
    row = np.repeat(np.arange(len(relative)), np.diff(logs.offsets.to_numpy()))
    own = night[row] >= 0
    found = relative["dumps"].combine_chunks().flatten().to_numpy()[own]
    away = np.where(is_relative[number], level, 0.0)  # NaN for dumps without the reference
    now = (logs.flatten().to_numpy() - away[row])[own]
    values = laid_out.values
    log, value = values.log.copy(), values.value.copy()
    value[found] *= np.exp(now - log[found])
    log[found] = np.round(now, _DIGITS)
    has_reference = np.zeros(len(laid_out.floor), bool)
    has_reference[values.series[found[is_relative[number[row]][own]]]] = True
    names = _name_references(recorded, night, is_relative[number])
    families = zip(*(laid_out.keys[name].to_pylist() for name in DEVICE_MODEL), strict=True)
    return laid_out._replace(
        values=values._replace(log=log, value=value),
        reference=[
            names[family] if has_one else None
            for family, has_one in zip(families, has_reference.tolist(), strict=True)
        ],
    )


def _number_nights(recorded: pa.Table) -> Ints:
    """0 for the base, 1 for the head, -1 for a reference build."""
    distance = recorded["distance"]
    night: Ints = 1 - distance.cast(pa.int64()).fill_null(2).to_numpy()
    return night


def _drop_lone_references(recorded: pa.Table) -> pa.Table:
    """The recordings without references that were not recorded with both builds."""
    night = _number_nights(recorded)
    number, first = number_rows(recorded.select(KEY))
    level = find_reference_levels(recorded, number, night)
    has_both = np.ones(len(first), bool)
    for side in (0, 1):
        has_both &= np.bincount(number, (night == side) & ~np.isnan(level), len(first)) > 0
    return recorded.filter(pa.array((night >= 0) | has_both[number]))


def _name_references(
    recorded: pa.Table, night: Ints, is_relative: Mask
) -> dict[tuple[str | None, ...], str]:
    """The reference build of each device, model and backend; of several, the last by name."""
    chosen = recorded.filter(pa.array((night < 0) & is_relative)).select([*DEVICE_MODEL, "build"])
    found: dict[tuple[str | None, ...], str] = {}
    for row in decode_texts(chosen.take(pa.array(group_rows(chosen)[1]))).to_pylist():
        *family, build = row.values()
        found[tuple(family)] = max(build, found.get(tuple(family), ""))
    return found


def _remove_states(laid_out: PairSeries, dumps: PairDumps) -> PairSeries:
    """The series without the state of devices on which the builds were recorded apart."""
    values, keys = laid_out.values, laid_out.keys
    family, _ = group_rows(keys.select(METHOD))
    has_state = np.array([reference is None for reference in laid_out.reference], bool)
    chosen = np.flatnonzero(
        ~np.isnan(values.log) & dumps.is_apart[values.dump] & has_state[values.series]
    )
    if not len(chosen):
        return laid_out
    place_in_dump = values.dump[chosen] * len(keys) + values.series[chosen]
    chosen = chosen[np.argsort(place_in_dump, kind="stable")]
    own = values.take(chosen)
    kernel, unit, place = _units(keys)
    numbers, dump = np.unique(
        family[own.series] * len(dumps.number) + own.dump, return_inverse=True
    )
    family_of_dump, of_dump = np.divmod(numbers, len(dumps.number))
    found = pair_states(
        Operators(kernel, unit, laid_out.half_tick),
        NightValues(own.series, dump, own.log, len(numbers)),
        dumps.is_head[of_dump],
        family_of_dump,
    )
    moved = np.abs(found.shift)
    moved[:, WHOLE] = np.fmax(moved[:, KERNELS], moved[:, DELEGATE])
    at = dump, place[own.series]
    state, is_moved = found.state[at], moved[at] >= LEAST_MOVE
    is_removed = is_moved & ~np.isnan(state)
    state, row = state[is_removed], chosen[is_removed]
    log, value, shift = values.log.copy(), values.value.copy(), laid_out.state_shift.copy()
    log[row] = np.round(log[row] - state, _DIGITS)
    value[row] *= np.exp(-state)
    shift[own.series[is_removed]] = found.shift[at][is_removed]
    return laid_out._replace(values=values._replace(log=log, value=value), state_shift=shift)


def _units(keys: pa.Table) -> tuple[Ints, Ints, Ints]:
    """Operator type, unit that runs it, and the unit whose state each series has."""
    kinds = np.array(keys["kind"].to_pylist(), object)
    types, _ = group_rows(keys.select(["op_type"]))
    is_method = kinds == "method"
    is_delegated = np.isin(kinds, DELEGATED)
    kernel = np.where(is_method | (kinds == "delegate_call"), NO_KERNEL, types)
    unit = np.where(is_delegated, DELEGATE, KERNELS)
    return kernel, unit, np.where(is_method, WHOLE, unit)


def join_series(parts: Sequence[PairSeries]) -> PairSeries:
    """All series of several parts, in order."""
    keys = pa.concat_tables([part.keys.select(_COLUMNS) for part in parts])
    order = pc.sort_indices(keys, [(name, "ascending") for name in SERIES]).to_numpy()
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    starts = np.cumsum([0, *(len(part.keys) for part in parts)])
    values = [
        part.values._replace(series=place[start + part.values.series])
        for start, part in zip(starts, parts, strict=False)
    ]
    references = [name for part in parts for name in part.reference]
    arrays = (np.concatenate(each)[order] for each in zip(*(p[1:6] for p in parts), strict=True))
    return PairSeries._make(
        [
            keys.take(pa.array(order)),
            *arrays,
            [references[row] for row in order.tolist()],
            PairValues._make(np.concatenate(each) for each in zip(*values, strict=True)),
        ]
    )
