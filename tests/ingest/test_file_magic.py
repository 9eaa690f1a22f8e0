from __future__ import annotations

import pytest

from ingest.decode import decode_dumps
from ingest.file_magic import check_file_magic
from tests.support.blob_builder import block, build_profiler_blob
from tests.support.corpus import dump_names, read_dump
from tests.support.tiny_dumps import tiny_dump

BLOB = build_profiler_blob(block("b", ("e", 1, 2)))
BAD = [b"", b"x", b"x" * 99, tiny_dump(1)[:-1], tiny_dump(1)[:20], BLOB[:80]]


def test_dumps_of_the_corpus_begin_as_dumps_do() -> None:
    assert check_file_magic([read_dump(name) for name in dump_names()[:40]]) == {}


@pytest.mark.parametrize("bad", BAD)
def test_a_refusal_has_the_words_of_the_decoder(bad: bytes) -> None:
    (fault,) = check_file_magic([bad]).values()

    assert decode_dumps([bad]).errors.to_pylist() == [{"dump_index": 0, **vars(fault)}]


def test_each_is_judged_by_itself() -> None:
    good = [tiny_dump(1), BLOB]

    assert check_file_magic([*good, *BAD, *good]).keys() == {2, 3, 4, 5, 6, 7}


def test_of_nothing_nothing_is_wrong() -> None:
    assert check_file_magic([]) == {}
