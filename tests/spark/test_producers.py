"""What backends log, in lakes that Spark asks beside DuckDB."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.test_answers import assert_same
from tests.support.producer_dumps import PRODUCERS, producer_dump
from tests.support.stores import ingest, write
from warehouse import Warehouse
from warehouse.spark.answers import SparkLake

QUESTIONS = (
    "counter_totals", "data_quality", "delegate_transitions", "operator_hotspots", "percentiles",
)  # fmt: skip


def _rewrite(place: Path, table: str, columns: list[str], rows: int | None = None) -> None:
    """Let a table's files be as before schema 10: without columns, and all kinds but counters."""
    for path in place.glob(f"{table}/**/*.parquet"):
        older = pq.read_table(path, partitioning=None).drop(columns).slice(0, rows)
        if "kind" in older.column_names:
            kinds = [
                "delegate_op" if "delegate" in kind and name != "DELEGATE_CALL" else kind
                for kind, name in zip(
                    *(older[c].to_pylist() for c in ("kind", "name")), strict=True
                )
            ]
            at = older.column_names.index("kind")
            older = older.set_column(at, "kind", pa.array(kinds))
        pq.write_table(older, path)


@pytest.mark.parametrize("is_older", [False, True])
def test_both_answer_alike(session, tmp_path: Path, is_older: bool) -> None:
    for producer in PRODUCERS:
        manifest = {"device": "d", "build": "b", "model": producer, "clock": "ns"}
        file = write(tmp_path / f"{producer}.etdp", producer_dump(producer, 3))
        ingest(tmp_path / "store", file, manifest=manifest)
    with Warehouse.open(tmp_path / "store") as store:
        store.export_lake(tmp_path / "lake")
    if is_older:
        _rewrite(tmp_path / "lake", "event_signatures", ["unit"])
        _rewrite(tmp_path / "lake", "counters", ["event_signature_id", "instruction_id"], 0)
    on_spark = SparkLake(session, str(tmp_path / "lake"))
    with Warehouse.open_lake(tmp_path / "lake") as on_duckdb:
        for name in QUESTIONS:
            wanted = on_duckdb.query(name)
            assert wanted.num_rows, name
            assert_same(on_spark.query(name), wanted)
