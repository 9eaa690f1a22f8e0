"""Answers that go by the settings of tracehouse.toml: canned queries and reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from tracehouse.warehouse.catalogue.queries import find_query
from tracehouse.warehouse.errors import QueryError

if TYPE_CHECKING:
    import pyarrow as pa

    from tracehouse.queries.report.forms import Form
    from tracehouse.queries.report.settings import Settings
    from tracehouse.warehouse.queryable import Streamable
    from tracehouse.warehouse.regressions.computed import Judges
    from tracehouse.warehouse.store import Store


@contextmanager
def stream_answer(
    store: Store,
    name: str,
    params: Mapping[str, object],
    settings: Settings,
    *,
    most_rows: int | None = None,
) -> Iterator[pa.RecordBatchReader]:
    """The rows of a canned query, computed while they are read; see `Store.stream_query`."""
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


def report_text(
    store: Store,
    settings: Settings,
    head: str | None = None,
    *,
    base: str | None = None,
    branch: str | None = None,
    form: Form,
) -> str:
    """The report of a build, by default the last, or its comparison with a base, in a form.

    Raises:
        QueryError: Both a head and a branch are given, or the store has no such build.
    """
    from tracehouse.queries.report.forms import render
    from tracehouse.queries.report.nightly import read_night
    from tracehouse.queries.report.pairwise import compare_report

    if head is not None and branch is not None:
        raise QueryError("branch: name either a head or a branch, not both")
    settings = settings.of_branch(branch)
    if base is None:
        return render(read_night(store, settings, head).report, form)
    return render(compare_report(store, settings, base=base, head=head), form)
