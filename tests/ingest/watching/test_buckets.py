"""A bucket is listed through Arrow; what is taken is copied with all that says something of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.stores import write
from tests.support.tiny_dumps import tiny_dump
from tracehouse.ingest.dump import FoundDumps
from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.watching.buckets import Bucket
from tracehouse.ingest.watching.follower import Follower, Notices, WatchRecord
from tracehouse.ingest.watching.places import WatchedFile


@pytest.fixture
def farm(tmp_path: Path) -> Path:
    folder = tmp_path / "farm"
    write(folder / "manifest.json", b'{"device": "pixel8"}')
    write(folder / "b1" / "manifest.json", b'{"build": "b1"}')
    write(folder / "b1" / "mv2" / "run.etdp", tiny_dump(1))
    write(folder / "b1" / "mv2" / "run.debug.bin", b"debug")
    write(folder / "b1" / "mv2" / "run.json", b'{"model": "mv2"}')
    write(folder / "b1" / "mv2" / "only.etrecord", b"record")
    write(folder / "b1" / "mv2" / "other.etdp", tiny_dump(2))
    for path in folder.rglob("*"):
        os.utime(path, (10**9, 10**9))
    return folder


def test_new_files_in_a_bucket_are_found(farm: Path) -> None:
    bucket = Bucket(f"file://{farm}")
    follower = Follower(bucket, WatchRecord(None), Notices(is_on=False), quiet_seconds=2)
    assert sorted(follower.look().dumps) == [
        f"{farm}/b1/mv2/other.etdp",
        f"{farm}/b1/mv2/run.etdp",
    ]
    file = farm / "b1/mv2/run.etdp"
    assert bucket.look(str(file)) == WatchedFile(str(file), file.stat().st_size, 10**18)
    assert bucket.look(str(farm / "none")) is None
    assert list(bucket.list_folder(f"{farm}/gone")) == []


def test_copies_come_with_companions_and_manifests_and_under_their_own_name(farm: Path) -> None:
    write(farm.parent / "manifest.json", b'{"tags": {"stray": true}}')
    bucket = Bucket(f"file://{farm}")
    with bucket.local_paths([f"{farm}/b1/mv2/run.etdp"]) as (copy,):
        (incoming,) = FoundDumps([copy], tops=[bucket.local_root])
        manifest = incoming.manifest()
        assert (manifest.device.name, manifest.build.id, manifest.model.name) == (
            "pixel8", "b1", "mv2",
        )  # fmt: skip
        assert manifest.tags == {}
        assert incoming.read() == tiny_dump(1)
        assert incoming.debug_buffer is not None
        assert incoming.debug_buffer.read() == b"debug"
        assert incoming.etrecord is not None
        assert bucket.restore_paths(incoming.name) == f"file://{farm}/b1/mv2/run.etdp"
        assert not os.path.exists(copy.replace("run.etdp", "other.etdp"))
    assert not os.path.exists(copy)


def test_files_under_the_names_of_runners_are_copied_where_they_belong(farm: Path) -> None:
    for folder, dumps in (("one", ["etdump.in"]), ("two", ["1.etdp", "2.etdp"])):
        for name in (*dumps, "etrecord.bin", "debug_output.bin"):
            write(farm / folder / name, b"x")
    bucket = Bucket(f"file://{farm}")
    with bucket.local_paths([f"{farm}/one/etdump.in", f"{farm}/two/1.etdp"]) as copies:
        one, two = FoundDumps(copies, tops=[bucket.local_root])
    assert one.etrecord is not None
    assert two.etrecord is not None
    assert one.debug_buffer is not None
    assert two.debug_buffer is None


def test_layouts_match_the_names_in_the_bucket(farm: Path) -> None:
    bucket = Bucket(f"file://{farm}")
    (farm / "b1" / "manifest.json").unlink()
    with bucket.local_paths([f"{farm}/b1/mv2/other.etdp"]) as copies:
        (incoming,) = FoundDumps(copies, layout="{build}/{model}/*.etdp", tops=["/"])
        assert incoming.manifest().build.id == "b1"


@pytest.mark.parametrize(
    "uri",
    ["nowhere://bucket", "file:///none/at/all", pytest.param("s3:", marks=pytest.mark.slow)],
)
def test_a_bucket_that_cannot_be_listed_is_reported(uri: str) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        Bucket(uri)


def test_credentials_in_a_uri_never_appear_in_errors() -> None:
    with pytest.raises(SourceError) as error:
        Bucket("nowhere://me:th_secret@bucket/a?secret_key=th_secret")
    assert "nowhere://bucket/a: cannot be read" in str(error.value)
    assert "th_secret" not in str(error.value)


def test_a_file_that_vanishes_before_it_is_copied_is_left_out(farm: Path) -> None:
    bucket = Bucket(f"file://{farm}")
    with bucket.local_paths([f"{farm}/gone.etdp"]) as (copy,):
        assert not os.path.exists(copy)
