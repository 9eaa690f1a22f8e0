"""Few runs are read in full: at once, at little cost, and with the same rows."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest

from tests.support.corpus import CORPUS, read_dump
from tracehouse import DecodedBatch, decode_dumps
from tracehouse.ingest.etdump import runs
from tracehouse.ingest.etdump.templates import TEMPLATES

DUMPS = [path.read_bytes() for path in sorted((CORPUS / "real").glob("*.etdp"))]
MOST_CALLS = 2600  # it takes about 2,000; 3,200 when repeats were looked for, and what is absent


def rows(batch: DecodedBatch) -> dict[str, pa.Table]:
    """The tables; signatures, which come in no certain order, by id."""
    return {
        name: table.sort_by(f"{name[:-1]}_id") if name.endswith("signatures") else table
        for name, table in batch.tables.items()
    }


@pytest.mark.parametrize("dump", DUMPS, ids=len)
def test_rows_are_the_same_whether_repeats_are_looked_for_or_not(
    dump: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "FEWEST_WORDS", 0)
    looked_for = decode_dumps([dump, dump[:-4], dump])
    monkeypatch.setattr(runs, "FEWEST_WORDS", 1 << 40)
    read_in_full = decode_dumps([dump, dump[:-4], dump])
    assert rows(read_in_full) == rows(looked_for)
    assert read_in_full.errors == looked_for.errors


def test_decoding_one_small_dump_takes_few_calls_of_functions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "FEWEST_WORDS", 1 << 15)  # as it is outside of tests
    dump = read_dump("real/cnn_portable_n20")
    decode_dumps([dump])  # what only the first call does
    TEMPLATES.clear()

    def count_calls() -> int:
        count = 0

        def note(frame: object, event: str, arg: object) -> None:
            nonlocal count
            count += event == "call"

        usual = sys.getprofile()
        sys.setprofile(note)
        try:
            decode_dumps([dump])
        finally:
            sys.setprofile(usual)
        return count

    assert count_calls() < MOST_CALLS
    decode_dumps([dump])  # from now on, the dump is known
    assert count_calls() < MOST_CALLS / 3
