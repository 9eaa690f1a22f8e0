"""The dumps of two builds, and the values of each series in them. Pure.

A series is an operator, method or delegate call. Values are relative to a reference build that was
recorded with both builds, if there is one. On a device on which the builds were recorded apart,
they are without its state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.regressions.series_values import (
    KEY,
    cancel_partners,
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
from tracehouse.warehouse.statistics.runs import list_alike

DEVICE_MODEL = ("device", "model", "backend")
NO_PAIR = NO_RECORD = -1
_ATTRIBUTES = (  # besides the build, in the order of notes
    *("pool", "os_version", "soc", "quantization", "firmware", "threads", "governor"),
)
_IN_TURNS = 0.5  # share of either build's dumps that were captured while the other was recorded
METHOD = (*DEVICE_MODEL, "run")
SERIES = ("level", *METHOD, "event_name", "delegate_id", "ordinal")  # a series, and their order
DELEGATED = ("delegate_op", "delegate_call")
_LEVELS = {"method": "method", "delegate_call": "delegate"}  # levels of kinds; others are operators
_OPERATOR = "operator"
LEAST_MOVE = 0.03  # if the state of a device moves less, the device was steady
_DIGITS = 12  # corrected logarithms that differ by rounding alone are ties
_COLUMNS = (*SERIES, "pool", "kind", "op_type")


class PairDumps(NamedTuple):
    """The dumps of two builds.

    Attributes:
        number: Their ids, ascending.
        is_head: Whether each is of the head.
        is_apart: Whether both builds were recorded apart on its device, rather than in turns.
        pair: Number of its pair, if this consists of a dump of either build; else NO_PAIR.
        etrecord: ETRecord of its program; NO_RECORD without one.
        notes: By device, model and backend, the other differences between dumps than the build.
    """

    number: Ints
    is_head: Mask
    is_apart: Mask
    pair: Ints
    etrecord: Ints
    notes: dict[tuple[str | None, ...], str]

    def has(self, numbers: Ints) -> Mask:
        """Whether each dump is one of them, by its id."""
        known: Mask = np.isin(numbers, self.number)
        return known

    def find(self, numbers: Ints) -> Ints:
        """The places of dumps by their ids."""
        places: Ints = np.searchsorted(self.number, numbers)
        return places


def describe_dumps(rows: pa.Table) -> PairDumps:
    """The dumps of rows of the statement `pair_dumps`."""
    rows = rows.combine_chunks().sort_by("dump_id")
    is_head = _numbers(rows["is_head"]) == 1
    family, first = group_rows(rows.select(DEVICE_MODEL))
    return PairDumps(
        _numbers(rows["dump_id"]),
        is_head,
        _find_apart(rows, is_head, family),
        _number_pairs(rows, is_head),
        _numbers(rows["etrecord_id"]),
        _note_differences(rows, family, first),
    )


def _numbers(column: pa.ChunkedArray) -> Ints:
    numbers: Ints = column.cast(pa.int64()).fill_null(NO_RECORD).to_numpy()
    return numbers


def _find_apart(rows: pa.Table, is_head: Mask, family: Ints) -> Mask:
    """Whether both builds were recorded apart: by the times of dumps, else by their sessions."""
    time = rows["captured_at"].cast(pa.int64()).cast(pa.float64(), safe=False)
    captured = time.fill_null(np.nan).to_numpy()
    session, _ = group_rows(rows.select([*DEVICE_MODEL, "session"]))
    has_session = rows["session"].is_valid().to_numpy()
    both = np.zeros(int(session.max(initial=0)) + 1, bool)
    both[np.intersect1d(session[is_head], session[~is_head])] = True
    is_apart = np.zeros(len(rows), bool)
    for own in list_alike(family):
        if not np.isnan(captured[own]).any():
            head, base = captured[own[is_head[own]]], captured[own[~is_head[own]]]
            is_apart[own] = min(_share_within(head, base), _share_within(base, head)) < _IN_TURNS
        else:
            is_apart[own] = has_session[own].all() and not both[session[own]].any()
    return is_apart


def _share_within(times: Floats, others: Floats) -> float:
    """The share of times between the first and the last of others."""
    if not len(times) or not len(others):
        return 0.0
    return float(((times >= others.min()) & (times <= others.max())).mean())


def _number_pairs(rows: pa.Table, is_head: Mask) -> Ints:
    known = pc.and_(rows["session"].is_valid(), rows["pair"].is_valid()).to_numpy()
    number, _ = group_rows(rows.select([*DEVICE_MODEL, "session", "pair"]))
    count = np.bincount(number[known], minlength=len(rows) + 1)
    heads = np.bincount(number[known], is_head[known], minlength=len(rows) + 1)
    is_pair = known & (count[number] == 2) & (heads[number] == 1)
    return np.where(is_pair, number, NO_PAIR)


def _note_differences(
    rows: pa.Table, family: Ints, first: Ints
) -> dict[tuple[str | None, ...], str]:
    differing: list[list[str]] = [[] for _ in first]
    for name in _ATTRIBUTES:
        column = rows[name].combine_chunks()
        filled = column.fill_null(0 if pa.types.is_integer(column.type) else "")
        code = filled.dictionary_encode().indices.to_numpy()
        for place in np.unique(family[code != code[first][family]]).tolist():
            differing[place].append(name)
    keys = rows.select(DEVICE_MODEL).take(pa.array(first)).to_pylist()
    return {
        tuple(key.values()): f"dumps differ in {', '.join(names)}"
        for key, names in zip(keys, differing, strict=True)
        if names
    }


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
    series_ns = np.bincount(series, is_ns, count) > 0  # nanoseconds win over ticks
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
