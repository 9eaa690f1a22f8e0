"""A filter keeps exactly the rows that are about what it names."""

import pytest

from tests.support.small_farm import QUESTIONS, small_farm
from tests.support.store_rows import LONG_AGO, Event, StoreRows, run_query
from warehouse.catalogue.queries import load_catalogue

CASES = [
    (name, column, value)
    for name, query in load_catalogue().items()
    for column, value in [
        ("device", "tablet"),
        ("pool", "lab"),
        ("build", "new"),
        ("model", "net"),
        ("backend", "xnnpack"),
    ]
    if column in {c.name for c in query.header.columns}
    and column in {p.name for p in query.header.params}
    and (name, column) != ("build_history", "build")
]


@pytest.fixture(scope="module")
def farm():
    return small_farm()


@pytest.mark.parametrize(("name", "column", "value"), CASES)
def test_filter_keeps_the_rows_of_its_value(name, column, value, farm):
    question = QUESTIONS.get(name, {})
    rows = run_query(farm, name, **question)
    kept = run_query(farm, name, **question, **{column: value})
    assert kept == [row for row in rows if row[column] == value]
    assert kept


def _two_hours():
    store = StoreRows()
    for hour in (0, 1):
        dump = store.add_dump(captured_at=LONG_AGO.replace(hour=hour))
        store.add_run(dump, [Event("Method::execute", 100 * (hour + 1), 0)])
    store.add_run(store.add_dump(captured_at=None), [Event("Method::execute", 500, 0)])
    return store.connect()


@pytest.mark.parametrize(
    ("filters", "longest"),
    [
        ({}, 500),
        ({"since": "2026-01-01T00:00:00Z"}, 200),
        ({"since": "2026-01-01T01:00:00Z"}, 200),
        ({"until": "2026-01-01T01:00:00Z"}, 100),
        ({"since": "2026-01-01T00:00:01Z", "until": "2026-01-01T01:00:01Z"}, 200),
    ],
)
def test_time_range_includes_since_and_excludes_until(filters, longest):
    (row,) = run_query(_two_hours(), "percentiles", **filters)
    assert row["max_ns"] == longest


def test_filter_matches_text_not_patterns():
    assert run_query(_two_hours(), "dumps", device="pho%") == []
    assert run_query(_two_hours(), "dumps", device="' OR TRUE --") == []
