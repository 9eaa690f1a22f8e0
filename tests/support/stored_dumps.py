"""An index of stored dumps, without a store."""

from __future__ import annotations

from collections.abc import Sequence

from tracehouse.warehouse.engine.connection import open_memory, use_database
from tracehouse.warehouse.load.stored_dumps import StoredDumps


def sha256_of(number: int) -> str:
    return f"{number:016x}" + "0" * 48


class Stored:
    """The dumps of a store, and the lookups in it."""

    def __init__(self, *numbers: int) -> None:
        """Store dumps of these numbers."""
        self._connection = open_memory()
        use_database(self._connection)
        self._indexes: list[StoredDumps] = []
        self._connection.execute(
            "CREATE TABLE dumps (dump_id INTEGER, sha256 VARCHAR, manifest VARCHAR)"
        )
        self.add(*numbers)
        self.asked: list[str] = []

    def add(self, *numbers: int) -> None:
        """Store dumps of these numbers."""
        for number in numbers:
            text = "INSERT INTO dumps SELECT count(*) + 1, ?, 'stored' FROM dumps"
            self._connection.execute(text, [sha256_of(number)])
            for index in self._indexes:
                index.add([sha256_of(number)])

    def index(self) -> StoredDumps:
        """The index of these dumps."""
        index = StoredDumps(self._connection)
        self._indexes.append(index)
        look_up = index.look_up

        def look_up_and_note(hashes: Sequence[str]) -> dict[str, str]:
            self.asked += hashes
            return look_up(hashes)

        index.look_up = look_up_and_note  # type: ignore[method-assign]
        return index
