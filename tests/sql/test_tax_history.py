import pytest

from tests.support.store_rows import Event, StoreRows, run_query


def _run(execute, kernel, delegate=0):
    return [
        Event("native_call_add.out", kernel, 0),
        Event("DELEGATE_CALL", delegate, 1),
        Event("Method::execute", execute, 0, chain=-1),
    ]


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for ordinal, build in enumerate(("b2", "b10", "b1"), start=1):
        store.add_build(build, ordinal=ordinal)
    for build, runs in (("b1", [(100, 70, 20)]), ("b2", [(100, 80), (200, 180)]), ("b10", [])):
        dump = store.add_dump(build=build)
        for run in runs:
            store.add_run(dump, _run(*run))
    cycles = store.add_dump(device="tablet", ns_per_tick=None)
    store.add_run(cycles, _run(100, 80))
    return store.connect()


def _rows(farm, *names, **params):
    rows = run_query(farm, "tax_history", **params)
    return [tuple(row[name] for name in ("build", *names)) for row in rows]


def test_tax_is_what_is_in_neither_kernels_nor_delegates(farm):
    names = ("run_count", "execute_ns", "kernel_ns", "delegate_ns", "tax_ns", "tax_share")
    assert _rows(farm, *names, device="phone") == [
        ("b2", 2, 150, 130, 0, 20, pytest.approx(40 / 300)),
        ("b1", 1, 100, 70, 20, 10, pytest.approx(0.1)),
    ]


def test_change_is_against_the_build_before_that_was_recorded(farm):
    assert _rows(farm, "change", device="phone") == [("b2", None), ("b1", -0.5)]


def test_cycles_of_unknown_rate_have_no_times(farm):
    assert _rows(farm, "run_count", "tax_ns", "tax_share", device="tablet") == [
        ("b1", 1, None, None)
    ]
