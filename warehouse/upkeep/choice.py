"""Dumps chosen to be amended or forgotten: by how their SHA-256 begins, or by their manifests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import duckdb

from ingest.manifest.fields import find_key, name_values
from warehouse.catalogue.sql_files import read_statement
from warehouse.errors import NoSuchDumpError, QueryError

_LEAST_DIGITS = 6
_PREFIX = re.compile(rf"[0-9a-fA-F]{{{_LEAST_DIGITS},64}}")


class ChosenDump(NamedTuple):
    """A dump of the store, with columns of the table dumps."""

    dump_id: int
    sha256: str
    source: str
    byte_count: int
    n_events: int
    manifest: str


def choose_dumps(
    connection: duckdb.DuckDBPyConnection,
    *,
    prefix: str | None = None,
    where: Mapping[str, str] | None = None,
) -> list[ChosenDump]:
    """The dumps that are meant, in order of arrival; at least one.

    Args:
        connection: The store.
        prefix: How the SHA-256 of the only one begins.
        where: What their manifests state, by field: ``{"build": "b42", "device.os": "Linux"}``.

    Raises:
        NoSuchDumpError: There is none.
        QueryError: There are several of that SHA-256, or nothing says which.
    """
    wanted = check_choice(prefix=prefix, where=where)
    rows = connection.execute(read_statement("dumps_of_hash"), {"prefix": (prefix or "").lower()})
    dumps = [ChosenDump(*row) for row in rows.fetchall()]
    if prefix is not None and len(dumps) > 1:
        raise QueryError(f"'{prefix}': {len(dumps)} dumps begin like that; give more digits")
    chosen = [dump for dump in dumps if _states(dump.manifest, wanted)]
    if not chosen:
        asked = [prefix or "", *(f"{name}={value}" for name, value in (where or {}).items())]
        raise NoSuchDumpError(f"the store has no dump of {' '.join(filter(None, asked))}")
    return chosen


def check_choice(
    *, prefix: str | None = None, where: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What manifests must state, by the full names of fields; see `choose_dumps`.

    Raises:
        QueryError: It is a choice of nothing, whatever the store holds.
    """
    if prefix is None and not where:
        raise QueryError("nothing says which dumps: name one by its SHA-256, or state a field")
    if prefix is not None and not _PREFIX.fullmatch(prefix):
        raise QueryError(
            f"'{prefix}': wanted the first {_LEAST_DIGITS} or more hex digits of a SHA-256"
        )
    return {_name(field): value for field, value in (where or {}).items()}


def _name(field: str) -> str:
    try:
        return ".".join(filter(None, find_key(field)))
    except ValueError as error:
        raise QueryError(str(error)) from error


def _states(manifest: str, wanted: Mapping[str, str]) -> bool:
    values = name_values(manifest) if wanted else {}
    return all(name in values and str(values[name]) == value for name, value in wanted.items())
