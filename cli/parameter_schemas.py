"""JSON Schemas of the parameters of canned queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracehouse.warehouse.catalogue.header import Parameter

TYPES: Mapping[str, dict[str, Any]] = {
    "STRING": {"type": "string"},
    "INT": {"type": "integer", "format": "int32"},
    "BIGINT": {"type": "integer", "format": "int64"},
    "DOUBLE": {"type": "number"},
    "SHARE": {"type": "number", "exclusiveMaximum": 1, "description": "or a text such as 5%"},
    "BOOLEAN": {"type": "boolean"},
    "TIMESTAMP": {"type": "string"},
    "TAG": {"type": "string", "description": "KEY=VALUE"},
    "TAG_KEY": {"type": "string"},
    "PLACE": {"type": "string", "description": "DEVICE / MODEL, or DEVICE / MODEL / BACKEND"},
}


def parameter_schema(parameter: Parameter) -> dict[str, Any]:
    """The schema of a parameter's values."""
    item = dict(TYPES[parameter.type.removesuffix("[]")])
    if parameter.choices and parameter.type != "TAG_KEY":  # a TAG_KEY may be a tag's key, too
        item["enum"] = list(parameter.choices)
    if parameter.least is not None:
        item["minimum"] = parameter.least
    if parameter.most is not None:
        item["maximum"] = parameter.most
    return {"type": "array", "items": item} if parameter.type.endswith("[]") else item
