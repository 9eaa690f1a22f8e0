from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.support.reports import full_report, member, named_report
from tests.support.reports import report as report_of
from tests.support.strange_names import NAMES
from tracehouse.queries.report.content import Report
from tracehouse.queries.report.forms import json_form

SCHEMA = Path(__file__).parents[3] / "docs" / "report.schema.json"


def schema_text() -> str:
    """The JSON schema of a report, as in docs/report.schema.json."""
    schema = Report.model_json_schema(mode="serialization")
    for part in schema["$defs"].values():
        part["description"] = part["description"].partition("\n\n")[0]
    return json.dumps(open_to_more(schema), indent=2, sort_keys=True) + "\n"


def open_to_more(schema: object) -> object:
    """The schema with further fields allowed, because later versions may add some."""
    if isinstance(schema, dict):
        kept = {key: part for key, part in schema.items() if key != "additionalProperties"}
        return {key: open_to_more(part) for key, part in kept.items()}
    return [open_to_more(part) for part in schema] if isinstance(schema, list) else schema


def test_json_reads_back_as_the_report() -> None:
    for report in (full_report(), named_report(NAMES)):
        assert Report.model_validate_json(json_form(report)) == report


def test_json_is_a_line_with_its_keys_sorted() -> None:
    text = json_form(full_report())
    assert text.endswith("}\n")
    assert text.count("\n") == 1
    assert json.dumps(json.loads(text), sort_keys=True) == json.dumps(json.loads(text))


def test_the_order_in_which_counts_and_rules_are_given_does_not_show() -> None:
    counts = {"unchanged": 2, "inconclusive": 1}
    turned = dict(reversed(counts.items()))
    assert json_form(report_of(verdict_counts=counts)) == json_form(
        report_of(verdict_counts=turned)
    )


def test_strange_characters_are_escaped() -> None:
    assert json_form(named_report(NAMES)).rstrip("\n").isprintable()


def test_numbers_that_json_lacks_are_refused_when_the_report_is_made() -> None:
    with pytest.raises(ValidationError, match="finite number"):
        member(delta=float("inf"))


def test_the_shipped_schema_matches_the_model(request) -> None:
    if request.config.getoption("--refresh-golden"):
        SCHEMA.write_text(schema_text(), encoding="utf-8")
    assert SCHEMA.read_text(encoding="utf-8") == schema_text()


def test_the_schema_documents_every_group_and_allows_for_more_fields() -> None:
    schema = json.loads(schema_text())
    assert "additionalProperties" not in schema["$defs"]["Group"]
    assert schema["$defs"]["Group"]["properties"]["first_bad"]["description"]
    assert set(schema["required"]) == set(Report.model_fields)
