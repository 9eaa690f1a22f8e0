"""Canned queries within time limits: a long one is answered in portions, or refused early."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple

import duckdb

from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.queries import Query, find_filters
from tracehouse.warehouse.catalogue.views import reads_table
from tracehouse.warehouse.errors import LongQuestionError, QueryError

if TYPE_CHECKING:
    import pyarrow as pa


# A dump weighs as much as its events if the query reads those, else as its runs; and DUMP_WEIGHT
# more, for its statistics.
DUMP_WEIGHT, RUN_WEIGHT = 100, 10
MOST_WEIGHT = 15_000_000  # of a portion: some 150 MB of memory
_SHARES = (1 / 25, 1 / 5)  # of it, for the first portions, which show what the others will take
_WEIGHTS = "CAST(sum({} + {}) AS BIGINT)"
# Of a query that reads one of these tables too, only dumps that have rows in it count with their
# events: others lead to none.
_NEEDED = {"allocations": "n_allocations", "debug_values": "n_debug_events"}

_BATCH_ROWS = 100_000
_ANSWER = "answer_rows"  # the table of a portion's rows


class Portion(NamedTuple):
    """A part of a question.

    Attributes:
        values: Values of the query's parameters.
        weight: Weight of the dumps that it is about.
    """

    values: Mapping[str, object]
    weight: int

    def halves(self, column: str) -> list[Portion]:
        """Two portions of half as many devices or models; the portion itself if it has only one."""
        names = self.values.get(column)
        if not isinstance(names, list) or len(names) < 2:
            return [self]
        middle, half = len(names) // 2, self.weight // 2
        return [
            Portion({**self.values, column: names[:middle]}, half),
            Portion({**self.values, column: names[middle:]}, self.weight - half),
        ]


def split_question(
    connection: duckdb.DuckDBPyConnection,
    query: Query,
    column: str,
    values: Mapping[str, object],
    *,
    most: int | None = None,
    is_timed: bool = False,
) -> list[Portion]:
    """Portions by `column`, device or model, in the order of their names; one of a short question.

    Args:
        connection: A connection to the store.
        query: The query.
        column: Parameter of the query.
        values: Values from `resolve_parameters`.
        most: Weight of a portion, by default MOST_WEIGHT; a single device or model may have more.
        is_timed: Begin with small portions, which show how long the others will take.
    """
    most = most or MOST_WEIGHT
    weight = _WEIGHTS.format(_weight_of_dump(query, values), DUMP_WEIGHT)
    # As text: a relation would be bound three times.
    ((stored,),) = connection.execute(f"SELECT coalesce({weight}, 0) FROM dumps").fetchall()  # noqa: S608
    if stored <= most:
        return [Portion(values, stored)]
    weights = _weights_by(column, connection, values, weight)
    if sum(weight for _, weight in weights) <= most:
        return [Portion(values, sum(weight for _, weight in weights))]
    shares = _SHARES if is_timed else ()
    return [
        Portion({**values, column: names}, weight)
        for names, weight in _gather(weights, most, shares)
    ]


def _weight_of_dump(query: Query, values: Mapping[str, object]) -> str:
    # Approximate percentiles add events up in buckets, and hold none.
    if not reads_table(query.sql, "events") or values.get("approx"):
        return f"{RUN_WEIGHT} * n_runs"
    for table, count in _NEEDED.items():
        if reads_table(query.sql, table):
            return f"if({count} > 0, n_events, 0)"
    return "n_events"


def portion_column(query: Query, values: Mapping[str, object]) -> str:
    """The column by which the answer can be split; empty if it has to be computed at once."""
    return "" if values.get("group_by") is not None else query.header.portions


def _gather(
    weights: Iterable[tuple[str, int]], most: int, shares: Iterable[float] = ()
) -> Iterator[tuple[list[str], int]]:
    names: list[str] = []
    total, limits = 0, chain((most * share for share in shares), repeat(most))
    limit = next(limits)
    for name, weight in weights:
        if names and total + weight > limit:
            yield names, total
            names, total, limit = [], 0, next(limits)
        names.append(name)
        total += weight
    yield names, total


def _weights_by(
    column: str,
    connection: duckdb.DuckDBPyConnection,
    values: Mapping[str, object],
    weight: str,
) -> list[tuple[str, int]]:
    """The weight of the chosen dumps of each device or model, by name."""
    filters = find_filters("chosen_dumps")
    given = {parameter.name: values.get(parameter.name) for parameter in filters.header.params}
    if "build" not in values and "head" in values:
        given["build"] = [values["base"], values["head"]]
    chosen = connection.sql(duckdb_text(filters.sql), params=given)
    counts = ", ".join(["dump_id", "n_runs", "n_events", *_NEEDED.values()])
    sizes = connection.table("dumps").project(counts)
    dumps = chosen.join(sizes, "dump_id")
    return dumps.aggregate(f"{column}, {weight}", column).order(column).fetchall()


class _Cost(NamedTuple):
    """Time and weight of an answered portion."""

    seconds: float
    weight: int

    def pace(self, before: _Cost) -> float:
        """Seconds per weight, without the time that every portion takes, if `before` is lighter."""
        if self.weight > before.weight:
            return max(self.seconds - before.seconds, 0.0) / (self.weight - before.weight)
        return self.seconds / max(self.weight, 1)


class Question(NamedTuple):
    """A canned query, asked of a connection.

    Attributes:
        connection: A connection to the store, which has no other use meanwhile.
        query: The query.
        seconds: Limit of the answer's time; None without a limit.
        most_rows: How many rows are read at most; None if all may be read.
    """

    connection: duckdb.DuckDBPyConnection
    query: Query
    seconds: float | None
    most_rows: int | None

    def answer(
        self, column: str, portions: Sequence[Portion], *, count: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of the first `count` portions, by default all, while they are read.

        `column` is the parameter by which the question is split.

        Raises:
            LongQuestionError: The pace of these portions shows that the limit is too short for all.
        """
        start = time.monotonic()
        left = sum(portion.weight for portion in portions)
        pending, before = list(portions[:count]), None
        while pending:
            last = time.monotonic()
            is_answered = yield from self._answer_portion(column, pending[0])
            if not is_answered:
                pending = [half for portion in pending for half in portion.halves(column)]
                continue
            now, done = time.monotonic(), pending.pop(0)
            cost, left = _Cost(now - last, done.weight), left - done.weight
            expected = now - start + left * cost.pace(before) if before else 0.0
            if left and self.seconds is not None and expected > self.seconds:
                filters = _filters_to_add(self.query, done.values, column)
                raise LongQuestionError(self.query.header.name, expected, self.seconds, filters)
            before = cost

    def _answer_portion(
        self, column: str, portion: Portion
    ) -> Generator[pa.RecordBatch, None, bool]:
        """The rows of a portion; returns whether the memory was enough, or a half should be tried.

        Raises:
            QueryError: The memory is not enough for a single device or model.
        """
        count = 0
        try:
            for batch in self._read(portion):
                count += 1
                yield batch
        except duckdb.OutOfMemoryException as error:
            if count or len(portion.halves(column)) == 1:
                raise QueryError(self._explain(error, portion)) from error
            return False
        return True

    def _read(self, portion: Portion) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        # Rows that stream from a statement cost a fifth more, because it is bound twice for them.
        most = "ALL" if self.most_rows is None else self.most_rows
        text = f"FROM ({duckdb_text(self.query.sql)}) LIMIT {most}"
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {_ANSWER} AS {text}", portion.values)
        with self.connection.table(_ANSWER).to_arrow_reader(_BATCH_ROWS) as rows:
            is_empty = True
            for batch in rows:
                is_empty = False
                yield batch
            if is_empty:
                yield pa.RecordBatch.from_pylist([], rows.schema)
        self.connection.execute(f"DROP TABLE {_ANSWER}")

    def _explain(self, error: duckdb.OutOfMemoryException, portion: Portion) -> str:
        less = "select fewer dumps, such as those of one device and build"
        if portion.values.get("approx") is False:
            less += ", or accept approximate answers with --approx"
        problem = f"needs more memory than is available ({str(error).splitlines()[0]}): {less}"
        return f"query '{self.query.header.name}': {problem}"


def _filters_to_add(query: Query, values: Mapping[str, object], split: str) -> list[str]:
    """Parameters that would select less, and that the question lacks."""
    return [
        param.name
        for param in query.header.params
        if (param.type.endswith("[]") or param.type == "TIMESTAMP")
        and (param.name == split or values[param.name] is None)
    ]
