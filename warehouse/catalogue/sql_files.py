"""The .sql files that ship with tracehouse."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from tracehouse.warehouse.catalogue.dialect import with_macros


@cache
def list_sql_files(folder: str) -> tuple[str, ...]:
    """Names of the .sql files in a folder of the package sql, without the suffix, in order."""
    names = (path.name for path in (files("tracehouse.sql") / folder).iterdir())
    return tuple(sorted(name[:-4] for name in names if name.endswith(".sql")))


@cache
def read_sql_file(folder: str, name: str) -> str:
    """The text of a .sql file, by its name without the suffix."""
    return with_macros((files("tracehouse.sql") / folder / f"{name}.sql").read_text("utf-8"))


def read_sql_files(folder: str) -> dict[str, str]:
    """The texts of the .sql files in a folder, by name without the suffix, in order."""
    return {name: read_sql_file(folder, name) for name in list_sql_files(folder)}


def read_statement(name: str) -> str:
    """The text of a file of sql/statements, by its name without the suffix."""
    return read_sql_file("statements", name)
