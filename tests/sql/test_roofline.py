import pytest

from tests.support.cross_section import cross_section
from tests.support.documents import ROOT
from tests.support.store_rows import Event, StoreRows, run_query
from tests.support.stores import make_and_ingest
from warehouse import Warehouse

DATA = ROOT / "tests" / "data"
GRU = "shared_handles/gru_xnnpack.etdp"
EDGE = "edge_dialect_exported_program"
INPUTS = [
    ("placeholder", "w", None, "w: float32[16, 4, 3, 3]"),
    ("placeholder", "m", None, "m: float32[8, 10]"),
    ("placeholder", "x", None, "x: float32[1, 4, 8, 8]"),
    ("placeholder", "y", None, "y: float32[5, 8]"),
]


def _ask(event, *nodes, columns=None, **params):
    """Of a run of one event: what it is said to cost, and how near to the roof it is."""
    store = StoreRows()
    dump = store.add_dump(etrecord="some.etrecord", **columns or {})
    events = [event._replace(modules=("",), line="/src/net.py:1")]
    store.add_run(dump, [*events, Event("Method::execute", 1000, 0, chain=-1)])
    connection = store.connect()
    connection.execute("DELETE FROM graph_nodes")
    for index, (op, target, handle, code) in enumerate([*INPUTS, *nodes]):
        connection.execute(
            "INSERT INTO graph_nodes BY NAME SELECT 1 AS etrecord_id, ? AS graph, "
            "'forward' AS method, '' AS scope, ? AS node_index, ? AS node, ? AS op, ? AS target, "
            "? AS debug_handle, ? AS code, '{}' AS module_hierarchy",
            [EDGE, index, f"n{index}", op, target, handle, code],
        )
    (row,) = run_query(connection, "roofline", **params)
    return row


def _kernel(name, ticks=100):
    return Event(f"native_call_{name}.out", ticks, 0)


def _node(name, result, arguments):
    return (
        "call_function", f"aten.{name}.default", 1,
        f"{result} = edge.ops.aten.{name}.default({arguments})",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "result", "arguments", "flops", "tensor_bytes"),
    cross_section([
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
    ], 6),
)  # fmt: skip
def test_costs_of_a_node_by_hand(name, result, arguments, flops, tensor_bytes):
    row = _ask(_kernel(name), _node(name, result, arguments))
    assert (row["flops"], row["bytes"]) == (flops, tensor_bytes)


RELU = _node("relu", "a: float32[5, 8]", "y")
MM = _node("mm", "a: float32[5, 10]", "y, m")


@pytest.mark.slow
def test_time_against_both_peaks():
    row = _ask(_kernel("mm"), MM, peak_gflops=16, peak_gbps=68)
    assert (row["call_ns"], row["intensity"]) == (100, pytest.approx(800 / 680))
    assert (row["gflops"], row["gbps"]) == (8, pytest.approx(6.8))
    assert (row["roof_ns"], row["roof_share"], row["bound"]) == (50, 0.5, "compute")
    row = _ask(_kernel("mm"), MM, peak_gflops=16, peak_gbps=8)
    assert (row["roof_ns"], row["roof_share"], row["bound"]) == (85, 0.85, "memory")


@pytest.mark.slow
@pytest.mark.parametrize("prefix", ["", "device."])
def test_peaks_are_tags_of_the_manifest_unless_given(prefix):
    tags = {"tags": {f"{prefix}peak_gflops": 16, f"{prefix}peak_gbps": "8"}}
    assert _ask(_kernel("mm"), MM, columns=tags)["roof_ns"] == 85
    assert _ask(_kernel("mm"), MM, columns=tags, peak_gbps=680)["roof_ns"] == 50


def test_without_a_peak_there_is_no_roof():
    row = _ask(_kernel("mm"), MM, peak_gflops=16)
    assert (row["flops"], row["roof_ns"], row["roof_share"], row["bound"]) == (800, *[None] * 3)


def test_a_kernel_runs_the_node_of_its_name_among_those_of_its_handle():
    row = _ask(_kernel("mm"), RELU, MM)
    assert row["flops"] == 800


def test_of_several_nodes_alike_a_kernel_runs_one():
    row = _ask(_kernel("relu"), RELU, _node("relu", "c: float32[5, 16]", "y"))
    assert row["flops"] == 60


def test_a_delegate_runs_all_nodes_of_its_handles():
    row = _ask(Event("DELEGATE_CALL", 100, 0), RELU, MM)
    assert (row["flops"], row["bytes"]) == (840, 1000)


def test_an_operator_that_the_etrecord_does_not_know_has_no_costs():
    row = _ask(_kernel("sigmoid"), RELU)
    assert (row["call_ns"], row["flops"], row["bytes"], row["intensity"]) == (100, *[None] * 3)


def test_cycles_of_unknown_rate_have_costs_alone():
    row = _ask(_kernel("mm"), MM, columns={"ns_per_tick": None}, peak_gflops=16, peak_gbps=8)
    assert (row["flops"], row["roof_ns"]) == (800, 85)
    assert (row["call_ns"], row["gflops"], row["roof_share"]) == (None, None, None)


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
