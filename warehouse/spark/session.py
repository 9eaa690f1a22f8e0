"""Sessions of Apache Spark, with settings that make answers and files equal to DuckDB's."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tracehouse.warehouse.errors import SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*,4]"  # all cores of this machine; a task is tried four times, as on a cluster

_PLACE = "Apache Spark"
_NO_SETTINGS: Mapping[str, str] = {}

# Settings that can be changed in a running session, as in a notebook.
_RUNNING = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # Without this, columns are matched by position rather than by name.
    "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
    "spark.sql.execution.arrow.maxBytesPerBatch": "32m",
}
_STARTED = {
    "spark.log.level": "FATAL",  # errors are raised as exceptions
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
# Ports of a local master must not be reachable from other machines.
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


@contextmanager
def opened_session(
    master: str | None = None, *, settings: Mapping[str, str] = _NO_SETTINGS
) -> Iterator[SparkSession]:
    """A session, which is stopped when the body ends unless it was running before.

    Args:
        master: Spark's master; by default that of spark-submit, else this machine.
        settings: Spark's own settings, which override ours.

    Raises:
        SparkError: pyspark or Java is missing, or the session cannot be started.
    """
    session, is_ours = _open_session(master, settings)
    try:
        yield session
    finally:
        if is_ours:
            session.stop()


def _open_session(master: str | None, settings: Mapping[str, str]) -> tuple[SparkSession, bool]:
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        problem = (
            f"cannot be imported ({error}); install it with: pip install '.[spark]' in a checkout"
        )
        raise SparkError(_PLACE, problem) from error
    running = SparkSession.getActiveSession()
    if running is not None:
        for name, value in {**_RUNNING, **settings}.items():
            running.conf.set(name, value)
        return running, False
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit started this process
    master = master or (None if is_submitted else LOCAL)
    builder = SparkSession.builder.appName("tracehouse")
    for name, value in _settings(master, settings).items():
        builder = builder.config(name, value)
    if master and not is_submitted:
        _prepare_process(master)
    try:
        return builder.getOrCreate(), True
    except PySparkException as error:
        problem = f"cannot be started ({error}); it needs Java 17 or newer"
        raise SparkError(_PLACE, problem) from error


def _settings(master: str | None, settings: Mapping[str, str]) -> dict[str, str]:
    given = {"spark.master": master} if master else {}
    loopback = _LOOPBACK if _is_local(master) else {}
    return {**_RUNNING, **_STARTED, **loopback, **given, **settings}


def _prepare_process(master: str) -> None:
    home = os.environ.get("JAVA_HOME")
    if not (Path(home, "bin", "java").exists() if home else shutil.which("java")):
        problem = "needs Java 17 or newer, which is missing: install a JRE, or set JAVA_HOME"
        raise SparkError(_PLACE, problem)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if _is_local(master):
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


def _is_local(master: str | None) -> bool:
    return bool(master) and str(master).startswith("local")
