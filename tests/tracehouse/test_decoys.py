"""The library works in the project of a user whose own folders are named like its parts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.decoys import run_beside_decoys
from tests.support.documents import ROOT


@pytest.mark.system
def test_checkout_is_imported_beside_folders_of_the_same_names(tmp_path: Path) -> None:
    done = run_beside_decoys(sys.executable, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == str(ROOT / "tracehouse" / "__init__.py")
