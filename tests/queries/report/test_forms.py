from __future__ import annotations

import json
import subprocess
import sys

import pytest

from queries.report.forms import FORMS, render
from tests.support.command import ENVIRONMENT
from tests.support.reports import full_report, read_xml


@pytest.mark.parametrize("form", FORMS)
def test_every_form_ends_its_last_line_and_is_always_the_same(form) -> None:
    text = render(full_report(), form)
    assert text.endswith("\n")
    assert text == render(full_report(), form)


def test_each_form_is_what_it_is_called() -> None:
    texts = {form: render(full_report(), form) for form in FORMS}
    assert texts["html"].lstrip().startswith("<!DOCTYPE html>")
    assert texts["markdown"].startswith("## ")
    assert read_xml(texts["junit"]).tag == "testsuites"
    assert json.loads(texts["json"])["head"] == "b42"
    assert json.loads(texts["slack"])["blocks"]


def test_naming_the_forms_imports_none_of_what_they_need() -> None:
    script = (
        "import sys, queries.report.forms;"
        "print(*sys.modules.keys() & {'jinja2', 'svg', 'pydantic', 'urllib.request'})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert (done.stdout, done.stderr) == ("\n", "")
