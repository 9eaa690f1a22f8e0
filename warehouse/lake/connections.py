"""Connections for queries of a lake: DuckDB over its files, with a store's views."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa

from tracehouse.warehouse.catalogue.answers import resolve_parameters
from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.header import Parameter
from tracehouse.warehouse.catalogue.queries import Query, find_filters
from tracehouse.warehouse.catalogue.sql_files import read_statement
from tracehouse.warehouse.catalogue.views import named_views, reads_table
from tracehouse.warehouse.engine.aligned_operators import RUNS, VIEW, Pair
from tracehouse.warehouse.engine.connection import open_memory, register_temporarily
from tracehouse.warehouse.engine.store_connections import Access, StoreConnections
from tracehouse.warehouse.lake.commits import LakeState, lake_errors, read_filled_state, read_state
from tracehouse.warehouse.lake.layout import FACTS, TABLES, LakePart
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.tables import (
    locate_dumps,
    make_order,
    make_tables,
    read_columns,
    register_files,
    show_files,
)

# Tables from which a query needs only the rows of its own dumps. From runs, it needs the rows of
# all dumps of the same models and devices, because these number the run signatures.
PRUNED_TABLES = [table for table in FACTS if table not in ("dumps", "dropped_events")]
_SIDES = {"base", "head"}

_DROPPED = """
SELECT d.sha256, d.dump_id
FROM warehouse.main.dropped_events AS e JOIN warehouse.main.dumps AS d ON d.dump_id = e.dump_id
"""
_ALL_EVENTS = """
CREATE TEMP VIEW events AS
SELECT dump_id, {0} FROM warehouse.main.events
UNION ALL SELECT f.dump_id, {0} FROM {1} AS e JOIN events_in_lake AS f ON f.lake_id = e.dump_id
"""
_STILL_DROPPED = """
CREATE TEMP VIEW dropped_events AS
SELECT * FROM warehouse.main.dropped_events
WHERE dump_id NOT IN (SELECT dump_id FROM events_in_lake)
"""
_EVENTS_IN_LAKE = pa.schema([("dump_id", pa.int32()), ("lake_id", pa.int64())])


def chosen_dumps(
    connection: duckdb.DuckDBPyConnection, query: Query, params: Mapping[str, object]
) -> list[int] | None:
    """Ids of the dumps that a query with these parameters needs; None for all.

    A parameter that is unknown, missing or of the wrong type raises ParameterError.
    """
    own = {parameter.name: parameter for parameter in query.header.params}
    if query.header.filters is None and "dump" not in own:
        return None
    values = resolve_parameters(connection, query, params)
    if "dump" in own:
        return [int(str(values["dump"]))]
    is_of_builds = own.keys() >= _SIDES and all(_names_builds(own[side]) for side in _SIDES)
    filters = find_filters("compared_dumps" if is_of_builds else "chosen_dumps")
    chosen = {parameter.name: values.get(parameter.name) for parameter in filters.header.params}
    if not any(value is not None for value in chosen.values()):
        return None
    relation = connection.sql(duckdb_text(filters.sql), params=chosen)
    dumps = [row[0] for row in relation.project("dump_id").fetchall()]
    return [*dumps, *select_dumps(connection, "lake_references", dumps)] if is_of_builds else dumps


def _names_builds(side: Parameter) -> bool:
    """Whether one side of a comparison is a build, rather than a backend."""
    return side.names is not None and side.names.table == "builds"


def select_dumps(
    connection: duckdb.DuckDBPyConnection, statement: str, dumps: Collection[int]
) -> list[int]:
    """The dumps that a statement selects for those in its table `chosen`."""
    chosen = pa.table({"dump_id": pa.array(list(dumps), pa.int64())})
    with register_temporarily(connection, "chosen", chosen):
        rows = connection.execute(read_statement(statement)).fetchall()
    return [row[0] for row in rows]


class LakeConnections(StoreConnections):
    """Connections that all see the same state of a lake."""

    def __init__(self, lake: Lake, state: LakeState | None = None) -> None:
        """Connect to a lake in a known state, by default its current one.

        Raises:
            LakeError: It is no lake, cannot be read, or is empty.
        """
        place = Path(lake.root if lake.is_local else lake.name)
        super().__init__(place, place)
        self.lake, self.state = lake, state or read_filled_state(lake)
        self._parts: Mapping[int, LakePart] | None = None
        self._ordered: set[Access] = set()
        self._shown: dict[str, Sequence[str] | None] = {}

    def _prepare_order(self, access: Access, text: str, /) -> None:
        if access not in self._ordered and reads_table(text, "build_order"):
            with self.explaining_errors():
                make_order(self._connections[access])
            self._ordered.add(access)

    def for_statement(self, text: str) -> duckdb.DuckDBPyConnection:
        """The connection for a trusted statement, with all files of all tables."""
        connection = super().for_statement(text)
        with self.explaining_errors():
            self._show(connection, {})
        return connection

    def for_query(self, query: Query, params: Mapping[str, object]) -> duckdb.DuckDBPyConnection:
        """The connection for a canned query, whose tables include only the files that it needs."""
        connection = super().for_query(query, params)
        with self.explaining_errors():
            self._show(connection, self.pruned_files(query, params))
        return connection

    def aligned_operators(self, pair: Pair | None) -> pa.Table:
        """The rows of the view, of the whole lake or for a comparison of two builds."""
        self.for_statement("")
        return self.connection("trusted", f"FROM {VIEW}", pair).table(VIEW).to_arrow_table()

    def _find_kept(self, access: Access) -> None:
        """Nothing is kept: writers of a lake do not know each other's dumps."""

    def _name_runs(self, access: Access, pair: Pair | None, *, is_aligned: bool) -> None:
        """Name the runs of the whole lake where operators are aligned; else a query names some."""
        if is_aligned and (access not in self._aligned or pair is not None):
            with self.explaining_errors():
                self._show(self._connections[access], {})
        super()._name_runs(access, pair, is_aligned=is_aligned)

    def _keeps_names(self, access: Access, *, is_aligned: bool) -> bool:
        return is_aligned

    def pruned_files(
        self, query: Query, params: Mapping[str, object]
    ) -> Mapping[str, Sequence[str]]:
        """The files, by table, that a canned query needs; it needs all files of absent tables."""
        connection = super().for_query(query, params)
        with self.explaining_errors():
            dumps = chosen_dumps(connection, query, params)
            return {} if dumps is None else self._files_of(connection, query, dumps)

    def explaining_errors(self) -> AbstractContextManager[None]:
        """Replace errors of the body if a file of the lake is missing or truncated."""
        return lake_errors(self.lake, self.state)

    def _files_of(
        self, connection: duckdb.DuckDBPyConnection, query: Query, dumps: Collection[int]
    ) -> dict[str, list[str]]:
        """Files, by table, with rows of the dumps; for runs, with all rows that number them."""
        if self._parts is None:
            located = locate_dumps(self.lake, self.state)
            self._parts = {dump.dump_id: dump.part for dump in located}
        files = self.state.files_of({self._parts[dump] for dump in dumps})
        named = named_views(query.sql)
        if RUNS not in named or VIEW in named:  # that has named all runs of the lake
            return files
        related = select_dumps(connection, "lake_related", dumps)
        numbered = self.state.files_of({self._parts[dump] for dump in related})
        return files | {"runs": numbered["runs"]}

    def _show(
        self, connection: duckdb.DuckDBPyConnection, files: Mapping[str, Sequence[str]]
    ) -> None:
        """Make tables of dumps consist of these files; absent tables, of all their files."""
        for table in PRUNED_TABLES:
            paths = files.get(table)
            if paths != self._shown.get(table):
                every = [file.path for file in self.state.of(table)]
                show_files(connection, self.lake, table, every if paths is None else paths)
                self._shown[table] = paths

    def _open(self, access: Access) -> duckdb.DuckDBPyConnection:
        connection = open_memory(
            spill=self._spill_folder(access),
            folder=Path(self.lake.root) if self.lake.is_local else None,
            allow_files=access == "with files",
        )
        with self.explaining_errors():
            make_tables(connection, self.lake, self.state)
        connection.execute("SET lock_configuration = true")
        return connection


@contextmanager
def reading_lake(
    lake: Lake, state: LakeState, parts: Collection[LakePart] | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a state of a lake, whose tables of dumps have only the given parts, if any.

    Raises:
        LakeError: The lake cannot be read.
    """
    with closing(LakeConnections(lake, state)) as connections:
        connection = connections.connection("trusted")
        for table, paths in ({} if parts is None else state.files_of(parts)).items():
            show_files(connection, lake, table, paths)
        yield connection


class StoreWithLake(StoreConnections):
    """Connections to a store's file whose views also show its dropped events, from a lake."""

    def __init__(
        self,
        store: Path,
        file: Path,
        lake: Lake,
        *,
        writer: duckdb.DuckDBPyConnection | None = None,
    ) -> None:
        """Connect to a lake and a store's file, which the caller protects from changes.

        Raises:
            LakeError: The lake does not exist, or cannot be read.
        """
        super().__init__(store, file, writer=writer)
        lake.check()
        self._lake, self._state = lake, read_state(lake)
        self._found = 0

    def note(self, connection: duckdb.DuckDBPyConnection, text: str) -> str:
        """A note about data that the answer may lack, and about events from the lake."""
        missed = super().note(connection, text)
        if not (self._found and reads_table(text, "events")):
            return missed
        read = f"raw events of {self._found:,} dumps were read from {self._lake.name}"
        return f"{read}; {missed}" if missed else read

    def explaining_errors(self) -> AbstractContextManager[None]:
        """Replace errors of the body if a file of the lake is missing or truncated."""
        return lake_errors(self._lake, self._state)

    def _open(self, access: Access) -> duckdb.DuckDBPyConnection:
        connection = super()._open(access)
        dropped = dict(connection.execute(_DROPPED).fetchall())
        if dropped:
            with self.explaining_errors():
                self._show(connection, dropped)
        return connection

    def _show(self, connection: duckdb.DuckDBPyConnection, dropped: dict[str, int]) -> None:
        """Add the lake's events to `events`, and remove their dumps from `dropped_events`."""
        located = [d for d in locate_dumps(self._lake, self._state) if d.sha256 in dropped]
        files = self._state.files_of({dump.part for dump in located})
        tables = (read_columns(self._lake, path, "dump_id") for path in files["dropped_events"])
        lacking = {dump_id for rows in tables for (dump_id,) in rows}
        ids = {dump.sha256: dump.dump_id for dump in located if dump.dump_id not in lacking}
        self._found = len(ids)
        if not ids:
            return
        rows = {"dump_id": [dropped[one] for one in ids], "lake_id": list(ids.values())}
        connection.register("events_in_lake", pa.table(rows, schema=_EVENTS_IN_LAKE))
        source = register_files(connection, self._lake, "events", files["events"])
        rest = ", ".join(TABLES["events"].names[1:])
        connection.execute(_ALL_EVENTS.format(rest, source))
        connection.execute(_STILL_DROPPED)
