"""Answers of canned queries by DuckDB."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from functools import cache
from typing import TYPE_CHECKING

import duckdb

from tracehouse.warehouse.catalogue.header import Names
from tracehouse.warehouse.catalogue.name_filters import resolve_names
from tracehouse.warehouse.catalogue.parameters import bind_parameters
from tracehouse.warehouse.catalogue.queries import Query, list_queries
from tracehouse.warehouse.catalogue.time_limits import (
    Portion,
    Question,
    portion_column,
    split_question,
)

if TYPE_CHECKING:
    import pyarrow as pa

_SAMPLED = "device"  # a question that cannot be split is first asked about a few devices


def answer_query(
    connection: duckdb.DuckDBPyConnection,
    query: Query,
    params: Mapping[str, object],
    *,
    seconds: float | None = None,
) -> pa.Table:
    """The rows of a canned query as a table; see `stream_answer`."""
    import pyarrow as pa

    return pa.Table.from_batches(stream_answer(connection, query, params, seconds=seconds))


def stream_answer(
    connection: duckdb.DuckDBPyConnection,
    query: Query,
    params: Mapping[str, object],
    *,
    seconds: float | None = None,
    most_rows: int | None = None,
) -> Generator[pa.RecordBatch]:
    """The rows of a canned query, with the columns of its header, computed while they are read.

    The query's SQL functions must be registered: see `register_functions`. See `Question` for the
    arguments.

    Yields:
        At least one batch, which may be empty.

    Raises:
        LongQuestionError: The answer about a few devices shows that the limit is too short.
        ParameterError: A parameter is unknown, missing, of the wrong type or out of range, or the
            store lacks a name in it.
        QueryError: The query needs more memory than is available.
    """
    values = resolve_parameters(connection, query, params)
    question = Question(connection, query, seconds, most_rows)
    column = portion_column(query, values)
    is_sampled = query.header.name in list_queries()  # the page's own draw a bounded part
    if seconds is not None and is_sampled and column != _SAMPLED and _SAMPLED in values:
        samples = split_question(connection, query, _SAMPLED, values, is_timed=True)
        for _ in question.answer(_SAMPLED, samples, count=2 if len(samples) > 1 else 0):
            pass
    portions = [Portion(values, 0)]
    if column:
        is_timed = seconds is not None
        portions = split_question(connection, query, column, values, is_timed=is_timed)
    yield from question.answer(column, portions)


def resolve_parameters(
    connection: duckdb.DuckDBPyConnection, query: Query, params: Mapping[str, object]
) -> dict[str, object]:
    """Values of all parameters of a query, with names looked up.

    Raises:
        ParameterError: See `stream_answer`.
    """

    @cache  # two builds of a comparison have the same names
    def read_names(names: Names) -> list[object]:
        text = f"SELECT DISTINCT {names.column} FROM {names.table}"  # noqa: S608 - of our headers
        found = connection.execute(text).fetchall()
        return [value for (value,) in found if value is not None]

    return resolve_names(query, bind_parameters(query, params), read_names)
