"""What a watch finds is handed over once; what is refused is told once, and may be mended."""

from __future__ import annotations

import os
import threading
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.stores import write
from tests.support.tiny_dumps import tiny_dump
from tracehouse.cli.handover import delivering, watching
from tracehouse.cli.handover.delivering import Take
from tracehouse.cli.handover.watching import Watch, WatchCounts, WatchOptions
from tracehouse.ingest.dump import Dump
from tracehouse.ingest.errors import ServiceError, SourceError
from tracehouse.ingest.watching.buckets import Bucket
from tracehouse.ingest.watching.follower import Follower, Notices, WatchRecord
from tracehouse.ingest.watching.places import LocalFolder

NAMES = {"device": "pixel8", "build": "b1", "model": "mv2"}
AWAY = ServiceError("http://farm", "cannot be reached", reason="unreachable")


class Taker:
    """Takes dumps as a service does; first fails as told."""

    def __init__(self, failures: int = 0) -> None:
        self.names: list[str] = []
        self.held: set[bytes] = set()
        self.failures = failures

    def __call__(self, dumps: Sequence[Dump]) -> list[bool | SourceError]:
        if self.failures:
            self.failures -= 1
            raise AWAY
        return [self._take(one) for one in dumps]

    def _take(self, incoming: Dump) -> bool | SourceError:
        try:
            data = bytes(incoming.read())
        except SourceError as error:
            return error
        self.names.append(incoming.name)
        is_new = data not in self.held
        self.held.add(data)
        return is_new


def watch(
    folder: str,
    take: Take,
    *,
    manifest: dict[str, Any] | None = None,
    now: Callable[[], float] = time.time,
) -> Watch:
    is_uri = "://" in folder
    place = Bucket(folder) if is_uri else LocalFolder(folder)
    follower = Follower(place, WatchRecord(None), Notices(is_on=False), quiet_seconds=0, now=now)
    options = WatchOptions(NAMES if manifest is None else manifest, None, None, 1, 0.01, True)
    return Watch(place, follower, take, options)


def put(path: Path, data: bytes) -> Path:
    written = write(path, data)
    os.utime(written, (10**9, 10**9))
    return written


def test_each_dump_is_taken_once(tmp_path: Path) -> None:
    take = Taker()
    running = watch(str(tmp_path), take)
    put(tmp_path / "a" / "one.etdp", tiny_dump(1))
    with zipfile.ZipFile(tmp_path / "farm.zip", "w") as artifact:
        artifact.writestr("two.etdp", tiny_dump(2))
        artifact.writestr("same.etdp", tiny_dump(1))
    for _ in range(2):
        running.run(threading.Event())
    assert sorted(take.names) == [
        f"{tmp_path}/a/one.etdp",
        f"{tmp_path}/farm.zip!same.etdp",
        f"{tmp_path}/farm.zip!two.etdp",
    ]
    assert running.counts == WatchCounts(taken=2, known=1)


def test_a_dump_without_names_is_reported_once_and_taken_once_it_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_RETRY_SECONDS", -1)
    take = Taker()
    running = watch(str(tmp_path), take, manifest={"device": "pixel8", "model": "mv2"})
    put(tmp_path / "run.etdp", tiny_dump(1))
    stop = threading.Event()

    def look(times: int) -> None:
        for _ in range(times):
            found = running._follower.look()
            running._hand_over(found, stop)

    look(3)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.startswith(f"refused: {tmp_path}/run.etdp: no build; give --build")
    put(tmp_path / "run.json", b'{"build": "b1"}')
    look(2)
    assert (take.names, capsys.readouterr().err) == ([f"{tmp_path}/run.etdp"], "")
    assert running.counts == WatchCounts(taken=1, refused=1)


def test_damaged_zips_and_what_is_no_file_are_refused_beside_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    take = Taker()
    running = watch(str(tmp_path), take)
    put(tmp_path / "bad.zip", b"PK no zip")
    running.run(threading.Event())
    os.mkfifo(tmp_path / "pipe.etdp")
    put(tmp_path / "run.etdp", tiny_dump(1))
    running.run(threading.Event())
    told = capsys.readouterr().err
    assert f"refused: {tmp_path}/bad.zip: not a zip" in told
    assert f"refused: {tmp_path}/pipe.etdp: is not a regular file" in told
    assert take.names == [f"{tmp_path}/run.etdp"]


def test_a_single_watch_ends_when_the_service_is_unreachable(tmp_path: Path) -> None:
    put(tmp_path / "run.etdp", tiny_dump(1))
    with pytest.raises(ServiceError):
        watch(str(tmp_path), Taker(failures=1)).run(threading.Event())


def test_a_service_that_comes_back_gets_what_was_found_meanwhile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "_RETRY_SECONDS", 0)
    for number in range(3):
        put(tmp_path / f"{number}.etdp", tiny_dump(number))
    stop, take = threading.Event(), Taker(failures=3)
    running = watch(str(tmp_path), take)
    running._options = WatchOptions(NAMES, None, None, 1, 0.01, False)  # type: ignore[misc]

    def take_until_all(dumps: Sequence[Dump]) -> list[bool | SourceError]:
        are_new = take(dumps)
        if len(set(take.names)) == 3:
            stop.set()
        return are_new

    running._take = take_until_all
    running.run(stop)
    assert len(set(take.names)) == 3
    assert capsys.readouterr().err == f"note: {AWAY}; will be retried\n"


def test_a_single_watch_ends_when_its_folder_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "farm"
    folder.mkdir()
    running = watch(str(folder), Taker())
    folder.rmdir()
    with pytest.raises(SourceError, match="No such file"):
        running.run(threading.Event())


def test_a_stopped_watch_finishes_and_remembers_what_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivering, "_GROUP_DUMPS", 3)
    for number in range(30):
        put(tmp_path / f"{number}.etdp", tiny_dump(number))
    stop, taken = threading.Event(), []

    def take(dumps: Sequence[Dump]) -> list[bool]:
        taken.extend(one.name for one in dumps)
        stop.set()
        return [True] * len(dumps)

    running = watch(str(tmp_path), take)
    running.run(stop)
    assert 3 <= running.counts.taken <= len(taken) < 30


def test_files_of_a_bucket_are_named_by_their_uri(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "run.etdp", tiny_dump(1))
    put(tmp_path / "nameless.json", b"[]")
    put(tmp_path / "nameless.etdp", tiny_dump(2))
    take, now = Taker(), [2e9]
    running = watch(f"file://{tmp_path}", take, now=lambda: now[0])
    running.run(threading.Event())
    assert take.names == [f"file://{tmp_path}/run.etdp"]
    told = capsys.readouterr().err
    uri = f"file://{tmp_path}/nameless"
    assert told == f"refused: {uri}.etdp: {uri}.json: found [], wanted a JSON object [manifest]\n"
    put(tmp_path / "nameless.json", b"{}")
    running.run(threading.Event())
    assert len(take.names) == 1
    now[0] += 60
    running.run(threading.Event())
    assert take.names[1:] == [f"file://{tmp_path}/nameless.etdp"]


def test_files_that_are_passed_over_are_reported_once_by_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    take = Taker()
    for name in ("a.txt", "b.txt", "n.tar.gz", "run.etdp.part", "manifest.json"):
        put(tmp_path / name, b"{}")
    put(tmp_path / "etdump.in", tiny_dump(1))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("two.etdp", tiny_dump(2))
        archive.writestr("notes.md", b"")
    running = watch(str(tmp_path), take)
    running.run(threading.Event())
    running.run(threading.Event())
    assert take.names == [f"{tmp_path}/etdump.in", f"{tmp_path}/a.zip!two.etdp"]
    told = {line.partition(": passed")[2] for line in capsys.readouterr().err.splitlines()}
    kinds = {f" over, like all files *.{end}" for end in ("tar.gz", "txt")}
    assert told == kinds | {" over: 1 file (1 *.md)"}
