"""The README tells of everything a user can call."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.main import get_command

from cli.app import app
from warehouse.catalogue.queries import load_catalogue

README = Path(__file__).parents[1] / "README.md"

pytestmark = pytest.mark.skipif(not README.exists(), reason="README.md is not written yet")


@pytest.mark.parametrize("name", sorted(get_command(app).commands))  # type: ignore[attr-defined]
def test_readme_mentions_the_command(name: str) -> None:
    assert f"tracehouse {name}" in README.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(load_catalogue()))
def test_readme_mentions_the_query(name: str) -> None:
    assert name in README.read_text(encoding="utf-8")
