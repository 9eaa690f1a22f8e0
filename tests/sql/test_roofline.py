import pytest

from tests.support.documents import ROOT
from tests.support.store_rows import Event, StoreRows, run_by_device, run_query, shown
from tests.support.stores import make_and_ingest
from tracehouse import Warehouse

DATA = ROOT / "tests" / "data"
GRU = "shared_handles/gru_xnnpack.etdp"
EDGE = "edge_dialect_exported_program"
INPUTS = [
    ("placeholder", "w", None, "w: float32[16, 4, 3, 3]"),
    ("placeholder", "m", None, "m: float32[8, 10]"),
    ("placeholder", "x", None, "x: float32[1, 4, 8, 8]"),
    ("placeholder", "y", None, "y: float32[5, 8]"),
]


def _kernel(name, ticks=100):
    return Event(f"native_call_{name}.out", ticks, 0)


def _node(name, result, arguments):
    return (
        "call_function", f"aten.{name}.default", 1,
        f"{result} = edge.ops.aten.{name}.default({arguments})",
    )  # fmt: skip


# Name, result and arguments of a node; its operations and bytes.
COSTS = [
    ("mm", "a: float32[5, 10]", "y, m", 2 * 5 * 10 * 8, 4 * (40 + 80 + 50)),
    ("addmm", "a: float32[5, 10]", "b, y, m", 2 * 5 * 10 * 8, 4 * (40 + 80 + 50)),
    ("linear", "a: float32[5, 10]", "y, m", 2 * 5 * 10 * 8, 4 * (40 + 80 + 50)),
    (
        "convolution", "a: float32[1, 16, 8, 8]",
        "x, w, None, stride=[1, 1], padding=[1, 1], dilation=[1, 1], transposed=False",
        2 * 16 * 64 * 4 * 9, 4 * (256 + 576 + 1024),
    ),
    (
        "convolution", "a: float32[1, 4, 8, 8]", "x, w, None, stride=[1], transposed=True",
        2 * 256 * 36, 4 * (256 + 576 + 256),
    ),
    ("relu", "a: float32[5, 8]", "y", 40, 320),
    ("cat", "a: float16[10, 8]", "[y, y], dim=0", 0, 320 + 160),
    ("topk", "a: float32[5, 3], b: int64[5, 3]", "y, k=3", 40, 160 + 60 + 120),
    ("_clone_dim_order", "a: float32[5, 8]", "y, dim_order=[0, 1]", 0, 320),
    ("_softmax", "a: float32[5, 8]", "y, dim=-1", 5 * 40, 320),
    ("mean", "a: float32[5, 1]", "y, dim=[1], keepdim=True", 40, 160 + 20),
    ("var", "a: float32[5]", "y, dim=[1]", 4 * 40, 160 + 20),
    ("amax", "a: float32[]", "y", 40, 160 + 4),
    ("native_layer_norm", "a: float32[5, 8], b: float32[5], c: float32[5]", "y", 280, 360),
    ("max_pool2d", "a: float32[1, 4, 4, 4]", "x, kernel_size=[2, 2]", 256, 1024 + 256),
    ("avg_pool2d", "a: float32[1, 4, 2, 8]", "x, kernel_size=[3], stride=[2]", 192, 1280),
    ("avg_pool2d", "a: float32[1, 4, 2, 8]", "x", None, 1280),
    ("_adaptive_avg_pool2d", "a: float32[1, 4, 1, 1]", "x, output_size=[1, 1]", 256, 1040),
    ("view_copy", "a: float32[8, 5]", "y, size=[8, 5]", 0, 320),
    ("embedding", "a: float32[1, 10]", "m, y", 0, 80),
    ("scalar", "a: float32[]", "y", 1, 164),
    ("scalar_tensor", "a: float32[]", "1.0, dtype=torch.float32", 0, 4),
    ("relu", "a: float32[s0, 8]", "y", None, None),
    ("relu", "a: float8_e4m3fn[5, 8]", "y", 40, None),
]  # fmt: skip
RELU = _node("relu", "a: float32[5, 8]", "y")
MM = _node("mm", "a: float32[5, 10]", "y, m")
TALL_RELU = _node("relu", "c: float32[5, 16]", "y")


def _peaks(gflops, gbps, prefix=""):
    return {"tags": {f"{prefix}peak_gflops": gflops, f"{prefix}peak_gbps": gbps}}


# By device: the event of a run, the nodes of its program, and columns of its dump.
CASES = {
    **{
        f"{number} {name}": (_kernel(name), [_node(name, result, arguments)], {})
        for number, (name, result, arguments, *_) in enumerate(COSTS)
    },
    "compute": (_kernel("mm"), [MM], _peaks(16, 68)),
    "memory": (_kernel("mm"), [MM], _peaks(16, "8", "device.")),
    "one peak": (_kernel("mm"), [MM], {"tags": {"peak_gflops": 16}}),
    "ticks": (_kernel("mm"), [MM], _peaks(16, 8) | {"ns_per_tick": None}),
    "two nodes": (_kernel("mm"), [RELU, MM], {}),
    "two nodes alike": (_kernel("relu"), [RELU, TALL_RELU], {}),
    "delegate": (Event("DELEGATE_CALL", 100, 0), [RELU, MM], {}),
    "unknown": (_kernel("sigmoid"), [RELU], {}),
}


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    nodes = []
    for etrecord, (device, (event, own, columns)) in enumerate(CASES.items(), start=1):
        dump = store.add_dump(device=device, etrecord=device, **columns)
        own_event = event._replace(modules=("",), line="/src/net.py:1")
        store.add_run(dump, [own_event, Event("Method::execute", 1000, 0, chain=-1)])
        nodes += [(etrecord, EDGE, n, f"n{n}", *node) for n, node in enumerate([*INPUTS, *own])]
    connection = store.connect()
    connection.execute("DELETE FROM graph_nodes")
    connection.execute("UPDATE event_origins SET debug_handles = [1]")
    connection.executemany(
        "INSERT INTO graph_nodes BY NAME SELECT ? AS etrecord_id, ? AS graph, "
        "'forward' AS method, '' AS scope, ? AS node_index, ? AS node, ? AS op, ? AS target, "
        "? AS debug_handle, ? AS code, '{}' AS module_hierarchy",
        nodes,
    )
    return connection


@pytest.fixture(scope="module")
def row(farm):
    return {device: row for device, (row,) in run_by_device(farm, "roofline").items()}


@pytest.mark.parametrize(("number", "costs"), [*enumerate(COSTS)])
def test_costs_of_a_node_by_hand(number, costs, row):
    name, *_, flops, tensor_bytes = costs
    found = row[f"{number} {name}"]
    assert (found["flops"], found["bytes"]) == (flops, tensor_bytes)


def test_time_against_both_peaks_which_are_tags_unless_given(row, farm):
    fast = row["compute"]
    assert (fast["call_ns"], fast["intensity"]) == (100, pytest.approx(800 / 680))
    assert (fast["gflops"], fast["gbps"]) == (8, pytest.approx(6.8))
    roof = ("flops", "roof_ns", "roof_share", "bound")
    assert shown([fast, row["memory"]], *roof) == [
        (800, 50, 0.5, "compute"),
        (800, 85, 0.85, "memory"),
    ]
    assert shown([row["one peak"], row["0 mm"]], *roof) == [(800, *[None] * 3)] * 2
    (given,) = run_query(farm, "roofline", device="memory", peak_gbps=680)
    assert given["roof_ns"] == 50


def test_an_event_has_the_costs_of_the_nodes_it_runs(row):
    names = ("call_ns", "flops", "bytes", "intensity")
    assert row["two nodes"]["flops"] == 800  # that of its name among those of its handle
    assert row["two nodes alike"]["flops"] == 60  # one of them
    assert shown([row["delegate"]], "flops", "bytes") == [(840, 1000)]  # all of its handles
    assert shown([row["unknown"]], *names) == [(100, None, None, None)]


def test_cycles_of_unknown_rate_have_costs_alone(row):
    names = ("flops", "roof_ns", "call_ns", "gflops", "roof_share")
    assert shown([row["ticks"]], *names) == [(800, 85, None, None, None)]


def _recorded(tmp_path, dump, **beside):
    """Operations of a call by instruction and kind, of a recording of tests/data."""
    make_and_ingest(tmp_path / "store", DATA / dump, **beside)
    with Warehouse.open(tmp_path / "store", read_only=True) as store:
        rows = store.query("roofline").to_pylist()
    return {(row["instruction_id"], row["kind"]): row["flops"] for row in rows}


@pytest.mark.slow
def test_nodes_of_a_shared_handle_count_once_by_the_kernels_and_lists(tmp_path):
    costs = _recorded(tmp_path, "gap/rms_x/run.etdp")
    assert costs[0, "delegate_call"] == 96  # pow
    assert costs[1, "kernel"] == 96  # mean, of as many
    assert costs[2, "kernel"] == 6
    # rsqrt, mul, mul; linear; sigmoid, mul; mul
    assert costs[3, "delegate_call"] == 6 + 96 + 96 + 2 * 96 * 16 + 96 + 96 + 96


def test_nodes_of_a_shared_handle_count_once_by_the_names_of_events(tmp_path):
    costs = _recorded(tmp_path, GRU, etrecord=(DATA / GRU).with_suffix(".etrecord"))
    calls = {place: cost for (place, kind), cost in costs.items() if kind == "delegate_call"}
    inputs, hidden, cell = 2 * 3 * 36 * 8, 2 * 36 * 12, 10 * 12
    assert calls == {3: inputs + hidden, 7: hidden + cell, 11: hidden + cell, 15: cell}
