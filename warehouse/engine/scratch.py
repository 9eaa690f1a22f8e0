"""A private folder for what a query spills to disk."""

from __future__ import annotations

import tempfile
from pathlib import Path


class ScratchFolder:
    """A folder for this process alone, made when it is first asked for."""

    def __init__(self) -> None:
        """There is none yet."""
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def path(self) -> Path:
        """Where it is."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="tracehouse-")
        return Path(self._folder.name)

    def remove(self) -> None:
        """Delete it, with all that is in it."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
