"""A report as JSON, byte for byte the same for the same report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tracehouse.queries.printable import json_text

if TYPE_CHECKING:
    from tracehouse.queries.report.content import Report


def json_form(report: Report) -> str:
    """The report as one line of JSON, keys sorted."""
    return json_text(json.loads(json.dumps(report.model_dump(mode="json"), sort_keys=True))) + "\n"
