import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, run_query, shown

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
            ("heap", False, 100, 100, 100, 0, "unchanged"),
            (None, True, 100, 100, 100, 0, "unchanged"),
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
        [[[("temp", 8)], []]],
        [[HEAP]],
        [
            ("heap", False, 0, 0, 100, None, "changed"),
            ("temp", False, 0, 8, 0, -1, "changed"),
            (None, True, 0, 8, 100, 11.5, "changed"),
        ],
    ),
    "only the head logs any": (
        [[[]], [[]]],
        [[HEAP]],
        [
            ("heap", False, None, None, 100, None, "unknown"),
            (None, True, None, None, 100, None, "unknown"),
        ],
    ),
    "only the base logs any": (
        [[HEAP]],
        [[[]]],
        [
            ("heap", False, 100, 100, None, None, "unknown"),
            (None, True, 100, 100, None, None, "unknown"),
        ],
    ),
    "base without runs": (
        [[]],
        [[HEAP]],
        [
            ("heap", False, None, None, 100, None, "unknown"),
            (None, True, None, None, 100, None, "unknown"),
        ],
    ),
    "head without dumps": ([[HEAP]], [], []),
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


@pytest.fixture(scope="module")
def loaded():
    """The rows of two builds, of which the head alone traced how it loads."""
    store = StoreRows()
    for build, names in (("a", ["Execute"]), ("b", ["Default", "Execute"])):
        dump = store.add_dump(build=build)
        for index, name in enumerate(names):
            store.add_run(dump, EXECUTE, name=name)
            size = 100 if name == "Execute" else 4096
            store.add_allocations(dump, ("heap", size), run_index=index)
    return run_query(store.connect(), "memory_deltas", base="a", head="b")


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


def test_runs_that_only_one_build_has_are_shown_without_the_other(loaded):
    names = ("run_name", "allocator", "base_run_count", "base_bytes", "head_bytes", "verdict")
    assert shown(loaded, *names) == [
        ("Default", "heap", None, None, 4096, "unknown"),
        ("Default", None, None, None, 4096, "unknown"),
        ("Execute", "heap", 1, 100, 100, "unchanged"),
        ("Execute", None, 1, 100, 100, "unchanged"),
    ]
