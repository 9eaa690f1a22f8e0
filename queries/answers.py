"""Answers of canned queries that go by the settings of tracehouse.toml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from tracehouse.warehouse.catalogue.queries import find_query

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.queries.report.settings import Settings
    from tracehouse.warehouse.queryable import Streamable
    from tracehouse.warehouse.regressions.computed import Judges
    from tracehouse.warehouse.store import Warehouse


@contextmanager
def stream_answer(
    store: Warehouse,
    name: str,
    params: Mapping[str, object],
    settings: Settings,
    *,
    most_rows: int | None = None,
) -> Iterator[pa.RecordBatchReader]:
    """The rows of a canned query, computed while they are read; see `Warehouse.stream_query`."""
    query = find_query(name)
    if query.is_computed:
        yield answer_by_settings(store, name, params, settings).to_reader()
        return
    given = settings.with_expected(query.header, params)
    with store.stream_query(name, given, most_rows=most_rows) as rows:
        yield rows


def answer_by_settings(
    store: Streamable,
    name: str,
    params: Mapping[str, object],
    settings: Settings,
    *,
    judges: Judges | None = None,
) -> pa.Table:
    """The rows of a canned query that Python answers; nights by the thresholds of the settings.

    Raises:
        ParameterError: A parameter is unknown, of the wrong type, or names a missing build.
    """
    from tracehouse.queries.report.night import find_head, min_changes, nightly_rules
    from tracehouse.warehouse.regressions.computed import Judges, Thresholds, answer_computed

    query, thresholds = find_query(name), None
    if query.is_nightly:
        if params.get("head") is None:
            params = {**params, "head": find_head(store, None, settings)}
        thresholds = Thresholds(nightly_rules(settings), partial(min_changes, settings=settings))
    return answer_computed(store, query, params, thresholds, judges=judges or Judges())
