import pytest

from tests.support.store_rows import Event, StoreRows, run_query


def _ask(base, head, **params):
    """What is answered of dumps of two builds: the allocations of each run, of each dump."""
    store = StoreRows()
    for build, dumps in (("a", base), ("b", head)):
        for runs in dumps:
            dump = store.add_dump(build=build)
            for number, allocations in enumerate(runs):
                store.add_run(dump, [Event("Method::execute", 10, 0, chain=-1)])
                store.add_allocations(dump, *allocations, run_index=number)
    return run_query(store.connect(), "memory_deltas", base="a", head="b", **params)


def _shown(rows, *names):
    return [tuple(row[name] for name in ("allocator", *names)) for row in rows]


def test_one_byte_is_a_change():
    rows = _ask([[[("heap", 100), ("temp", 8)]]], [[[("heap", 101), ("temp", 8)]]])
    figures = ("is_total", "base_bytes", "head_bytes", "delta_bytes", "delta", "verdict")
    assert _shown(rows, *figures) == [
        ("heap", False, 100, 101, 1, 0.01, "changed"),
        ("temp", False, 8, 8, 0, 0, "unchanged"),
        (None, True, 108, 109, 1, pytest.approx(1 / 108), "changed"),
    ]


def test_as_many_bytes_in_more_allocations_are_a_change():
    rows = _ask([[[("heap", 100)]]], [[[("heap", 60), ("heap", 40)]]])
    assert _shown(rows, "base_count", "head_count", "delta_bytes", "verdict") == [
        ("heap", 1, 2, 0, "changed"),
        (None, 1, 2, 0, "changed"),
    ]


@pytest.mark.parametrize("other", [[("heap", 90)], []])
def test_dumps_of_a_build_that_differ_vary(other):
    rows = _ask([[[("heap", 100)]], [other]], [[[("heap", 100)]]])
    least = sum(size for _, size in other)
    assert _shown(rows, "base_least_bytes", "base_bytes", "verdict") == [
        ("heap", least, 100, "varies"),
        (None, least, 100, "varies"),
    ]


def test_runs_may_differ_if_they_do_so_in_both_builds():
    first_more = [[("heap", 100)], [("heap", 90)]]
    assert [row["verdict"] for row in _ask([first_more], [first_more])] == ["unchanged"] * 2
    more = [[("heap", 101)], [("heap", 90)]]
    assert [row["verdict"] for row in _ask([first_more], [more])] == ["changed"] * 2


def test_a_run_without_an_allocator_that_others_have_took_none_of_it():
    rows = _ask([[[("heap", 100)], []]], [[[("heap", 100)], [("heap", 100)]]])
    assert rows[0]["base_least_bytes"] == 0
    assert rows[0]["verdict"] == "changed"


def test_an_allocator_of_one_build_alone_is_a_change_from_nothing():
    (heap, *_) = _ask([[[]], [[]]], [[[("heap", 100)]]])
    assert (heap["base_run_count"], heap["base_bytes"], heap["head_bytes"]) == (2, 0, 100)
    assert (heap["delta"], heap["verdict"]) == (None, "changed")


def test_a_build_without_runs_is_not_compared():
    assert _ask([[]], [[[("heap", 100)]]]) == []


def test_builds_without_allocations_have_no_rows():
    assert _ask([[[]]], [[[]]]) == []
