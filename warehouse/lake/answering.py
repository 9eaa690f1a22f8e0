"""What answers questions of a lake: DuckDB over its files, with the names and views of a store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb

from warehouse.catalogue.queries import Query
from warehouse.engine.answering import Answering, Whose
from warehouse.engine.connection import open_memory
from warehouse.engine.views import named_views
from warehouse.lake.commits import LakeState, read_filled
from warehouse.lake.damage import damage_told
from warehouse.lake.held import files_of_parts, find_dumps
from warehouse.lake.layout import LakePart
from warehouse.lake.narrowing import NARROWED, chosen_dumps, related_dumps
from warehouse.lake.place import Lake
from warehouse.lake.views import make_tables, show_files


class LakeAnswering(Answering):
    """Connections that see a lake as it was when this was made.

    Attributes:
        lake: The lake.
        state: What it consists of.
    """

    def __init__(self, lake: Lake, state: LakeState | None = None) -> None:
        """Read what the lake consists of, unless that is known.

        Raises:
            LakeError: It is no lake, cannot be read, or nothing is in it yet.
        """
        place = Path(lake.root if lake.is_local else lake.name)
        super().__init__(place, place)
        self.lake, self.state = lake, state or read_filled(lake)
        self._parts: Mapping[int, LakePart] | None = None
        self._narrowed: dict[str, Sequence[str] | None] = {}

    def asked(self, query: Query, params: Mapping[str, object]) -> duckdb.DuckDBPyConnection:
        """What answers a canned query, from no more files than it needs."""
        connection = super().asked(query, params)
        files = self.narrowed(query, params)
        with self.explained():
            self._show(connection, files)
        return connection

    def narrowed(self, query: Query, params: Mapping[str, object]) -> Mapping[str, Sequence[str]]:
        """The files, by table, that a canned query needs; of tables that are not named all."""
        connection = super().asked(query, params)
        with self.explained():
            dumps = chosen_dumps(connection, query, params)
            return {} if dumps is None else self._files_of(connection, query, dumps)

    def explained(self) -> AbstractContextManager[None]:
        """Raise what the body does, or tell of a file of the lake that is gone or cut."""
        return damage_told(self.lake, self.state)

    def _files_of(
        self, connection: duckdb.DuckDBPyConnection, query: Query, dumps: Collection[int]
    ) -> dict[str, list[str]]:
        """Files, by table, that rows of dumps are in, or that runs are numbered by."""
        if self._parts is None:
            held = find_dumps(self.lake, self.state)
            self._parts = {dump.dump_id: dump.part for dump in held}
        files = files_of_parts(self.state, {self._parts[dump] for dump in dumps})
        if "named_run_signatures" not in named_views(query.sql):
            return files
        related = related_dumps(connection, dumps)
        numbered = files_of_parts(self.state, {self._parts[dump] for dump in related})
        return files | {"runs": numbered["runs"]}

    def _show(
        self, connection: duckdb.DuckDBPyConnection, files: Mapping[str, Sequence[str]]
    ) -> None:
        """Let tables of dumps consist of these files; those not named, of all that they have."""
        for table in NARROWED:
            paths = files.get(table)
            if paths != self._narrowed.get(table):
                every = [file.path for file in self.state.of(table)]
                show_files(connection, self.lake, table, every if paths is None else paths)
                self._narrowed[table] = paths

    def _open(self, whose: Whose) -> duckdb.DuckDBPyConnection:
        connection = open_memory(
            spill=self._scratch.path() if whose == "ours" else None,
            folder=Path(self.lake.root) if self.lake.is_local else None,
            allow_files=whose == "with files",
        )
        with self.explained():
            make_tables(connection, self.lake, self.state)
        connection.execute("SET lock_configuration = true")
        return connection
