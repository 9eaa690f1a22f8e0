from __future__ import annotations

import pytest

from tracehouse.queries.numeric_gap.logged_operators import MAX_LINKS, FlowNode, program_flow


def node(operator, handle, *takes, gives=None):
    handles = () if handle is None else (handle,)
    return FlowNode(operator, handles, frozenset(takes), [gives or operator])


def test_inputs_are_the_handles_of_what_the_nodes_of_a_handle_take():
    nodes = [node("conv", 1, "x"), node("exp", 2, "conv"), node("mul", 2, "exp", "conv")]
    nodes += [node("relu", 3, "mul")]
    assert program_flow(nodes).inputs == {1: set(), 2: {1}, 3: {2}}


def test_nodes_without_a_handle_are_seen_through():
    nodes = [node("conv", 1, "x"), node("item", None, "conv"), node("relu", 3, "item")]
    assert program_flow(nodes).inputs[3] == {1}


def test_a_debug_handle_with_only_views_is_a_view_of_its_input():
    linear = [node("addmm", 2, "x"), node("view_copy", 2, "addmm", gives="linear")]
    unflatten = [node("view_copy", 3, "linear", gives="a"), node("squeeze_copy", 3, "a", gives="b")]
    assert program_flow([*linear, *unflatten]).views == {3: 2}


def test_a_debug_handle_that_computes_or_reads_an_earlier_step_is_no_view():
    nodes = [node("exp", 2, "x"), node("mul", 2, "exp"), node("view_copy", 3, "exp")]
    assert program_flow(nodes).views == {}
    nodes = [node("exp", 2, "x"), node("mul", 3, "exp"), node("view_copy", 3, "mul")]
    assert program_flow(nodes).views == {}
    split = FlowNode("split", (2,), frozenset("x"), ["left", "right"])
    assert program_flow([split, node("view_copy", 3, "left")]).views == {}


def test_a_view_takes_the_value_of_what_precedes_it_whatever_names_say():
    nodes = [node("view_copy", 2, "b", gives="a"), node("view_copy", 3, "a", gives="b")]
    assert program_flow([*nodes, node("view_copy", 2, "b", gives="a")]).views == {}


@pytest.mark.slow
def test_a_program_with_too_many_links_gets_no_flow():
    each = 2_000
    chain = [node("conv", handle, "x", gives=f"conv{handle}") for handle in range(each)]
    names = [f"conv{handle}" for handle in range(each)]
    many = [node("cat", None, *names, gives=f"c{i}") for i in range(MAX_LINKS // each + 1)]
    assert program_flow([*chain, *many]) == ({}, {})
