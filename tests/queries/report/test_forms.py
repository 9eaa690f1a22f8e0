from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis.strategies import data, floats, lists, text

from tests.support.command import ENVIRONMENT
from tests.support.reports import full_report, group, member, read_xml, report, stability
from tracehouse.queries.report.content import BuildPoint, Quality
from tracehouse.queries.report.forms import MEDIA_TYPES, render
from tracehouse.queries.report.parts import ExactChange


@pytest.mark.parametrize("form", MEDIA_TYPES)
def test_every_form_ends_its_last_line_and_is_always_the_same(form) -> None:
    shown = render(full_report(), form)
    assert shown.endswith("\n")
    assert shown == render(full_report(), form)


def test_each_report_format_is_valid() -> None:
    texts = {form: render(full_report(), form) for form in MEDIA_TYPES}
    assert texts["html"].lstrip().startswith("<!DOCTYPE html>")
    assert texts["markdown"].startswith("## ")
    assert read_xml(texts["junit"]).tag == "testsuites"
    assert json.loads(texts["json"])["head"] == "b42"
    assert json.loads(texts["slack"])["blocks"]


@settings(max_examples=40)
@given(data())
def test_every_form_takes_any_numbers_and_names(source) -> None:
    numbers, names = floats(-1e150, 1e150), text(max_size=30)
    some = lists(numbers, min_size=1, max_size=4)
    one = member(
        **{name: source.draw(names) for name in ("device", "model", "event_name", "rule")},
        **{
            name: source.draw(numbers) for name in ("delta_low", "delta_high", "base_ns", "cost_ns")
        },
        delta=source.draw(numbers),
        base_values=source.draw(some),
        head_values=source.draw(some),
        history=[
            BuildPoint(build=source.draw(names), dump_count=1, median_ns=number)
            for number in source.draw(some)
        ],
    )
    steady = {name: source.draw(numbers) for name in ("cv", "p99_over_p50", "score")}
    exact = ExactChange(
        device="", model="", backend="", measure="", base=source.draw(numbers), head=one.delta
    )
    quality = Quality(stability=[stability("", **steady)], environment=[], warnings=[])
    made = report(group(one), quality=quality, exact_changes=[exact])
    for form in MEDIA_TYPES:
        assert len(render(made, form)) < 60_000


@pytest.mark.system
def test_importing_the_report_formats_loads_no_heavy_modules() -> None:
    script = (
        "import sys, tracehouse.queries.report.forms;"
        "print(*sys.modules.keys() & {'jinja2', 'svg', 'pydantic', 'urllib.request'})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert (done.stdout, done.stderr) == ("\n", "")
