from __future__ import annotations

import pytest

from tests.support.blob_builder import block, build_profiler_blob
from tests.support.corpus import dump_names, read_dump
from tests.support.tiny_dumps import tiny_dump
from tracehouse.ingest.decode import check_headers, decode_dumps, stream_dump
from tracehouse.ingest.errors import DumpError

BLOB = build_profiler_blob(block("b", ("e", 1, 2)))
BAD = [b"", b"x", b"x" * 99, b"<html>" * 9, tiny_dump(1)[:-1], tiny_dump(1)[:20], BLOB[:80]]


def test_dumps_of_the_corpus_begin_as_dumps_do() -> None:
    assert check_headers([read_dump(name) for name in dump_names()[:40]]) == {}


@pytest.mark.parametrize("bad", BAD)
def test_a_refusal_has_the_words_of_the_decoder(bad: bytes) -> None:
    (fault,) = check_headers([bad]).values()

    assert decode_dumps([bad]).errors.to_pylist() == [{"dump_index": 0, **vars(fault)}]


def test_the_header_of_each_dump_is_checked_by_itself() -> None:
    good = [tiny_dump(1), BLOB]

    assert check_headers([*good, *BAD, *good]).keys() == set(range(2, 2 + len(BAD)))


def test_checking_no_headers_finds_no_errors() -> None:
    assert check_headers([]) == {}


def test_refusal_says_what_is_in_place_of_a_dump() -> None:
    page = b"<!DOCTYPE html><title>Sign in</title>"
    wanted = (
        "not an ETDump, but an HTML page, such as a login or an error: download the file itself"
    )
    (fault,) = check_headers([page]).values()
    (row,) = decode_dumps([tiny_dump(1), page]).errors.to_pylist()
    with pytest.raises(DumpError, match=wanted):
        list(stream_dump(page))
    assert (fault.detail, row["detail"]) == (wanted, wanted)
