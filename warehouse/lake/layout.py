"""Paths of the files of a lake, relative to it, with ``/``. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from itertools import count
from typing import NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from tracehouse.ingest.schemas.dumps import STORED

FORMAT_FILE = "_lake/format.json"
COMMITS = "_lake/commits"
PLANS = "_lake/plans"
SUFFIX = ".parquet"
UNKNOWN_DATE = "unknown"

_PLAIN = re.compile(r"[A-Za-z0-9_.\-]|[^\x00-\x7f]")
_LONGEST_NAME = 180  # bytes; file systems allow 255
_DIGITS = 32
_PART = re.compile(r"(?P<table>\w+)/date=(?P<date>[^/]+)/model=(?P<model>[^/]+)/(?P<name>[^/]+)")

FORMAT = 1
SCHEMA = 18  # number of the store schema with these tables
WIDE_IDS = ("dump_id", "device_id", "build_id", "model_id")

# Tables of a store itself.
_NOT_SHARED = {
    "archive_segments", "archived_files", "judged_nights", "build_order",
}  # fmt: skip


class Partition(NamedTuple):
    """A partition of the dumps: the UTC day of capture, and the name of the model."""

    date: str
    model: str

    @property
    def folder(self) -> str:
        """The folders of the partition in a table, as Hive names them."""
        return f"date={escape(self.date)}/model={escape(self.model)}"


class LakePart(NamedTuple):
    """Some dumps of a partition: one file per table, all with the same name."""

    partition: Partition
    name: str

    def path(self, table: str) -> str:
        """The part's file of a table."""
        return f"{table}/{self.partition.folder}/{self.name}{SUFFIX}"

    @classmethod
    def of(cls, path: str) -> LakePart | None:
        """The part of a file; None for a shared table."""
        found = _PART.fullmatch(path.removesuffix(SUFFIX))
        if not found:
            return None
        partition = Partition(unquote(found["date"]), unquote(found["model"]))
        return cls(partition, found["name"])


def shared_path(table: str, name: str) -> str:
    """A file of a table whose rows dumps share."""
    return f"{table}/{name}{SUFFIX}"


def table_of(path: str) -> str:
    """The table of a file."""
    return path.partition("/")[0]


def name_part(states: Iterable[str], taken: Collection[str] = ()) -> str:
    """Name of the part with dumps in these states: the same on every machine at any time.

    Names in `taken`, such as that of a removed part with the same dumps, are skipped.
    """
    text = "\n".join(sorted(states))
    names = (_digest(f"{attempt}\n{text}") for attempt in count())
    return next(name for name in names if name not in taken)


def escape(value: str) -> str:
    """A value as part of a folder's name; a very long value is truncated and made unique.

    >>> escape("mv2 int8/v=1")
    'mv2%20int8%2Fv%3D1'
    """
    text = "".join(one if _PLAIN.fullmatch(one) else f"%{ord(one):02X}" for one in value)
    if len(text.encode()) <= _LONGEST_NAME:
        return text
    start = value.encode()[: _LONGEST_NAME // 4].decode(errors="ignore")
    return f"{escape(start)}~{_digest(value)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _widened(schema: pa.Schema) -> pa.Schema:
    fields = [one.with_type(pa.int64()) if one.name in WIDE_IDS else one for one in schema]
    return pa.schema(fields, schema.metadata)


TABLES: dict[str, pa.Schema] = {
    name: _widened(schema) for name, schema in STORED.items() if name not in _NOT_SHARED
}
# Tables whose rows belong to one dump, in the order of writing: `dumps`, which lists them, is last.
FACTS = sorted((name for name in TABLES if "dump_id" in TABLES[name].names), key="dumps".__eq__)
# Tables with rows that dumps share, and their key columns.
SHARED_TABLES: dict[str, tuple[str, ...]] = {
    "devices": ("device_id",),
    "builds": tuple(TABLES["builds"].names),
    "models": ("model_id",),
    "run_signatures": ("run_signature_id",),
    "event_signatures": ("event_signature_id",),
    "tensors": ("sha256",),
    "etrecords": ("etrecord_id",),
    "graph_nodes": ("etrecord_id",),
    "debug_handles": ("etrecord_id",),
    "delegates": ("etrecord_id",),
    "event_origins": ("etrecord_id", "run_signature_id"),
    "event_modules": ("etrecord_id", "run_signature_id"),
    "ingest_errors": tuple(TABLES["ingest_errors"].names),
    "forgotten_dumps": tuple(TABLES["forgotten_dumps"].names),
    "group_decisions": tuple(TABLES["group_decisions"].names),
}
