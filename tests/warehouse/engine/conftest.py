from __future__ import annotations

import pytest

from tests.support.store_template import BUILD


@pytest.fixture
def new_stores_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB builds the file of a new store, which is a copy else."""
    monkeypatch.setattr("tracehouse.warehouse.engine.writer._build", BUILD)
