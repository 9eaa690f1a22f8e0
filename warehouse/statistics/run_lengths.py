"""Runs that look alike but take two lengths, such as prompts and tokens of one graph. Pure.

Their events are equal, so they have one run signature, and a median over both lies anywhere in
between. Long and short runs get signatures of their own if their dump alone leaves no doubt. Hosts
under load make runs of two speeds, too. Where a program makes them, neither length spreads, most
operators are long in the same runs, and the lengths alternate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracehouse.ingest.decode import DecodedBatch
from tracehouse.ingest.signatures import LONG, SHORT, signature_of_length
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.rollups import WARM_UP_RUNS, EventGroups
from tracehouse.warehouse.statistics.runs import list_alike

LEAST_RUNS = 20  # after warm-up
LEAST_SHARE = 0.2  # share of runs that each length has
LEAST_GAP = 1.25  # between the shortest long run and the longest short one
_ALTERNATION = 0.6  # share of the changes that runs in random order have
_AGREEING = 0.5  # share of the operators' time
_ORDER = ("occurrence", "run_index", "event_signature_id", "run_signature_id")  # the last first
_TAIL = 0.1  # share of runs of a length, on either side, that may be interrupted


class Lengths(NamedTuple):
    """Runs of one signature in a dump that have two lengths.

    Attributes:
        dump: Index of the dump.
        run_signature: Id of the signature.
        runs: The runs.
        is_long: Whether each of them is long.
    """

    dump: int
    run_signature: int
    runs: Ints
    is_long: Mask


def find_lengths(groups: EventGroups, signatures: pa.Table) -> list[Lengths]:
    """The runs of two lengths in some dumps."""
    kinds = np.asarray(signatures["kind"].to_pylist(), object)
    ids = signatures["event_signature_id"].to_numpy()
    methods, operators = (
        ids[np.isin(kinds, some)] for some in (["method"], ["kernel", "delegate_call"])
    )
    is_long_enough = groups.count >= LEAST_RUNS + WARM_UP_RUNS
    found = np.flatnonzero(is_long_enough & np.isin(groups.signature, methods))
    lengths = []
    for alike in list_alike(groups.count[found]):
        members = found[alike]
        place = groups.first[members][:, None] + np.arange(groups.count[members[0]])
        ticks = groups.duration[place]
        for row in np.flatnonzero(_find_gaps(ticks)[1] > LEAST_GAP).tolist():
            one = _split_group(groups, int(members[row]), operators)
            lengths += [one] if one else []
    return lengths


def _split_group(groups: EventGroups, method: int, operators: Ints) -> Lengths | None:
    """The lengths of the runs of one method, if it has two and ran once in each of them."""
    rows = slice(groups.first[method], groups.first[method] + groups.count[method])
    runs, is_long = groups.run[rows], split_lengths(groups.duration[rows])
    if is_long is None or not (runs[1:] > runs[:-1]).all():
        return None
    if not _operators_agree(_operator_times(groups, method, operators), is_long):
        return None
    return Lengths(int(groups.dump[method]), int(groups.run_signature[method]), runs, is_long)


def split_lengths(ticks: Ints) -> Mask | None:
    """Which of some runs, in their order, are long; None unless they have two lengths.

    A run of two lengths is what alternates: a change of speed in the middle of a dump is none.
    """
    (cut,), (gap,) = _find_gaps(ticks[None])
    if gap <= LEAST_GAP:
        return None
    ordered = np.sort(ticks[WARM_UP_RUNS:]).astype(np.float64)
    is_long: Mask = ticks > np.sqrt(ordered[cut - 1] * ordered[cut])
    later = is_long[WARM_UP_RUNS:]
    share = later.mean()
    changes = np.count_nonzero(later[1:] != later[:-1])
    if changes < _ALTERNATION * 2 * share * (1 - share) * len(later):
        return None
    spread = max(_spread(ordered[:cut]), _spread(ordered[cut:]))
    return is_long if spread**2 <= gap else None  # the gap is to be twice as wide


def _find_gaps(ticks: Ints) -> tuple[Ints, Floats]:
    """The number of short runs below the widest gap of each row, and the ratio of its ends."""
    ordered = np.sort(ticks[:, WARM_UP_RUNS:], axis=1)
    least = int(np.ceil(LEAST_SHARE * ordered.shape[1]))
    some = ordered[:, least - 1 : ordered.shape[1] - least + 1]
    ratios = some[:, 1:] / np.maximum(some[:, :-1], 1)
    widest = ratios.argmax(axis=1)
    return widest + least, ratios[np.arange(len(ratios)), widest]


def _spread(ordered: Floats) -> float:
    """The ratio of the longest to the shortest of some runs, but for the tails."""
    tail = int(_TAIL * len(ordered))
    return float(ordered[-1 - tail] / max(ordered[tail], 1.0))


def _operator_times(groups: EventGroups, method: int, operators: Ints) -> NDArray[np.int64]:
    """Times of the operators that every run of the method has once, a row per operator."""
    is_near = (groups.dump == groups.dump[method]) & (
        groups.run_signature == groups.run_signature[method]
    )
    is_near &= (groups.count == groups.count[method]) & np.isin(groups.signature, operators)
    first = groups.first[is_near]
    times: Ints = groups.duration[first[:, None] + np.arange(groups.count[method])]
    return times


def _operators_agree(times: Ints, is_long: Mask) -> bool:
    """Whether operators that take most of the time are long in the long runs alone."""
    if not len(times):
        return True
    steady, is_long = times[:, WARM_UP_RUNS:], is_long[WARM_UP_RUNS:]
    least = np.quantile(steady[:, is_long], _TAIL, axis=1)
    most = np.quantile(steady[:, ~is_long], 1 - _TAIL, axis=1)
    weight = np.median(steady, axis=1)
    return float(weight[least > most].sum()) >= _AGREEING * float(weight.sum())


def split_runs(decoded: DecodedBatch, lengths: Sequence[Lengths]) -> DecodedBatch:
    """The dumps with signatures of their own for the long and the short runs."""
    tables = dict(decoded.tables)
    for name in ("runs", "events"):
        tables[name] = _relabel(tables[name], lengths)
    tables["run_signatures"] = _with_lengths(tables["run_signatures"], lengths)
    return replace(decoded, tables=tables)


def join_lengths(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables of one dump as they were before `split_runs`, but for the ids of signatures."""
    rows = tables["run_signatures"].to_pylist()
    if not any(row["length"] for row in rows):
        return dict(tables)
    first: dict[object, int] = {}
    keys = [(row["name"], row["bundled_input_index"], *row["events"]) for row in rows]
    ids = np.array([row["run_signature_id"] for row in rows])
    joined = np.array([first.setdefault(key, id_) for key, id_ in zip(keys, ids, strict=True)])
    order = np.argsort(ids)

    def join(table: pa.Table) -> pa.Table:
        known = table["run_signature_id"].is_valid().to_numpy()
        signature = table["run_signature_id"].fill_null(0).to_numpy().copy()
        signature[known] = joined[order[np.searchsorted(ids[order], signature[known])]]
        return _with_signatures(table, signature)

    events = join(tables["events"])
    kept = pa.array(np.isin(ids, joined))
    signatures = tables["run_signatures"].filter(kept)
    place = signatures.column_names.index("length")
    nothing = pa.nulls(signatures.num_rows, pa.string())
    return {
        **tables,
        "runs": join(tables["runs"]),
        "events": events.take(np.lexsort([events[name].to_numpy() for name in _ORDER])),
        "run_signatures": signatures.set_column(place, signatures.schema.field(place), nothing),
    }


def _with_signatures(table: pa.Table, signature: Ints) -> pa.Table:
    """The table with these ids of run signatures, null where they are."""
    place = table.column_names.index("run_signature_id")
    mask = table["run_signature_id"].is_null().to_numpy()
    return table.set_column(place, table.schema.field(place), pa.array(signature, mask=mask))


def _relabel(table: pa.Table, lengths: Sequence[Lengths]) -> pa.Table:
    """A table of runs or events with the new signatures; events are ordered by them again."""
    dump, run = (table[name].to_numpy() for name in ("dump_index", "run_index"))
    signature = table["run_signature_id"].fill_null(0).to_numpy().copy()
    touched = np.zeros(len(dump), bool)
    for one in lengths:
        mine = (dump == one.dump) & (signature == one.run_signature)
        long, short = (signature_of_length(one.run_signature, name) for name in (LONG, SHORT))
        is_long = np.isin(run[mine], one.runs[one.is_long])
        signature[mine] = np.where(is_long, long, short)
        touched |= mine
    changed = _with_signatures(table, signature)
    if "event_signature_id" not in table.column_names:
        return changed
    # The other events keep their places: the runs of a signature are in one stretch of a dump.
    order = np.arange(len(dump))
    rows = np.flatnonzero(touched)
    moved = changed.take(rows)
    order[rows] = rows[np.lexsort([moved[name].to_numpy() for name in (*_ORDER, "dump_index")])]
    return changed.take(order)


def _with_lengths(table: pa.Table, lengths: Sequence[Lengths]) -> pa.Table:
    """Rows of run signatures with those of the lengths."""
    rows = {row["run_signature_id"]: row for row in table.to_pylist()}
    new = {}
    for one in lengths:
        for name in (LONG, SHORT):
            id_ = signature_of_length(one.run_signature, name)
            row = rows[one.run_signature]
            new[id_] = {**row, "run_signature_id": id_, "length": name}
    added = pa.Table.from_pylist(list(new.values()), schema=table.schema)
    return pa.concat_tables([table, added])
