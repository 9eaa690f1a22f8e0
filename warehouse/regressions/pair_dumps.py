"""The dumps of two builds: which were recorded apart, which are partners, and what else differs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.regressions.series_values import group_rows
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.runs import list_alike

DEVICE_MODEL = ("device", "model", "backend")
NO_PAIR = NO_RECORD = -1
_ATTRIBUTES = (  # besides the build, in the order of notes
    *("pool", "os_version", "soc", "quantization", "firmware", "threads", "governor"),
)
_IN_TURNS = 0.5  # share of either build's dumps that were captured while the other was recorded


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
