from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tracehouse.warehouse.engine.connection import translated_errors
from tracehouse.warehouse.errors import DamagedStoreError, StoreError

DAMAGED = (
    'IO Error: The file "warehouse.duckdb" exists, but it is not a valid DuckDB database file!',
    "IO Error: Corrupt database file: computed checksum 5 does not match stored checksum 6",
    'Serialization Error: Failure while replaying WAL file "warehouse.duckdb.wal"',
    "IO Error: This WAL was created for this database file, but the WAL checkpoint iteration does "
    "not match the database file.",
)
FULL = (
    'IO Error: Could not read from file "warehouse.duckdb": Input/output error',
    'IO Error: Could not write file "warehouse.duckdb": No space left on device',
    'IO Error: Checkpoint failed for database "warehouse". The database has been invalidated. '
    'Original error: Could not write file "warehouse.duckdb": No space left on device',
)


# What DuckDB takes for a notebook; there, without ipywidgets, it has no progress bar to turn off.
NOTEBOOK = """
import sys, types
shell = types.SimpleNamespace(config={"IPKernelApp": {}})
sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: shell)
sys.modules["ipywidgets"] = None
from tracehouse import Warehouse
Warehouse.open(sys.argv[1], create=True).close()
"""


def translated(store: Path, text: str) -> StoreError:
    with pytest.raises(StoreError) as caught, translated_errors(store):
        raise duckdb.IOException(text)
    return caught.value


@pytest.mark.parametrize("text", DAMAGED)
def test_damage_names_the_command_that_mends_it_where_there_is_an_archive(
    tmp_path: Path, text: str
) -> None:
    assert not isinstance(translated(tmp_path, text), DamagedStoreError)
    (tmp_path / "archive").mkdir()
    error = translated(tmp_path, text)
    assert isinstance(error, DamagedStoreError)
    assert str(error).endswith("'tracehouse store rebuild'")


def test_errors_of_the_disk_name_the_file_and_others_are_passed_on(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught, translated_errors(tmp_path):
        raise OSError(errno.EIO, "Input/output error", str(tmp_path / "archive"))
    assert str(caught.value).startswith(
        f"{tmp_path}/archive: the disk fails: Input/output error; committed data is safe: repair"
    )
    with pytest.raises(PermissionError), translated_errors(tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_the_cause_of_an_invalidated_database_is_named(tmp_path: Path) -> None:
    text = (
        "FATAL Error: Failed: database has been invalidated because of a previous fatal error. The "
        'database must be restarted prior to being used again.\nOriginal error: "fsync failed!"'
    )
    assert "fails (fsync failed!)" in str(translated(tmp_path, text))


@pytest.mark.parametrize("text", FULL)
def test_a_full_disk_is_no_damage(tmp_path: Path, text: str) -> None:
    (tmp_path / "archive").mkdir()
    error = translated(tmp_path, text)
    assert not isinstance(error, DamagedStoreError)
    assert "free some space" in str(error)


@pytest.mark.system
@pytest.mark.slow
def test_store_opens_in_a_notebook_without_ipywidgets(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", NOTEBOOK, tmp_path / "store"], check=True)
