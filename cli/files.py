"""Files named on a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracehouse.cli.output.streams import write_note

if TYPE_CHECKING:
    from tracehouse.ingest.etrecord.record import EtRecord
    from tracehouse.ingest.sources.listing import Companions
    from tracehouse.ingest.sources.places import Source


def file_source(file: str) -> Source:
    """The source named FILE, ZIP!MEMBER or ZIP!INNER.zip!MEMBER."""
    from tracehouse.ingest.sources.places import parse_source

    return parse_source(file)


def dump_source(file: str) -> Source:
    """The dump of that name, or the only one in a zip or folder of that name.

    Raises:
        SourceError: There are several dumps, or none.
    """
    from tracehouse.ingest.errors import SourceError
    from tracehouse.ingest.sources.listing import find_sources

    sources = find_sources([file])
    if len(sources) > 1:
        raise SourceError(
            file, f"has {len(sources):,} dumps; name one of them, such as {sources[0].name}"
        )
    return sources[0]


def find_companions(
    dump: Source, *, etrecord: str | None = None, debug_buffer: str | None = None
) -> Companions:
    """The named ETRecord and debug buffer of a dump; by default those that an ingest would find."""
    from tracehouse.ingest.sources.listing import CompanionFinder, Companions

    beside = CompanionFinder().find(dump)
    return Companions(
        file_source(etrecord) if etrecord is not None else beside.etrecord,
        file_source(debug_buffer) if debug_buffer is not None else beside.debug_buffer,
    )


def read_etrecord_of(dump: Source, etrecord: str | None) -> EtRecord | None:
    """The named ETRecord of a dump, or the one that an ingest would find, if any.

    If that one cannot be read, a note says so.

    Raises:
        IngestError: The named one cannot be read.
    """
    from tracehouse.ingest.errors import IngestError
    from tracehouse.ingest.etrecord.record import read_etrecord

    source = find_companions(dump, etrecord=etrecord).etrecord
    try:
        return source and read_etrecord(source)
    except IngestError as error:
        if etrecord is not None:
            raise
        write_note(f"note: {error}; {dump.name} is read without it")
        return None


def etrecord_source(file: str | None) -> Source | None:
    """The ETRecord of that name, read once as a check; an unreadable one raises IngestError."""
    from tracehouse.ingest.etrecord.record import read_etrecord

    if file is None:
        return None
    source = file_source(file)
    read_etrecord(source)
    return source
