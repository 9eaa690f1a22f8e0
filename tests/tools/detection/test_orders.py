"""Trials of orders of nights change what they say they change."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tests.support.corpus import CORPUS
from tests.tools.detection import orders
from tests.tools.detection.detectors import lay_out_farm, operator_name
from tests.tools.detection.farms import NOISES, simulate_farm
from warehouse.regressions.fleet import Fleet, FleetNight

NIGHTS = 5


def calm_fleet() -> Fleet:
    farm = simulate_farm(NOISES[0], families=2, nights=NIGHTS, rng=np.random.default_rng(4))
    names = tuple(map(operator_name, range(len(farm.values))))
    kinds = ["method", *["kernel"] * (len(names) - 1)]
    nights = tuple(FleetNight(f"b{night}", "") for night in range(NIGHTS))
    has_reference, pool = np.zeros(len(names), bool), np.full(len(names), -1)
    keys = pa.table({"kind": kinds})
    return Fleet(nights, keys, names, lay_out_farm(farm), has_reference, pool)


def values_of(history, series, night):
    cell = series * NIGHTS + night
    return history.values[history.start[cell] : history.start[cell + 1]]


def test_nights_change_places_and_one_series_gets_slower():
    history = calm_fleet().history
    order = np.array([4, 2, 0, 1, 3])
    moved = orders.reorder(history, order, {7: 1.1}, 3)
    for series in range(history.series_count):
        for place, night in enumerate(order):
            grown = np.log(1.1) if series == 7 and place >= 3 else 0
            expected = values_of(history, series, night) + grown
            assert values_of(moved, series, place) == pytest.approx(expected)


def test_nothing_is_alarmed_where_nothing_changed_and_what_is_slower_is_found(monkeypatch):
    monkeypatch.setattr(orders, "ORDERS", 4)
    figures = orders.try_orders(calm_fleet())
    assert figures["orders with one"] == figures["false alarms"] == 0
    assert figures["+20 % confirmed, %"] > 80
    assert figures["series"] == 24


def test_a_folder_without_enough_builds_says_how_many_it_takes():
    with pytest.raises(SystemExit, match="no device with 5 or more builds"):
        orders.try_folder(CORPUS.parent / "farm")
