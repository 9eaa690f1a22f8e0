"""The nightly report made through Spark, beside that of the store."""

import pytest

from tests.support.lakes import fill
from tests.support.nightly_farm import ingest_nights

pytest.importorskip("pyspark", reason="needs pyspark: run 'make test-spark'")
