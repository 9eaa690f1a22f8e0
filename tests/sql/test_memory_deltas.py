import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, shown

EXECUTE = [Event("Method::execute", 10, 0, chain=-1)]
HEAP = [("heap", 100)]
FIGURES = (
    "allocator", "is_total", "base_least_bytes", "base_bytes", "head_bytes", "delta", "verdict",
)  # fmt: skip
# By name: of each dump of base and head, the allocations of its runs; and what is answered.
CASES = {
    "one byte": (
        [[[*HEAP, ("temp", 8)]]],
        [[[("heap", 101), ("temp", 8)]]],
        [
            ("heap", False, 100, 100, 101, 0.01, "changed"),
            ("temp", False, 8, 8, 8, 0, "unchanged"),
            (None, True, 108, 108, 109, pytest.approx(1 / 108), "changed"),
        ],
    ),
    "more allocations": ([[HEAP]], [[[("heap", 60), ("heap", 40)]]], ["changed"] * 2),
    "dumps differ": ([[HEAP], [[("heap", 90)]]], [[HEAP]], ["varies"] * 2),
    "dumps without any": (
        [[HEAP], [[]]],
        [[HEAP]],
        [
            ("heap", False, 0, 100, 100, 0, "varies"),
            (None, True, 0, 100, 100, 0, "varies"),
        ],
    ),
    # Runs may differ if they do so in both builds.
    "runs differ": ([[HEAP, [("heap", 90)]]], [[HEAP, [("heap", 90)]]], ["unchanged"] * 2),
    "first runs differ": (
        [[HEAP, [("heap", 90)]]],
        [[[("heap", 101)], [("heap", 90)]]],
        ["changed"] * 2,
    ),
    "run without any": (
        [[HEAP, []]],
        [[HEAP, HEAP]],
        [
            ("heap", False, 0, 100, 100, 0, "changed"),
            (None, True, 0, 100, 100, 0, "changed"),
        ],
    ),
    "from nothing": (
        [[[]], [[]]],
        [[HEAP]],
        [
            ("heap", False, 0, 0, 100, None, "changed"),
            (None, True, 0, 0, 100, None, "changed"),
        ],
    ),
    "base without runs": ([[]], [[HEAP]], []),
    "nothing allocated": ([[[]]], [[[]]], []),
}


@pytest.fixture(scope="module")
def rows():
    store = StoreRows()
    for device, (base, head, _) in CASES.items():
        for build, runs in [("a", runs) for runs in base] + [("b", runs) for runs in head]:
            dump = store.add_dump(build=build, device=device)
            store.add_runs(dump, [EXECUTE] * len(runs))
            for number, allocations in enumerate(runs):
                store.add_allocations(dump, *allocations, run_index=number)
    return run_by_device(store.connect(), "memory_deltas", base="a", head="b")


@pytest.mark.parametrize("case", CASES)
def test_bytes_of_base_and_head_are_compared(case, rows):
    *_, expected = CASES[case]
    if expected and isinstance(expected[0], str):
        assert [row["verdict"] for row in rows[case]] == expected
    else:
        assert shown(rows[case], *FIGURES) == expected


def test_allocations_and_runs_are_counted(rows):
    counts = ("base_count", "head_count", "delta_bytes")
    assert shown(rows["more allocations"], *counts) == [(1, 2, 0), (1, 2, 0)]
    assert shown(rows["one byte"], "delta_bytes") == [(1,), (0,), (1,)]
    assert rows["from nothing"][0]["base_run_count"] == 2
