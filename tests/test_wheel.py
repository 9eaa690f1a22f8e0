"""The wheel is complete: installed elsewhere it answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.support.corpus import CORPUS
from tests.support.decoys import run_beside_decoys
from tests.tools.distribution import build

ROOT = Path(__file__).parents[1]
VERSION = "1.2.3.dev4+gabcdef0"
PACKAGES = ("ingest", "warehouse", "queries", "cli", "sql", "tracehouse")

pytestmark = pytest.mark.system


def build_wheel(folder: Path) -> Path:
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "docs", source / "docs")
    for name in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=ignored)
    for command in (["init", "--quiet"], ["add", "."]):  # as in a checkout, which lists links
        subprocess.run(["git", *command], cwd=source, check=True)
    _, wheel = build(source, folder / "dist", version=VERSION, seconds=1_800_000_000)
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def bin_(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs of a fresh environment that has the wheel, and borrows what the wheel needs."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, with_pip=False)
    pip = (sys.executable, "-m", "pip", "--python", home / "bin" / "python")
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel)
    (packages,) = home.glob("lib/python3*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    return home / "bin"


def run(*command: str | Path) -> str:
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_wheel_holds_every_module_and_sql_file(wheel: Path) -> None:
    wanted = {
        f"tracehouse/{path.relative_to(ROOT)}".replace("tracehouse/tracehouse/", "tracehouse/")
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix not in {".pyc", ".md"}
    }
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    share = f"tracehouse-{VERSION}.data/data/share"
    documents = {f"{share}/doc/tracehouse/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    assert found == wanted | documents | {f"{share}/man/man1/tracehouse.1"}


def test_equal_trees_make_equal_wheels(wheel: Path, tmp_path: Path) -> None:
    assert build_wheel(tmp_path).read_bytes() == wheel.read_bytes()


def test_installed_command_is_the_wheel_s(bin_: Path) -> None:
    place = run(bin_ / "python", "-c", "import tracehouse; print(tracehouse.__file__)")
    assert place.startswith(str(bin_.parent))


def test_only_tracehouse_is_added_to_an_environment(bin_: Path) -> None:
    (packages,) = bin_.parent.glob("lib/python3*/site-packages")
    found = {path.name for path in packages.iterdir()} - {"borrowed.pth"}
    assert found == {"tracehouse", f"tracehouse-{VERSION}.dist-info"}


def test_wheel_is_imported_beside_folders_of_the_same_names(bin_: Path, tmp_path: Path) -> None:
    done = run_beside_decoys(bin_ / "python", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1].startswith(str(bin_.parent))


def test_installed_command_has_help_and_version(bin_: Path) -> None:
    assert run(bin_ / "tracehouse", "--help").startswith("Usage: tracehouse ")
    assert run(bin_ / "tracehouse", "--version") == f"tracehouse {VERSION}\n"


def test_installed_command_has_a_manual_page_and_completion(bin_: Path) -> None:
    page = (bin_.parent / "share" / "man" / "man1" / "tracehouse.1").read_text(encoding="utf-8")
    assert f'"tracehouse {VERSION}"' in page
    assert '.SS "tracehouse store archive verify"' in page
    assert "complete " in run(bin_ / "tracehouse", "completion", "bash")


def test_installed_command_ingests_and_answers(bin_: Path, tmp_path: Path) -> None:
    store = ("--store", tmp_path / "store")
    names = ("--device", "d", "--build", "b", "--model", "m")
    run(bin_ / "tracehouse", "ingest", CORPUS / "real" / "load_only.etdp", *names, *store)
    answer = run(bin_ / "tracehouse", "query", "percentiles", *store, "--format", "csv")
    assert "d,,b,m,," in answer


def test_installed_command_has_the_sample(bin_: Path, tmp_path: Path) -> None:
    run(bin_ / "tracehouse", "sample", tmp_path / "farm")
    store = ("--store", tmp_path / "store")
    assert "532" in run(bin_ / "tracehouse", "ingest", tmp_path / "farm", *store)
