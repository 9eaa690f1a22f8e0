"""One dump that breaks something costs only itself."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.support.corpus import CORPUS, dump_names, read_dump
from tests.support.etdump_builder import build_etdump
from tests.support.etrecord_builder import MODELS
from tests.support.event_blocks import logged, run
from tests.support.stores import contents, ingest, write
from tracehouse import Warehouse
from tracehouse.ingest import decode
from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.manifest.resolver import ManifestResolver
from tracehouse.ingest.producers import read_user_rules, use_user_rules
from tracehouse.warehouse.errors import StoreError
from tracehouse.warehouse.load import batches
from tracehouse.warehouse.load import content as dump_reader
from tracehouse.warehouse.load import pipeline as ingestion
from tracehouse.warehouse.load.content import Failure, isolate
from tracehouse.warehouse.load.dump_rows import DumpRows

ATTACKS = sorted((CORPUS.parent / "attacks").glob("*.etdp"))
DUMPS = list(dict.fromkeys(map(read_dump, dump_names("real")[:14])))[:10]
BAD = 6  # of them
BAD_SHA256 = hashlib.sha256(DUMPS[BAD]).hexdigest()
Break = Callable[[BaseException], None]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[Any, ...]]]:
    """What a store holds of the good dumps alone, from the folder `in`."""
    folder = tmp_path_factory.mktemp("good")
    for i, data in enumerate(DUMPS):
        if i != BAD:
            write(folder / f"in/{i:02}.etdp", data)
    ingest(folder / "store", folder / "in")
    return without_folder(contents(folder / "store"), folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The dumps; the bad one comes again under another name."""
    for i, data in enumerate(DUMPS):
        write(tmp_path / f"in/{i:02}.etdp", data)
    write(tmp_path / "in/99.etdp", DUMPS[BAD])
    return tmp_path


def without_folder(
    stored: dict[str, list[tuple[Any, ...]]], folder: Path
) -> dict[str, list[tuple[Any, ...]]]:
    return {
        name: [tuple(value.replace(f"{folder}/", "") for value in row) for row in rows]
        for name, rows in stored.items()
    }


@pytest.fixture
def broken_decoder(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Makes the decoder end with an error, in calls with the bad dump."""

    def break_(error: BaseException) -> None:
        decode_dumps, stream_dump = dump_reader.decode_dumps, dump_reader.stream_dump

        def broken(buffers: Sequence[bytes]) -> Any:
            if DUMPS[BAD] in buffers:
                raise error
            return decode_dumps(buffers)

        def broken_stream(buffer: bytes, source: str) -> Iterator[Any]:
            for number, part in enumerate(stream_dump(buffer, source)):
                if number and buffer == DUMPS[BAD]:
                    raise error
                yield part

        monkeypatch.setattr(dump_reader, "decode_dumps", broken)
        monkeypatch.setattr(dump_reader, "stream_dump", broken_stream)

    return break_


@pytest.fixture
def broken_store(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Makes a transaction end with an error after it wrote content, if the bad dump is in it."""

    def break_(error: BaseException) -> None:
        insert_dumps = DumpRows.insert_dumps

        def broken(self: DumpRows, dumps: Sequence[Any], *rest: Any) -> None:
            insert_dumps(self, dumps, *rest)
            if any(dump.sha256 == BAD_SHA256 for dump in dumps):
                raise error

        monkeypatch.setattr(DumpRows, "insert_dumps", broken)

    return break_


def stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion, "STREAM_BYTES", 1)
    monkeypatch.setattr(decode, "ARENA_BYTES", 4096)


def assert_only_the_bad_one_is_missing(
    folder: Path, expected: dict[str, list[tuple[Any, ...]]], reason: str, detail: str
) -> None:
    summary = ingest(folder / "store", folder / "in")
    counts = (summary.n_files, summary.n_dumps, summary.n_duplicates, summary.n_conflicts)
    assert counts == (11, 9, 0, 0)
    names = [str(folder / f"in/{name}.etdp") for name in (f"{BAD:02}", "99")]
    assert [(r.source, r.reason) for r in summary.refused] == [(name, reason) for name in names]
    assert summary.refused[0].sha256 == BAD_SHA256
    assert summary.refused[0].detail.startswith(detail)
    stored = without_folder(contents(folder / "store"), folder)
    assert len(stored["ingest_errors"]) == 2
    assert summary.n_events == len(stored["events"])
    assert stored == {**expected, "ingest_errors": stored["ingest_errors"]}


@pytest.mark.parametrize(("batch_files", "is_streamed"), [(280, False), (1, False), (280, True)])
def test_a_bug_that_one_dump_alone_meets_in_the_decoder_costs_only_that_dump(
    folder: Path,
    expected: dict[str, list[tuple[Any, ...]]],
    monkeypatch: pytest.MonkeyPatch,
    broken_decoder: Break,
    batch_files: int,
    is_streamed: bool,
) -> None:
    monkeypatch.setattr(batches, "BATCH_FILES", batch_files)
    broken_decoder(ValueError("a name \ud800 and \n another line"))
    if is_streamed:
        stream(monkeypatch)
    assert_only_the_bad_one_is_missing(folder, expected, "undecodable", "ValueError")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "batch_files", "is_streamed"),
    [
        (pa.ArrowCapacityError("array cannot contain more than 2147483646 bytes"), 1, True),
        (duckdb.ConversionException("Conversion Error: could not"), 3, False),
        (duckdb.OutOfMemoryException("could not allocate block"), 280, True),
        (KeyError("bug"), 1, False),
    ],
)
def test_a_dump_that_the_store_does_not_take_costs_only_itself(
    folder: Path,
    expected: dict[str, list[tuple[Any, ...]]],
    monkeypatch: pytest.MonkeyPatch,
    broken_store: Break,
    error: Exception,
    batch_files: int,
    is_streamed: bool,
) -> None:
    monkeypatch.setattr(batches, "BATCH_FILES", batch_files)
    broken_store(error)
    if is_streamed:
        stream(monkeypatch)
    assert_only_the_bad_one_is_missing(folder, expected, "uncommittable", type(error).__name__)


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("decoder", MemoryError()),
        ("parts", RecursionError("maximum recursion depth")),
        ("store", MemoryError()),
    ],
)
def test_errors_of_the_machine_or_our_code_stop_the_ingest_and_refuse_no_dump(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    error: Exception,
    place: str,
) -> None:
    if place == "parts":
        stream(monkeypatch)
    request.getfixturevalue("broken_store" if place == "store" else "broken_decoder")(error)
    with pytest.raises(type(error)):
        ingest(folder / "store", folder / "in")
    assert contents(folder / "store")["ingest_errors"] == []


@pytest.mark.parametrize("place", ["decoder", "parts", "store"])
def test_a_bug_that_a_good_dump_meets_too_stops_the_work_and_no_dump_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("bug")

    if place == "parts":
        stream(monkeypatch)
    owner, name = (DumpRows, "insert_dumps") if place == "store" else (dump_reader, "decode_dumps")
    monkeypatch.setattr(owner, name, broken)
    monkeypatch.setattr(dump_reader, "stream_dump", broken if place == "parts" else None)
    with pytest.raises(KeyError, match="bug") as caught:
        ingest(folder / "store", folder / "in")
    if place != "parts":
        assert "00.etdp, and no dump was refused for it" in caught.value.__notes__[0]
    stored = contents(folder / "store")
    assert (stored["dumps"], stored["ingest_errors"]) == ([], [])


def test_the_dump_that_shows_whose_fault_a_bug_is_leaves_nothing_behind(
    folder: Path, expected: dict[str, list[tuple[Any, ...]]], broken_store: Break
) -> None:
    broken_store(KeyError("bug"))
    ingest(folder / "store", folder / "in")
    for name in ("devices", "builds", "models", "event_signatures", "run_signatures"):
        assert contents(folder / "store")[name] == expected[name]


@pytest.mark.parametrize("text", ["a = " + "[" * 5_000, ".".join("a" * 20_000) + " = 1"])
def test_settings_that_cannot_be_read_stop_the_work_before_any_dump(
    folder: Path, text: str
) -> None:
    settings = write(folder / "tracehouse.toml", text.encode())
    use_user_rules(partial(read_user_rules, settings))
    try:
        with pytest.raises(SourceError, match=r"tracehouse\.toml: not TOML: .* more than 32"):
            ingest(folder / "store", folder / "in")
    finally:
        use_user_rules(tuple)
    stored = contents(folder / "store")
    assert (stored["dumps"], stored["ingest_errors"]) == ([], [])


@pytest.mark.slow
def test_refused_dumps_are_ingested_once_the_fault_is_fixed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, broken_store: Break
) -> None:
    insert_dumps = DumpRows.insert_dumps
    broken_store(KeyError("bug"))
    ingest(folder / "store", folder / "in")
    monkeypatch.setattr(DumpRows, "insert_dumps", insert_dumps)
    summary = ingest(folder / "store", folder / "in")
    assert (summary.n_dumps, summary.n_duplicates, summary.refused) == (1, 10, ())
    with Warehouse.open(folder / "store", read_only=True) as warehouse:
        assert warehouse.query("ingest_errors")["is_resolved"].to_pylist() == [True, True]


def test_an_error_of_the_store_stops_the_ingest_and_no_dump_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken_store: Break
) -> None:
    for i in range(BAD - 2, BAD + 1):
        write(tmp_path / f"in/{i:02}.etdp", DUMPS[i])
    monkeypatch.setattr(batches, "BATCH_FILES", 1)
    monkeypatch.setattr(ingestion, "COMMIT_EVENTS", 1)
    broken_store(duckdb.IOException("IO Error: Could not write file: No space left on device"))
    with pytest.raises(StoreError):
        ingest(tmp_path / "store", tmp_path / "in")
    stored = contents(tmp_path / "store")
    assert (len(stored["dumps"]), stored["ingest_errors"]) == (2, [])


@pytest.mark.parametrize(
    "error",
    [
        KeyboardInterrupt(),
        SystemExit(3),
        StoreError("store", "was replaced"),
        SourceError("a", "is gone"),
        duckdb.FatalException("FATAL Error: database has been invalidated"),
        duckdb.TransactionException("Failed to commit: Could not write"),
        duckdb.OutOfMemoryException("could not offload: No space left on device"),
        OSError(28, "No space left on device"),
        MemoryError(),
        RecursionError("maximum recursion depth exceeded"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_of_the_whole_store_or_foreseen_ones_are_raised(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        isolate(lambda: fail(error))
    assert caught.value is error


def fail(error: BaseException) -> Any:
    raise error


def test_attacks_do_not_keep_good_dumps_out(tmp_path: Path) -> None:
    for i, data in enumerate(DUMPS[:6]):
        write(tmp_path / f"in/{i:02}.etdp", data)
    attacks = {Path(shutil.copy(attack, tmp_path / "in")) for attack in ATTACKS}
    summary = ingest(tmp_path / "store", tmp_path / "in")
    assert summary.n_dumps + len(summary.refused) == 6 + len(attacks)
    assert {Path(r.source) for r in summary.refused} <= attacks
    with Warehouse.open(tmp_path / "store", read_only=True) as warehouse:
        sources = warehouse.sql("SELECT source FROM dumps")["source"].to_pylist()
        refused = warehouse.query("ingest_errors")["source"].to_pylist()
    assert sorted(refused) == sorted(r.source for r in summary.refused)
    assert {Path(source).name for source in sources} >= {f"{i:02}.etdp" for i in range(6)}


def test_a_dump_is_taken_without_the_etrecord_that_is_in_its_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i, data in enumerate(DUMPS[:7]):
        write(tmp_path / f"in/{i:02}.etdp", data)
    record = shutil.copy(MODELS / "mixed_xnnpack.etrecord", tmp_path / "in/04.etrecord")
    shutil.copy(MODELS / "twins_portable.etrecord", tmp_path / "in/05.etrecord")
    trace = DumpRows._trace

    def broken(self: DumpRows, programs: Any) -> None:
        if any(program.source == str(record) for program in programs.values()):
            raise KeyError("instruction")
        trace(self, programs)

    monkeypatch.setattr(DumpRows, "_trace", broken)
    summary = ingest(tmp_path / "store", tmp_path / "in")
    assert (summary.n_files, summary.n_dumps, summary.n_duplicates) == (8, 7, 0)
    (refusal,) = summary.refused
    assert (refusal.source, refusal.reason) == (str(record), "uncommittable")
    assert "04.etdp is omitted: KeyError: 'instruction'" in refusal.detail
    assert len(contents(tmp_path / "store")["etrecords"]) == 1
    again = ingest(tmp_path / "store", tmp_path / "in")
    assert (again.n_files, again.n_dumps, again.n_duplicates) == (7, 0, 6)
    assert again.refused == summary.refused


@pytest.mark.slow
def test_an_etrecord_that_breaks_its_reader_is_read_once_and_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i, data in enumerate(DUMPS[:9]):
        write(tmp_path / f"in/{i:02}.etdp", data)
    record = write(tmp_path / "in/net.etrecord", b"PK")
    calls: list[object] = []

    def broken(self: object, source: object, _: object) -> None:
        calls.append(source)
        raise pa.ArrowInvalid("offset")

    monkeypatch.setattr(batches.ProgramReader, "read", broken)
    summary = ingest(tmp_path / "store", tmp_path / "in")
    assert (summary.n_files, summary.n_dumps, len(calls)) == (10, 9, 1)
    assert [(r.source, r.reason) for r in summary.refused] == [(str(record), "etrecord")]
    assert summary.refused[0].detail.startswith("ArrowInvalid: offset; this is a bug")


@pytest.mark.slow
def test_a_debug_buffer_is_attached_to_all_dumps_but_the_one_it_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensor = {"scalar_type": "FLOAT", "sizes": [2], "strides": [1], "offset": 0}
    for i in range(5):
        event = logged({"val": "Tensor", "tensor": tensor}, instruction_id=i)
        write(tmp_path / f"in/{i}.etdp", build_etdump({"run_data": [run(event)]}))
    ingest(tmp_path / "store", tmp_path / "in")
    for i in range(5):
        write(tmp_path / f"in/{i}.debug.bin", bytes([i] * 8))
    attach = DumpRows.attach_companions

    def broken(self: DumpRows, dumps: Sequence[Any]) -> list[Any]:
        attached = attach(self, dumps)
        if any(dump.debug_buffer.data == bytes([3] * 8) for dump in dumps):
            raise pa.ArrowInvalid("too much")
        return attached

    monkeypatch.setattr(DumpRows, "attach_companions", broken)
    summary = ingest(tmp_path / "store", tmp_path / "in")
    assert (summary.n_files, summary.n_dumps, summary.n_duplicates) == (5, 0, 4)
    assert [r.reason for r in summary.refused] == ["uncommittable"]
    assert summary.refused[0].source == str(tmp_path / "in/3.debug.bin")
    assert summary.refused[0].sha256 == hashlib.sha256(bytes([3] * 8)).hexdigest()
    assert "3.etdp is omitted: ArrowInvalid: too much" in summary.refused[0].detail
    stored = contents(tmp_path / "store")
    assert (len(stored["tensors"]), len(stored["ingest_errors"])) == (4, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "blamed",
    [("debug_buffer",), ("program", "debug_buffer")],
)
def test_the_file_that_is_in_the_way_of_its_dump_is_refused_under_its_own_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blamed: tuple[str, ...]
) -> None:
    write(tmp_path / "in/a.etdp", DUMPS[0])
    names = {"program": "a.etrecord", "debug_buffer": "a.debug.bin"}
    shutil.copy(MODELS / "mixed_xnnpack.etrecord", tmp_path / "in/a.etrecord")
    write(tmp_path / "in/a.debug.bin", bytes(8))
    insert_dumps = DumpRows.insert_dumps

    def broken(self: DumpRows, dumps: Sequence[Any], *rest: Any) -> None:
        insert_dumps(self, dumps, *rest)
        if any(getattr(dump, name) for dump in dumps for name in blamed):
            raise KeyError("bug")

    monkeypatch.setattr(DumpRows, "insert_dumps", broken)
    summary = ingest(tmp_path / "store", tmp_path / "in")
    files = [tmp_path / "in" / names[name] for name in blamed]
    assert [(r.source, r.sha256) for r in summary.refused] == [
        (str(file), hashlib.sha256(file.read_bytes()).hexdigest()) for file in files
    ]
    assert (summary.n_files, summary.n_dumps, summary.n_duplicates) == (1 + len(blamed), 1, 0)
    assert len(contents(tmp_path / "store")["etrecords"]) == ("program" not in blamed)


def test_a_manifest_that_meets_a_bug_stops_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i, data in enumerate(DUMPS[:3]):
        write(tmp_path / f"in/{i}.etdp", data)
    resolve = ManifestResolver.resolve

    def broken(self: Any, source: Any) -> Any:
        if source.file_name == "1.etdp":
            raise OverflowError("absurd clock")
        return resolve(self, source)

    monkeypatch.setattr(ManifestResolver, "resolve", broken)
    with pytest.raises(OverflowError, match="absurd clock"):
        ingest(tmp_path / "store", tmp_path / "in")
    assert contents(tmp_path / "store")["ingest_errors"] == []


def test_unexpected_errors_are_reported_in_one_line() -> None:
    told = isolate(lambda: fail(ValueError("x" * 1000 + "\nmore")))
    assert isinstance(told, Failure)
    assert "\n" not in told.detail
    assert len(told.detail) < 500
    assert isolate(lambda: 7) == 7
