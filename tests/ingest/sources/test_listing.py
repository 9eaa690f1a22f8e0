from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.sources.listing import (
    CompanionFinder,
    FolderNames,
    describe_passed_over,
    find_sources,
    list_names,
    list_sources,
    need_one,
)
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import count_bytes, read_source


def packed(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    """A zip with a dump, and with a zip of two more and an ETRecord."""
    inner = packed({"x/1.etdp": b"one", "x/net.etrecord": b"PK", "2.prof": b"two", "a.md": b""})
    path = tmp_path / "n.zip"
    path.write_bytes(packed({"0.etdp": b"nought", "job/in.ZIP": inner}))
    return path


def names(*paths: Path | str) -> list[str]:
    return [Path(source.path).name + "!" + str(source.member) for source in find_sources(paths)]


def test_an_invalid_path_is_listed_as_an_error_and_the_others_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.etdp").write_bytes(b"a")
    (tmp_path / "fake.zip").write_bytes(b"no zip")
    paths = [tmp_path / "fake.zip", tmp_path / "gone", tmp_path / "a.etdp", tmp_path / "*.foo"]
    fake, gone, good, glob = list_sources(map(str, paths), FolderNames()).found
    assert good == Source(str(tmp_path / "a.etdp"))
    assert [str(error).partition(": ")[0] for error in (fake, gone, glob)] == [
        str(tmp_path / name) for name in ("fake.zip", "gone", "*.foo")
    ]


def test_unusable_paths_are_reported_together(tmp_path: Path) -> None:
    listed = list_sources([str(tmp_path / name) for name in "abcdef"], FolderNames()).found
    wanted = rf"a: does not exist: .*; also unusable: {tmp_path}/b, .*/d and 2 more"
    with pytest.raises(SourceError, match=wanted):
        need_one(listed)
    need_one([])
    need_one([*listed, Source("good.etdp")])


def test_dumps_of_a_zip_in_a_zip_are_found_and_read(nested: Path) -> None:
    members = ["0.etdp", "job/in.ZIP!2.prof", "job/in.ZIP!x/1.etdp"]
    assert names(nested) == names(nested.parent) == [f"n.zip!{member}" for member in members]
    sources = find_sources([nested])
    assert [read_source(source) for source in sources] == [b"nought", b"two", b"one"]
    assert [count_bytes(source) for source in sources] == [6, 3, 3]


@pytest.mark.parametrize("member", ["0.etdp", "job/in.ZIP!x/1.etdp", "job/in.ZIP!a.md"])
def test_a_member_can_be_named(nested: Path, member: str) -> None:
    assert names(f"{nested}!{member}") == [f"n.zip!{member}"]


def test_naming_a_zip_in_a_zip_selects_its_dumps(nested: Path) -> None:
    assert len(names(f"{nested}!job/in.ZIP")) == 2


@pytest.mark.parametrize(
    ("member", "problem"),
    [
        ("1.etdp", "does not exist: no such member in the zip; did you mean '0.etdp'"),
        ("job/in.ZIP!y", "does not exist: no such member"),
        ("job/out.zip!y", "does not exist: no such member"),
    ],
)
def test_a_missing_zip_member_is_reported(nested: Path, member: str, problem: str) -> None:
    with pytest.raises(SourceError, match=problem):
        find_sources([f"{nested}!{member}"])


def test_an_existing_file_wins_over_a_zip_member_of_that_name(tmp_path: Path) -> None:
    path = tmp_path / "a.zip!b.etdp"
    path.write_bytes(b"itself")
    (source,) = find_sources([path])
    assert read_source(source) == b"itself"


def test_files_beside_a_dump_in_an_inner_zip_belong_to_it(nested: Path) -> None:
    dump = Source(str(nested), "job/in.ZIP!x/1.etdp")
    assert (dump.file_name, dump.name) == ("1.etdp", f"{nested}!job/in.ZIP!x/1.etdp")
    assert dump.place == f"{nested.parent}/n/job/in/x/1.etdp"
    folders = [dump.folder]
    while (above := folders[-1].parent) is not None and len(folders) < 5:
        folders.append(above)
    assert [folder.inner for folder in folders] == ["job/in.ZIP!x", "job/in.ZIP!", "job", "", None]
    assert list_names(folders[0]) == {"1.etdp", "net.etrecord"}
    assert folders[1].file("m.json").member == "job/in.ZIP!m.json"
    record = CompanionFinder().find(dump).etrecord
    assert record is not None
    assert read_source(record) == b"PK"


def test_a_damaged_inner_zip_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "n.zip"
    path.write_bytes(packed({"0.etdp": b"nought", "in.zip": b"PK no zip"}))
    good, bad = find_sources([path])
    assert read_source(good) == b"nought"
    with pytest.raises(SourceError, match=r"n\.zip!in\.zip: not a zip"):
        read_source(bad)


def test_zips_deeper_than_two_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "n.zip"
    path.write_bytes(packed({"2.zip": packed({"3.zip": packed({"a.etdp": b""})})}))
    (source,) = find_sources([path])
    with pytest.raises(SourceError, match=r"2\.zip!3\.zip: zips are nested more than 2"):
        read_source(source)


def test_inner_zips_share_what_the_outer_one_may_inflate_to(tmp_path: Path) -> None:
    bomb = packed({"a.etdp": bytes(40 << 20)})
    path = tmp_path / "n.zip"
    path.write_bytes(packed({f"{i}.zip": bomb for i in range(8)}, zipfile.ZIP_DEFLATED))
    with pytest.raises(SourceError, match=r"n\.zip: its dumps would inflate from") as told:
        find_sources([path])
    assert told.value.reason == "too_large"


def test_folders_are_listed_once_for_dumps_and_what_belongs_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a/1.etdp", "a/1.json", "a/net.etrecord", "b/2.etdp", "b/2.debug.bin"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    folders = FolderNames()
    first, second = list_sources([str(tmp_path)], folders).found
    monkeypatch.setattr(os, "listdir", None)
    assert isinstance(first, Source)
    assert isinstance(second, Source)
    found = [folders.find(source.folder) for source in (first, second)]
    assert [set(one.by_name.values()) for one in found if one] == [
        {"1.json", "net.etrecord"},
        {"2.debug.bin"},
    ]


def test_files_that_are_passed_over_are_counted_once_by_suffix(tmp_path: Path) -> None:
    for name in ("b1/1.etdp", "b1/1.json", "b1/a.txt", "b1/b.TXT", "n.tar.gz", "manifest.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "a.zip").write_bytes(packed({"2.etdp": b"", "c.txt": b""}))
    paths = [str(tmp_path), str(tmp_path / "b1"), str(tmp_path / "a.zip")]
    counts = list_sources(paths, FolderNames()).passed_over
    assert counts == {"*.txt": 3, "*.tar.gz": 1}
    assert describe_passed_over(counts) == "passed over: 4 files (3 *.txt, 1 *.tar.gz)"
    assert describe_passed_over({}) == ""


def test_many_kinds_of_other_files_are_summed_up() -> None:
    shown = describe_passed_over({f"*.{letter}": 9 - n for n, letter in enumerate("abcdefg")})
    assert shown.startswith("passed over: 42 files (9 *.a, 8 *.b,")
    assert shown.endswith("5 *.e, 7 of other kinds)")


def test_folder_with_nothing_but_other_files_says_which(tmp_path: Path) -> None:
    (tmp_path / "night.tar.gz").touch()
    with pytest.raises(
        SourceError, match=r"no dumps in this .*; passed over: 1 file \(1 \*.tar.gz"
    ):
        find_sources([tmp_path])
    zipped = tmp_path / "a.zip"
    zipped.write_bytes(packed({"notes.txt": b""}))
    with pytest.raises(
        SourceError, match=r"no dumps in this zip.*; passed over: 1 file \(1 \*.txt"
    ):
        find_sources([zipped])
