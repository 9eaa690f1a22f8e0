"""A store may come from anybody: nothing in it runs but the reading of our own tables."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import duckdb
import pytest

from tests.support.corpus import read_dump
from tests.support.cross_section import cross_section
from tests.support.stores import ingest, open_now, write
from tracehouse import Warehouse
from tracehouse.warehouse.catalogue.queries import load_catalogue
from tracehouse.warehouse.catalogue.views import load_views
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.errors import QueryError, StatementError, StoreError

CONFIDENTIAL = "what only this machine knows"


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("honest")
    dump = write(folder / "a.etdp", read_dump("real/mlp_xnnpack_n1"))
    ingest(folder / "store", dump)
    return folder / "store"


@pytest.fixture
def store(honest: Path, tmp_path: Path) -> Path:
    write(tmp_path / "secret.txt", CONFIDENTIAL.encode())
    shutil.copytree(honest, tmp_path / "store")
    return tmp_path / "store"


def tamper(store: Path, statements: Iterable[str]) -> None:
    """Change a store with DuckDB itself; what it writes besides, while it does, is cleared away."""
    folder = store.parent
    with duckdb.connect(str(store / FILE_NAME)) as connection:
        for statement in statements:
            text = statement.replace("{secret}", f"{folder}/secret.txt")
            connection.execute(text.replace("{folder}", str(folder)))
    (folder / "out.csv").unlink(missing_ok=True)
    shutil.rmtree(folder / "log", ignore_errors=True)


def leavings(store: Path) -> list[str]:
    """What stands beside a store now."""
    return sorted(path.name for path in store.parent.iterdir())


def answers(store: Path) -> dict[str, list[dict[str, object]]]:
    """What every canned query answers that needs no parameters, and some SQL."""
    found = {}
    with Warehouse.open(store, read_only=True) as warehouse:
        for name, query in load_catalogue().items():
            if not any(parameter.is_required for parameter in query.header.params):
                found[name] = warehouse.query(name).to_pylist()
        for view in load_views():
            found[view] = warehouse.sql(f"SELECT count(*) AS n FROM {view}").to_pylist()  # noqa: S608
        found["schema"] = warehouse.schema().to_pylist()
    return found


@pytest.fixture(scope="module")
def honest_answers(honest: Path) -> dict[str, list[dict[str, object]]]:
    return answers(honest)


LIES = {
    "constant": "SELECT 'a lie' AS source",
    "writes": "SELECT * FROM json_execute_serialized_sql(json_serialize_sql("
    "'WITH x AS (COPY (SELECT 1) TO ''{folder}/out.csv'') SELECT 1 AS source'))",
    "logs": "SELECT * FROM enable_logging(storage = 'file', storage_path = '{folder}/log')",
    "reads": "SELECT content AS source FROM read_text('{secret}')",
    "reads_csv": "SELECT * FROM read_csv('{secret}', header = false)",
    "never_ends": "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n FROM x) SELECT n FROM x",
}


@pytest.mark.slow
@pytest.mark.parametrize("lie", cross_section(LIES, 6))
def test_views_that_lie_are_never_read(honest_answers, store: Path, lie: str) -> None:
    tamper(store, (f"CREATE OR REPLACE VIEW {view} AS {LIES[lie]}" for view in load_views()))
    before = (store / FILE_NAME).read_bytes()
    assert answers(store) == honest_answers
    assert (store / FILE_NAME).read_bytes() == before
    assert leavings(store) == ["secret.txt", "store"]


@pytest.mark.parametrize("lie", cross_section(LIES, 6))
def test_views_that_came_with_a_store_do_not_answer(store: Path, lie: str) -> None:
    tamper(
        store, [f"CREATE OR REPLACE VIEW {view} AS {LIES[lie]}" for view in ("evil", "named_dumps")]
    )
    before = (store / FILE_NAME).read_bytes()
    with Warehouse.open(store, read_only=True) as warehouse:
        for text in (
            "SELECT * FROM evil",
            'SELECT * FROM "EVIL"',
            "SELECT * FROM main.evil",
            "DESCRIBE evil",
            "SUMMARIZE evil",
            "SELECT * FROM warehouse.main.named_dumps",
            "SELECT * FROM main.named_dumps",
            "SELECT (SELECT count(*) FROM evil)",
            "SELECT * FROM query_table('evil')",
        ):
            for allow_files in (False, True):
                with pytest.raises(StatementError) as caught:
                    warehouse.sql(text, allow_files=allow_files)
                assert CONFIDENTIAL not in str(caught.value)
    assert (store / FILE_NAME).read_bytes() == before
    assert leavings(store) == ["secret.txt", "store"]


STRANGE = {
    "macro": "CREATE MACRO median(a) AS 'a lie'",
    "macro_of_an_operator": "CREATE MACRO \"||\"(a, b) AS 'a lie'",
    "macro_that_reads": "CREATE MACRO nullif(a, b) AS (SELECT content FROM read_text('{secret}'))",
    "table_macro": "CREATE MACRO duckdb_functions() AS TABLE SELECT 'x' AS function_name, "
    "'y' AS database_name, false AS internal",
    "table_macro_of_types": "CREATE MACRO duckdb_tables() AS TABLE SELECT 1 AS a",
    "type": "CREATE TYPE mood AS ENUM ('a')",
    "check": "CREATE TABLE more (a INT, CHECK (a > 0))",
}


@pytest.mark.parametrize("name", cross_section(STRANGE, 2))
def test_a_store_with_what_runs_by_itself_is_refused(store: Path, name: str) -> None:
    tamper(store, [STRANGE[name]])
    for read_only in (True, False):
        with pytest.raises(StoreError, match="do not trust"):
            open_now(store, read_only=read_only)
    assert leavings(store) == ["secret.txt", "store"]


TABLES = {
    "view_for_table": ("DROP VIEW named_dumps", "ALTER TABLE dumps RENAME TO old_dumps",
                       "CREATE VIEW dumps AS SELECT * FROM old_dumps"),
    "generated_column": ("ALTER TABLE models RENAME TO old_models", "CREATE TABLE models "
                         "(model_id INTEGER, name VARCHAR GENERATED ALWAYS AS ('a lie'), "
                         "backend VARCHAR, quantization VARCHAR)"),
    "default": ("ALTER TABLE models ALTER COLUMN backend SET DEFAULT 'a lie'",),
    "missing_table": ("DROP TABLE allocations",),
    "other_type": ("ALTER TABLE builds ALTER COLUMN ordinal TYPE VARCHAR",),
    "missing_column": ("ALTER TABLE dumps DROP COLUMN manifest",),
}  # fmt: skip


@pytest.mark.parametrize("name", cross_section(TABLES, 2))
def test_a_store_whose_tables_are_not_ours_is_refused(store: Path, name: str) -> None:
    tamper(store, TABLES[name])
    for read_only in (True, False):
        with pytest.raises(StoreError, match="the store was modified; ingest its dumps into"):
            open_now(store, read_only=read_only)


def test_a_schema_version_that_is_a_view_is_not_run(store: Path) -> None:
    tamper(
        store, ["DROP TABLE schema_migrations", f"CREATE VIEW schema_migrations AS {LIES['reads']}"]
    )
    with pytest.raises((StoreError, QueryError)):
        Warehouse.open(store, read_only=True).schema()
