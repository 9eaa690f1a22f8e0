from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.sources import Source, find_sources
from tests.support.corpus import read_dump
from tests.support.stores import contents, ingest, write, write_corpus
from warehouse import batches, ingestion, reader_process
from warehouse.dump_reader import DumpReader, ReadFile
from warehouse.errors import ReaderError
from warehouse.reader_process import ReaderProcess, Readers

SMALL = read_dump("real/cnn_portable_n20")


@pytest.fixture
def process() -> Iterator[ReaderProcess]:
    with Readers(1, 2) as readers:
        yield readers._processes[0]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have other processes read everything, in small batches."""
    wait = reader_process.select.select
    monkeypatch.setattr(reader_process.select, "select", lambda r, w, x, _: wait(r, w, x))
    monkeypatch.setattr(ingestion, "ALONE_BYTES", 0)
    monkeypatch.setattr(ingestion, "COMMIT_EVENTS", 2000)
    monkeypatch.setattr(batches, "BATCH_FILES", 12)


def folder_of_all_kinds(folder: Path) -> None:
    write_corpus(folder)
    for i, name in enumerate(sorted(os.listdir(folder))[:20]):
        if name.endswith(".etdp"):
            write(folder / f"again{i}.etdp", (folder / name).read_bytes())
            write(folder / f"cut{i}.etdp", (folder / name).read_bytes()[:-9])
    write(folder / "debug.etdp", read_dump("real/stateful_portable_n3_debug"))
    os.mkfifo(folder / "pipe.etdp")
    write(folder / "other.etdp", SMALL[:-1] + b"\0")
    write(folder / "other.json", b"{}")


def rows(store: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What the store holds; an ETRecord may be named after any file that has its bytes."""
    tables = contents(store)
    tables["etrecords"] = sorted((*row[:2], *row[3:]) for row in tables["etrecords"])
    return tables


@pytest.mark.parametrize("jobs", [2, 4])
@pytest.mark.usefixtures("always")
def test_other_processes_make_the_store_that_this_one_makes(tmp_path: Path, jobs: int) -> None:
    folder_of_all_kinds(tmp_path / "in")
    alone = ingest(tmp_path / "alone", tmp_path / "in", jobs=1)
    helped = ingest(tmp_path / "helped", tmp_path / "in", jobs=jobs)
    assert {r.reason for r in helped.refused} > {"unreadable"}
    assert set(alone.refused) == set(helped.refused)
    assert (alone.n_dumps, alone.n_duplicates) == (helped.n_dumps, helped.n_duplicates)
    assert rows(tmp_path / "alone") == rows(tmp_path / "helped")
    again = ingest(tmp_path / "helped", tmp_path / "in", jobs=jobs)
    assert (again.n_dumps, again.n_files) == (0, helped.n_files)


def test_batches_before_a_process_is_ready_are_read_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingestion, "ALONE_BYTES", 0)
    monkeypatch.setattr(batches, "BATCH_FILES", 8)
    ready = iter([False] * 5 + [True] * 99)

    def is_ready(process: ReaderProcess) -> bool:
        return next(ready)

    monkeypatch.setattr(ReaderProcess, "is_ready", is_ready)
    folder_of_all_kinds(tmp_path / "in")
    assert ingest(tmp_path / "store", tmp_path / "in", jobs=2).n_dumps > 50
    ingest(tmp_path / "alone", tmp_path / "in", jobs=1)
    assert rows(tmp_path / "store") == rows(tmp_path / "alone")


@pytest.mark.usefixtures("always")
def test_a_process_that_is_killed_is_said_and_what_was_committed_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder_of_all_kinds(tmp_path / "in")
    started: list[ReaderProcess] = []

    class Watched(ReaderProcess):
        def __init__(self, most_pending: int) -> None:
            super().__init__(most_pending)
            started.append(self)

    monkeypatch.setattr(reader_process, "ReaderProcess", Watched)
    done: list[int] = []

    def kill(progress: ingestion.IngestProgress) -> None:
        done.append(progress.n_events)
        if len(done) == 1:
            os.kill(started[0]._process.pid, signal.SIGKILL)

    with pytest.raises(
        ReaderError, match=r"SIGKILL.* what was committed before is safe.* --jobs 1"
    ):
        ingest(tmp_path / "store", tmp_path / "in", jobs=2, progress=kill)
    assert len(rows(tmp_path / "store")["events"]) == done[-1] > 0
    ingest(tmp_path / "store", tmp_path / "in", jobs=1)
    ingest(tmp_path / "whole", tmp_path / "in", jobs=1)
    assert rows(tmp_path / "store") == rows(tmp_path / "whole")


@pytest.mark.usefixtures("always")
def test_an_interrupt_ends_the_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[ReaderProcess] = []
    close = ReaderProcess.close

    def watched(process: ReaderProcess) -> None:
        close(process)
        ended.append(process)

    monkeypatch.setattr(ReaderProcess, "close", watched)

    def interrupt(progress: object) -> None:
        raise KeyboardInterrupt

    for i in range(40):
        write(tmp_path / f"in/{i}.etdp", SMALL + bytes(i))
    with pytest.raises(KeyboardInterrupt):
        ingest(tmp_path / "store", tmp_path / "in", jobs=3, progress=interrupt)
    assert [process._process.returncode for process in ended] == [-signal.SIGKILL] * 2


def test_a_process_ends_with_the_one_that_started_it() -> None:
    code = (
        "import time; from warehouse.reader_process import Readers\n"
        "with Readers(1, 2) as readers:\n"
        "    print(readers._processes[0]._process.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    for _ in range(300):
        if not is_running(pid):
            return
        time.sleep(0.1)
    pytest.fail("it still runs")


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_results_are_those_of_a_reader_here(tmp_path: Path, process: ReaderProcess) -> None:
    write(tmp_path / "a.etdp", SMALL)
    sources = [*find_sources([tmp_path]), Source(str(tmp_path / "gone.etdp"))]
    here = DumpReader()
    reads = process.read(sources), process.read(sources[:1])
    decodes = process.decode([0]), process.decode([])
    assert reads[1].result() == here.read(sources[:1])
    assert reads[0].result() == here.read(sources)
    assert reads[0].result().files[1] == ReadFile(None, "does not exist (any more)")
    for pending, wanted in zip(decodes, ([0], []), strict=True):
        theirs, ours = pending.result(), here.decode(wanted)
        assert theirs is not None
        assert ours is not None
        assert theirs.decoded == ours.decoded
        assert theirs.statistics.rows == ours.statistics.rows
        assert theirs.statistics.resolution.tolist() == ours.statistics.resolution.tolist()
        del theirs
        pending.release()


def test_memory_is_not_given_back_while_it_is_in_use(
    tmp_path: Path, process: ReaderProcess
) -> None:
    process.read([Source(str(write(tmp_path / "a.etdp", SMALL)))]).result()
    pending = process.decode([0])
    content = pending.result()
    assert content is not None
    events: Any = content.decoded.tables["events"]
    del content
    with pytest.raises(BufferError):
        pending.release()
    del events
    pending.release()


def test_memory_grows_with_what_is_put_into_it(tmp_path: Path, process: ReaderProcess) -> None:
    few, many = [SMALL], [SMALL + bytes(i) for i in range(30)]
    for batch in (few, many, few, many):
        sources = [Source(str(write(tmp_path / f"{i}.etdp", data))) for i, data in enumerate(batch)]
        process.read(sources).result()
        pending = process.decode(range(len(batch)))
        content = pending.result()
        assert content is not None
        assert content.decoded.errors.num_rows == len(batch) - 1  # with bytes appended
        del content
        pending.release()


def test_a_fault_of_ours_is_to_be_seen(process: ReaderProcess) -> None:
    with pytest.raises(ReaderError, match="decoding 1 dumps: Traceback"):
        process.decode([7]).result()


def test_files_stand_in_for_memory_where_that_is_not_to_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> int:
        raise OSError

    monkeypatch.setattr(os, "memfd_create", refuse, raising=False)
    with Readers(1, 1) as readers:
        process = readers._processes[0]
        process.read([Source(str(write(tmp_path / "a.etdp", SMALL)))]).result()
        pending = process.decode([0])
        content = pending.result()
        assert content is not None
        assert content.decoded.tables["events"].num_rows == 422
        del content
        pending.release()


@pytest.mark.usefixtures("always")
def test_this_process_does_it_alone_where_no_other_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(files: object) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(reader_process, "_start", refuse)
    before = len(os.listdir("/proc/self/fd"))
    assert ingest(tmp_path / "store", write(tmp_path / "a.etdp", SMALL), jobs=3).n_dumps == 1
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.usefixtures("always")
def test_a_file_that_is_cut_while_it_is_read_kills_no_one_but_the_other_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_process, "_BEGIN", CUTTING + reader_process._BEGIN)
    write(tmp_path / "a.etdp", SMALL * 2)
    with pytest.raises(ReaderError, match="SIGBUS, as the system does when a file is cut"):
        ingest(tmp_path / "store", tmp_path / "a.etdp", jobs=2)


CUTTING = """
import mmap, os, sys, types
sys.path[:] = {path!r}
import ingest.sources as sources
def cut(file, *args, **more):
    mapped = mmap.mmap(file, *args, **more)
    os.truncate(os.readlink(f"/proc/self/fd/{{file}}"), 0)
    return mapped
sources.mmap = types.SimpleNamespace(mmap=cut, ACCESS_READ=mmap.ACCESS_READ)
sources.MAP_FROM_BYTES = 1
"""
