"""Data of a build and of earlier builds, arranged to be judged night by night.

A night is a recording of a build at a place: a model and backend on a device. Another session of
the same build there is another night, which can confirm the first. Sessions are numbered at each
place by itself, because recorders may name them as they like; the last session of each place is in
the last night of the build. If a reference build was recorded in the same sessions, it is a second
witness of what the device did: values are relative to it unless the state of the device in their
own dumps is subtracted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.warehouse.regressions.history import Series, SeriesHistory, lay_out
from tracehouse.warehouse.regressions.partners import cancel_partners
from tracehouse.warehouse.regressions.pools import add_pools
from tracehouse.warehouse.regressions.series_values import (
    CONTAINERS,
    MEASURES,
    PLACE,
    RECORDING,
    SeriesValues,
    decode_texts,
    group_rows,
    list_recordings,
    number_families,
    number_rows,
    number_series,
)
from tracehouse.warehouse.statistics.arrays import Floats, Ints, Mask
from tracehouse.warehouse.statistics.device_states import DELEGATE, KERNELS, NO_KERNEL, NO_UNIT
from tracehouse.warehouse.statistics.runs import rank_in_groups


class FleetNight(NamedTuple):
    """One night: a build, and how many sessions a place with all of them recorded afterwards."""

    build: str
    later: int


SessionKey = tuple[str, str, str | None, int]


class Fleet(NamedTuple):
    """Values of all series of a store in the nights up to a build.

    Attributes:
        nights: The nights, oldest first, the head's last.
        sessions: Stated names of sessions, by device, model, backend and number of the night.
        keys: A row per series: device, pool, model, backend, unit, run, event_name,
            delegate_id, ordinal, kind, op_type.
        operators: Operator type of each series; of what is no operator, its name.
        history: Values of the series.
        has_reference: Whether the values are relative to a reference build; shape (series,).
        pool: For each series, the number of its pool's series; see `add_pools`.
    """

    nights: tuple[FleetNight, ...]
    sessions: dict[SessionKey, str]
    keys: pa.Table
    operators: tuple[str, ...]
    history: SeriesHistory
    has_reference: Mask
    pool: Ints

    @property
    def is_measure(self) -> Mask:
        """Whether each series is a measure of whole dumps rather than an operator."""
        is_measure: Mask = pc.is_in(self.keys["kind"], pa.array(sorted(MEASURES))).to_numpy()
        return is_measure

    @property
    def is_pool(self) -> Mask:
        """Whether each series is of a pool."""
        is_pool: Mask = pc.is_null(self.keys["device"]).to_numpy()
        return is_pool

    def name(self, series: int) -> dict[str, Any]:
        """The keys of one series."""
        return {column: self.keys[column][series].as_py() for column in self.keys.column_names}


MinChange = Callable[[pa.Table], Floats]


def build_fleet(
    rows: pa.Table, head: str, min_change: MinChange, nights: tuple[FleetNight, ...] | None = None
) -> Fleet:
    """Lay out the rows of `gather_recordings`.

    Args:
        rows: A row per operator and recording.
        head: The judged build, which has a night even without rows.
        min_change: Returns the smallest relevant change of each series, by its keys.
        nights: Nights of the whole fleet, if these rows are only a part of it.
    """
    nights = nights or order_nights(rows, head)
    night_of, sessions = _number_nights(rows, nights)
    own = number_series(*cancel_partners(rows, night_of), night_of)
    values, pool = add_pools(own, _number_kernels(own))
    family = number_families(values.keys)
    kernel = _number_kernels(values)
    series = Series(
        family, kernel, values.floor, values.half_tick, min_change(values.keys), _find_units(values)
    )
    cell = values.series * len(nights) + values.night
    history = lay_out(
        series, len(nights), cell, values.size, values.logs, values.dump, values.reference
    )
    operators = tuple(values.keys["op_type"].to_pylist())
    return Fleet(nights, sessions, values.keys, operators, history, values.has_reference, pool)


def _number_kernels(values: SeriesValues) -> Ints:
    """A number for each operator type; NO_KERNEL for other series."""
    numbers, _ = number_rows(values.keys.select(["op_type"]))
    has_no_vote = pa.array(sorted(CONTAINERS | MEASURES))
    is_container = pc.is_in(values.keys["kind"], has_no_vote).to_numpy()
    return np.where(is_container, NO_KERNEL, numbers)


def _find_units(values: SeriesValues) -> Ints:
    """The unit that runs each operator; NO_UNIT for pools."""
    kind = values.keys["kind"]
    is_delegate = pc.is_in(kind, pa.array(["delegate_op", "delegate_call"])).to_numpy()
    is_pool = pc.is_null(values.keys["device"]).to_numpy()
    unit = np.where(is_delegate, DELEGATE, KERNELS)
    return np.where(is_pool, NO_UNIT, unit)


def order_nights(rows: pa.Table, head: str) -> tuple[FleetNight, ...]:
    """The nights of rows, oldest first; the head always has a night."""
    recordings = list_recordings(rows)
    distance, later = recordings["distance"].to_pylist(), _count_later(recordings).tolist()
    most: dict[tuple[int, str], int] = {}
    for back, build, count in zip(distance, recordings["build"].to_pylist(), later, strict=True):
        if back is not None:
            most[back, build] = max(count, most.get((back, build), 0))
    nights = tuple(
        FleetNight(build, count)
        for (_, build), sessions in sorted(most.items(), reverse=True)
        for count in range(sessions, -1, -1)
    )
    if head not in {night.build for night in nights}:
        nights = (*nights, FleetNight(head, 0))
    return nights


def _number_nights(
    rows: pa.Table, nights: tuple[FleetNight, ...]
) -> tuple[Ints, dict[SessionKey, str]]:
    """The night of each row, -1 for reference builds; and the stated sessions of the nights."""
    numbers = {night: number for number, night in enumerate(nights)}
    number, first = group_rows(rows.select([*PLACE, *RECORDING]))
    recordings = decode_texts(rows.select([*PLACE, *RECORDING]).take(pa.array(first)))
    names = (recordings[name].to_pylist() for name in ("device", "model", "backend", "session"))
    builds, later = recordings["build"].to_pylist(), _count_later(recordings).tolist()
    found = [numbers.get(FleetNight(*night), -1) for night in zip(builds, later, strict=True)]
    sessions = {
        (device, model, backend, night): session
        for device, model, backend, session, night in zip(*names, found, strict=True)
        if session and night >= 0
    }
    return np.array(found, np.int64)[number], sessions


def _count_later(recordings: pa.Table) -> Ints:
    """The number of later sessions of each recording's build at its place.

    Sessions without a time are the last ones, those of the same time are ordered by name.
    """
    count = np.zeros(len(recordings), np.int64)
    place, _ = group_rows(recordings.select([*PLACE, "build"]))
    repeated = np.flatnonzero(np.bincount(place)[place] > 1)
    if len(repeated):
        own = recordings.take(pa.array(repeated))
        keys = [("recorded_at", "ascending"), ("session", "ascending")]
        rank = np.empty(len(own), np.int64)
        rank[pc.sort_indices(own, sort_keys=keys).to_numpy()] = np.arange(len(own))
        count[repeated] = rank_in_groups(place[repeated], -rank)
    return count
