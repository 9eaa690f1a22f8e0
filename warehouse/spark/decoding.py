"""Groups of dumps decoded into files of a lake, each by one task on any machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from tracehouse.ingest.dump import Dump, Refusal
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.warehouse.engine.migrations import store_in_memory
from tracehouse.warehouse.lake.commits import AddedFile
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.writing import write_group
from tracehouse.warehouse.load.pipeline import ingest_dumps
from tracehouse.warehouse.load.stored_dumps import StoredDumps
from tracehouse.warehouse.spark.groups import DumpGroup
from tracehouse.warehouse.spark.inboxes import ManifestDefaults, local_dumps, open_place
from tracehouse.warehouse.spark.tasks import Tasks

if TYPE_CHECKING:
    import duckdb

DECODED_GROUPS = pa.schema(
    [
        ("name", pa.string()),
        ("added", pa.string()),  # JSON, as in a commit
        ("n_dumps", pa.int64()),
        ("n_events", pa.int64()),
        ("refused", pa.string()),  # JSON: the first fields of each Refusal
        ("is_changed", pa.bool_()),
    ]
)

_TIMES = ("UPDATE dumps SET ingested_at = $at", "UPDATE ingest_errors SET refused_at = $at")
_ORIGINAL = "UPDATE dumps SET source = $source, ingested_at = $at WHERE sha256 = $sha256"
_TAKEN = """
SELECT sha256, etrecord_id, debug_buffer_sha256 FROM dumps
UNION SELECT sha256, NULL, NULL FROM ingest_errors
"""


class DecodedGroups(NamedTuple):
    """The results of groups of dumps.

    Attributes:
        added: New files, which are not committed yet.
        n_dumps: Dumps in these files.
        n_events: Profile events of these dumps.
        refused: Refusals.
        changed: Names of groups that were not written, as their dumps have changed.
    """

    added: list[AddedFile]
    n_dumps: int
    n_events: int
    refused: tuple[Refusal, ...]
    changed: set[str]


def decode_group(piece: str, *, inbox: str, lake: str, at: datetime) -> pa.Table:
    """Write the files of a group, given as JSON; returns a row of DECODED_GROUPS.

    Nothing is written if a dump has changed since its survey, or would lose a companion that the
    lake has. Files of the same dumps and time of ingest are equal, whichever machine writes them.

    Raises:
        SourceError: The dumps cannot be fetched.
        LakeError: The lake cannot be written.
    """
    group = DumpGroup.of(*json.loads(piece))
    with _local_group(group, inbox) as dumps, closing(store_in_memory()) as connection:
        connection.execute("SET threads = 1")  # each core runs a task
        with closing(StoredDumps(connection)) as stored:
            summary = ingest_dumps(stored, dumps, jobs=1)
        _set_origins(connection, group, at)
        is_changed = _is_changed(connection, group)
        added = [] if is_changed else write_group(connection, Lake(lake), group.name)
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


@contextmanager
def _local_group(group: DumpGroup, inbox: str) -> Iterator[list[Dump]]:
    """The dumps of a group, with their manifests from the survey."""
    wanted = {(entry.path, entry.member): entry.manifest for entry in group.entries}
    paths = list(dict.fromkeys(entry.path for entry in group.entries))
    with local_dumps(open_place(inbox), paths, ManifestDefaults()) as local:
        yield [
            replace(dump, manifest=partial(Manifest.model_validate_json, manifest))
            for path, member, dump in local.dumps
            if (manifest := wanted.get((path, member))) is not None
        ]


def _set_origins(connection: duckdb.DuckDBPyConnection, group: DumpGroup, at: datetime) -> None:
    """Set the time of ingest; for dumps that the lake has, their original time and source."""
    for text in _TIMES:
        connection.execute(text, {"at": at})
    for entry in group.entries:
        if entry.known:
            _, source, known_at, *_ = entry.known
            original = {"source": source, "at": datetime.fromisoformat(known_at)}
            connection.execute(_ORIGINAL, {"sha256": entry.sha256, **original})


def _is_changed(connection: duckdb.DuckDBPyConnection, group: DumpGroup) -> bool:
    """Whether a dump is gone, or an ETRecord or debug buffer that the lake has for it."""
    taken = {sha256: companions for sha256, *companions in connection.execute(_TAKEN).fetchall()}
    return any(
        entry.sha256 not in taken or (entry.known and _lacks(taken[entry.sha256], entry.known[3:]))
        for entry in group.entries
    )


def _lacks(companions: Sequence[object], known: Sequence[object]) -> bool:
    pairs = zip(companions, known, strict=True)
    return any(old is not None and new is None for new, old in pairs)


def decode_groups(
    tasks: Tasks, groups: Iterable[DumpGroup], *, inbox: str, lake: str, at: datetime
) -> DecodedGroups:
    """Decode groups, each in a task of its own; `at` is the time of ingest of the dumps.

    Raises:
        SparkError: A task failed repeatedly.
    """
    pieces = [json.dumps(group) for group in groups]
    work = partial(decode_group, inbox=inbox, lake=lake, at=at)
    rows = tasks.run(pieces, work, DECODED_GROUPS).to_pylist()
    return DecodedGroups(
        [AddedFile(*file) for row in rows for file in json.loads(row["added"])],
        sum(row["n_dumps"] for row in rows),
        sum(row["n_events"] for row in rows),
        tuple(Refusal(*one) for row in rows for one in json.loads(row["refused"])),
        {row["name"] for row in rows if row["is_changed"]},
    )
