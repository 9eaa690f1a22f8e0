"""Files named on a command line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingest.sources.paths import Source


def file_source(file: str) -> Source:
    """The file, or member ZIP!MEMBER of a zip."""
    from ingest.sources.paths import Source

    archive, mark, member = file.partition(".zip!")
    if mark and not os.path.exists(file):
        return Source(f"{archive}.zip", member)
    return Source(file)


def dump_source(file: str) -> Source:
    """The dump of that name, or the only one in a zip or folder of that name.

    Raises:
        SourceError: There are several. If there is none, the path is what is at fault.
    """
    from ingest.errors import SourceError
    from ingest.sources.paths import find_sources

    source = file_source(file)
    if source.member:
        return source
    sources = find_sources([file])
    if len(sources) > 1:
        raise SourceError(
            file, f"holds {len(sources):,} dumps, wanted one, such as {sources[0].name}"
        )
    return sources[0]
