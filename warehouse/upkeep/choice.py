"""Choice of dumps to amend or forget, by SHA-256 prefix or manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import duckdb

from tracehouse.ingest.manifest.fields import find_key, name_values
from tracehouse.ingest.schemas.attributes import compose
from tracehouse.warehouse.archive.archive import check_prefix
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.errors import NoSuchDumpError, QueryError

_ROWS = 5000  # fetched at a time


class ChosenDump(NamedTuple):
    """A dump of the store: some of its columns in the table dumps."""

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
    """The chosen dumps in order of arrival; at least one.

    Args:
        connection: The store.
        prefix: First hex digits of the SHA-256 of exactly one dump.
        where: Values of fields in the manifests: ``{"build": "b42", "device.os": "Linux"}``.

    Raises:
        NoSuchDumpError: No dump is chosen.
        QueryError: Several dumps have the prefix, the prefix is malformed, or no criterion is
            given.
    """
    wanted = check_choice(prefix=prefix, where=where)
    count, chosen = 0, list[ChosenDump]()
    for dump in _read_dumps(connection, (prefix or "").lower()):
        count += 1
        if _states(dump.manifest, wanted):
            chosen.append(dump)
    if prefix is not None and count > 1:
        raise QueryError(f"'{prefix}': {count} dumps have this prefix; give more digits")
    if not chosen:
        criteria = [prefix or "", *(f"{name}={value}" for name, value in (where or {}).items())]
        raise NoSuchDumpError(f"the store has no dump with {' '.join(filter(None, criteria))}")
    return chosen


def check_choice(
    *, prefix: str | None = None, where: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The wanted values by full name of the field; see `choose_dumps`.

    Raises:
        QueryError: The prefix or a field is malformed or empty, or no criterion is given.
    """
    if prefix is None and not where:
        raise QueryError("no dumps are chosen: give a SHA-256 or a field")
    if blank := [field for field, value in (where or {}).items() if not value.strip()]:
        raise QueryError(f"{blank[0]}: is empty: give a value, or leave it out")
    if prefix is not None:
        check_prefix(prefix)
    return {_name(field): compose(value) for field, value in (where or {}).items()}


def _read_dumps(connection: duckdb.DuckDBPyConnection, prefix: str) -> Iterator[ChosenDump]:
    """Dumps whose SHA-256 has a prefix; between two fetches, a service answers requests."""
    found = connection.execute(read_statement("dumps_of_hash"), {"prefix": prefix})
    while rows := found.fetchmany(_ROWS):
        yield from map(ChosenDump._make, rows)


def _name(field: str) -> str:
    try:
        return ".".join(filter(None, find_key(field)))
    except ValueError as error:
        raise QueryError(str(error)) from error


def _states(manifest: str, wanted: Mapping[str, str]) -> bool:
    values = name_values(manifest) if wanted else {}
    return all(name in values and str(values[name]) == value for name, value in wanted.items())
