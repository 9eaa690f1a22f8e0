"""The texts beside a dump that state fields of its manifest, each parsed within limits.

A sidecar may come from anybody. A service therefore has them parsed by another process: whatever
reads sidecars takes a `SidecarParser`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from enum import StrEnum
from statistics import median
from typing import Annotated

from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    Field,
    FiniteFloat,
    TypeAdapter,
    ValidationError,
)

from tracehouse.ingest.errors import ManifestError
from tracehouse.ingest.manifest.json_files import MAX_MANIFEST_BYTES, parse_json
from tracehouse.ingest.manifest.runner_output import MAX_PRINTED_BYTES, parse_printed
from tracehouse.ingest.sources.file_names import LOG_SUFFIX, QHAS_SUFFIX
from tracehouse.ingest.sources.places import Source
from tracehouse.ingest.sources.reading import read_end_if_present, read_if_present
from tracehouse.ingest.strict_json import quote

_PER_SECOND = tuple(f"per{mark}{end}" for mark in ("", "_") for end in ("s", "sec", "second"))
_UNKNOWN_UNIT = "count"
_SOURCE = "benchmark_results.json"

Bytes = bytes | memoryview
Fields = dict[str, object]  # in any shape that a manifest may have


class _Model(BaseModel):
    name: str = ""
    backend: str = ""
    quantization: str = ""


class _Device(BaseModel):
    name: Annotated[str, Field(validation_alias=AliasChoices("device", "name"))] = ""
    phone: Annotated[str, Field(validation_alias="arch")] = ""
    os: Annotated[str, Field(validation_alias=AliasChoices("os", "type"))] = ""


class _ExtraInfo(BaseModel):
    method: str = ""


class _Metric(BaseModel):
    name: str = ""
    values: Annotated[list[FiniteFloat], Field(validation_alias="benchmark_values")] = []
    extra: Annotated[_ExtraInfo, Field(validation_alias="extra_info")] = _ExtraInfo()


class _Record(BaseModel):
    model: Annotated[_Model, Field(validation_alias=AliasChoices("benchmarkModel", "model"))] = (
        _Model()
    )
    device: Annotated[
        _Device, Field(validation_alias=AliasChoices("deviceInfo", AliasPath("runners", 0)))
    ] = _Device()
    metric: _Metric | str | object = ""
    value: Annotated[object, Field(validation_alias="actualValue")] = None

    @property
    def measured(self) -> tuple[str, str, list[float]]:
        """The name of the metric, its method and its values."""
        if isinstance(self.metric, _Metric):
            return self.metric.name, self.metric.extra.method, self.metric.values
        value = float(self.value) if isinstance(self.value, int | float) else math.nan
        is_known = isinstance(self.metric, str) and math.isfinite(value)
        return str(self.metric), "", [value] if is_known else []


_RECORDS = TypeAdapter(list[_Record])


def parse_benchmark_results(data: object) -> dict[str, object]:
    """The manifest fields that all records agree on; none if the data has another shape.

    The data is parsed JSON, whose numbers are finite.

    Usually each metric has a record, which becomes a counter; the name contains the unit in
    brackets. Records of several models give no counters.

    >>> parse_benchmark_results([{"benchmarkModel": {"name": "mv2", "backend": "xnnpack"},
    ...     "deviceInfo": {"device": "samsung", "arch": "SM-S901U1", "os": "Android 13"}}])
    {'model': 'mv2', 'backend': 'xnnpack', 'device': 'samsung SM-S901U1', 'os': 'Android', \
'os_version': '13'}
    """
    try:
        records = _RECORDS.validate_python(data)
    except ValidationError:
        return {}
    described = [_describe(record) for record in records]
    first = described[0] if described else {}
    fields: dict[str, object] = {
        field: value
        for field, value in first.items()
        if value and all(other[field] == value for other in described)
    }
    counters = _list_counters(records)
    return fields | {"counters": counters} if counters and "model" in fields else fields


def _list_counters(records: Iterable[_Record]) -> list[dict[str, object]]:
    """A counter for each metric and method; its name has the method if the metric has several."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name, method, own in (record.measured for record in records):
        if name and own:
            values[name][method] += own
    return [
        _counter(name, method if len(methods) > 1 else "", median(own))
        for name, methods in values.items()
        for method, own in methods.items()
    ]


def _counter(metric: str, method: str, value: float) -> dict[str, object]:
    name, unit = _split_unit(metric)
    full_name = f"{name} {method}" if method else name
    return {"name": full_name, "unit": unit, "source": _SOURCE, "value": value}


def _split_unit(metric: str) -> tuple[str, str]:
    """The name and the unit of a metric: ``latency(ms)``, ``token_per_sec``."""
    name, bracket, rest = metric.partition("(")
    unit = rest.removesuffix(")")
    if name.strip() and bracket and unit != rest and unit and not {*"()"} & {*unit}:
        return name.rstrip(), unit
    return metric, "/s" if metric.lower().endswith(_PER_SECOND) else _UNKNOWN_UNIT


def _describe(record: _Record) -> dict[str, str]:
    device = record.device
    os, _, version = device.os.partition(" ")
    has_version = version[:1].isdigit()
    # Android's "device" is the brand alone and its "arch" the phone's model, not a processor.
    is_brand = device.name.isalpha() and device.phone not in ("", device.name)
    return {
        "model": record.model.name,
        "backend": record.model.backend,
        "quantization": record.model.quantization,
        "device": f"{device.name} {device.phone}" if is_brand else device.name,
        "os": os if has_version else device.os,
        "os_version": version if has_version else "",
    }


class Sidecar(StrEnum):
    """The kinds of sidecars."""

    MANIFEST = "manifest"  # describes a dump or a folder
    BENCHMARK = "benchmark_results"
    LOG = "log"
    QHAS = "qhas"


SidecarParser = Callable[[Sidecar, str, Bytes], Fields]

MAX_SIDECAR_BYTES = {
    Sidecar.MANIFEST: MAX_MANIFEST_BYTES,
    Sidecar.BENCHMARK: MAX_MANIFEST_BYTES,
    Sidecar.LOG: MAX_PRINTED_BYTES,  # only its end is read
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
