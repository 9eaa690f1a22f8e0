"""A stream of Spark that ingests each dump that arrives in an inbox into a lake, once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from tracehouse.ingest.errors import IngestError
from tracehouse.ingest.watching.places import WatchedFile
from tracehouse.warehouse.errors import SparkError, WarehouseError
from tracehouse.warehouse.spark.ingest import LakeIngest, LakeIngester
from tracehouse.warehouse.spark.source import EtdumpSource
from tracehouse.warehouse.spark.tasks import explain_failure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_LOOK_SECONDS = 0.5


@dataclass(frozen=True)
class StreamOptions:
    """Options of a stream.

    Attributes:
        checkpoint: Folder of Spark's checkpoint, as a path or a URI of Hadoop.
        pause_seconds: Time between two listings of the inbox.
        is_once: Whether the stream ends when no new file is left.
    """

    checkpoint: str
    pause_seconds: float = 10.0
    is_once: bool = False


def watch_inbox(
    session: SparkSession,
    ingester: LakeIngester,
    options: StreamOptions,
    *,
    stop: threading.Event,
    report: Callable[[LakeIngest], None],
) -> None:
    """Ingest dumps as they arrive, until `stop` is set or no new file is left.

    Raises:
        SparkError: The stream failed.
        IngestError: The inbox cannot be listed.
        WarehouseError: The lake cannot be read or written.
    """
    session.dataSource.register(EtdumpSource)
    arriving = session.readStream.format("etdump").option("table", "files").load(ingester.inbox)
    failures: list[Exception] = []

    def take(batch: DataFrame, _: int) -> None:
        rows = batch.toArrow().to_pylist()
        files = [WatchedFile(row["path"], row["byte_count"]) for row in rows]
        try:
            report(ingester.ingest(sorted(files)))
        except (IngestError, WarehouseError) as error:  # Spark would pass on only the text
            failures.append(error)
            raise

    writer = arriving.writeStream.foreachBatch(take).queryName("tracehouse")
    writer = writer.option("checkpointLocation", options.checkpoint)
    if options.is_once:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{options.pause_seconds} seconds")
    try:
        _follow(writer.start(), stop)
    except PySparkException as error:
        if failures:
            raise failures[0] from error
        raise SparkError("Apache Spark", explain_failure(str(error))) from error


def _follow(query: StreamingQuery, stop: threading.Event) -> None:
    """Wait until a stream ends, or end it when `stop` is set."""
    try:
        while not stop.is_set() and not query.awaitTermination(_LOOK_SECONDS):
            pass
    finally:
        query.stop()
