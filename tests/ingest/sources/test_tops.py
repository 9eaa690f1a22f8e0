from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.stores import write
from tests.support.tiny_dumps import tiny_dump
from tracehouse.ingest.dump import FoundDumps
from tracehouse.ingest.errors import ManifestError
from tracehouse.ingest.sources.places import Source, is_below, top_of


@pytest.fixture
def farm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of dumps without a device, with a stray manifest in the folder above it."""
    folder = tmp_path / "home" / "farm"
    write(tmp_path / "home" / "manifest.json", b'{"device": "stray"}')
    write(folder / "manifest.json", b'{"model": "mv2"}')
    write(folder / "b1" / "manifest.json", b'{"build": "b1"}')
    write(folder / "b1" / "run.etdp", tiny_dump(1))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize(
    ("path", "top"),
    [
        ("home/farm", "home/farm"),
        ("home/farm/b1/run.etdp", "."),
        ("home/farm/*/run.etdp", "."),
        ("home/a.zip!x/run.etdp", "."),
        ("../elsewhere/run.etdp", "../elsewhere"),
        (Source("home/farm/b1/run.etdp"), "."),
    ],
)
def test_the_top_of_a_relative_path_is_the_folder_given_or_the_working_directory(
    farm: Path, path: str | Source, top: str
) -> None:
    assert top_of(path) == str(Path(top).resolve())


def test_the_top_of_an_absolute_path_is_its_folder_without_wildcards(farm: Path) -> None:
    assert top_of(farm) == str(farm)
    assert top_of(farm / "b1" / "run.etdp") == str(farm / "b1")
    assert top_of(f"{farm}/*/x/*.etdp") == str(farm)
    assert top_of(f"{farm}/a.zip!x/run.etdp") == str(farm)


def test_a_folder_is_below_itself_and_all_above_it() -> None:
    assert is_below("/farm/b1/x", {"/farm"})
    assert is_below("/farm", {"/farm"})
    assert not is_below("/farms", {"/farm"})
    assert not is_below("/", {"/farm"})
    assert not is_below("/farm", set())


def test_a_stray_manifest_above_the_given_folder_is_not_applied(farm: Path) -> None:
    (dump,) = FoundDumps([farm])
    with pytest.raises(ManifestError, match="no device"):
        dump.manifest()


def test_manifests_from_the_folder_of_the_dump_up_to_the_given_one_are_applied(farm: Path) -> None:
    (dump,) = FoundDumps([farm], manifest={"device": "pixel8"})
    manifest = dump.manifest()
    assert (manifest.build.id, manifest.model.name) == ("b1", "mv2")


def test_the_outer_of_two_given_folders_counts(farm: Path) -> None:
    (dump,) = FoundDumps([farm / "b1", farm.parent])
    assert dump.manifest().device.name == "stray"
