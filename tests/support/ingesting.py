"""What a command line said of files that it ingested."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.command import Run
from tests.support.stores import write
from tracehouse import Warehouse

NAMES = ("--device", "pixel8", "--build", "b1", "--model", "mv2")


class Ingested(NamedTuple):
    """The row that `ingest` printed, the refusals by file, and the notes."""

    row: dict[str, Any]
    refused: dict[str, str]
    notes: list[str]


def ingest_files(run: Run, store: Path, *paths: Path | str, **options: Any) -> Ingested:
    """Ingest files with a command line, `options` with names from --device, --build and --model."""
    names = NAMES if options.pop("is_named", True) else ()
    outcome = run("ingest", *paths, *names, "--store", store, "--format", "json", "--keep-going")
    assert outcome.code == 0, outcome.err
    (row,) = json.loads(outcome.text)
    lines = outcome.err.splitlines()
    refused = dict(
        line.removeprefix("refused: ").split(": ", 1)
        for line in lines
        if line.startswith("refused: ")
    )
    return Ingested(row, refused, [line for line in lines if line.startswith("note: ")])


def write_all(folder: Path, files: dict[str, bytes]) -> Path:
    """Write files below a folder."""
    for name, data in files.items():
        write(folder / name, data)
    return folder


def ask(store: Path, sql: str) -> list[dict[str, Any]]:
    """Rows of a statement."""
    with Warehouse.open(store, read_only=True) as warehouse:
        return list(warehouse.sql(sql).to_pylist())
