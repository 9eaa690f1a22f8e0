"""A preloaded library that logs what a process does to files, and makes operations fail."""

from __future__ import annotations

import errno
import mmap
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

COMPILER = "cc"
ALWAYS = 1 << 30  # times

_SOURCE = Path(__file__).with_suffix(".c")
_CONTROL = struct.Struct("5i12s480s")  # struct fault


class Fault(NamedTuple):
    """Operations on files that fail.

    Attributes:
        kind: open (to write), write, short (half is written), truncate, sync, rename, unlink,
            mkdir, read, space (all that takes space), or bytes (space for some bytes is left).
        pattern: Glob of the paths of the files.
        first: Number of the operation of that kind on those files that fails first; or the bytes.
        times: How many fail.
        error: The errno that they fail with.
    """

    kind: str
    pattern: str
    first: int = 1
    times: int = 1
    error: int = errno.EIO


class FaultControl:
    """Begins and ends faults in processes that run with `environment`."""

    def __init__(self, file: Path) -> None:
        """Begin without a fault, in a file that is made or exists."""
        if not file.exists():
            file.write_bytes(bytes(_CONTROL.size))
        with open(file, "r+b") as control:
            self._map = mmap.mmap(control.fileno(), _CONTROL.size)
        self.environment: Mapping[str, str] = {"DISK_FAULT": str(file)}

    def begin(self, fault: Fault) -> None:
        """Let operations fail from now on."""
        kind, pattern = fault.kind.encode(), fault.pattern.encode()
        self._map[:] = _CONTROL.pack(0, 0, fault.first, fault.times, fault.error, kind, pattern)

    def has_failed(self) -> bool:
        """Whether an operation failed since `begin`."""
        _, failed, *_ = _CONTROL.unpack(self._map[:])
        return bool(failed)

    def end(self) -> tuple[int, int]:
        """Let nothing fail any more; returns the operations met since `begin`, and those failed."""
        met, failed, *_ = _CONTROL.unpack(self._map[:])
        self._map[:] = bytes(_CONTROL.size)
        return met, failed


def build_shim(folder: Path) -> Path:
    """The library to preload; a CalledProcessError or OSError if it cannot be built."""
    library = folder / "disk_shim.so"
    command = [COMPILER, "-shared", "-fPIC", "-O2", "-o", library, _SOURCE, "-ldl"]
    subprocess.run(command, check=True)
    return library


def preloaded(library: Path, *, root: Path, log: Path) -> dict[str, str]:
    """The environment of a process whose operations on files below a folder are logged."""
    return {"LD_PRELOAD": str(library), "DISK_ROOT": str(root), "DISK_LOG": str(log)}
