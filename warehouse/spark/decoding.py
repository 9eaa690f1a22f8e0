"""A group of dumps into files of a lake: what one task does, on whatever machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from ingest.incoming import Incoming
from ingest.manifest.models import Manifest
from warehouse.engine.memory import store_in_memory
from warehouse.intake.pipeline import ingest_dumps
from warehouse.lake.place import Lake
from warehouse.lake.writing import write_group
from warehouse.spark.groups import DumpGroup
from warehouse.spark.inboxes import Stated, brought_dumps, open_place

if TYPE_CHECKING:
    import duckdb

DECODED_GROUPS = pa.schema(
    [
        ("name", pa.string()),
        ("added", pa.string()),  # JSON, as a commit has it
        ("n_dumps", pa.int64()),
        ("n_events", pa.int64()),
        ("refused", pa.string()),  # JSON: the first fields of each Refusal
        ("is_changed", pa.bool_()),
    ]
)

_CONSTANTS = {"mann_whitney_exact": "SELECT DISTINCT n_small FROM mann_whitney_exact"}
_TIMES = ("UPDATE dumps SET ingested_at = $at", "UPDATE ingest_errors SET refused_at = $at")
_TAKEN = "SELECT sha256 FROM dumps UNION SELECT sha256 FROM ingest_errors"


def decode_group(piece: str, *, inbox: str, lake: str, at: datetime) -> pa.Table:
    """Write the files of a group, given as JSON; a row of DECODED_GROUPS.

    Nothing is written if a dump is not what it was when it was looked at. Files of the same dumps
    that came in at the same time are equal, whoever writes them.

    Raises:
        SourceError: The dumps cannot be fetched.
        LakeError: The lake cannot be written.
    """
    group = DumpGroup.of(*json.loads(piece))
    with _brought(group, inbox) as incoming, closing(store_in_memory()) as connection:
        connection.execute("SET threads = 1")  # as many tasks run as there are cores
        summary = ingest_dumps(connection, incoming, jobs=1)
        for text in _TIMES:
            connection.execute(text, {"at": at})
        is_changed = not {entry.sha256 for entry in group.entries} <= _taken(connection)
        known = constant_keys(connection)
        added = [] if is_changed else write_group(connection, Lake(lake), group.name, known=known)
    refused = [one[:5] for one in summary.refused]
    row = {
        "name": group.name,
        "added": json.dumps(added),
        "n_dumps": 0 if is_changed else summary.n_dumps,
        "n_events": 0 if is_changed else summary.n_events,
        "refused": json.dumps([] if is_changed else refused),
        "is_changed": is_changed,
    }
    return pa.Table.from_pylist([row], schema=DECODED_GROUPS)


def constant_keys(connection: duckdb.DuckDBPyConnection) -> dict[str, pa.Table]:
    """Keys of the rows that every store has, for a lake that has them already."""
    return {name: connection.sql(text).to_arrow_table() for name, text in _CONSTANTS.items()}


@contextmanager
def _brought(group: DumpGroup, inbox: str) -> Iterator[list[Incoming]]:
    """The dumps of a group, with the manifests they had when they were looked at."""
    wanted = {(entry.path, entry.member): entry.manifest for entry in group.entries}
    paths = list(dict.fromkeys(entry.path for entry in group.entries))
    with brought_dumps(open_place(inbox), paths, Stated()) as brought:
        yield [
            replace(dump, manifest=partial(Manifest.model_validate_json, manifest))
            for path, member, dump in brought.dumps
            if (manifest := wanted.get((path, member))) is not None
        ]


def _taken(connection: duckdb.DuckDBPyConnection) -> set[str]:
    return {sha256 for (sha256,) in connection.execute(_TAKEN).fetchall()}
