from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.requests import Request

from tracehouse import Inbox
from tracehouse.cli.serve.http.endpoints import TooLargeProblem
from tracehouse.cli.serve.uploads.dumps import FormProblem, FormReader

DUMP = b'--b\r\nContent-Disposition: form-data; name="dump"; filename="../../etc/a.etdp"\r\n\r\n'
MANIFEST = b'--b\r\nContent-Disposition: form-data; name="manifest"\r\n\r\n'


def reader(folder: Path, kind: str = "multipart/form-data; boundary=b") -> FormReader:
    request = Request({"type": "http", "headers": [(b"content-type", kind.encode())]})
    return FormReader(request, Inbox(folder), 100)


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[FormReader]:
    """Reads a form in which no file may have more than 100 bytes."""
    reading = reader(tmp_path)
    yield reading
    for spool in reading.spools:
        spool.close()


@pytest.mark.parametrize("piece_bytes", [1, 7, 10_000])
def test_parts_are_told_apart_in_whatever_pieces_they_come(
    parts: FormReader, piece_bytes: int
) -> None:
    body = DUMP + b"abc\r\n" + MANIFEST + b"{}\r\n--b--\r\n"
    for start in range(0, len(body), piece_bytes):
        parts.write(body[start : start + piece_bytes])
    parts.check()
    found = {name: (part.file_name, bytes(part.spool.data)) for name, part in parts.parts.items()}
    assert found == {"dump": ("a.etdp", b"abc"), "manifest": ("", b"{}")}


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "in the middle"),
        (DUMP.replace(b"dump", b"x"), "a part 'x'"),
        (DUMP + b"abc", "in the middle"),
        (DUMP + b"abc\r\n--b--", "no part 'manifest'"),
        (MANIFEST + b"{}\r\n--b--", "no part 'dump'"),
        (DUMP.replace(b"dump", b"\xff"), "not UTF-8"),
        (2 * (DUMP + b"\r\n"), "two parts 'dump'"),
        (b"nonsense", "malformed"),
        (b"--b\r\nContent-Disposition: " + b"x" * 9999, "malformed"),
    ],
)
def test_a_malformed_body_is_refused(parts: FormReader, body: bytes, detail: str) -> None:
    def read() -> None:
        parts.write(body)
        parts.check()

    with pytest.raises(FormProblem, match=detail) as found:
        read()
    assert (found.value.status_code, found.value.reason) == (400, "multipart")


def test_a_long_file_name_is_cut(parts: FormReader) -> None:
    parts.write(DUMP.replace(b"a.etdp", b"n" * 300) + b"abc")
    assert parts.parts["dump"].file_name == "n" * 255


def test_a_part_is_read_up_to_its_largest_size(parts: FormReader) -> None:
    parts.write(DUMP + b"x" * 100)
    with pytest.raises(TooLargeProblem):
        parts.write(b"x")


def test_a_head_without_a_boundary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormProblem, match="no boundary"):
        reader(tmp_path, "multipart/form-data")
