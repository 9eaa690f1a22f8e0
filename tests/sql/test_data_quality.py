import pytest

from tests.support.store_rows import Event, StoreRows, run_query

EXECUTE = [Event("native_call_add.out", 5, 0), Event("Method::execute", 10, 0, chain=-1)]
GOOD = {"etrecord": "some.etrecord", "run": {"threads": 4}}


def _ask(runs, *, ordinal=1, good_count=1, **columns):
    """Problems of a dump beside good ones: how many dumps have them, and the first."""
    store = StoreRows()
    store.add_build("b1", ordinal=ordinal)
    for _ in range(good_count):
        number = store.add_dump(**GOOD)
        for _ in range(25):
            store.add_run(number, EXECUTE)
    number = store.add_dump(**{**GOOD, **columns})
    for run in runs:
        store.add_run(number, run)
    rows = run_query(store.connect(), "data_quality")
    assert {row["of_count"] for row in rows} <= {good_count + 1}
    return {row["problem"]: (row["dump_count"], int(row["example"], 16)) for row in rows}


def test_good_dumps_have_no_problem():
    assert _ask([[Event("Method::init", 5, chain=-1)], *[EXECUTE] * 25]) == {}


@pytest.mark.parametrize(
    ("problem", "runs", "columns"),
    [
        ("incomplete runs", [*[EXECUTE] * 25, EXECUTE[:1]], {}),
        ("few runs", [EXECUTE] * 24, {}),
        ("unknown clock rate", [EXECUTE] * 25, {"ns_per_tick": None}),
        ("unknown clock rate", [EXECUTE] * 25, {"delegate_ns_per_tick": None}),
        ("no capture time", [EXECUTE] * 25, {"captured_at": None}),
        ("unknown environment", [EXECUTE] * 25, {"run": None}),
        ("no ETRecord", [EXECUTE] * 25, {"etrecord": None}),
    ],
)
def test_a_dump_that_lacks_something_has_that_problem_alone(problem, runs, columns):
    assert _ask(runs, **columns) == {problem: (1, 2)}


def test_flagged_events_make_their_run_incomplete():
    flagged = [Event("native_call_add.out", 5, 0, flags=2), EXECUTE[1]]
    assert _ask([*[EXECUTE] * 25, flagged]) == {
        "flagged events": (1, 2),
        "incomplete runs": (1, 2),
    }


def test_runs_count_by_what_they_execute():
    other = [Event("Method::execute", 10, 1, chain=-1)]
    assert _ask([*[EXECUTE] * 24, *[other] * 24]) == {"few runs": (1, 2)}


def test_a_dump_without_events_has_too_few_runs():
    assert _ask([]) == {"no events": (1, 2), "few runs": (1, 2)}


def test_builds_that_nothing_orders_are_told():
    assert _ask([EXECUTE] * 25, ordinal=None) == {"unordered build": (2, 1)}


def test_dropped_events_are_told():
    store = StoreRows()
    number = store.add_dump(**GOOD)
    for _ in range(25):
        store.add_run(number, EXECUTE)
    connection = store.connect()
    connection.execute("INSERT INTO dropped_events VALUES (1, now())")
    problems = {row["problem"]: row["dump_share"] for row in run_query(connection, "data_quality")}
    assert problems == {"events gone": 1, "unordered build": 1}
