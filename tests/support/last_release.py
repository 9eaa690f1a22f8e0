"""The last release of tracehouse, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

from tests.support.documents import ROOT

VARIABLE = "TRACEHOUSE_RELEASE"  # a commit to take for the last release


def find_release() -> str:
    """The commit of the last release; before the first one, of the version before the last schema.

    It is empty if there is neither, or if git does not know, as in a copy without history.
    """
    if commit := os.environ.get(VARIABLE):
        return commit
    tag = _git("describe", "--tags", "--abbrev=0").decode().strip()
    if tag:
        return tag
    migrated = _git("log", "-1", "--format=%H", "--diff-filter=A", "--", "sql/migrations")
    before = f"{migrated.decode().strip()}^" if migrated else ""
    return before if before and _git("rev-parse", "--verify", "--quiet", before) else ""


def _git(*arguments: str) -> bytes:
    """What git prints; nothing if it fails."""
    try:
        done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        return b""
    return b"" if done.returncode else done.stdout


class Release:
    """A process of a release, which a folder gets the files of."""

    def __init__(self, commit: str, folder: Path) -> None:
        with tarfile.open(fileobj=BytesIO(_git("archive", commit))) as files:
            files.extractall(folder, filter="data")
        worker = Path(__file__).with_name("release_worker.py")
        self._process = subprocess.Popen(
            [sys.executable, worker, folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
        )

    def act(self, store: Path, operation: str, argument: object = None) -> tuple[str, str]:
        """Do an operation on a store; the kind and the text of the error, if there is one."""
        assert self._process.stdin
        assert self._process.stdout
        wanted = {"store": str(store), "operation": operation, "argument": argument}
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        kind, text = json.loads(self._process.stdout.readline())
        return kind, text

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
