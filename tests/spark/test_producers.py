"""What backends log, in lakes that Spark asks beside DuckDB."""

from __future__ import annotations

from pathlib import Path

from tests.spark.test_answers import assert_same
from tests.support.producer_dumps import PRODUCERS, producer_dump
from tests.support.stores import ingest, write
from tracehouse import Warehouse
from tracehouse.warehouse.spark.answers import SparkLake

QUESTIONS = (
    "counter_totals", "data_quality", "delegate_transitions", "operator_hotspots", "percentiles",
)  # fmt: skip


def test_spark_and_the_store_give_the_same_answers_for_all_producers(
    session, tmp_path: Path
) -> None:
    for producer in PRODUCERS:
        manifest = {"device": "d", "build": "b", "model": producer, "clock": "ns"}
        file = write(tmp_path / f"{producer}.etdp", producer_dump(producer, 3))
        ingest(tmp_path / "store", file, manifest=manifest)
    with Warehouse.open(tmp_path / "store") as store:
        store.export_lake(tmp_path / "lake")
    on_spark = SparkLake(session, str(tmp_path / "lake"))
    with Warehouse.open_lake(tmp_path / "lake") as on_duckdb:
        for name in QUESTIONS:
            wanted = on_duckdb.query(name)
            assert wanted.num_rows, name
            assert_same(on_spark.query(name), wanted)
