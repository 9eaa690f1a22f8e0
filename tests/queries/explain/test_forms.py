from __future__ import annotations

import json

import pytest

from tests.support.explained import explanation
from tracehouse.queries.explain.content import Explanation
from tracehouse.queries.explain.forms import MEDIA_TYPES, SUFFIXES, render


@pytest.mark.parametrize("form", MEDIA_TYPES)
def test_every_form_ends_with_a_line_end_and_is_always_the_same(form, explained):
    text = render(explained, form)
    assert text.endswith("\n")
    assert render(explained, form) == text


def test_json_reads_back_as_the_explanation(explained):
    text = render(explained, "json")
    assert Explanation.model_validate_json(text) == explained
    assert json.loads(text)["group"]["first_bad"] == "b7"


def test_every_suffix_has_a_form():
    assert set(SUFFIXES.values()) == set(MEDIA_TYPES)


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_each_form_has_all_parts(form):
    text = render(explanation(), form)
    for part in ("The programs differ.", "tracehouse compare b1 b2", "layer", "1.400 µs"):
        assert part in text
