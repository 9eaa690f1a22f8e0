"""Sessions of Spark for a few rows: what makes it fast on many only costs time here."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from warehouse.spark.session import opened_session

_SMALL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def small_session() -> AbstractContextManager[Any]:
    """A session on two cores of this machine."""
    return opened_session("local[2]", settings=_SMALL)
