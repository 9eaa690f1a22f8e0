"""What a terminal shows beside rows."""

from __future__ import annotations

import pyarrow as pa

from tracehouse.queries.plots.terminal import (
    HISTORIES,
    HOTSPOTS,
    trends,
    with_bars,
    with_histograms,
)
from tracehouse.warehouse.catalogue.queries import load_catalogue


def test_hotspots_have_a_bar_after_their_share() -> None:
    table = with_bars(
        pa.table({"name": ["a", "b"], "self_share": [1.0, None], "x": [1, 2]}), "self_share"
    )
    assert table.column_names == ["name", "self_share", "", "x"]
    assert table[""].to_pylist() == ["█" * 12, ""]


def test_percentiles_have_a_histogram_at_their_end() -> None:
    columns = {"p10_ns": 2.0, "p50_ns": 3.0, "p90_ns": 4.0, "p95_ns": 5.0, "p99_ns": 6.0,
               "min_ns": 1.0, "max_ns": 7.0}  # fmt: skip
    gone = dict.fromkeys(columns)
    schema = pa.schema([(name, pa.float64()) for name in columns])
    table = with_histograms(pa.Table.from_pylist([columns, gone], schema=schema))
    drawn, none = table["from min to max"].to_pylist()
    assert len(drawn) == 20
    assert none == ""


def test_a_history_has_a_trend_per_series_in_order() -> None:
    key = {"device": "d", "model": "m", "backend": None, "delegate_id": None, "ordinal": 1}
    rows = [
        {**key, "event_name": name, "p50_ns": value}
        for name, values in (("b", (10.0, 80.0)), ("a", (5.0,)))
        for value in values
    ]
    assert trends(pa.Table.from_pylist(rows), "p50_ns").to_pylist() == [
        {
            **key,
            "event_name": "b",
            "builds": 2,
            "trend": "▁█",
            "first_p50_ns": 10.0,
            "last_p50_ns": 80.0,
        },
        {
            **key,
            "event_name": "a",
            "builds": 1,
            "trend": "▁",
            "first_p50_ns": 5.0,
            "last_p50_ns": 5.0,
        },
    ]


def test_all_hotspots_of_the_catalogue_have_bars():
    known = {name for name in load_catalogue() if name.endswith("_hotspots")}
    assert known == HOTSPOTS.keys()
    for name, share in HOTSPOTS.items():
        assert share in [column.name for column in load_catalogue()[name].header.columns]


def test_every_history_of_the_catalogue_has_its_trends():
    known = {name for name in load_catalogue() if name.endswith("_history")}
    assert known == HISTORIES.keys()
    for name, value in HISTORIES.items():
        columns = [column.name for column in load_catalogue()[name].header.columns]
        assert {"build", value} <= set(columns)
