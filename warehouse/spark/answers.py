"""Queries of a lake on Spark, with the same answers as those of a store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from tracehouse.warehouse.catalogue.answers import resolve_parameters
from tracehouse.warehouse.catalogue.ctes import count_uses, split_ctes
from tracehouse.warehouse.catalogue.queries import Query, find_query
from tracehouse.warehouse.engine.aligned_operators import VIEW, Pair
from tracehouse.warehouse.engine.build_order import read_build_order
from tracehouse.warehouse.engine.functions import named_functions
from tracehouse.warehouse.engine.store_connections import find_pair
from tracehouse.warehouse.lake.commits import LakeState, read_filled_state
from tracehouse.warehouse.lake.connections import LakeConnections, reading_lake
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.regressions.computed import Judges, answer_computed
from tracehouse.warehouse.spark.tasks import spark_errors
from tracehouse.warehouse.spark.verdicts import judge_on_spark, judge_pair_on_spark
from tracehouse.warehouse.spark.views import make_views

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


class SparkLake:
    """A lake at one moment, queried in a session of Spark."""

    def __init__(self, session: SparkSession, uri: str, state: LakeState | None = None) -> None:
        """Read the state of the lake, unless it is given.

        Raises:
            LakeError: The lake does not exist, cannot be read or is empty.
        """
        self._session, self._lake = session, Lake(uri)
        self._state = state or read_filled_state(self._lake)
        self._aligned: dict[Pair | None, pa.Table] = {}
        # With this set, plans fail if a checkpointed CTE is part of a UNION.
        session.conf.set("spark.sql.constraintPropagation.enabled", "false")

    def query(self, name: str | Query, /, **params: object) -> pa.Table:
        """Rows of a canned query, with the columns in its header; see `Warehouse.query`.

        Raises:
            UnknownQueryError: There is no query of that name.
            ParameterError: A parameter is unknown, missing, of the wrong type or out of range, or
                names something that the lake does not have.
            SparkError: A job failed.
        """
        query = find_query(name) if isinstance(name, str) else name
        if query.is_computed:
            judges = Judges(partial(judge_on_spark, self), partial(judge_pair_on_spark, self))
            return answer_computed(self, query, params, judges=judges)
        with spark_errors():
            return self.frame_of(query, params).toArrow()

    @contextmanager
    def stream_query(
        self, name: str | Query, params: Mapping[str, object], /
    ) -> Iterator[pa.RecordBatchReader]:
        """Rows of `query`, all of which are collected first."""
        yield self.query(name, **params).to_reader()

    def frame_of(self, query: Query, params: Mapping[str, object]) -> DataFrame:
        """The rows of a query of SQL as a data frame, which is not collected."""
        with closing(LakeConnections(self._lake, self._state)) as connections:
            # DuckDB resolves names and selects files faster than Spark.
            values = resolve_parameters(connections.connection("trusted", query.sql), query, params)
            files = connections.pruned_files(query, params)
        worked_out = partial(self._worked_out, pair=find_pair(params))
        make_views(self._session, self._lake, self._state, query.sql, worked_out, files)
        _register_functions(self._session, query.sql)
        return run_select(self._session, query.sql, values)

    def sql(self, text: str, params: Mapping[str, Any] | None = None, /) -> pa.Table:
        """Rows of a trusted SELECT with parameters as `$name`.

        Raises:
            SparkError: A job failed.
        """
        with spark_errors():
            return self.frame(text, params or {}).toArrow()

    @contextmanager
    def stream(
        self, text: str, params: Mapping[str, Any] | None = None, /
    ) -> Iterator[pa.RecordBatchReader]:
        """Rows of `sql`, all of which are collected first."""
        yield self.sql(text, params).to_reader()

    def frame(self, text: str, params: Mapping[str, Any]) -> DataFrame:
        """The rows of `sql` as a data frame, which is not collected."""
        make_views(self._session, self._lake, self._state, text, self._worked_out)
        return run_select(self._session, re.sub(r"\$(\w+)", r":\1", text), params)

    def _worked_out(self, name: str, pair: Pair | None = None) -> pa.Table | None:
        """A table that DuckDB and Python work out in this process; None for all others."""
        if name == "build_order":
            return self._order
        return self._align(pair) if name == VIEW else None

    @cached_property
    def _order(self) -> pa.Table:
        """The order of all builds."""
        with reading_lake(self._lake, self._state) as connection:
            return read_build_order(connection)

    def _align(self, pair: Pair | None) -> pa.Table:
        """The operators that go by other names than in their own programs."""
        if pair not in self._aligned:
            with closing(LakeConnections(self._lake, self._state)) as connections:
                self._aligned[pair] = connections.aligned_operators(pair)
        return self._aligned[pair]


def _register_functions(session: SparkSession, sql: str) -> None:
    """Register the functions that a statement names, for all statements of the session."""
    from pyspark.sql.functions import arrow_udf

    for function in named_functions(sql):
        compute = arrow_udf(function.compute, function.spark_type)
        session.udf.register(function.name, compute)


def run_select(session: SparkSession, sql: str, values: Mapping[str, object]) -> DataFrame:
    """The rows of a trusted statement, computed CTE by CTE.

    Spark inlines a CTE wherever it is read, so plans would grow too large. Here a CTE that is read
    more than once is computed once, as in DuckDB.
    """
    statement = split_ctes(sql)
    hidden: dict[str, DataFrame | None] = {}
    for name, own in statement.ctes:
        frame = run_select(session, own, values)
        if count_uses(name, statement) > 1:
            frame = frame.localCheckpoint().toDF(*frame.columns)  # columns of their own
        hidden[name] = session.table(name) if session.catalog.tableExists(name) else None
        frame.createOrReplaceTempView(name)
    result = session.sql(statement.body, args=dict(values))
    for name, before in hidden.items():
        if before is None:
            session.catalog.dropTempView(name)
        else:
            before.createOrReplaceTempView(name)
    return result
