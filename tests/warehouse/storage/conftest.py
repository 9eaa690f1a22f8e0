from __future__ import annotations

from pathlib import Path

import pytest

from warehouse import Warehouse


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with nothing in it."""
    Warehouse.open(tmp_path / "store", create=True).close()
    return tmp_path / "store"
