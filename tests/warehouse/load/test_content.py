from __future__ import annotations

import os
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from tests.support.corpus import dump_names, read_dump
from tests.support.stores import contents, ingest, write, write_corpus
from tests.support.tiny_dumps import tiny_dump, tiny_incoming
from tracehouse.warehouse.load import batches
from tracehouse.warehouse.load import pipeline as ingestion
from tracehouse.warehouse.load.content import decode_content, number_dumps, read_dumps

SIGNATURES = {"event_signatures", "run_signatures"}


def test_numbered_tables_of_several_calls_are_those_of_one_call() -> None:
    dumps = [read_dump(name) for name in dump_names("real", "hostile", "synthetic")[:60]]
    ids = np.arange(len(dumps), dtype=np.int32) + 7
    whole = decode_content(dumps)
    parts = [decode_content(part) for part in (dumps[:7], dumps[7:8], [], dumps[8:])]
    of_parts = np.split(ids, [7, 8, 8])

    rows = number_dumps([part.decoded.tables for part in parts], of_parts)
    for name, table in number_dumps([whole.decoded.tables], [ids]).items():
        if name not in SIGNATURES:
            assert rows[name].equals(table), name
    assert whole.decoded.errors.num_rows
    errors = number_dumps([{"errors": part.decoded.errors} for part in parts], of_parts)
    assert errors == number_dumps([{"errors": whole.decoded.errors}], [ids])

    statistics = number_dumps([part.statistics.tables for part in parts], of_parts)
    order = [("dump_id", "ascending"), ("event_signature_id", "ascending")]
    for name, table in number_dumps([whole.statistics.tables], [ids]).items():
        is_sorted = name != "event_stats"
        found = statistics[name] if is_sorted else statistics[name].sort_by(order)
        assert found.equals(table if is_sorted else table.sort_by(order)), name
    resolution = np.concatenate([part.statistics.resolution for part in parts])
    assert resolution.tolist() == whole.statistics.resolution.tolist()


def test_only_dumps_that_were_not_hashed_yet_are() -> None:
    proved = replace(tiny_incoming(1), sha256="a" * 64)

    read = read_dumps([proved, tiny_incoming(1)])

    assert [file.sha256 for file in read] == ["a" * 64, sha256(tiny_dump(1)).hexdigest()]


@pytest.mark.slow
@pytest.mark.parametrize("at_a_time", [500, 1, 10**9])
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
    assert len(steps) <= 24
    assert (len(steps) == 24) == (at_a_time == 1)
    if at_a_time > 500:
        assert steps == [16, 24]
    signatures = contents(tmp_path / "store")["event_signatures"]
    assert len({row[0] for row in signatures}) == len(signatures)


@pytest.mark.slow
def test_more_threads_make_the_same_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "in"
    write_corpus(folder)
    for i, path in enumerate(sorted(folder.glob("*.etdp"))):
        data = path.read_bytes()
        if i % 5 == 0:
            write(folder / f"again{i}.etdp", data)
            write(folder / f"cut{i}.etdp", data[:-9])
    os.mkfifo(folder / "pipe.etdp")
    monkeypatch.setattr(batches, "BATCH_FILES", 12)
    monkeypatch.setattr(ingestion, "COMMIT_EVENTS", 2000)
    one = ingest(tmp_path / "one", folder, jobs=1)
    more = ingest(tmp_path / "more", folder, jobs=5)
    assert {refusal.reason for refusal in more.refused} > {"unreadable"}
    assert more.refused == one.refused
    assert (more.n_dumps, more.n_duplicates) == (one.n_dumps, one.n_duplicates)
    assert contents(tmp_path / "more") == contents(tmp_path / "one")


@pytest.mark.slow
def test_an_interrupt_leaves_what_was_committed_and_a_store_that_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BATCH_FILES", 2)
    monkeypatch.setattr(ingestion, "COMMIT_EVENTS", 1)
    for i, name in enumerate(dump_names("real")[:8]):
        write(tmp_path / f"in/{i}.etdp", read_dump(name))
    done: list[int] = []

    def interrupt(progress: ingestion.IngestProgress) -> None:
        done.append(progress.n_events)
        if len(done) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(tmp_path / "store", tmp_path / "in", progress=interrupt)
    assert len(contents(tmp_path / "store")["events"]) == done[-1] > 0
    ingest(tmp_path / "store", tmp_path / "in")
    ingest(tmp_path / "whole", tmp_path / "in")
    assert contents(tmp_path / "store") == contents(tmp_path / "whole")
