"""Verdicts on the series of a fleet, family by family, in tasks of Spark."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from tracehouse.warehouse.catalogue.queries import Query, expand_statement
from tracehouse.warehouse.regressions.fleet import MinChange, order_nights
from tracehouse.warehouse.regressions.nightly import Rules
from tracehouse.warehouse.regressions.parts import (
    ALL_PARTS,
    PART,
    PartResult,
    Selection,
    View,
    judge_part,
)
from tracehouse.warehouse.regressions.series_values import PLACE, RECORDING
from tracehouse.warehouse.regressions.two_builds import JudgePart
from tracehouse.warehouse.spark.tasks import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tracehouse.warehouse.spark.answers import SparkLake


@spark_errors()
def judge_on_spark(
    lake: SparkLake,
    head: str,
    min_change: MinChange,
    rules: Rules,
    view: Callable[[PartResult], View],
    selection: Selection = ALL_PARTS,
) -> list[View]:
    """Judge the series of a build and of earlier builds, with the results of one process.

    One task judges the families of a part and returns the view of it.

    Raises:
        SparkError: A job failed.
    """
    from pyspark.sql.functions import expr

    rows = lake.frame(expand_statement("fleet_values"), {"head": head}).localCheckpoint()
    nights = order_nights(rows.select(*PLACE, *RECORDING).distinct().toArrow(), head)
    for key, names in zip(("coalesce(pool, device)", "model", "backend"), selection, strict=True):
        if names is not None:
            rows = rows.where(expr(key).isin(list(names)))

    def judge(part: pa.Table) -> View:
        return view(judge_part(part, head, min_change, rules, nights))

    return _judge_parts(rows, judge)


@spark_errors()
def judge_pair_on_spark(
    lake: SparkLake, values: Query, params: Mapping[str, object], judge: JudgePart
) -> list[pa.Table]:
    """The rows of `judge` for each part of the values of two builds, one task for each.

    Raises:
        SparkError: A job failed.
    """
    return _judge_parts(lake.frame_of(values, params).localCheckpoint(), judge)


def _judge_parts(rows: DataFrame, judge: Callable[[pa.Table], View]) -> list[View]:
    """What is made of each part; of all rows, if there are none."""

    def pickle_part(part: pa.Table) -> pa.Table:
        return pa.table({"part": [pickle.dumps(judge(part))]})

    own = "CASE WHEN pool IS NULL THEN device END AS own_device"
    grouped = rows.selectExpr("*", own).groupBy("own_device", *PART)
    judged = grouped.applyInArrow(pickle_part, "part binary").toArrow()["part"].to_pylist()
    if not judged:
        return [judge(rows.toArrow())]
    return [pickle.loads(part) for part in judged]  # noqa: S301 - our own tasks made it
