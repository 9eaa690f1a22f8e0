"""Lakes that Spark fills, where there is Java."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.support.inboxes import fill_inbox
from tests.support.lakes import rows_of
from tests.support.stores import write
from tests.support.tasks import TasksHere
from tests.support.tiny_dumps import tiny_dump, tiny_dump_events
from tracehouse.warehouse.errors import LakeError
from tracehouse.warehouse.lake.layout import TABLES
from tracehouse.warehouse.spark.ingest import LakeIngest, LakeIngester
from tracehouse.warehouse.spark.tasks import SparkTasks

BAD = b"\x10\0\0\0\0\0\0\0ED00"


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    write(tmp_path / "inbox" / "bad.etdp", BAD)
    write(tmp_path / "inbox" / "bad.json", b'{"device": "d", "build": "b", "model": "m"}')
    return fill_inbox(tmp_path / "inbox", 6)


def comparable(lake: Path, table: str) -> list[str]:
    moments = ("ingested_at", "refused_at")
    rows = [{k: v for k, v in row.items() if k not in moments} for row in rows_of(lake, table)]
    return sorted(map(repr, rows))


def test_executors_write_what_this_process_would(session, inbox: Path, tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    done = LakeIngester(SparkTasks(session), str(inbox), str(there)).ingest_all()
    assert (done.n_dumps, len(done.refused)) == (6, 1)
    LakeIngester(TasksHere(), str(inbox), str(here)).ingest_all()
    assert [table for table in TABLES if comparable(there, table) != comparable(here, table)] == []
    again = LakeIngester(SparkTasks(session), str(inbox), str(there)).ingest_all()
    assert again == LakeIngest(n_known=7)


def test_stream_takes_each_dump_once_through_restarts(session, inbox: Path, tmp_path: Path) -> None:
    from tracehouse.warehouse.spark.watching import StreamOptions, watch_inbox

    lake = tmp_path / "lake"
    options = StreamOptions((tmp_path / "checkpoint").as_uri(), is_once=True)
    counts = []
    for number in range(2):
        fill_inbox(inbox, 6, first=6 * number)
        done = LakeIngest()

        def tell(more: LakeIngest) -> None:
            nonlocal done
            done += more

        ingester = LakeIngester(SparkTasks(session), str(inbox), str(lake))
        watch_inbox(session, ingester, options, stop=threading.Event(), report=tell)
        counts.append((done.n_dumps, len(done.refused)))
    assert counts == [(6, 1), (6, 0)]
    assert len(rows_of(lake, "dumps")) == 12


def test_stream_that_fails_tells_of_the_lake(session, inbox: Path, tmp_path: Path) -> None:
    from tracehouse.warehouse.spark.watching import StreamOptions, watch_inbox

    lake = write(tmp_path / "file", b"")
    ingester = LakeIngester(SparkTasks(session), str(inbox), str(lake))
    options = StreamOptions((tmp_path / "checkpoint").as_uri(), is_once=True)
    with pytest.raises(LakeError, match=str(lake)):
        watch_inbox(session, ingester, options, stop=threading.Event(), report=lambda done: None)


def test_source_gives_decoded_events_and_refusals_by_name(session, inbox: Path) -> None:
    from tracehouse.warehouse.spark.source import EtdumpSource

    session.dataSource.register(EtdumpSource)
    reader = session.read.format("etdump")
    events = reader.load(str(inbox)).toArrow().to_pylist()
    name = str(inbox / "2026-01-01-0" / "0000.etdp")
    assert len(events) == sum(map(tiny_dump_events, range(6)))
    assert len([row for row in events if row["source"] == name]) == tiny_dump_events(0)
    errors = reader.option("table", "errors").load(str(inbox)).toArrow().to_pylist()
    assert [(row["source"], row["reason"]) for row in errors] == [
        (str(inbox / "bad.etdp"), "truncated")
    ]
    files = reader.option("table", "files").load(str(inbox)).toArrow()
    assert sum(files["byte_count"].to_pylist()) == len(BAD) + sum(
        len(tiny_dump(number)) for number in range(6)
    )
