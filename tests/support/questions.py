"""Parameters for every canned query, with farms on which its answer has rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import duckdb

from tests.support.documents import ROOT
from tests.support.rich_farm import rich_farm
from tests.support.small_farm import small_farm
from tracehouse.warehouse.catalogue.queries import Query, find_query, load_catalogue

GOLDEN = ROOT / "tests" / "golden"
# Values of the parameters that queries require.
_VALUES: dict[str, object] = {
    "base": "old", "head": "new", "base_backend": "portable", "head_backend": "xnnpack",
    "dump": 3, "event": "native_call_conv.out", "size_tag": "size",
}  # fmt: skip
# Further parameters of queries.
_OPTIONS: dict[str, dict[str, object]] = {
    "device_comparison": {"event": "native_call_softmax.out"},
    "framework_tax": {"scope": "all", "until": "2026-01-01T01:00:00Z"},
    "layer_hotspots": {"top_n": 5},
    "operator_variance": {"top_n": 3},
    "roofline": {"peak_gflops": 1, "peak_gbps": 1},
    "token_latency": {"step": 10},
}
# Tables that only some dumps fill, and the table of refused files.
_RECORDED = ("allocations", "counters", "debug_values", "ingest_errors", "point_notes")

# Python answers these; change_points and nightly_verdicts need nights.
_COMPUTED = ("comparison", "regression_deltas")

_small_farm, _rich_farm = cache(small_farm), cache(rich_farm)


@cache
def every_query() -> Mapping[str, Query]:
    """Every canned query by name, but for those that need nights."""
    return dict(sorted({**load_catalogue(), **{n: find_query(n) for n in _COMPUTED}}.items()))


def required(name: str, **values: object) -> dict[str, object]:
    """The parameters that a query requires, with these values or the usual ones."""
    folder = "page" if name.startswith("page_") else "queries"
    params = find_query(name, folder).header.params
    return {param.name: (_VALUES | values)[param.name] for param in params if param.is_required}


def question(name: str) -> dict[str, object]:
    """Parameters of a query for its farm."""
    return required(name, size_tag="tokens") | _OPTIONS.get(name, {})


def takes(name: str, param: str) -> bool:
    """Whether a query has a parameter."""
    return param in {one.name for one in find_query(name).header.params}


def columns(name: str) -> set[str]:
    """The names of a query's columns."""
    return {column.name for column in find_query(name).header.columns}


def needs_rich_farm(name: str) -> bool:
    """Whether a query has no rows on the small farm, according to its golden file."""
    return (GOLDEN / name / "rich_farm.csv").exists()


def farm_for(name: str) -> duckdb.DuckDBPyConnection:
    """The farm on which a query has rows."""
    return _rich_farm() if needs_rich_farm(name) else _small_farm()


def lacks_rows_of(name: str, connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether a query reads a table that is empty here, so that it may have no rows."""
    words = set(re.findall(r"\w+", find_query(name).sql))
    return any(
        not connection.table(table).limit(1).fetchall() for table in _RECORDED if table in words
    )
