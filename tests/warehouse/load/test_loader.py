from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tests.support.corpus import dump_names, read_dump
from tests.support.cross_section import cross_section
from tests.support.etrecord_builder import MODELS
from tests.support.stores import MANIFEST, contents, writing
from tests.support.traced_farm import Step, traced_dump
from tests.tools.simulation.dump_template import repeat_runs
from tracehouse import DecodedBatch
from tracehouse.ingest.dump import Refusal, file_at
from tracehouse.ingest.manifest.resolver import Manifest
from tracehouse.ingest.sources.places import Source
from tracehouse.warehouse.archive.archive import Archive
from tracehouse.warehouse.archive.segments import SegmentWriter
from tracehouse.warehouse.engine.connection import open_cursor
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.load import stored_events
from tracehouse.warehouse.load.content import Content, NewDump, decode_content
from tracehouse.warehouse.load.dump_rows import DumpRows
from tracehouse.warehouse.load.loader import Loader
from tracehouse.warehouse.programs.reader import ProgramReader
from tracehouse.warehouse.statistics.clock_steps import RUNTIME

NAMES = dump_names("real")[:3]


def new_dump(name: str) -> NewDump:
    return NewDump(f"{name}.etdp", f"{name:x<64}", Manifest.model_validate(MANIFEST))


def load(loader: Loader, dump: NewDump, content: Content, *refused: Refusal) -> None:
    loader.load([content._replace(dumps=[dump])], refused)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_entries_go_to_disk_while_rows_are_inserted_and_appear_after_that(
    connection: duckdb.DuckDBPyConnection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_streamed: bool,
) -> None:
    steps: list[str] = []
    for owner, name in (
        (SegmentWriter, "end"), (DumpRows, "insert_content"), (SegmentWriter, "seal"),
    ):  # fmt: skip
        monkeypatch.setattr(owner, name, noting(steps, getattr(owner, name)))
    refused = Refusal("bad.etdp", "0" * 64, "reason", 4, "detail", b"bad")
    content = decode_content([read_dump(NAMES[0])])
    archive = Archive(tmp_path / "store")
    loader, dump = Loader(connection, archive), new_dump("a")._replace(data=b"a")
    if is_streamed:
        loader.load_stream(dump, [content.decoded])
    else:
        load(loader, dump, content, refused)
    assert steps == ["end", "insert_content", "seal", "end"]
    names = ["a.etdp"] if is_streamed else ["a.etdp", "bad.etdp"]
    assert [entry.name for _, entry in archive.entries()] == names


def test_a_file_that_is_refused_twice_in_one_ingest_is_recorded_once(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    refused = Refusal("bad.etdp", "0" * 64, "reason", 4, "detail", b"bad")
    archive = Archive(tmp_path / "store")
    Loader(connection, archive).record([refused, refused])
    assert connection.execute("SELECT count(*) FROM ingest_errors").fetchall() == [(1,)]
    assert [entry.name for _, entry in archive.entries()] == ["bad.etdp"]


def noting(steps: list[str], function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose name is noted when it is called."""

    def call(*arguments: object) -> object:
        steps.append(function.__name__)
        return function(*arguments)

    return call


def counts(connection: duckdb.DuckDBPyConnection) -> list[tuple[int, ...]]:
    text = "SELECT (SELECT count(*) FROM dumps), (SELECT count(DISTINCT dump_id) FROM events)"
    return connection.execute(text).fetchall()


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_dump_inserted_by_another_writer_stops_the_loader(
    connection: duckdb.DuckDBPyConnection, is_streamed: bool
) -> None:
    first, second = Loader(connection), Loader(open_cursor(connection))
    content = decode_content([read_dump(NAMES[0])])
    load(first, new_dump("a"), content)
    load(second, new_dump("b"), content)

    def load_again(loader: Loader) -> None:
        if is_streamed:
            loader.load_stream(new_dump("b"), [content.decoded])
        else:
            load(loader, new_dump("b"), content)

    with pytest.raises(StoreError, match="meanwhile, so nothing of this batch"):
        load_again(Loader(connection))
    assert counts(connection) == [(2, 2)]


def test_a_dump_id_assigned_by_another_writer_stops_the_loader(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    first, second = Loader(connection), Loader(open_cursor(connection))
    content = decode_content([read_dump(NAMES[0])])
    load(first, new_dump("a"), content)
    load(second, new_dump("b"), content)
    with pytest.raises(StoreError, match="only one process at a time may write to the store"):
        load(first, new_dump("c"), content)
    assert counts(connection) == [(2, 2)]
    load(first, new_dump("c"), content)  # it has looked again
    assert counts(connection) == [(3, 3)]


def split(decoded: DecodedBatch, rows: int) -> Iterator[DecodedBatch]:
    """Parts of some rows of each table, cut wherever it comes; signatures one by one, and again."""
    whole = decoded.tables
    most = max(table.num_rows for table in whole.values())
    last = (most - 1) // rows
    for part in range(last + 1):
        tables = {name: table.slice(part * rows, rows) for name, table in whole.items()}
        for name in ("event_signatures", "run_signatures"):
            again = whole[name].slice(0, part % 2)
            tables[name] = pa.concat_tables([tables[name], again])
        dumps = whole["dumps"]
        tables["dumps"] = dumps if part == last else dumps.slice(0, 0)
        yield DecodedBatch(tables, decoded.errors)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", cross_section(["real/mixed_xnnpack_n20", "real/stateful_portable_n3_debug"], 2)
)
@pytest.mark.parametrize("rows", cross_section([7, 1, 1000], 3))
def test_parts_may_be_cut_inside_runs_and_bring_signatures_in_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, rows: int
) -> None:
    monkeypatch.setattr(stored_events, "_MOST_EVENTS", 50)
    content = decode_content([read_dump(name)])
    with writing(tmp_path / "whole") as connection:
        load(Loader(connection), new_dump("a"), content)
    with writing(tmp_path / "parts") as connection:
        Loader(connection).load_stream(new_dump("a"), split(content.decoded, rows))
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_a_long_dump_in_parts_has_the_histograms_of_the_whole(tmp_path: Path) -> None:
    content = decode_content([repeat_runs(read_dump("real/mixed_xnnpack_n20"), 12)])
    with writing(tmp_path / "whole") as connection:
        load(Loader(connection), new_dump("a"), content)
    with writing(tmp_path / "parts") as connection:
        Loader(connection).load_stream(new_dump("a"), split(content.decoded, 4000))
    found = contents(tmp_path / "parts")
    assert found == contents(tmp_path / "whole")
    assert len(found["event_histograms"]) > 100


@pytest.mark.parametrize("step_ns", [1e9 / 24e6, 100_000])
def test_a_dump_in_parts_has_the_clock_steps_of_the_whole(tmp_path: Path, step_ns: float) -> None:
    steps = [Step(f"native_call_{name}.out", 4_000 * n) for n, name in enumerate("abcdefg", 1)]
    steps.append(Step("DELEGATE_CALL", parts=[("conv #1", 700_000), ("add #1", 130_000)]))
    content = decode_content([traced_dump(steps, step_ns=step_ns)])
    with writing(tmp_path / "whole") as connection:
        load(Loader(connection), new_dump("a"), content)
    with writing(tmp_path / "parts") as connection:
        Loader(connection).load_stream(new_dump("a"), split(content.decoded, 50))
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert content.statistics.resolution[0, RUNTIME] == pytest.approx(step_ns, rel=1e-3)


@pytest.mark.slow
def test_ids_in_memory_are_restored_after_a_failed_commit(tmp_path: Path) -> None:
    """Ids of dumps, signatures, dimensions and ETRecords of the batch that was rolled back."""
    program = ProgramReader().read(file_at(Source(str(MODELS / "mixed_xnnpack.etrecord"))))
    contents_of = [decode_content([read_dump(name)]) for name in NAMES]
    dumps = [
        new_dump(name)._replace(
            program=program,
            manifest=Manifest.model_validate({"device": name, "build": name, "model": name}),
        )
        for name in "abcz"
    ]
    for store in ("whole", "store"):
        with writing(tmp_path / store) as connection:
            loader = Loader(connection)
            for number in (0, 1, 2):
                content = contents_of[number]
                if store == "store":
                    impossible = content.statistics._replace(resolution=np.array([["a", "b"]]))
                    with pytest.raises(pa.ArrowNotImplementedError):
                        load(loader, dumps[3], content._replace(statistics=impossible))
                load(loader, dumps[number], content)
    assert contents(tmp_path / "store") == contents(tmp_path / "whole")
