"""What answers questions of a lake: DuckDB over its files, with the names and views of a store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb

from warehouse.catalogue.queries import Query
from warehouse.engine.answering import Answering, Whose
from warehouse.engine.connection import open_memory
from warehouse.lake.commits import LakeState, read_state
from warehouse.lake.place import Lake
from warehouse.lake.views import make_tables


class LakeAnswering(Answering):
    """Connections that see a lake as it was when this was made.

    Attributes:
        lake: The lake.
        state: What it consists of.
    """

    def __init__(self, lake: Lake, state: LakeState | None = None) -> None:
        """Read what the lake consists of, unless that is known.

        Raises:
            LakeError: It is no lake, or cannot be read.
        """
        place = Path(lake.root if lake.is_local else lake.name)
        super().__init__(place, place)
        if state is None:
            lake.check()
        self.lake, self.state = lake, state or read_state(lake)

    def asked(self, query: Query, params: Mapping[str, object]) -> duckdb.DuckDBPyConnection:
        """What answers a canned query, from no more files than it needs."""
        return super().asked(query, params)

    def _open(self, whose: Whose) -> duckdb.DuckDBPyConnection:
        connection = open_memory(
            spill=self._scratch.path() if whose == "ours" else None,
            folder=Path(self.lake.root) if self.lake.is_local else None,
            allow_files=whose == "with files",
        )
        make_tables(connection, self.lake, self.state)
        connection.execute("SET lock_configuration = true")
        return connection
