"""The view that comparisons read: values, units, floors and names that hold across builds."""

import json

import pytest

from tests.support.store_rows import Event, StoreRows, run_query
from tracehouse.warehouse.catalogue.queries import expand_statement

DELEGATED = Event("", 3_000, 1, "GEMM #1")


def _add(store, events, *, runs=25, **columns):
    number = store.add_dump(**columns)
    store.add_runs(number, [events] * runs)
    return number


def _rows(store, columns, where="true"):
    text = f"SELECT {columns} FROM operator_stats WHERE {where} ORDER BY ALL"  # noqa: S608
    return store.connect().execute(text).fetchall()


def test_value_is_the_grouped_median_after_warm_up_of_twenty_events_or_more_on_its_clock():
    store = StoreRows()
    number = store.add_dump(delegate_resolution_ticks=1_000)
    ticks = [90_000] * 5 + [3_000] * 15 + [4_000] * 5
    store.add_runs(number, [[DELEGATED._replace(ticks=one)] for one in ticks])
    _add(store, [DELEGATED], runs=24, delegate_resolution_ticks=1_000)
    # The floor is two ticks of the clock that timed the events, and a microsecond or more.
    _add(store, [DELEGATED, Event("Method::execute", 9_000, 0)], delegate_resolution_ticks=1_000)
    _add(store, [DELEGATED], delegate_ns_per_tick=2.0)
    # Times of a clock of unknown rate are told in ticks.
    _add(store, [DELEGATED], delegate_ns_per_tick=None, delegate_resolution_ticks=1_000)
    names = "dump_id, kind, unit, steady_count, steady_p50_ns, value_ns, value, floor, half_tick"
    middle = pytest.approx(2_500 + 1_000 * 10 / 15)
    own, half = ("delegate_op", "ns"), (pytest.approx(3_000, abs=500),) * 2
    assert _rows(store, names) == [
        (1, *own, 20, 3_000, middle, middle, 2_000, 500),
        (2, *own, 19, 3_000, None, None, 2_000, 500),
        (3, *own, 20, 3_000, *half, 2_000, 500),
        (3, "method", "ns", 20, 9_000, 9_000, 9_000, 1_000, 0.5),
        (4, *own, 20, 6_000, 6_000, 6_000, 1_000, 1),
        (5, "delegate_op", "ticks", 20, None, None, half[0], 2_000, 500),
    ]
    assert _rows(store, "DISTINCT floor_ns, p50_ns", "dump_id = 5") == [(None, None)]


def _shader(node, kernel="conv2d", count=0):
    """A shader's event as Vulkan names it; it counts what the process did before."""
    operator = {"name": "aten.convolution.default", "args": [1, {"sizes": [3]}]} | node
    id_ = {"operator": operator, "kernel_name": kernel, "operator_id": count, "dispatch_id": count}
    return Event("", 3_000, 1, json.dumps(id_))


def test_an_operator_goes_by_the_node_that_its_delegate_states():
    store = StoreRows()
    for count, build in enumerate(("b1", "b2")):
        shaders = [
            _shader({"delegate_node_id": 7}, count=count),
            _shader({"delegate_node_id": 7}, "sum", count=count + 1),
            _shader({"delegate_node_id": 12}, count=count + 2),
        ]
        _add(store, shaders, build=build)
    names = ["conv2d #12", "conv2d #7", "sum #7"]
    assert _rows(store, "build, event_name, delegate_id, ordinal, sample_count") == [
        (build, name, name, 1, 25) for build in ("b1", "b2") for name in names
    ]


OTHER_IDS = [
    _shader({}).delegate,
    '{"operator": {"delegate_node_id": 7}}',
    '{"delegate_node_id": , "kernel_name": "conv2d"}',
    '{"delegate_node_id": 7, "kernel_name": ""}',
    '"delegate_node_id": 7, "kernel_name": "conv2d"',
    "{", '{"kernel_name": "',
]  # fmt: skip


def test_unrecognised_delegate_ids_stay_as_they_are():
    store = StoreRows()
    _add(store, [Event("", 3_000, n, id_) for n, id_ in enumerate(OTHER_IDS)])
    assert _rows(store, "event_name, delegate_id") == sorted((id_, id_) for id_ in OTHER_IDS)


def test_ordinal_counts_instructions_of_the_run_signature_even_where_some_are_flagged():
    store = StoreRows()
    conv = [Event("conv", 10, instruction) for instruction in (1, 4, 9)]
    _add(store, conv, runs=1)
    _add(store, [one._replace(flags=2) for one in conv[:2]] + conv[2:], runs=1)
    _add(store, conv[1:], runs=1, build="b2")
    _add(store, conv[1:], runs=1, build="b2", model="other")
    found = _rows(store, "build, model, dump_id, instruction_id, ordinal", "dump_id > 1")
    assert found == [
        ("b1", "net", 2, 9, 3),
        ("b2", "net", 3, 4, 1),
        ("b2", "net", 3, 9, 2),
        ("b2", "other", 4, 4, 1),
        ("b2", "other", 4, 9, 2),
    ]


def test_the_signature_with_most_steady_events_represents_its_operator():
    store = StoreRows()
    plain, logged = Event("conv", 10, 1), Event("conv", 20, 1, debug_name="conv")
    number = _add(store, [plain], runs=10)
    store.add_runs(number, [[logged]] * 12)
    _add(store, [plain], runs=3)
    found = _rows(store, "dump_id, ordinal, sample_count, p50_ns")
    assert found == [(1, 1, 12, 20), (2, 1, 3, 10)]


def test_role_of_a_build_is_beside_its_name():
    store = StoreRows()
    store.add_build("pinned", role="reference")
    _add(store, [DELEGATED], runs=1, build="pinned")
    _add(store, [DELEGATED], runs=1)
    assert _rows(store, "build, build_role") == [("b1", None), ("pinned", "reference")]


def test_rows_of_other_builds_are_left_out_where_statistics_are_scanned():
    store = StoreRows()
    for build in range(60):
        _add(store, [DELEGATED, Event("conv", 10, 2)], runs=1, build=f"b{build:02}")
    asked = "SELECT value, ordinal FROM operator_stats WHERE build = 'b17'"
    ((_, plan),) = store.connect().execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {asked}").fetchall()
    counts = sorted(_scanned(json.loads(plan)["operator"]))
    assert counts[0] == 2  # its values
    assert len(counts) <= 2  # and signatures of the same operator, of which there are few


def _scanned(nodes):
    """Rows that each scan of event_stats gives to the rest of the plan."""
    for node in nodes:
        if node["extra_info"].get("Table", "").endswith("event_stats"):
            yield node["intermediate_rows"]
        yield from _scanned(node.get("children", ()))


def test_views_that_name_operators_have_their_type_and_module():
    store = StoreRows()
    events = [
        Event("", 3_000, 0, "Convolution (NHWC) #1", modules=("conv", "head")),
        Event("DELEGATE_CALL", 4_000, 0, modules=("conv",)),
        Event("native_call_addmm.out", 5_000, 1, modules=("", "fc")),
    ]
    _add(store, events, etrecord="net.etrecord")
    connection = store.connect()
    for view in ("named_events", "named_event_stats", "operator_stats"):
        text = f"SELECT DISTINCT kind, op_type, module_path FROM {view} ORDER BY kind"  # noqa: S608
        assert connection.execute(text).fetchall() == [
            ("delegate_call", None, "conv"),
            ("delegate_op", "Convolution (NHWC)", "head"),
            ("kernel", "addmm", "fc"),
        ]
    asked = "SELECT etrecord_id IS NULL FROM named_dumps"
    assert connection.execute(asked).fetchall() == [(False,)]


@pytest.mark.parametrize(
    ("name", "delegate_id", "op_type"),
    [
        ("", "Conv (NHWC) #31", "Conv (NHWC)"), ("", "Conv#2", "Conv#2"), ("", "15", "15"),
        # An event with a name goes by that, as it does everywhere.
        ("conv", "Fused #3", "conv"), ("conv #7", "15", "conv"),
    ],
)  # fmt: skip
def test_type_of_a_delegates_operator_is_its_name_without_number(name, delegate_id, op_type):
    store, execute = StoreRows(), Event("Method::execute", 9_000, chain=-1)
    for build in ("a", "b"):
        for _ in range(8):
            _add(store, [Event(name, 3_000, 0, delegate_id), execute], build=build)
    connection = store.connect()
    for view in ("named_event_signatures", "named_events", "named_event_stats", "operator_stats"):
        text = f"SELECT DISTINCT op_type FROM {view} WHERE kind = 'delegate_op'"  # noqa: S608
        assert connection.execute(text).fetchall() == [(op_type,)]
    text = f"SELECT DISTINCT op_type FROM ({expand_statement('fleet_values')}) AS v"  # noqa: S608
    types = connection.execute(text, {"head": "b"}).fetchall()
    assert sorted(types) == sorted([(op_type,), ("Method::execute",)])
    history = {row["op_type"] for row in run_query(connection, "op_type_history")}
    assert history == {op_type}


def test_an_event_of_a_load_and_of_a_run_that_loads_and_executes_counts_once():
    store = StoreRows()
    number, load = store.add_dump(), Event("Method::init", 9_000, chain=-1)
    store.add_run(number, [load], name="Default")
    for ticks in (7_000, 8_000):
        events = [load._replace(ticks=ticks), Event("Method::execute", 9_000, chain=-1)]
        store.add_run(number, events, name="Default")
    assert _rows(store, "sample_count, p50_ns", "kind = 'load'") == [(2, 7_500)]


def test_runs_have_names_and_a_start_in_nanoseconds():
    store = StoreRows()
    for ns_per_tick in (2.0, None):
        number = store.add_dump(ns_per_tick=ns_per_tick)
        for start in (0, 700):
            store.add_run(number, [Event("Method::execute", 9, 0, chain=-1)], start=start)
    asked = "SELECT dump_id, run_index, run, start_ns, execute_ns FROM named_runs ORDER BY ALL"
    assert store.connect().execute(asked).fetchall() == [
        (1, 0, "Execute", 0, 18),
        (1, 1, "Execute", 1_400, 18),
        (2, 0, "Execute", None, None),
        (2, 1, "Execute", None, None),
    ]
