"""A folder that SQL must neither reveal nor change: a secret, and a store of one dump."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.support.corpus import read_dump
from tests.support.stores import ingest, write
from tracehouse.warehouse.engine.store_file import FILE_NAME

CONFIDENTIAL = "the secret of this machine"


class AttackGround:
    """The folder.

    Attributes:
        folder: Its path.
        store: The store in it.
    """

    def __init__(self, folder: Path) -> None:
        """Make the files."""
        self.folder, self.store = folder, folder / "store"
        write(folder / "secret.txt", CONFIDENTIAL.encode())
        ingest(self.store, write(folder / "in/a.etdp", read_dump("real/mlp_xnnpack_n1")))

    def fill_in(self, attack: str, database: Path | None = None) -> str:
        """An attack with its paths filled in; by default, the database is the store's."""
        places = {
            "{database}": database or self.store / FILE_NAME,
            "{folder}": self.folder,
            "{secret}": self.folder / "secret.txt",
        }
        for mark, place in places.items():
            attack = attack.replace(mark, str(place))
        return attack

    def files(self) -> dict[str, str]:
        """The SHA-256 of every file by path, without the service's audit log."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return {
            str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
            if not path.match("audit.*")
        }
