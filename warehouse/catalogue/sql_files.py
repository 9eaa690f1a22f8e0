"""The .sql files that ship with tracehouse."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from warehouse.catalogue.dialect import with_macros


@cache
def read_sql_files(folder: str) -> list[tuple[str, str]]:
    """Names and texts of the .sql files in a folder of the package sql, in order of name."""
    found = [path for path in (files("sql") / folder).iterdir() if path.name.endswith(".sql")]
    return sorted((path.name, with_macros(path.read_text("utf-8"))) for path in found)


@cache
def read_statement(name: str) -> str:
    """The text of a file of sql/statements, by its name without the suffix."""
    return with_macros((files("sql") / "statements" / f"{name}.sql").read_text("utf-8"))
