"""Where a recording puts its dump: where the user says, or else in a folder of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple


class DumpPlace(NamedTuple):
    """The file that a dump is to be written to, and the temporary folder it is in, if any."""

    dump: Path
    folder: Path | None

    def keep(self) -> list[Path]:
        """Move the dump and its debug buffer out of the temporary folder into the working one."""
        files = sorted(self.folder.glob(f"{self.dump.stem}.*")) if self.folder else []
        return [Path(shutil.move(file, Path.cwd())) for file in files]


@contextmanager
def place_for_dump(output: str | None, program: str) -> Iterator[DumpPlace]:
    """The file called `output`, or one called like the program that is gone afterwards."""
    if output:
        yield DumpPlace(Path(output), None)
        return
    with TemporaryDirectory() as folder:
        yield DumpPlace(Path(folder, f"{Path(program).stem}.etdp"), Path(folder))
