"""The settings file tracehouse.toml. The reader of each table checks its contents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ingest.errors import SourceError
from ingest.file_magic import decode_text

FILE_NAME = "tracehouse.toml"


def read_tables(path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """The tables of a settings file; by default of ./tracehouse.toml, none if it does not exist.

    Raises:
        SourceError: The file cannot be read, or is not TOML.
    """
    file = Path(path or FILE_NAME)
    if path is None and not file.exists():
        return {}
    import tomllib  # most commands read no settings

    try:
        return tomllib.loads(decode_text(file.read_bytes()))
    except OSError as error:
        raise SourceError(str(file), f"{error.strerror or error}; check the path") from error
    except ValueError as error:  # of TOML, or of the encoding
        raise SourceError(str(file), f"not TOML: {error}") from error
