from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tracehouse.ingest.schemas.dumps import EVENT_SIGNATURES
from tracehouse.warehouse.load import dump_rows
from tracehouse.warehouse.load.dump_rows import SignatureRows


def rows(ids: list[int]) -> pa.Table:
    """Signatures of these ids; the name says at which position each stands."""
    given = {"event_signature_id": ids, "name": [str(i) for i in range(len(ids))]}
    columns = {
        field.name: pa.array(given.get(field.name, _filler(field, len(ids))), field.type)
        for field in EVENT_SIGNATURES
    }
    return pa.table(columns, schema=EVENT_SIGNATURES)


def _filler(field: pa.Field, count: int) -> list[object]:
    if field.nullable:
        return [None] * count
    value = {pa.string(): "x", pa.bool_(): False, pa.binary(): b""}.get(field.type, 0)
    return [value] * count


def stored(connection: duckdb.DuckDBPyConnection) -> list[tuple[int, str]]:
    text = "SELECT event_signature_id, name FROM event_signatures ORDER BY ALL"
    return connection.execute(text).fetchall()


@pytest.mark.parametrize("most", [0, 2, 1 << 17])
def test_each_signature_is_stored_once_however_few_are_remembered(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(dump_rows, "_MOST_KNOWN", most)
    signatures = SignatureRows(connection, "event_signatures")
    signatures.insert(rows([5, -3, 5, 9]))
    signatures.insert(rows([]))
    signatures.insert(rows([9, 7, 5, 2**63 - 1]))
    SignatureRows(connection, "event_signatures").insert(rows([7, 8]))
    expected = [(-3, "1"), (5, "0"), (7, "1"), (8, "1"), (9, "3"), (2**63 - 1, "3")]
    assert stored(connection) == expected


def test_at_most_the_limit_of_ids_is_remembered(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump_rows, "_MOST_KNOWN", 100)
    signatures = SignatureRows(connection, "event_signatures")
    for first in range(0, 1000, 70):
        signatures.insert(rows(list(range(first, first + 90))))
        assert len(signatures._known) <= 100
    signatures.insert(rows(list(range(5000, 5500))))
    assert len(signatures._known) == 100
    assert len(stored(connection)) == 15 * 70 + 20 + 500


def test_a_large_store_fetches_only_the_requested_ids(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    SignatureRows(connection, "event_signatures").insert(rows(list(range(50_000))))
    fetched: list[int] = []
    ask = SignatureRows._stored

    def count(self: SignatureRows, column: str, ids: np.typing.NDArray[np.int64]) -> list[int]:
        found = ask(self, column, ids)
        fetched.append(len(found))
        return found

    monkeypatch.setattr(SignatureRows, "_stored", count)
    signatures = SignatureRows(connection, "event_signatures")
    signatures.insert(rows([7, 60_000]))
    signatures.insert(rows([7, 60_000]))
    assert fetched == [1]
