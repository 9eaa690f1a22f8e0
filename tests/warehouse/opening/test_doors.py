from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.support.command import ENVIRONMENT
from tests.support.corpus import CORPUS, FARM
from tests.support.stores import ingest, make_old, open_now
from tracehouse import Warehouse
from tracehouse.warehouse.engine.store_file import FILE_NAME
from tracehouse.warehouse.engine.store_lock import StoreLock
from tracehouse.warehouse.errors import (
    DamagedStoreError,
    StoreLockedError,
    StoreVersionError,
    WriterWaitingError,
)
from tracehouse.warehouse.opening.snapshots import find_snapshots
from tracehouse.warehouse.opening.status import read_status

DUMP = CORPUS / "real/mlp_xnnpack_n1.etdp"

# Ingests a folder batch by batch, with a snapshot after each.
WRITER = """
import sys
from tracehouse import Warehouse
from tracehouse.warehouse.load import batches
from tracehouse.warehouse.load import pipeline
from tracehouse.warehouse.opening import snapshots
batches.BATCH_FILES, pipeline.COMMIT_EVENTS, snapshots.PAUSE, snapshots._SHARE = 30, 1, 0.0, 0
with Warehouse.open_to_write(sys.argv[1]) as warehouse:
    print("open", flush=True)
    sys.stdin.readline()
    warehouse.ingest([sys.argv[2]], snapshot=True)
    sys.stdin.readline()
"""
# Reads every block of some.
ALL = "SELECT DISTINCT e FROM events AS e"
# Asks until a file is there.
READER = """
import sys
from pathlib import Path
from tests.warehouse.opening.test_doors import count_consistently
while not Path(sys.argv[2]).exists():
    print(count_consistently(Path(sys.argv[1]))[1], flush=True)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of one dump, with a snapshot of it."""
    store = tmp_path_factory.mktemp("made") / "store"
    ingest(store, DUMP, snapshot=True)
    return store


def count_consistently(store: Path) -> tuple[int, bool]:
    """How many dumps the store has by all its answers, and whether they are a snapshot's."""
    events = "SELECT count(*) AS n, (SELECT sum(n_events) FROM dumps) AS wanted FROM events"
    with Warehouse.open(store, read_only=True) as warehouse:
        (row,) = warehouse.sql(events).to_pylist()
        dumps = warehouse.query("dumps")
        assert row["n"] == row["wanted"] == sum(dumps["n_events"].to_pylist())
        return dumps.num_rows, warehouse.snapshot_time is not None


def test_a_snapshot_is_read_only_while_another_writes(store: Path) -> None:
    with Warehouse.open(store, read_only=True) as reader, Warehouse.open(store, read_only=True):
        assert (reader.damage, reader.snapshot_time) == ("", None)
    (taken,) = find_snapshots(store)
    with Warehouse.open_to_write(store) as writer:
        assert writer.snapshot_time is None
        with Warehouse.open(store, read_only=True) as reader:
            assert (reader.snapshot_time, reader.damage) == (taken.taken_at, "")
            assert reader.schema().num_rows
    taken.path.unlink()
    with Warehouse.open_to_write(store), pytest.raises(StoreLockedError):
        Warehouse.open(store, read_only=True).schema()


@pytest.mark.slow
def test_a_reader_beside_a_waiting_writer_reads_a_snapshot_or_the_store_a_little_later(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.warehouse.opening.doors.PATIENCE", 0.1)
    with Warehouse.open(store, read_only=True) as reader, ThreadPoolExecutor(1) as pool:
        writer = pool.submit(Warehouse.open, store, wait=60)
        while count_consistently(store) == (1, False):
            pass
        assert reader.query("dumps").num_rows == 1
        find_snapshots(store)[0].path.unlink()
        assert count_consistently(store) == (1, False)
        assert not read_status(store).is_locked
        reader.close()
        writer.result().close()


def test_a_reader_without_a_snapshot_waits_for_a_short_write(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracehouse.warehouse.opening.doors.PATIENCE", 60.0)
    find_snapshots(store)[0].path.unlink()
    reader = open_now(store, read_only=True)
    with ThreadPoolExecutor(2) as pool:
        writer = pool.submit(lambda: Warehouse.open_to_write(store, wait=60).close())
        with suppress(WriterWaitingError):
            while True:
                StoreLock.for_reading(store, wait=0.0).release()
        asked = pool.submit(count_consistently, store)
        reader.close()
        writer.result()
        assert asked.result() == (1, False)


def test_a_store_or_snapshot_of_another_schema_is_not_read(store: Path) -> None:
    (taken,) = find_snapshots(store)
    make_old(taken.path)
    with Warehouse.open_to_write(store), pytest.raises(StoreLockedError):
        Warehouse.open(store, read_only=True).schema()
    make_old(store / FILE_NAME)
    before = (store / FILE_NAME).read_bytes()
    with pytest.raises(StoreVersionError, match="'tracehouse store rebuild'"):
        Warehouse.open(store, read_only=True).schema()
    assert (store / FILE_NAME).read_bytes() == before


def test_a_damaged_snapshot_is_named_with_the_command_that_mends_the_store(store: Path) -> None:
    (taken,) = find_snapshots(store)
    taken.path.chmod(0o600)
    taken.path.write_bytes(b"DUCK" * 10_000)
    with Warehouse.open_to_write(store), pytest.raises(DamagedStoreError) as caught:
        Warehouse.open(store, read_only=True).schema()
    assert f"snapshots/{taken.path.name} is damaged" in str(caught.value)
    assert str(caught.value).endswith("'tracehouse store rebuild'")


def test_a_snapshot_that_is_gone_when_it_is_opened_is_passed_over(store: Path) -> None:
    with Warehouse.open_to_write(store) as writer:
        writer.snapshot()
        newest = find_snapshots(store)[-1].path
        newest.unlink()
        newest.symlink_to(store / "nothing")
        with Warehouse.open(store, read_only=True) as reader:
            assert reader.snapshot_time == find_snapshots(store)[0].taken_at


@pytest.mark.system
@pytest.mark.slow
def test_readers_beside_an_ingest_see_one_state_each_and_no_error(store: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(store), str(FARM)]
    pipe = subprocess.PIPE
    seen: set[tuple[int, bool]] = set()
    errors: list[BaseException] = []
    is_complete = threading.Event()

    def read() -> None:
        try:
            while writer.poll() is None:
                seen.add(count_consistently(store))
                if (149, True) in seen:
                    is_complete.set()
        except BaseException as error:
            errors.append(error)
            is_complete.set()

    with (
        ExitStack() as last,
        subprocess.Popen(command, env=ENVIRONMENT, stdin=pipe, stdout=pipe) as writer,
    ):
        last.callback((store / "end").touch)
        assert writer.stdout
        assert writer.stdin
        assert writer.stdout.readline() == b"open\n"
        seen.add(count_consistently(store))
        threads = [threading.Thread(target=read) for _ in range(2)]
        asking = [sys.executable, "-c", READER, str(store), str(store / "end")]
        processes = [subprocess.Popen(asking, env=ENVIRONMENT, stdout=pipe) for _ in range(2)]
        for process in processes:
            assert process.stdout
            assert process.stdout.readline() == b"True\n"
        for thread in threads:
            thread.start()
        writer.stdin.write(b"\n")
        writer.stdin.flush()
        assert is_complete.wait(120)
        writer.stdin.write(b"\n")
        writer.stdin.flush()
        for thread in threads:
            thread.join()
    assert errors == []
    others = [process.communicate()[0].splitlines() for process in processes]
    assert [process.returncode for process in (writer, *processes)] == [0, 0, 0]
    assert all(others)
    assert {(1, True), (149, True)} <= seen
    assert count_consistently(store) == (149, False)


@pytest.mark.parametrize("is_gone", [True, False], ids=["gone", "damaged"])
def test_the_newest_snapshot_of_a_damaged_store_is_read_and_the_damage_told(
    store: Path, is_gone: bool
) -> None:
    if is_gone:
        (store / FILE_NAME).unlink()
    else:
        (store / FILE_NAME).write_bytes(b"DUCK" * 10_000)
    assert count_consistently(store) == (1, True)
    with Warehouse.open(store, read_only=True) as reader:
        what = "gone;" if is_gone else "damaged "
        assert reader.damage.startswith(f"{FILE_NAME} is {what}")
        assert reader.damage.endswith("'tracehouse store rebuild'")
    (taken,) = find_snapshots(store)
    for create in (False, True):
        with pytest.raises(DamagedStoreError) as caught:
            Warehouse.open_to_write(store, create=create)
        told = (
            rf"'tracehouse store rebuild'; until .* snapshot of {taken.taken_at:%Y-%m-%d} .* s old$"
        )
        assert re.search(told, str(caught.value))
    taken.path.unlink()
    with pytest.raises(DamagedStoreError, match=r"'tracehouse store rebuild'$"):
        Warehouse.open(store, read_only=True).schema()


def spoil_blocks(file: Path) -> None:
    """Damage a file in a block that is read only when one of these is asked for all it has."""
    data = file.read_bytes()
    # Blocks of 256 KiB follow the headers of 12 KiB; those of the catalogue are needed to open.
    for start in range(12_288, len(data), 262_144):
        file.write_bytes(data[:start] + bytes(4096) + data[start + 4096 :])
        with suppress(DamagedStoreError), Warehouse.open(file.parent, read_only=True) as reader:
            if reader.snapshot_time is None:
                try:
                    reader.sql(ALL)
                except DamagedStoreError:
                    return
    pytest.fail("no block that is needed only now")


@pytest.mark.slow
def test_damage_that_shows_when_it_is_read_tells_how_to_ask_a_snapshot(
    store: Path, tmp_path: Path
) -> None:
    (taken,) = find_snapshots(store)
    spoil_blocks(store / FILE_NAME)
    with Warehouse.open(store, read_only=True) as reader:
        assert reader.damage == ""
        with pytest.raises(DamagedStoreError) as caught:
            reader.sql(ALL)
    told = rf"'tracehouse store rebuild'; until then, copy (\S+) .* {taken.taken_at:%Y-%m-%d} "
    told += r".* s old$"
    found = re.search(told, str(caught.value))
    assert found
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(found[1], other / FILE_NAME)
    with Warehouse.open(other, read_only=True) as reader:
        assert reader.sql(ALL).num_rows
    taken.path.unlink()
    with (
        Warehouse.open(store, read_only=True) as reader,
        pytest.raises(DamagedStoreError, match=r"'tracehouse store rebuild'$"),
    ):
        reader.sql(ALL)
