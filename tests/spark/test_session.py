"""Spark's own machines, where there is Java."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tracehouse.warehouse.errors import SparkError
from tracehouse.warehouse.spark.tasks import SparkTasks

NUMBERS = pa.schema([("n", pa.int64())])


def listened_addresses(pid: int) -> set[str]:
    """Where a process listens, in hexadecimal, as /proc has it."""
    sockets = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(str(file.readlink()))
        except FileNotFoundError:
            continue
    rows = []
    for name in ("tcp", "tcp6"):
        rows += Path(f"/proc/{pid}/net/{name}").read_text(encoding="ascii").splitlines()[1:]
    found = (row.split() for row in rows)
    return {
        row[1].split(":")[0] for row in found if f"socket:[{row[9]}]" in sockets and row[3] == "0A"
    }


def test_a_local_spark_session_listens_only_on_loopback(session) -> None:
    pid = session.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    loopback = {"0100007F", "0" * 24 + "01000000", "0000000000000000FFFF00000100007F"}
    addresses = listened_addresses(pid)
    assert addresses
    assert addresses <= loopback


def test_times_are_utc_and_partitions_are_texts(session) -> None:
    text = (
        "SELECT CAST(TIMESTAMP '2026-01-01 00:00:00' AS STRING) AS at, current_timezone() AS zone"
    )
    assert session.sql(text).collect()[0].asDict() == {"at": "2026-01-01 00:00:00", "zone": "UTC"}
    inferred = "spark.sql.sources.partitionColumnTypeInference.enabled"
    assert session.conf.get(inferred) == "false"


def test_each_piece_is_a_task_of_its_own(session) -> None:
    def work(piece: str) -> pa.Table:
        from pyspark import TaskContext

        context = TaskContext.get()
        return pa.table({"n": [context.partitionId()]}, schema=NUMBERS)

    rows = SparkTasks(session).run([str(number) for number in range(5)], work, NUMBERS)
    assert len(set(rows["n"].to_pylist())) == 5


def test_task_that_fails_again_and_again_tells_why(session) -> None:
    def work(piece: str) -> pa.Table:
        raise OSError(f"{piece} cannot be read")

    with pytest.raises(SparkError, match="OSError: dump 7 cannot be read"):
        SparkTasks(session).run(["dump 7"], work, NUMBERS)
