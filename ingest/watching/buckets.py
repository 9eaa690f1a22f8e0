"""A bucket of an object store, or whatever else Arrow knows by a URI."""

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

from ingest.errors import SourceError
from ingest.sources.folder_names import ETRECORD_SUFFIX, companion_names
from ingest.watching.places import WatchedFile

_ALWAYS = ("manifest.json", "benchmark_results.json")
_COPIED_BYTES = 1 << 20
_SECRETS = re.compile(r"(?<=://)[^/?]*@|\?.*", re.DOTALL)  # keys, which a URI may hold


def without_keys(uri: str) -> str:
    """A URI without the keys that it may hold, as messages show it."""
    return _SECRETS.sub("", uri)


class Bucket:
    """A folder of an object store; its files are copied to this machine when they are taken."""

    def __init__(self, uri: str) -> None:
        """Take a URI: s3://, gs://, abfs://, file:// and what else Arrow knows.

        Raises:
            SourceError: Arrow does not know it, or the place cannot be listed.
        """
        self.name = without_keys(uri)
        try:
            self._files, self.root = pafs.FileSystem.from_uri(uri)
            self._files.get_file_info(pafs.FileSelector(self.root))
        except (OSError, pa.ArrowException) as error:
            problem = _problem(error).replace(uri, self.name)
            raise SourceError(self.name, problem) from error
        self._copies = ""

    def list_folder(self, folder: str) -> Iterator[WatchedFile]:
        """What is in a folder; nothing if it is gone.

        Raises:
            SourceError: It cannot be listed.
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
        """Copies of the files, of their companions and of the manifests above them.

        Raises:
            SourceError: They cannot be fetched.
        """
        with tempfile.TemporaryDirectory(prefix="tracehouse-watch-") as copies:
            self._copies = copies
            for wanted in {*paths, *self._belonging(paths)}:
                self._copy(wanted, Path(copies, wanted.lstrip("/")))
            yield [f"{copies}/{path.lstrip('/')}" for path in paths]

    def restore_paths(self, text: str) -> str:
        """A text about copies, told of the files themselves."""
        scheme = self.name.partition("://")[0] + ("://" if self.root[0] != "/" else ":///")
        return text.replace(f"{self._copies}/", scheme) if self._copies else text

    def _belonging(self, paths: Sequence[str]) -> Iterator[str]:
        """What may say something of files; each folder is listed once."""
        own = {name for path in paths for name in companion_names(path)}
        for folder in {os.path.dirname(path) for path in paths}:
            for info in self._list(folder):
                if info.path in own or info.base_name.endswith((*_ALWAYS, ETRECORD_SUFFIX)):
                    yield info.path
            above = os.path.dirname(folder.rstrip("/"))
            while above.strip("/"):
                if self.look(manifest := os.path.join(above, "manifest.json")):
                    yield manifest
                above = os.path.dirname(above)

    def _list(self, folder: str) -> list[pafs.FileInfo]:
        """What is in a folder.

        Raises:
            SourceError: It cannot be listed.
        """
        try:
            selected = pafs.FileSelector(folder, allow_not_found=True)
            return list(self._files.get_file_info(selected))
        except (OSError, pa.ArrowException) as error:
            raise SourceError(folder, _problem(error)) from error

    def _copy(self, path: str, copy: Path) -> None:
        """Copy a file to this machine; one that is gone by now is left out.

        Raises:
            SourceError: It cannot be copied.
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
