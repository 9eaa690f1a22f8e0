"""Verdicts on the series of a fleet, family by family, in tasks of Spark."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from warehouse.catalogue.sql_files import read_statement
from warehouse.regressions.fleet import MinChange, order_nights
from warehouse.regressions.nightly import Rules
from warehouse.regressions.parts import PART, PartResult, View, judge_part
from warehouse.regressions.series_values import PLACE, RECORDING
from warehouse.spark.tasks import spark_errors

if TYPE_CHECKING:
    from warehouse.spark.answers import SparkLake


@spark_errors()
def judge_on_spark(
    lake: SparkLake,
    head: str,
    min_change: MinChange,
    rules: Rules,
    view: Callable[[PartResult], View],
) -> list[View]:
    """Judge the series of a build and of earlier builds, with the results of one process.

    One task judges the families of a part and returns the view of it.

    Raises:
        SparkError: A job failed.
    """
    rows = lake.frame(read_statement("fleet_values"), {"head": head}).localCheckpoint()
    nights = order_nights(rows.select(*PLACE, *RECORDING).distinct().toArrow(), head)

    def judge(part: pa.Table) -> pa.Table:
        seen = view(judge_part(part, head, min_change, rules, nights))
        return pa.table({"part": [pickle.dumps(seen)]})

    own = "CASE WHEN pool IS NULL THEN device END AS own_device"
    grouped = rows.selectExpr("*", own).groupBy("own_device", *PART)
    judged = grouped.applyInArrow(judge, "part binary").toArrow()["part"].to_pylist()
    if not judged:
        return [view(judge_part(rows.toArrow(), head, min_change, rules))]
    return [pickle.loads(part) for part in judged]  # noqa: S301 - our own tasks made it
