from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.support.command import Run
from tests.support.service import service_of, serving
from tests.support.waiting import until
from tracehouse import Warehouse
from tracehouse.warehouse.engine.store_file import FILE_NAME


def make_unreleased(store: Path) -> None:
    """Make a store look as if a development version had written it."""
    with duckdb.connect(str(store / FILE_NAME)) as connection:
        connection.execute("UPDATE schema_migrations SET number = 8")
        connection.execute("DROP TABLE dump_digests")


def test_migrate_makes_no_store(run: Run, tmp_path: Path) -> None:
    assert "no store here" in run("migrate", "--store", tmp_path / "none").error
    assert not (tmp_path / "none").exists()
    Warehouse.open_to_write(tmp_path / "store", create=True).close()
    assert run("migrate", "--store", tmp_path / "store") == (0, b"", "")


def test_migrate_rebuilds_a_store_of_a_development_version(run: Run, farm_copy: Path) -> None:
    make_unreleased(farm_copy)
    asked = run("query", "dumps", "--store", farm_copy)
    assert (asked.code, "'tracehouse migrate'" in asked.error) == (1, True)
    done = run("migrate", "--store", farm_copy)
    assert (done.code, done.out) == (0, b"")
    assert "written by an older tracehouse (schema 8, now" in done.err
    assert "rebuilt, with 148 dumps" in done.err
    assert run("query", "dumps", "--store", farm_copy).code == 0
    assert run("migrate", "--store", farm_copy) == (0, b"", "")


@pytest.mark.system
def test_a_service_rebuilds_such_a_store_when_it_starts(
    farm_copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_unreleased(farm_copy)
    with serving(farm_copy) as client:
        until(lambda: service_of(client).consumer.is_caught_up)
        assert len(client.get("/v1/queries/dumps").json()) == 148
    assert "written by an older tracehouse (schema 8" in capsys.readouterr().err
