from __future__ import annotations

import base64
import json

import pytest

from tracehouse.queries.inspector.vgf_neural_statistics import (
    SCHEMA,
    parse_vgf_neural_statistics_delegate_metadata,
    parse_vgf_neural_statistics_metadata,
)


def record(version=1, is_available=True, **blob):
    """A record whose one segment has two blobs."""
    known = {
        "available": is_available,
        "encoding": "base64",
        "data": base64.b64encode(b"\x00\xff").decode() if is_available else "",
    }
    segment = {"segment_id": 3, "debug_database": known | blob, "statistics_memory": known}
    return json.dumps(
        {"schema": SCHEMA, "schema_version": version, "reason": "why", "segments": [segment]}
    )


@pytest.mark.parametrize("kind", [str, str.encode, lambda text: bytearray(text, "utf-8")])
def test_blobs_of_a_record_are_decoded(kind):
    parsed = parse_vgf_neural_statistics_metadata(kind(record()))
    [segment] = parsed["segments"]
    assert (parsed["schema"], parsed["reason"], segment["segment_id"]) == (SCHEMA, "why", 3)
    assert segment["debug_database"]["raw_data"] == b"\x00\xff"
    assert segment["statistics_memory"]["raw_data"] == b"\x00\xff"
    assert segment["debug_database"]["data"]


def test_an_unavailable_blob_is_empty():
    [segment] = parse_vgf_neural_statistics_metadata(record(is_available=False))["segments"]
    assert segment["statistics_memory"]["raw_data"] == b""


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        (record(version=2), "Unsupported VGF neural statistics metadata schema version: 2"),
        (record(data="not base64!"), "debug_database: Malformed base64 data"),
        (
            record(encoding="hex"),
            "debug_database: Unsupported .* blob encoding: hex, wanted base64",
        ),
        ('{"schema": "other"}', "not JSON with the schema executorch.vgf"),
        (b"\xff", "not JSON with the schema"),
    ],
)
def test_malformed_neural_statistics_are_a_value_error(metadata, problem):
    with pytest.raises(ValueError, match=problem):
        parse_vgf_neural_statistics_metadata(metadata)


def test_metadata_of_other_backends_is_left_out():
    others = [b"", None, b"\xff\xfe", b"no json", b"[1]", b'{"schema": "other"}', 7]
    found = parse_vgf_neural_statistics_delegate_metadata([*others, record().encode()])
    assert [one["schema_version"] for one in found] == [1]


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        (record().encode()[:-1], "Malformed VGF neural statistics delegate metadata"),
        (record(version=0).encode(), "schema version: 0, wanted 1"),
    ],
)
def test_a_malformed_record_is_not_passed_over(metadata, problem):
    with pytest.raises(ValueError, match=problem):
        parse_vgf_neural_statistics_delegate_metadata([metadata])
