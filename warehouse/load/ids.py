"""Ids of devices, models and builds, each assigned once."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from datetime import datetime

import duckdb

from tracehouse.ingest.manifest.resolver import Build, Device, Manifest, Model
from tracehouse.ingest.schemas.attributes import dimension_columns
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.build_order import update_build_order


class NamedIds:
    """Ids of devices or models; equal attributes mean the same device or model."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, kind: str) -> None:
        self._connection, self._table = connection, f"{kind}s"
        self._columns = dimension_columns(kind)
        text = f"SELECT {kind}_id, {', '.join(self._columns)} FROM {kind}s"  # noqa: S608
        rows = connection.execute(text).fetchall()
        self._ids: dict[tuple[object, ...], int] = {row[1:]: row[0] for row in rows}

    def id_of(self, thing: Device | Model, known: int | None = None) -> int:
        """The id of a device or model; a new one gets the `known` id or the next free id."""
        key = tuple(getattr(thing, column) for column in self._columns)
        if key not in self._ids:
            self._ids[key] = _free_id(self._ids.values(), known)
            marks = ", ".join("?" * (len(key) + 1))
            text = f"INSERT INTO {self._table} VALUES ({marks})"  # noqa: S608
            self._connection.execute(text, [self._ids[key], *key])
        return self._ids[key]


class Builds:
    """Ids of builds by name; each dump may add attributes of its build."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        rows = connection.execute("SELECT name, build_id FROM builds").fetchall()
        self._ids: dict[str, int] = dict(rows)
        self._stated: set[Build] = set()

    def id_of(self, build: Build, known: int | None = None) -> int:
        """The build's id; a new one gets the `known` id or the next free id."""
        if build.id not in self._ids:
            self._ids[build.id] = _free_id(self._ids.values(), known)
            text = "INSERT INTO builds (build_id, name) VALUES (?, ?)"
            self._connection.execute(text, [self._ids[build.id], build.id])
        return self._ids[build.id]

    def complete(self, stated: Iterable[tuple[datetime, Manifest]]) -> None:
        """Add attributes of builds from manifests with their times of ingest.

        If manifests differ, the earliest one wins; within one batch, the one whose text is first in
        alphabetical order. The same rule applies to a lake, which has no other order.
        """
        builds = {
            (taken_at, _text_of(manifest)): manifest.build
            for taken_at, manifest in stated
            if manifest.build not in self._stated
        }
        for key in sorted(builds):
            self._stated.add(builds[key])
            values = builds[key].model_dump()
            self._connection.execute(read_statement("complete_build"), values)


def merge_dimensions(connection: duckdb.DuckDBPyConnection) -> None:
    """Bring devices, models and builds, and the order of builds, in line with all dumps.

    Devices, models and builds without dumps are deleted.
    """
    connection.execute(read_statement("merge_dimensions"))
    update_build_order(connection)


def _text_of(manifest: Manifest) -> str:
    """The build in a manifest's canonical JSON, as text."""
    stated = json.loads(manifest.canonical_json())["build"]
    return json.dumps(stated, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _free_id(ids: Collection[int], known: int | None) -> int:
    """The known id, or the next free one if it is taken, as after a loss of archive segments."""
    return known if known and known not in ids else max(ids, default=0) + 1
