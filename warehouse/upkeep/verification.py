"""Verification of a store: its rows are compared with their digests and with its archive."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa

from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.engine.connection import registered, transaction, translated_errors
from tracehouse.warehouse.engine.stored_digests import changed_tables, read_digests
from tracehouse.warehouse.engine.view_rows import find_wrong_rows
from tracehouse.warehouse.load.decoders import OWN_DECODER, Decoder
from tracehouse.warehouse.load.summary import IngestProgress
from tracehouse.warehouse.upkeep.archive_decoder import ArchiveDecoder
from tracehouse.warehouse.upkeep.archived_rows import find_wrong_names, find_wrong_records

_REBUILD = "tracehouse store rebuild"
_STORED = """
SELECT * EXCLUDE (damaged) FROM dump_digests
WHERE $dumps IS NULL OR dump_id IN (SELECT unnest($dumps::INTEGER[]))
"""
_MOST_NAMED = 20  # dumps in one command
_NOT_ARCHIVED = "rows differ from the archive"
_NOT_OF_DUMPS = "rows do not follow from the rows of the dumps"


class Sample(NamedTuple):
    """Dumps that were ingested one after the other, which the archive has together.

    Attributes:
        share: Their share of all dumps.
        start: Share of the dumps before the first; after the last dump come those from the start.
        since: Only dumps that were ingested then or later count.
    """

    share: float
    start: float = 0.0
    since: datetime | None = None


ALL = Sample(1.0)


class VerifiedDump(NamedTuple):
    """A dump to verify."""

    dump_id: int
    sha256: str
    source: str


class Damage(NamedTuple):
    """Rows that are not what they were, or not what the archive says.

    Attributes:
        dump_id: Dump of the rows; None for rows that dumps share.
        sha256: SHA-256 of the dump, if there is one.
        source: Its source.
        tables: Tables with these rows.
        problem: What disagrees.
    """

    dump_id: int | None
    sha256: str | None
    source: str
    tables: str
    problem: str

    def describe(self) -> str:
        """Whose rows are wrong, in which tables, and how, in a line."""
        return f"{self.source or 'shared rows'}: {self.tables}: {self.problem}"


class Verification(NamedTuple):
    """The result of a verification.

    Attributes:
        n_dumps: Dumps whose rows were compared with their digests.
        n_decoded: Dumps among them that were decoded again.
        damages: All disagreements.
        remedy: The command that mends the store; empty if nothing is wrong.
    """

    n_dumps: int
    n_decoded: int
    damages: Sequence[Damage]
    remedy: str = ""

    def table(self) -> pa.Table:
        """The damages as rows."""
        columns = [("dump_id", pa.int32()), *((name, pa.string()) for name in Damage._fields[1:])]
        return pa.Table.from_pylist([one._asdict() for one in self.damages], pa.schema(columns))


def find_remedy(damages: Sequence[Damage], archived: Collection[str]) -> str:
    """The command that mends a store; empty if nothing is wrong.

    Args:
        damages: What is wrong.
        archived: SHA-256 of the dumps that can be loaded again.
    """
    hashes = list(dict.fromkeys(one.sha256 for one in damages))
    if not hashes:
        return ""
    if len(hashes) > _MOST_NAMED or any(one not in archived for one in hashes):
        return _REBUILD
    return " ".join([_REBUILD, *(f"--dumps {str(one)[:16]}" for one in hashes)])


def verify_store(
    connection: duckdb.DuckDBPyConnection,
    store: Path,
    *,
    sample: Sample = ALL,
    decoder: Decoder = OWN_DECODER,
    progress: Callable[[IngestProgress], None] | None = None,
) -> Verification:
    """Compare rows with their digests and with the archive; dump_digests keeps the result.

    Dumps of earlier releases, which have no digests, get them. All dumps together also show rows
    that no dump owns, and wrong records of the archive, of decisions and of nights.

    Args:
        connection: The store's only writer.
        store: The store's directory.
        sample: The dumps to verify.
        decoder: Decodes the dumps again.
        progress: Called after each part.

    Raises:
        StoreError: The store cannot be read.
        ArchiveError: A segment of the archive is damaged or gone.
    """
    with translated_errors(store):
        chosen = connection.execute(read_statement("verified_dumps"), sample._asdict())
        dumps = [VerifiedDump(*row) for row in chosen.fetchall()]
        is_all = sample == ALL
        found = read_digests(connection, None if is_all else [one.dump_id for one in dumps])
        archive = Archive(store)
        again = ArchiveDecoder(connection, archive, decoder)
        expected = again.decode([one.sha256 for one in dumps], progress)
        damages = _compare(connection, dumps, found, expected, is_all=is_all)
        damages += [
            Damage(*dump, "archived_files", "the file in the archive cannot be decoded")
            for dump in dumps
            if dump.sha256 in again.undecodable
        ]
        _keep(connection, found, expected, damages)
        shared = dict.fromkeys(again.wrong_tables, _NOT_ARCHIVED)
        if is_all:
            shared |= dict.fromkeys(find_wrong_records(connection, archive), _NOT_ARCHIVED)
            wrong = [one.tables.split(", ") for one in damages if one.sha256]
            if not any("dumps" in tables for tables in wrong):
                shared |= dict.fromkeys(find_wrong_names(connection), _NOT_OF_DUMPS)
            if not (damages or shared):
                shared = dict.fromkeys(find_wrong_rows(connection), _NOT_OF_DUMPS)
        damages += [Damage(None, None, "", *one) for one in sorted(shared.items())]
        decoded = set(expected["dump_id"].to_pylist())
        archived = {one.sha256 for one in dumps if one.dump_id in decoded}
        remedy = find_remedy(damages, archived)
        return Verification(len(dumps), expected.num_rows, damages, remedy)


def _compare(
    connection: duckdb.DuckDBPyConnection,
    dumps: Sequence[VerifiedDump],
    found: pa.Table,
    expected: pa.Table,
    *,
    is_all: bool,
) -> list[Damage]:
    by_id = {one.dump_id: one for one in dumps}
    ids = None if is_all else list(by_id)
    stored = connection.sql(_STORED, params={"dumps": ids}).to_arrow_table()
    known = set(stored["dump_id"].to_pylist())
    changed = changed_tables(stored, found)
    decoded = set(expected["dump_id"].to_pylist())
    differing = changed_tables(found, expected)
    damages = []
    for dump in dumps:
        tables, problem = _judge(
            changed.get(dump.dump_id, "") if dump.dump_id in known else "",
            differing.get(dump.dump_id, "") if dump.dump_id in decoded else None,
        )
        if tables:
            damages.append(Damage(*dump, tables, problem))
    if is_all:
        there = set(found["dump_id"].to_pylist())
        for id_ in sorted((known | there) - by_id.keys()):
            tables = changed[id_] if id_ in there else "dump_digests"
            damages.append(Damage(id_, None, "", tables, "rows of a dump that is not there"))
    return damages


def _judge(changed: str, differing: str | None) -> tuple[str, str]:
    """Tables with wrong rows of a dump, and what is wrong; no tables if nothing is.

    Args:
        changed: Tables whose rows disagree with their digests.
        differing: Tables whose rows disagree with the archive; None if it was not compared.
    """
    if changed and differing == "":
        problem = f"the digest of {changed} was changed, the rows agree with the archive"
        return "dump_digests", problem
    if changed:
        return changed, "rows were changed since they were written"
    return differing or "", "rows differ from what the archive decodes to"


def _keep(
    connection: duckdb.DuckDBPyConnection,
    found: pa.Table,
    expected: pa.Table,
    damages: Collection[Damage],
) -> None:
    """Store which dumps are damaged, and digests of dumps that have none."""
    wrong: Mapping[int | None, str] = {one.dump_id: one.tables for one in damages}
    decoded = dict.fromkeys(expected["dump_id"].to_pylist())
    is_right = [id_ not in decoded for id_ in found["dump_id"].to_pylist()]
    digests = pa.concat_tables([expected, found.filter(pa.array(is_right, pa.bool_()))])
    texts = [wrong.get(id_) for id_ in digests["dump_id"].to_pylist()]
    verdicts = digests.append_column("damaged", pa.array(texts, pa.string()))
    with transaction(connection), registered(connection, "verdicts", verdicts):
        connection.execute(read_statement("store_verdicts"))
