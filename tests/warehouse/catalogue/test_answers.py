"""Canned queries and SQL with parameters, asked of a store on disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import CORPUS, read_dump
from tests.support.stores import ingest, write
from tracehouse import Warehouse
from tracehouse.warehouse.errors import ParameterError, QueryError, StatementError

TAGS: tuple[dict[str, Any], ...] = (
    {"lab": "north", "tags": {"mode": 3}},
    {"lab": "south", "device": {"name": "pixel8", "colour": "red"}},
    {},
)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    """Three dumps with different tags, of one device."""
    folder = tmp_path_factory.mktemp("answers")
    names = ("real/cnn_portable_n20", "real/cnn_xnnpack_n20", "real/cnn_portable_n1_debug")
    for number, tags in enumerate(TAGS):
        write(folder / f"in/{number}.etdp", read_dump(names[number]))
        manifest = {"device": "pixel8", "build": f"b{number}", "model": "mv2", **tags}
        write(folder / f"in/{number}.json", json.dumps(manifest).encode())
    ingest(folder / "store", folder / "in", manifest=None)
    with Warehouse.open(folder / "store", read_only=True) as opened:
        yield opened


def test_tags_are_what_the_manifest_says_beside_its_own_fields(warehouse: Warehouse) -> None:
    assert warehouse.query("dumps")["tags"].to_pylist() == [
        '{"lab":"north","mode":3}',
        '{"device.colour":"red","lab":"south"}',
        "{}",
    ]
    assert (
        warehouse.sql("SELECT tags FROM named_dumps WHERE dump_id = 3")["tags"][0].as_py() == "{}"
    )


@pytest.mark.parametrize(
    ("params", "builds"),
    [
        ({"tag": "lab=north"}, ["b0"]),
        ({"tag": ["lab=*", "mode=3"]}, ["b0"]),
        ({"tag": "device.colour=red"}, ["b1"]),
        ({"build": ["b0", "b2"]}, ["b0", "b2"]),
        ({"build": ("b[01]", "b2"), "device": "pix*"}, ["b0", "b1", "b2"]),
    ],
)
def test_filters_take_a_text_or_several(
    warehouse: Warehouse, params: dict[str, Any], builds: list[str]
) -> None:
    assert warehouse.query("dumps", **params)["build"].to_pylist() == builds


def test_queries_group_by_a_tag(warehouse: Warehouse) -> None:
    rows = warehouse.query("framework_tax", group_by="lab").to_pylist()
    assert {(row["group"], row["device"], row["build"]) for row in rows} == {
        ("north", None, "b0"),
        ("south", None, "b1"),
        (None, None, "b2"),
    }


def test_names_that_are_not_there_and_a_build_beside_itself_are_errors(
    warehouse: Warehouse,
) -> None:
    with pytest.raises(ParameterError, match="'dump': 99999 is not in the store; there are 1 to 3"):
        warehouse.query("event_blocks", dump=99999)
    with pytest.raises(ParameterError, match=r"'device': 'pixel' is not in .* pixel8"):
        warehouse.query("percentiles", device="pixel")
    with pytest.raises(ParameterError, match="'head': 'b1', which is the value of 'base', too"):
        warehouse.query("regression_deltas", base="b1", head="b1")


def test_sql_takes_parameters_by_name_and_in_order(warehouse: Warehouse) -> None:
    text = "SELECT build FROM named_dumps WHERE device = $device AND n_runs > CAST($runs AS INT)"
    named = warehouse.sql(text, {"device": "pixel8", "runs": "10"})
    assert named["build"].to_pylist() == ["b0", "b1"]
    ordered = warehouse.sql("SELECT build FROM named_dumps WHERE build IN (?, ?)", ["b2", "b1"])
    assert sorted(ordered["build"].to_pylist()) == ["b1", "b2"]
    quoted = warehouse.sql("SELECT $a AS a", {"a": "' OR TRUE; DROP TABLE dumps --"})
    assert quoted["a"].to_pylist() == ["' OR TRUE; DROP TABLE dumps --"]


def test_parameters_that_do_not_fit_the_statement_are_an_error(warehouse: Warehouse) -> None:
    cases: list[tuple[str, Any]] = [
        ("SELECT $a", None), ("SELECT $a", {"b": 1}), ("SELECT 1", {"a": 1}), ("SELECT ?", [1, 2]),
    ]  # fmt: skip
    for text, params in cases:
        with pytest.raises(StatementError, match=r"(?i)parameter"):
            warehouse.sql(text, params)


def test_a_query_that_runs_out_of_memory_says_what_needs_less(tmp_path: Path) -> None:
    ingest(tmp_path / "store", CORPUS / "real/cnn_portable_n20.etdp")
    with Warehouse.open(tmp_path / "store") as warehouse:
        warehouse.writing.execute("SET max_temp_directory_size = '0KB'; SET memory_limit = '1MB'")
        with pytest.raises(QueryError, match=r"'percentiles': needs more memory .*--approx$"):
            warehouse.query("percentiles")
        with pytest.raises(QueryError, match=r"needs more memory .* one device and build$"):
            warehouse.query("percentiles", approx=True)
        warehouse.writing.execute("SET memory_limit = '1GB'")
