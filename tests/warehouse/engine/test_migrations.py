"""Stores written by earlier versions are brought up to date and lose nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from ingest.signatures import event_kind
from ingest.simulation.dump_template import DumpTemplate, repeat_runs
from tests.support.corpus import CORPUS
from tests.support.cross_section import cross_section
from tests.support.etrecord_builder import MODELS
from tests.support.stores import contents, ingest, write
from warehouse import Warehouse
from warehouse.engine.migrations import load_migrations, migrate
from warehouse.engine.store_file import FILE_NAME
from warehouse.engine.views import load_views
from warehouse.errors import OldStoreError

DUMPS = ("traced_intdesc_n1_debug", "mixed_xnnpack_n20")
NEW_TABLES = {
    "tensors", "etrecords", "graph_nodes", "debug_handles", "delegates", "event_origins",
    "event_modules", "counters",
}  # fmt: skip
NEW_COLUMNS = {"etrecord_id", "debug_buffer_sha256", "sha256", "parsed"}


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of today with dumps in it; only for reading."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "in").mkdir()
    for name in DUMPS:
        shutil.copy(CORPUS / "real" / f"{name}.etdp", folder / "in")
    ingest(folder / "new", folder / "in")
    return folder / "new"


@pytest.fixture(scope="module")
def made_old(new: Path) -> Path:
    return write_old(new.with_name("old"), new, 1)


@pytest.fixture
def old(made_old: Path, tmp_path: Path) -> Path:
    """A store of schema 1 with the same dumps in it, and views."""
    return Path(shutil.copytree(made_old, tmp_path / "old"))


def write_old(store: Path, new: Path, schema: int) -> Path:
    """A store of an older schema with the rows of a new one, and views of its own."""
    store.mkdir()
    with duckdb.connect(str(store / FILE_NAME)) as connection:
        for number, name, text in load_migrations()[:schema]:
            connection.execute(text)
            values = [number, name]
            connection.execute(
                "INSERT INTO schema_migrations VALUES (?, ?, now(), '0.1.0')", values
            )
        for view in (*load_views(), "complete_run_events"):
            connection.execute(f"CREATE VIEW {view} AS SELECT 1 AS old")
        connection.execute(f"ATTACH '{new / FILE_NAME}' AS new (READ_ONLY)")
        tables = connection.execute(
            "SELECT table_name, list(column_name ORDER BY column_index) FROM duckdb_columns() "
            "WHERE database_name = 'warehouse' AND table_name IN (SELECT table_name FROM "
            "duckdb_tables() WHERE database_name = 'warehouse') "
            "AND table_name NOT LIKE 'schema_%' AND table_name <> 'mann_whitney_exact' GROUP BY 1"
        ).fetchall()
        for table, columns in tables:
            text = ", ".join(columns)
            connection.execute(
                f"INSERT INTO {table} BY NAME SELECT {text} FROM new.{table} ORDER BY rowid"  # noqa: S608
            )
    return store


def test_a_reader_of_an_old_store_changes_nothing_and_says_how_to_migrate_it(old: Path) -> None:
    before = (old / FILE_NAME).read_bytes()
    with pytest.raises(OldStoreError, match=r"schema 1, now 10\); .* 'tracehouse migrate'"):
        Warehouse.open(old, read_only=True)
    assert (old / FILE_NAME).read_bytes() == before


@pytest.mark.slow
def test_an_old_store_keeps_its_rows_and_new_columns_are_null(new: Path, old: Path) -> None:
    Warehouse.open(old, create=True).close()
    found, expected = contents(old), contents(new)
    assert found.keys() == expected.keys()
    assert "mann_whitney_exact" not in found
    assert {name for name in NEW_TABLES if found[name]} == set()
    for name in found.keys() - NEW_TABLES - {"delegate_metadata"}:
        assert found[name] == expected[name]
    with Warehouse.open(old, read_only=True) as warehouse:
        rows = warehouse.sql("SELECT parsed FROM delegate_metadata")["parsed"].to_pylist()
        assert set(rows) == {None}
        assert len(rows) == len(expected["delegate_metadata"]) > 0


def test_an_old_store_answers_as_a_new_one(new: Path, old: Path) -> None:
    Warehouse.open(old, create=True).close()
    with (
        Warehouse.open(old, read_only=True) as migrated,
        Warehouse.open(new, read_only=True) as expected,
    ):
        for query in ("percentiles", "framework_tax", "operator_hotspots", "module_totals"):
            assert migrated.query(query).equals(expected.query(query))
        assert migrated.schema().equals(expected.schema())


@pytest.mark.slow
def test_tables_are_described_as_this_version_does(tmp_path: Path) -> None:
    Warehouse.open(tmp_path, create=True).close()
    with Warehouse.open(tmp_path, read_only=True) as warehouse:
        expected = warehouse.schema()
    with duckdb.connect(str(tmp_path / FILE_NAME)) as connection:
        connection.execute("COMMENT ON TABLE runs IS 'what an older version said'")
        connection.execute("COMMENT ON COLUMN schema_views.sha256 IS NULL")
        connection.execute("UPDATE schema_views SET sha256 = 'an older version''s'")
    Warehouse.open(tmp_path).close()
    with Warehouse.open(tmp_path, read_only=True) as warehouse:
        assert warehouse.schema().equals(expected)


@pytest.mark.slow
def test_an_old_store_takes_what_comes_with_dumps(tmp_path: Path, new: Path) -> None:
    folder = Path(shutil.copytree(new.with_name("in"), tmp_path / "in"))
    ingest(tmp_path / "new", folder)
    old = write_old(tmp_path / "old", tmp_path / "new", 1)
    shutil.copy(CORPUS / "real" / f"{DUMPS[0]}.debug.bin", folder)
    shutil.copy(MODELS / "traced_intdesc.etrecord", folder / "net.etrecord")
    ingest(tmp_path / "whole", folder)
    assert ingest(old, folder).n_duplicates == 2
    found, expected = contents(old), contents(tmp_path / "whole")
    for table in found.keys() - {"delegate_metadata"}:
        assert found[table] == expected[table], table


def test_a_migration_that_was_broken_off_is_done_again(tmp_path: Path) -> None:
    first, second = load_migrations()[:2]
    with duckdb.connect(str(tmp_path / FILE_NAME)) as connection:
        connection.execute(first.text)
        connection.execute("INSERT INTO schema_migrations VALUES (1, 'tables', now(), '0.1.0')")
        connection.execute("BEGIN")
        connection.execute(second.text)
        connection.execute("ROLLBACK")
        migrate(connection)
    with Warehouse.open(tmp_path, read_only=True) as warehouse:
        assert warehouse.sql("SELECT etrecord_id FROM dumps").num_rows == 0


@pytest.mark.slow
def test_a_value_of_events_that_are_gone_is_their_plain_median(new: Path, old: Path) -> None:
    with duckdb.connect(str(old / FILE_NAME)) as connection:
        connection.execute("DELETE FROM events")
    Warehouse.open(old, create=True).close()
    other = "SELECT 1 FROM event_stats WHERE steady_grouped_ticks <> steady_p50_ticks"
    some = "SELECT 1 FROM event_stats WHERE steady_grouped_ticks IS NOT NULL"
    with Warehouse.open(old, read_only=True) as warehouse:
        assert warehouse.sql(other).num_rows == 0 < warehouse.sql(some).num_rows
    with Warehouse.open(new, read_only=True) as warehouse:
        assert warehouse.sql(other).num_rows > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("delegate_id", "number", "kind"),
    [
        ("VGF_EXECUTE", None, "delegate_phase"), ("ETVK_COPY_INPUTS", None, "delegate_phase"),
        ("VGF_EXECUTE #1", None, "delegate_op"), ("VGF_EXECUTE", 3, "delegate_op"),
    ],
)  # fmt: skip
def test_phases_of_delegates_are_of_the_kind_that_ingest_gives_them(
    old: Path, delegate_id: str, number: int | None, kind: str
) -> None:
    assert event_kind(b"", delegate_id.encode() if number is None else number) == kind
    with duckdb.connect(str(old / FILE_NAME)) as connection:
        values = [5, "", 0, number, delegate_id, "delegate_op", True, False, None, None]
        marks = ", ".join("?" * len(values))
        connection.execute(f"INSERT INTO event_signatures VALUES ({marks})", values)  # noqa: S608
    Warehouse.open(old, create=True).close()
    with Warehouse.open(old, read_only=True) as warehouse:
        text = "SELECT kind FROM event_signatures WHERE event_signature_id = 5"
        assert warehouse.sql(text)["kind"].to_pylist() == [kind]


def with_a_flagged_event(data: bytes) -> bytes:
    template = DumpTemplate(data)
    starts, ends = template.starts.copy(), template.ends.copy()
    starts[100] = (1 << 40) + ends[100]
    return template.with_times(starts, ends)


@pytest.fixture(scope="module")
def long(new: Path) -> Path:
    """A store of today, in it too a long dump and one with an event that counts nowhere."""
    folder = Path(shutil.copytree(new.with_name("in"), new.with_name("long")))
    small = (CORPUS / "real" / "cnn_portable_n20.etdp").read_bytes()
    write(folder / "long.etdp", repeat_runs(small, 12))
    write(folder / "flagged.etdp", with_a_flagged_event(small))
    ingest(folder / "store", folder)
    return folder / "store"


@pytest.mark.slow
@pytest.mark.parametrize("schema", cross_section([1, 2, 3, 5, 6], 5))
def test_rollups_of_a_store_that_had_none_are_those_of_ingest(
    tmp_path: Path, long: Path, schema: int
) -> None:
    old = write_old(tmp_path / "old", long, schema)
    Warehouse.open(old, create=True).close()
    found, expected = contents(old), contents(long)
    for table in ("run_totals", "event_totals", "event_histograms", "event_stats"):
        assert len(expected[table]) > 20
        assert found[table] == expected[table], table
    with Warehouse.open(old, read_only=True) as warehouse:
        assert warehouse.sql("SELECT 1 FROM dumps WHERE n_flagged_events > 0").num_rows == 1
        assert "complete_run_events" not in warehouse.schema()["table_name"].to_pylist()
