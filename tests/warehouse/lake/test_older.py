"""Lakes that an older tracehouse wrote, and that have the only copy of somebody's events."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ingest.signatures import EventSignature
from tests.support.lakes import fill, real_looking_farm
from tests.support.producer_dumps import QNN_EVENTS, QNN_GPU_EVENTS, producer_dump
from tests.support.stores import ingest, write
from warehouse import Warehouse
from warehouse.errors import LakeError
from warehouse.lake.commits import AddedFile, Commit, new_id, write_commit
from warehouse.lake.layout import FORMAT_FILE
from warehouse.lake.place import Lake
from warehouse.lake.schemas import LATER_COLUMNS
from warehouse.lake.verification import verify_lake

OF_6 = {"format": 1, "schema": 6}
IDS = [("VGF_EXECUTE", None), ("ETVK_COPY_INPUTS", None), ("VGF_EXECUTE #1", None), ("VGF_", None),
       ("ETVK_COPY_INPUTS", 3), (None, None)]  # fmt: skip


NAMES = [
    *((text, "") for text in (*QNN_EVENTS, *QNN_GPU_EVENTS)),
    *((text, "") for text in (
        "conv #3", "RPC (a) #1", "RPC (a) #b", "RPC ()", "RPC (", "QNN (x)y", " (us)", "a (us)",
        "x:OpId_ (us)",
        ":OpId_1 (us)", "a:OpId_1x (us)", "a:OpId_1:b (us)", "a:OpId_1:OpId_2", "a:OpId_1.5 (us)",
        "a:OpId_1.5",
        "(cycles)", " (cycles)", "b (cycles)", "b (cycles) ", "a (bytes)", "a (count)", "a (s)",
        "y:ios17.conv",
        ":ios17.conv", "a:b:ios16.Add_2", "y:ios.conv", "y:ios17.", "y:ios17.a.b", "y:ios17.a b",
        "VGF_A",
        "ETVK_",
        "ETVK_a", '{"kernel_name": "k", "dispatch_id": 1}', "a #", "#1", " #1", "VGF_A #1",
        "Accelerator (b) c",
    )),
    (None, "+EthosUBackend::execute()NPU"), (None, "EthosUBackend::execute()"),
    (None, "EthosUBackend::init()"), (None, "+EthosUBackend::init()x"), (None, "EthosUBackend::x"),
    (None, "a (us)"), (None, "++EthosUBackend::init()"), (None, "+ArmBackend::execute()x"),
]  # fmt: skip
COUNTED = """
SELECT name, unit, min(value) AS low, count(*) AS n, instruction_id FROM counters
GROUP BY ALL ORDER BY ALL
"""


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A lake of schema 6: without counters, and with phases that are called operators."""
    fill(tmp_path, real_looking_farm())
    [path] = (tmp_path / "event_signatures").glob("*.parquet")
    rows = pq.read_table(path).slice(0, len(IDS)).to_pylist()
    for row, (text, number) in zip(rows, IDS, strict=True):
        row |= {"delegate_id_str": text, "delegate_id_int": number, "kind": "delegate_op"}
    pq.write_table(pa.Table.from_pylist(rows, pq.read_schema(path)), path)
    (tmp_path / FORMAT_FILE).write_text(json.dumps(OF_6))
    return tmp_path


def test_it_is_read_as_it_would_be_written_now(older: Path) -> None:
    with Warehouse.open_lake(older) as lake:
        answer = lake.sql("SELECT delegate_id_str, delegate_id_int, kind FROM event_signatures")
        assert lake.sql("SELECT * FROM counters").num_rows == 0
    found = {(text, number): kind for text, number, kind in zip(*answer.columns, strict=True)}
    kinds = {(str(text), number.as_py()): kind.as_py() for (text, number), kind in found.items()}
    assert kinds == {
        ("VGF_EXECUTE", None): "delegate_phase",
        ("ETVK_COPY_INPUTS", None): "delegate_phase",
        ("VGF_EXECUTE #1", None): "delegate_op",
        ("VGF_", None): "delegate_op",
        ("ETVK_COPY_INPUTS", 3): "delegate_op",
        ("None", None): "delegate_op",
    }


def test_its_events_are_what_ingest_says_they_are(tmp_path: Path) -> None:
    fill(tmp_path, real_looking_farm())
    [path] = (tmp_path / "event_signatures").glob("*.parquet")
    (row, *_) = pq.read_table(path).drop("unit").to_pylist()
    rows = [
        row
        | {"event_signature_id": number, "name": name, "delegate_id_str": text}
        | {"delegate_id_int": None, "kind": "other" if text is None else "delegate_op"}
        for number, (text, name) in enumerate(NAMES)
    ]
    schema = pq.read_schema(path)
    schema = schema.remove(schema.get_field_index("unit"))
    pq.write_table(pa.Table.from_pylist(rows, schema), path)
    with Warehouse.open_lake(tmp_path) as lake:
        found = lake.sql("SELECT kind, unit FROM event_signatures ORDER BY event_signature_id")
    signatures = [
        EventSignature(name.encode(), 1, None, text.encode() if text else None, None)
        for text, name in NAMES
    ]
    told = [(text or name, row["kind"], row["unit"]) for (text, name), row in zip(
        NAMES, found.to_pylist(), strict=True
    )]  # fmt: skip
    assert told == [(text or name, one.kind, one.unit) for (text, name), one in zip(
        NAMES, signatures, strict=True
    )]  # fmt: skip


@pytest.mark.slow
def test_what_delegates_counted_is_found_in_its_events(tmp_path: Path) -> None:
    file = write(tmp_path / "QNN.etdp", producer_dump("QNN", 3))
    ingest(tmp_path / "store", file)
    with Warehouse.open(tmp_path / "store") as store:
        expected = store.sql(COUNTED).to_pylist()
        store.export_lake(tmp_path / "lake")
    assert len(expected) == 6
    with Warehouse.open_lake(tmp_path / "lake") as lake:
        assert lake.sql(COUNTED).to_pylist() == expected
    for path in (tmp_path / "lake").glob("counters/**/*.parquet"):
        rows = pq.read_table(path, partitioning=None)
        pq.write_table(rows.slice(0, 0).drop(["event_signature_id", "instruction_id"]), path)
    with Warehouse.open_lake(tmp_path / "lake") as lake:
        assert lake.sql(COUNTED).to_pylist() == expected


@pytest.mark.slow
def test_a_table_that_nothing_reads_any_more_is_no_problem(tmp_path: Path) -> None:
    fill(tmp_path, real_looking_farm())
    [path] = (tmp_path / "devices").glob("*.parquet")
    old = tmp_path / "mann_whitney_exact" / path.name
    old.parent.mkdir()
    shutil.copy(path, old)
    file = AddedFile(f"{old.parent.name}/{old.name}", 1, old.stat().st_size)
    write_commit(Lake(tmp_path), Commit(new_id(), [file], (), "export"))
    assert verify_lake(Lake(tmp_path)) == []
    with Warehouse.open_lake(tmp_path) as lake:
        assert lake.query("dumps").num_rows > 0


def test_who_writes_into_it_makes_it_one_of_now(older: Path) -> None:
    Lake(older).begin()
    assert json.loads((older / FORMAT_FILE).read_text()) == {"format": 1, "schema": 10}


@pytest.mark.parametrize("schema", [5, 11])
def test_it_is_refused_if_its_tables_are_others(older: Path, schema: int) -> None:
    (older / FORMAT_FILE).write_text(json.dumps({"format": 1, "schema": schema}))
    with pytest.raises(LakeError, match="schemas 6 to 10"):
        Lake(older).check()


@pytest.mark.slow
def test_statistics_that_name_no_run_signature_count_for_the_one_with_the_most_runs(
    tmp_path: Path,
) -> None:
    fill(tmp_path, real_looking_farm())
    asked = "SELECT run, event_name, value FROM operator_stats ORDER BY ALL"
    with Warehouse.open_lake(tmp_path) as lake:
        expected = lake.sql(asked).to_pylist()
    for table in LATER_COLUMNS:
        for path in tmp_path.glob(f"{table}/**/*.parquet"):
            rows = pq.read_table(path, partitioning=None).drop("run_signature_id")
            pq.write_table(rows, path)
    with Warehouse.open_lake(tmp_path) as lake:
        found = lake.sql(asked).to_pylist()
        assert lake.query("percentiles", approx=True).num_rows > 0
    names = [{(row["run"], row["event_name"]) for row in rows} for rows in (found, expected)]
    assert names[0] <= names[1]
    assert {event for _, event in names[0]} == {event for _, event in names[1]}
    assert len(found) > len(expected) / 2
