from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from tests.support.bounded_memory import run_alone
from tests.support.corpus import dump_names, read_dump
from tests.support.stores import ingest, write
from tracehouse.ingest.dump import FoundDumps
from tracehouse.ingest.sources import private_bytes
from tracehouse.ingest.sources.listing import find_sources
from tracehouse.ingest.sources.places import Source
from tracehouse.warehouse.load import batches
from tracehouse.warehouse.load.batches import plan_batches, size_of


def sizes(sources: list[Source]) -> list[tuple[int, int]]:
    return [(len(some), sum(map(size_of, some))) for some in plan_batches(FoundDumps(sources))]


def test_members_of_a_zip_are_planned_by_the_size_they_inflate_to(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(5):
            archive.writestr(f"{i}.etdp", bytes(3 << 19))
    assert sizes(find_sources([tmp_path])) == [(2, 3 << 20), (2, 3 << 20), (1, 3 << 19)]


def test_debug_buffers_count_and_what_cannot_be_read_does_not(tmp_path: Path) -> None:
    for name in "abc":
        write(tmp_path / f"{name}.etdp", b"x" * 10)
    write(tmp_path / "a.debug.bin", bytes(4 << 20))
    found = [*find_sources([tmp_path]), Source(str(tmp_path / "gone.etdp"))]
    assert sizes(found) == [(1, (4 << 20) + 10), (3, 20)]


def test_a_file_that_cannot_be_a_dump_for_its_size_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = write(tmp_path / "in/good.etdp", read_dump(dump_names("real")[0]))
    for name, size in (("huge.etdp", (2 << 30) + 1), ("good.debug.bin", 8 << 30)):
        with (tmp_path / "in" / name).open("wb") as file:
            file.truncate(size)
    gather = private_bytes.gather
    read: list[str] = []

    def note(*given: object) -> object:
        read.append(str(given[2]))
        return gather(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(private_bytes, "gather", note)
    summary = ingest(tmp_path / "store", tmp_path / "in")
    assert summary.n_dumps == 1
    assert sorted((Path(r.source).name, r.reason) for r in summary.refused) == [
        ("good.debug.bin", "too_large"),
        ("huge.etdp", "too_large"),
    ]
    assert [name for name in read if name.startswith(str(tmp_path / "in"))] == [str(good)]


def test_a_file_that_changes_while_it_is_read_is_refused_as_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = dump_names("real")[:2]
    for name, data in zip("ab", map(read_dump, names), strict=True):
        os.utime(write(tmp_path / f"in/{name}.etdp", data), ns=(0, 0))
    read = os.read

    def read_and_append(file: int, count: int) -> bytes:
        data = read(file, count)
        if data == read_dump(names[0]):
            with (tmp_path / "in/a.etdp").open("ab") as other:
                other.write(b"more")
        return data

    with monkeypatch.context() as patch:
        patch.setattr(private_bytes.os, "read", read_and_append)
        summary = ingest(tmp_path / "store", tmp_path / "in")
    assert (summary.n_dumps, [r.reason for r in summary.refused]) == (1, ["changed"])


def test_two_members_of_one_name_are_refused_and_the_rest_of_the_zip_goes_in(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.zip"
    first, second, third = map(read_dump, dump_names("real")[:3])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.etdp", first)
        archive.writestr("b.etdp", second)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("a.etdp", third)
    summary = ingest(tmp_path / "store", path)
    assert summary.n_dumps == 1
    assert [(r.source, r.reason) for r in summary.refused] == [
        (f"{path}!a.etdp", "duplicate_member")
    ]


@pytest.mark.system
@pytest.mark.slow
def test_a_zip_of_zeros_takes_memory_for_a_few_of_its_members_only(tmp_path: Path) -> None:
    packing = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(tmp_path / "a.zip", "w", packing, compresslevel=1) as archive:
        for i in range(16):  # 0.9 GB together
            archive.writestr(f"{i:02}.etdp", bytes([i]) * 8 + bytes(54 << 20))
        archive.writestr("good.etdp", read_dump(dump_names("real")[0]))
        archive.writestr("noise.bin", os.urandom(4 << 20))  # or all of it would be refused
    code = (
        "from pathlib import Path; from tests.support.stores import ingest\n"
        "def run(folder):\n"
        "    done = ingest(Path(folder) / 'store', Path(folder) / 'a.zip', jobs=2)\n"
        "    return [done.n_dumps, len(done.refused)]\n"
    )
    counts, grown = run_alone(code, str(tmp_path))
    assert counts == [1, 16]
    assert grown < 500 << 20


def test_batches_are_bounded_in_number_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BATCH_FILES", 4)
    for i in range(7):
        write(tmp_path / f"{i}.etdp", b"x")
    assert sizes(find_sources([tmp_path])) == [(4, 4), (3, 3)]
