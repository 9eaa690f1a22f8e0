import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, shown

EXECUTE = Event("Method::execute", 100, 0, chain=-1)
BACKENDS = {"base_backend": "portable", "head_backend": "xnnpack"}


def _kernel(instruction, ticks, *modules):
    return Event("native_call_add.out", ticks, instruction, modules=("", *modules))


def _call(instruction, ticks, *modules):
    return Event("DELEGATE_CALL", ticks, instruction, modules=("", *modules))


PORTABLE = [_kernel(0, 20, "a", "a.x"), _kernel(1, 30, "a", "a.y"), _kernel(2, 10, "b")]
ALIKE = [_kernel(0, 20, "a"), _kernel(1, 30, "ab")]
# By device: runs on portable kernels and in a delegate, and columns of the dumps.
CASES = {
    "calls": ([PORTABLE, PORTABLE], [[_call(0, 25, "a"), _call(1, 5, "b")]], {}),
    "straddling": ([PORTABLE], [[_call(0, 25, "a")]], {}),
    "names that begin alike": ([ALIKE], [ALIKE], {}),
    "less": ([PORTABLE], [PORTABLE[:1]], {}),
    "ticks": ([PORTABLE], [PORTABLE], {"ns_per_tick": None}),
    "portable alone": ([PORTABLE], [], {}),
    "delegate alone": ([], [PORTABLE], {}),
}


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for device, (portable, delegated, columns) in CASES.items():
        for backend, runs in (("portable", portable), ("xnnpack", delegated)):
            if runs:
                etrecord = f"{device} {backend}"
                number = store.add_dump(
                    backend=backend, device=device, etrecord=etrecord, **columns
                )
                store.add_runs(number, [[*run, EXECUTE] for run in runs])
    connection = store.connect()
    connection.execute(
        "INSERT INTO event_modules BY NAME SELECT m.* REPLACE ('b' AS module_path) "
        "FROM event_modules AS m JOIN etrecords USING (etrecord_id) "
        "WHERE source = 'straddling xnnpack' AND module_path = 'a'"
    )
    return connection


@pytest.fixture(scope="module")
def rows(farm):
    return run_by_device(farm, "backend_comparison", **BACKENDS)


def _shown(rows, *names):
    return shown(rows, "module_path", *names)


def test_modules_are_matched_down_to_the_lowest_that_both_time(rows):
    names = ("is_lowest", "base_run_count", "head_run_count", "base_ns", "head_ns", "delta_ns")
    assert _shown(rows["calls"], *names) == [
        ("", False, 2, 1, 60, 30, -30),
        ("a", True, 2, 1, 50, 25, -25),
        ("b", True, 2, 1, 10, 5, -5),
    ]
    ratios = _shown(rows["calls"], "speedup", "base_share", "head_share")
    assert ratios[1] == ("a", 2, 0.5, 0.25)


def test_a_module_that_an_event_straddles_is_not_compared(rows):
    assert _shown(rows["straddling"], "is_lowest", "base_ns", "head_ns") == [("", True, 60, 25)]


def test_a_module_name_with_a_common_prefix_is_not_a_submodule(rows):
    assert _shown(rows["names that begin alike"], "is_lowest") == [
        ("", False), ("a", True), ("ab", True),
    ]  # fmt: skip


def test_base_and_head_can_be_swapped(farm, rows):
    swapped = {"base_backend": "xnnpack", "head_backend": "portable", "device": "less"}
    back = run_by_device(farm, "backend_comparison", **swapped)["less"]
    assert _shown(rows["less"], "base_ns", "head_ns")[0] == ("", 60, 20)
    assert _shown(back, "base_ns", "head_ns")[0] == ("", 20, 60)


def test_incomparable_backends_have_no_times_or_no_row(rows):
    assert set(shown(rows["ticks"], "base_ns", "speedup", "base_share")) == {(None, None, None)}
    assert rows["portable alone"] == rows["delegate alone"] == []
