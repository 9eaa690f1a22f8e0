"""Tests stay in their layers: see tests/support/layers.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.support.layers import FOLDERS, GUARD, LayerError


def test_all_folders_of_test_layers_exist() -> None:
    assert [name for name in FOLDERS if not (Path(__file__).parent / name).exists()] == []


def test_a_unit_test_opens_no_database() -> None:
    with pytest.raises(LayerError, match="a unit test opens a database"):
        duckdb.connect()
    GUARD.broken.clear()


@pytest.mark.store
def test_a_store_test_opens_databases_but_starts_no_process() -> None:
    duckdb.connect().close()
    command = [sys.executable, "-c", ""]
    for start in (subprocess.run, lambda args: os.posix_spawn(args[0], args, {})):
        with pytest.raises(LayerError, match="a store test starts a process"):
            start(command)
    assert len(GUARD.broken) == 2
    GUARD.broken.clear()
