import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, shown

# Sizes and times of dumps by case.
CASES = {
    "four dumps": [(8, 100), (8, 140), (16, 480), (32, 1920)],
    **{f"exponent {e}": [(size, 100 * size**e) for size in (2, 4, 10)] for e in range(3)},
    "one size": [(8, 100), (8, 120)],
    **{f"size {size}": [(8, 100), (size, 900)] for size in (None, "large", 0, -3)},
    "text and fraction": [("16", 100), (0.5, 50)],
    "ticks": [(8, 100)],
}


@pytest.fixture(scope="module")
def rows():
    store = StoreRows()
    for device, dumps in CASES.items():
        clock = {"ns_per_tick": None} if device == "ticks" else {}
        for size, ticks in dumps:
            tags = {"other": 5} if size is None else {"tokens": size, "other": 5}
            number = store.add_dump(device=device, tags=tags, **clock)
            store.add_runs(number, [[Event("Method::execute", ticks, 0, chain=-1)]] * 3)
    return run_by_device(store.connect(), "scaling", size_tag="tokens")


def test_sizes_by_hand(rows):
    figures = ("size", "dump_count", "p50_ns", "unit_ns", "over_smallest")
    assert shown(rows["four dumps"], *figures) == [
        (8, 2, 120, 15, 1),
        (16, 1, 480, 30, 4),
        (32, 1, 1920, 60, 16),
    ]


@pytest.mark.parametrize("exponent", [0, 1, 2])
def test_the_exponent_says_how_latency_grows(exponent, rows):
    found = [row["exponent"] for row in rows[f"exponent {exponent}"]]
    assert found == [pytest.approx(exponent)] * 3


def test_sizes_are_positive_numbers_that_may_be_written_as_texts(rows):
    for size in (None, "large", 0, -3):
        assert shown(rows[f"size {size}"], "size", "p50_ns") == [(8, 100)]
    assert shown(rows["text and fraction"], "size", "p50_ns") == [(0.5, 50), (16, 100)]
    assert shown(rows["one size"], "size", "exponent") == [(8, None)]


def test_cycles_of_unknown_rate_are_left_out(rows):
    assert rows["ticks"] == []
