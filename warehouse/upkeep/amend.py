"""Corrections of manifests in a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa

from tracehouse.ingest.errors import ManifestError
from tracehouse.ingest.manifest.fields import Fields, find_key, list_differences
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.ingest.manifest.resolver import correct_manifest
from tracehouse.ingest.schemas.dumps import DUMPS
from tracehouse.warehouse.archive.entries import AMENDED, Entry, Ids
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.connection import register_temporarily
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.load.dump_rows import DumpRows, merge_dimensions, replace_counters
from tracehouse.warehouse.load.loader import parse_manifest
from tracehouse.warehouse.load.logged_data import parse_metadata
from tracehouse.warehouse.upkeep.choice import ChosenDump
from tracehouse.warehouse.upkeep.recording import record_upkeep

_NUMBERS = "SELECT sha256, dump_id FROM dumps WHERE sha256 IN (SELECT unnest(?))"
_FACTS = (
    "sha256", "device_id", "build_id", "model_id", "captured_at", "tick_unit", "ns_per_tick",
    "delegate_ns_per_tick", "manifest",
)  # fmt: skip
_AMENDED = pa.schema([DUMPS.field(name) for name in _FACTS])
_TRACED = "SELECT source FROM dumps WHERE NOT etrecord_id IS NULL AND dump_id IN (SELECT unnest(?))"


class Amendment(NamedTuple):
    """A dump and its corrected manifest, as canonical JSON."""

    dump: ChosenDump
    manifest: str

    def changes(self) -> list[tuple[str, str, str]]:
        """Changed fields, each with its old and its new value."""
        return list_differences(self.dump.manifest, self.manifest)


def parse_corrections(stated: Sequence[str]) -> Fields:
    """Fields by key from ``FIELD=VALUE``; an empty value removes the field.

    >>> parse_corrections(["build=b42", "device.os="])
    {('build', 'id'): 'b42', ('device', 'os'): None}

    Raises:
        ManifestError: A text is malformed, or the field does not exist.
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
    """Amendments of the dumps whose manifests the stated fields change.

    A malformed field raises ManifestError.

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
        StoreError: The store cannot be written.
    """
    now = datetime.now(UTC)
    with record_upkeep(connection, store) as history:
        rows = DumpRows(connection)
        entries = [
            Entry(
                AMENDED,
                now,
                one.dump.source,
                one.dump.sha256,
                _number_names(rows, one),
                one.manifest,
            )
            for one in amendments
        ]
        history.add(entries)
        amend_dumps(connection, entries)


def amend_dumps(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    """Apply the manifests in entries, and delete unused devices, models and builds."""
    rows = DumpRows(connection)
    known = dict(connection.execute(_NUMBERS, [[e.sha256 for e in entries]]).fetchall())
    manifests = {
        str(one.sha256): parse_manifest(str(one.manifest)) for one in entries if one.sha256 in known
    }
    ids = {one.sha256: one.ids for one in entries}
    facts = [
        {"sha256": sha256, **rows.manifest_facts(manifest, ids[sha256])}
        for sha256, manifest in manifests.items()
    ]
    with register_temporarily(connection, "amended", pa.Table.from_pylist(facts, _AMENDED)):
        connection.execute(read_statement("set_manifest_facts"))
    replace_counters(connection, {known[sha256]: one for sha256, one in manifests.items()})
    _parse_again(connection, manifests)
    merge_dimensions(connection)


def _number_names(rows: DumpRows, amendment: Amendment) -> Ids:
    """Ids of the dump, and of the device, build and model in its new manifest."""
    facts = rows.manifest_facts(parse_manifest(amendment.manifest))
    named = (facts["device_id"], facts["build_id"], facts["model_id"])
    return Ids(amendment.dump.dump_id, *named)


def _parse_again(connection: duckdb.DuckDBPyConnection, manifests: Mapping[str, Manifest]) -> None:
    """Parse the delegate metadata of dumps again, because their backend may have changed."""
    hashes = list(manifests)
    text = read_statement("stored_metadata")
    rows = connection.sql(text, params={"hashes": hashes}).to_arrow_table()
    if rows.num_rows:
        parsed = parse_metadata(rows, lambda index: manifests[hashes[index]].model.backend)
        with register_temporarily(connection, "parsed_metadata", parsed):
            connection.execute(read_statement("set_metadata"))


def _check_methods(connection: duckdb.DuckDBPyConnection, amendments: Sequence[Amendment]) -> None:
    changed = [
        one.dump.dump_id
        for one in amendments
        if any(name == "method" for name, _, _ in one.changes())
    ]
    found = connection.execute(_TRACED, [changed]).fetchone()
    if found:
        raise QueryError(
            f"{found[0]}: its ETRecord was read for the method in its manifest: to change that, "
            "forget the dump with 'tracehouse store forget' and ingest it again"
        )
