"""ExecuTorch's own ``benchmark_results.json``: which model ran on which device.

Two shapes exist: what the benchmark apps write (``benchmarkModel``, ``deviceInfo``) and the
record of the PyTorch benchmark database made from it (``model``, ``runners``).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, AliasPath, BaseModel, Field, TypeAdapter, ValidationError


class _Model(BaseModel):
    name: str = ""
    backend: str = ""
    quantization: str = ""


class _Device(BaseModel):
    name: Annotated[str, Field(validation_alias=AliasChoices("device", "name"))] = ""
    phone: Annotated[str, Field(validation_alias="arch")] = ""
    os: Annotated[str, Field(validation_alias=AliasChoices("os", "type"))] = ""


class _Record(BaseModel):
    model: Annotated[_Model, Field(validation_alias=AliasChoices("benchmarkModel", "model"))] = (
        _Model()
    )
    device: Annotated[
        _Device, Field(validation_alias=AliasChoices("deviceInfo", AliasPath("runners", 0)))
    ] = _Device()


_RECORDS = TypeAdapter(list[_Record])


def parse_benchmark_results(data: object) -> dict[str, str]:
    """Manifest fields that all records agree on; none if the data has another shape.

    One record per metric is usual; records of several models leave out what differs.

    >>> parse_benchmark_results([{"benchmarkModel": {"name": "mv2", "backend": "xnnpack"},
    ...     "deviceInfo": {"device": "samsung", "arch": "SM-S901U1", "os": "Android 13"}}])
    {'model': 'mv2', 'backend': 'xnnpack', 'device': 'samsung SM-S901U1', 'os': 'Android', \
'os_version': '13'}
    """
    try:
        described = [_describe(record) for record in _RECORDS.validate_python(data)]
    except ValidationError:
        return {}
    first = described[0] if described else {}
    return {
        field: value
        for field, value in first.items()
        if value and all(other[field] == value for other in described)
    }


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
