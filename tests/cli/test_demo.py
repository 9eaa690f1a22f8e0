"""The demo in tests/data/demo.sh."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import ENVIRONMENT, ROOT

SHIM = """#!/bin/sh
exec '{python}' -c 'import sys; from cli.main import main; sys.exit(main())' "$@"
"""


@pytest.mark.slow
def test_demo_finds_the_changes_that_are_in_the_farm(tmp_path: Path) -> None:
    shim = tmp_path / "bin" / "tracehouse"
    shim.parent.mkdir()
    shim.write_text(SHIM.format(python=sys.executable))
    shim.chmod(0o755)
    done = subprocess.run(
        ["sh", ROOT / "tests" / "data" / "demo.sh", tmp_path / "demo.store"],
        env={**ENVIRONMENT, "PATH": f"{shim.parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    *_, ch26, f136, extra, same, report = done.stdout.split("\n$ tracehouse ")
    page = tmp_path / "report.html"
    assert f"\nreport: {page}\n" in report
    assert page.read_text().lower().startswith("<!doctype html>")
    assert "native_call_convolution.out              #3   +8.4 %  regression" in ch26
    assert f136.count("regression\n") == 6
    assert "native_call_sigmoid.out" in extra
    assert "new_op" in extra
    assert "+" not in same.partition("\n\n")[0]
