"""A follower offers what is new and whole, wherever and however late it appears."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stores import write
from tracehouse.ingest.watching.follower import Follower, Notices, WatchRecord, WatchRound
from tracehouse.ingest.watching.places import LocalFolder

OLD = 1_000_000_000  # seconds: the time of files that nobody writes any more


class Clock:
    """A time that a test sets."""

    def __init__(self) -> None:
        self.now = OLD + 1000.0

    def __call__(self) -> float:
        return self.now


class Farm:
    """A folder that is followed; `heard` says whether the system tells of changes."""

    def __init__(self, folder: Path, *, is_heard: bool = False, most_files: int = 1000) -> None:
        self.folder, self.clock, self.taken = folder, Clock(), WatchRecord(None)
        self.notices = Notices(is_on=is_heard)
        self.follower = Follower(
            LocalFolder(str(folder)),
            self.taken,
            self.notices,
            quiet_seconds=2,
            most_files=most_files,
            now=self.clock,
        )

    def put(self, name: str, data: bytes = b"x", *, written: float = OLD) -> Path:
        path = write(self.folder / name, data)
        os.utime(path, (written, written))
        return path

    def look(self) -> list[str]:
        """Names of what is new, which is then taken."""
        found = self.follower.look()
        assert not found.problems
        self.follower.take(found.ready)
        return sorted(os.path.relpath(path, self.folder) for path in found.dumps)


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    return Farm(tmp_path)


def test_each_file_is_offered_until_it_is_taken(farm: Farm) -> None:
    farm.put("a/one.etdp")
    farm.put("two.ZIP")
    assert [len(farm.follower.look().ready) for _ in range(3)] == [2, 2, 2]
    assert farm.look() == ["a/one.etdp", "two.ZIP"]
    assert farm.look() == []
    farm.put("a/b/three.prof")
    assert farm.look() == ["a/b/three.prof"]


def test_the_farm_ignores_temporary_names_and_other_files(farm: Farm) -> None:
    for name in (".run.etdp", "run.etdp.tmp", "run.etdp.part", "._run.etdp", "a.json", "a.pte"):
        farm.put(name)
    assert farm.look() == []
    (farm.folder / "run.etdp.part").rename(farm.folder / "run.etdp")
    assert farm.look() == ["run.etdp"]


def test_a_file_that_is_still_written_waits_until_it_is_quiet(farm: Farm) -> None:
    farm.put("run.etdp", b"12", written=farm.clock.now)
    assert farm.look() == []
    farm.clock.now += 1.5
    farm.put("run.etdp", b"1234", written=farm.clock.now)
    assert farm.look() == []
    farm.clock.now += 1.5
    assert farm.look() == []
    farm.clock.now += 0.5
    assert farm.look() == ["run.etdp"]


def test_a_file_dated_in_the_future_is_taken_once_it_is_quiet(farm: Farm) -> None:
    farm.put("run.etdp", written=farm.clock.now + 3600)
    assert farm.look() == []
    farm.clock.now += 2
    assert farm.look() == ["run.etdp"]


def test_a_file_that_changes_after_it_was_taken_is_new(farm: Farm) -> None:
    farm.put("run.etdp", b"1")
    assert farm.look() == ["run.etdp"]
    farm.put("run.etdp", b"12")
    assert farm.look() == ["run.etdp"]


def test_a_waiting_file_that_vanishes_is_forgotten(farm: Farm) -> None:
    farm.put("run.etdp", written=farm.clock.now).unlink()
    farm.put("other.etdp", written=farm.clock.now)
    assert farm.look() == []
    (farm.folder / "other.etdp").unlink()
    farm.clock.now += 5
    assert farm.look() == []
    assert farm.follower.look().is_settled


@pytest.mark.parametrize("companion", ["run.debug.bin", "run.etrecord"])
def test_a_companion_that_comes_late_offers_its_dump_again(farm: Farm, companion: str) -> None:
    farm.put("run.etdp")
    farm.put("other.etdp")
    assert farm.look() == ["other.etdp", "run.etdp"]
    farm.put(companion)
    assert farm.look() == ["run.etdp"]
    assert farm.look() == []


@pytest.mark.parametrize("companion", ["net.etrecord", "etrecord.bin"])
def test_late_etrecord_of_a_whole_folder_offers_its_dumps_again(farm: Farm, companion: str) -> None:
    farm.put("a/run.etdp")
    farm.put("a/etdump.in")
    farm.put("b/other.etdp")
    assert len(farm.look()) == 3
    farm.put(f"a/{companion}")
    assert farm.look() == ["a/etdump.in", "a/run.etdp"]
    farm.put("a/second.etrecord")  # of two, no dump gets either
    assert farm.look() == []


def test_late_debug_buffer_of_a_runner_offers_the_only_dump_again(farm: Farm) -> None:
    farm.put("a/etdump.etdp")
    farm.put("b/1.etdp")
    farm.put("b/2.etdp")
    assert len(farm.look()) == 3
    farm.put("a/debug_output.bin")
    farm.put("b/debug_output.bin")
    assert farm.look() == ["a/etdump.etdp"]


def test_late_companion_of_a_packed_dump_offers_it_again(farm: Farm) -> None:
    farm.put("run.etdp.gz")
    assert farm.look() == ["run.etdp.gz"]
    farm.put("run.debug.bin")
    assert farm.look() == ["run.etdp.gz"]


def test_the_first_passed_over_file_of_each_kind_is_reported(farm: Farm) -> None:
    names = ("run.etdp", "run.json", "a.txt", "b.txt", "n.tar.gz", ".hidden", "run.log")
    paths = {name: farm.put(name) for name in names}
    farm.look()
    assert farm.follower.passed_over.keys() == {"*.txt", "*.tar.gz"}
    assert farm.follower.passed_over["*.tar.gz"] == str(paths["n.tar.gz"])


def test_a_companion_that_comes_with_its_dump_offers_it_once(farm: Farm) -> None:
    farm.put("run.debug.bin")
    farm.put("run.etdp")
    assert farm.look() == ["run.etdp"]
    assert farm.look() == []


def test_a_companion_does_not_offer_a_dump_that_is_still_written(farm: Farm) -> None:
    farm.put("run.debug.bin")
    farm.put("run.etdp", written=farm.clock.now)
    assert farm.look() == []


def test_a_deferred_file_is_offered_later(farm: Farm) -> None:
    farm.put("run.etdp")
    farm.follower.postpone(farm.follower.look().ready, 5)
    assert farm.follower.look() == WatchRound([], True, True, [])
    farm.clock.now += 5
    assert farm.look() == ["run.etdp"]


def test_a_follower_looks_at_a_limited_number_of_files_per_round(tmp_path: Path) -> None:
    farm = Farm(tmp_path, most_files=10)
    for number in range(25):
        farm.put(f"{number:02}.etdp")
    rounds = [farm.follower.look() for _ in range(3)]
    assert [len(found.ready) for found in rounds] == [10, 10, 5]
    assert [found.is_settled for found in rounds] == [False, False, False]
    for found in rounds:
        farm.follower.take(found.ready)
    assert [farm.follower.look().is_settled for _ in range(3)] == [False, False, True]


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Farm]:
    """A folder of 50 files of which a round looks at one, and that is heard of."""
    farm = Farm(tmp_path, is_heard=True, most_files=1)
    for number in range(50):
        farm.put(f"{number:02}.etdp")
    while not farm.follower.look().is_settled:
        farm.follower.take(farm.follower.look().ready)
    yield farm
    farm.notices.close()


def test_a_file_that_is_heard_of_need_not_wait_for_its_turn(heard: Farm) -> None:
    heard.put("new.etdp")
    assert heard.look() == ["new.etdp"]
    write(heard.folder / ".x", b"x").rename(heard.folder / "renamed.etdp")
    os.utime(heard.folder / "renamed.etdp", (OLD, OLD))
    assert heard.look() == ["renamed.etdp"]


def test_files_of_a_new_folder_are_heard_of_too(heard: Farm) -> None:
    heard.put("a/b/first.etdp")
    assert heard.look() == ["a/b/first.etdp"]
    heard.put("a/b/second.etdp")
    assert heard.look() == ["a/b/second.etdp"]


def test_a_new_folder_of_many_files_is_taken_a_few_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "farm").mkdir()
    farm = Farm(tmp_path / "farm", is_heard=True, most_files=3)
    assert farm.look() == []
    for number in range(20):
        write(tmp_path / "moved" / f"{number}.etdp", b"x")
        os.utime(tmp_path / "moved" / f"{number}.etdp", (OLD, OLD))
    (tmp_path / "moved").rename(tmp_path / "farm" / "moved")
    found = [farm.look() for _ in range(20)]
    assert max(map(len, found)) <= 6
    assert sum(map(len, found)) == 20
    farm.notices.close()


def test_a_folder_that_cannot_be_listed_is_reported_and_its_files_stay_known(
    tmp_path: Path,
) -> None:
    farm = Farm(tmp_path / "farm") if (tmp_path / "farm").mkdir() is None else None
    assert farm
    farm.put("run.etdp")
    assert farm.look() == ["run.etdp"]
    (tmp_path / "farm").rename(tmp_path / "away")
    found = farm.follower.look()
    assert (found.ready, [str(error) for error in found.problems]) == (
        [],
        [f"{tmp_path}/farm: cannot be read: No such file or directory; check the path"],
    )
    (tmp_path / "away").rename(tmp_path / "farm")
    assert farm.look() == []


def test_circles_of_symlinks_end(farm: Farm) -> None:
    farm.put("a/run.etdp")
    (farm.folder / "a" / "up").symlink_to(farm.folder)
    (farm.folder / "self.etdp").symlink_to("self.etdp")
    assert farm.look() == ["a/run.etdp"]
