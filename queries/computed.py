"""Canned queries that are answered in Python instead of SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from queries.report.verdicts import NIGHT_VERDICTS
from warehouse.catalogue.header import Header, parse_header
from warehouse.catalogue.parameters import bind_parameters
from warehouse.catalogue.queries import Query, load_catalogue

if TYPE_CHECKING:
    import pyarrow as pa

    from queries.report.settings import Settings
    from warehouse.store import Warehouse

NIGHTLY_VERDICTS = parse_header(
    f"""\
-- nightly_verdicts: A night's verdict on every operator, and the numbers behind it.
--
-- Verdicts: {", ".join(NIGHT_VERDICTS)}. See docs/regressions.md.
--
-- params:
--   head  STRING = NULL  Build to judge.
--
-- columns:
--   device, pool, model, backend, run
--   event_name   STRING   Name of the event; null if none.
--   delegate_id, ordinal
--   base_count   BIGINT   Dumps of the builds compared with.
--   head_count
--   base_ns      DOUBLE   Median of the base, in ns; null for clocks of unknown rate.
--   head_ns      DOUBLE   Median of the head, likewise.
--   delta        DOUBLE   Head over base minus 1; null without values on both sides.
--   p_adjusted
--   error        DOUBLE   Usual deviation of builds from their bases, as a share.
--   is_residual  BOOLEAN  Whether the device's state in each dump is removed.
--   verdict      STRING   The night's verdict.
--   first_bad    STRING   First build of an open change; else null.
""",
    "computed.py",
)
COMPUTED: Mapping[str, Header] = {NIGHTLY_VERDICTS.name: NIGHTLY_VERDICTS}


def list_headers() -> Sequence[Header]:
    """The headers of all canned and computed queries, by name."""
    headers = [query.header for query in load_catalogue().values()]
    return sorted([*headers, *COMPUTED.values()], key=lambda header: header.name)


def answer_computed(
    store: Warehouse, name: str, params: Mapping[str, object], settings: Settings
) -> pa.Table:
    """Rows of a computed query.

    Raises:
        ParameterError: A parameter is unknown, of the wrong type, or names a missing build.
    """
    from queries.report.nightly_verdicts import nightly_verdicts  # the only one

    values = bind_parameters(Query(COMPUTED[name], ""), params)
    head = values["head"]
    return nightly_verdicts(store, None if head is None else str(head), settings)
