from __future__ import annotations

import pytest

from tests.support.etrecord_builder import build_etrecord, build_program, node
from tracehouse.ingest.etrecord.record import read_etrecord
from tracehouse.ingest.sources.places import Source
from tracehouse.queries.numeric_gap.logged_operators import DelegateResults


@pytest.fixture
def results(tmp_path):
    """The delegates of a program with these nodes and outputs, and of these handle maps."""

    def build(nodes, outputs, *, others=()):
        handles = {str(i): handle for i, handle in enumerate(([1], *others))}
        data = build_etrecord(
            debug_handle_map={"forward": handles},
            edge_dialect_exported_program__forward=build_program(
                *nodes, outputs=[{"as_tensor": {"name": name}} for name in outputs]
            ),
        )
        path = tmp_path / "r.etrecord"
        path.write_bytes(data)
        return DelegateResults(read_etrecord(Source(str(path))), "forward")

    return build


def call(name, handle, *inputs, gives=()):
    arguments = [{"name": "self", "arg": {"as_tensor": {"name": item}}} for item in inputs]
    outputs = [{"as_tensor": {"name": item}} for item in gives or [name]]
    return node(name, debug_handle=str(handle)) | {"inputs": arguments, "outputs": outputs}


ATTENTION = [
    call("q", 7, "x"),
    call("k", 9, "x"),
    call("q_heads", 8, "q"),
    call("k_heads", 10, "k"),
    call("k_turned", 13, "k_heads"),
    call("scores", 14, "q_heads", "k_turned"),
]


def test_results_are_what_is_used_outside_not_the_last_handles(results):
    delegates = results(ATTENTION, ["scores"])
    assert delegates.of([7, 9, 8, 10, 13], 2) == [8, 13]


def test_a_program_output_counts_as_used_outside_of_the_delegate(results):
    delegates = results(ATTENTION, ["k", "scores"])
    assert delegates.of([7, 9, 8, 10, 13], 3) == [9, 8, 13]


def test_a_single_output_is_the_result_of_the_last_handle(results):
    assert results([], []).of([2, 2, 5], 1) == [5]


def test_outputs_of_one_node_share_its_handle(results):
    split = call("split", 3, "x", gives=["left", "right"])
    delegates = results([split, call("sum", 4, "left", "right")], ["sum"])
    assert delegates.of([3, 3, 3], 2) == [3, 3]


def test_only_the_last_node_of_a_handle_has_its_result(results):
    nodes = [call("a", 3, "x"), call("b", 3, "a"), call("c", 4, "a", "b")]
    assert results(nodes, ["c"]).of([3, 3], 2) == [None, 3]


@pytest.mark.parametrize(
    ("handles", "count", "others"),
    [
        pytest.param([7, 9, 8, 10, 13], 3, (), id="other count"),
        pytest.param([7, 9, 8, 10, 13], 2, ([13, 14],), id="shared handle"),
        pytest.param([70, 90], 2, (), id="unknown nodes"),
    ],
)
def test_only_the_last_output_of_an_ambiguous_delegate_has_a_handle(
    results, handles, count, others
):
    delegates = results(ATTENTION, ["scores"], others=(handles, *others))
    assert delegates.of(handles, count) == [*[None] * (count - 1), handles[-1]]
