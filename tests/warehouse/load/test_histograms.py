from __future__ import annotations

from tests.support.store_rows import Event, StoreRows, run_query
from warehouse.load.histograms import fill_histograms

LONG = 200


def test_dumps_with_histograms_answer_the_same_without_their_events() -> None:
    store = StoreRows()
    for count in (LONG, 3, 4):
        dump = store.add_dump()
        for run in range(count):
            store.add_run(dump, [Event("Method::execute", 100 * count + run, 0)])
    connection = store.connect()
    (before,) = run_query(connection, "percentiles", approx=True)
    fill_histograms(connection, [1, 2])
    fill_histograms(connection, [2])
    connection.execute("DELETE FROM events WHERE dump_id <= 2")
    assert run_query(connection, "percentiles", approx=True) == [before]
    assert before["missing_count"] == 0
    text = "SELECT dump_id, sum(event_count)::INT FROM event_histograms GROUP BY 1 ORDER BY 1"
    assert connection.execute(text).fetchall() == [(1, LONG), (2, 3)]
