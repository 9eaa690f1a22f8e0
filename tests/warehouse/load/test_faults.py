from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.stores import ingest, write

BLOCK = b"forward".ljust(32, b"\0")


def header(version: int, *numbers: int) -> bytes:
    return BLOCK + b"".join(n.to_bytes(4, "little") for n in (version, *numbers)) + bytes(4)


@pytest.mark.parametrize(
    ("name", "data", "reason", "detail"),
    [
        ("a.prof", header(7, 9, 1, 0, 0, 0, 0), "bad_version", "as a profiler blob: a block of"),
        ("a.bin", header(2, 9, 1, 0, 0, 0, 0), "bad_version", "as a profiler blob: a block of"),
        ("a.prof", header(1, 1, 5, 0, 0, 0, 0), "count_over_capacity", "as a profiler blob: 5 ev"),
        ("a.PROF", b"short", "truncated", "as a profiler blob: 5 bytes are left"),
        ("a.etdp", b"not a dump, whatever it says, nor a blob", "bad_identifier", ""),
    ],
)
def test_what_was_meant_as_a_blob_is_refused_as_one(
    tmp_path: Path, name: str, data: bytes, reason: str, detail: str
) -> None:
    summary = ingest(tmp_path / "store", write(tmp_path / name, data))
    assert [r.reason for r in summary.refused] == [reason]
    assert summary.refused[0].detail.startswith(detail)
