from __future__ import annotations

import os
import random
import struct
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.sources import private_bytes, zip_artifacts
from tracehouse.ingest.sources.listing import find_sources
from tracehouse.ingest.sources.places import Folder, Source
from tracehouse.ingest.sources.reading import read_if_present, read_source


def put(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return root


def pack(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def names(*paths: Path | str, below: Path) -> list[str]:
    return [source.name.replace(f"{below}/", "") for source in find_sources(paths)]


def patch_directory(path: Path, *, at: int, value: int, format_: str) -> None:
    data = bytearray(path.read_bytes())
    struct.pack_into(format_, data, data.index(b"PK\x01\x02") + at, value)
    path.write_bytes(data)


@pytest.fixture
def as_nobody() -> Iterator[Path]:
    """A folder in which file permissions bind, even when the tests run as root."""
    with tempfile.TemporaryDirectory() as folder:
        is_root = os.geteuid() == 0
        if is_root:
            os.chown(folder, 65534, -1)
            os.seteuid(65534)
        yield Path(folder)
        if is_root:
            os.seteuid(0)


def test_folder_is_searched_recursively_in_sorted_order(tmp_path: Path) -> None:
    put(tmp_path, "b/2.etdp", "b/10.etdump", "a.etdp", "b/c/UP.ETDP", "b/1.json", "notes.md")
    found = names(tmp_path, below=tmp_path)
    assert found == ["a.etdp", "b/10.etdump", "b/2.etdp", "b/c/UP.ETDP"]


def test_named_file_may_have_any_name(tmp_path: Path) -> None:
    put(tmp_path, "trace.bin")
    (source,) = find_sources([str(tmp_path / "trace.bin")])
    assert read_source(source) == b"trace.bin"


def test_paths_keep_their_order_and_a_file_is_listed_once(tmp_path: Path) -> None:
    put(tmp_path, "a/1.etdp", "b/2.etdp")
    os.symlink(tmp_path / "b/2.etdp", tmp_path / "a/same.etdp")
    found = names(tmp_path / "b", tmp_path / "b/../b/2.etdp", tmp_path, below=tmp_path)
    assert found == ["b/2.etdp", "a/1.etdp"]


def test_symlink_circles_end_and_real_names_win(tmp_path: Path) -> None:
    put(tmp_path, "farm/z/1.etdp", "other/2.etdp", "above.etdp")
    os.symlink(tmp_path / "farm", tmp_path / "farm/z/loop")
    os.symlink(tmp_path / "farm/z", tmp_path / "farm/alias")
    os.symlink(tmp_path, tmp_path / "farm/up")
    os.symlink(tmp_path / "other", tmp_path / "farm/link")
    os.symlink("self", tmp_path / "farm/self")
    assert names(tmp_path / "farm", below=tmp_path) == ["farm/link/2.etdp", "farm/z/1.etdp"]
    assert names(f"{tmp_path}/farm/**/*.etdp", below=tmp_path) == [
        "farm/link/2.etdp",
        "farm/z/1.etdp",
    ]


def test_relative_paths_stay_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(put(tmp_path, "farm/1.etdp"))
    assert [s.name for s in find_sources(["farm"])] == ["farm/1.etdp"]
    assert [s.name for s in find_sources(["**/*.etdp"])] == ["farm/1.etdp"]
    assert [s.name for s in find_sources(["farm/1.etdp", tmp_path])] == ["farm/1.etdp"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*/b1/*.etdp", ["x/b1/1.etdp", "y/b1/2.etdp"]),
        ("x/*", ["x/b1/1.etdp", "x/b2/3.etdp"]),
        ("y/b1/*", ["y/b1/2.etdp"]),
        ("**/b1/*.etdp", ["x/b1/1.etdp", "y/b1/2.etdp"]),
        ("x/**", ["x/b1/1.etdp", "x/b2/3.etdp"]),
        ("[x]/**/[!1].etdp", ["x/b2/3.etdp"]),
        ("**/b?/**/1.etdp", ["x/b1/1.etdp"]),
    ],
)
def test_glob_is_expanded_without_the_manifests(
    tmp_path: Path, pattern: str, found: list[str]
) -> None:
    put(tmp_path, "x/b1/1.etdp", "y/b1/2.etdp", "x/b2/3.etdp", "x/b1/1.json", "y/b1/manifest.json")
    assert names(f"{tmp_path}/{pattern}", below=tmp_path) == found


def test_existing_path_with_glob_characters_is_taken_literally(tmp_path: Path) -> None:
    put(tmp_path, "run[1].etdp", "run1.etdp")
    assert names(tmp_path / "run[1].etdp", below=tmp_path) == ["run[1].etdp"]


def test_zip_members_are_sources_with_their_inner_path(tmp_path: Path) -> None:
    members = {
        "b/2.etdp": b"two",
        "1.etdump": b"one",
        "b/2.json": b"{}",
        "__MACOSX/b/._2.etdp": b"",
    }
    path = pack(tmp_path / "a.zip", members)
    found = find_sources([path])
    assert [source.name for source in found] == [f"{path}!1.etdump", f"{path}!b/2.etdp"]
    assert [read_source(source) for source in found] == [b"one", b"two"]
    assert found[1].place == f"{tmp_path}/a/b/2.etdp"


def test_zips_in_a_folder_are_opened_and_those_without_dumps_passed_over(tmp_path: Path) -> None:
    pack(tmp_path / "job1.zip", {"x.etdp": b"x"})
    pack(tmp_path / "job2.zip", {"log.txt": b"x"})
    assert names(tmp_path, below=tmp_path) == ["job1.zip!x.etdp"]


def test_replaced_zip_is_read_anew(tmp_path: Path) -> None:
    (source,) = find_sources([pack(tmp_path / "a.zip", {"x.etdp": b"old"})])
    assert read_source(source) == b"old"
    pack(tmp_path / "a.zip", {"y.etdp": b"longer", "x.etdp": b"new"})
    assert read_source(source) == b"new"


def test_large_file_is_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_bytes, "COPY_FROM_BYTES", 6)
    put(tmp_path, "a.etdp", "b")
    assert isinstance(read_source(Source(str(tmp_path / "a.etdp"))), memoryview)
    assert read_source(Source(str(tmp_path / "a.etdp"))) == b"a.etdp"
    assert isinstance(read_source(Source(str(tmp_path / "b"))), bytes)


def test_name_that_is_not_unicode_is_shown_escaped(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.etdp")).write_bytes(b"x")
    (source,) = find_sources([tmp_path])
    assert source.name == f"{tmp_path}/\\udcff.etdp"
    assert read_source(source) == b"x"


def test_folders_lead_out_of_a_zip_to_the_root() -> None:
    folder: Folder | None = Source("/farm/a.zip", "in/ner/x.etdp").folder
    lineage = []
    while folder:
        lineage.append(folder.file("f").name)
        folder = folder.parent
    assert lineage == ["/farm/a.zip!in/ner/f", "/farm/a.zip!in/f", "/farm/a.zip!f", "/farm/f", "/f"]


def test_missing_path_suggests_near_names(tmp_path: Path) -> None:
    put(tmp_path, "lab-x86/1.etdp")
    with pytest.raises(SourceError, match=r"no 'lab-x85' in '.*'; did you mean 'lab-x86'\?"):
        find_sources([tmp_path / "lab-x85/deep/1.etdp"])
    os.symlink("gone", tmp_path / "link.etdp")
    with pytest.raises(SourceError, match=r"link\.etdp: links to 'gone', which does not exist"):
        find_sources([tmp_path / "link.etdp"])


def test_paths_without_dumps_say_what_was_looked_for(tmp_path: Path) -> None:
    put(tmp_path, "empty/notes.md")
    wanted = r"wanted \*\.etdp, \*\.etdump, \*\.prof, etdump\.in, etdump\.bin or \*\.zip"
    with pytest.raises(SourceError, match=f"no dumps in this folder or below, {wanted}"):
        find_sources([tmp_path / "empty"])
    with pytest.raises(SourceError, match=f"this glob matches no dumps, {wanted}"):
        find_sources([f"{tmp_path}/nothing/*.etdp"])
    with pytest.raises(SourceError, match="no dumps in this zip"):
        find_sources([pack(tmp_path / "a.zip", {"x.txt": b""})])


def test_bad_zip_raises_when_named_and_only_at_reading_when_found(tmp_path: Path) -> None:
    put(tmp_path, "bad.zip", "good.etdp")
    with pytest.raises(SourceError, match=r"bad\.zip: not a zip, but text that begins with"):
        find_sources([tmp_path / "bad.zip"])
    bad, good = find_sources([tmp_path])
    assert read_source(good) == b"good.etdp"
    with pytest.raises(SourceError, match=r"bad\.zip: not a zip"):
        read_source(bad)


def test_encrypted_member_says_so(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.zip", {"x.etdp": b"x"})
    patch_directory(path, at=8, value=1, format_="<H")
    with pytest.raises(SourceError, match=r"a\.zip!x\.etdp: is encrypted; unpack the zip"):
        read_source(find_sources([path])[0])


@pytest.mark.parametrize("declared", [65 << 20, 0xFFFFFFFE])
def test_zip_bomb_is_refused_before_it_is_inflated(tmp_path: Path, declared: int) -> None:
    path = pack(tmp_path / "a.zip", {"x.etdp": bytes(1 << 16)})
    patch_directory(path, at=24, value=declared, format_="<I")
    with pytest.raises(
        SourceError, match=r"would inflate from \d+ to [\d,]+ bytes, wanted at most"
    ):
        read_source(find_sources([path])[0])


def test_member_beyond_the_size_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zip_artifacts, "MAX_MEMBER_BYTES", 2)
    with pytest.raises(SourceError, match="would inflate to 3 bytes, wanted at most 2"):
        read_source(find_sources([pack(tmp_path / "a.zip", {"x.etdp": b"abc"})])[0])


def test_member_longer_than_it_declares_is_damaged(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.zip", {"x.etdp": bytes(1 << 16)})
    patch_directory(path, at=24, value=100, format_="<I")
    with pytest.raises(SourceError, match="damaged zip: Bad CRC-32"):
        read_source(find_sources([path])[0])


def test_member_of_an_unbounded_method_is_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.zip", {"x.etdp": b"x"}, zipfile.ZIP_LZMA)
    with pytest.raises(SourceError, match="is packed with LZMA, wanted stored or deflated"):
        read_source(find_sources([path])[0])


def test_zip_of_endlessly_nested_folders_is_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.zip", {"d/" * 101 + "x.etdp": b"x"})
    with pytest.raises(SourceError, match="folders nested more than 100 deep"):
        find_sources([path])


@pytest.mark.slow
def test_mutated_zip_is_read_or_refused_but_never_breaks(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.zip", {"x.etdp": bytes(range(256)) * 4, "b/y.etdp": b"abc" * 99})
    whole, chance = path.read_bytes(), random.Random(7)  # noqa: S311
    for _ in range(1_000):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data[: chance.choice([len(data), chance.randrange(len(data))])])
        try:
            found = find_sources([path])
        except SourceError:
            continue
        for source in found:
            try:
                read_source(source)
            except SourceError:
                continue


def test_reading_a_folder_or_pipe_is_refused_without_blocking(tmp_path: Path) -> None:
    (tmp_path / "folder.etdp").mkdir()
    os.mkfifo(tmp_path / "pipe.etdp")
    with pytest.raises(SourceError, match=r"folder\.etdp: is a folder, wanted a file"):
        read_source(Source(str(tmp_path / "folder.etdp")))
    with pytest.raises(SourceError, match=r"pipe\.etdp: is not a regular file"):
        read_source(find_sources([tmp_path / "pipe.etdp"])[0])


def test_a_missing_file_gives_none_or_an_error_as_requested(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.zip", {"x.etdp": b"x"})
    for source in (
        Source(f"{tmp_path}/none"),
        Source(f"{path}/none"),
        Source(f"{tmp_path}/{'n' * 300}"),
        Source(str(path), "none"),
    ):
        assert read_if_present(source) is None
        with pytest.raises(SourceError, match="does not exist"):
            read_source(source)


def test_dangling_symlink_in_a_folder_is_refused_at_reading(tmp_path: Path) -> None:
    put(tmp_path, "a.etdp")
    os.symlink("gone", tmp_path / "b.etdp")
    first, second = find_sources([tmp_path])
    assert read_source(first) == b"a.etdp"
    with pytest.raises(SourceError, match=r"b\.etdp: does not exist"):
        read_source(second)


def test_unreadable_files_and_folders_do_not_stop_the_others(as_nobody: Path) -> None:
    put(as_nobody, "a.etdp", "b/c.etdp", "d.etdp", "e.zip")
    for name in ("a.etdp", "b", "e.zip"):
        (as_nobody / name).chmod(0)
    found = find_sources([as_nobody])
    assert [os.path.relpath(source.path, as_nobody) for source in found] == [
        "a.etdp",
        "b",
        "d.etdp",
        "e.zip",
    ]
    assert read_source(found.pop(2)) == b"d.etdp"
    for source in found:
        with pytest.raises(SourceError, match="cannot be read: Permission denied"):
            read_source(source)
    for name in ("b", "b/c.etdp", "e.zip"):
        with pytest.raises(SourceError, match="cannot be read: Permission denied"):
            find_sources([as_nobody / name])
    (as_nobody / "b").chmod(0o700)
