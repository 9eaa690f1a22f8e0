from __future__ import annotations

from pathlib import Path

from tests.support.stores import ingest, write

BLOCK = b"forward".ljust(32, b"\0")


def header(version: int, *numbers: int) -> bytes:
    return BLOCK + b"".join(n.to_bytes(4, "little") for n in (version, *numbers)) + bytes(4)


def test_files_meant_as_profiler_blobs_are_refused_as_such(tmp_path: Path) -> None:
    cases = [
        ("a.prof", header(7, 9, 1, 0, 0, 0, 0), "bad_version", "as a profiler blob: a block of"),
        ("b.bin", header(2, 9, 1, 0, 0, 0, 0), "bad_version", "as a profiler blob: a block of"),
        ("c.prof", header(1, 1, 5, 0, 0, 0, 0), "count_over_capacity", "as a profiler blob: 5 ev"),
        ("d.PROF", b"short", "truncated", "as a profiler blob: 5 bytes are left"),
        ("e.etdp", b"not a dump, whatever it says, nor a blob", "bad_identifier", ""),
    ]
    files = [write(tmp_path / name, data) for name, data, *_ in cases]
    refused = ingest(tmp_path / "store", *files).refused
    for refusal, (name, _, reason, detail) in zip(refused, cases, strict=True):
        assert (Path(refusal.source).name, refusal.reason) == (name, reason)
        assert refusal.detail.startswith(detail)
