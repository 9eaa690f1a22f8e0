from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.store_template import copy_new_store


@pytest.fixture(scope="module")
def made() -> Path | None:
    """The store that each test of a module gets a copy of; by default a new one."""
    return None


@pytest.fixture
def store(made: Path | None, tmp_path: Path) -> Path:
    """A copy of `made`, for the test to change."""
    if made:
        shutil.copytree(made, tmp_path / "store")
    copy_new_store(tmp_path / "store")
    return tmp_path / "store"
