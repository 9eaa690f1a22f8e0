"""A bucket of an object store, or any other file system that Arrow opens by URI."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs

from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.sources.file_names import (
    BENCHMARK_RESULTS,
    DEFAULT_BUFFERS,
    DEFAULT_ETRECORD,
    ETRECORD_SUFFIX,
    SHARED_MANIFEST,
    companion_names,
    is_dump,
    plain_name,
)
from tracehouse.ingest.watching.places import WatchedFile

_ALWAYS = (SHARED_MANIFEST, BENCHMARK_RESULTS, DEFAULT_ETRECORD)
_COPIED_BYTES = 1 << 20
_SECRETS = re.compile(r"(?<=://)[^/?]*@|\?.*", re.DOTALL)  # secrets in a URI


def without_keys(uri: str) -> str:
    """A URI without the secrets that it may contain, for messages."""
    return _SECRETS.sub("", uri)


class Bucket:
    """A folder of an object store, whose files are copied to this machine to be ingested."""

    def __init__(self, uri: str) -> None:
        """Open a URI: s3://, gs://, abfs://, file:// or another scheme that Arrow supports.

        Raises:
            SourceError: Arrow does not support the URI, or the folder cannot be listed.
        """
        self.name = without_keys(uri)
        try:
            self._files, self.root = pafs.FileSystem.from_uri(uri)
            self._files.get_file_info(pafs.FileSelector(self.root))
        except (OSError, pa.ArrowException) as error:
            problem = _problem(error).replace(uri, self.name)
            raise SourceError(self.name, problem) from error
        self.local_root = ""

    def list_folder(self, folder: str) -> Iterator[WatchedFile]:
        """The entries of a folder; none if the folder is gone.

        Raises:
            SourceError: The folder cannot be listed.
        """
        for info in self._list(folder):
            if info.type == pafs.FileType.Directory:
                yield WatchedFile(info.path, is_folder=True)
            else:
                yield WatchedFile(info.path, info.size or 0, info.mtime_ns or 0)

    def look(self, path: str) -> WatchedFile | None:
        """A file as it is now; None if it is gone."""
        try:
            info = self._files.get_file_info(path)
        except OSError:
            return None
        if info.type != pafs.FileType.File:
            return None
        return WatchedFile(path, info.size or 0, info.mtime_ns or 0)

    @contextmanager
    def local_paths(self, paths: Sequence[str]) -> Iterator[Sequence[str]]:
        """Copies of the files, their companions and the manifests in the folders above them.

        Raises:
            SourceError: A file cannot be copied.
        """
        with tempfile.TemporaryDirectory(prefix="tracehouse-watch-") as copies:
            self.local_root = copies
            for wanted in {*paths, *self._list_companions(paths)}:
                self._copy(wanted, Path(copies, wanted.lstrip("/")))
            yield [f"{copies}/{path.lstrip('/')}" for path in paths]

    def restore_paths(self, text: str) -> str:
        """The text with paths of copies replaced by URIs of the original files."""
        scheme = self.name.partition("://")[0] + ("://" if self.root[0] != "/" else ":///")
        return text.replace(f"{self.local_root}/", scheme) if self.local_root else text

    def _list_companions(self, paths: Sequence[str]) -> Iterator[str]:
        """Manifests and companions that may belong to the files."""
        own = {plain_name(name) for path in paths for name in companion_names(path)}
        for folder in {os.path.dirname(path) for path in paths}:
            infos = self._list(folder)
            is_alone = sum(is_dump(info.base_name) for info in infos) <= 1
            wanted = (*_ALWAYS, *DEFAULT_BUFFERS) if is_alone else _ALWAYS
            for info in infos:
                name = plain_name(info.base_name)
                is_shared = name in wanted or name.endswith(ETRECORD_SUFFIX)
                if is_shared or plain_name(info.path) in own:
                    yield info.path
            above = folder.rstrip("/")
            while above.startswith(self.root) and above != self.root.rstrip("/"):
                above = os.path.dirname(above)
                if self.look(manifest := os.path.join(above, SHARED_MANIFEST)):
                    yield manifest

    def _list(self, folder: str) -> list[pafs.FileInfo]:
        """The entries of a folder.

        Raises:
            SourceError: The folder cannot be listed.
        """
        try:
            selected = pafs.FileSelector(folder, allow_not_found=True)
            return list(self._files.get_file_info(selected))
        except (OSError, pa.ArrowException) as error:
            raise SourceError(folder, _problem(error)) from error

    def _copy(self, path: str, copy: Path) -> None:
        """Copy a file to this machine; do nothing if the file is gone.

        Raises:
            SourceError: The file cannot be copied.
        """
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._files.open_input_stream(path) as stream, copy.open("wb") as file:
                shutil.copyfileobj(stream, file, _COPIED_BYTES)
        except FileNotFoundError:
            return
        except (OSError, pa.ArrowException) as error:
            raise SourceError(path, _problem(error)) from error


def _problem(error: Exception) -> str:
    return f"cannot be read: {str(error).partition(chr(10))[0]}"
