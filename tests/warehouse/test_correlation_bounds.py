"""Small ETRecords that tell small dumps very much: not traced, and never gigabytes."""

from __future__ import annotations

import json

import pytest

from tests.support.bounded_memory import run_alone
from tests.support.etdump_builder import build_etdump
from tests.support.etrecord_builder import EDGE, build_etrecord, build_program, node
from tests.support.event_blocks import run, timed
from tests.support.stores import MANIFEST, write
from tracehouse.ingest.etrecord.record import read_etrecord
from tracehouse.ingest.sources.places import Source
from tracehouse.warehouse.programs.correlation import (
    BYTES_PER_EVENT,
    FREE_BYTES,
    Correlation,
    Place,
)

FORWARD = f"{EDGE}__forward"
MOST_GROWN = 512 << 20

INGEST = """
import json
import pyarrow.parquet, tracehouse.ingest.decode  # imports are no cost of a bomb
import tracehouse.ingest.etrecord.record, tracehouse.warehouse.load.pipeline
from tracehouse import Warehouse

def run(folder, manifest):
    with Warehouse.open(folder + "/store", create=True) as warehouse:
        warehouse.ingest(
            [folder + "/d.etdp"], manifest=json.loads(manifest), etrecord=folder + "/r.etrecord",
            jobs=1,
        )
        table = "FROM event_origins GROUP BY ALL ORDER BY n"
        origins = "SELECT doubt, method, count(*) AS n, "
        counts = "sum(len(op_types))::BIGINT AS ops, sum(len(debug_handles))::BIGINT AS handles "
        modules = "SELECT count(*) AS n FROM event_modules"
        return [
            warehouse.sql(origins + counts + table).to_pylist(),
            warehouse.sql(modules).to_pylist()[0]["n"],
        ]
"""

INSPECT = """
from tracehouse.ingest.sources.places import Source
from tracehouse.queries.event_blocks.build import read_event_blocks

def run(folder, _):
    source, record = Source(folder + "/d.etdp"), Source(folder + "/r.etrecord")
    [block] = read_event_blocks(source, etrecord=record)
    return [block.notes, sum(len(event.op_types) for event in block.events)]
"""


def delegated(count):
    place = {"instruction_id": 0, "chain_index": 0}
    return [timed("", 0, 1, delegate_debug_id_str=f"id{i}", **place) for i in range(count)]


def shared_handles():
    """A delegate of 10,000 handles, without a map: each event inside it has all of them."""
    return build_etrecord(debug_handle_map={"forward": {"0": list(range(10_000))}})


def nodes_of_many_handles():
    """Nodes that each have all handles of the instruction."""
    handles = " ".join(map(str, range(2_000)))
    nodes = [node(f"n{i}", debug_handle=handles) for i in range(200)]
    return build_etrecord(
        debug_handle_map={"forward": {"0": list(range(2_000))}}, **{FORWARD: build_program(*nodes)}
    )


BOMBS = {
    "handles": shared_handles,
    "nodes of many handles": nodes_of_many_handles,
}


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_block_beyond_the_tracing_limit_is_stored_untraced_with_a_note(tmp_path, bomb):
    write(tmp_path / "r.etrecord", BOMBS[bomb]())
    write(tmp_path / "d.etdp", build_etdump({"run_data": [run(*delegated(2_000))]}))
    (origins, modules), grown = run_alone(INGEST, str(tmp_path), json.dumps(MANIFEST))
    [row] = origins
    assert (row["method"], row["n"], row["ops"], modules) == (None, 2_000, 0, 0)
    assert row["doubt"].startswith("the ETRecord's data about this dump's events would take more ")
    (notes, op_count), inspected = run_alone(INSPECT, str(tmp_path), "")
    assert (notes, op_count) == ([row["doubt"]], 0)
    assert max(grown, inspected) < MOST_GROWN


@pytest.mark.system
@pytest.mark.slow
def test_a_block_at_the_tracing_limit_is_stored_in_bounded_memory(tmp_path):
    write(tmp_path / "r.etrecord", shared_handles())
    write(tmp_path / "d.etdp", build_etdump({"run_data": [run(*delegated(800))]}))
    ([row], _), grown = run_alone(INGEST, str(tmp_path), json.dumps(MANIFEST))
    assert (row["method"], row["doubt"], row["handles"]) == ("forward", None, 8_000_000)
    assert grown < MOST_GROWN


@pytest.mark.slow
def test_each_dump_has_its_own_limit_of_traced_data(tmp_path):
    record = read_etrecord(Source(str(write(tmp_path / "r.etrecord", shared_handles()))))
    known = Correlation(record)
    places = [Place("", "delegate_op", 0, i) for i in range(2_000)]
    assert known.locate(places).method is None
    assert known.renewed().locate(places[:500]).method == "forward"


def test_traced_data_is_limited_over_all_blocks_of_a_dump(tmp_path):
    record = read_etrecord(Source(str(write(tmp_path / "r.etrecord", shared_handles()))))
    known = Correlation(record)
    places = [Place("", "delegate_op", 0, i) for i in range(100)]
    traced = [known.locate(places).method for _ in range(30)]
    assert 0 < traced.count("forward") < 20
    assert traced == sorted(traced, key=lambda method: method is None)


@pytest.mark.slow
def test_a_large_program_with_cheap_events_is_traced_in_every_block(tmp_path):
    stack = "k0,,M;k1,layers,T;k2,layers.0,T;k3,layers.0.attn,T"
    nodes = [
        node(f"n{i}", debug_handle=str(i), stack_trace="x" * 500, nn_module_stack=stack)
        for i in range(5_000)
    ]
    data = build_etrecord(
        debug_handle_map={"forward": {str(i): i for i in range(5_000)}},
        **{FORWARD: build_program(*nodes)},
    )
    known = Correlation(read_etrecord(Source(str(write(tmp_path / "r.etrecord", data)))))
    places = [
        Place(name, kind, i, None)
        for i in range(5_000)
        for name, kind in (("OPERATOR_CALL", "operator_call"), ("native_call_relu.out", "kernel"))
    ]
    for _ in range(8):  # as many blocks
        block = known.locate(places)
        assert (block.method, block.notes) == ("forward", [])
    assert FREE_BYTES + BYTES_PER_EVENT * len(places) < 100 << 20


def test_a_method_of_many_is_found_without_comparing_each_with_each(tmp_path):
    data = build_etrecord(debug_handle_map={f"m{i}": {"0": i} for i in range(1_000)})
    known = Correlation(read_etrecord(Source(str(write(tmp_path / "r.etrecord", data)))))
    block = known.locate([Place("native_call_relu.out", "kernel", 0, None)] * 3)
    assert len(block.method_candidates) == 1_000
    [note] = block.notes
    assert note.startswith("these can be events of m0 or m1 or ")
    assert note.endswith(" or m9 or 990 more, which differ")
