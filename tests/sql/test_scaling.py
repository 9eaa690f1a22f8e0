import pytest

from tests.support.store_rows import Event, StoreRows, run_query


def _ask(*dumps, **columns):
    """Of dumps of these sizes and times."""
    store = StoreRows()
    for size, ticks in dumps:
        tags = {"other": 5} if size is None else {"tokens": size, "other": 5}
        number = store.add_dump(tags=tags, **columns)
        for _ in range(3):
            store.add_run(number, [Event("Method::execute", ticks, 0, chain=-1)])
    return run_query(store.connect(), "scaling", size_tag="tokens")


def _shown(rows, *names):
    return [tuple(row[name] for name in ("size", *names)) for row in rows]


def test_sizes_by_hand():
    rows = _ask((8, 100), (8, 140), (16, 480), (32, 1920))
    assert _shown(rows, "dump_count", "p50_ns", "unit_ns", "over_smallest") == [
        (8, 2, 120, 15, 1),
        (16, 1, 480, 30, 4),
        (32, 1, 1920, 60, 16),
    ]


@pytest.mark.parametrize("exponent", [0, 1, 2])
def test_the_exponent_says_how_latency_grows(exponent):
    rows = _ask(*((size, 100 * size**exponent) for size in (2, 4, 10)))
    assert [row["exponent"] for row in rows] == [pytest.approx(exponent)] * 3


def test_one_size_has_no_exponent():
    assert _shown(_ask((8, 100), (8, 120)), "exponent") == [(8, None)]


@pytest.mark.parametrize("size", [None, "large", 0, -3])
def test_what_is_no_size_is_left_out(size):
    assert _shown(_ask((8, 100), (size, 900)), "p50_ns") == [(8, 100)]


def test_a_size_may_be_a_text_or_a_fraction():
    assert _shown(_ask(("16", 100), (0.5, 50)), "p50_ns") == [(0.5, 50), (16, 100)]


def test_cycles_of_unknown_rate_are_left_out():
    assert _ask((8, 100), ns_per_tick=None) == []
