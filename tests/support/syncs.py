"""Files and folders that were synced to disk."""

from __future__ import annotations

import os

import pytest


def note_synced(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """A set that fills with the inodes of files and folders that are synced from now on."""
    synced = set[int]()
    sync = os.fsync

    def note(file: int) -> None:
        sync(file)
        synced.add(os.fstat(file).st_ino)

    monkeypatch.setattr(os, "fsync", note)
    return synced
