"""The demo in tests/data: demo-serve.sh."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import ENVIRONMENT, ROOT

DATA = ROOT / "tests" / "data"

SHIM = """#!/bin/sh
exec '{python}' -c 'import sys; from tracehouse.cli.main import main; sys.exit(main())' "$@"
"""


def run_demo(script: str, folder: Path, **environment: str) -> list[str]:
    """Run a demo with the command in its path; the commands that it shows, each with its output."""
    shim = folder / "bin" / "tracehouse"
    shim.parent.mkdir()
    shim.write_text(SHIM.format(python=sys.executable))
    shim.chmod(0o755)
    path = f"{shim.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", DATA / script, folder / "demo.store"],
        env={**ENVIRONMENT, **environment, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split("\n$ ")


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
def test_the_service_demo_uploads_queries_and_then_requires_a_token(tmp_path: Path) -> None:
    shown = run_demo("demo-serve.sh", tmp_path, TRACEHOUSE_SERVE_FREE_BYTES="0", CHROMIUM="")
    _, _, serve, upload, state, query, sql, ready, _, closed, opened = shown
    assert "serving " in serve
    assert '"state":"accepted"' in upload
    assert '"state":"indexed"' in state
    assert "pixel8,,b42,cnn,xnnpack" in query
    assert '{"build": "base", "dumps": 48}' in sql
    assert '{"status":"ready"}' in ready
    assert "skipped: the picture" in ready
    assert '"reason":"no_token"' in closed
    assert '"device": "pixel8"' in opened
    assert not (tmp_path / "demo-serve.log").exists()


def test_demo_without_curl_says_so(tmp_path: Path) -> None:
    dirname = shutil.which("dirname")
    assert dirname
    (tmp_path / "dirname").symlink_to(dirname)
    shell = shutil.which("sh")
    assert shell
    done = subprocess.run(
        [shell, DATA / "demo-serve.sh"], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "skipped: make demo-serve, because there is no curl\n"
