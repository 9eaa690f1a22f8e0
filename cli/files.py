"""Files named on a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingest.sources.paths import Source


def file_source(file: str) -> Source:
    """The source named FILE, ZIP!MEMBER or ZIP!INNER.zip!MEMBER."""
    from ingest.sources.places import parse_source

    return parse_source(file)


def dump_source(file: str) -> Source:
    """The dump of that name, or the only one in a zip or folder of that name.

    Raises:
        SourceError: There are several dumps, or none.
    """
    from ingest.errors import SourceError
    from ingest.sources.paths import find_sources

    sources = find_sources([file])
    if len(sources) > 1:
        raise SourceError(
            file, f"has {len(sources):,} dumps; name one of them, such as {sources[0].name}"
        )
    return sources[0]


def debug_buffer_beside(source: Source) -> Source | None:
    """NAME.debug.bin of the dump NAME.etdp, if it exists."""
    from ingest.sources.paths import read_if_present

    stem = source.file_name.rpartition(".")[0] or source.file_name
    buffer = source.folder.file(f"{stem}.debug.bin")
    return None if read_if_present(buffer) is None else buffer


def etrecord_source(file: str | None) -> Source | None:
    """The ETRecord of that name, read once as a check; an unreadable one raises IngestError."""
    from ingest.etrecord.record import read_etrecord

    if file is None:
        return None
    source = file_source(file)
    read_etrecord(source)
    return source
