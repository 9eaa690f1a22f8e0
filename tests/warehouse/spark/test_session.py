from __future__ import annotations

import sys

import pytest

from tracehouse.warehouse.errors import SparkError
from tracehouse.warehouse.spark.session import opened_session


def test_missing_pyspark_is_reported_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.errors", None)
    with (
        pytest.raises(SparkError, match=r"pip install '\.\[spark\]' in a checkout"),
        opened_session("local[1]"),
    ):
        pass


def test_missing_java_is_reported_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    pytest.importorskip("pyspark", reason="pyspark is missing: make test-spark")
    with (
        pytest.raises(SparkError, match="install a JRE, or set JAVA_HOME"),
        opened_session("local"),
    ):
        pass
