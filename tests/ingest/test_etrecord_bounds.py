"""ETRecords that would become much more than they are: read or refused in bounded memory."""

from __future__ import annotations

import struct
import zipfile

import pytest

from tests.support.bounded_memory import run_alone
from tests.support.cross_section import cross_section
from tests.support.etrecord_builder import (
    EDGE,
    build_etrecord,
    build_program,
    build_torch_archive,
    build_zip,
    node,
)
from tracehouse.ingest.errors import EtRecordError
from tracehouse.ingest.etrecord.maps import MAX_METHODS
from tracehouse.ingest.etrecord.record import MAX_PROGRAMS, build_etrecord_tables, read_etrecord
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.zip_limits import ZipMembers

FORWARD = f"{EDGE}__forward"
MOST_GROWN = 256 << 20

USE_ALL = """
from tracehouse.ingest.errors import EtRecordError
from tracehouse.ingest.etrecord.record import read_etrecord
from tracehouse.ingest.etrecord.graphs import render_graph
from tracehouse.ingest.etrecord.record import build_etrecord_tables
from tracehouse.ingest.sources.places import Source

def attempt(use):
    try:
        return use() and None
    except EtRecordError as error:
        return str(error)

def run(path):
    try:
        record = read_etrecord(Source(path))
    except EtRecordError as error:
        return [str(error)]
    return [
        attempt(lambda: build_etrecord_tables(record)),
        attempt(lambda: [len(render_graph(graph)) for graph in record.read_graphs()]),
        attempt(lambda: record.reference_outputs),
    ]
"""


def one_node(**metadata):
    return build_etrecord(**{FORWARD: build_program(node("a", **metadata))})


def deflated(**members):
    named = {name.replace("__", "/"): content for name, content in members.items()}
    return build_zip({"ETRECORD_V0": b"", **named}, zipfile.ZIP_DEFLATED)


def inner_graphs(count, name):
    empty = {"inputs": [], "outputs": [], "nodes": []}
    argument = {"name": "", "arg": {"as_graph": {"name": "g", "graph": empty}}}
    return build_program(node(name) | {"inputs": [argument] * count})


def results_of_one_type(count):
    results = [{"as_tensor": {"name": "x"}}] * count
    sizes = [{"as_int": 1}] * count
    return build_program(
        node("a") | {"outputs": results}, tensor_values={"x": {"dtype": 1, "sizes": sizes}}
    )


def tensors_on_one_storage(count):
    storage = b"((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x01tQ"
    one = b"ctorch._utils\n_rebuild_tensor_v2\n" + storage
    one += b"K\0J\0\0\4\0\x85K\0\x85\x89NtR"  # a stride of 0
    cases = b"}X\x07\0\0\0forward](](" + one * count + b"ees"
    return build_torch_archive(b"\x80\x02" + cases + b".", **{"0": bytes(4)})


def packed_storages(count):
    """A file of torch.save whose storages are zeros, packed."""
    tensors = b"".join(map(_tensor_of_zeros, range(count)))
    pickle = b"\x80\x02}X\x07\0\0\0forward](](" + tensors + b"ees."
    zeros = {f"archive/data/{i:04d}": bytes(1 << 20) for i in range(count)}
    return build_zip({"archive/data.pkl": pickle, **zeros}, zipfile.ZIP_DEFLATED)


def _tensor_of_zeros(number):
    storage = b"((X\x07\0\0\0storagectorch\nByteStorage\nX\x04\0\0\0%04d" % number
    storage += b"X\x03\0\0\0cpuJ\0\0\x10\0tQ"
    return b"ctorch._utils\n_rebuild_tensor_v2\n" + storage + b"K\0K\x01\x85K\x01\x85\x89NtR"


BOMBS = {
    "deflated lists": lambda: deflated(debug_handle_map=b"[" + b"[]," * 20_000_000 + b"[]]"),
    "deflated objects": lambda: deflated(**{FORWARD: b"[" + b"{}," * 1_300_000 + b"{}]"}),
    "admitted lists": lambda: deflated(
        **{FORWARD: b"[" + b"[]," * 650_000 + b'"' + b"x" * 2_000_000 + b'"]'}
    ),
    "lists": lambda: build_etrecord(debug_handle_map=b"[" + b"[]," * 5_000_000 + b"[]]"),
    "a long integer": lambda: build_etrecord(debug_handle_map=b"1" * 30_000_000),
    "a stack trace per handle": lambda: one_node(
        debug_handle="1 " * 30_000, stack_trace="x" * 60_000
    ),
    "handles": lambda: one_node(debug_handle="1 " * 8_000_000),
    "handles in lists": lambda: build_etrecord(
        debug_handle_map={"forward": {"0": [1] * 3_000_000}}
    ),
    "a deep module": lambda: one_node(nn_module_stack=f"k,{'a.' * 100_000},T"),
    "many modules": lambda: one_node(nn_module_stack=";".join(map(str, range(1_000_000)))),
    "an unclosed bracket": lambda: one_node(nn_module_stack="[" * 900_000),
    "results of a long type": lambda: build_etrecord(**{FORWARD: results_of_one_type(30_000)}),
    "a long name around graphs": lambda: build_etrecord(
        **{FORWARD: inner_graphs(10_000, "n" * 500_000)}
    ),
    "names around graphs": lambda: build_etrecord(**{FORWARD: inner_graphs(20_000, "n" * 1_000)}),
    "a long method": lambda: build_etrecord(debug_handle_map={"m" * 100_000: {"0": [1] * 100_000}}),
    "a long backend": lambda: build_etrecord(
        delegate_map={"m": {"0": {"name": "b" * 100_000, "delegate_map": {"x": [1] * 100_000}}}}
    ),
    "a long delegate id": lambda: build_etrecord(
        delegate_map={"m": {"0": {"name": "b", "delegate_map": {"x" * 100_000: [1] * 100_000}}}}
    ),
    "opcodes": lambda: build_etrecord(
        reference_outputs=build_torch_archive(b"\x80\x02](" + b"]" * 10_000_000 + b"e.")
    ),
    "tensors of one storage": lambda: build_etrecord(
        reference_outputs=tensors_on_one_storage(1_000)
    ),
    "packed storages": lambda: build_etrecord(reference_outputs=packed_storages(100)),
}


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.parametrize("bomb", cross_section(BOMBS, 10))
def test_bomb_is_read_or_refused_in_bounded_memory(tmp_path, bomb):
    data = BOMBS[bomb]()
    path = tmp_path / "r.etrecord"
    path.write_bytes(data)
    cost = run_alone(USE_ALL, str(path))
    assert cost.grown_bytes < MOST_GROWN + 4 * len(data)


def members_without_content(count):
    """A zip of members that all begin at its start."""
    entries = b"".join(
        struct.pack(
            "<4s4B4HL2L5H2L", b"PK\1\2", *(20, 3, 20, 0), *(0,) * 4, *(0,) * 3, 8, *(0,) * 6
        )
        + b"%08d" % i
        for i in range(count)
    )
    n = min(count, 0xFFFF)
    return entries + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, n, n, len(entries), 0, 0)


@pytest.mark.slow
def test_zip_of_a_million_members_is_refused_before_they_are_listed(tmp_path):
    assert len(ZipMembers(members_without_content(1_000), "x", inflation=1).names) == 1_000
    data = members_without_content(1_000_000)
    with pytest.raises(EtRecordError, match="x: the list of its members takes 54,000,000 bytes, "):
        ZipMembers(data, "x", inflation=1)


def test_members_of_a_zip_take_together_what_it_may_inflate_to():
    members = {name: bytes(3 << 20) for name in "ab"}
    packed = ZipMembers(build_zip(members, zipfile.ZIP_DEFLATED), "x", inflation=1)
    assert len(packed.read("a")) == len(packed.read("a")) == 3 << 20
    with pytest.raises(EtRecordError, match="x!b: would take 3,145,728 bytes, wanted at most 1,0"):
        packed.read("b")
    stored = ZipMembers(build_zip(members), "x", inflation=1)
    assert len(stored.read("a")) == len(stored.read("b")) == 3 << 20


def refusal(tmp_path, data):
    path = tmp_path / "r.etrecord"
    path.write_bytes(data)
    with pytest.raises(EtRecordError) as caught:
        build_etrecord_tables(read_etrecord(Source(str(path))))
    return str(caught.value).partition("r.etrecord")[2]


def test_too_many_methods_and_programs_are_refused(tmp_path):
    methods = {f"m{i}": {} for i in range(MAX_METHODS + 1)}
    told = refusal(tmp_path, build_etrecord(debug_handle_map=methods))
    assert told.startswith("!debug_handle_map: has 1,001 methods, wanted at most 1,000")
    programs = {f"{EDGE}__{i}": b"" for i in range(MAX_PROGRAMS + 1)}
    told = refusal(tmp_path, build_etrecord(**programs))
    assert told.startswith(": has 1,001 programs, wanted at most 1,000; save them in several")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (
            one_node(debug_handle="1 " * 30_000, stack_trace="x" * 60_000),
            ": in tables would take more than 74,8",
        ),
        (one_node(debug_handle="1 " * 1_000_001), ": would take more than 1,000,000 debug handles"),
        (one_node(nn_module_stack=f"k,{'a.' * 100},T"), ": has a module nested more than 100"),
        (one_node(nn_module_stack=";" * 100), ": has a node in more than 100 modules"),
        (
            one_node(nn_module_stack=f"k,{'a' * 1001},T"),
            ": found a name of 1,001 characters, 'aaaa",
        ),
        (
            build_etrecord(delegate_map={"m": {"0": {"name": "b" * 1001}}}),
            "!delegate_map: found a name of 1,001 characters, 'bbbb",
        ),
        (
            build_etrecord(**{FORWARD: inner_graphs(1, "n" * 1001)}),
            ": found a name of 1,001 characters, 'nnnn",
        ),
    ],
)
def test_an_etrecord_beyond_a_limit_is_refused_with_that_limit(tmp_path, data, problem):
    told = refusal(tmp_path, data)
    assert told.removeprefix(f"!{EDGE}/forward").startswith(problem)


def test_key_that_stands_twice_in_a_map_is_refused(tmp_path):
    told = refusal(tmp_path, build_etrecord(debug_handle_map=b'{"a": {"0": 1, "0": 2}}'))
    assert told.startswith("!debug_handle_map: has the key '0' twice in one object, wanted once")
