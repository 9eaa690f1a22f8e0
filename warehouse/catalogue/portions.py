"""Questions in portions: each about some devices or models, so that memory stays bounded.

A query whose header says `portions: device` has rows that depend on the dumps of their own device
alone, and that are sorted by device first. So its answers about some devices at a time, one after
another, are its answer about all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, repeat
from typing import NamedTuple

import duckdb

from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.queries import Query, find_filters
from tracehouse.warehouse.catalogue.views import reads_table

# A dump weighs as much as its events if the query reads those, else as its runs; and DUMP_WEIGHT
# more, for its statistics.
DUMP_WEIGHT, RUN_WEIGHT = 100, 10
MOST_WEIGHT = 15_000_000  # of a portion: some 150 MB of memory
_SHARES = (1 / 25, 1 / 5)  # of it, for the first portions, which show what the others will take
_WEIGHTS = "CAST(sum({} + {}) AS BIGINT)"
# Of a query that reads one of these tables too, only dumps that have rows in it count with their
# events: others lead to none.
_NEEDED = {"allocations": "n_allocations", "debug_values": "n_debug_events"}


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
    stored = _sum_weights(connection.table("dumps"), weight)
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


def _sum_weights(dumps: duckdb.DuckDBPyRelation, weight: str) -> int:
    ((stored,),) = dumps.aggregate(weight).fetchall()
    return int(stored or 0)


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
