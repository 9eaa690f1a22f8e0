from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.command import ENVIRONMENT
from tests.support.stores import MANIFEST
from tests.support.tiny_dumps import tiny_dump
from tracehouse import Dump, Manifest, Warehouse
from tracehouse.warehouse.engine.store_lock import StoreLock
from tracehouse.warehouse.errors import StoreError, StoreLockedError

# A notebook that nobody closes: it asks, writes, asks; and then keeps the store for writing.
NOTEBOOK = """
import sys
from tests.warehouse.opening.test_session import count, dump
from tracehouse import Warehouse
store = Warehouse.open(sys.argv[1])
print(count(store), flush=True)
sys.stdin.readline()
print(count(store), store.ingest([dump(2)]).n_dumps, count(store), flush=True)
sys.stdin.readline()
with store:
    store.ingest([dump(3)])
    print(count(store), flush=True)
    sys.stdin.readline()
"""


def dump(number: int) -> Dump:
    return Dump.of_bytes(f"{number}.etdp", tiny_dump(number), Manifest.model_validate(MANIFEST))


def count(store: Warehouse) -> int:
    return int(store.sql("SELECT count(*) AS n FROM dumps")["n"][0].as_py())


def is_free(path: Path) -> bool:
    """Whether another process could write the store now."""
    try:
        StoreLock.for_writing(path, is_shared=False, wait=0).release()
    except StoreLockedError:
        return False
    return True


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of one dump."""
    with Warehouse.open(tmp_path / "store", create=True) as store:
        store.ingest([dump(0)])
    return tmp_path / "store"


def test_a_store_outside_of_a_with_block_holds_no_lock(path: Path) -> None:
    store = Warehouse.open(path)
    assert is_free(path)
    assert count(store) == 1
    assert is_free(path)
    assert store.ingest([dump(1)]).n_dumps == 1
    assert is_free(path)
    assert count(store) == 2


def test_a_block_locks_the_store_from_its_first_write_to_its_end(path: Path) -> None:
    with Warehouse.open(path) as store, Warehouse.open(path) as other:
        assert (count(store), count(other)) == (1, 1)  # both may read
        other.close()
        store.ingest([dump(1)])
        with pytest.raises(StoreLockedError, match=f"process {os.getpid()}"):
            count(Warehouse.open(path))
        assert count(store) == 2
    assert is_free(path)
    assert count(Warehouse.open(path)) == 2


def test_a_block_that_cannot_write_yet_goes_on_reading(path: Path) -> None:
    with Warehouse.open(path) as store:
        assert count(store) == 1
        lock = StoreLock.for_reading(path, wait=0)
        with pytest.raises(StoreLockedError):
            store.ingest([dump(1)])
        assert count(store) == 1
        lock.release()
        assert store.ingest([dump(1)]).n_dumps == 1


@pytest.mark.system
def test_a_forgotten_notebook_blocks_no_process_and_sees_what_others_wrote(path: Path) -> None:
    command = [sys.executable, "-c", NOTEBOOK, str(path)]
    with subprocess.Popen(
        command, env=ENVIRONMENT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as notebook:
        assert notebook.stdin
        assert notebook.stdout
        assert notebook.stdout.readline() == "1\n"
        store = Warehouse.open(path)
        store.ingest([dump(1)])
        print(file=notebook.stdin, flush=True)
        assert notebook.stdout.readline() == "2 1 3\n"
        assert count(store) == 3
        print(file=notebook.stdin, flush=True)
        assert notebook.stdout.readline() == "4\n"
        with pytest.raises(StoreLockedError, match=f"process {notebook.pid}"):
            store.ingest([dump(4)])
        notebook.communicate("\n")
    assert count(store) == 4
    assert notebook.returncode == 0


def test_a_store_to_read_only_refuses_to_write_and_reads_one_state(path: Path) -> None:
    with Warehouse.open(path, read_only=True) as store:
        assert not is_free(path)
        with pytest.raises(StoreError, match="open it without read_only"):
            store.ingest([dump(1)])


def test_a_missing_store_is_created_when_it_is_used_or_closed(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store here"):
        Warehouse.open(tmp_path / "none")
    asked = Warehouse.open(tmp_path / "asked", create=True)
    assert not (tmp_path / "asked").exists()
    assert count(asked) == 0
    assert is_free(tmp_path / "asked")
    Warehouse.open(tmp_path / "closed", create=True).close()
    assert count(Warehouse.open(tmp_path / "closed")) == 0


def test_a_store_refuses_to_ingest_while_an_answer_is_read(path: Path) -> None:
    store = Warehouse.open(path)
    with (
        store.stream_query("dumps", {}) as rows,
        pytest.raises(StoreError, match="an answer is still being read"),
    ):
        store.ingest([dump(1)])
    assert rows is not None
    assert store.ingest([dump(1)]).n_dumps == 1


def test_threads_share_what_is_open_and_the_last_one_closes_it(path: Path) -> None:
    store = Warehouse.open(path)
    with store.stream_query("dumps", {}) as rows, ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: store.snapshot_time, range(4))) == [None] * 4
        assert rows.read_all().num_rows == 1
        assert not is_free(path)
    assert is_free(path)


@pytest.mark.system
def test_a_fork_opens_the_store_for_itself(path: Path) -> None:
    free = Warehouse.open(path)
    with Warehouse.open(path) as held:
        assert (count(free), count(held)) == (1, 1)
        child = os.fork()
        if not child:
            code = 1
            try:
                held.close()  # which must not touch the files of the parent
                count(held)
            except StoreError as error:
                code = 0 if "forked" in str(error) and count(free) == 1 else 2
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        held.ingest([dump(1)])
        assert count(held) == 2


def test_a_closed_store_says_so(path: Path) -> None:
    store = Warehouse.open(path)
    store.close()
    with pytest.raises(StoreError, match="was closed; open it again"):
        count(store)
    assert is_free(path)
