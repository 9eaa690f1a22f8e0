"""A lake's folder in a file system: its files appear complete, and never change."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.fs as pafs

from tracehouse.ingest.durable import replacing
from tracehouse.ingest.watching.buckets import without_keys
from tracehouse.warehouse.errors import LakeError
from tracehouse.warehouse.lake.addresses import check_address
from tracehouse.warehouse.lake.layout import FORMAT, FORMAT_FILE, SCHEMA

# Errors of JSON that is malformed, nested too deeply, or has other values than a lake writes.
JSON_FAULTS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

_PRESENT = {"format": FORMAT, "schema": SCHEMA}
_FULL = {errno.ENOSPC, errno.EDQUOT}
_FAILURES = (OSError, pa.ArrowException)
_OWN_FOLDER = PurePosixPath(FORMAT_FILE).parts[0]
_LOST_AND_FOUND = "lost+found"
_REMEDY = "check the address, and your permissions to read and write there"
_REPAIR = "committed data is safe: repair the disk and run the command again"


class LakeFile(NamedTuple):
    """A file of a lake: its relative path, size in bytes, and time of last change if known."""

    path: str
    byte_count: int
    changed_at: datetime | None


class Lake:
    """A folder of any file system that Arrow supports.

    Attributes:
        name: Name in messages: the URI without keys.
        uri: The URI, or path of a folder.
        is_local: Whether the folder is on this machine.
    """

    def __init__(self, uri: str | os.PathLike[str]) -> None:
        """Use a path, or a URI that Arrow supports, such as s3://, gs://, abfs:// or hdfs://.

        Raises:
            LakeAddressError: The address is mistyped.
            LakeError: Arrow does not support the URI.
        """
        self.uri = os.fspath(uri)
        check_address(self.uri)
        self.name = without_keys(self.uri)
        with self._translated():
            if "://" in self.uri:
                self.files, root = pafs.FileSystem.from_uri(self.uri)
            else:
                self.files, root = pafs.LocalFileSystem(), os.path.abspath(self.uri)
        self.root = root.rstrip("/")
        self.is_local = isinstance(self.files, pafs.LocalFileSystem)

    def absolute(self, path: str) -> str:
        """A path of the lake as a path of the file system."""
        return f"{self.root}/{path}"

    def read(self, path: str) -> bytes:
        """The bytes of a small file; FileNotFoundError is passed on.

        Raises:
            LakeError: The file cannot be read.
        """
        at = self.absolute(path)
        with self._translated(FileNotFoundError), self.files.open_input_stream(at) as stream:
            return bytes(stream.read())

    @contextmanager
    def opened(self, path: str) -> Iterator[pa.NativeFile]:
        """A file opened for reading in any order.

        Raises:
            LakeError: The file cannot be read.
        """
        with self._translated(), self.files.open_input_file(self.absolute(path)) as stream:
            yield stream

    def write(self, path: str, data: bytes) -> None:
        """Write a small file.

        Raises:
            LakeError: The file cannot be written.
        """
        with self.writing(path) as stream:
            stream.write(data)

    @contextmanager
    def writing(self, path: str) -> Iterator[Any]:
        """A stream to write a file, which appears whole when the body succeeds, or not at all.

        Raises:
            LakeError: The file cannot be written.
        """
        with self._translated():
            body = self._write_local if self.is_local else self._write_object
            with body(self.absolute(path)) as stream:
                yield stream

    @contextmanager
    def _write_local(self, path: str) -> Iterator[Any]:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with (
            replacing(Path(path)) as unfinished,  # engines ignore names that start with a dot
            pa.OSFile(str(unfinished), "wb") as stream,
        ):
            yield stream

    @contextmanager
    def _write_object(self, path: str) -> Iterator[Any]:
        # Arrow cannot abort an object, and another writer may have written the same one. So an
        # object is begun only when its contents are complete.
        with tempfile.TemporaryDirectory(prefix="tracehouse-lake-") as folder:
            whole = os.path.join(folder, "object")
            with pa.OSFile(whole, "wb") as stream:
                yield stream
            pafs.copy_files(
                whole,
                path,
                source_filesystem=pafs.LocalFileSystem(),
                destination_filesystem=self.files,
            )

    def list(self, folder: str = "") -> list[LakeFile]:
        """The files in a folder and below it; empty if the folder does not exist.

        Raises:
            LakeError: The folder cannot be listed.
        """
        start = self.absolute(folder).rstrip("/")
        selected = pafs.FileSelector(start, recursive=True, allow_not_found=True)
        with self._translated():
            found = self.files.get_file_info(selected)
        return [
            LakeFile(info.path.removeprefix(self.root).lstrip("/"), info.size or 0, info.mtime)
            for info in found
            if info.type == pafs.FileType.File
        ]

    def delete(self, paths: Iterable[str]) -> None:
        """Delete files; some may be gone already.

        Raises:
            LakeError: A file cannot be deleted.
        """
        for path in paths:
            with self._translated(), suppress(FileNotFoundError):
                self.files.delete_file(self.absolute(path))

    def begin(self) -> None:
        """Turn the folder into a lake if it is not one yet.

        Raises:
            LakeError: The folder cannot be written, or has a lake of another schema or other files.
        """
        if self.check_room():
            self.write(FORMAT_FILE, json.dumps(_PRESENT).encode())

    def check_room(self) -> bool:
        """Whether the folder has no lake yet, but can become one; False if it is a lake.

        Raises:
            LakeError: The folder has a lake of another schema or other files, or cannot be read.
        """
        if self.exists():
            return False
        selected = pafs.FileSelector(self.root or "/", allow_not_found=True)
        with self._translated():
            names = sorted(info.base_name for info in self.files.get_file_info(selected))
        others = [name for name in names if name[0] != "." and name != _LOST_AND_FOUND]
        if others and _OWN_FOLDER not in names:
            raise LakeError(
                self.name, f"is not a lake, and contains {others[0]}; wanted an empty or new folder"
            )
        return True

    def exists(self) -> bool:
        """Whether the folder is a lake that this version can read.

        Raises:
            LakeError: The folder is a lake of another schema, or cannot be read.
        """
        try:
            found = json.loads(self.read(FORMAT_FILE))
        except FileNotFoundError:
            return False
        except JSON_FAULTS as error:
            raise LakeError(
                self.name,
                f"{FORMAT_FILE} is not JSON: restore it from a copy of the lake, or delete it, and "
                "the next 'tracehouse export lake' writes it again",
            ) from error
        if found != _PRESENT:
            raise LakeError(
                self.name,
                f"{FORMAT_FILE} is {json.dumps(found)}, but this tracehouse reads "
                f"{json.dumps(_PRESENT)}: use the tracehouse that wrote it, or export its store "
                "again into an empty folder",
            )
        return True

    def check(self) -> None:
        """Check that the folder is a lake that this version can read.

        Raises:
            LakeError: The folder is not such a lake.
        """
        if not self.exists():
            raise LakeError(
                self.name,
                "no lake here; create one with 'tracehouse export lake URI --store STORE'",
            )

    @contextmanager
    def _translated(self, *passed_on: type[OSError]) -> Iterator[None]:
        try:
            yield
        except passed_on:
            raise
        except _FAILURES as error:
            raise LakeError(self.name, self._explain(error)) from error

    def _explain(self, error: Exception) -> str:
        if isinstance(error, OSError) and error.errno in _FULL:
            disk = "the disk" if self.is_local else f"the disk with {tempfile.gettempdir()}"
            return (
                f"{disk} is full; committed data is safe: free some space and run the command again"
            )
        if isinstance(error, NotADirectoryError) and os.path.isfile(self.root):
            return f"is a file, wanted the folder of a lake; {_REMEDY}"
        text = str(error).partition("\n")[0].replace(self.uri, self.name)
        is_failing = isinstance(error, OSError) and error.errno == errno.EIO
        return f"{text}; {_REPAIR if is_failing else _REMEDY}"


def retried(read: Callable[[], Any], attempts: int = 5) -> Any:
    """The result of `read`, repeated if a file is deleted between listing and reading."""
    for _ in range(attempts - 1):
        with suppress(FileNotFoundError):
            return read()
    return read()
