"""Ids of devices, models and builds: given out once, the same whenever they are named again."""

from __future__ import annotations

import duckdb

from ingest.manifest.resolver import Build, Device, Model
from warehouse.catalogue.sql_files import read_statement


class NamedIds:
    """Ids of things, such as devices; two are the same thing if all their columns are equal."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, table: str, columns: tuple[str, ...]
    ) -> None:
        """Read the names in use."""
        self._connection, self._table, self._columns = connection, table, columns
        text = f"SELECT {', '.join(columns)} FROM {table} ORDER BY {table[:-1]}_id"  # noqa: S608
        rows = connection.execute(text).fetchall()
        self._ids = {row: number for number, row in enumerate(rows, 1)}

    def id_of(self, thing: Device | Model) -> int:
        """The thing's id, given out now if it is new."""
        key = tuple(getattr(thing, column) for column in self._columns)
        known = self._ids.get(key)
        if known is None:
            known = self._ids[key] = len(self._ids) + 1
            marks = ", ".join("?" * (len(key) + 1))
            self._connection.execute(f"INSERT INTO {self._table} VALUES ({marks})", [known, *key])  # noqa: S608
        return known


class Builds:
    """Ids of builds; a build is known by its name, and each dump may add facts about it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Read the builds in use."""
        self._connection = connection
        rows = connection.execute("SELECT name, build_id FROM builds").fetchall()
        self._ids: dict[str, int] = dict(rows)
        self._stated: set[Build] = set()

    def id_of(self, build: Build) -> int:
        """The build's id, given out now if it is new; missing facts are filled in."""
        if build.id not in self._ids:
            self._ids[build.id] = len(self._ids) + 1
            text = "INSERT INTO builds (build_id, name) VALUES (?, ?)"
            self._connection.execute(text, [self._ids[build.id], build.id])
        if build not in self._stated:
            self._stated.add(build)
            self._connection.execute(read_statement("complete_build"), build.model_dump())
        return self._ids[build.id]
