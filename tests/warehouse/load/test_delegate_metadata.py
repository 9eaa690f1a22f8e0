from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.event_blocks import json_of, run, timed
from tracehouse.queries.event_blocks.table import event_blocks_json
from tracehouse.warehouse.errors import QueryError
from tracehouse.warehouse.load import delegate_metadata
from tracehouse.warehouse.load.delegate_metadata import metadata_json, parse_metadata


@pytest.fixture
def parsers(tmp_path, monkeypatch):
    """Installs a package that brings the parsers given by name, as source texts."""

    def install(**sources):
        (tmp_path / "vendor_parsers.py").write_text("\n".join(sources.values()))
        about = tmp_path / "vendor_parsers-1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: vendor-parsers\nVersion: 1\n")
        points = "".join(f"{name} = vendor_parsers:{name}\n" for name in sources)
        (about / "entry_points.txt").write_text(f"[tracehouse.delegate_metadata]\n{points}")
        monkeypatch.syspath_prepend(str(tmp_path))

    delegate_metadata._load_parser.cache_clear()
    yield install
    delegate_metadata._load_parser.cache_clear()
    sys.modules.pop("vendor_parsers", None)


def test_json_is_parsed_and_other_bytes_are_hex():
    metadata = [b'{"us": 3}', b"\x00\xff", b"", b"caf\xc3\xa9", b'"caf\xc3\xa9"', b"[1, 2.5]"]
    assert parse_metadata(metadata, None) == [
        {"us": 3}, "00ff", None, "636166c3a9", "café", [1, 2.5],
    ]  # fmt: skip


def test_the_microkernel_that_xnnpack_names_is_parsed():
    name = "xnn_f32_gemm_minmax_ukernel_7x4v__rvv"
    metadata = [f"{name}\0001849".encode(), f"{name}\0".encode(), b"xnn_\0005x"]
    assert parse_metadata(metadata, "XnnpackBackend") == [
        {"microkernel": name, "microkernel_us": 1849},
        {"microkernel": name, "microkernel_us": None},
        b"xnn_\0005x".hex(),
    ]


@pytest.mark.parametrize(
    ("raw", "parsed"),
    [
        (b"NaN", "NaN"),
        (b'{"a": 1e999}', {"a": "Infinity"}),
        (b'"\\ud800"', "\\ud800"),
        (b"[" * 100 + b"]" * 100, (b"[" * 100 + b"]" * 100).hex()),
        (b"[" * 100_000, (b"[" * 100_000).hex()),
    ],
)
def test_metadata_that_json_cannot_hold_becomes_text(raw, parsed):
    assert parse_metadata([raw], None) == [parsed]


@given(st.lists(st.binary(max_size=40), max_size=3))
def test_any_bytes_become_something_json_can_hold(metadata):
    parsed = parse_metadata(metadata, None)
    json.dumps(parsed, allow_nan=False).encode()
    assert len(parsed) == len(metadata)


def test_the_parser_named_after_the_backend_is_used(parsers):
    parsers(SomeBackend="def SomeBackend(raw): return {'count': len(raw), 'first': raw[0]}")
    metadata = [b"\x01", b"\x02"]
    assert parse_metadata(metadata, "SomeBackend") == {"count": 2, "first": "01"}
    assert parse_metadata(metadata, "Other") == ["01", "02"]
    assert parse_metadata([], "SomeBackend") == []


def test_metadata_that_its_parser_cannot_read_becomes_hex(parsers):
    parsers(Picky="def Picky(raw): return [int(value) for value in raw]")
    assert parse_metadata([b"7"], "Picky") == [7]
    assert parse_metadata([b"x"], "Picky") == ["78"]


def test_a_parser_that_cannot_be_loaded_is_an_error(parsers):
    parsers(Broken="import a_module_that_is_not_there")
    with pytest.raises(QueryError, match=r"'Broken = vendor_parsers:Broken' cannot be loaded"):
        parse_metadata([b"1"], "Broken")


def test_json_of_an_event_has_raw_and_parsed_metadata():
    events = [
        timed("", 0, 1, delegate_debug_id_str="a", delegate_debug_metadata=b'{"k": 1}'),
        timed("", 0, 1, delegate_debug_id_str="b"),
    ]
    [block] = json_of(run(*events))
    found = [
        (event["raw_delegate_debug_metadatas"], event["delegate_debug_metadatas"])
        for event in block["events"]
    ]
    assert found == [([b'{"k": 1}'.hex()], [{"k": 1}]), ([], [])]
    assert event_blocks_json([]) == {"event_blocks": []}


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a": 1, "a": 2}',
        b"1" * 5_000,
        b"1" * 4_000,
        b"[" + b"[]," * 400_000 + b"[]]",
        b"[" * 1_000_000,
    ],
    ids=["key twice", "too many digits", "many digits", "long", "deep"],
)
def test_json_beyond_the_bounds_is_hex_and_not_parsed(raw):
    assert parse_metadata([raw], None) == [raw.hex()]
    assert metadata_json(raw, None) is None


def test_nul_and_half_surrogates_are_escaped():
    assert metadata_json(b'{"a": "\\u0000\\udc80"}', None) == '{"a": "\\u0000\\\\udc80"}'


def test_parser_that_gives_a_huge_integer_is_passed_over(parsers):
    parsers(Huge="def Huge(raw): return [10 ** 5000 for value in raw]")
    assert metadata_json(b"x", "Huge") is None
