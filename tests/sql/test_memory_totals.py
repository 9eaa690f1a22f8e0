import pytest

from tests.support.store_rows import Event, StoreRows, run_query

RUN = [Event("Method::execute", 10, 0, chain=-1)]
FIGURES = (
    "run_name", "allocator", "dump_count", "run_count", "allocation_count", "total_bytes",
    "least_bytes", "peak_bytes", "largest_bytes",
)  # fmt: skip


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for extra in (0, 100):
        dump = store.add_dump()
        store.add_run(dump, [Event("Method::init", 5, chain=-1)], name="Default")
        for _ in range(2):
            store.add_run(dump, RUN)
        store.add_allocations(dump, ("method", 64), ("method", 16), (None, 7), run_index=0)
        store.add_allocations(dump, ("temp", 300 + extra), run_index=2)
    store.add_run(store.add_dump(model="silent"), RUN)
    return store.connect()


def _rows(farm, **params):
    return [
        tuple(row[name] for name in FIGURES) for row in run_query(farm, "memory_totals", **params)
    ]


def test_each_allocator_has_what_a_run_takes_of_it(farm):
    assert _rows(farm) == [
        ("Default", "method", 2, 2, 4, 80, 80, 80, 64),
        ("Default", None, 2, 2, 2, 7, 7, 7, 7),
        ("Execute", "temp", 2, 4, 2, 175, 0, 400, 400),
    ]


def test_all_allocators_of_a_run_add_up(farm):
    assert _rows(farm, scope="total") == [
        ("Default", None, 2, 2, 6, 87, 87, 87, 64),
        ("Execute", None, 2, 4, 2, 175, 0, 400, 400),
    ]


def test_dumps_that_log_no_allocation_are_left_out(farm):
    assert {row["model"] for row in run_query(farm, "memory_totals")} == {"net"}


def test_bytes_of_runs_are_exact_integers():
    store = StoreRows()
    dump = store.add_dump()
    store.add_run(dump, RUN)
    store.add_allocations(dump, ("temp", 2**60), ("temp", 1), ("huge", 2**64 - 1))
    rows = _rows(store.connect())
    assert [row[-3:] for row in rows] == [(2**63 - 1,) * 3, (2**60 + 1, 2**60 + 1, 2**60)]
