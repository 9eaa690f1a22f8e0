from __future__ import annotations

import pytest

from tracehouse.ingest.errors import ManifestError
from tracehouse.ingest.manifest.json_files import explain_json, parse_json

TEXT = '{"device": "pixel8", "temperature": 31.5}'
FAULTS = {
    "UTF-16": (TEXT.encode("utf-16"), "UTF-16 text"),
    "UTF-16 without mark": (TEXT.encode("utf-16-le"), "UTF-16 text"),
    "Latin-1": (TEXT.replace("pixel8", "Größe").encode("latin-1"), r"not UTF-8 \(byte 14\)"),
    "empty": (b" \n", "it is empty"),
    "zeros": (TEXT.encode() + b"\0" * 9, "bytes that are zero"),
    "comment": (b"// by CI\n" + TEXT.encode(), "it has a comment"),
    "later comment": (TEXT.replace(", ", ", // pixel\n").encode(), "it has a comment"),
    "quotes": (TEXT.replace('"', "'").encode(), "its quotes are single ones"),
    "comma": (TEXT.replace("}", ",}").encode(), "a comma before a closing bracket"),
    "page": (b"<!doctype html>", "it is an HTML page"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1", "it is a Git LFS pointer"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_of_a_json_file_is_named(name: str) -> None:
    data, problem = FAULTS[name]
    with pytest.raises(ManifestError, match=rf"^run\.json: not valid JSON: .*{problem}"):
        parse_json("run.json", data)


def test_marks_and_line_ends_of_windows_are_no_fault() -> None:
    for data in (TEXT.encode("utf-8-sig"), TEXT.replace(", ", ",\r\n").encode()):
        assert parse_json("run.json", data) == {"device": "pixel8", "temperature": 31.5}


def test_unrecognised_json_faults_get_no_explanation() -> None:
    assert explain_json(b'{"url": "http://host/#a"') is None
    assert explain_json(b"[1") is None


def test_hostile_text_is_explained_in_little_time() -> None:
    # A search of quadratic time would not end within the day.
    for text in (b"\n" * (1 << 20), b"{ " * (1 << 19), b", " * (1 << 19) + b"!"):
        assert len(explain_json(text) or "") < 200
