"""A new store, made once by each process of the tests and copied: for those of anything else."""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import duckdb

from warehouse import Warehouse
from warehouse.engine.seal import seal_file
from warehouse.engine.store_file import FILE_NAME

_NUMBERS = count()


def copy_new_store(store: Path) -> None:
    """Put a new store into a directory, which is made, unless there is one."""
    store.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (store / FILE_NAME).exists():
        shutil.copy(_template(), store)
        with open(store / FILE_NAME, "rb") as file:
            seal_file(store / FILE_NAME, file.fileno())


def connect_new_store() -> duckdb.DuckDBPyConnection:
    """A connection to a new store that nobody else can open."""
    # Its name is new: DuckDB lets all who connect to a path see the database that is open there.
    file = Path(shutil.copy(_template(), _template().with_name(f"{next(_NUMBERS)}.duckdb")))
    connection = duckdb.connect(str(file), config={"threads": 1})
    file.unlink()
    connection.execute("PRAGMA disable_checkpoint_on_shutdown")  # nobody reads it then
    return connection


@cache
def _template() -> Path:
    folder = Path(mkdtemp(prefix="tracehouse-tests-"))
    atexit.register(shutil.rmtree, folder)
    Warehouse.open(folder, create=True).close()
    return folder / FILE_NAME
