from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.command import Run


def test_without_its_package_the_command_says_how_to_get_it(
    run: Run, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anyio", None)
    done = run("mcp", "--store", store)
    assert done.code == 1
    assert "'pip install \"tracehouse[mcp]\"' adds it" in done.error
