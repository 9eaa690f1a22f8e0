"""A lake's tables, and the views above them, as temporary views of a session of Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from warehouse.catalogue.sql_files import read_sql_files
from warehouse.lake.commits import LakeState
from warehouse.lake.place import Lake
from warehouse.lake.schemas import NAMES, TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WORD = re.compile(r"\w+")


def make_views(session: SparkSession, lake: Lake, state: LakeState, text: str) -> None:
    """Make the tables and views that a text can read, with the columns that it can name.

    Args:
        session: The session.
        lake: The lake.
        state: Its files.
        text: Statements, and whatever else names tables and columns.
    """
    words = set(_WORD.findall(text.lower()))
    views = {name[4:-4]: sql for name, sql in read_sql_files("views")}
    named = []
    for view in reversed(views):  # a view reads only those before it
        if view in words:
            named.append(view)
            words.update(_WORD.findall(views[view].lower()))
    for table in TABLES:
        if table in words:
            _make_table(session, lake, state, table, words)
    for view in reversed(named):
        session.sql(views[view]).createOrReplaceTempView(view)


def _make_table(
    session: SparkSession, lake: Lake, state: LakeState, table: str, words: set[str]
) -> None:
    paths = [file.path for file in state.of(table)]
    schema = TABLES[table]
    if table not in NAMES:
        own = pa.schema([field for field in schema if field.name in words] or [schema.field(0)])
        _read_files(session, lake, paths, own).createOrReplaceTempView(table)
        return
    # Of what dumps share, every writer has left what it knew.
    _read_files(session, lake, paths, schema).createOrReplaceTempView(f"lake_{table}")
    texts = dict(read_sql_files("lake"))
    plain = f"SELECT DISTINCT {', '.join(schema.names)} FROM lake_{table}"  # noqa: S608
    session.sql(texts.get(f"{table}.sql", plain)).createOrReplaceTempView(table)


def _read_files(
    session: SparkSession, lake: Lake, paths: Sequence[str], schema: pa.Schema
) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    columns = from_arrow_schema(schema)
    if not paths:
        return session.createDataFrame([], columns)
    if lake.is_local:
        return session.read.schema(columns).parquet(*map(lake.absolute, paths))
    # Without a jar, Spark itself knows no object stores.
    uri = lake.uri

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        files = Lake(uri)
        for batch in batches:
            for path in batch.column("path").to_pylist():
                with files.files.open_input_file(files.absolute(path)) as source:
                    rows = pq.ParquetFile(source).iter_batches(columns=schema.names)
                    yield from (each.cast(schema) for each in rows)

    rows = session.createDataFrame([(path,) for path in paths], "path string")
    return rows.repartition(len(paths)).mapInArrow(read, columns)
