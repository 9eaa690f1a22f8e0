"""Work that the machines of a cluster do, a piece at a time, and the rows that come of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from warehouse.errors import SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PIECES = pa.schema([("number", pa.int64()), ("piece", pa.string())])
_CAUSE, _CAUSE_LINES = "Caused by: ", 30

Work = Callable[[str], pa.Table]


class Tasks(Protocol):
    """Machines that work together."""

    @property
    def parallelism(self) -> int:
        """How many pieces are done at a time."""

    def run(self, pieces: Sequence[str], work: Work, schema: pa.Schema) -> pa.Table:
        """What comes of pieces of work, in no order.

        Args:
            pieces: What to do, as text.
            work: Does a piece; it is sent to other machines, and what it raises fails its task.
            schema: Columns of what it gives.

        Raises:
            SparkError: A task failed again and again.
        """


class SparkTasks:
    """Those of a session of Spark. A task that fails is tried again as often as it is set to."""

    def __init__(self, session: SparkSession) -> None:
        """Take the session."""
        self._session = session

    @property
    def parallelism(self) -> int:
        """How many pieces are done at a time."""
        return int(self._session.sparkContext.defaultParallelism)

    def run(self, pieces: Sequence[str], work: Work, schema: pa.Schema) -> pa.Table:
        """What comes of pieces of work, each done by a task of its own; in no order.

        Raises:
            SparkError: A task failed again and again, or Spark did.
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
    """Let what fails in Spark be told in a line.

    Raises:
        SparkError: Something did.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise SparkError("Apache Spark", explain_failure(str(error))) from error


def explain_failure(text: str) -> str:
    """What failed: of the many lines that Spark tells, the last of the Python error in them.

    Where there is none, it is the first cause that Java tells.
    """
    lines = [line.strip() for line in text.splitlines()]
    caused = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
    first = lines[:_CAUSE_LINES]
    said = [line for line in first if line and not line.startswith(("File ", "at ", "^", "~"))]
    named = [line for line in said if ": " in line and line.split(": ")[0].endswith("Error")]
    told = named or caused or said or ["it does not say why"]
    return f"a job failed: {told[-1]:.500}"
