"""Answers for queries that no oracle works out, from other answers of the same store.

A store out of which all dumps are deleted but those that filters leave must answer without the
filters as the whole store does with them. Some filters choose rows and change none: then the
answer is made of the rows that there are without them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.only_dumps import only_dumps
from tests.support.store_rows import AskedConnection
from tests.tools.audit.comparing import Row
from tests.tools.audit.oracles.places import (
    FILTERS,
    NAMES,
    Params,
    chosen,
    is_named,
    meant,
    names_of,
)
from tests.tools.audit.questions import Question
from tests.tools.audit.recordings import Recording, parse_time
from tracehouse import Warehouse
from tracehouse.warehouse.catalogue.queries import find_query
from tracehouse.warehouse.engine.sql_functions import register_functions

# Filters of rows, and the columns that they go by.
OF_OPERATORS = {"run": "run", "event": "event_name", "delegate_id": "delegate_id",
                "ordinal": "ordinal"}  # fmt: skip
_OF_NIGHTS = {name: name for name in ("device", "pool", "model", "backend")} | OF_OPERATORS
OF_ROWS: Mapping[str, Mapping[str, str]] = {
    "nightly_verdicts": _OF_NIGHTS,
    "change_points": _OF_NIGHTS,
    "ingest_errors": {"since": "refused_at", "until": "refused_at"},
}


def choose_rows(
    rows: Iterable[Row], params: Params, columns: Mapping[str, str], dumps: Sequence[Recording]
) -> list[Row]:
    """The rows that filters of rows leave; a name is one of the dumps."""
    return [
        row
        for row in rows
        if all(
            _passes(name, row[column], params[name], dumps)
            for name, column in columns.items()
            if params.get(name) is not None
        )
    ]


def _passes(name: str, value: Any, wanted: Any, dumps: Sequence[Recording]) -> bool:
    if name in NAMES:
        return value in meant(wanted, names_of(dumps, name))
    if name in ("since", "until"):
        time = parse_time(wanted)
        assert time is not None
        return bool(value >= time if name == "since" else value < time)
    return bool(value == wanted) if isinstance(wanted, int) else is_named(value, wanted)


class RestrictedStore:
    """A copy of a store, asked as if it had only the dumps that a question's filters leave."""

    def __init__(self, store: Path, dumps: Sequence[Recording]) -> None:
        """Copy the store of these dumps; the copy lies beside it."""
        self._dumps = dumps
        self._path = store.with_name("restricted")
        shutil.copytree(store, self._path)
        self._warehouse = Warehouse.open_to_write(self._path)
        self._connection = self._warehouse.writing
        rows = self._connection.sql("SELECT sha256, dump_id FROM dumps").fetchall()
        self._numbers = dict(rows)

    def __enter__(self) -> RestrictedStore:
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close and delete the copy."""
        self._warehouse.close()
        shutil.rmtree(self._path)

    def answer(self, question: Question) -> list[Row]:
        """The rows that the question must have, with the store's numbers of dumps."""
        params = question.params
        numbers = [self._numbers[dump.sha256] for dump in chosen(self._dumps, params)]
        others = {
            name: value
            for name, value in params.items()
            if name not in FILTERS and name not in OF_OPERATORS
        }
        # A transaction that has begun does not see functions that come later.
        register_functions(self._connection, find_query(question.query).sql)
        with only_dumps(self._connection, numbers):
            self._delete_refusals(params)
            rows = AskedConnection(self._connection).query(question.query, **others).to_pylist()
        return choose_rows(rows, params, OF_OPERATORS, self._dumps)

    def _delete_refusals(self, params: Params) -> None:
        """Delete those that filters leave out: of these, device, pool, since and until do."""
        found = self._connection.sql("SELECT sha256, manifest, refused_at FROM ingest_errors")
        columns = {name: name for name in ("device", "pool")} | OF_ROWS["ingest_errors"]
        for sha256, manifest, refused_at in found.fetchall():
            device = json.loads(manifest)["device"]
            row = {"device": device["name"], "pool": device.get("pool"), "refused_at": refused_at}
            if not choose_rows([row], params, columns, self._dumps):
                self._connection.execute("DELETE FROM ingest_errors WHERE sha256 = ?", [sha256])
