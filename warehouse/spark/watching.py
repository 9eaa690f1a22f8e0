"""An inbox followed by a stream of Spark: what arrives comes into the lake, each dump once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from ingest.errors import IngestError
from ingest.watching.places import WatchedFile
from warehouse.errors import SparkError, WarehouseError
from warehouse.spark.ingest import LakeIngest, LakeIngester
from warehouse.spark.source import EtdumpSource
from warehouse.spark.tasks import explain_failure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_LOOK_SECONDS = 0.5


@dataclass(frozen=True)
class StreamOptions:
    """How a stream goes on.

    Attributes:
        checkpoint: Folder in which Spark keeps how far it has come, as a path or URI of Hadoop's.
        pause_seconds: Time from one look to the next.
        is_once: Whether it ends when nothing new is left.
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
    tell: Callable[[LakeIngest], None],
) -> None:
    """Take what arrives until told to stop, or once; what is done again changes nothing.

    Args:
        session: Where the work is done.
        ingester: Takes files.
        options: How the stream goes on.
        stop: Set to end it.
        tell: Called with what each batch did.

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
            tell(ingester.take(sorted(files)))
        except (IngestError, WarehouseError) as error:  # which Spark would tell as text
            failures.append(error)
            raise

    writer = arriving.writeStream.foreachBatch(take).queryName("tracehouse")
    writer = writer.option("checkpointLocation", options.checkpoint)
    pause = f"{options.pause_seconds} seconds"
    if options.is_once:
        paced = writer.trigger(availableNow=True)
    else:
        paced = writer.trigger(processingTime=pause)
    try:
        _follow(paced.start(), stop)
    except PySparkException as error:
        if failures:
            raise failures[0] from error
        raise SparkError("Apache Spark", explain_failure(str(error))) from error


def _follow(query: StreamingQuery, stop: threading.Event) -> None:
    """Wait until a stream ends, or end it."""
    try:
        while not stop.is_set() and not query.awaitTermination(_LOOK_SECONDS):
            pass
    finally:
        query.stop()
