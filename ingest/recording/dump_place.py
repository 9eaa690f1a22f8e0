"""The files of a recording: at a path that the user gives, or in a temporary folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tracehouse.ingest.errors import RecordingError


class DumpPlace(NamedTuple):
    """The file of a dump, and its temporary folder, if any."""

    dump: Path
    folder: Path | None

    def keep(self) -> list[Path]:
        """Move the dump and its debug buffer from the temporary to the working folder."""
        files = sorted(self.folder.glob(f"{self.dump.stem}.*")) if self.folder else []
        return [Path(shutil.move(file, Path.cwd())) for file in files]


@contextmanager
def place_for_dump(output: str | None, program: str) -> Iterator[DumpPlace]:
    """The file `output`, or a temporary file named after the program."""
    if output:
        yield DumpPlace(Path(output), None)
        return
    with TemporaryDirectory() as folder:
        yield DumpPlace(Path(folder, f"{Path(program).stem}.etdp"), Path(folder))


class PairsPlace(NamedTuple):
    """The folder of paired dumps, and its final name."""

    folder: Path
    name: str | None

    def keep(self) -> list[Path]:
        """Move a temporary folder to the working folder, under a free name."""
        if self.name is None:
            return []
        names = chain([self.name], (f"{self.name}-{number}" for number in count(2)))
        free = next(name for name in names if not Path(f"{name}.pairs").exists())
        return [Path(shutil.move(self.folder, Path.cwd() / f"{free}.pairs"))]


@contextmanager
def place_for_pairs(output: str | None, program: str) -> Iterator[PairsPlace]:
    """A new folder `output`, or a temporary one.

    Raises:
        RecordingError: The name exists, or the folder cannot be created.
    """
    if output:
        try:
            Path(output).mkdir()
        except OSError as error:
            problem = f"cannot be created: {error.strerror or error}"
            raise RecordingError(f"{output}: {problem}; wanted a new folder") from error
        yield PairsPlace(Path(output), None)
        return
    with TemporaryDirectory() as folder:
        place = PairsPlace(Path(folder, "pairs"), Path(program).stem)
        place.folder.mkdir()
        yield place
