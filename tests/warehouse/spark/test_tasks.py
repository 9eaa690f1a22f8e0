from __future__ import annotations

from tracehouse.warehouse.spark.tasks import explain_failure

PYTHON = """Job aborted.
  File "worker.py", line 1, in main
    return work(piece)
OSError: dump 7 cannot be read
"""
JAVA = """An error occurred while calling o586.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.ThreadUtils$.awaitResult(ThreadUtils.scala:359)
Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE] while reading file a.parquet
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(Errors.scala:841)
Caused by: java.lang.RuntimeException: a.parquet is not a Parquet file
"""


def test_a_spark_failure_is_explained_by_the_python_error_or_first_java_cause() -> None:
    assert explain_failure(PYTHON) == "a job failed: OSError: dump 7 cannot be read"
    cause = "java.lang.RuntimeException: a.parquet is not a Parquet file"
    assert explain_failure(JAVA) == f"a job failed: {cause}"
    assert explain_failure("no more memory") == "a job failed: no more memory"
    assert explain_failure("") == "a job failed: Spark gives no reason"
