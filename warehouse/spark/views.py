"""A lake's tables, and the views above them, as temporary views of a session of Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tracehouse.warehouse.catalogue.queries import list_views, read_view
from tracehouse.warehouse.lake.commits import LakeState
from tracehouse.warehouse.lake.place import Lake
from tracehouse.warehouse.lake.schemas import FACTS, SHARED_TABLES, TABLES
from tracehouse.warehouse.lake.views import shared_select, unmerged_name

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
