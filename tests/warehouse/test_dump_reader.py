from __future__ import annotations

from pathlib import Path

import pytest

from ingest import decode_dumps
from ingest.sources import find_sources
from tests.support.corpus import dump_names, read_dump
from tests.support.stores import contents, ingest, write
from warehouse import batches, ingestion
from warehouse.dump_reader import DumpReader, ReadContent, merge_contents
from warehouse.rollups import summarise

SIGNATURES = {"event_signatures", "run_signatures"}


def decode(dumps: list[bytes]) -> ReadContent:
    decoded = decode_dumps(dumps)
    return ReadContent(decoded, summarise(decoded, len(dumps)))


def test_merged_contents_are_those_of_one_call() -> None:
    dumps = [read_dump(name) for name in dump_names("real", "hostile", "synthetic")[:60]]
    whole = decode(dumps)
    parts = merge_contents([decode(dumps[:7]), decode(dumps[7:8]), decode([]), decode(dumps[8:])])
    for name, table in whole.decoded.tables.items():
        if name not in SIGNATURES:
            assert parts.decoded.tables[name].equals(table), name
    assert whole.decoded.errors.num_rows
    assert parts.decoded.errors.equals(whole.decoded.errors)
    order = [("dump_index", "ascending"), ("event_signature_id", "ascending")]
    expected = whole.statistics.rows.sort_by(order)
    assert parts.statistics.rows.sort_by(order).equals(expected)
    assert parts.statistics.resolution.tolist() == whole.statistics.resolution.tolist()


def test_nothing_merged_is_nothing() -> None:
    nothing = merge_contents([])
    assert nothing.decoded.tables["events"].num_rows == 0
    assert nothing.statistics.rows.num_rows == 0


def test_batches_are_decoded_in_the_order_they_were_read(tmp_path: Path) -> None:
    for name in ("cnn_portable_n20", "mixed_xnnpack_n20"):
        write(tmp_path / f"{name}.etdp", read_dump(f"real/{name}"))
    first, second = find_sources([tmp_path])
    reader = DumpReader()
    reader.read([first])
    reader.read([first, second])
    assert reader.decode([0]) is not None
    content = reader.decode([1])
    assert content is not None
    expected = decode_dumps([read_dump("real/mixed_xnnpack_n20")]).tables["events"]
    assert content.decoded.tables["events"].equals(expected)


@pytest.mark.parametrize("at_a_time", [1, 500, 10**9])
def test_how_many_batches_are_committed_together_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_a_time: int
) -> None:
    for i, name in enumerate(dump_names("real")[:24]):
        write(tmp_path / f"in/{i}.etdp", read_dump(name))
    ingest(tmp_path / "whole", tmp_path / "in")
    monkeypatch.setattr(batches, "BATCH_FILES", 1)
    monkeypatch.setattr(ingestion, "COMMIT_EVENTS", at_a_time)
    steps: list[int] = []
    ingest(tmp_path / "store", tmp_path / "in", progress=lambda p: steps.append(p.done_files))
    assert contents(tmp_path / "store") == contents(tmp_path / "whole")
    assert steps[0] == 1
    assert len(steps) <= 24
    assert (len(steps) == 24) == (at_a_time == 1)
    signatures = contents(tmp_path / "store")["event_signatures"]
    assert len({row[0] for row in signatures}) == len(signatures)
