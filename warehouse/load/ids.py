"""Ids of devices, models and builds: given out once, the same whenever they are named again."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from datetime import datetime

import duckdb

from ingest.manifest.resolver import Build, Device, Manifest, Model
from ingest.schemas.attributes import dimension_columns
from warehouse.catalogue.sql_files import read_statement


class NamedIds:
    """Ids of devices or models; two with the same attributes are the same."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, kind: str) -> None:
        """Read the ids in use."""
        self._connection, self._table = connection, f"{kind}s"
        self._columns = dimension_columns(kind)
        text = f"SELECT {kind}_id, {', '.join(self._columns)} FROM {kind}s"  # noqa: S608
        rows = connection.execute(text).fetchall()
        self._ids: dict[tuple[object, ...], int] = {row[1:]: row[0] for row in rows}

    def id_of(self, thing: Device | Model, known: int | None = None) -> int:
        """The thing's id, given out now if it is new: the one it is known by, if there is one."""
        key = tuple(getattr(thing, column) for column in self._columns)
        if key not in self._ids:
            self._ids[key] = _free_id(self._ids.values(), known)
            marks = ", ".join("?" * (len(key) + 1))
            text = f"INSERT INTO {self._table} VALUES ({marks})"  # noqa: S608
            self._connection.execute(text, [self._ids[key], *key])
        return self._ids[key]


class Builds:
    """Ids of builds; a build is known by its name, and each dump may add facts about it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Read the builds in use."""
        self._connection = connection
        rows = connection.execute("SELECT name, build_id FROM builds").fetchall()
        self._ids: dict[str, int] = dict(rows)
        self._stated: set[Build] = set()

    def id_of(self, build: Build, known: int | None = None) -> int:
        """The build's id, as above."""
        if build.id not in self._ids:
            self._ids[build.id] = _free_id(self._ids.values(), known)
            text = "INSERT INTO builds (build_id, name) VALUES (?, ?)"
            self._connection.execute(text, [self._ids[build.id], build.id])
        return self._ids[build.id]

    def complete(self, stated: Iterable[tuple[datetime, Manifest]]) -> None:
        """Fill in what manifests state of builds, by the time that they came at.

        Where two differ the first to come counts; of one batch, the one whose text comes first in
        alphabetical order: a lake, which knows no other order, settles it so too.
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


def _text_of(manifest: Manifest) -> str:
    """What a manifest states of its build, as it stands in the manifest's canonical JSON."""
    stated = json.loads(manifest.canonical_json())["build"]
    return json.dumps(stated, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _free_id(ids: Collection[int], known: int | None) -> int:
    """The known id; the next if another thing has it, as where a part of the archive is lost."""
    return known if known and known not in ids else max(ids, default=0) + 1
