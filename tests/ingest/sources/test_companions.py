from __future__ import annotations

import zipfile

import pytest

from tracehouse.ingest.sources.listing import CompanionFinder, Companions
from tracehouse.ingest.sources.places import Source


@pytest.fixture
def place(tmp_path):
    """Puts empty files into a folder, or into a zip, and gives the source of any of its names."""

    def make(*names, archive=None):
        if archive is None:
            for name in names:
                (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / name).touch()
            return lambda name: Source(str(tmp_path / name))
        with zipfile.ZipFile(tmp_path / archive, "w") as file:
            for name in names:
                file.writestr(name, b"")
        return lambda name: Source(str(tmp_path / archive), name)

    return make


@pytest.mark.parametrize("archive", [None, "artifact.zip"])
@pytest.mark.parametrize("folder", ["", "job/7/"])
def test_companions_stand_beside_the_dump_and_bear_its_name(place, archive, folder):
    names = [f"{folder}{name}" for name in ("a.etdp", "a.etrecord", "a.debug.bin", "b.etrecord")]
    source = place(*names, archive=archive)
    assert CompanionFinder().find(source(names[0])) == Companions(
        source(names[1]), source(names[2])
    )


@pytest.mark.parametrize("archive", [None, "artifact.zip"])
def test_the_only_etrecord_of_a_folder_is_that_of_all_its_dumps(place, archive):
    names = ["a.etdp", "b.etdump", "net.etrecord", "b.debug.bin", "below/c.etdp"]
    source = place(*names, archive=archive)
    finder = CompanionFinder()
    assert finder.find(source("a.etdp")) == Companions(source("net.etrecord"))
    assert finder.find(source("b.etdump")) == Companions(
        source("net.etrecord"), source("b.debug.bin")
    )
    assert finder.find(source("below/c.etdp")) == Companions()


def test_two_etrecords_are_not_taken_unless_one_has_the_dumps_name(place):
    source = place("a.etdp", "b.etdp", "a.etrecord", "net.etrecord")
    finder = CompanionFinder()
    assert finder.find(source("a.etdp")).etrecord == source("a.etrecord")
    assert finder.find(source("b.etdp")) == Companions()


def test_an_etrecord_that_is_given_goes_before_all_that_lie_beside(place):
    source = place("a.etdp", "a.etrecord", "a.debug.bin", "below/b.etdp")
    given = Source("given.etrecord")
    finder = CompanionFinder(given)
    assert finder.find(source("a.etdp")) == Companions(given, source("a.debug.bin"))
    assert finder.find(source("below/b.etdp")) == Companions(given)


def test_apple_doubles_are_no_companions(place):
    source = place("a.etdp", "net.etrecord", "._net.etrecord", "._a.debug.bin")
    assert CompanionFinder().find(source("a.etdp")) == Companions(source("net.etrecord"))


def test_a_folder_that_cannot_be_listed_has_no_companions(tmp_path):
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(b"PK no zip")
    finder = CompanionFinder()
    assert finder.find(Source(str(tmp_path / "gone" / "a.etdp"))) == Companions()
    assert finder.find(Source(str(damaged), "a.etdp")) == Companions()
