"""Manifests of stored dumps corrected, and all that follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa

from ingest.manifest.models import Manifest
from ingest.schemas.dumps import DUMPS
from warehouse.archive.entries import AMENDED, Entry, Ids
from warehouse.catalogue.sql_files import read_statement
from warehouse.engine.connection import registered
from warehouse.loading.counters import replace_counters
from warehouse.loading.dump_rows import DumpRows
from warehouse.loading.history_entries import parse_manifest
from warehouse.loading.logged_data import parse_metadata

_NUMBERS = "SELECT sha256, dump_id FROM dumps WHERE sha256 IN (SELECT unnest(?))"
_FACTS = (
    "sha256", "device_id", "build_id", "model_id", "captured_at", "tick_unit", "ns_per_tick",
    "delegate_ns_per_tick", "manifest",
)  # fmt: skip
_AMENDED = pa.schema([DUMPS.field(name) for name in _FACTS])


def amend_dumps(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> None:
    """Give dumps the manifests that entries state; names that no dump has any more go."""
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
    with registered(connection, "amended", pa.Table.from_pylist(facts, _AMENDED)):
        connection.execute(read_statement("set_manifest_facts"))
    replace_counters(connection, {known[sha256]: one for sha256, one in manifests.items()})
    _parse_again(connection, manifests)
    connection.execute(read_statement("settle_names"))


def number_names(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> list[Entry]:
    """Entries with the numbers of the devices, builds and models that manifests name, new or not.

    Those of other kinds stay as they are.
    """
    rows = DumpRows(connection)
    numbers = dict(connection.execute(_NUMBERS, [[e.sha256 for e in entries]]).fetchall())
    numbered = []
    for entry in entries:
        if entry.kind == AMENDED:
            facts = rows.manifest_facts(parse_manifest(str(entry.manifest)))
            named = (facts["device_id"], facts["build_id"], facts["model_id"])
            entry = entry._replace(ids=Ids(numbers[entry.sha256], *named))
        numbered.append(entry)
    return numbered


def _parse_again(connection: duckdb.DuckDBPyConnection, manifests: Mapping[str, Manifest]) -> None:
    """Read the delegates' metadata of dumps as their backends write it by now."""
    hashes = list(manifests)
    text = read_statement("stored_metadata")
    rows = connection.sql(text, params={"hashes": hashes}).to_arrow_table()
    if rows.num_rows:
        parsed = parse_metadata(rows, lambda index: manifests[hashes[index]].model.backend)
        with registered(connection, "parsed_metadata", parsed):
            connection.execute(read_statement("set_metadata"))
