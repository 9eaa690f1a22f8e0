from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.store_template import copy_new_store
from tests.support.uploads import record_of
from tracehouse import Inbox
from tracehouse.cli.serve.uploads.batches import RecordReader

MANIFEST = b'{"device": "pixel8"}'
FIRST = record_of(b"dump\n{}", MANIFEST)
SECOND = record_of(b"", MANIFEST, etrecord=b"PK\n", qhas=b"[]")


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[RecordReader]:
    """A reader of up to three dumps of up to 100 bytes."""
    copy_new_store(tmp_path / "store")
    with Inbox.open(tmp_path / "store") as inbox:
        reader = RecordReader(inbox, 100, 3)
        yield reader
        for spool in reader.spools:
            spool.close()


def contents(reader: RecordReader) -> list[dict[str, bytes]]:
    """The parts of the complete records."""
    return [
        {name: bytes(part.spool.data) for name, part in record.parts.items()}
        for record in reader.records
    ]


@pytest.mark.parametrize("size", [1, 2, 7, 30, 1000])
def test_records_are_the_same_however_the_stream_is_cut(reader: RecordReader, size: int) -> None:
    stream = FIRST + SECOND
    for start in range(0, len(stream), size):
        reader.write(stream[start : start + size])
    reader.end()
    assert reader.problem is None
    assert contents(reader) == [
        {"manifest": MANIFEST, "dump": b"dump\n{}"},
        {"manifest": MANIFEST, "dump": b"", "etrecord": b"PK\n", "qhas": b"[]"},
    ]


def test_a_record_is_complete_with_its_last_byte(reader: RecordReader) -> None:
    reader.write(FIRST[:-1])
    assert contents(reader) == []
    reader.write(FIRST[-1:])
    assert len(contents(reader)) == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"PK\3\4\n", "the line is not JSON"),
        (b"[" * 4000 + b"\n", "the line is too deep"),
        (b"[]\n", "wanted an object"),
        (b'{"manifest": 2, "dump": 9, "dump": 8}\n', "the line has the key 'dump' twice"),
        (b'{"manifest": 2}\n', "dump: Field required"),
        (b'{"manifest": 2, "dump": -1}\n', "dump: wanted greater than or equal to 0"),
        (b'{"manifest": 2, "dump": "9"}\n', "dump: wanted a valid integer"),
        (b'{"manifest": 2, "dump": 9, "etrecrd": 1}\n', "etrecrd: Extra inputs are not permitted"),
        (b'{"manifest": 2, "dump": 9, "sha256": "AB"}\n', "sha256: String should match pattern"),
        (b"x" * 5000, "wanted a line of at most 4,096 bytes"),
    ],
)
def test_a_malformed_line_ends_the_stream_with_its_offset(
    reader: RecordReader, line: bytes, problem: str
) -> None:
    reader.write(FIRST)
    for start in range(0, len(line), 3):
        reader.write(line[start : start + 3])
    reader.write(FIRST)
    assert len(contents(reader)) == 1
    assert reader.problem
    assert reader.problem.detail.startswith(f"offset {len(FIRST)}: ")
    assert problem in reader.problem.detail


@pytest.mark.parametrize("length", [3, len(SECOND) - 1])
def test_a_stream_that_ends_inside_a_record_is_malformed(reader: RecordReader, length: int) -> None:
    reader.write(FIRST + SECOND[:length])
    reader.end()
    assert reader.problem
    found = f"offset {len(FIRST) + length}: the stream ends inside a record"
    assert reader.problem.detail == found


def test_the_dumps_of_a_stream_are_limited(reader: RecordReader) -> None:
    for _ in range(4):
        reader.write(FIRST)
    assert len(contents(reader)) == 3
    assert reader.problem
    assert (reader.problem.status_code, reader.problem.reason) == (413, "too_many")


def test_the_bytes_of_a_record_that_is_too_large_are_skipped(reader: RecordReader) -> None:
    reader.write(record_of(b"x" * 101, MANIFEST) + record_of(b"x" * 100, MANIFEST))
    reader.write(record_of(b"x", json.dumps({"note": "x" * (1 << 20)}).encode()))
    statuses = [one.problem and one.problem.status_code for one in reader.records]
    assert statuses == [413, None, 413]
    assert [len(one["dump"]) for one in contents(reader)] == [0, 100, 0]
