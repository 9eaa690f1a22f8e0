"""The texts beside a dump that state fields of its manifest, each parsed within limits.

A sidecar may come from anybody. A service therefore has them parsed by another process: whatever
reads sidecars takes a `SidecarParser`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from tracehouse.ingest.errors import ManifestError
from tracehouse.ingest.manifest.benchmark_results import parse_benchmark_results
from tracehouse.ingest.manifest.json_files import MAX_MANIFEST_BYTES, parse_json
from tracehouse.ingest.manifest.runner_output import MAX_PRINTED_BYTES, parse_printed
from tracehouse.ingest.sources.file_names import LOG_SUFFIX, QHAS_SUFFIX
from tracehouse.ingest.sources.paths import Source, read_end_if_present, read_if_present
from tracehouse.ingest.strict_json import quote


class Sidecar(StrEnum):
    """The kinds of sidecars."""

    MANIFEST = "manifest"  # of a dump or a folder
    BENCHMARK = "benchmark_results"
    LOG = "log"
    QHAS = "qhas"


Bytes = bytes | memoryview
Fields = dict[str, object]  # in any shape that a manifest may have
SidecarParser = Callable[[Sidecar, str, Bytes], Fields]

MAX_SIDECAR_BYTES = {
    Sidecar.MANIFEST: MAX_MANIFEST_BYTES,
    Sidecar.BENCHMARK: MAX_MANIFEST_BYTES,
    Sidecar.LOG: MAX_PRINTED_BYTES,  # of its end
    Sidecar.QHAS: MAX_PRINTED_BYTES,
}
_PRINTED = {Sidecar.LOG: LOG_SUFFIX, Sidecar.QHAS: QHAS_SUFFIX}


def read_sidecar(kind: Sidecar, file: Source, parse: SidecarParser) -> Fields | None:
    """The fields that a file states; None if there is no such file.

    Raises:
        ManifestError: The file is malformed or exceeds a limit.
        SourceError: The file exists, but cannot be read, or is too large.
    """
    read = read_end_if_present if kind is Sidecar.LOG else read_if_present
    data = read(file, most_bytes=MAX_SIDECAR_BYTES[kind])
    return None if data is None else parse(kind, file.name, data)


def parse_sidecar(kind: Sidecar, place: str, data: Bytes) -> Fields:
    """The fields that a sidecar states; `place` is its name in messages.

    Raises:
        ManifestError: The sidecar is malformed or exceeds a limit.
    """
    if kind is Sidecar.BENCHMARK:
        return parse_benchmark_results(parse_json(place, data)) if data else {}
    if kind in _PRINTED:
        counters = parse_printed(place, data, _PRINTED[kind])
        return {"counters": counters} if counters else {}
    content = parse_json(place, data)
    if not isinstance(content, dict):
        raise ManifestError(place, f"found {quote(content)}, wanted a JSON object")
    return content
