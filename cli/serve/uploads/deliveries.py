"""Deliveries to the inbox, made of the parts of an upload: a dump, its manifest, its companions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from cli.serve.uploads.multipart import FormPart
from cli.serve.uploads.refusals import name_of
from ingest.dump import HashedFile
from ingest.manifest.fields import COUNTERS
from ingest.manifest.models import Manifest
from ingest.manifest.resolver import correct_manifest, parse_stated
from ingest.manifest.runner_output import add_counters, parse_printed
from ingest.sources.file_names import LOG_SUFFIX, QHAS_SUFFIX
from warehouse.inbox.records import Delivery, make_delivery

Parts = Mapping[str, FormPart]

_REMEMBERED_BYTES = 4 << 10  # longest manifest that is parsed once for several dumps
_PRINTED = {"log": LOG_SUFFIX, "qhas": QHAS_SUFFIX}
_COMPANIONS = {"etrecord": "ETRecord", "debug_buffer": "debug buffer"}


def name_of_parts(parts: Parts) -> str:
    """The name of the dump."""
    dump = parts["dump"]
    return dump.file_name or name_of(dump.spool.sha256)


def stated_manifest(parts: Parts) -> Manifest:
    """The manifest, with the counters in the runner's output.

    A ManifestError is passed on.
    """
    data = bytes(parts["manifest"].spool.data)
    manifest = (_parse if len(data) > _REMEMBERED_BYTES else _recall)(data)
    printed = [
        counter
        for part, suffix in _PRINTED.items()
        if part in parts and parts[part].spool.byte_count
        for counter in parse_printed(part, parts[part].spool.data, suffix)
    ]
    if not printed:
        return manifest
    stated = [counter.model_dump() for counter in manifest.counters or ()]
    fields = {COUNTERS: add_counters(stated, printed)}
    return correct_manifest(manifest.canonical_json(), "manifest", fields)


def deliver_parts(parts: Parts, manifest: str) -> Delivery:
    """The delivery of the dump with a manifest, as canonical JSON, and its companions."""
    name = name_of_parts(parts)
    companions = (_companion(parts, part, name) for part in _COMPANIONS)
    return make_delivery(manifest, parts["dump"].spool.hashed(name), *companions)


def _parse(data: bytes) -> Manifest:
    return parse_stated("manifest", data)


_recall = lru_cache(maxsize=256)(_parse)  # many dumps share a manifest


def _companion(parts: Parts, part: str, name: str) -> HashedFile | None:
    found = parts.get(part)
    if found is None or not found.spool.byte_count:  # a form without a file sends an empty part
        return None
    return found.spool.hashed(found.file_name or f"{name}: {_COMPANIONS[part]}")
