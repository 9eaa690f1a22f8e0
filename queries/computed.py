"""Canned queries that are answered in Python instead of SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from queries.report.verdicts import NIGHT_VERDICTS
from warehouse.catalogue.header import Column, Header, Parameter
from warehouse.catalogue.parameters import bind_parameters
from warehouse.catalogue.queries import Query

if TYPE_CHECKING:
    import pyarrow as pa

    from queries.report.settings import Settings
    from warehouse.store import Warehouse

NIGHTLY_VERDICTS = Header(
    name="nightly_verdicts",
    purpose="A night's verdict on every operator, and the numbers behind it.",
    description=f"Verdicts: {', '.join(NIGHT_VERDICTS)}. See docs/regressions.md.",
    params=(
        Parameter("head", "STRING", (), is_required=False, default=None, doc="Build to judge."),
    ),
    columns=(
        Column("device", "STRING", "Device."),
        Column("pool", "STRING", "Its pool; null if none."),
        Column("model", "STRING", "Model."),
        Column("backend", "STRING", "Backend; null if none."),
        Column("run", "STRING", "Name of the runs, the same in all builds."),
        Column("event_name", "STRING", "Name of the event; null if none."),
        Column("delegate_id", "STRING", "The delegate's id of the event; null if none."),
        Column("ordinal", "INT", "Number among events of equal name and id."),
        Column("base_count", "BIGINT", "Dumps of the builds compared with."),
        Column("head_count", "BIGINT", "Dumps of the head."),
        Column("base_ns", "DOUBLE", "Median of the base, in ns; null for clocks of unknown rate."),
        Column("head_ns", "DOUBLE", "Median of the head, likewise."),
        Column("delta", "DOUBLE", "Head over base minus 1; null without values on both sides."),
        Column("p_adjusted", "DOUBLE", "Adjusted p; null unless tested."),
        Column("error", "DOUBLE", "Usual deviation of builds from their bases, as a share."),
        Column("is_residual", "BOOLEAN", "Whether the device's state in each dump is removed."),
        Column("verdict", "STRING", "The night's verdict."),
        Column("first_bad", "STRING", "First build of an open change; else null."),
    ),
)
COMPUTED: Mapping[str, Header] = {NIGHTLY_VERDICTS.name: NIGHTLY_VERDICTS}


def answer_computed(
    store: Warehouse, name: str, params: Mapping[str, object], settings: Settings
) -> pa.Table:
    """Rows of a computed query.

    Raises:
        ParameterError: A parameter is unknown, of the wrong type, or names a missing build.
    """
    from queries.report.night import judge_head
    from queries.report.nightly_verdicts import nightly_verdicts  # the only one

    values = bind_parameters(Query(COMPUTED[name], ""), params)
    head = values["head"]
    return nightly_verdicts(judge_head(store, None if head is None else str(head), settings))
