import pytest

from tests.support.store_rows import Event, StoreRows, run_query

EXECUTE = Event("Method::execute", 100, 0, chain=-1)


def _kernel(instruction, ticks, *modules):
    return Event("native_call_add.out", ticks, instruction, modules=("", *modules))


def _ask(portable, delegated, *, base="portable", head="xnnpack", **columns):
    store = StoreRows()
    for backend, runs in (("portable", portable), ("xnnpack", delegated)):
        number = store.add_dump(backend=backend, etrecord=f"{backend}.etrecord", **columns)
        for run in runs:
            store.add_run(number, [*run, EXECUTE])
    return run_query(store.connect(), "backend_comparison", base_backend=base, head_backend=head)


def _shown(rows, *names):
    return [tuple(row[name] for name in ("module_path", *names)) for row in rows]


PORTABLE = [_kernel(0, 20, "a", "a.x"), _kernel(1, 30, "a", "a.y"), _kernel(2, 10, "b")]


def test_modules_are_matched_down_to_the_lowest_that_both_time():
    delegated = [
        Event("DELEGATE_CALL", 25, 0, modules=("", "a")),
        Event("DELEGATE_CALL", 5, 1, modules=("", "b")),
    ]
    rows = _ask([PORTABLE, PORTABLE], [delegated])
    names = ("is_lowest", "base_run_count", "head_run_count", "base_ns", "head_ns", "delta_ns")
    assert _shown(rows, *names) == [
        ("", False, 2, 1, 60, 30, -30),
        ("a", True, 2, 1, 50, 25, -25),
        ("b", True, 2, 1, 10, 5, -5),
    ]
    assert _shown(rows, "speedup", "base_share", "head_share")[1] == ("a", 2, 0.5, 0.25)


def test_a_module_that_an_event_straddles_is_not_compared():
    straddling = Event("DELEGATE_CALL", 25, 0, modules=("", "a"))
    store = StoreRows()
    for backend, events in (("portable", PORTABLE), ("xnnpack", [straddling])):
        number = store.add_dump(backend=backend, etrecord=f"{backend}.etrecord")
        store.add_run(number, [*events, EXECUTE])
    connection = store.connect()
    connection.execute(
        "INSERT INTO event_modules BY NAME SELECT * REPLACE ('b' AS module_path) "
        "FROM event_modules WHERE etrecord_id = 2 AND module_path = 'a'"
    )
    rows = run_query(
        connection, "backend_comparison", base_backend="portable", head_backend="xnnpack"
    )
    assert _shown(rows, "is_lowest", "base_ns", "head_ns") == [("", True, 60, 25)]


def test_a_name_that_begins_alike_is_no_module_inside():
    events = [_kernel(0, 20, "a"), _kernel(1, 30, "ab")]
    rows = _ask([events], [events])
    assert _shown(rows, "is_lowest") == [("", False), ("a", True), ("ab", True)]


def test_base_and_head_can_be_swapped():
    rows = _ask([PORTABLE], [PORTABLE[:1]], base="xnnpack", head="portable")
    assert _shown(rows, "base_ns", "head_ns")[0] == ("", 20, 60)


@pytest.mark.parametrize("columns", [{"ns_per_tick": None}])
def test_cycles_of_unknown_rate_have_no_times(columns):
    rows = _ask([PORTABLE], [PORTABLE], **columns)
    assert {(row["base_ns"], row["speedup"], row["base_share"]) for row in rows} == {
        (None, None, None)
    }


def test_dumps_of_one_backend_alone_are_not_compared():
    store = StoreRows()
    for device, backend in (("phone", "portable"), ("tablet", "xnnpack")):
        number = store.add_dump(device=device, backend=backend, etrecord="some.etrecord")
        store.add_run(number, [*PORTABLE, EXECUTE])
    answer = run_query(
        store.connect(), "backend_comparison", base_backend="portable", head_backend="xnnpack"
    )
    assert answer == []
