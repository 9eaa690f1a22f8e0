"""A report as JSON, byte for byte the same for the same report, and its schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from queries.printable import json_text

if TYPE_CHECKING:
    from queries.report.content import Report


def json_form(report: Report) -> str:
    """The report as one line of JSON, keys sorted."""
    return json_text(json.loads(json.dumps(report.model_dump(mode="json"), sort_keys=True))) + "\n"


def schema_text() -> str:
    """The JSON schema of a report, as in docs/report.schema.json."""
    from queries.report.content import Report

    schema = Report.model_json_schema(mode="serialization")
    for part in schema["$defs"].values():
        part["description"] = part["description"].partition("\n\n")[0]
    return json.dumps(_open(schema), indent=2, sort_keys=True) + "\n"


def _open(schema: object) -> object:
    """The schema with further fields allowed, because later versions may add some."""
    if isinstance(schema, dict):
        return {key: _open(part) for key, part in schema.items() if key != "additionalProperties"}
    return [_open(part) for part in schema] if isinstance(schema, list) else schema
