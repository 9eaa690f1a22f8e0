"""Queries of a lake on Spark, with the same answers as those of a store."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tracehouse.warehouse.catalogue.answers import resolve_parameters
from tracehouse.warehouse.catalogue.dialect import count_uses, split_ctes
from tracehouse.warehouse.catalogue.queries import (
    Query,
    expand_statement,
    find_query,
    list_views,
    read_view,
)
from tracehouse.warehouse.engine.aligned_operators import VIEW, Pair
from tracehouse.warehouse.engine.build_order import read_build_order
from tracehouse.warehouse.engine.sql_functions import named_functions
from tracehouse.warehouse.engine.store_connections import find_pair
from tracehouse.warehouse.lake.commits import LakeState, read_filled_state
from tracehouse.warehouse.lake.connections import LakeConnections, reading_lake
from tracehouse.warehouse.lake.layout import FACTS, SHARED_TABLES, TABLES
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.tables import shared_select, unmerged_name
from tracehouse.warehouse.regressions.computed import Judges, answer_computed
from tracehouse.warehouse.regressions.fleet import MinChange, order_nights
from tracehouse.warehouse.regressions.judging import JudgePart
from tracehouse.warehouse.regressions.nightly import Rules
from tracehouse.warehouse.regressions.parts import (
    ALL_PARTS,
    PART,
    PartResult,
    Selection,
    View,
    judge_part,
)
from tracehouse.warehouse.regressions.series_values import PLACE, RECORDING
from tracehouse.warehouse.spark.tasks import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_ALL_FILES: Mapping[str, Sequence[str]] = {}
# Views that are computed once, because Spark would repeat their long plans at each use.
_COMPUTED = {"named_run_signatures"}
_WORD = re.compile(r"\w+")


def make_views(
    session: SparkSession,
    lake: Lake,
    state: LakeState,
    text: str,
    worked_out: Callable[[str], pa.Table | None],
    files: Mapping[str, Sequence[str]] = _ALL_FILES,
) -> None:
    """Create the tables and views that a text can read, with the columns that it can name.

    The text consists of statements, and other text with names of tables and columns. A table has
    the rows of the given files, by default of all its files; those that `worked_out` returns have
    their rows from there.
    """
    views = {name: read_view(name) for name in list_views()}
    texts = views | {name: shared_select(name) for name in SHARED_TABLES}
    words = set(_WORD.findall(text.lower()))
    named = []
    for name in [*reversed(views), *SHARED_TABLES]:  # each reads only later ones, and facts
        if name in words:
            named.append(name)
            words.update(_WORD.findall(texts[name].lower()))
    for table in filter(words.__contains__, [*FACTS, *SHARED_TABLES]):
        columns = [
            field for field in TABLES[table] if table in SHARED_TABLES or field.name in words
        ]
        paths = files.get(table, [file.path for file in state.of(table)])
        frame = _read_files(session, lake, paths, pa.schema(columns))
        frame.createOrReplaceTempView(unmerged_name(table))
    if "build_order" in words and (order := worked_out("build_order")):
        session.createDataFrame(order).createOrReplaceTempView("build_order")
    for name in reversed(named):
        if rows := worked_out(name):
            session.createDataFrame(rows).createOrReplaceTempView(name)
        elif name in _COMPUTED:
            frame = session.sql(texts[name])
            # With columns of its own, as all readers of a view share the ids of its columns.
            frame.localCheckpoint().toDF(*frame.columns).createOrReplaceTempView(name)
        else:
            session.sql(f"CREATE OR REPLACE TEMP VIEW {name} AS {texts[name]}")


def _read_files(
    session: SparkSession, lake: Lake, paths: Sequence[str], schema: pa.Schema
) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    columns = from_arrow_schema(schema)
    if not paths:
        return session.createDataFrame([], columns)
    if lake.is_local:
        return session.read.schema(columns).parquet(*map(lake.absolute, paths))
    # Spark itself cannot read object stores without a further jar.
    uri = lake.uri

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        files = Lake(uri)
        for batch in batches:
            for path in batch.column("path").to_pylist():
                with files.files.open_input_file(files.absolute(path)) as source:
                    rows = pq.ParquetFile(source).iter_batches(columns=schema.names)
                    yield from (each.cast(schema) for each in rows)

    # One partition per file from the start: after a shuffle, Spark would estimate the rows as small
    # as the paths, and broadcast them.
    rows = session.sparkContext.parallelize([(path,) for path in paths], len(paths))
    return session.createDataFrame(rows, "path string").mapInArrow(read, columns)


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


@spark_errors()
def judge_on_spark(
    lake: SparkLake,
    head: str,
    min_change: MinChange,
    rules: Rules,
    view: Callable[[PartResult], View],
    selection: Selection = ALL_PARTS,
) -> list[View]:
    """Judge the series of a build and of earlier builds, with the results of one process.

    One task judges the families of a part and returns the view of it.

    Raises:
        SparkError: A job failed.
    """
    from pyspark.sql.functions import expr

    rows = lake.frame(expand_statement("fleet_values"), {"head": head}).localCheckpoint()
    nights = order_nights(rows.select(*PLACE, *RECORDING).distinct().toArrow(), head)
    for key, names in zip(("coalesce(pool, device)", "model", "backend"), selection, strict=True):
        if names is not None:
            rows = rows.where(expr(key).isin(list(names)))

    def judge(part: pa.Table) -> View:
        return view(judge_part(part, head, min_change, rules, nights))

    return _judge_parts(rows, judge)


@spark_errors()
def judge_pair_on_spark(
    lake: SparkLake, values: Query, params: Mapping[str, object], judge: JudgePart
) -> list[pa.Table]:
    """The rows of `judge` for each part of the values of two builds, one task for each.

    Raises:
        SparkError: A job failed.
    """
    return _judge_parts(lake.frame_of(values, params).localCheckpoint(), judge)


def _judge_parts(rows: DataFrame, judge: Callable[[pa.Table], View]) -> list[View]:
    """What is made of each part; of all rows, if there are none."""

    def pickle_part(part: pa.Table) -> pa.Table:
        return pa.table({"part": [pickle.dumps(judge(part))]})

    own = "CASE WHEN pool IS NULL THEN device END AS own_device"
    grouped = rows.selectExpr("*", own).groupBy("own_device", *PART)
    judged = grouped.applyInArrow(pickle_part, "part binary").toArrow()["part"].to_pylist()
    if not judged:
        return [judge(rows.toArrow())]
    return [pickle.loads(part) for part in judged]  # noqa: S301 - our own tasks made it
