"""Tasks that machines of a cluster run, each of which turns a text into rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from tracehouse.warehouse.errors import SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PIECES = pa.schema([("number", pa.int64()), ("piece", pa.string())])
_CAUSE, _CAUSE_LINES = "Caused by: ", 30

Work = Callable[[str], pa.Table]


class Tasks(Protocol):
    """Machines that run tasks."""

    @property
    def parallelism(self) -> int:
        """Number of tasks at a time."""

    def run(self, pieces: Sequence[str], work: Work, schema: pa.Schema) -> pa.Table:
        """Rows of all tasks, in no order.

        Args:
            pieces: Arguments of the tasks.
            work: Function of a task; it is sent to other machines, and an error fails the task.
            schema: Columns of its result.

        Raises:
            SparkError: A task failed repeatedly.
        """


class SparkTasks:
    """Tasks of a session of Spark, which retries failed tasks as configured."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    @property
    def parallelism(self) -> int:
        """Number of tasks at a time."""
        return int(self._session.sparkContext.defaultParallelism)

    def run(self, pieces: Sequence[str], work: Work, schema: pa.Schema) -> pa.Table:
        """Rows of all tasks, one task per piece, in no order.

        Raises:
            SparkError: A task failed repeatedly, or Spark failed.
        """
        if not pieces:
            return schema.empty_table()
        from pyspark.sql.pandas.types import from_arrow_schema

        def do(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for piece in batch["piece"].to_pylist():
                    yield from work(piece).cast(schema).to_batches()

        rows = pa.table([range(len(pieces)), pieces], schema=_PIECES)
        columns = from_arrow_schema(schema, prefer_timestamp_ntz=False)
        with spark_errors():
            spread = self._session.createDataFrame(rows).repartitionByRange(len(pieces), "number")
            return spread.mapInArrow(do, columns).toArrow().cast(schema)


@contextmanager
def spark_errors() -> Iterator[None]:
    """Translate errors of Spark into one line.

    Raises:
        SparkError: Spark failed.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise SparkError("Apache Spark", explain_failure(str(error))) from error


def explain_failure(text: str) -> str:
    """The cause of a failure: the last line of the Python error in Spark's message.

    Without a Python error it is the last cause in Java's stack trace.
    """
    lines = [line.strip() for line in text.splitlines()]
    caused = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
    first = lines[:_CAUSE_LINES]
    texts = [line for line in first if line and not line.startswith(("File ", "at ", "^", "~"))]
    errors = [line for line in texts if ": " in line and line.split(": ")[0].endswith("Error")]
    found = errors or caused or texts or ["Spark gives no reason"]
    return f"a job failed: {found[-1]:.500}"
