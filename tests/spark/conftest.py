from __future__ import annotations

import shutil

import pytest

from tests.support.buckets import serving_s3

# What makes Spark fast on many rows only costs time on a few.
_FEW_ROWS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmn600m",
}


@pytest.fixture(scope="module")
def session():
    """A session on this machine, which starts once for all tests of a file."""
    pytest.importorskip("pyspark", reason="pyspark is missing: make test-spark")
    if not shutil.which("java"):
        pytest.skip("Java is missing: install a JRE of 17 or newer")
    from tracehouse.warehouse.spark.session import opened_session

    # A machine that is busy with something else for minutes is no failure.
    patient = {"spark.network.timeout": "800s"}
    with opened_session("local[2,2]", settings=patient | _FEW_ROWS) as opened:
        yield opened


@pytest.fixture(scope="session")
def bucket():
    """A bucket of a stand-in for S3, for all tests."""
    pytest.importorskip("moto", reason="moto is missing: make test-spark")
    with serving_s3() as served:
        yield served
