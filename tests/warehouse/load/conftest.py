from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.support.stores import writing


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that writes a new store in the folder `store`."""
    with writing(tmp_path / "store") as opened:
        yield opened
