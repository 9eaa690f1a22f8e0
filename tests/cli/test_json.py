"""docs/json.md is what commands print."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Run
from tests.support.corpus import CORPUS
from tests.support.etrecord_builder import MODELS
from tests.support.questions import every_query
from tests.support.strange_names import write_strange_files

DOCUMENT = (Path(__file__).parents[2] / "docs/json.md").read_text(encoding="utf-8")
DUMP = CORPUS / "real" / "mlp_xnnpack_n1.etdp"
NAMES = ("--device", "d", "--build", "b", "--model", "m")


def documented(row: str) -> set[str]:
    """The fields that a row of the page lists."""
    (line,) = [line for line in DOCUMENT.splitlines() if line.startswith(f"| {row} |")]
    return set(re.findall(r"`(\w+)`", line.split("|", 2)[2])) - {"ok", "missing", "wrong"}


def answer(run: Run, *args: str | Path) -> Any:
    outcome = run(*args, "--format", "json")
    assert outcome.code == 0
    return json.loads(outcome.text)


def columns(rows: Any) -> set[str]:
    assert rows
    assert all(row.keys() == rows[0].keys() for row in rows)
    return set(rows[0])


@pytest.mark.parametrize(
    ("command", "params"),
    [("dumps", ()), ("percentiles", ()), ("framework_tax", ()), ("event_blocks", ("--dump", "1"))],
)
def test_rows_of_a_query_are_its_columns_in_order(
    run: Run, store: Path, command: str, params: tuple[str, ...]
) -> None:
    rows = answer(run, "query", command, *params, "--store", store)
    assert list(rows[0]) == [column.name for column in every_query()[command].header.columns]


@pytest.mark.smoke
@pytest.mark.system
def test_rows_of_other_commands_are_as_documented(run: Run, store: Path, tmp_path: Path) -> None:
    for command in ("schema", "doctor", "status", "plan"):
        assert columns(answer(run, command, "--store", store)) == documented(f"`{command}`")
    summary = answer(run, "ingest", DUMP, *NAMES, "--store", tmp_path / "store")
    assert columns(summary) == documented("`ingest`")
    taken = answer(run, "store", "snapshot", "--store", tmp_path / "store")
    assert columns(taken) == documented("`store snapshot`")


def test_blocks_of_inspect_are_as_documented(run: Run) -> None:
    document = answer(run, "inspect", DUMP)
    assert set(document) == {"event_blocks"}
    for block in document["event_blocks"]:
        assert set(block) == documented("BLOCK")
        for event in block["events"]:
            assert set(event) - {"samples_per_run", "flagged"} == documented("event")


def test_parts_of_a_profiler_blob_are_as_documented(run: Run, tmp_path: Path) -> None:
    document = answer(run, "inspect", write_strange_files(tmp_path).blob)
    assert list(document) == ["profile", "memory", "framework_tax"]
    for events in document["profile"].values():
        assert columns(events) == documented("EVENT")
    for part, row in (("memory", "ALLOCATOR"), ("framework_tax", "TAX")):
        for found in document[part].values():
            for fields in found if isinstance(found, list) else [found]:
                assert set(fields) == documented(row)


def test_an_etrecord_is_as_documented(run: Run) -> None:
    document = answer(run, "etrecord", "show", next(iter(sorted(MODELS.glob("*.etrecord")))))
    (line,) = [text for text in DOCUMENT.splitlines() if text.startswith("| `etrecord show` |")]
    assert set(document) == set(re.findall(r'"(\w+)"', line))
    assert {key for graph in document["graphs"] for key in graph} == documented("GRAPH")


# SQL of a value, and how the page spells it.
SPELLINGS = {
    "NULL": "null",
    "true": "true",
    "9223372036854775807": "9223372036854775807",
    "18446744073709551615::DECIMAL(20, 0)": "18446744073709551615",
    "2.50::DECIMAL(9, 2)": "2.5",
    "0.1::DOUBLE": "0.1",
    "'nan'::DOUBLE": '"NaN"',
    "'-inf'::DOUBLE": '"-Infinity"',
    "'größe' || chr(27)": r'"größe\u001b"',
    "'\\x0A\\xFF'::BLOB": '"0aff"',
    "TIMESTAMPTZ '2026-11-21 08:00:01.000005Z'": '"2026-11-21T08:00:01.000005Z"',
    "TIMESTAMP '2026-11-21 08:00:01'": '"2026-11-21T08:00:01"',
    "DATE '2026-11-21'": '"2026-11-21"',
    "[1, NULL]": "[1, null]",
    "{'a': [0.5]}": '{"a": [0.5]}',
    "uuid() IS NULL": "false",
    "'00000000-0000-0000-0000-000000000001'::UUID": '"00000000-0000-0000-0000-000000000001"',
}


def test_values_are_spelt_as_documented(run: Run, store: Path) -> None:
    columns = ", ".join(f"{value} AS a{i}" for i, value in enumerate(SPELLINGS))
    outcome = run("sql", f"SELECT {columns}", "--format", "json", "--store", store)
    fields = ", ".join(f'"a{i}": {spelt}' for i, spelt in enumerate(SPELLINGS.values()))
    assert outcome.text == f"[\n{{{fields}}}\n]\n"
