"""Deliveries to the inbox, made of the parts of an upload: a dump, its manifest, its companions."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from functools import lru_cache

from tracehouse.cli.serve.service import Service
from tracehouse.cli.serve.uploads.multipart import FormPart
from tracehouse.cli.serve.uploads.refusals import name_of
from tracehouse.ingest.dump import HashedFile
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.ingest.manifest.resolver import make_manifest
from tracehouse.ingest.manifest.runner_output import counters_of
from tracehouse.ingest.manifest.sidecars import Sidecar, SidecarParser, parse_sidecar
from tracehouse.warehouse.inbox.records import Delivery, make_delivery
from tracehouse.warehouse.load.children import OWN_SIDECAR_BYTES

Parts = Mapping[str, FormPart]

_STATED = "manifest"  # the part that states the manifest
_PRINTED = {"log": Sidecar.LOG, "qhas": Sidecar.QHAS}
_COMPANIONS = {"etrecord": "ETRecord", "debug_buffer": "debug buffer"}


def name_of_parts(parts: Parts) -> str:
    """The name of the dump."""
    dump = parts["dump"]
    return dump.file_name or name_of(dump.spool.sha256)


def threads_for(service: Service, sidecar_bytes: int) -> Executor:
    """The threads in which to parse sidecars, the longest of which has so many bytes.

    Long ones are parsed by another process, and must not keep other uploads waiting.
    """
    return service.parsing if sidecar_bytes > OWN_SIDECAR_BYTES else service.spooling


def count_sidecar_bytes(parts: Parts) -> int:
    """Size of the longest sidecar among the parts."""
    return max(parts[part].spool.byte_count for part in (_STATED, *_PRINTED) if part in parts)


def stated_manifest(parts: Parts, parse: SidecarParser) -> Manifest:
    """The manifest, with the counters in the runner's output.

    A ManifestError is passed on.
    """
    printed = [
        counter
        for part, kind in _PRINTED.items()
        if part in parts and parts[part].spool.byte_count
        for counter in counters_of(parse(kind, part, parts[part].spool.data))
    ]
    data = bytes(parts[_STATED].spool.data)
    if not printed:
        return parse_manifest(_STATED, data, parse)
    return make_manifest(_STATED, parse(Sidecar.MANIFEST, _STATED, data), printed)


def parse_manifest(place: str, data: bytes, parse: SidecarParser) -> Manifest:
    """The manifest that a text states.

    A ManifestError is passed on.
    """
    if len(data) <= OWN_SIDECAR_BYTES:
        return _recall(place, data)
    return make_manifest(place, parse(Sidecar.MANIFEST, place, data), [])


def deliver_parts(parts: Parts, manifest: str) -> Delivery:
    """The delivery of the dump with a manifest, as canonical JSON, and its companions."""
    name = name_of_parts(parts)
    companions = (_companion(parts, part, name) for part in _COMPANIONS)
    return make_delivery(manifest, parts["dump"].spool.hashed(name), *companions)


@lru_cache(maxsize=256)  # many dumps share a manifest
def _recall(place: str, data: bytes) -> Manifest:
    return make_manifest(place, parse_sidecar(Sidecar.MANIFEST, place, data), [])


def _companion(parts: Parts, part: str, name: str) -> HashedFile | None:
    found = parts.get(part)
    if found is None or not found.spool.byte_count:  # a form without a file sends an empty part
        return None
    return found.spool.hashed(found.file_name or f"{name}: {_COMPANIONS[part]}")
