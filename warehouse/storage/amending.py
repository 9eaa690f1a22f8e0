"""Manifests that were ingested wrongly: what is to be corrected, and the correction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import duckdb

from ingest.errors import ManifestError
from ingest.manifest.fields import Fields, find_key, list_differences
from ingest.manifest.resolver import correct_manifest
from warehouse.archive.archive import Archive
from warehouse.archive.entries import AMENDED, Entry
from warehouse.engine.connection import translated_errors
from warehouse.errors import QueryError
from warehouse.storage.choice import ChosenDump
from warehouse.storage.upkeep import record_upkeep

_TRACED = "SELECT source FROM dumps WHERE NOT etrecord_id IS NULL AND dump_id IN (SELECT unnest(?))"


class Amendment(NamedTuple):
    """A dump and the manifest that it is to have, as canonical JSON."""

    dump: ChosenDump
    manifest: str

    def changes(self) -> list[tuple[str, str, str]]:
        """Fields that it changes, each with what it states now and then."""
        return list_differences(self.dump.manifest, self.manifest)

    def is_of_method(self) -> bool:
        """Whether it changes the method of the program that was run."""
        return any(name == "method" for name, _, _ in self.changes())


def parse_corrections(stated: Sequence[str]) -> Fields:
    """Fields by key out of ``FIELD=VALUE``; an empty value withdraws the field.

    >>> parse_corrections(["build=b42", "device.os="])
    {('build', 'id'): 'b42', ('device', 'os'): None}

    Raises:
        ManifestError: One is no such text, or there is no such field.
    """
    fields: Fields = {}
    for text in stated:
        name, mark, value = text.partition("=")
        if not mark:
            raise ManifestError("--set", f"found '{text}', wanted FIELD=VALUE")
        try:
            fields[find_key(name.strip())] = value or None
        except ValueError as error:
            raise ManifestError("--set", str(error)) from error
    return fields


def plan_amendments(
    connection: duckdb.DuckDBPyConnection, dumps: Sequence[ChosenDump], stated: Fields
) -> list[Amendment]:
    """What is to be corrected, of dumps that do not state it already.

    A malformed correction raises ManifestError.

    Raises:
        QueryError: The method of a dump that came with an ETRecord would change.
    """
    planned = []
    for dump in dumps:
        manifest = correct_manifest(dump.manifest, "--set", stated).canonical_json()
        if manifest != dump.manifest:
            planned.append(Amendment(dump, manifest))
    _check_methods(connection, planned)
    return planned


def amend_manifests(
    connection: duckdb.DuckDBPyConnection, store: Path, amendments: Sequence[Amendment]
) -> None:
    """Correct manifests, in the store and in its archive.

    Raises:
        StoreError: It cannot be written.
    """
    now = datetime.now(UTC)
    entries = [
        Entry(AMENDED, now, one.dump.source, one.dump.sha256, manifest=one.manifest)
        for one in amendments
    ]
    with translated_errors(store):
        record_upkeep(connection, Archive(store), entries)


def _check_methods(connection: duckdb.DuckDBPyConnection, amendments: Sequence[Amendment]) -> None:
    """Pass if no dump is traced to another program by its new manifest.

    Raises:
        QueryError: One is.
    """
    changed = [one.dump.dump_id for one in amendments if one.is_of_method()]
    found = connection.execute(_TRACED, [changed]).fetchone()
    if found:
        raise QueryError(
            f"{found[0]}: its ETRecord was read for the method it states: to state another, forget "
            "the dump with 'tracehouse forget' and ingest it again"
        )
