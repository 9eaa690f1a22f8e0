from __future__ import annotations

import pyarrow as pa

from tracehouse.cli.upkeep.task import with_notes


def test_notes_are_lines_in_the_metadata_of_a_table() -> None:
    table = pa.table({"a": [1]})
    assert with_notes(table, ["one", "two"]).schema.metadata == {b"note": b"one\ntwo"}
    assert with_notes(table, []) is table
