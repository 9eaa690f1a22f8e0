from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.planted import make_full_store


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_full_store(tmp_path_factory.mktemp("full"))


@pytest.fixture
def store(full: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(full, tmp_path / "store"))
