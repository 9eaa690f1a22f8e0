"""The queries of the service's page, which add up what canned queries list."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.nightly_farm import nightly_store
from tracehouse import Warehouse
from tracehouse.warehouse.catalogue.queries import find_query

CONV = "native_call_convolution.out"
PLACE = ("device", "model", "backend")
SERIES = (*PLACE, "run", "event_name", "delegate_id", "ordinal")


@pytest.fixture(scope="module")
def farm() -> Iterator[Warehouse]:
    """Two devices without a pool, and the twelve builds of the nightly farm."""
    with Warehouse.open(nightly_store(), read_only=True) as warehouse:
        yield warehouse


def test_builds_count_their_devices_models_and_dumps(farm: Warehouse) -> None:
    whole, first, *_, last = farm.query(find_query("page_builds", "page")).to_pylist()
    assert whole == {
        "build": None, "position": None, "device_count": 2, "model_count": 1, "dump_count": 184,
    }  # fmt: skip
    assert (first["build"], first["device_count"], first["dump_count"]) == ("b0", 2, 16)
    assert (last["build"], last["device_count"], last["dump_count"]) == ("b11", 1, 8)
    assert farm.query(find_query("page_builds", "page"), since="2100-01-01").num_rows == 0


def test_coverage_counts_the_models_of_the_named_devices(farm: Warehouse) -> None:
    rows = farm.query(
        find_query("page_coverage", "page"), build=["b10", "b11"], shown=["tablet"]
    ).to_pylist()
    assert rows == [{"device": "tablet", "build": "b10", "model_count": 1}]


def test_a_facet_passes_the_filters_of_the_others(farm: Warehouse) -> None:
    rows = farm.query(
        find_query("page_facets", "page"), device="tablet", build=["b10", "b11"]
    ).to_pylist()
    counts = {(row["facet"], row["name"]): row["dump_count"] for row in rows}
    assert counts["device", "phone"] == 16
    assert counts["device", "tablet"] == 8
    assert counts["build", "b0"] == 8
    assert ("build", "b11") not in counts
    assert counts["model", "net"] == 8


def test_dumps_come_in_parts_the_newest_first(farm: Warehouse) -> None:
    rows = farm.query("dumps", device="tablet").to_pylist()[::-1]
    parts = [
        farm.query(find_query("page_dumps", "page"), device="tablet", most=50, before=before)
        for before in (0, 50, 99)
    ]
    shas = [sha for part in parts for sha in part["sha256"].to_pylist()]
    assert shas == [row["sha256"] for row in rows]


def test_the_median_dump_of_a_build_has_the_median_time_of_a_run(farm: Warehouse) -> None:
    chosen = {"build": ["b8", "b9"], "device": "phone"}
    found = farm.query(find_query("page_median_dumps", "page"), **chosen).to_pylist()
    assert [row["build"] for row in found] == ["b8", "b9"]
    times = farm.sql(
        "SELECT dump_id, build, coalesce(value_ns, p50_ns) AS ns FROM operator_stats "
        "WHERE kind = 'method' AND device = 'phone'"
    ).to_pylist()
    for row in found:
        own = sorted((t["ns"], t["dump_id"]) for t in times if t["build"] == row["build"])
        assert row["dump_id"] == own[(len(own) - 1) // 2][1]


def test_instructions_of_one_name_have_numbers(farm: Warehouse) -> None:
    rows = farm.query(find_query("page_ordinals", "page"), build="b8", device="phone").to_pylist()
    assert {row["ordinal"] for row in rows} == {1}
    assert {row["event_name"] for row in rows} >= {CONV, "Method::execute"}
    keys = [tuple(value for name, value in row.items() if name != "ordinal") for row in rows]
    assert len(set(keys)) == len(keys)
