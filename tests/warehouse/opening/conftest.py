from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.store_template import copy_new_store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with nothing in it."""
    copy_new_store(tmp_path / "store")
    return tmp_path / "store"
