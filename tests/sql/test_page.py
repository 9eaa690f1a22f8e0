"""The queries of the service's page, which add up what canned queries list."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

import pytest

from tests.support.nightly_farm import ingest_nights
from warehouse import Warehouse

CONV = "native_call_convolution.out"
PLACE = ("device", "model", "backend")
SERIES = (*PLACE, "run", "event_name", "delegate_id", "ordinal")


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    """Two devices without a pool, and the twelve builds of the nightly farm."""
    store = ingest_nights(tmp_path_factory.mktemp("page") / "s")
    with Warehouse.open(store, read_only=True) as warehouse:
        yield warehouse


def test_a_history_has_the_points_of_build_history(farm: Warehouse) -> None:
    rows = farm.query("page_history", event="native_call_*").to_pylist()
    points = [
        (*(row[name] for name in SERIES), point["build"], *list(point.values())[1:])
        for row in rows
        if row["level"] == "device"
        for point in row["points"]
    ]
    names = (*SERIES, "build", "p50_ns", "min_ns", "max_ns")
    wanted = farm.query("build_history", event="native_call_*").to_pylist()
    assert [point[:11] for point in points] == [
        tuple(row[name] for name in names) for row in wanted
    ]
    assert [point[-2:] for point in points] == [
        (row["dump_count"], row["sample_count"]) for row in wanted
    ]


def test_a_change_is_that_of_the_last_two_builds_of_the_row(farm: Warehouse) -> None:
    rows = farm.query("page_history", event=CONV, build=["b8", "b9"]).to_pylist()
    for row in rows:
        first, last = (point["p50_ns"] for point in row["points"])
        assert row["p50_ns"] == last
        assert row["change"] == pytest.approx(last / first - 1)
        assert 0.13 < row["change"] < 0.17
    assert farm.query("page_history", event=CONV, build="b8")["change"].null_count == 4


def test_a_pool_and_all_have_the_median_of_their_devices(farm: Warehouse) -> None:
    rows = farm.query("page_history", event=CONV).to_pylist()
    levels = {level: [row for row in rows if row["level"] == level] for level in ("pool", "all")}
    devices = [
        {point["build"]: point for point in row["points"]}
        for row in rows
        if row["level"] == "device"
    ]
    for (row,) in levels.values():
        for point in row["points"]:
            own = [one[point["build"]] for one in devices if point["build"] in one]
            values = [one["p50_ns"] for one in own]
            assert point["p50_ns"] == median(values)
            assert (point["min_ns"], point["max_ns"]) == (min(values), max(values))
            assert point["dump_count"] == sum(one["dump_count"] for one in own)


def test_builds_count_their_devices_models_and_dumps(farm: Warehouse) -> None:
    whole, first, *_, last = farm.query("page_builds").to_pylist()
    assert whole == {
        "build": None, "position": None, "device_count": 2, "model_count": 1, "dump_count": 184,
    }  # fmt: skip
    assert (first["build"], first["device_count"], first["dump_count"]) == ("b0", 2, 16)
    assert (last["build"], last["device_count"], last["dump_count"]) == ("b11", 1, 8)
    assert farm.query("page_builds", since="2100-01-01").num_rows == 0


def test_devices_have_their_newest_build(farm: Warehouse) -> None:
    rows = farm.query("page_devices").to_pylist()
    assert [(row["device"], row["last_position"], row["dump_count"]) for row in rows] == [
        ("phone", 12, 96),
        ("tablet", 11, 88),
    ]


def test_coverage_has_rows_of_pools_and_of_the_named_devices(farm: Warehouse) -> None:
    rows = farm.query("page_coverage", build=["b10", "b11"], shown=["tablet"]).to_pylist()
    assert [(row["device"], row["build"], row["device_count"]) for row in rows] == [
        (None, "b10", 2),
        (None, "b11", 1),
        ("tablet", "b10", 1),
    ]


def test_a_facet_passes_the_filters_of_the_others(farm: Warehouse) -> None:
    rows = farm.query("page_facets", device="tablet", build=["b10", "b11"]).to_pylist()
    counts = {(row["facet"], row["name"]): row["dump_count"] for row in rows}
    assert counts["device", "phone"] == 16
    assert counts["device", "tablet"] == 8
    assert counts["build", "b0"] == 8
    assert ("build", "b11") not in counts
    assert counts["model", "net"] == 8


def test_a_comparison_is_of_the_devices_that_ran_both(farm: Warehouse) -> None:
    rows = farm.query("page_comparison", base="b10", head="b11", build=["b10", "b11"]).to_pylist()
    found = {row["event_name"]: row for row in rows}
    added = found["native_call_add.out"]
    assert added["device_count"] == 1
    assert added["delta"] == pytest.approx(0.2, abs=0.02)
    new = found["native_call_sigmoid.out"]
    assert (new["base_ns"], new["delta"], new["device_count"]) == (None, None, 0)
    assert new["head_ns"] > 0


def test_dumps_come_in_parts_the_newest_first(farm: Warehouse) -> None:
    rows = farm.query("dumps", device="tablet").to_pylist()[::-1]
    parts = [
        farm.query("page_dumps", device="tablet", most=50, before=before) for before in (0, 50, 99)
    ]
    shas = [sha for part in parts for sha in part["sha256"].to_pylist()]
    assert shas == [row["sha256"] for row in rows]
