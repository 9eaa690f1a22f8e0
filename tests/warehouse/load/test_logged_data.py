"""Debug buffers that come with dumps: the contents of logged tensors, each stored once."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.bounded_memory import run_alone
from tests.support.corpus import CORPUS, read_dump
from tests.support.etdump_builder import build_etdump
from tests.support.event_blocks import logged, run
from tests.support.stored_tensors import read_stored
from tests.support.stores import contents, ingest, write
from tracehouse import Warehouse, decode_dumps
from tracehouse.ingest.debug_buffer import DebugBuffer

NAMES = sorted(
    f"{path.parent.name}/{path.name.removesuffix('.debug.bin')}"
    for path in CORPUS.glob("*/*.debug.bin")
)
DUMP = "real/traced_intdesc_n1_debug"


def read_buffer(name: str) -> bytes:
    return (CORPUS / f"{name}.debug.bin").read_bytes()


def place(folder: Path, name: str = DUMP, *, buffer: bytes | None = None) -> Path:
    """Put a dump of the corpus, and its debug buffer or another, into a folder."""
    path = write(folder / f"{Path(name).name}.etdp", read_dump(name))
    write(path.with_suffix(".debug.bin"), read_buffer(name) if buffer is None else buffer)
    return path


def values(store: Path) -> list[dict[str, Any]]:
    """Logged values in file order, with the bytes of their tensors."""
    with Warehouse.open(store, read_only=True) as warehouse:
        return warehouse.sql(
            "SELECT v.*, t.data FROM debug_values AS v LEFT JOIN tensors AS t "
            "ON t.sha256 = v.sha256 ORDER BY dump_id, run_index, event_index, position"
        ).to_pylist()


def buffer_hashes(store: Path) -> list[str | None]:
    with Warehouse.open(store, read_only=True) as warehouse:
        rows = warehouse.sql("SELECT debug_buffer_sha256 FROM dumps ORDER BY dump_id")
    return rows["debug_buffer_sha256"].to_pylist()


def test_tensors_read_back_are_those_of_the_debug_buffer_of_each_dump(tmp_path: Path) -> None:
    for name in NAMES:
        write(tmp_path / f"in/{name}.etdp", read_dump(name))
        write(tmp_path / f"in/{name}.debug.bin", read_buffer(name))
    write(tmp_path / "in/without.etdp", read_dump("real/mlp_xnnpack_n20_debug"))
    summary = ingest(tmp_path / "store", tmp_path / "in")
    assert (summary.n_dumps, summary.refused) == (len(NAMES) + 1, ())
    hashes = [hashlib.sha256(read_buffer(name)).hexdigest() for name in NAMES]
    assert buffer_hashes(tmp_path / "store") == [*hashes, None]
    stored = values(tmp_path / "store")
    for dump_id, name in enumerate(NAMES, start=1):
        buffer = DebugBuffer(read_buffer(name))
        found = [row for row in stored if row["dump_id"] == dump_id]
        wanted = decode_dumps([read_dump(name)]).tables["debug_values"].to_pylist()
        for row, value in zip(found, wanted, strict=True):
            assert_stored(row, value, buffer)
    without = [row for row in stored if row["dump_id"] > len(NAMES)]
    assert without
    assert {row["sha256"] for row in without} == {None}


def assert_stored(found: dict[str, Any], value: dict[str, Any], buffer: DebugBuffer) -> None:
    """The content of a logged value is stored as the buffer has it."""
    dtype, sizes = value["dtype"], value["sizes"]
    if dtype is None:
        assert found["sha256"] is None
        return
    tensor = buffer.read(dtype, sizes, strides=value["strides"], offset=value["tensor_offset"])
    assert found["sha256"] == tensor.sha256
    if tensor.array is not None:
        again = read_stored(dtype, sizes, found["data"])
        np.testing.assert_array_equal(again.array, tensor.array, strict=True)


def test_equal_contents_are_stored_once_over_many_dumps_and_ingests(tmp_path: Path) -> None:
    tensor = {"scalar_type": "FLOAT", "sizes": [2], "strides": [1], "offset": 0}
    for i in range(6):
        event = logged({"val": "Tensor", "tensor": tensor}, instruction_id=i)
        path = write(tmp_path / f"{i % 2}/{i}.etdp", build_etdump({"run_data": [run(event)]}))
        write(path.with_suffix(".debug.bin"), np.float32([i // 5, 2]).tobytes())
    ingest(tmp_path / "store", tmp_path / "0")
    ingest(tmp_path / "store", tmp_path / "1")
    found = [np.frombuffer(row["data"], np.float32)[0] for row in values(tmp_path / "store")]
    assert found == [0, 0, 0, 0, 0, 1]
    assert len(contents(tmp_path / "store")["tensors"]) == 2


@pytest.mark.slow
def test_another_buffer_replaces_what_the_first_one_told(tmp_path: Path) -> None:
    path = place(tmp_path / "in", buffer=b"\1" * len(read_buffer(DUMP)))
    ingest(tmp_path / "store", tmp_path / "in")
    path.with_suffix(".debug.bin").write_bytes(read_buffer(DUMP))
    ingest(tmp_path / "store", tmp_path / "in")
    place(tmp_path / "right")
    ingest(tmp_path / "whole", tmp_path / "right")
    assert values(tmp_path / "store") == values(tmp_path / "whole")
    path.with_suffix(".debug.bin").write_bytes(b"")
    ingest(tmp_path / "store", tmp_path / "in")
    assert {row["sha256"] for row in values(tmp_path / "store")} == {None}
    assert buffer_hashes(tmp_path / "store") == [hashlib.sha256().hexdigest()]


def test_a_buffer_that_cannot_be_read_is_refused_and_its_dump_taken(tmp_path: Path) -> None:
    buffer = place(tmp_path / "in").with_suffix(".debug.bin")
    buffer.unlink()
    buffer.mkdir()
    summary = ingest(tmp_path / "store", tmp_path / "in")
    assert [(r.source, r.reason) for r in summary.refused] == [(str(buffer), "unreadable")]
    assert (summary.n_files, summary.n_dumps, summary.n_duplicates) == (2, 1, 0)
    assert buffer_hashes(tmp_path / "store") == [None]


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.parametrize("comes_late", [False, True])
def test_a_long_buffer_takes_a_few_times_its_size_in_memory(
    tmp_path: Path, comes_late: bool
) -> None:
    count, size = 24, 4 << 20
    tensor = {"scalar_type": "BYTE", "sizes": [size], "strides": [1]}
    events = [
        logged({"val": "Tensor", "tensor": {**tensor, "offset": i * size}}, instruction_id=i)
        for i in range(count)
    ]
    write(tmp_path / "in/a.etdp", build_etdump({"run_data": [run(*events)]}))
    code = (
        "from pathlib import Path; from tests.support.stores import ingest\n"
        "folder = Path(sys.argv[3])\n"
        "ingest(folder / 'store', folder / 'first')\n"
        "def run(_): return ingest(folder / 'store', folder / 'in').n_files\n"
    )
    first = tmp_path / "first"
    write(first / "b.etdp", read_dump("real/load_only"))
    if comes_late:
        shutil.copy(tmp_path / "in/a.etdp", first)
    write(tmp_path / "in/a.debug.bin", os.urandom(count * size))
    assert run_alone(code, str(tmp_path)).grown_bytes < 5 * count * size
