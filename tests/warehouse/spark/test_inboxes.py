from __future__ import annotations

import os
import time
import zipfile
from pathlib import Path

import pytest

from tests.support.inboxes import fill_inbox
from tests.support.stores import MANIFEST, write
from tests.support.tiny_dumps import tiny_dump
from tracehouse.ingest.errors import SourceError
from tracehouse.warehouse.spark.inboxes import (
    ManifestDefaults,
    list_arrivals,
    list_files,
    local_dumps,
    open_place,
)


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    return tmp_path / "inbox"


@pytest.fixture(params=["path", "uri"])
def place(inbox: Path, request: pytest.FixtureRequest):
    """The inbox as a folder of this machine, and as a URI whose files are copied."""
    fill_inbox(inbox, 2)
    return open_place(str(inbox) if request.param == "path" else inbox.as_uri())


def test_dumps_and_zips_are_listed_and_nothing_unfinished(place, inbox: Path) -> None:
    for name in (".hidden.etdp", "readme.txt", "more.zip"):
        write(inbox / name, b"")
    names = [os.path.basename(file.path) for file in list_files(place)]
    assert sorted(names) == ["0000.etdp", "0001.etdp", "more.zip"]


def test_dumps_come_under_their_own_names_with_what_lies_beside_them(place, inbox: Path) -> None:
    write(inbox / "2026-01-01-0" / "0000.debug.bin", b"logged")
    with zipfile.ZipFile(inbox / "more.zip", "w") as archive:
        archive.writestr("in/a.etdp", tiny_dump(7))
    paths = [file.path for file in list_files(place)]
    with local_dumps(place, paths, ManifestDefaults(MANIFEST)) as brought:
        assert [(path, member) for path, member, _ in brought.dumps] == [
            (paths[0], None),
            (paths[1], None),
            (paths[2], "in/a.etdp"),
        ]
        first, _, zipped = (dump for _, _, dump in brought.dumps)
        dump = inbox / "2026-01-01-0" / "0000.etdp"
        own_name = dump.as_uri() if "://" in place.name else str(dump)
        assert (first.name, first.manifest().model.name) == (own_name, "mv2")
        assert first.debug_buffer
        assert first.debug_buffer.read() == b"logged"
        assert bytes(zipped.read()) == tiny_dump(7)


def test_file_that_is_gone_holds_nothing_and_a_damaged_zip_is_a_fault(place, inbox: Path) -> None:
    write(inbox / "bad.zip", b"PK")
    paths = [file.path for file in list_files(place)]
    os.unlink(inbox / "2026-01-01-0" / "0000.etdp")
    with local_dumps(place, paths, ManifestDefaults()) as brought:
        assert [path for path, _, _ in brought.dumps] == [paths[1]]
        assert [error.source.endswith("inbox/bad.zip") for error in brought.faults] == [True]


def test_file_that_was_copied_with_its_old_time_arrives_now(inbox: Path) -> None:
    old = write(inbox / "old.etdp", b"")
    os.utime(old, (10, 10))
    place = open_place(str(inbox))
    assert list_files(place)[0].mtime_ns == 10 * 10**9
    assert abs(list_arrivals(place)[0].mtime_ns / 1e9 - time.time()) < 3600


def test_a_missing_inbox_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="gone"):
        open_place(str(tmp_path / "gone"))
