"""Choice of dumps to amend or forget, by SHA-256 prefix or manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import duckdb

from ingest.manifest.fields import find_key, name_values
from warehouse.archive.retrieval import check_prefix
from warehouse.catalogue.sql_files import read_statement
from warehouse.errors import NoSuchDumpError, QueryError


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
    rows = connection.execute(read_statement("dumps_of_hash"), {"prefix": (prefix or "").lower()})
    dumps = [ChosenDump(*row) for row in rows.fetchall()]
    if prefix is not None and len(dumps) > 1:
        raise QueryError(f"'{prefix}': {len(dumps)} dumps have this prefix; give more digits")
    chosen = [dump for dump in dumps if _states(dump.manifest, wanted)]
    if not chosen:
        criteria = [prefix or "", *(f"{name}={value}" for name, value in (where or {}).items())]
        raise NoSuchDumpError(f"the store has no dump with {' '.join(filter(None, criteria))}")
    return chosen


def check_choice(
    *, prefix: str | None = None, where: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The wanted values by full name of the field; see `choose_dumps`.

    Raises:
        QueryError: The prefix or a field is malformed, or no criterion is given.
    """
    if prefix is None and not where:
        raise QueryError("no dumps are chosen: give a SHA-256 or a field")
    if prefix is not None:
        check_prefix(prefix)
    return {_name(field): value for field, value in (where or {}).items()}


def _name(field: str) -> str:
    try:
        return ".".join(filter(None, find_key(field)))
    except ValueError as error:
        raise QueryError(str(error)) from error


def _states(manifest: str, wanted: Mapping[str, str]) -> bool:
    values = name_values(manifest) if wanted else {}
    return all(name in values and str(values[name]) == value for name, value in wanted.items())
