"""A new store, made once per process and copied, for tests that are not about making stores."""

from __future__ import annotations

import atexit
import shutil
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from weakref import finalize

import duckdb

from tests.support.layers import GUARD
from tracehouse.warehouse.engine import writer
from tracehouse.warehouse.engine.sql_functions import FUNCTIONS, register_functions
from tracehouse.warehouse.engine.store_checks import seal_file
from tracehouse.warehouse.engine.store_file import FILE_NAME, make_file

BUILD = writer._build
_NUMBERS = count()


def copy_new_store(store: Path) -> None:
    """Put a new store into a directory, which is created, unless it has a store."""
    GUARD.require("store", "makes a store")
    store.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (store / FILE_NAME).exists():
        shutil.copy(_template(), store)
        with open(store / FILE_NAME, "rb") as file:
            seal_file(store / FILE_NAME, file.fileno())


def copy_template(file: Path) -> None:
    """Put the file of a new store there, as the product would create it."""
    shutil.copyfile(_template(), file)


def connect_new_store() -> duckdb.DuckDBPyConnection:
    """A connection to a new store that no other process can open."""
    GUARD.require("store", "opens a database")
    name = f"store_{next(_NUMBERS)}"
    file = Path(shutil.copy(_template(), _template().with_name(f"{name}.duckdb")))
    connection = _duckdb().cursor()
    connection.execute(f"ATTACH '{file}' AS {name}")
    connection.execute(f"USE {name}")
    file.unlink()
    finalize(connection, _detach, name).atexit = False
    return connection


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    """One DuckDB for all these stores: starting it takes longer than copying a store."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("PRAGMA disable_checkpoint_on_shutdown")  # they are not read again
    register_functions(connection, " ".join(f"{function.name}()" for function in FUNCTIONS))
    return connection


def _detach(name: str) -> None:
    with suppress(duckdb.Error):  # a cursor of it may still be there
        _duckdb().cursor().execute(f"DETACH {name}")


@cache
def _template() -> Path:
    folder = Path(mkdtemp(prefix="tracehouse-tests-"))
    atexit.register(shutil.rmtree, folder)
    make_file(folder, BUILD, is_shared=False)
    return folder / FILE_NAME
