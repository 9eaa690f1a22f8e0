from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tracehouse.cli.options import StoreOptions, with_options
from tracehouse.cli.output.render import Format

GIVEN = ["--store", "here", "--wait", "2", "--format", "csv", "--csv-safe"]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], StoreOptions()),
        (GIVEN, StoreOptions(Path("here"), 2.0, Format.CSV, is_csv_safe=True)),
    ],
    ids=["defaults", "given"],
)
def test_a_command_gets_its_own_options_and_those_of_a_store(
    monkeypatch: pytest.MonkeyPatch, args: list[str], expected: StoreOptions
) -> None:
    monkeypatch.delenv("TRACEHOUSE_STORE", raising=False)
    got = []
    app = typer.Typer()

    @app.command()
    @with_options
    def command(name: str, *, options: StoreOptions) -> None:
        got.append((name, options))

    assert CliRunner().invoke(app, ["one", *args]).exit_code == 0
    assert got == [("one", expected)]
