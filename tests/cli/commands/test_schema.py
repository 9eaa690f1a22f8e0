from __future__ import annotations

import json
from pathlib import Path

from tests.support.command import Run
from tracehouse.ingest.schemas.dumps import STORED


def test_every_table_and_column_is_listed_with_its_comment(run: Run, store: Path) -> None:
    rows = json.loads(run("schema", "--store", store, "--format", "json").text)
    comments = {(row["table_name"], row["column_name"]): row["comment"] for row in rows}
    assert all(comments.values())
    for name, schema in STORED.items():
        assert comments[name, None] == schema.metadata[b"doc"].decode()
        for field in schema:
            assert comments[name, field.name] == field.metadata[b"doc"].decode()
    assert ("named_events", None) in comments


def test_schema_can_be_limited_to_one_table(run: Run, store: Path) -> None:
    rows = json.loads(run("schema", "events", "--store", store, "--format", "json").text)
    assert {row["table_name"] for row in rows} == {"events"}
    assert len(rows) == 1 + len(STORED["events"])


def test_unknown_table_suggests_a_near_one(run: Run, store: Path) -> None:
    outcome = run("schema", "evnts", "--store", store)
    assert outcome.code == 1
    assert outcome.error == "error: no table or view 'evnts'; did you mean events?"
